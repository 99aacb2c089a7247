from undwarf.dwarf.attribute_values cimport Values


cdef class EntryWalk(Values):
    # Whether a unit is known to be of C (1), or of anything else (2).
    cdef unsigned char[::1] unit_plain
    # The entry at hand: where it is, where its values begin, and in how many others it is.
    cdef Py_ssize_t die
    cdef Py_ssize_t first
    cdef Py_ssize_t depth
    cdef unsigned long long[::1] below

    cdef int start(self, Py_ssize_t unit) except? -1
    cdef Py_ssize_t next_entry(self) noexcept nogil
    cdef int go_on(self, Py_ssize_t decl, bint leapt, int members) noexcept nogil
    cdef bint go_in(self) noexcept nogil
    cdef bint leap(self, Py_ssize_t decl, Py_ssize_t first, int members) noexcept nogil
    cdef unsigned long long pass_to_sibling(self, Py_ssize_t decl) noexcept nogil
    cdef int plain(self, Py_ssize_t unit) except? -1
    cdef Py_ssize_t gather(self, Py_ssize_t unit, Py_ssize_t offset, object wanted, Py_ssize_t limit) except? -1
