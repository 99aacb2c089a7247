from undwarf.perfdata.column_store cimport ColumnStore
from undwarf.perfdata.event_ids cimport EventIds
from undwarf.perfdata.event_layouts cimport EventLayout, EventLayouts
from undwarf.perfdata.finished_rounds cimport Rounds


# An entry of the side band; kind is 0 for a record that is not stored, name_at for one without a name.
cdef struct SidebandEntry:
    int kind
    int pid
    int tid
    unsigned int fourth
    unsigned long long time
    unsigned long long first
    unsigned long long second
    unsigned long long third
    Py_ssize_t name_at
    Py_ssize_t identity


cdef class SidebandDecoder:
    cdef ColumnStore _columns
    cdef EventLayouts _layouts
    cdef EventIds _ids
    cdef Rounds _rounds
    cdef bint _keep_switches
    cdef const unsigned char[::1] _least
    cdef unsigned char[::1] _scratch
    cdef SidebandEntry _entry
    cdef readonly unsigned long long lost
    cdef readonly Py_ssize_t unknown_ids

    cdef int decode(
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
