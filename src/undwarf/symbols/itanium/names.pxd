from undwarf.symbols.itanium.expressions cimport Expressions
from undwarf.symbols.itanium.kinds cimport *
from undwarf.symbols.itanium.tree cimport Node, is_this, made


cdef class Names(Expressions):
    cdef Node parse(self)
    cdef Node _encoding(self, bint outermost)
    cdef Node special(self)
    cdef object call_offset(self)
    cdef Node nested(self, bint own)
    cdef Node local(self, bint own)
    cdef object discriminator(self)
    cdef Node constructor(self)
    cdef Node unnamed(self)
