from undwarf.symbols.itanium.names cimport Names
from undwarf.symbols.itanium.spelling cimport Speller


cdef class Demangler:
    cdef Py_ssize_t most
    cdef int steps
    cdef readonly long long allowance
    cdef int frugal
