from undwarf.outputs.kernels.text_buffer cimport Text


cdef class FrameTexts:
    cdef Text text
    cdef unsigned int[::1] start
    cdef unsigned int[::1] end
    cdef unsigned int mode

    cdef int forget(self) except? -1
    cdef int select(self, unsigned int mode) except? -1
    cdef int begin(self, Py_ssize_t frame) except? -1
    cdef int finish(self, Py_ssize_t frame) except? -1
