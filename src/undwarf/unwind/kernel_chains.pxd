from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.rule_cache cimport RuleCache


cdef class KernelChains:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef unsigned int[::1] chain
    cdef Py_ssize_t max_chain
    # User chains that were recorded after their samples (undwarf.unwind.deferred_chains): by sample where in
    # `addresses` they begin and how long they are.
    cdef const unsigned long long[::1] deferred_starts
    cdef const unsigned int[::1] deferred_counts
    cdef const unsigned long long[::1] deferred_addresses
    # Whether user chains are those of an earlier unwinding.
    cdef bint is_unwound
    # Of the current chain: whether its user part is deferred, else where that is in the window (-1: there is none).
    cdef bint is_deferred
    cdef Py_ssize_t user_at
    cdef Py_ssize_t user_count
    # Why the user frames end that were added last, and in which image.
    cdef int stop
    cdef unsigned int stop_image
    # Chains that are longer than their record.
    cdef Py_ssize_t damaged

    cdef int begin_sample(self) except? -1 nogil
    cdef Py_ssize_t add_kernel_frames(self, Py_ssize_t at, unsigned int space) except? -1 nogil
    cdef Py_ssize_t add_user_frames(self, Py_ssize_t count, int stored_stop) except? -1 nogil
    cdef int _provenance_after(self, int markers, int provenance) except? -1 nogil
    cdef Py_ssize_t deferred_count(self, Py_ssize_t sample) except? -2 nogil
    cdef Py_ssize_t add_deferred_frames(self, Py_ssize_t sample, Py_ssize_t count) except? -1 nogil
    cdef unsigned long long sampled_address(self) except? 0xFFFFFFFFFFFFFFFF nogil
