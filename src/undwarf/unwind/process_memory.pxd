from undwarf.unwind.register_file cimport FrameStates
from undwarf.unwind.rule_cache cimport RuleCache


cdef class LiveMemory:
    # Memory as it was at the sample: `reader(sample, start, end)`.
    cdef object reader
    cdef bint has_reader
    # Stacks of running processes as they are now (undwarf.live.sampling.stack_continuation), and whether that of the
    # current sample was requested (LiveState).
    cdef object continuation
    cdef int state
    # Nothing shows yet that the memory is what it was at the sample; whether it has the dump's outermost return
    # addresses in their places.
    cdef bint unproven
    cdef bint agrees_with_dump
    # The stack pointer of the Haskell scheduler whose frames the unproven memory has (0: it has others).
    cdef unsigned long long scheduler
    # The current sample, and what was read for it: the bytes at the addresses from `low` to below `high`.
    cdef Py_ssize_t sample
    cdef const unsigned char[::1] block
    cdef unsigned long long low
    cdef unsigned long long high
    # Return addresses of the sample's frames, and where on the stack they are.
    cdef unsigned long long[::1] slots
    cdef unsigned long long[::1] return_addresses

    cdef int begin(self, Py_ssize_t sample) except? -1 nogil
    cdef bint holds(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long word(self, unsigned long long address) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef bint read(self, unsigned long long address) except? -1 nogil
    cdef bint _read(self, unsigned long long address) except? -1
    cdef int request(
        self, Py_ssize_t proofs, unsigned long long low, unsigned long long high, unsigned long long address
    ) except? -1
    cdef bint extend(self, Py_ssize_t proofs, unsigned long long address) except? -1
    cdef int read_scheduler(self, unsigned long long start, unsigned long long scheduler) except? -1 nogil
    cdef int _request_scheduler(self, unsigned long long start, unsigned long long scheduler) except? -1
    cdef int _take(self, object block, unsigned long long start) except? -1


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
    # Why the current step fails (a stop reason, 0: it does not): a word or a register that is not known, or a rule or
    # an expression that cannot be evaluated.
    cdef int fault
    # The end of the highest word of the dump that was read.
    cdef unsigned long long read_end
    # Whether the callers depend on more than a frame's state and the dump above it, so that frames that are equal in
    # these may have others.
    cdef bint unshareable
    # Whether only the dump is read: callers are searched for.
    cdef bint confined

    cdef unsigned long long record_word(self, Py_ssize_t at) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef unsigned long long load(self, unsigned long long address) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef unsigned long long _load_elsewhere(self, unsigned long long address) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef unsigned long long _file_word(self, Py_ssize_t image, unsigned long long offset) except? 0xFFFFFFFFFFFFFFFF
    cdef unsigned long long _load_continued(self, unsigned long long address) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef int _request_continuation(self, unsigned long long address) except? -1 nogil
    cdef Py_ssize_t _collect_proofs(self) except? -1 nogil
    cdef int end_unproven(self, bint is_whole) except? -1
