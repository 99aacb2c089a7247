from undwarf.types.sources.location_expressions cimport Expressions


cdef class CodeScopes:
    cdef readonly object entry
    cdef object _types
    cdef object _space
    cdef Py_ssize_t _unit
    cdef Expressions _expressions
    # Rows of scopes; pairs of low and high address of their ranges.
    cdef unsigned long long[::1] _scopes
    cdef Py_ssize_t _scope_total
    cdef unsigned long long[::1] _ranges
    cdef Py_ssize_t _range_total

    cdef Py_ssize_t _scope(
        self, Py_ssize_t depth, Py_ssize_t outer, int low_kind, low, int high_kind, high, int list_kind, ranges
    ) except? -1
    cdef int _range(self, unsigned long long low, unsigned long long high) except? -1
    cdef _address(self, int kind, value)
    cdef bint _within(self, Py_ssize_t scope, unsigned long long low, unsigned long long high) noexcept
