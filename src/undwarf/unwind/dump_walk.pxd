from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.probed_returns cimport ProbedReturns
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport FrameStates, RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache
from undwarf.unwind.ruleless_step cimport RulelessStepper
from undwarf.unwind.stack_memo cimport StackMemo
from undwarf.unwind.system_calls cimport SystemCalls


cdef class DumpWalk:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStates states
    cdef FrameStepper stepper
    cdef RulelessStepper ruleless
    cdef CallSteps steps
    cdef ProbedReturns probed_returns
    cdef SystemCalls system_calls
    cdef StackMemo memo
    cdef unsigned int[::1] chain
    cdef Py_ssize_t max_frames
    # Whether the callers of functions with return probes are searched for.
    cdef bint searches_callers
    # Whether dumps give their innermost frame only.
    cdef bint innermost_only
    # Why the walk ended, and in which image; whether at a return address of zero.
    cdef int stop
    cdef unsigned int stop_image
    cdef bint ended_at_zero
    # Where a call to an address without code returns to.
    cdef unsigned long long return_address

    cdef Py_ssize_t walk(
        self, Py_ssize_t count, Py_ssize_t depth, bint reads_code, bint innermost_is_deeper
    ) except? -1 nogil
    cdef bint is_whole(self) noexcept nogil
    cdef bint _is_probe_trampoline(self, unsigned long long address) except? -1 nogil
    cdef bint _find_probed_caller(self, unsigned int callee) except? -1 nogil
    cdef bint _is_in_probe_page(self, unsigned int frame) except? -1 nogil
    cdef bint step_back_to_probe(self) except? -1 nogil
    cdef int _leave_probe_page(self, unsigned long long pc) except? -1 nogil
    cdef bint _is_called_unmapped(self) except? -1 nogil
    cdef bint _is_called_within(self, unsigned long long pc) except? -1 nogil
    cdef int _reason_at_zero(self, unsigned int image, unsigned int frame) except? -1 nogil
    cdef bint _begins_fiber(self, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t cut_at_fiber_root(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
    cdef bint _installs_handler(self, unsigned int rule) except? -1 nogil
    cdef Py_ssize_t walk_from_handler(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
