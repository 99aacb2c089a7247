cimport cython

from undwarf.unwind.frame_log cimport FrameLog
from undwarf.unwind.frame_step cimport Steps


cdef class UserFrames(Steps):
    # Frames of the sample at hand, from the innermost on.
    cdef unsigned int[::1] chain
    cdef Py_ssize_t max_chain
    # Why the walk ended, and in which image.
    cdef int stop
    cdef unsigned int stop_image
    cdef bint ended_at_zero
    # Whether callers are left out.
    cdef bint innermost_only
    # Whether the innermost frame's rule is not right and its function's frame is above.
    cdef bint past_frame
    # The last whole stack: its stop reason, states from the root inwards, and where its dump lies in the window.
    cdef unsigned long long[::1] memo
    cdef Py_ssize_t memo_count
    cdef unsigned int memo_space
    cdef int memo_stop
    cdef Py_ssize_t memo_dump
    cdef unsigned long long memo_low
    cdef unsigned long long memo_top
    # The state to compare with next, down to where memory is equal, and whether it differs below.
    cdef Py_ssize_t memo_at
    cdef unsigned long long memo_equal
    cdef bint memo_compared
    # How many frames of it this stack ends with, the innermost one's node and its place in this window's log.
    cdef Py_ssize_t tail_count
    cdef unsigned int tail_node
    cdef unsigned int tail_place
    # Where frames were, if that is kept.
    cdef readonly FrameLog log
    cdef bint logs

    cdef Py_ssize_t user_part(self, Py_ssize_t count, Py_ssize_t depth, bint second_look) except? -1 nogil
    @cython.final
    cdef long long entered_frame(self, Py_ssize_t number) except? -1 nogil
    @cython.final
    cdef bint called_within(self, unsigned long long pc) except? -1 nogil
    @cython.final
    cdef int end_at_zero(self, unsigned int image, unsigned int frame) except? -1 nogil
    @cython.final
    cdef bint begins_fiber(self, unsigned int callee) except? -1 nogil
    @cython.final
    cdef Py_ssize_t cut_at_fiber_root(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
    @cython.final
    cdef int keep_state(self, Py_ssize_t depth, bint exact) except? -1 nogil
    @cython.final
    cdef int see_last_stack(self) except? -1 nogil
    @cython.final
    cdef bint joins_last_stack(self, Py_ssize_t depth, bint exact) except? -1 nogil
    cdef long long remember(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
    @cython.final
    cdef Py_ssize_t log_stack(self, Py_ssize_t first, Py_ssize_t count) except? -2 nogil
    @cython.final
    cdef unsigned long long same_memory(
        self, unsigned long long equal, unsigned long long down_to
    ) except? -1 nogil
    @cython.final
    cdef bint returns_to_handler(self, unsigned int rule) except? -1 nogil
    cdef Py_ssize_t to_handler(self, Py_ssize_t first, Py_ssize_t count) except? -1 nogil
