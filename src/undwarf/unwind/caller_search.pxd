from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_counts cimport CallCounts
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.position_table cimport PositionTable
from undwarf.unwind.state_candidates cimport StateCandidates

cdef enum:
    WORDS = 97

cdef class CallerSearch:
    cdef CallSteps steps
    cdef PositionTable positions
    cdef StateCandidates candidates
    # How many more positions are tried for the sample.
    cdef Py_ssize_t left
    # Return addresses on the stack: where they are, and their frames.
    cdef Py_ssize_t words
    cdef unsigned long long[WORDS] slots
    cdef unsigned int[WORDS] frames
    # How often calls are in the stacks of other samples, once that is known.
    cdef CallCounts counts_of_calls
    # Tables of calls, by a return address on the stack and the callee, numbered, and the images of the process.
    cdef IntMap pairs
    cdef IntMap tables
    # By call: its image, its return address, where its function starts, its CallLevel; in the first of a table, how
    # many it has.
    cdef unsigned int[::1] images
    cdef unsigned long long[::1] addresses
    cdef unsigned long long[::1] functions
    cdef unsigned char[::1] levels
    cdef unsigned int[::1] counts
    cdef Py_ssize_t used

    cdef int scan_stack(self) except? -1 nogil
    cdef int search(self, unsigned int frame, int distance, int reach, int level, unsigned long long weight) except? -1 nogil
    cdef int _try_call(
        self, Py_ssize_t call, unsigned long long slot, int distance, int reach, int level, unsigned long long weight
    ) except? -1 nogil
    cdef Py_ssize_t _calls(self, unsigned int caller, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t _add_calls(self, unsigned int caller, unsigned int callee) except? -1
