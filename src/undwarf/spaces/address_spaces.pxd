cdef class AddressSpaces:
    # By chunk of CHUNK entries, how many are used; by entry a mapping: its addresses, offset in its image, image, flags.
    cdef const unsigned int[::1] chunk_count
    cdef const unsigned long long[::1] starts
    cdef const unsigned long long[::1] ends
    cdef const unsigned long long[::1] offsets
    cdef const unsigned int[::1] images
    cdef const unsigned char[::1] flags
    # By snapshot, where its chunks, in order of their addresses, begin in `lists`, and how many they are.
    cdef const unsigned int[::1] lists
    cdef const unsigned int[::1] snapshot_at
    cdef const unsigned int[::1] snapshot_count

    cdef Py_ssize_t mapping(self, unsigned int space, unsigned long long address) except? -2 nogil
    cdef Py_ssize_t code_of(self, unsigned int space, unsigned int image) except? -2 nogil
