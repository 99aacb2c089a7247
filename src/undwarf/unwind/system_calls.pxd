from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class SystemCalls:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    # Whether the sample was taken in the kernel, and whether its walk has left an alternate signal stack.
    cdef bint in_kernel
    cdef bint left_signal_stack

    cdef bint take_rule(self, unsigned long long pc) except? -1 nogil
    cdef bint _take_rule_by_number(self, unsigned long long pc) except? -1 nogil
    cdef bint _take_signal_return(self, unsigned long long pc, unsigned long long length) except? -1 nogil
    cdef int stop_reason(
        self, unsigned int frame, unsigned long long skipped, unsigned long long result, int reason
    ) except? -1 nogil
    cdef int _stop_reason_by_number(self, unsigned int frame, int reason) except? -1 nogil
    cdef bint _is_at_signal_frame(self) except? -1 nogil
    cdef int note_signal_frame(self, unsigned long long sp) except? -1 nogil
