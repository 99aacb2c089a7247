cimport cython


@cython.final
cdef class IntMap:
    cdef unsigned long long[::1] keys
    cdef unsigned int[::1] values
    cdef unsigned char[::1] used
    cdef unsigned long long mask
    cdef Py_ssize_t count

    cdef Py_ssize_t slot(self, unsigned long long key) except? -1 nogil
    cdef long long get(self, unsigned long long key) except? -2 nogil
    cdef int put(self, unsigned long long key, unsigned int value) except? -1 nogil
