cdef class RowTable

# Gives the rows of one section's functions, in the order of their numbers.
cdef class RowProducer:
    cdef int produce(self, RowTable table, Py_ssize_t function) except? -1 nogil

cdef class RowTable:
    cdef RowProducer producer
    cdef object lock
    # The rows of all functions so far, and where each function's are.
    cdef unsigned long long[::1] _addresses
    cdef unsigned int[::1] _rules
    cdef object _address_view
    cdef object _rule_view
    cdef unsigned int[::1] _first
    cdef unsigned int[::1] _count
    cdef readonly Py_ssize_t total
    cdef readonly Py_ssize_t damaged
    # The first row of the function that is being compiled.
    cdef readonly Py_ssize_t first

    cdef int put(self, unsigned long long address, unsigned int rule) except? -1 nogil
    cdef int compile(self, Py_ssize_t function) except? -1 nogil
