from undwarf.symbols.itanium.kinds cimport CV


cdef class Node:
    cdef public int kind
    cdef public str text
    cdef public object a
    cdef public object b
    cdef public object shown


cdef Node made(int kind, str text=*, object a=*, object b=*)
cdef bint is_this(Node node)
