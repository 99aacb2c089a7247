cdef class IdMap:
    cdef unsigned long long[::1] keys
    cdef int[::1] numbers
    cdef unsigned long long mask
    cdef Py_ssize_t used

    cdef int find(self, unsigned long long key) except? -2
    cdef int put(self, unsigned long long key, int number) except? -1


cdef class ValueInterner:
    cdef long long[::1] parts
    cdef int[::1] index
    cdef readonly Py_ssize_t count
    cdef unsigned long long mask
    # Joins, by the two ids.
    cdef IdMap joined
    # Loads that are equal in all functions, by address id and size.
    cdef IdMap loaded
    # Reconciled values that are equal in all functions.
    cdef IdMap reconciled
    # Pointers into arrays plus a second index, by the two ids.
    cdef IdMap indexed
    # Whether an address is a variable's.
    cdef IdMap data
    # Sizes of types, by id plus one.
    cdef IdMap sizes
    # ValueInterner of registers that hold bytes of a variable, by type, offset and size.
    cdef IdMap held
    # Effects of calls, by callee.
    cdef dict called
    # Registers that it clobbers, and reads.
    cdef dict changed
    cdef dict taken
    # Pointees of pointers whose addresses are passed, by callee and register.
    cdef dict pointers
    # Bytes accessed through pointer arguments, by callee and register.
    cdef dict rooms
    # The same for arguments on the stack.
    cdef dict stack_rooms
    # The reusable buffer; None while it is lent.
    cdef object pool

    cdef int intern(self, long long base, long long t, long long step, long long symbol, long long offset) except? -1


cdef class FunctionCaches:
    cdef IdMap loaded
    cdef IdMap reconciled
