from undwarf.unwind.frame_log cimport FrameLog
from undwarf.unwind.rule_cache cimport RuleCache
from undwarf.unwind.stacks cimport Stacks


cdef class Cursor:
    cdef Py_ssize_t at
    cdef unsigned long long pointer
    # The frame's node in `stacks`, or if the stack's nodes are postponed where it is in the log's `frames`.
    cdef Py_ssize_t frame_at
    cdef bint is_postponed
    cdef FrameLog log
    cdef Stacks stacks

    cdef int begin(self, Py_ssize_t number, unsigned int node) except? -1 nogil
    cdef bint to_caller(self) except? -1 nogil
    cdef unsigned int frame(self) except? 0xFFFFFFFE nogil


cdef class Dumps:
    # By sample.
    cdef unsigned int[::1] stack
    cdef unsigned char[::1] stop
    # By dump: its sample, its number in the log, and its outermost frame: stack pointer (all ones: the stack reaches
    # its root) and number in `stacks`.
    cdef unsigned int[::1] sample
    cdef unsigned int[::1] number
    cdef unsigned long long[::1] edge
    cdef unsigned int[::1] edge_frame
    # Whether there is a stack larger than its dump among the NEAR ones before or after.
    cdef unsigned char[::1] near
    # The dump before it and the one after it that have the caller of its outermost frame, and where that frame is: as
    # Cursor.frame_at, and in the log.
    cdef unsigned int[::1] earlier
    cdef unsigned long long[::1] earlier_frame_at
    cdef unsigned long long[::1] earlier_at
    cdef unsigned int[::1] later
    cdef unsigned long long[::1] later_frame_at
    cdef unsigned long long[::1] later_at
    # Whether the caller of its outermost frame was looked for; the caller's node, and how many frames that has.
    cdef unsigned char[::1] is_settled
    cdef unsigned int[::1] caller
    cdef unsigned int[::1] depth
    # The dumps, from the outermost on, that show the thread's stack at the moment; or those that wait for each other.
    cdef unsigned int[::1] pending
    cdef Py_ssize_t pending_count
    # Comparisons of the current thread that were right, and that were wrong.
    cdef Py_ssize_t right
    cdef Py_ssize_t wrong
    # By node of a whole stack: the same stack of inferred frames, and its depth above 32 bits; 0 if that was not looked
    # up yet, all ones if there is none. By frame: the inferred one, plus one.
    cdef unsigned long long[::1] inferred_nodes
    cdef unsigned int[::1] inferred_frames
    cdef unsigned int[::1] nodes_on_path
    cdef Py_ssize_t max_frames
    cdef Cursor cursor
    cdef Cursor other_cursor
    cdef FrameLog log
    cdef Stacks stacks
    cdef RuleCache rules

    cdef int _begin(self, Cursor cursor, Py_ssize_t n) except? -1 nogil
    cdef int _find_edge(self, Py_ssize_t n) except? -1 nogil
    cdef unsigned long long _outermost_sp(self, Py_ssize_t n) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef bint _has_frame(self, Py_ssize_t n, unsigned long long pointer, unsigned int frame) except? -1 nogil
    cdef Py_ssize_t _shared_frames(self, Py_ssize_t n, Py_ssize_t other) except? -1 nogil
    cdef int _link_dump(self, Py_ssize_t n, bint backwards) except? -1 nogil
    cdef int _check(self, Py_ssize_t n, bint backwards) except? -1 nogil
    cdef unsigned int _inferred_frame(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef unsigned long long _inferred_stack(self, unsigned int node) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef unsigned long long _caller_in(self, unsigned int other, Py_ssize_t frame_at) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef int _settle(self, Py_ssize_t n, bint trusted) except? -1 nogil
    cdef Py_ssize_t _mark_near(self, Py_ssize_t first, Py_ssize_t end) except? -1 nogil
    cdef int _link(self, Py_ssize_t first, Py_ssize_t end, bint backwards) except? -1 nogil
    cdef bint _is_unsettled(self, unsigned int n) except? -1 nogil
    cdef Py_ssize_t _continue_thread(self, Py_ssize_t first, Py_ssize_t end) except? -1 nogil
