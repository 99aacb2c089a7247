from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_counts cimport CallCounts
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.caller_search cimport CallerSearch
from undwarf.unwind.late_branches cimport LateBranches
from undwarf.unwind.path_evidence cimport PathEvidence
from undwarf.unwind.position_table cimport PositionTable
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport FrameStates, RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache
from undwarf.unwind.state_candidates cimport StateCandidates


cdef class ExactState:
    cdef RuleCache rules
    cdef RegisterFile registers
    cdef FrameStates states
    cdef unsigned int[::1] chain
    cdef CallSteps steps
    cdef PositionTable positions
    cdef StateCandidates candidates
    cdef CallerSearch callers
    cdef PathEvidence evidence
    cdef LateBranches late_branches
    # By frame, whether its rule is also that of the next instruction.
    cdef IntMap steady
    # Instructions that registers may be late.
    cdef int reach
    # Whether the sample at hand may have returned already.
    cdef bint may_have_returned
    # Whether callers past a return are searched for.
    cdef bint searches
    # Samples whose best proven states include that of the next instruction, and the others.
    cdef readonly Py_ssize_t one_late
    cdef readonly Py_ssize_t later
    # How often calls are in the stacks of other samples, once that is known.
    cdef CallCounts counts
    # Whether nothing proved the state of the last sample.
    cdef bint is_unproven
    # Whether its stack may be another one once all stacks are known, and whether it is walked again then.
    cdef bint is_provisional
    cdef public bint decides_again
    # Precise samples, those whose registers fit as they are, that were corrected, of them those past a return, and
    # those without proof; the others have no rule.
    cdef readonly Py_ssize_t samples
    cdef readonly Py_ssize_t fitting
    cdef readonly Py_ssize_t corrected
    cdef readonly Py_ssize_t returned
    cdef readonly Py_ssize_t unproven
    # Of those that were corrected, the ones whose callers a branch stack shows.
    cdef readonly Py_ssize_t followed

    cdef Py_ssize_t correct(self, Py_ssize_t count, bint has_branches) except? -1 nogil
    cdef bint _fits(self, unsigned long long pc, unsigned int frame) except? -1 nogil
    cdef bint _fits_trampoline(self, unsigned long long pc) except? -1 nogil
    cdef bint _leave_handler(self, unsigned long long pc, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _correct_after_branches(
        self, Py_ssize_t count, unsigned long long pc, unsigned int frame
    ) except? -1 nogil
    cdef Py_ssize_t _decide(self, unsigned long long pc, unsigned int frame) except? -2 nogil
    cdef Py_ssize_t _take(self, Py_ssize_t candidate, Py_ssize_t count, Py_ssize_t depth) except? -1 nogil
    cdef int _find_candidates(self, unsigned long long pc, unsigned int frame, Py_ssize_t skipped) except? -1 nogil
    cdef int _count_lateness(self) except? -1 nogil
    cdef bint _is_steady(self, unsigned int frame) except? -1 nogil
