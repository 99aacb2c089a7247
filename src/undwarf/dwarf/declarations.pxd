from undwarf.dwarf.functions cimport Functions


cdef class Declarations(Functions):
    cdef int declare(self, Py_ssize_t unit, int wanted_kinds) except? -1
