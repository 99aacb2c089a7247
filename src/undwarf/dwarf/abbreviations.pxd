cdef class AbbreviationTables:
    cdef readonly Py_ssize_t damaged
    cdef const unsigned char[::1] data
    # Table numbers by where a table is and how its forms are measured.
    cdef dict tables
    cdef const unsigned char[::1] roles
    cdef const unsigned char[::1] form_sizes
    # By table: where its codes begin in `code_map`, and how many it has.
    cdef unsigned int[::1] map_first
    cdef unsigned int[::1] map_size
    cdef Py_ssize_t table_total
    cdef unsigned long long table_bytes
    # By code: the number of an abbreviation plus one, 0 for none.
    cdef unsigned int[::1] code_map
    cdef Py_ssize_t code_total
    # By abbreviation.
    cdef unsigned short[::1] tag
    cdef unsigned char[::1] has_children
    # Its attributes: rows of the columns below.
    cdef unsigned int[::1] first
    cdef unsigned int[::1] end
    # Bytes of all values; -1 where that varies.
    cdef int[::1] fixed_size
    # Where the value of DW_AT_sibling is, counted from the first value, times 16, plus its size: of DIEs whose children
    # declare no types' members, functions and variables, and of those with members (SKIP_IN_C set). 0 for others.
    cdef unsigned int[::1] sibling
    # DieKind.
    cdef unsigned char[::1] kind
    cdef Py_ssize_t total
    # By attribute of an abbreviation: DW_AT_*, DW_FORM_*, bytes, AttributeRole, the value of an implicit constant.
    cdef unsigned short[::1] attribute
    cdef unsigned short[::1] form
    cdef unsigned char[::1] size
    cdef unsigned char[::1] role
    cdef long long[::1] constant
    cdef Py_ssize_t attribute_total
    # While a table is read: the place, and what the units have that use it.
    cdef Py_ssize_t at
    cdef int offset_size
    cdef int address_size
    cdef int version
    cdef unsigned long long[::1] codes

    cdef Py_ssize_t table(
        self, unsigned long long offset, int offset_size, int address_size, int version
    ) except? -1
    cdef int size_of(self, int form, int offset_size, int address_size, int version) noexcept nogil
    cdef unsigned long long _leb(self, bint signed) noexcept nogil
    cdef Py_ssize_t _read_table(self, unsigned long long offset) except? -1
    cdef unsigned long long _read_abbreviations(self) except? 0
    cdef int _read_abbreviation(self, unsigned long long tag) except? -1
    cdef int _read_attribute(self, Py_ssize_t abbreviation) except? -1
    cdef Py_ssize_t _map_codes(self, Py_ssize_t first, unsigned long long highest) except? -1
    cdef int _grow_abbreviations(self) except? -1
    cdef int _grow_attributes(self) except? -1
