from undwarf.tables.cfi.fde cimport Fde

cdef class FdeReader:
    cdef readonly object section
    cdef readonly Py_ssize_t size
    cdef readonly unsigned long long address
    cdef readonly int word
    cdef readonly bint debug
    cdef const unsigned char[::1] data
    cdef const unsigned char *base
    # The bits of an address.
    cdef unsigned long long mask
    # Words of all CIEs so far (`fde.pxd`), and their numbers by offset.
    cdef unsigned long long[::1] cies
    cdef dict _cie_numbers
    cdef unsigned long long[::1] _code_starts
    cdef unsigned long long[::1] _code_ends
    # The range of code that held the last function.
    cdef Py_ssize_t last_code
    # Cached numbers of CIEs, by offset.
    cdef Py_ssize_t[256] cached_offset
    cdef Py_ssize_t[256] cached_cie
    # The entry that was read last: an EntryKind, and for FUNCTION all of `fde`.
    cdef int kind
    cdef Fde fde
    cdef unsigned long long slow_value

    cdef Py_ssize_t read(self, Py_ssize_t at) except? -1 nogil
    cdef Py_ssize_t read_range(self, Py_ssize_t at, Py_ssize_t end, int encoding) except? -1 nogil
    cdef unsigned long long clip(self, unsigned long long start, unsigned long long end) noexcept nogil
