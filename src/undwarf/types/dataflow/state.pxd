from undwarf.types.dataflow.interned cimport Own
from undwarf.types.dataflow.segments cimport Segments
from undwarf.types.dataflow.sums cimport Sums


cdef class State(Sums):
    cdef Py_ssize_t count
    cdef const long long[::1] rows
    cdef const long long[::1] operands
    cdef const unsigned int[::1] templates
    cdef const long long[::1] displacements
    cdef const long long[::1] immediates
    cdef const long long[::1] targets
    cdef const unsigned char[::1] flows

    cdef int[::1] state
    # Registers from this one on never hold anything.
    cdef Py_ssize_t top
    cdef long long[::1] slot_key
    cdef int[::1] slot_index
    cdef Py_ssize_t slots
    cdef Py_ssize_t most_slots
    # By instruction, 1 and 2: it has named a number.
    cdef unsigned char[::1] marks
    cdef list escaped
    cdef long long[::1] reach
    cdef Py_ssize_t reach_of
    cdef Py_ssize_t reach_count
    cdef long long reach_top
    cdef long long reach_bottom
    cdef long long[::1] ends
    cdef Py_ssize_t ends_count
    cdef long long ends_top
    cdef long long ends_bottom
    # What was in the frame behind each call: the instruction, how many addresses had escaped, how many places were
    # known, where the stack's and the frame's pointer led to, and these places.
    cdef long long[::1] stayed
    cdef Py_ssize_t stayed_used
    cdef bint noting
    # By offset of a pointer in the frame whose address was given to somebody, what it holds as far as that is said.
    cdef dict escaped_as
    # Offsets of pointers that somebody may have changed and of which nothing was said until then.
    cdef set forgotten

    # The registers of the variables that are in registers, and what they hold.
    cdef Segments seeds
    cdef int[::1] seeded
    # Of the variables that are in registers, whether they go on where their scope has ended.
    cdef const unsigned char[::1] strays
    # By variable in a register, what was tracked there when it was asked last, and where, and what both gave together.
    cdef int[::1] met
    cdef Segments frames
    cdef long long[::1] frame
    # The registers that variables in memory are counted from, other than the stack's, as bits.
    cdef unsigned long long placing
    # The variable found last, and how far in it.
    cdef Py_ssize_t found
    cdef long long within
    cdef Own own

    cdef int stack_pointer
    cdef int frame_pointer

    cdef int find_seeds(self, Py_ssize_t k) except? -1
    cdef int _said(self, Py_ssize_t place) except? -1
    cdef int held(self, long long t, long long offset, long long size) except? -1
    cdef int reconcile(self, int known, int said, Py_ssize_t register, bint astray) except? -1
    cdef int _told(self, Py_ssize_t register, int known, bint astray) except? -1
    cdef int get(self, long long register) except? -1
    cdef int set(self, long long register, int value) except? -1
    cdef int replace(self, int value, int by) noexcept
    cdef int forget(self, long long symbol) except? -1
    cdef int name(self, long long at, int value, Py_ssize_t k) except? -1
    cdef Py_ssize_t slot(self, long long offset, long long size, bint make) except? -2
    cdef int _drop(self, long long offset, long long size) except? -1
    cdef int put(self, long long offset, long long size, int value) except? -1
    cdef long long size_of(self, Py_ssize_t place) except? -1
    cdef bint stack_variable(self, Py_ssize_t k, long long offset) except? -1
    cdef long long _extent(self, Py_ssize_t k, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long _end_of(self, Py_ssize_t place, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long within_place(self, Py_ssize_t place, long long offset, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long _latest_end(self, Py_ssize_t e, long long top, long long bottom) except? -0x7FFFFFFFFFFFFFFF
    cdef long long in_frame(self, Py_ssize_t register) except? -0x7FFFFFFFFFFFFFFF
    cdef int escape(self, int value) except? -1
    cdef int lose_escaped(self, Py_ssize_t k) except? -1
    cdef int _still(self, long long offset, int value) except? -1
    cdef int spoil(self, Py_ssize_t k, long long offset, long long base) except? -1
    cdef int _note_stayed(self, Py_ssize_t k, long long top, long long bottom) except? -1
    cdef int stop_noting(self) except? -1
    cdef bint stayed_too_long(self) except? -1
