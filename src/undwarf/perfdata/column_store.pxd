from undwarf.perfdata.interner cimport Interner


cdef class Columns:
    # Of samples: 64-bit words, ints and shorts, and which of the words and shorts are ever written.
    cdef unsigned long long[::1] _q
    cdef int[::1] _i
    cdef unsigned short[::1] _h
    cdef Py_ssize_t _capacity
    cdef unsigned int _wanted_words
    cdef unsigned int _wanted_shorts
    cdef readonly Py_ssize_t samples
    # Of the side band.
    cdef unsigned long long[::1] _sq
    cdef int[::1] _si
    cdef unsigned int[::1] _su
    cdef unsigned short[::1] _sh
    cdef unsigned char[::1] _sb
    cdef Py_ssize_t _side_capacity
    cdef readonly Py_ssize_t sideband
    cdef Interner _names
    cdef Interner _identities
    cdef Py_ssize_t _max_samples

    cdef bint grow(self, Py_ssize_t rows)
    cdef int _grow_samples(self, Py_ssize_t capacity)
    cdef int _grow_sideband(self, Py_ssize_t capacity)
    cdef int copy_row(self, Py_ssize_t source, Py_ssize_t target) except? -1 nogil
    cdef int clear_row(self, Py_ssize_t row) except? -1 nogil
