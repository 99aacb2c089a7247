from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class CallerSearch:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStepper stepper
    # The registers after the return, while callers are tried.
    cdef unsigned long long[17] saved
    cdef unsigned int saved_known
    # Tables of calls by frame, or by caller and callee; proofs by caller and callee.
    cdef IntMap tables
    cdef IntMap proofs
    # Rows of all tables, of SITE_WORDS words.
    cdef long long[::1] sites
    cdef Py_ssize_t site_count
    # The call frame address up to which callers are looked for.
    cdef unsigned long long limit
    # Of the caller found so far: the return address in it, its call frame address, its proof, and where its function
    # starts, 0 for several.
    cdef unsigned long long site
    cdef unsigned long long cfa
    cdef int level
    cdef unsigned long long function
    # The least proof of a call of the function, for its caller to be taken.
    cdef int least_level

    cdef int find(self, unsigned int frame, unsigned long long pc) except? -1 nogil
    cdef int step(self, unsigned long long pc, bint is_innermost, unsigned int callee) except? -1 nogil
    cdef int proof(self, unsigned long long return_address, unsigned int callee) except? -1 nogil
    cdef int save(self) except? -1 nogil
    cdef int restore(self) except? -1 nogil
    cdef bint _is_code(self, unsigned long long address) except? -1 nogil
    cdef int _try_sites(
        self, Py_ssize_t table, unsigned long long base, unsigned long long wanted, unsigned int frame
    ) except? -1 nogil
    cdef int _ask_proof(self, unsigned int caller, unsigned int callee) except? -1
    cdef Py_ssize_t _sites_of(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _sites_between(self, unsigned int caller, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t _add_sites_of(self, unsigned int frame) except? -1
    cdef Py_ssize_t _add_sites_between(self, unsigned int caller, unsigned int callee) except? -1
    cdef Py_ssize_t _add_sites(self, list sites, unsigned long long base) except? -1
