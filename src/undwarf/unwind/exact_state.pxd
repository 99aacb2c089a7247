from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.caller_search cimport CallerSearch
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.late_branches cimport LateBranches
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport FrameStates, RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class ExactState:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStates states
    cdef FrameStepper stepper
    cdef CallerSearch search
    cdef unsigned int[::1] chain
    cdef LateBranches late_branches
    # Tables of hypotheses by frame.
    cdef IntMap tables
    # By frame, whether its rule is also that of the next instruction.
    cdef IntMap steady
    # Rows of all tables, of ENTRY_WORDS words.
    cdef long long[::1] entries
    cdef Py_ssize_t entry_count
    # The call frame address and the return address, if the sample's state is that of its instruction.
    cdef unsigned long long own_cfa
    cdef unsigned long long own_caller
    # Whether nothing proved the state of the last sample.
    cdef bint is_unproven
    # Precise samples, those whose registers fit as they are, that were corrected, of them those past a return, and
    # those without proof; the others have no rule.
    cdef readonly Py_ssize_t samples
    cdef readonly Py_ssize_t fitting
    cdef readonly Py_ssize_t corrected
    cdef readonly Py_ssize_t returned
    cdef readonly Py_ssize_t unproven
    # Of those that were corrected or stay open, the ones whose callers a branch stack shows.
    cdef readonly Py_ssize_t followed

    cdef Py_ssize_t correct(self, Py_ssize_t count, bint has_branches) except? -1 nogil
    cdef Py_ssize_t _correct_after_branches(
        self, Py_ssize_t count, unsigned long long pc, unsigned int frame
    ) except? -1 nogil
    cdef Py_ssize_t _best_callee(self, Py_ssize_t first, unsigned long long pc, unsigned int frame) except? -2 nogil
    cdef int _try_as_it_is(self, unsigned long long pc, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _best_of(
        self, Py_ssize_t first, unsigned long long pc, unsigned int frame, int own
    ) except? -2 nogil
    cdef bint _leaves(self, Py_ssize_t table) except? -1 nogil
    cdef bint _is_steady(self, unsigned int frame) except? -1 nogil
    cdef int _try(self, Py_ssize_t entry, unsigned long long pc, unsigned int frame) except? -1 nogil
    cdef int _try_callee(
        self, unsigned long long at, unsigned long long back, long long levels, unsigned int frame
    ) except? -1 nogil
    cdef int _try_unknown_callee(self, unsigned long long back, unsigned int frame) except? -1 nogil
    cdef bint _holds(self, unsigned long long slot, unsigned long long word) except? -1 nogil
    cdef int _try_past_jump(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _table(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _add_table(self, unsigned int frame) except? -1
    cdef Py_ssize_t _add(self, list rows) except? -1
