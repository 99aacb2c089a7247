from undwarf.tables.cfi.fde_reader cimport FdeReader

cdef class Entries:
    cdef FdeReader reader
    cdef Py_ssize_t max_entries
    cdef readonly Py_ssize_t total
    cdef readonly Py_ssize_t damaged
    cdef readonly Py_ssize_t dropped
    cdef readonly Py_ssize_t at
    cdef readonly bint indexed
    cdef readonly object starts
    cdef readonly object ends
    cdef readonly object entry
    # By entry: the function's range; where its instructions are, and its CIE. Of a search table: where the entry is.
    cdef unsigned long long[::1] fde_starts
    cdef unsigned long long[::1] fde_ends
    cdef unsigned int[::1] _programs
    cdef unsigned int[::1] _program_ends
    cdef unsigned int[::1] _cies
    cdef unsigned int[::1] _offsets

    cdef int scan_entries(self, bint past_zero) except? -1 nogil
    cdef int add(self) except? -1 nogil
    cdef int load(self, Py_ssize_t entry) except? -1 nogil
