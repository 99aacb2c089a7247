# As UnitKind in constants.py has them.
cdef enum:
    COMPILE = 1
    TYPE = 2
    PARTIAL = 3
    SKELETON = 4
    SPLIT_COMPILE = 5
    SPLIT_TYPE = 6
