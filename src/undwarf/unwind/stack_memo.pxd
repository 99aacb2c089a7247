from undwarf.unwind.frame_log cimport FrameLog
from undwarf.unwind.frame_states cimport FrameStates
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class StackMemo:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStates states
    cdef unsigned int[::1] chain
    cdef Py_ssize_t max_frames
    # The last whole stack: the states of its frames (FrameState) from the root inwards, its stop reason and address
    # space, where its dump is in the window, and the end of what was read of it.
    cdef unsigned long long[::1] last_states
    cdef Py_ssize_t last_count
    cdef int last_stop
    cdef unsigned int last_space
    cdef Py_ssize_t last_dump
    cdef unsigned long long last_low
    cdef unsigned long long last_read_end
    # The innermost of its frames that the frame at hand may be (-1: none), the address down to which both dumps were
    # compared and are equal, and whether they differ below it.
    cdef Py_ssize_t candidate
    cdef unsigned long long equal_from
    cdef bint differs_below
    # How many outer frames the stack at hand shares with the last one; the node of the innermost of these, and its
    # index in this window's log.
    cdef Py_ssize_t shared_count
    cdef unsigned int shared_node
    cdef unsigned int shared_log_index
    # The log of all stacks, if it is kept.
    cdef readonly FrameLog log
    cdef bint is_logged

    cdef int forget(self) except? -1 nogil
    cdef int begin_stack(self) except? -1 nogil
    cdef bint shares(self, Py_ssize_t depth, bint exact) except? -1 nogil
    cdef long long intern(self, Py_ssize_t first, Py_ssize_t count, int stop) except? -1 nogil
    cdef Py_ssize_t _log_stack(self, Py_ssize_t first, Py_ssize_t count, int stop) except? -2 nogil
    cdef unsigned long long _compare_dumps(
        self, unsigned long long equal_from, unsigned long long down_to
    ) except? -1 nogil
