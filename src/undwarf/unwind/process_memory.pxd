from undwarf.unwind.frame_states cimport FrameStates
from undwarf.unwind.live_memory cimport LiveMemory
from undwarf.unwind.rule_cache cimport RuleCache


cdef class ProcessMemory:
    cdef RuleCache rules
    cdef FrameStates states
    cdef readonly LiveMemory live
    # A window of the recording, and where in it the sample's dump begins, which holds the addresses from `low` to below
    # `high`.
    cdef const unsigned char[::1] window
    cdef Py_ssize_t dump
    cdef unsigned long long low
    cdef unsigned long long high
    # Why the step at hand fails (a stop reason, 0: it does not): a word or a register that is not known, or a rule or
    # an expression that cannot be evaluated.
    cdef int fault
    # The end of the highest word of the dump that was read.
    cdef unsigned long long read_end
    # Whether the callers depend on more than a frame's state and the dump above it, so that frames that are equal in
    # these may have others.
    cdef bint unshareable

    cdef unsigned long long record_word(self, Py_ssize_t at) except? -1 nogil
    cdef unsigned long long load(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long _load_elsewhere(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long _file_word(self, Py_ssize_t image, unsigned long long offset) except? -1
    cdef unsigned long long _load_continued(self, unsigned long long address) except? -1 nogil
    cdef int _request_continuation(self, unsigned long long address) except? -1 nogil
    cdef Py_ssize_t _collect_proofs(self) except? -1 nogil
    cdef int end_unproven(self, bint is_whole) except? -1
