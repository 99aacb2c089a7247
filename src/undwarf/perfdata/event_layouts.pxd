# As EventLayout and FieldStep in sample_layout.py have them.
cdef struct EventLayout:
    unsigned long long sample_type
    unsigned long long read_format
    unsigned long long read_times
    unsigned long long value_words
    unsigned long long user_registers
    unsigned long long default_period
    unsigned long long id_offset
    unsigned long long id_all
    unsigned long long trailer_bytes
    unsigned long long trailer_id_distance
    unsigned long long per_thread
    unsigned long long splits
    unsigned long long program


cdef struct FieldStep:
    int shape
    int column
    int words
    int extra


cdef class EventLayouts:
    cdef const unsigned long long[::1] _events
    cdef const int[::1] _steps
    cdef Py_ssize_t count
    cdef bint timed
    cdef bint splits

    cdef const EventLayout *layout(self, Py_ssize_t event) noexcept nogil
    cdef const FieldStep *fields(self, const EventLayout *layout) noexcept nogil
