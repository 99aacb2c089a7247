cimport cython
from undwarf.dwarf.units cimport Units


cdef class Abbreviations(Units):
    cdef const unsigned char[::1] abbrevs
    cdef unsigned int[::1] unit_table
    cdef dict tables
    cdef const unsigned char[::1] told_by
    cdef unsigned int[::1] map_first
    cdef unsigned int[::1] map_size
    cdef Py_ssize_t table_total
    cdef unsigned long long table_bytes
    cdef unsigned int[::1] code_map
    cdef Py_ssize_t code_total
    cdef unsigned short[::1] decl_tag
    cdef unsigned char[::1] decl_children
    cdef unsigned int[::1] decl_spec
    cdef unsigned int[::1] decl_count
    cdef int[::1] decl_fixed
    # Where DW_AT_sibling is in an entry, and its size in the lowest four bits, of those whose children say nothing of
    # types' members, functions and variables, and (OF_MEMBERS set) of those with members; 0 for others.
    cdef unsigned int[::1] decl_leap
    # What an entry is (FUNCTIONS and its like); 0 for all that declares nothing.
    cdef unsigned char[::1] decl_declares
    cdef unsigned long long[::1] codes
    cdef Py_ssize_t decl_total
    cdef unsigned short[::1] spec_attribute
    cdef unsigned short[::1] spec_form
    cdef unsigned char[::1] spec_size
    # What an attribute says of what is declared (NAMING and its like); 0 for most.
    cdef unsigned char[::1] spec_told
    cdef long long[::1] spec_constant
    cdef Py_ssize_t spec_total
    cdef const unsigned char[::1] sizes
    # The unit at hand, whose these are.
    cdef Py_ssize_t unit
    cdef int width
    cdef int address
    cdef int version
    # Where the abbreviations of the unit at hand are in the map of codes, and how many it has.
    cdef Py_ssize_t codes_at
    cdef unsigned long long codes_end

    cdef int enter(self, Py_ssize_t unit) except? -1
    cdef int at_hand(self, Py_ssize_t unit) noexcept nogil
    @cython.final
    cdef int size_of(self, int form) noexcept nogil
    @cython.final
    cdef Py_ssize_t _read_table(self, unsigned long long offset) except? -1
    @cython.final
    cdef unsigned long long _read_declarations(self) except? 0
    @cython.final
    cdef int _read_declaration(self, unsigned long long tag) except? -1
    @cython.final
    cdef int _read_attribute(self, Py_ssize_t decl) except? -1
    @cython.final
    cdef Py_ssize_t _map_codes(self, Py_ssize_t first, unsigned long long highest) except? -1
    @cython.final
    cdef int _room_for_decl(self) except? -1
    @cython.final
    cdef int _room_for_spec(self) except? -1
    cdef Py_ssize_t head(self) noexcept nogil
