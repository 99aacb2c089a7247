from undwarf.unwind.call_counts cimport CallCounts
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.position_table cimport PositionTable

cdef enum:
    CANDIDATES = 192
    RETURNS = 3

# One state that the registers of a precise sample may be. Positions that have the same callers are one; those after
# returns to different calls are several, also of one function.
cdef struct Candidate:
    # How well the calls of its frames are proven, as a CallLevel.
    int level
    unsigned long long weight
    # The return address of the outermost frame found, and the stack pointer after it.
    unsigned long long caller
    unsigned long long cfa
    # The heaviest of its positions, in the PositionTable; the address that it is reached from, and the function there.
    Py_ssize_t position
    unsigned long long base
    unsigned int function
    unsigned long long position_weight
    # The fewest instructions to one of its positions.
    int distance
    # Calls whose callees have returned, from the sampled function outwards: their return addresses, and functions.
    int returned
    unsigned long long[RETURNS] sites
    unsigned int[RETURNS] functions


cdef class StateCandidates:
    cdef CallSteps steps
    cdef PositionTable positions
    cdef Candidate[CANDIDATES] found
    cdef Py_ssize_t count
    cdef double[CANDIDATES] scores
    # The rule of the position that was added last, if it is in the frame; the address it is reached from; the depth of
    # its stack pointer; its candidate (-1: its callers are false).
    cdef unsigned int last_rule
    cdef unsigned long long last_base
    cdef unsigned long long last_depth
    cdef Py_ssize_t last
    # The calls that the candidate at hand has returned to.
    cdef int returned
    cdef unsigned long long[RETURNS] sites
    cdef unsigned int[RETURNS] functions

    cdef int clear(self) except? -1 nogil
    cdef int add(
        self, Py_ssize_t position, unsigned long long base, unsigned int function, unsigned long long slot, int least,
        unsigned long long weight, int distance
    ) except? -1 nogil
    cdef Py_ssize_t _with_callers(self, unsigned long long caller, unsigned long long cfa) except? -2 nogil
    cdef Py_ssize_t reached_by(
        self, Py_ssize_t position, unsigned long long base, unsigned int function, Py_ssize_t like
    ) except? -2 nogil
    cdef int keep(self, Py_ssize_t candidate, double share) except? -1 nogil
    cdef int drop_impossible(self) except? -1 nogil
    cdef bint _are_alike(self, Py_ssize_t one, Py_ssize_t other) except? -1 nogil
    cdef Py_ssize_t only(self, bint is_recursive) except? -2 nogil
    cdef Py_ssize_t entered_from(self, unsigned long long back) except? -2 nogil
    cdef Py_ssize_t likeliest(self, unsigned int frame, CallCounts counts) except? -2 nogil
    cdef Py_ssize_t _likeliest(self, unsigned int frame, CallCounts counts) except? -2
    cdef list _callers(self, Py_ssize_t at, unsigned long long highest)
    cdef double _score(self, Py_ssize_t at, unsigned int frame, object callers, CallCounts counts) except? -1
    cdef int take(self, Py_ssize_t candidate) except? -1 nogil
