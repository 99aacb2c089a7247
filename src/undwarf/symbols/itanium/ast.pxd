cdef class Node:
    cdef public int kind
    cdef public str text
    cdef public object first
    cdef public object second
    cdef public object printed


cdef Node new_node(int kind, str text=*, object first=*, object second=*)
cdef bint has_method_qualifiers(Node node)
