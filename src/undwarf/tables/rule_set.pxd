cdef class RuleSet:
    cdef readonly Py_ssize_t count
    # How many rules came when the set was full.
    cdef readonly Py_ssize_t refused
    cdef readonly object lock
    cdef readonly object rules
    cdef readonly object expressions
    cdef Py_ssize_t limit
    # Rules' words, the states that they are made of, and a hash of those: 32 bits of it above the number + 1.
    cdef int[::1] _words
    cdef unsigned long long[::1] _states
    cdef unsigned long long[::1] _slots
    cdef unsigned long long[40] factors

    cdef unsigned long long hash(self, const unsigned long long *state, Py_ssize_t registers) noexcept nogil
    cdef long long intern(self, const unsigned long long *state, Py_ssize_t registers) except? -1 nogil
    cdef int write(self, const unsigned long long *state, Py_ssize_t registers) except? -1 nogil
