cdef class RowTable:
    cdef object lock
    # Rows of all entries so far, and where each entry's are.
    cdef unsigned long long[::1] _addresses
    cdef unsigned int[::1] _rules
    cdef object _address_view
    cdef object _rule_view
    cdef unsigned int[::1] _first
    cdef unsigned int[::1] _count
    cdef readonly Py_ssize_t total
    cdef readonly Py_ssize_t damaged
    # The first row of the entry at hand, and where its next row begins.
    cdef Py_ssize_t first
    cdef unsigned long long location

    cdef int put(self, unsigned int rule) except? -1 nogil
    cdef int compile(self, Py_ssize_t entry) except? -1 nogil
    cdef int make(self, Py_ssize_t entry) except? -1 nogil
