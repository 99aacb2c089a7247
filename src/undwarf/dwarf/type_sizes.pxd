from undwarf.dwarf.attribute_values cimport AttributeReader
from undwarf.dwarf.die_cursor cimport DieCursor


cdef long long size_at(AttributeReader reader, unsigned long long offset) except? -2
cdef long long _elements(AttributeReader reader) except? -2
cdef unsigned long long _mixed_string(AttributeReader reader, unsigned long long mixed) noexcept
cdef unsigned long long _mixed_name(
    AttributeReader reader, unsigned long long mixed, unsigned long long offset
) noexcept
cdef unsigned long long _mixed_dimensions(AttributeReader reader, unsigned long long mixed) noexcept
