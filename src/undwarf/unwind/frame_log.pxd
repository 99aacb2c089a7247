cdef class FrameLog:
    # By frame, from the innermost one of a stack outwards: bytes from its stack pointer to that of its caller. After
    # the last one an END, and how many entries back the stack goes on, in two parts (0: there is no more of it).
    cdef unsigned short[::1] steps
    cdef Py_ssize_t count
    # Where the entries of the window at hand begin, and how many there may be.
    cdef Py_ssize_t start
    cdef Py_ssize_t most
    # By stack: where it begins, its innermost stack pointer, and how many frames of the kernel come before.
    cdef unsigned long long[::1] at
    cdef unsigned long long[::1] pointer
    cdef unsigned short[::1] kernel
    cdef Py_ssize_t stacks
    # Stacks that end with their dump, which are not among those of `stacks.py` yet: the kernel's frames and the user's,
    # from the innermost outwards, after how many they are; and by stack where they begin (0: it is one of those).
    cdef unsigned int[::1] frames
    cdef Py_ssize_t frame_count
    cdef unsigned long long[::1] frames_at
    # The stack that was kept last, as one more (0: it was not kept).
    cdef unsigned int last

    cdef Py_ssize_t keep(self, Py_ssize_t frames, unsigned long long pointer, Py_ssize_t kernel) except? -2 nogil
    cdef int put_off(self, unsigned int[::1] chain, Py_ssize_t count) except? -1 nogil
    cdef int forget(self, Py_ssize_t at) except? -1 nogil
    cdef int end(self, Py_ssize_t at, Py_ssize_t back) except? -1 nogil
    cdef Py_ssize_t goes_on(self, Py_ssize_t at) except? -2 nogil
