cimport cython
from undwarf.perfdata.read_counters cimport ReadCounters


cdef class SampleRecords(ReadCounters):
    # Of the sample at hand: whether its branch stack could be a word shorter; whether its stack is longer than its room.
    cdef bint _unsure
    cdef bint _bad_stack
    cdef readonly Py_ssize_t bad_stacks

    cdef int _sample(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, unsigned int misc, long long base
    ) except? -1 nogil
    cdef int _fields(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t row, bint bare_branches
    ) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _word(
        self, const unsigned char *data, Py_ssize_t p, Py_ssize_t end, Py_ssize_t column
    ) except? -1 nogil
    @cython.final
    cdef int _place(self, Py_ssize_t at, Py_ssize_t p, Py_ssize_t column) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _first_words(
        self, const unsigned char *data, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -1 nogil
    @cython.final
    cdef Py_ssize_t _counters_and_chain(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _branches(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row, bint bare
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _registers_and_stack(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
    @cython.final
    cdef Py_ssize_t _last_words(
        self, const unsigned char *data, Py_ssize_t at, Py_ssize_t p, Py_ssize_t end, Py_ssize_t row
    ) except? -2 nogil
