from undwarf.symbols.itanium.kinds cimport *
from undwarf.symbols.itanium.tree cimport Node, made


cdef class Cursor:
    cdef str text
    cdef Py_ssize_t at
    cdef Py_ssize_t size
    cdef int depth
    # How many more nodes may be looked at.
    cdef public int steps
    # What substitutions mean, in order; what template parameters mean, if that is known; those that are known later.
    cdef list known
    cdef list arguments
    cdef list waiting
    # The identifier read last, which constructors repeat.
    cdef str last
    cdef int in_lambda
    cdef bint in_conversion
    cdef int in_expression
    # Parameters that were said before may have meant other arguments.
    cdef bint several_functions

    cdef Py_UCS4 peek(self)
    cdef Py_UCS4 peek_behind(self)
    cdef bint take(self, str wanted)
    cdef object need(self, str wanted)
    cdef long long number(self)
    cdef long long compact(self)
    cdef object step(self)
    cdef object deeper(self)
    cdef Node source_name(self)
    cdef Node expression(self)
    cdef Node literal(self)
    cdef Node encoding(self, bint outermost)
    cdef Node name(self, bint own)
    cdef Node unqualified(self)
    cdef Node operator(self)
