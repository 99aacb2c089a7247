from undwarf.symbols.itanium.ast cimport Node
from undwarf.symbols.itanium.budget cimport Budget


cdef str print_name(Node node, Py_ssize_t most, Budget budget)
