cdef class Units:
    cdef const unsigned char[::1] data
    cdef bint big
    cdef bint types
    cdef public Py_ssize_t damaged
    cdef unsigned long long[::1] unit_offset
    cdef unsigned long long[::1] unit_first
    cdef unsigned long long[::1] unit_end
    cdef unsigned long long[::1] unit_abbrev
    cdef unsigned long long[::1] unit_signature
    cdef unsigned long long[::1] unit_type
    cdef unsigned char[::1] unit_version
    cdef unsigned char[::1] unit_width
    cdef unsigned char[::1] unit_address
    cdef unsigned char[::1] unit_kind
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t at
    cdef Py_ssize_t end

    cdef unsigned long long fixed(self, const unsigned char[::1] view, Py_ssize_t at, int size) noexcept nogil
    cdef unsigned long long uleb(self) noexcept nogil
    cdef unsigned long long sleb(self) noexcept nogil
    cdef int _units(self, bint keep) except? -1
    cdef Py_ssize_t find_unit(self, unsigned long long offset) noexcept nogil
