from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_counts cimport CallCounts
from undwarf.unwind.call_steps cimport CallSteps

cdef enum:
    # Calls of a function in one image that may be the one it returned from; none is looked at where there are more.
    # Also calls in one function that are looked at.
    MAX_SITES = 64


cdef class CallTables:
    cdef CallSteps steps
    # How often calls are in the stacks of other samples, once that is known.
    cdef CallCounts counts
    # By call: its image, its return address, its function (NOTHING: not known yet), its CallLevel, and where the
    # positions begin that are reached from it (NOTHING: not known yet).
    cdef unsigned int[::1] images
    cdef unsigned long long[::1] addresses
    cdef unsigned int[::1] functions
    cdef unsigned char[::1] levels
    cdef unsigned int[::1] positions
    cdef Py_ssize_t used
    # By series: its first call, and how many it has; in the first of a table, how many series that has, and their calls
    # without those of longer series than MAX_SITES.
    cdef unsigned int[::1] series_first
    cdef unsigned int[::1] series_count
    cdef unsigned int[::1] table_series
    cdef unsigned int[::1] totals
    cdef Py_ssize_t series_used
    # Tables by function and set of images; their series by table and image, and by table those in functions that have
    # pointers.
    cdef IntMap tables
    cdef IntMap by_image
    cdef IntMap by_pointer
    # By function, the series of its calls through pointers, whether it has a pointer, and its end (0: not known yet).
    cdef IntMap indirect
    cdef IntMap pointed
    cdef unsigned long long[::1] ends
    # The first rows of calls, by image and identity; tables by function and the identity of all calls.
    cdef dict known
    cdef dict same
    # The first call of what was asked for last.
    cdef Py_ssize_t first

    cdef Py_ssize_t of(self, unsigned int function, unsigned int images) except? -1 nogil
    cdef unsigned int within(self, Py_ssize_t table, unsigned int caller, unsigned int callee) except? 0xFFFFFFFE nogil
    cdef unsigned int in_pointed(self, Py_ssize_t table, unsigned int callee) except? 0xFFFFFFFE nogil
    cdef unsigned int function_of(self, Py_ssize_t call) except? 0xFFFFFFFE nogil
    cdef unsigned int _find_function(self, Py_ssize_t call) except? 0xFFFFFFFE
    cdef Py_ssize_t _after(self, Py_ssize_t series, unsigned long long address) except? -1 nogil
    cdef unsigned long long _end_of(self, unsigned int function) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef int _find_end(self, unsigned int function) except? -1
    cdef bint _is_pointed_to(self, unsigned int function) except? -1 nogil
    cdef bint _ask_pointed(self, unsigned int function) except? -1
    cdef Py_ssize_t _add_table(self, unsigned int function, unsigned int images) except? -1
    cdef Py_ssize_t _rows(self, image, calls) except? -1
    cdef Py_ssize_t _add_indirect(self, unsigned int caller) except? -1
    cdef Py_ssize_t _add_pointed(self, Py_ssize_t table, unsigned int callee) except? -1
    cdef Py_ssize_t _add_rows(self, images, backs, direct) except? -1
    cdef Py_ssize_t _add_series(self, Py_ssize_t first, Py_ssize_t count) except? -1
