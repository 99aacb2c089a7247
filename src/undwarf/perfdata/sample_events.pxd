cimport cython
from undwarf.perfdata.column_store cimport Columns


cdef class SampleEvents(Columns):
    # Events, as events.decoder_table has them; the places of ids in samples; a hash of ids and event numbers + 1.
    cdef unsigned long long[::1] _events
    cdef Py_ssize_t _event_count
    cdef bint _single
    cdef bint _timed
    cdef unsigned long long[::1] _places
    cdef unsigned long long[::1] _ids
    cdef unsigned int[::1] _owners
    cdef unsigned long long _id_factor
    cdef int _id_shift
    cdef unsigned long long _last_id
    cdef int _last_owner
    # Whether samples of any event have counters with ids.
    cdef bint _splits
    # Times: what the next round flushes, the newest so far, what the last round flushed.
    cdef unsigned long long _next_flush
    cdef unsigned long long _newest
    cdef unsigned long long _flushed
    cdef readonly Py_ssize_t unordered
    cdef readonly Py_ssize_t unknown_ids

    cdef int _owner(self, unsigned long long identifier) except? -1 nogil
    cdef int _sample_event(self, const unsigned char *data, Py_ssize_t end, Py_ssize_t at) except? -1 nogil
    cdef unsigned long long _effective(self, unsigned long long time) noexcept nogil
    @cython.final
    cdef bint _is_split(self, Py_ssize_t row) except? -1 nogil
