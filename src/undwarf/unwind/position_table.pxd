from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.path_positions cimport PathPositions


cdef class PositionTable:
    cdef CallSteps steps
    cdef PathPositions paths
    # Instructions that registers may be late.
    cdef int reach
    # Where the positions of an address begin, by (image, address), and by frame.
    cdef dict places
    cdef IntMap firsts
    # By position: a Position; its address, and the return address of the outermost call to it, counted from the
    # address that it is reached from; its rule; how many calls, and instructions, lead to it; its weight; in the first
    # one of an address, how many positions that has.
    cdef unsigned char[::1] kinds
    cdef long long[::1] addresses
    cdef long long[::1] return_addresses
    cdef unsigned int[::1] rules
    cdef unsigned char[::1] levels
    cdef unsigned char[::1] distances
    cdef unsigned int[::1] weights
    cdef unsigned int[::1] counts
    cdef Py_ssize_t used

    cdef Py_ssize_t of_sample(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _of_frame(self, unsigned int frame) except? -1
    cdef Py_ssize_t of_address(self, unsigned int image, unsigned long long address) except? -1
    cdef Py_ssize_t _add(self, unsigned int image, unsigned long long address) except? -1
    cdef int _grow(self, Py_ssize_t rows) except? -1
    cdef int attempt(self, Py_ssize_t at, unsigned long long base, unsigned int function) except? -1 nogil
    cdef int _attempt_callee(
        self, Py_ssize_t at, unsigned long long base, unsigned long long back, unsigned int function
    ) except? -1 nogil
    cdef int _attempt_unknown_callee(self, unsigned long long back, unsigned int function) except? -1 nogil
    cdef bint _holds(self, unsigned long long slot, unsigned long long word) except? -1 nogil
    cdef int _leave_frame_pointer(self, unsigned long long above) except? -1 nogil
    cdef int _attempt_past_jump(self, unsigned int function) except? -1 nogil
