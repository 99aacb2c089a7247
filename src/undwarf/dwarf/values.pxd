cimport cython
from undwarf.dwarf.abbreviations cimport Abbreviations


cdef class Values(Abbreviations):
    cdef const unsigned char[::1] root_of
    # Whether a unit is known to be of C (1), or of anything else (2).
    cdef unsigned char[::1] unit_plain
    cdef int value_class
    cdef unsigned long long value
    cdef unsigned long long value_size
    cdef unsigned long long[::1] below

    cdef int skip(self, int form) noexcept nogil
    @cython.final
    cdef int named_form(self) noexcept nogil
    @cython.final
    cdef unsigned long long block_size(self, int form) noexcept nogil
    cdef int read(self, int form, int n, long long constant) noexcept nogil
    cdef int take(self, Py_ssize_t i) noexcept nogil
    cdef int step(self, Py_ssize_t i) noexcept nogil
    cdef int pass_over(self, Py_ssize_t decl) noexcept nogil
    cdef bint leap(self, Py_ssize_t decl, Py_ssize_t first, int members) noexcept nogil
    cdef int plain(self, Py_ssize_t unit) except? -1
    cdef Py_ssize_t gather(self, Py_ssize_t unit, Py_ssize_t offset, object wanted, Py_ssize_t limit) except? -1
