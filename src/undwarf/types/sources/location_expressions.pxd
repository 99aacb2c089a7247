cdef class DecodedExpression:
    cdef readonly list spots
    cdef readonly bytes flags
    cdef bint worded
    cdef long long kind
    cdef long long register
    cdef long long offset
    cdef long long piece
    cdef long long size
    cdef long long reader
    cdef readonly Py_ssize_t number

    cdef int fill_columns(self) except -1


cdef class Expressions:
    cdef object _types
    cdef object _base
    cdef object _space
    cdef Py_ssize_t _unit
    cdef object _order
    cdef int _address_size
    cdef int _version
    cdef object _lists
    cdef object _rows_of_lists
    cdef dict _own
    cdef bint _asked
    cdef object _low
    cdef object _high
    cdef object _frame_base
    cdef dict _known
    cdef list _registers
    cdef long long _reader
    cdef list told
    cdef unsigned long long[::1] rows
    cdef const unsigned char[::1] data

    cpdef close(self)
    cpdef Py_ssize_t add(self, list found) except -1
    cdef list _spots(self, expression, frame_base)
    cdef _read_frame_base(self, entry)
    cdef _listed_frame_base(self, entry)
    cdef DecodedExpression at(self, Py_ssize_t start, Py_ssize_t size)
    cdef DecodedExpression of(self, bytes expression)
    cdef int _number(self, DecodedExpression told) except -1
    cdef Py_ssize_t read_list(self, int kind, value) except -1
    cdef _read_lists(self)
