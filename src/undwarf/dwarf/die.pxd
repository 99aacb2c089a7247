from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.die_cursor cimport DieCursor
from undwarf.dwarf.functions cimport UnitFunctions
from undwarf.dwarf.ranges cimport RangeLists
from undwarf.dwarf.unit_index cimport UnitIndex
from undwarf.dwarf.units cimport UnitTable


cdef class DebugInfo:
    cdef readonly UnitTable units
    cdef readonly AbbreviationTables abbreviations
    cdef readonly AttributeReader reader
    cdef readonly DieCursor cursor
    cdef readonly RangeLists ranges
    cdef readonly UnitFunctions functions
    cdef readonly UnitIndex index
    cdef unsigned long long[::1] variable_rows
    cdef readonly dict known_strings
    cdef readonly Py_ssize_t first_number

    cdef object entry_at(self, Py_ssize_t unit, unsigned long long offset, object space)
    cdef object gathered(self, object space, Py_ssize_t unit, Py_ssize_t k)
    cdef object plain_member(self, object space, Py_ssize_t unit, Py_ssize_t k)
    cdef object text(
        self, int kind, unsigned long long value, unsigned long long size, Py_ssize_t unit, object space
    )
