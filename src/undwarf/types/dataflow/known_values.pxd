# Numbers of values that are always there: none, any number, the number 0, an address of nothing,
# a pointer to void.
cdef enum:
    NOTHING = 0
    UNKNOWN = 1
    NULL = 2
    NOWHERE = 3
    ANYWHERE = 4
