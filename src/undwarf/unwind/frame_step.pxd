from undwarf.tables.rule cimport RulePointer, SavedPointer
from undwarf.unwind.dwarf_expression cimport ExpressionEvaluator
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class FrameStepper:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef ExpressionEvaluator evaluator
    # The caller's registers, while a rule takes them from registers of the callee.
    cdef unsigned long long[17] caller
    # Whether the frame at hand is the innermost one, or was interrupted by a signal: it has called no other.
    cdef bint is_innermost
    # The stack pointer of the Haskell scheduler that was not recorded; 0 if the walk did not end below one.
    cdef unsigned long long missing_scheduler

    cdef int step(self, unsigned int number) except? -1 nogil
    cdef int _reason_at_stack_switch(self, RulePointer rule, unsigned long long frame, int reason) except? -1 nogil
    cdef bint preserves_c_stack(self, RulePointer rule) except? -1 nogil
    cdef bint restore_c_stack(self, RulePointer rule) except? -1 nogil
    cdef int _step_to_scheduler(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    cdef bint _is_scheduler(self, unsigned long long cfa) except? -1 nogil
    cdef unsigned long long _call_frame_address(self, RulePointer rule) except? -1 nogil
    cdef bint _is_user_mode(self, unsigned long long slot) except? -1 nogil
    cdef int _restore_from_memory(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    cdef int _restore_with_copies(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    cdef unsigned long long _saved_value(self, SavedPointer saved, unsigned long long cfa) except? -1 nogil
