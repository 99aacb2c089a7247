from undwarf.outputs.kernels.text_buffer cimport Names, Text


cdef class Cells:
    cdef int kind
    cdef bint nullable
    cdef Names names
    cdef const unsigned char[::1] valid
    cdef const unsigned char[::1] ones
    cdef const unsigned int[::1] fours
    cdef const unsigned long long[::1] eights

    cdef int put(self, Text text, Py_ssize_t row) except? -1


cdef class Rows:
    cdef list columns
    cdef Py_ssize_t length
    cdef Py_ssize_t at
    cdef Text text
