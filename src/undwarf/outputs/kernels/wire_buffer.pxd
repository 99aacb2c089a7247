cdef class Wire:
    cdef unsigned char[::1] out
    cdef Py_ssize_t used

    cdef int grow(self, Py_ssize_t wanted) except? -1
    cdef int reserve(self, Py_ssize_t count) except? -1
    cdef int varint(self, unsigned long long value) except? -1
    cdef int fixed64(self, unsigned long long value) except? -1
    cdef int copy(self, const unsigned char[::1] data, Py_ssize_t start, Py_ssize_t end) except? -1
