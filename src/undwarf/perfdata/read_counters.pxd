from undwarf.perfdata.sample_events cimport SampleEvents


cdef class ReadCounters(SampleEvents):
    # Counters read with samples: the value of (id, thread) that the last sample had, and rows that the sample at hand
    # may become.
    cdef Py_ssize_t _room
    cdef unsigned long long[::1] _read_ids
    cdef unsigned int[::1] _read_threads
    cdef unsigned long long[::1] _read_values
    cdef Py_ssize_t _read_count

    cdef int _split(
        self, const unsigned char *data, Py_ssize_t end, Py_ssize_t read, Py_ssize_t row, Py_ssize_t n
    ) except? -1 nogil
    cdef Py_ssize_t _read_slot(self, unsigned long long identifier, unsigned int thread) noexcept nogil
    cdef unsigned long long _counted(
        self, unsigned long long identifier, unsigned int thread, unsigned long long value
    ) noexcept nogil
    cdef int _grow_reads(self)
