from undwarf.unwind.rule_cache cimport RuleCache


cdef class Memory:
    cdef readonly RuleCache rules
    # A stretch of the recording, and in it the sample's dump, which holds the addresses from `low` to below `high`.
    cdef const unsigned char[::1] window
    cdef Py_ssize_t dump
    cdef unsigned long long low
    cdef unsigned long long high
    cdef int fault
    # Behind the highest word of the dump that was read; whether anything was done that the dump alone does not say.
    cdef unsigned long long top
    cdef bint odd
    cdef bint ended_early
    # The sample's frames so far, as undwarf.unwind.dump_walk keeps them: their return addresses prove what lies above.
    cdef unsigned long long[::1] fresh
    cdef Py_ssize_t fresh_count
    cdef Py_ssize_t max_frames
    # Memory of the process itself: all of it as it was, or (deep) what is proven to be what it was.
    cdef Py_ssize_t number
    cdef object live
    cdef object deep
    cdef unsigned long long[::1] proof_slots
    cdef unsigned long long[::1] proof_values
    # Not proven (trial), and with the dump's outermost return address still in its place (alike).
    cdef bint trial
    cdef bint alike
    cdef const unsigned char[::1] live_block
    cdef unsigned long long live_low
    cdef unsigned long long live_high
    cdef int live_state
    # The stack pointer of the scheduler of Haskell that a trial is of; 0 for other trials.
    cdef unsigned long long tried_scheduler
    cdef bint live_whole

    cdef unsigned long long load(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long load_elsewhere(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long _file_word(self, Py_ssize_t image, unsigned long long offset) except? -1
    cdef bint read_live(self, unsigned long long start, unsigned long long end) except? -1 nogil
    cdef bint _live_bytes(self, unsigned long long start, unsigned long long end) except? -1
    cdef unsigned long long live_word(self, unsigned long long address) except? -1 nogil
    cdef int open_live(self, unsigned long long address) except? -1 nogil
    cdef Py_ssize_t proofs(self) except? -1 nogil
    cdef int read_scheduler(self, unsigned long long start, unsigned long long scheduler) except? -1 nogil
    cdef int _scheduler_bytes(self, unsigned long long start, unsigned long long scheduler) except? -1
    cdef unsigned long long load_live(self, unsigned long long address) except? -1 nogil
    cdef bint _deep_bytes(self, Py_ssize_t count, unsigned long long address) except? -1
    cdef bint _more_bytes(self, unsigned long long address) except? -1
    cdef int _end_trial(self, bint root) except? -1
