cdef class Units:
    cdef const unsigned char[::1] data
    cdef const unsigned char[::1] abbrevs
    cdef bint big
    cdef bint types
    cdef public Py_ssize_t damaged
    cdef unsigned long long[::1] unit_offset
    cdef unsigned long long[::1] unit_first
    cdef unsigned long long[::1] unit_end
    cdef unsigned long long[::1] unit_abbrev
    cdef unsigned long long[::1] unit_signature
    cdef unsigned long long[::1] unit_type
    cdef unsigned int[::1] unit_table
    cdef unsigned char[::1] unit_version
    cdef unsigned char[::1] unit_width
    cdef unsigned char[::1] unit_address
    cdef unsigned char[::1] unit_kind
    # Whether a unit is known to be of C (1), or of anything else (2).
    cdef unsigned char[::1] unit_plain
    cdef readonly Py_ssize_t count
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
    # Whether a variable may have one place all the time, or be declared only.
    cdef unsigned char[::1] decl_placed
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
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef Py_ssize_t unit
    cdef int width
    cdef int address
    cdef int version
    # Where the abbreviations of the unit at hand are in the map of codes, and how many it has.
    cdef Py_ssize_t codes_at
    cdef unsigned long long codes_end

    cdef unsigned long long fixed(self, const unsigned char[::1] view, Py_ssize_t at, int size) noexcept nogil
    cdef unsigned long long uleb(self) noexcept nogil
    cdef unsigned long long sleb(self) noexcept nogil
    cdef int _units(self, bint keep) except? -1
    cdef Py_ssize_t find_unit(self, unsigned long long offset) noexcept nogil
    cdef int enter(self, Py_ssize_t unit) except? -1
    cdef int at_hand(self, Py_ssize_t unit) noexcept nogil
    cdef Py_ssize_t _abbreviations(self, unsigned long long offset) except? -1
    cdef int _room_for_decl(self) except? -1
    cdef int _room_for_spec(self) except? -1
    cdef Py_ssize_t head(self) noexcept nogil
