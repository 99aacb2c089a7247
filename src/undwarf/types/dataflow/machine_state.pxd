from undwarf.types.dataflow.value_arithmetic cimport ValueArithmetic


cdef class MachineState(ValueArithmetic):
    cdef Py_ssize_t count
    cdef const long long[::1] rows
    cdef const long long[::1] operands
    cdef const unsigned int[::1] templates
    cdef const long long[::1] displacements
    cdef const long long[::1] immediates
    cdef const long long[::1] targets
    cdef const unsigned char[::1] flows

    cdef int[::1] state
    # Registers from this one on are never used.
    cdef Py_ssize_t top
    cdef long long[::1] slot_key
    cdef int[::1] slot_index
    cdef Py_ssize_t slots
    cdef Py_ssize_t most_slots
    # Flags of instructions (1 and 2): has defined a symbol.
    cdef unsigned char[::1] marks

    cdef int stack_pointer
    cdef int frame_pointer
    # Distance from a vector register to the register of its upper word; 0 for none.
    cdef int upper

    cdef int get(self, long long register) except? -1
    cdef int set(self, long long register, int value) except? -1
    cdef long long second(self, long long first, long long named) noexcept
    cdef int replace(self, int value, int by) noexcept
    cdef int forget(self, long long symbol) except? -1
    cdef int name(self, long long at, int value, Py_ssize_t k) except? -1
    cdef Py_ssize_t slot(self, long long offset, long long size, bint make) except? -2
    cdef int _drop(self, long long offset, long long size) except? -1
    cdef int put(self, long long offset, long long size, int value) except? -1
