from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class ExpressionEvaluator:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef Py_ssize_t max_steps
    cdef unsigned long long[64] stack
    # Of the operation at hand: its operand, of two the second, and the register that a DW_OP_breg names.
    cdef unsigned long long operand
    cdef int operand_register

    cdef unsigned long long register(self, int place) except? -1 nogil
    cdef unsigned long long evaluate(self, int expression, unsigned long long cfa, bint with_cfa) except? -1 nogil
    cdef Py_ssize_t _read_operands(self, int op, Py_ssize_t at, Py_ssize_t end) except? -2 nogil
    cdef int _operate(self, int op, int depth, unsigned long long cfa) except? -1 nogil
    cdef unsigned long long _binary(self, int op, unsigned long long a, unsigned long long b) except? -1 nogil
    cdef Py_ssize_t _read_fixed(self, Py_ssize_t at, Py_ssize_t end, Py_ssize_t size, bint signed) except? -2 nogil
    cdef Py_ssize_t _read_leb128(self, Py_ssize_t at, Py_ssize_t end, bint signed) except? -2 nogil
