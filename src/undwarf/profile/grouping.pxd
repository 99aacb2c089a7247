cdef class Pairs:
    cdef unsigned long long[::1] keys
    cdef unsigned int[::1] numbers
    cdef unsigned long long[::1] pairs
    cdef Py_ssize_t mask
    cdef int shift
    cdef Py_ssize_t count

    cdef int grow(self) except? -1
    cdef Py_ssize_t number(self, unsigned long long key) except? -1
