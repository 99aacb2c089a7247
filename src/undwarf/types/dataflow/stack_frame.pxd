from undwarf.types.dataflow.register_locations cimport RegisterLocations
from undwarf.types.dataflow.location_intervals cimport LocationIntervals


cdef class StackFrame(RegisterLocations):
    cdef LocationIntervals frames
    cdef long long[::1] frame
    # Bit set of the registers that variables' locations are relative to, without the stack pointer.
    cdef unsigned long long placing
    # Whether any variable's location is relative to the stack pointer, and to the frame pointer.
    cdef bint by_top
    cdef bint by_bottom
    # The variable found last, and the offset in it.
    cdef Py_ssize_t found
    cdef long long within

    cdef list escaped
    # By escaped address, the start in `holders` of the variables that cover it, valid or not (number, end); computed
    # for these stack and frame pointers.
    cdef long long[::1] held_first
    cdef long long[::1] holders
    # Start (less 7) and largest end of its object; cached end by range of segments.
    cdef long long[::1] reach
    cdef long long[::1] runs
    cdef Py_ssize_t held_count
    cdef Py_ssize_t holders_used
    cdef long long held_top
    cdef long long held_bottom
    # The frame after each call: instruction, number of escaped addresses, number of known slots, stack and frame
    # pointers, and the slots.
    cdef long long[::1] stayed
    cdef Py_ssize_t stayed_used
    cdef bint noting
    # {offset of an escaped pointer slot: value id of what may be stored there}.
    cdef dict escaped_as
    # Offsets of pointer slots that became unknown before such a value was known.
    cdef set forgotten
    # {escaped offset: most bytes that callees access there}; whether that grew.
    cdef dict rooms
    cdef bint grown
    # {escaped offset: largest end of its object, bounded by other variables}.
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
    cdef int join_frame_pointer(self, int known, int value) except? -1
    cdef int _escape_as_one(self, int frame, int found) except? -1
    cdef int lose_escaped(self, Py_ssize_t k) except? -1
    cdef int _still(self, long long offset, int value) except? -1
    cdef long long _extent_about(self, Py_ssize_t k, long long offset, long long size, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef int spoil(self, Py_ssize_t k, long long offset, long long size, long long base) except? -1
    cdef int _note_stayed(self, Py_ssize_t k, long long top, long long bottom) except? -1
    cdef int stop_noting(self) except? -1
    cdef bint kept_slots_have_escaped(self) except? -1
