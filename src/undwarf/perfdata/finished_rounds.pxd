cdef class Rounds:
    cdef unsigned long long newest
    cdef unsigned long long _flushed
    cdef unsigned long long _next_flush
    cdef readonly Py_ssize_t unordered

    cdef int finish(self) noexcept nogil
    cdef unsigned long long delivery(self, unsigned long long time) noexcept nogil
