cimport cython
from undwarf.perfdata.columns cimport Columns


cdef class SampleRecords(Columns):
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
    # Counters read with samples: the value of (id, thread) that the last sample had, and rows that the sample at hand
    # may become.
    cdef bint _splits
    cdef Py_ssize_t _room
    # Of the sample at hand: whether its branch stack could be a word shorter; whether its stack is longer than its room.
    cdef bint _unsure
    cdef bint _bad_stack
    cdef unsigned long long[::1] _read_ids
    cdef unsigned int[::1] _read_threads
    cdef unsigned long long[::1] _read_values
    cdef Py_ssize_t _read_count
    # Times: what the next round flushes, the newest so far, what the last round flushed.
    cdef unsigned long long _next_flush
    cdef unsigned long long _newest
    cdef unsigned long long _flushed
    cdef readonly Py_ssize_t unordered
    cdef readonly Py_ssize_t unknown_ids
    cdef readonly Py_ssize_t bad_stacks

    cdef int _owner(self, unsigned long long identifier) except? -1 nogil
    cdef int _sample_event(self, const unsigned char *data, Py_ssize_t end, Py_ssize_t at) except? -1 nogil
    cdef unsigned long long _effective(self, unsigned long long time) noexcept nogil
    cdef int _sample(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, unsigned int misc, long long base
    ) except? -1 nogil
    cdef int _fields(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t row, bint bare_branches
    ) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _word(
        self, const unsigned char *data, Py_ssize_t p, Py_ssize_t end, Py_ssize_t column
    ) except? -1 nogil
    @cython.final
    cdef int _place(self, Py_ssize_t at, Py_ssize_t p, Py_ssize_t column) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _first_words(
        self, const unsigned char *data, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _counters_and_chain(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _branches(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row, bint bare
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _registers_and_stack(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _last_words(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
    @cython.final
    cdef bint _is_split(self, Py_ssize_t row) except? -1 nogil
    cdef int _split(
        self, const unsigned char *data, Py_ssize_t end, Py_ssize_t read, Py_ssize_t row, Py_ssize_t n
    ) except? -1 nogil
    cdef Py_ssize_t _read_slot(self, unsigned long long identifier, unsigned int thread) noexcept nogil
    cdef unsigned long long _counted(
        self, unsigned long long identifier, unsigned int thread, unsigned long long value
    ) noexcept nogil
    cdef int _grow_reads(self)
