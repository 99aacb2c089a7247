cdef class Interner:
    cdef unsigned int[::1] _slots
    cdef unsigned long long[::1] _hashes
    cdef unsigned long long[::1] _ends
    cdef unsigned char[::1] _arena
    cdef Py_ssize_t count
    cdef Py_ssize_t _used
    cdef unsigned long long _seed

    cdef bint is_full(self) noexcept nogil
    cdef int grow(self)
    cdef Py_ssize_t add(self, const unsigned char *text, Py_ssize_t length) except? -1 nogil
