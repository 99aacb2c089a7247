from undwarf.dwarf.abbreviations cimport AbbreviationTables
from undwarf.dwarf.units cimport UnitTable


cdef class AttributeReader:
    cdef UnitTable units
    cdef AbbreviationTables abbreviations
    cdef const unsigned char[::1] data
    cdef bint big
    cdef Py_ssize_t damaged
    # The unit that is read.
    cdef Py_ssize_t unit
    cdef int offset_size
    cdef int address_size
    cdef int version
    # Where the codes of its abbreviations begin in `code_map`, and how many there are.
    cdef Py_ssize_t codes_at
    cdef unsigned long long codes_end
    # The table of each unit, NONE where it has not been read.
    cdef unsigned int[::1] tables
    # The next byte to read, and where the unit ends.
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    # The value that was read last.
    cdef int value_class
    cdef unsigned long long value
    cdef unsigned long long value_size
    cdef const unsigned char[::1] root_of

    cdef int enter(self, Py_ssize_t unit) except? -1
    cdef int enter_again(self, Py_ssize_t unit) noexcept nogil
    cdef Py_ssize_t read_code(self) noexcept nogil
    cdef Py_ssize_t seek(self, unsigned long long offset) except? -4
    cdef unsigned long long uleb(self) noexcept nogil
    cdef int skip_form(self, int form) noexcept nogil
    cdef int named_form(self) noexcept nogil
    cdef unsigned long long block_size(self, int form) noexcept nogil
    cdef int read_form(self, int form, int size, long long constant) noexcept nogil
    cdef int read(self, Py_ssize_t i) noexcept nogil
    cdef int _computed_address(self) noexcept nogil
    cdef int skip(self, Py_ssize_t i) noexcept nogil
    cdef int skip_all(self, Py_ssize_t abbreviation) noexcept nogil
