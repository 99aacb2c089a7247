from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.rule_cache cimport RuleCache


cdef class BranchStacks:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef unsigned int[::1] chain
    cdef Py_ssize_t max_chain
    cdef Py_ssize_t max_branches
    # By event its `branch_sample_type`, by sample where in its record the branch stack is (0: it has none); whether
    # branches that are no call stack are added as history.
    cdef const unsigned long long[::1] kinds
    cdef const unsigned short[::1] offsets
    cdef bint has_history
    # Branch stacks that are longer than their record.
    cdef Py_ssize_t damaged

    cdef Py_ssize_t branch_count(self, Py_ssize_t at, unsigned long long kind) except? -1 nogil
    cdef bint has_call_stack(self, Py_ssize_t sample, Py_ssize_t record, unsigned int event) except? -1 nogil
    cdef Py_ssize_t add_call_stack(
        self,
        Py_ssize_t sample,
        Py_ssize_t record,
        unsigned int event,
        unsigned long long sampled_address,
        Py_ssize_t count,
    ) except? -1 nogil
    cdef unsigned int with_history(
        self, Py_ssize_t sample, Py_ssize_t record, unsigned int event, unsigned int kernel, unsigned int leaf
    ) except? 0xFFFFFFFF nogil
    cdef unsigned int _frame(self, Py_ssize_t at, unsigned int kernel) except? 0xFFFFFFFF nogil
