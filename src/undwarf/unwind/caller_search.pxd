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
    # Return addresses on the stack: where they are, and the functions that are called before them.
    cdef Py_ssize_t words
    cdef unsigned long long[WORDS] slots
    cdef unsigned int[WORDS] called_functions
    # How often calls are in the stacks of other samples, once that is known.
    cdef CallCounts counts_of_calls
    # The functions that return addresses on the stack name, by their frames and the images of the process.
    cdef IntMap called
    # By function, whether it may call itself.
    cdef IntMap recursive
    # Tables of calls, by the function that they are in and the one they may enter, numbered, and the images of the
    # process.
    cdef IntMap pairs
    cdef IntMap tables
    # By call: its image, its return address, its function, its CallLevel, where its positions begin (NOTHING: not known
    # yet); in the first of a table, how many it has.
    cdef unsigned int[::1] images
    cdef unsigned long long[::1] addresses
    cdef unsigned int[::1] functions
    cdef unsigned char[::1] levels
    cdef unsigned int[::1] firsts
    cdef unsigned int[::1] counts
    cdef Py_ssize_t used

    cdef int scan_stack(self) except? -1 nogil
    cdef int search(self, unsigned int function, int distance, int reach, int level, unsigned long long weight) except? -1 nogil
    cdef bint is_recursive(self, unsigned int function) except? -1 nogil
    cdef bint _calls_itself(self, unsigned int function) except? -1
    cdef int _try_call(
        self, Py_ssize_t call, unsigned long long slot, int distance, int reach, int level, unsigned long long weight
    ) except? -1 nogil
    cdef unsigned int _called_before(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef unsigned int _find_called(self, unsigned int frame) except? 0xFFFFFFFE
    cdef Py_ssize_t _calls(self, unsigned int within, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t _add_calls(self, unsigned int within, unsigned int callee) except? -1
    cdef Py_ssize_t _add_positions(self, Py_ssize_t call) except? -1
