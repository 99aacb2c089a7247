from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.units cimport UnitTable


cdef class RangeLists:
    cdef AttributeReader reader
    cdef UnitTable units
    cdef const unsigned char[::1] old_lists
    cdef const unsigned char[::1] lists
    cdef const unsigned char[::1] addresses
    # Start and end of each segment of code.
    cdef const unsigned long long[::1] code
    # Bytes of lists that were read, and what they are relative to.
    cdef unsigned long long list_bytes
    cdef unsigned long long base
    cdef unsigned long long addr_base
    cdef unsigned long long rnglists_base
    cdef unsigned long long ranges_base
    # What was found: ranges, and the number of what each belongs to.
    cdef unsigned long long[::1] start
    cdef unsigned long long[::1] end
    cdef unsigned int[::1] owner
    cdef Py_ssize_t total
    cdef Py_ssize_t limit

    cdef int reset(self) except? -1
    cdef unsigned long long indexed_address(self, unsigned long long index) noexcept nogil
    cdef int add(self, unsigned long long start, unsigned long long end, unsigned int owner) except? -1
    cdef int add_list(self, int value_class, unsigned long long value, unsigned int owner) except? -1
    cdef int _add_old_list(self, unsigned long long offset, unsigned int owner) except? -1
    cdef int _add_new_list(self, unsigned long long offset, unsigned int owner) except? -1
