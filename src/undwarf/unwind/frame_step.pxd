cimport cython

from undwarf.tables.rule cimport RulePointer, SavedPointer
from undwarf.unwind.dwarf_expression cimport Expressions


cdef class Steps(Expressions):
    # While a rule is followed: the caller's registers so far.
    cdef unsigned long long[17] caller
    # Whether the frame at hand called no other.
    cdef bint innermost
    cdef bint frame_pointers
    # Where a call that led to no code would return to.
    cdef unsigned long long back
    # Whether the walk has left an alternate signal stack.
    cdef bint left_signal_stack
    # Calls that enter code without rules: their frames, and the distance of the return address from the stack pointer;
    # whether the last step went by one.
    cdef Py_ssize_t entry_count
    cdef unsigned int[::1] entry_frames
    cdef unsigned long long[::1] entry_distances
    cdef bint entered
    # Whether the last step went by the frame pointer.
    cdef bint followed
    # Whether the sample was taken in the kernel.
    cdef bint in_kernel
    # Where the stack pointer of the scheduler of Haskell is that was not recorded; 0 if the walk ended elsewhere.
    cdef unsigned long long scheduler_at

    cdef int step(self, unsigned int number) except? -1 nogil
    @cython.final
    cdef int at_other_stack(self, RulePointer rule, unsigned long long place, int reason) except? -1 nogil
    @cython.final
    cdef bint keeps_stack(self, RulePointer rule) except? -1 nogil
    @cython.final
    cdef bint leave_haskell(self, RulePointer rule) except? -1 nogil
    @cython.final
    cdef int to_scheduler(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    @cython.final
    cdef unsigned long long call_frame_address(self, RulePointer rule) except? -1 nogil
    @cython.final
    cdef bint entered_kernel(self, unsigned long long address) except? -1 nogil
    @cython.final
    cdef int restore_saved(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    @cython.final
    cdef int restore_all(self, RulePointer rule, unsigned long long cfa) except? -1 nogil
    @cython.final
    cdef unsigned long long restored(self, SavedPointer saved, unsigned long long cfa) except? -1 nogil
    cdef int step_without_rule(self, Py_ssize_t depth) except? -1 nogil
    @cython.final
    cdef int step_to_entry(self, unsigned int image, unsigned int same) except? -1 nogil
    @cython.final
    cdef unsigned long long next_entry(self, unsigned long long at, unsigned long long end) except? 0 nogil
    @cython.final
    cdef int step_by_frame_pointer(self, Py_ssize_t depth) except? -1 nogil
    @cython.final
    cdef bint passes_frames(self, unsigned long long pointer) except? -1 nogil
    @cython.final
    cdef bint follows_call(self, unsigned long long back) except? -1 nogil
    @cython.final
    cdef bint is_scheduler(self, unsigned long long cfa) except? -1 nogil
    cdef bint called_from(self) except? -1 nogil
    @cython.final
    cdef int see_signal_frame(self, unsigned long long sp) except? -1 nogil
    @cython.final
    cdef bint to_system_call(self, unsigned long long pc) except? -1 nogil
    @cython.final
    cdef bint to_system_call_by_number(self, unsigned long long pc) except? -1 nogil
    @cython.final
    cdef int stop_by_number(self, unsigned int frame, int reason) except? -1 nogil
    @cython.final
    cdef bint at_signal_frame(self) except? -1 nogil
    @cython.final
    cdef int stop_at_system_call(
        self, unsigned int frame, unsigned long long skipped, unsigned long long result, int reason
    ) except? -1 nogil
