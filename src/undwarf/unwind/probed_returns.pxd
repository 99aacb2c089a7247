from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.caller_evidence cimport CallerEvidence
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class ProbedReturns:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStepper stepper
    cdef CallSteps proofs
    cdef CallerEvidence evidence
    # Tables of calls by caller and callee: where their rows of SITE_WORDS words begin, and how many these are.
    cdef IntMap tables
    cdef long long[::1] table_rows
    cdef Py_ssize_t table_count
    cdef long long[::1] sites
    cdef Py_ssize_t site_count
    # By address space and image, the entry of the mapping of its code.
    cdef IntMap mapped
    # What stands in place of return addresses.
    cdef unsigned long long trampoline
    # By level, the registers after the return.
    cdef unsigned long long[::1] saved
    # By level, the calls that fit: return address, call frame address, the levels of both calls, row, and the caller's
    # return address (0: replaced).
    cdef unsigned long long[::1] candidate_sites
    cdef unsigned long long[::1] candidate_cfas
    cdef int[::1] candidate_levels
    cdef long long[::1] candidate_rows
    cdef unsigned long long[::1] candidate_callers
    # What was found by stack pointer and callee, and in which stack.
    cdef unsigned long long[::1] known
    cdef unsigned long long stack_number
    # The return address that the last search has found; 0 without.
    cdef unsigned long long found_site
    cdef int steps
    # Return addresses that the last verification has found before a replaced one.
    cdef int real_frames
    cdef bint is_replaced
    # After the nearest replaced return address above the stack pointer; 0 without.
    cdef unsigned long long nearest

    cdef int begin_stack(self) except? -1 nogil
    cdef bint find(self, unsigned int callee, unsigned long long trampoline) except? -1 nogil
    cdef bint skip(self, unsigned long long trampoline) except? -1 nogil
    cdef bint leave_page(self, unsigned long long page) except? -1 nogil
    cdef bint calls(self, unsigned long long word, unsigned long long function) except? -1 nogil
    cdef unsigned long long _target(self, unsigned long long word) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef bint _is_entry_return(
        self, unsigned long long word, unsigned long long slot, unsigned long long executed
    ) except? -1 nogil
    cdef int _begin(self, unsigned long long trampoline) except? -1 nogil
    cdef int _save(self, Py_ssize_t level) except? -1 nogil
    cdef int _restore(self, Py_ssize_t level) except? -1 nogil
    cdef bint _in_dump(self, unsigned long long slot) except? -1 nogil
    cdef int _search(self, unsigned int callee, Py_ssize_t level) except? -1 nogil
    cdef int _agreeing(self, Py_ssize_t candidate, Py_ssize_t level) except? -9 nogil
    cdef int _verify(self, Py_ssize_t level) except? -1 nogil
    cdef Py_ssize_t _collect(self, unsigned int callee, Py_ssize_t level) except? -1 nogil
    cdef Py_ssize_t _try(
        self, Py_ssize_t table, Py_ssize_t level, Py_ssize_t count, unsigned long long wanted
    ) except? -1 nogil
    cdef bint _may_call(
        self, unsigned long long return_address, unsigned int image, unsigned long long function
    ) except? -1 nogil
    cdef unsigned long long _mapped(
        self, unsigned int image, unsigned long long address
    ) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef Py_ssize_t _table(self, unsigned int caller, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t _add(self, unsigned int caller, unsigned int callee) except? -1
