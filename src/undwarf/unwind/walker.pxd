from undwarf.unwind.branch_stacks cimport BranchStacks
from undwarf.unwind.dump_walk cimport DumpWalk
from undwarf.unwind.exact_state cimport ExactState
from undwarf.unwind.kernel_chains cimport KernelChains
from undwarf.unwind.late_branches cimport LateBranches
from undwarf.unwind.process_memory cimport LiveMemory, ProcessMemory
from undwarf.unwind.register_file cimport FrameStates, RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache
from undwarf.unwind.ruleless_step cimport RulelessStepper
from undwarf.unwind.stack_memo cimport StackMemo


cdef class Walker:
    cdef readonly RuleCache rules
    cdef ProcessMemory memory
    cdef readonly LiveMemory live
    cdef RegisterFile registers
    cdef FrameStates states
    cdef readonly RulelessStepper ruleless
    cdef readonly StackMemo memo
    cdef DumpWalk dump_walk
    cdef readonly ExactState exact_state
    # Whether precise samples are corrected.
    cdef readonly bint corrects_exact
    cdef readonly KernelChains kernel_chains
    cdef readonly BranchStacks branch_stacks
    cdef LateBranches late_branches
    # The sample's frames, from the innermost one on, and which of them are those of the dump that was walked last.
    cdef unsigned int[::1] chain
    cdef Py_ssize_t walked_from
    cdef Py_ssize_t walked_to
    # Samples (undwarf.perfdata.records.Samples), their address spaces and those of the kernel, and which are walked.
    cdef const unsigned long long[::1] positions
    cdef const unsigned short[::1] miscs
    cdef const unsigned long long[::1] ips
    cdef const unsigned short[::1] events
    cdef const unsigned short[::1] chain_at
    cdef const unsigned short[::1] regs_at
    cdef const unsigned short[::1] stack_at
    cdef const unsigned int[::1] space_of
    cdef const unsigned int[::1] kernel_of
    cdef const unsigned char[::1] selected
    # By event and place, the register's word among a sample's registers.
    cdef const unsigned char[::1] register_words
    # The window's position in the stream.
    cdef unsigned long long base
    # Whether stacks of this machine are walked; whether the registers of the current sample are of another.
    cdef bint is_walked
    cdef bint is_unsupported
    # Whether the dump of the current sample ends at a page, before the size that was asked for.
    cdef bint ends_at_page
    # The outcome for the current sample.
    cdef unsigned int node
    cdef int stop
    cdef unsigned int stop_image
    # Of samples that have an address only: where it was, its address space and its node, 3 words an entry.
    cdef unsigned long long[::1] bare
    # Stacks larger than their dump that were followed to the root in the process's memory, proven or inferred, and
    # those that were not; deferred chains that never arrived.
    cdef readonly Py_ssize_t completed
    cdef readonly Py_ssize_t inferred
    cdef readonly Py_ssize_t unproven
    cdef readonly Py_ssize_t missing_chains
    cdef Py_ssize_t damaged_samples

    cdef int _open_window(self, object window, unsigned long long base) except? -1
    cdef int _walk_sample(self, Py_ssize_t s) except? -1 nogil
    cdef Py_ssize_t _walk_dump(
        self, Py_ssize_t s, Py_ssize_t record, unsigned int mode, Py_ssize_t first
    ) except? -1 nogil
    cdef Py_ssize_t _walk_again(
        self, Py_ssize_t s, Py_ssize_t record, unsigned int mode, Py_ssize_t first
    ) except? -1 nogil
    cdef bint _infer_callers(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
    cdef bint _open_dump(self, Py_ssize_t s, Py_ssize_t record, unsigned int mode) except? -1 nogil
