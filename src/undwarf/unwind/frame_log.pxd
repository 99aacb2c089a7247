cdef class FrameLog:
    # By frame, from the innermost one of a stack outwards: bytes from its stack pointer to that of its caller. After
    # the outermost one an END, and how many entries back the stack continues, in two halves (0: it does not).
    cdef unsigned short[::1] sizes
    cdef Py_ssize_t count
    # Where the entries of the current window begin, and how many it may have.
    cdef Py_ssize_t window_start
    cdef Py_ssize_t max_per_window
    # By stack: where its entries begin, its innermost stack pointer, and how many kernel frames it has.
    cdef unsigned long long[::1] starts
    cdef unsigned long long[::1] stack_pointers
    cdef unsigned short[::1] kernel_counts
    cdef Py_ssize_t stack_count
    # Frames of the stacks that end with their dump, whose nodes are postponed: for each how many they are, then the
    # kernel's and the user's, from the innermost one outwards. By stack where that is (0: it has a node).
    cdef unsigned int[::1] frames
    cdef Py_ssize_t frame_count
    cdef unsigned long long[::1] frames_at
    # The stack that was logged last, plus one (0: the sample's stack was not logged).
    cdef unsigned int last

    cdef Py_ssize_t add(self, Py_ssize_t frames, unsigned long long pointer, Py_ssize_t kernel) except? -2 nogil
    cdef int postpone(self, unsigned int[::1] chain, Py_ssize_t count) except? -1 nogil
    cdef int remove_last(self, Py_ssize_t at) except? -1 nogil
    cdef int end(self, Py_ssize_t at, Py_ssize_t back) except? -1 nogil
    cdef Py_ssize_t continues_at(self, Py_ssize_t at) except? -2 nogil
