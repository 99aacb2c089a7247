from undwarf.symbols.itanium.kinds cimport *
from undwarf.symbols.itanium.tree cimport Node


cdef class Speller:
    cdef Py_ssize_t most
    cdef int depth
    # How many more nodes may be looked at.
    cdef public int steps
    # The element of a pack that is spelled, -1 outside of expansions.
    cdef Py_ssize_t index
    cdef int in_lambda

    cdef object step(self)
    cdef str text(self, Node node)
    cdef tuple[str, str] parts(self, Node node)
    cdef tuple[str, str] _parts(self, Node node)
    cdef str rest(self, Node node)
    cdef str listed(self, list[Node] items)
    cdef str template(self, Node node)
    cdef bint ends_empty(self, Node node)
    cdef tuple[str, str] qualified(self, Node node)
    cdef Node element(self, Node node)
    cdef Node argument(self, Node node)
    cdef bint is_function(self, Node node)
    cdef Node pack(self, object node, int depth)
    cdef Node declared(self, Node node)
    cdef tuple[str, str] pointer(self, Node node)
    cdef tuple[str, str] member(self, Node node)
    cdef tuple[str, str] function(self, Node node)
    cdef str encoding(self, Node node)
    cdef tuple[str, str] scoped(self, Node node)
    cdef str expansion(self, Node node)
    cdef str operand(self, Node node)
    cdef str expression(self, Node node)
    cdef str literal(self, Node node)
    cdef str unary(self, Node node)
    cdef str binary(self, Node node)
