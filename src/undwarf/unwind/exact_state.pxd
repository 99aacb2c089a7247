from undwarf.spaces.int_map cimport IntMap
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
    cdef unsigned int[::1] chain
    cdef LateBranches late_branches
    # The sample's registers, while hypotheses are tried.
    cdef unsigned long long[17] saved
    cdef unsigned int saved_known
    # Tables of hypotheses by frame, and of calls by frame or by caller and callee; proofs by caller and callee.
    cdef IntMap tables
    cdef IntMap sites
    cdef IntMap proofs
    # By frame, whether its rule is also that of the next instruction.
    cdef IntMap steady
    # Rows of all tables, of ENTRY_WORDS words.
    cdef long long[::1] entries
    cdef Py_ssize_t entry_count
    # The return address to which the function has returned, where it has.
    cdef unsigned long long caller_site
    # Of the caller found so far: its call frame address, its proof, and where its function starts, 0 for several.
    cdef unsigned long long caller_cfa
    # The call frame address up to which callers are looked for.
    cdef unsigned long long caller_limit
    cdef int caller_level
    # The least proof of a call of the function, for its caller to be taken.
    cdef int least_level
    cdef unsigned long long caller_function
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
    cdef bint _is_code(self, unsigned long long address) except? -1 nogil
    cdef int _save(self) except? -1 nogil
    cdef int _restore(self) except? -1 nogil
    cdef int _proof(self, unsigned long long return_address, unsigned int callee) except? -1 nogil
    cdef int _ask_proof(self, unsigned int caller, unsigned int callee) except? -1
    cdef int _step(self, unsigned long long pc, bint is_innermost, unsigned int callee) except? -1 nogil
    cdef int _try(self, Py_ssize_t entry, unsigned long long pc, unsigned int frame) except? -1 nogil
    cdef int _try_callee(
        self, unsigned long long at, unsigned long long back, long long levels, unsigned int frame
    ) except? -1 nogil
    cdef int _try_unknown_callee(self, unsigned long long back, unsigned int frame) except? -1 nogil
    cdef bint _holds(self, unsigned long long slot, unsigned long long word) except? -1 nogil
    cdef int _try_past_jump(self, unsigned int frame) except? -1 nogil
    cdef int _find_caller(self, unsigned int frame) except? -1 nogil
    cdef int _try_sites(
        self, Py_ssize_t table, unsigned long long base, unsigned long long wanted, unsigned int frame
    ) except? -1 nogil
    cdef Py_ssize_t _table(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _sites_of(self, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _sites_between(self, unsigned int caller, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t _add_table(self, unsigned int frame) except? -1
    cdef Py_ssize_t _add_sites_of(self, unsigned int frame) except? -1
    cdef Py_ssize_t _add_sites_between(self, unsigned int caller, unsigned int callee) except? -1
    cdef Py_ssize_t _add_sites(self, list sites, unsigned long long base) except? -1
    cdef Py_ssize_t _add(self, list rows) except? -1
