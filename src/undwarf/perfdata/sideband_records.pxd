from undwarf.perfdata.sample_records cimport SampleRecords


cdef class SideRecords(SampleRecords):
    cdef bint _keep_switches
    cdef const unsigned char[::1] _least
    # A file identity as it is interned.
    cdef unsigned char[::1] _scratch
    # The record at hand: its kind in the side band (0: it is not kept) and what it says.
    cdef int _entry
    cdef unsigned long long _time
    cdef int _pid
    cdef int _tid
    cdef unsigned long long _a
    cdef unsigned long long _b
    cdef unsigned long long _c
    cdef unsigned int _d
    cdef Py_ssize_t _name_at
    cdef Py_ssize_t _identity
    # Samples that the kernel says were lost, and records of no event that is known.
    cdef readonly unsigned long long lost
    cdef readonly Py_ssize_t no_event

    cdef int _side_record(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, unsigned int kind, unsigned int misc, long long base
    ) except? -1 nogil
    cdef Py_ssize_t _trailer(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t least
    ) except? -1 nogil
    cdef int _mapping(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, unsigned int kind, unsigned int misc
    ) except? -1 nogil
    cdef int _body(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t tail, Py_ssize_t end, unsigned int kind, unsigned int misc
    ) except? -1 nogil
