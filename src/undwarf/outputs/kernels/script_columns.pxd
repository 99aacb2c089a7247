from undwarf.outputs.kernels.text_buffer cimport Names


cdef class ScriptColumns:
    cdef const unsigned long long[::1] times
    cdef const int[::1] pids
    cdef const int[::1] tids
    cdef const int[::1] cpus
    cdef const unsigned short[::1] events
    cdef const unsigned long long[::1] periods
    cdef const unsigned int[::1] comms
    cdef const unsigned int[::1] stacks
    cdef const unsigned char[::1] stops
    cdef const unsigned int[::1] stop_images
    cdef const unsigned long long[::1] addrs
    cdef const unsigned long long[::1] physicals
    cdef const unsigned int[::1] parents
    cdef const unsigned int[::1] frames
    cdef const unsigned int[::1] images
    cdef const unsigned long long[::1] addresses
    cdef const unsigned char[::1] provenances
    cdef const unsigned long long[::1] runtimes
    cdef const unsigned int[::1] functions
    cdef const unsigned char[::1] depths
    cdef const unsigned int[::1] source_files
    cdef const unsigned int[::1] source_lines
    cdef const unsigned long long[::1] starts

    cdef unsigned long long printed(self, Py_ssize_t frame) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef unsigned int source_file(self, Py_ssize_t frame) except? 0xFFFFFFFF nogil
    cdef unsigned long long data_address(self, Py_ssize_t s) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef Py_ssize_t image_name(self, Names names, unsigned int image) except? -1 nogil
