from undwarf.symbols.itanium.cursor cimport Cursor
from undwarf.symbols.itanium.kinds cimport *
from undwarf.symbols.itanium.tree cimport Node, made


cdef class Types(Cursor):
    cdef Node parameters(self)
    cdef Node type(self)
    cdef Node _type(self)
    cdef Node applied(self, Node node)
    cdef Node qualified(self)
    cdef Node function(self, str tail)
    cdef Node array_size(self)
    cdef Node array(self)
    cdef Node substitution(self, bint prefix)
    cdef Node parameter(self)
    cdef Node meant(self, long long index, object otherwise)
    cdef object resolve(self)
    cdef object bound(self, object node, int depth)
    cdef Node template_arguments(self, bint own)
    cdef Node argument(self)
