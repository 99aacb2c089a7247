from undwarf.outputs.kernels.wire_buffer cimport Wire


cdef class Callstacks:
    cdef Wire wire
    cdef Wire body
    cdef const unsigned int[::1] parent
    cdef const unsigned int[::1] frame
    cdef unsigned int[::1] path


cdef class SamplePackets:
    cdef Wire wire
    cdef Wire body
    cdef Wire inner
    cdef const unsigned long long[::1] time
    cdef const unsigned int[::1] cpu
    cdef const unsigned int[::1] pid
    cdef const unsigned int[::1] tid
    cdef const unsigned int[::1] stack
    cdef const unsigned char[::1] mode
    cdef const unsigned long long[::1] count
    cdef Py_ssize_t at
