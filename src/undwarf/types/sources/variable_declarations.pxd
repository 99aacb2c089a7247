cdef class Variable:
    cdef readonly str name
    cdef readonly long long type
    cdef int is_pointer_or_aggregate


cdef class VariableDeclarations:
    cdef object _types
    cdef object _space
    cdef dict _strings
    cdef dict _origins
    cdef readonly object expressions
    cdef object room

    cdef Variable of(self, const unsigned long long[::1] entries, Py_ssize_t row, Py_ssize_t unit)
    cdef Variable _described(self, entry)
