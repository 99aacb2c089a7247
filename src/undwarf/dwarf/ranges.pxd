from undwarf.dwarf.type_sizes cimport Layouts


cdef class Ranges(Layouts):
    cdef const unsigned char[::1] ranges_data
    cdef const unsigned char[::1] rnglists
    cdef const unsigned char[::1] addresses
    cdef unsigned long long list_bytes
    cdef unsigned long long base
    cdef unsigned long long addr_base
    cdef unsigned long long rnglists_base
    cdef unsigned long long ranges_base
    # Room for the ranges of one entry.
    cdef unsigned long long[::1] own_start
    cdef unsigned long long[::1] own_end
    cdef unsigned int[::1] own_record
    cdef const unsigned long long[::1] code
    cdef unsigned long long[::1] record_die
    cdef unsigned long long[::1] record_origin
    cdef unsigned char[::1] record_class
    cdef unsigned char[::1] record_inlined
    cdef unsigned int[::1] record_parent
    cdef unsigned int[::1] record_file
    cdef unsigned int[::1] record_line
    cdef unsigned int[::1] record_column
    cdef Py_ssize_t record_total
    cdef unsigned long long[::1] range_start
    cdef unsigned long long[::1] range_end
    cdef unsigned int[::1] range_record
    cdef Py_ssize_t range_total
    cdef Py_ssize_t range_limit
    cdef unsigned int[::1] enclosing

    cdef unsigned long long indexed(self, unsigned long long index) noexcept nogil
    cdef int add_range(self, unsigned long long start, unsigned long long stop, unsigned int record) except? -1
    cdef int add_list(self, int kind, unsigned long long value, unsigned int record) except? -1
    cdef int add_old_list(self, unsigned long long offset, unsigned int record) except? -1
    cdef int add_new_list(self, unsigned long long offset, unsigned int record) except? -1
    cdef int _reset_records(self) except? -1
    cdef int _room_for_record(self) except? -1
    cdef int _room_for_place(self) except? -1
