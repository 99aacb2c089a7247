from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.die_cursor cimport DieCursor
from undwarf.dwarf.ranges cimport RangeLists


cdef class UnitFunctions:
    cdef DieCursor cursor
    cdef AttributeReader reader
    cdef AbbreviationTables abbreviations
    cdef RangeLists ranges
    cdef unsigned long long[::1] die
    cdef unsigned long long[::1] origin
    cdef unsigned char[::1] origin_class
    cdef unsigned char[::1] inlined
    cdef unsigned int[::1] parent
    cdef unsigned int[::1] file
    cdef unsigned int[::1] line
    cdef unsigned int[::1] column
    cdef Py_ssize_t total
    # Of the name that was found last: a reference to another file, and the unit that has the name.
    cdef int next_class
    cdef unsigned long long next_value
    cdef Py_ssize_t name_unit

    cdef int _reset(self) except? -1
    cdef int _grow(self) except? -1
    cdef int _read_functions(self, Py_ssize_t unit, bint inlined) except? -1
    cdef unsigned int _function(
        self, Py_ssize_t abbreviation, int tag, Py_ssize_t die, unsigned int enclosing
    ) except *
    cdef int _follow(self, unsigned long long offset) except? -1
