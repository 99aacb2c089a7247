# Ids of predefined values: unknown, any integer, 0, an invalid address, a void pointer.
cdef enum:
    NOTHING = 0
    UNKNOWN = 1
    NULL = 2
    NOWHERE = 3
    ANYWHERE = 4
