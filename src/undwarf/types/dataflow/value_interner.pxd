cdef class Answers:
    cdef unsigned long long[::1] keys
    cdef int[::1] numbers
    cdef unsigned long long mask
    cdef Py_ssize_t used

    cdef int find(self, unsigned long long key) except? -2
    cdef int put(self, unsigned long long key, int number) except? -1


cdef class Values:
    cdef long long[::1] parts
    cdef int[::1] index
    cdef readonly Py_ssize_t count
    cdef unsigned long long mask
    # What was said of joins, by the two numbers.
    cdef Answers joined
    # What loads give that are the same in all functions, by number and size.
    cdef Answers loaded
    # What tracking and a variable give together, where it is the same in all functions.
    cdef Answers reconciled
    # Pointers into arrays with a second index, by the two numbers.
    cdef Answers indexed
    # Whether an address is that of a variable.
    cdef Answers data
    # Bytes of types, by their numbers plus one.
    cdef Answers sizes
    # What registers hold that hold bytes of a variable, by its type, which byte is the first and how many.
    cdef Answers held
    # What calls do, by what is called.
    cdef dict called
    # Which registers it changes, and in which it takes something.
    cdef dict changed
    cdef dict taken
    # What pointers hold whose addresses calls take, by what is called and by register.
    cdef dict pointers
    # Bytes of what calls are given the addresses of, likewise.
    cdef dict rooms
    # The same of what is given on the stack.
    cdef dict stack_rooms
    # What is lent to one function after the other; None while it is.
    cdef object pool

    cdef int intern(self, long long base, long long t, long long step, long long symbol, long long offset) except? -1


cdef class Own:
    cdef Answers loaded
    cdef Answers reconciled
