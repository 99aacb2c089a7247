from undwarf.unwind.user_frames cimport UserFrames


cdef class SampledChains(UserFrames):
    # Chains that came later (undwarf.unwind.deferred): by sample where in `later` they lie, and how long they are.
    cdef const unsigned long long[::1] later_at
    cdef const unsigned int[::1] later_count
    cdef const unsigned long long[::1] later
    cdef bint stitched
    # Of the sample at hand: whether its user part was to come later, else where it lies in the window (-1: none).
    cdef bint deferred_here
    cdef Py_ssize_t user_chain_at
    cdef Py_ssize_t user_chain_count
    # Records that cannot be what they say they are.
    cdef readonly Py_ssize_t damaged

    cdef unsigned long long word(self, Py_ssize_t at) except? -1 nogil
    cdef Py_ssize_t kernel_part(self, Py_ssize_t at, unsigned int space) except? -1 nogil
    cdef Py_ssize_t sampled_user_chain(self, Py_ssize_t count, int why) except? -1 nogil
    cdef Py_ssize_t came_later(self, Py_ssize_t s) except? -2 nogil
    cdef Py_ssize_t later_user_chain(self, Py_ssize_t s, Py_ssize_t count) except? -1 nogil
