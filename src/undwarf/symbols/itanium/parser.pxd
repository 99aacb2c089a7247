from undwarf.symbols.itanium.ast cimport Node
from undwarf.symbols.itanium.budget cimport Budget


cdef Node parse_name(str text, Budget budget)
