from undwarf.symbols.itanium.types cimport Types
from undwarf.symbols.itanium.kinds cimport *
from undwarf.symbols.itanium.tree cimport Node, made


cdef class Expressions(Types):
    cdef Node named(self)
    cdef Node scope(self)
    cdef Node several(self, str end)
    cdef Node _expression(self)
    cdef Node operation(self)
