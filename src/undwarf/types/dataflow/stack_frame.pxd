from undwarf.types.dataflow.register_locations cimport RegisterVariables
from undwarf.types.dataflow.location_intervals cimport Segments


cdef class StackFrame(RegisterVariables):
    cdef Segments frames
    cdef long long[::1] frame
    # The registers that variables in memory are counted from, other than the stack's, as bits.
    cdef unsigned long long placing
    # Whether any variable is counted from the stack's pointer, and from the frame's.
    cdef bint by_top
    cdef bint by_bottom
    # The variable found last, and how far in it.
    cdef Py_ssize_t found
    cdef long long within

    cdef list escaped
    # By escaped address, where in `holders` the variables that hold it begin, valid or not: their number, and where they
    # end; with where the stack's and the frame's pointer lead to.
    cdef long long[::1] held_first
    cdef long long[::1] holders
    # Where what it leads to begins, less 7, and ends at most; in which segments that ends where, as far as it was asked.
    cdef long long[::1] reach
    cdef long long[::1] runs
    cdef Py_ssize_t held_count
    cdef Py_ssize_t holders_used
    cdef long long held_top
    cdef long long held_bottom
    # What was in the frame behind each call: the instruction, how many addresses had escaped, how many places were
    # known, where the stack's and the frame's pointer led to, and these places.
    cdef long long[::1] stayed
    cdef Py_ssize_t stayed_used
    cdef bint noting
    # By offset of a pointer in the frame whose address was given to somebody, what it holds as far as that is said.
    cdef dict escaped_as
    # Offsets of pointers that somebody may have changed and of which nothing was said until then.
    cdef set forgotten
    # By offset of an escaped address, how many bytes others take to be there at most; whether that has become more.
    cdef dict rooms
    cdef bint grown
    # Where what lies at an escaped address ends at most, as far as other variables say it.
    cdef dict bounds

    cdef bint _counted_from(self, long long register) except? -1
    cdef long long size_of(self, Py_ssize_t place) except? -1
    cdef bint stack_variable(self, Py_ssize_t k, long long offset) except? -1
    cdef long long _extent(self, Py_ssize_t k, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long _end_of(self, Py_ssize_t place, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long within_place(self, Py_ssize_t place, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef int _find_holders(self, long long top, long long bottom) except? -1
    cdef long long _end_at(self, Py_ssize_t segment, Py_ssize_t e) except? -0x7FFFFFFFFFFFFFFF
    cdef long long in_frame(self, Py_ssize_t register) except? -0x7FFFFFFFFFFFFFFF
    cdef int escape(self, int value) except? -1
    cdef int escape_at(self, Py_ssize_t k, int value) except? -1
    cdef long long _next_end(self, Py_ssize_t k, long long offset) except? -0x7FFFFFFFFFFFFFFF
    cdef int escape_as(self, int value, long long room) except? -1
    cdef int in_frame_or_not(self, int known, int value) except? -1
    cdef int _escape_as_one(self, int frame, int found) except? -1
    cdef int lose_escaped(self, Py_ssize_t k) except? -1
    cdef int _still(self, long long offset, int value) except? -1
    cdef long long _extent_about(self, Py_ssize_t k, long long offset, long long size, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef int spoil(self, Py_ssize_t k, long long offset, long long size, long long base) except? -1
    cdef int _note_stayed(self, Py_ssize_t k, long long top, long long bottom) except? -1
    cdef int stop_noting(self) except? -1
    cdef bint stayed_too_long(self) except? -1
