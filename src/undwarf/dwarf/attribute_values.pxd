cimport cython
from undwarf.dwarf.abbreviations cimport Abbreviations


cdef class Values(Abbreviations):
    cdef const unsigned char[::1] root_of
    cdef int value_class
    cdef unsigned long long value
    cdef unsigned long long value_size

    cdef int skip(self, int form) noexcept nogil
    @cython.final
    cdef int named_form(self) noexcept nogil
    @cython.final
    cdef unsigned long long block_size(self, int form) noexcept nogil
    cdef int read(self, int form, int n, long long constant) noexcept nogil
    cdef int take(self, Py_ssize_t i) noexcept nogil
    cdef int _computed_address(self) noexcept nogil
    cdef int step(self, Py_ssize_t i) noexcept nogil
    cdef int pass_over(self, Py_ssize_t decl) noexcept nogil
