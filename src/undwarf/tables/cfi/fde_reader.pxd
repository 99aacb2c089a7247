cdef class EntryReader:
    cdef const unsigned char[::1] data
    cdef const unsigned char *base
    cdef readonly Py_ssize_t size
    cdef readonly unsigned long long address
    cdef readonly int word
    cdef readonly bint debug
    cdef unsigned long long mask
    cdef readonly object section
    cdef readonly Py_ssize_t cie_count
    cdef unsigned long long[::1] _cie_words
    cdef dict _cie_numbers
    cdef unsigned long long[::1] _code_starts
    cdef unsigned long long[::1] _code_ends
    cdef Py_ssize_t code_at
    cdef Py_ssize_t[256] near_target
    cdef Py_ssize_t[256] near_cie
    # The entry read last.
    cdef int kind
    cdef unsigned long long origin
    cdef unsigned long long limit
    cdef Py_ssize_t begin
    cdef Py_ssize_t stop
    cdef Py_ssize_t cie
    # Its range and a number, as they were read.
    cdef unsigned long long slow_start
    cdef unsigned long long slow_limit
    cdef unsigned long long slow_value

    cdef Py_ssize_t read_entry(self, Py_ssize_t at) except? -1 nogil
    cdef Py_ssize_t read_range(self, Py_ssize_t at, Py_ssize_t end, int encoding) except? -1 nogil
    cdef unsigned long long clip(self, unsigned long long start, unsigned long long limit) noexcept nogil
