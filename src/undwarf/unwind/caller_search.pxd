from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.call_tables cimport CallTables
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
    cdef CallTables tables
    # What return addresses on the stack name, by their frames: a function, or a name that is imported; and the
    # functions of these, by the images of the process.
    cdef IntMap called
    cdef IntMap defined
    cdef list names
    cdef dict name_numbers
    # By function, whether it may call itself.
    cdef IntMap recursive

    cdef int scan_stack(self) except? -1 nogil
    cdef int search(self, unsigned int function, int distance, int reach, int level, unsigned long long weight) except? -1 nogil
    cdef bint is_recursive(self, unsigned int function) except? -1 nogil
    cdef unsigned int _calls_in(self, Py_ssize_t table, Py_ssize_t word, unsigned int function) except? 0xFFFFFFFE nogil
    cdef int _try_calls(
        self, Py_ssize_t first, unsigned int count, unsigned long long slot, int distance, int reach, int level,
        unsigned long long weight
    ) except? -1 nogil
    cdef int _try_call(
        self, Py_ssize_t call, unsigned long long slot, int distance, int reach, int level, unsigned long long weight
    ) except? -1 nogil
    cdef unsigned int _called_before(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef unsigned int _find_called(self, unsigned int frame) except? 0xFFFFFFFE
    cdef unsigned int _find_defined(self, unsigned int imported) except? 0xFFFFFFFE
    cdef Py_ssize_t _add_positions(self, Py_ssize_t call) except? -1
