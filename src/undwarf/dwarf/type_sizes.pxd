from undwarf.dwarf.die_cursor cimport EntryWalk


cdef class Layouts(EntryWalk):
    cdef long long size_at(self, unsigned long long offset) except? -2
    cdef long long elements(self) except? -2
    cdef unsigned long long mixed_string(self, unsigned long long mixed) noexcept
    cdef unsigned long long mixed_name(self, unsigned long long mixed, unsigned long long offset) noexcept
    cdef unsigned long long mixed_dimensions(self, unsigned long long mixed) noexcept
