from undwarf.unwind.process_memory cimport Memory


cdef class Expressions(Memory):
    # Registers by place, and which of them are known. On x86-64 places are DWARF's numbers.
    cdef unsigned long long[17] regs
    cdef unsigned int known
    cdef unsigned char[64] place_of
    # Where the machine has a link register, its place (else -1); address bits that are no signature.
    cdef int link
    cdef unsigned long long address_bits
    cdef Py_ssize_t max_steps
    # The evaluator's stack, and what was read with the operation at hand.
    cdef unsigned long long[64] evaluation
    cdef unsigned long long operand
    cdef int number_of_register

    cdef unsigned long long register(self, int number) except? -1 nogil
    cdef unsigned long long evaluate(self, int expression, unsigned long long cfa, bint with_cfa) except? -1 nogil
    cdef Py_ssize_t operands(self, int op, Py_ssize_t at, Py_ssize_t end) except? -2 nogil
    cdef int operate(self, int op, int depth, unsigned long long cfa) except? -1 nogil
    cdef unsigned long long combined(self, int op, unsigned long long a, unsigned long long b) except? -1 nogil
    cdef Py_ssize_t fixed(self, Py_ssize_t at, Py_ssize_t end, Py_ssize_t size, bint signed) except? -2 nogil
    cdef Py_ssize_t leb(self, Py_ssize_t at, Py_ssize_t end, bint signed) except? -2 nogil
