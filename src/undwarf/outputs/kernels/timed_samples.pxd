from undwarf.outputs.kernels.wire_buffer cimport Wire


cdef class TimedSamples:
    cdef Wire wire
    cdef Wire body
    cdef const unsigned int[::1] order
    cdef const unsigned int[::1] starts
    cdef const unsigned int[::1] stack
    cdef const unsigned int[::1] suffix
    cdef const unsigned char[::1] suffixes
    cdef const unsigned int[::1] ends
    cdef const unsigned long long[::1] weight
    cdef const unsigned long long[::1] time
    cdef bint timed
    cdef Py_ssize_t at
