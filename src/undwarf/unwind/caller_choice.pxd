from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class CallerChoice:
    cdef CallSteps steps
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    # The return address that was chosen, and how well it is proven.
    cdef unsigned long long return_address
    cdef int level

    cdef unsigned long long choose(
        self, unsigned int frame, unsigned long long by_frame_pointer, bint is_innermost
    ) except? 0 nogil
    cdef unsigned long long _nearest_proven(
        self, unsigned int function, unsigned long long first
    ) except? 0 nogil
    cdef bint _returns_to(self, unsigned long long slot) except? -1 nogil
    cdef bint _is_code_alone(self) except? -1 nogil
    cdef bint _holds(self, unsigned long long slot, unsigned long long word) except? -1 nogil
