from undwarf.dwarf.functions cimport Functions


cdef class Declarations(Functions):
    # Where the variable at hand is.
    cdef unsigned long long place
    cdef int place_kind

    cdef int declare(self, Py_ssize_t unit, int wanted_kinds) except? -1
    cdef unsigned int declare_entry(
        self, Py_ssize_t decl, int tag, Py_ssize_t die, unsigned int outer, int wanted_kinds
    ) except *
    cdef int read_place(self, Py_ssize_t k, Py_ssize_t length) except? -1
