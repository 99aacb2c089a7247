from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.branch_stacks cimport BranchStacks
from undwarf.unwind.rule_cache cimport RuleCache


cdef class LateBranches:
    cdef RuleCache rules
    cdef BranchStacks branches
    # Instructions from one frame's address to another one's, and flows, by frame.
    cdef IntMap distances
    cdef IntMap flows
    # Of the current sample's branch stack: where in the window its entries begin, and how many there are.
    cdef Py_ssize_t first
    cdef Py_ssize_t total
    # Where the sampled function returned to, and its callers in turn; where the last return into the frame of the last
    # one went to; and where the call returns to that was open then.
    cdef unsigned long long[8] sites
    cdef Py_ssize_t site_count
    cdef unsigned long long position
    cdef unsigned long long back
    # The same of one path.
    cdef unsigned long long[8] path_sites
    cdef unsigned long long[8] path_calls
    cdef Py_ssize_t path_site_count
    cdef unsigned long long path_position
    cdef unsigned long long path_back

    cdef bint follow(
        self, Py_ssize_t sample, Py_ssize_t record, unsigned int event, unsigned long long pc
    ) except? -1 nogil
    cdef unsigned long long _word(self, Py_ssize_t entry, int word) except? -1 nogil
    cdef bint _keep(self, bint is_first) except? -1 nogil
    cdef bint _replay(self, Py_ssize_t count) except? -1 nogil
    cdef long long _distance(self, unsigned long long start, unsigned long long end) except? -2 nogil
    cdef long long _ask_distance(self, unsigned int start, unsigned int end) except? -2
    cdef bint _falls_through(self, unsigned long long address) except? -1 nogil
    cdef long long _flow(self, unsigned long long address) except? -2 nogil
    cdef long long _ask_flow(self, unsigned int frame) except? -2
