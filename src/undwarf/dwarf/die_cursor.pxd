from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.units cimport UnitTable


cdef class DieCursor:
    cdef AttributeReader reader
    cdef UnitTable units
    cdef AbbreviationTables abbreviations
    # The DIE that was come to last: where it is, where its values begin, and in how many others it is.
    cdef Py_ssize_t die
    cdef Py_ssize_t first
    cdef Py_ssize_t depth
    # What the DIEs at each depth are in: a row of the caller's, NONE or IN_FUNCTION.
    cdef unsigned int[::1] enclosing
    # Whether a unit is known to be of C (1), or of anything else (2).
    cdef unsigned char[::1] languages
    # What `gather` found.
    cdef unsigned long long[::1] below

    cdef int start(self, Py_ssize_t unit) except? -1
    cdef Py_ssize_t next_die(self) noexcept nogil
    cdef int next(self, Py_ssize_t abbreviation, bint skipped, bint in_c) noexcept nogil
    cdef bint enter_children(self) noexcept nogil
    cdef bint skip_children(self, Py_ssize_t abbreviation, Py_ssize_t first, bint in_c) noexcept nogil
    cdef unsigned long long skip_to_sibling(self, Py_ssize_t abbreviation) noexcept nogil
    cdef int skip_others(self, int wanted_kinds, bint in_c, bint through) noexcept nogil
    cdef bint is_c(self, Py_ssize_t unit) except? -1
    cdef Py_ssize_t gather(self, Py_ssize_t unit, Py_ssize_t offset, object wanted, Py_ssize_t limit) except? -1
