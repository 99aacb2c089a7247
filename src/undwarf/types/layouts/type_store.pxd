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
    # By type, the type below typedefs and qualifiers and its kind, plus one; 0 if not computed yet.
    cdef int[::1] _facts
    # By type, its size plus one; 0 if not computed yet.
    cdef long long[::1] _sizes
    cdef Py_ssize_t _room
    cdef int _loading
    cdef dict _pointers
    cdef dict _made_arrays
    cdef dict _numbers
    # By type and depth, whether it is open-ended.
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
