cdef class ReadCounters:
    # A hash table: by (id, thread) the value that was read last.
    cdef unsigned long long[::1] _ids
    cdef unsigned int[::1] _threads
    cdef unsigned long long[::1] _values
    cdef Py_ssize_t _used
    cdef unsigned long long _factor

    cdef unsigned long long increase(
        self, unsigned long long identifier, unsigned int thread, unsigned long long value
    ) noexcept nogil
    cdef Py_ssize_t _slot(self, unsigned long long identifier, unsigned int thread) noexcept nogil
    cdef int _grow(self)
