cdef class SectionRules:
    cdef int abi
    cdef object rules
    cdef int source
    cdef readonly unsigned long long stack_pointer
    cdef readonly unsigned long long frame_pointer
    cdef readonly int column
    # How many registers rules may name, and those that calls preserve.
    cdef readonly unsigned long long known
    cdef object callee_saved
    # Keys, their numbers in the rule set, and slots of a hash of them.
    cdef unsigned long long[::1] _keys
    cdef unsigned int[::1] _of_key
    cdef unsigned int[::1] _slots
    cdef Py_ssize_t _count
    cdef unsigned long long[4] _factors

    cdef Py_ssize_t _slot(self, const unsigned long long *key) noexcept nogil
    cdef long long find(self, const unsigned long long *key) except? -2 nogil
    cdef long long intern(self, const unsigned long long *key) except? -2 nogil
    cdef long long _add(self, const unsigned long long *key) except? -2
    cdef int _widen(self) except? -1
