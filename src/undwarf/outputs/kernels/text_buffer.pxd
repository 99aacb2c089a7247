cdef class Names:
    cdef const unsigned char[::1] text
    cdef const unsigned int[::1] ends


cdef class Text:
    cdef unsigned char[::1] out
    cdef unsigned char[::1] digits
    cdef Py_ssize_t used

    cdef int grow(self, Py_ssize_t wanted) except? -1
    cdef int reserve(self, Py_ssize_t count) except? -1
    cdef int put(self, unsigned char byte) except? -1
    cdef int blanks(self, Py_ssize_t count) except? -1
    cdef int name(self, Names names, Py_ssize_t number, Py_ssize_t width) except? -1
    cdef int copy(self, Text other, Py_ssize_t start, Py_ssize_t end) except? -1
    cdef int number(self, unsigned long long value, int width, unsigned char fill) except? -1
    cdef int signed(self, long long value, int width, bint left) except? -1
    cdef int hexadecimal(self, unsigned long long value, int width, unsigned char fill) except? -1
