cdef class TypeStore:
    cdef readonly object pointer_size
    cdef readonly object limits
    cdef readonly object defects
    cdef readonly object subject
    cdef list _records
    cdef dict _pending
    cdef list _ranges
    cdef dict _members
    cdef readonly dict shapes
    # By type, what it is below typedefs and qualifiers and of which kind that is, plus one; 0 for not asked yet.
    cdef int[::1] _facts
    # By type, its bytes plus one; 0 for not asked yet.
    cdef long long[::1] _sizes
    cdef Py_ssize_t _room
    cdef int _loading
    cdef dict _pointers
    cdef dict _made_arrays
    cdef dict _numbers
    # By type and how deep it is looked for, whether it is open.
    cdef dict _open

    cpdef record(self, Py_ssize_t t)
    cdef _load(self, Py_ssize_t t)
    cdef int _grow(self) except -1
    cpdef Py_ssize_t strip(self, Py_ssize_t t) except -1
    cdef Py_ssize_t _strip(self, Py_ssize_t t) except -1
    cdef int _kind(self, Py_ssize_t t) except -1
    cpdef target(self, t)
    cpdef bint is_pointer(self, t) except -1
    cpdef bint is_aggregate(self, t) except -1
    cpdef bint is_scalar(self, t) except -1
    cpdef bint is_array(self, t) except -1
    cpdef long long size(self, Py_ssize_t t) except -1
    cpdef long long stride(self, t) except -1
    cpdef element_count(self, t)
    cpdef members(self, t)
