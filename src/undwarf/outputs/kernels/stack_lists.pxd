from undwarf.outputs.kernels.text_buffer cimport Text


cdef class StackLists:
    cdef Text text
    cdef const unsigned int[::1] parent
    cdef const unsigned int[::1] entity
    cdef unsigned int[::1] path
