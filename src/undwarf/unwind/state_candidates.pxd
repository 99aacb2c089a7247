from undwarf.unwind.call_counts cimport CallCounts
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.position_table cimport PositionTable

cdef enum:
    CANDIDATES = 64
    RETURNS = 3

# One state that the registers of a precise sample may be. Positions that have the same callers are one.
cdef struct Candidate:
    # How well the calls of its frames are proven, as a CallLevel.
    int level
    unsigned long long weight
    # The return address of the outermost frame found, and the stack pointer after it.
    unsigned long long caller
    unsigned long long cfa
    # The heaviest of its positions, in the PositionTable; the address that it is reached from, and the frame there.
    Py_ssize_t position
    unsigned long long base
    unsigned int frame
    unsigned long long position_weight
    # The fewest instructions to one of its positions.
    int distance
    # Calls whose callees have returned, from the sampled function outwards: their return addresses, and functions.
    int returned
    unsigned long long[RETURNS] sites
    unsigned long long[RETURNS] functions


cdef class StateCandidates:
    cdef CallSteps steps
    cdef PositionTable positions
    cdef Candidate[CANDIDATES] found
    cdef Py_ssize_t count
    # The rule of the position that was added last, if it is in the frame; the address it is reached from; its candidate
    # (-1: its callers are false).
    cdef unsigned int last_rule
    cdef unsigned long long last_base
    cdef Py_ssize_t last
    # The calls that the candidate at hand has returned to.
    cdef int returned
    cdef unsigned long long[RETURNS] sites
    cdef unsigned long long[RETURNS] functions

    cdef int clear(self) except? -1 nogil
    cdef int add(
        self, Py_ssize_t position, unsigned long long base, unsigned int frame, unsigned long long slot, int least,
        unsigned long long weight, int distance
    ) except? -1 nogil
    cdef Py_ssize_t only(self) except? -2 nogil
    cdef Py_ssize_t entered_from(self, unsigned long long back) except? -2 nogil
    cdef Py_ssize_t likeliest(self, unsigned int frame, CallCounts counts) except? -2 nogil
    cdef unsigned long long _score(self, Py_ssize_t at, unsigned int frame, CallCounts counts) except? 1 nogil
    cdef int take(self, Py_ssize_t candidate) except? -1 nogil
