from undwarf.perfdata.interner cimport Interner


cdef class ColumnStore:
    # Of samples: the columns of SampleWord, SampleInt and SampleShort, and which words and shorts are ever written.
    cdef unsigned long long[::1] words
    cdef int[::1] ints
    cdef unsigned short[::1] shorts
    cdef Py_ssize_t capacity
    cdef unsigned int _written_words
    cdef unsigned int _written_shorts
    cdef readonly Py_ssize_t samples
    # Of the side band: those of SideWord, SideInt and SideNumber, misc and kind.
    cdef unsigned long long[::1] side_words
    cdef int[::1] side_ints
    cdef unsigned int[::1] side_numbers
    cdef unsigned short[::1] side_miscs
    cdef unsigned char[::1] side_kinds
    cdef Py_ssize_t side_capacity
    cdef readonly Py_ssize_t sideband
    cdef readonly Interner names
    cdef readonly Interner identities
    cdef Py_ssize_t _max_rows

    cdef bint is_full(self, Py_ssize_t samples, bint sideband) noexcept nogil
    cdef bint grow(self, Py_ssize_t samples)
    cdef int _grow_samples(self, Py_ssize_t capacity)
    cdef int _grow_sideband(self, Py_ssize_t capacity)
    cdef int copy_sample(self, Py_ssize_t source, Py_ssize_t target) except? -1 nogil
    cdef int clear_sample(self, Py_ssize_t row) except? -1 nogil
