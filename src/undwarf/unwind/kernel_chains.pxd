from undwarf.unwind.dump_walk cimport UserFrames


cdef class SampledChains(UserFrames):
    # Chains that came later (undwarf.unwind.deferred_chains): by sample where in `later` they lie, and how long they are.
    cdef const unsigned long long[::1] later_at
    cdef const unsigned int[::1] later_count
    cdef const unsigned long long[::1] later
    cdef bint stitched
    # Of the sample at hand: whether its user part was to come later, else where it lies in the window (-1: none).
    cdef bint deferred_here
    cdef Py_ssize_t user_chain_at
    cdef Py_ssize_t user_chain_count
    # Branch stacks: what kind each event has, where they are in samples, and whether they are history before stacks.
    cdef const unsigned long long[::1] branch_kinds
    cdef const unsigned short[::1] branch_at
    cdef bint branch_history
    cdef Py_ssize_t max_branches
    # Records that cannot be what they say they are.
    cdef readonly Py_ssize_t damaged

    cdef unsigned long long word(self, Py_ssize_t at) except? -1 nogil
    cdef Py_ssize_t kernel_part(self, Py_ssize_t at, unsigned int space) except? -1 nogil
    cdef Py_ssize_t sampled_user_chain(self, Py_ssize_t count, int why) except? -1 nogil
    cdef Py_ssize_t branch_count(self, Py_ssize_t at, unsigned long long kind) except? -1 nogil
    cdef unsigned int branch_frame(self, Py_ssize_t at, unsigned int kernel) except? 0xFFFFFFFF nogil
    cdef Py_ssize_t branch_chain(self, Py_ssize_t at, unsigned long long kind, Py_ssize_t count) except? -1 nogil
    cdef Py_ssize_t came_later(self, Py_ssize_t s) except? -2 nogil
    cdef Py_ssize_t later_user_chain(self, Py_ssize_t s, Py_ssize_t count) except? -1 nogil
