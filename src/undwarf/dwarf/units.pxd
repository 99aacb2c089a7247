cdef class UnitTable:
    cdef const unsigned char[::1] data
    cdef bint big
    cdef readonly Py_ssize_t damaged
    cdef readonly Py_ssize_t count
    cdef unsigned long long[::1] offset
    cdef unsigned long long[::1] first
    cdef unsigned long long[::1] end
    cdef unsigned long long[::1] abbreviations
    cdef unsigned long long[::1] signature
    cdef unsigned long long[::1] type
    cdef unsigned char[::1] version
    cdef unsigned char[::1] offset_size
    cdef unsigned char[::1] address_size
    cdef unsigned char[::1] kind

    cdef int _read_headers(self, bint type_units, bint keep) except? -1
    cdef Py_ssize_t find(self, unsigned long long offset) noexcept nogil
