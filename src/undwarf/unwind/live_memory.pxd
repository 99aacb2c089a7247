cdef class LiveMemory:
    # Memory as it was at the sample: `reader(sample, start, end)`.
    cdef object reader
    cdef bint has_reader
    # Stacks of running processes as they are now (undwarf.live.sampling.stack_continuation), and whether the one of the
    # sample at hand was requested (LiveState).
    cdef object continuation
    cdef int state
    # Nothing shows yet that the memory is what it was at the sample; whether it has the dump's outermost return
    # addresses in their places.
    cdef bint unproven
    cdef bint agrees_with_dump
    # The stack pointer of the Haskell scheduler whose frames the unproven memory has (0: it has others).
    cdef unsigned long long scheduler
    # The sample at hand, and what was read for it: the bytes at the addresses from `low` to below `high`.
    cdef Py_ssize_t sample
    cdef const unsigned char[::1] block
    cdef unsigned long long low
    cdef unsigned long long high
    # Return addresses of the sample's frames, and where on the stack they are.
    cdef unsigned long long[::1] slots
    cdef unsigned long long[::1] return_addresses

    cdef int begin(self, Py_ssize_t sample) except? -1 nogil
    cdef bint holds(self, unsigned long long address) except? -1 nogil
    cdef unsigned long long word(self, unsigned long long address) except? -1 nogil
    cdef bint read(self, unsigned long long address) except? -1 nogil
    cdef bint _read(self, unsigned long long address) except? -1
    cdef int request(
        self, Py_ssize_t proofs, unsigned long long low, unsigned long long high, unsigned long long address
    ) except? -1
    cdef bint extend(self, Py_ssize_t proofs, unsigned long long address) except? -1
    cdef int read_scheduler(self, unsigned long long start, unsigned long long scheduler) except? -1 nogil
    cdef int _request_scheduler(self, unsigned long long start, unsigned long long scheduler) except? -1
    cdef int _take(self, object block, unsigned long long start) except? -1
