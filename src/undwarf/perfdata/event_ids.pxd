from undwarf.perfdata.event_layouts cimport EventLayouts


cdef class EventIds:
    cdef EventLayouts _layouts
    # Offsets of ids in samples; a hash table of ids, with the event number + 1 of each.
    cdef const unsigned long long[::1] _offsets
    cdef unsigned long long[::1] _ids
    cdef unsigned int[::1] _owners
    cdef unsigned long long _factor
    cdef int _shift
    cdef unsigned long long _last_id
    cdef Py_ssize_t _last_owner

    cdef Py_ssize_t event(self, unsigned long long identifier) except? -2 nogil
    cdef Py_ssize_t event_of_sample(self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end) except? -2 nogil
