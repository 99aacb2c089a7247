from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.die_cursor cimport DieCursor


cdef class UnitIndex:
    cdef DieCursor cursor
    cdef AttributeReader reader
    cdef AbbreviationTables abbreviations
    cdef unsigned long long[::1] die
    cdef unsigned long long[::1] name
    cdef unsigned char[::1] name_class
    cdef unsigned char[::1] flags
    cdef unsigned int[::1] parent
    cdef unsigned int[::1] tag
    cdef unsigned int[::1] linkage
    cdef unsigned int[::1] linkage_class
    cdef Py_ssize_t total
    # Variables with an address: what they are above, and where.
    cdef unsigned int[::1] variable
    cdef unsigned long long[::1] location
    cdef unsigned long long[::1] location_kind
    cdef Py_ssize_t variable_total
    # Of the variable that is read.
    cdef unsigned long long place
    cdef int place_kind

    cdef int _reset(self) except? -1
    cdef int _grow(self) except? -1
    cdef int _grow_variables(self) except? -1
    cdef int _read_unit(self, Py_ssize_t unit, int wanted_kinds) except? -1
    cdef unsigned int _read_die(
        self, Py_ssize_t abbreviation, int tag, Py_ssize_t die, unsigned int outer, int wanted_kinds
    ) except *
    cdef int _read_location(self, Py_ssize_t k, Py_ssize_t length) except? -1
