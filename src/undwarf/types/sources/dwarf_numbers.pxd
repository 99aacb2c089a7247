cdef class Reader:
    cdef const unsigned char[::1] data
    cdef bint big
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef bint short

    cdef bint more(self) noexcept
    cdef unsigned long long fixed(self, Py_ssize_t size) noexcept
    cdef unsigned long long uleb(self) noexcept
    cdef long long sleb(self) noexcept
    cdef unsigned long long leb(self, bint sign) noexcept
    cdef int skip(self, unsigned long long size) noexcept
