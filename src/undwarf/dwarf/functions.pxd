from undwarf.dwarf.ranges cimport Ranges


cdef class Functions(Ranges):
    cdef int next_class
    cdef unsigned long long next_value
    cdef Py_ssize_t name_unit

    cdef int _read_functions(self, Py_ssize_t unit, bint inlined) except? -1
    cdef int pass_others(self, int wanted_kinds, bint plain, bint through) noexcept nogil
    cdef unsigned int _function(self, Py_ssize_t decl, int tag, Py_ssize_t die, unsigned int enclosing) except *
    cdef int follow(self, unsigned long long offset) except? -1
