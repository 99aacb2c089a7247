from undwarf.outputs.kernels.text_buffer cimport Names, Text


cdef class SliceText:
    cdef Text text
    cdef Names names
    cdef const unsigned int[::1] entity
