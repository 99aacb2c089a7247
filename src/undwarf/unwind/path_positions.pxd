from undwarf.unwind.instruction_flows cimport InstructionFlows

cdef enum:
    MAX_POSITIONS = 96
    MAX_STATES = 128
    MAX_CALLS = 12
    STEPS = 15

# Where control is after some instructions: the address, and the return addresses of the calls that led there, the
# outermost first.
cdef struct PathState:
    unsigned long long address
    unsigned long long weight
    int calls
    unsigned long long[MAX_CALLS] returns

ctypedef PathState* StatePointer

cdef struct PathPosition:
    int kind
    int levels
    int distance
    unsigned long long weight
    unsigned long long address
    unsigned long long return_address


cdef class PathPositions:
    cdef PathPosition[MAX_POSITIONS] found
    cdef Py_ssize_t count
    # By the number of instructions.
    cdef PathState[STEPS * MAX_STATES] states
    cdef int[STEPS] state_counts
    cdef unsigned long long start
    cdef int reach

    cdef int find(self, InstructionFlows flows, unsigned long long address, int reach) except? -1
    cdef int _follow(self, InstructionFlows flows, StatePointer state, int steps) except? -1
    cdef unsigned long long _stay(self, unsigned long long weight, int steps) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef int _go_on(
        self, StatePointer before, unsigned long long address, int calls, unsigned long long back,
        unsigned long long weight, int steps
    ) except? -1
    cdef int _add(
        self, int kind, unsigned long long address, unsigned long long back, int levels, int distance,
        unsigned long long weight
    ) except? -1
