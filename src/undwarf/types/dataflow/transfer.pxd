from undwarf.types.dataflow.instruction_results cimport InstructionResults


cdef class Transfer(InstructionResults):
    cdef int[::1] taught
    cdef int[::1] taught_register
    cdef dict taught_begin
    cdef bint teaching
    # Bit sets of the caller-saved registers below 64, and from 64 on.
    cdef unsigned long long lost_low
    cdef unsigned long long lost_high
    # Bit set of the vector registers below 64 that have an upper word.
    cdef unsigned long long vectors
    # By instruction, the caller-saved registers live after a call; if there are any, the callee's code is examined.
    cdef const unsigned long long[::1] living

    cdef int put_taught(self, Py_ssize_t register, int value) except? -1
    cpdef int apply(self, Py_ssize_t k) except? -1
    cdef int _apply(self, Py_ssize_t k) except? -1
    cdef unsigned long long _whole(self, unsigned long long bits) noexcept
    cdef int _move_words(self, Py_ssize_t k, Py_ssize_t row, long long action) except? -1
    cdef int _lose(self, unsigned long long bits, Py_ssize_t register) except? -1
    cdef int _below(self, Py_ssize_t row, long long action, long long destination, int value) except? -1
    cdef int _repeat(self, Py_ssize_t k, Py_ssize_t row) except? -1
    cdef int _write(self, Py_ssize_t row, long long but) except? -1
    cdef int _on_stack(self, Py_ssize_t k, Py_ssize_t row, long long action) except? -1
    cdef int call(self, Py_ssize_t k, Py_ssize_t row, int flow) except? -1
    cdef int _given(self, object target, object register, long long offset) except? -1
    cdef int _given_on_stack(self, object target) except? -1
    cdef int _called(self, Py_ssize_t k, Py_ssize_t row) except? -1
    cdef long long _room_of(self, object target, object register) except? -0x7FFFFFFFFFFFFFFF
    cdef object _returned_through(self, int value)
