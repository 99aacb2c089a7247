from undwarf.perfdata.column_store cimport ColumnStore
from undwarf.perfdata.event_ids cimport EventIds
from undwarf.perfdata.event_layouts cimport EventLayout, EventLayouts, FieldStep
from undwarf.perfdata.read_counters cimport ReadCounters
from undwarf.perfdata.finished_rounds cimport Rounds


cdef class SampleDecoder:
    cdef ColumnStore _columns
    cdef EventLayouts _layouts
    cdef EventIds _ids
    cdef Rounds _rounds
    cdef ReadCounters _counters
    cdef readonly Py_ssize_t unknown_ids
    cdef readonly Py_ssize_t bad_stacks

    cdef int decode(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, unsigned int misc, long long base, Py_ssize_t rows
    ) except? -1 nogil
    cdef int _fields(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, const EventLayout *layout, bint without_hw_idx
    ) except? -1 nogil
    cdef int _split(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, const EventLayout *layout, Py_ssize_t rows
    ) except? -1 nogil
