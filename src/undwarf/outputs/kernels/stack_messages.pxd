from undwarf.outputs.kernels.wire_buffer cimport Wire


cdef class StackMessages:
    cdef Wire wire
    cdef Wire body
    cdef const unsigned int[::1] parent
    cdef const unsigned int[::1] frame
    cdef const unsigned int[::1] location
    cdef const unsigned int[::1] node
    cdef const unsigned long long[::1] values
    cdef const unsigned int[::1] suffix
    cdef const unsigned char[::1] suffixes
    cdef const unsigned int[::1] ends
    cdef Py_ssize_t width
    cdef Py_ssize_t at
    cdef unsigned char tag

    cdef int locations(self, unsigned int node) except? -1
    cdef int field(self, unsigned char number, Py_ssize_t start) except? -1
