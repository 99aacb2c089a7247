# Made of constants.py by setup.py.
cdef enum:
    NONE = 4294967295
    IN_FUNCTION = 4294967294
    NULL_ENTRY = -2
    RESERVED_LENGTH = 4294967280
    DWARF64_LENGTH = 4294967295
    MAX_DEPTH = 1024
    MAX_HOPS = 32
    LARGEST_OFFSET = 281474976710655
    MAX_REUSED = 65536
    MAX_STRING = 65536
    SKIP_IN_C = 2147483648
cdef enum Next:
    END = 0
    SIBLING = 1
    CHILD = 2
cdef enum DieKind:
    FUNCTION = 1
    TYPE = 2
    SCOPE = 4
    VARIABLE = 8
    INLINED = 16
cdef enum AttributeRole:
    IS_NAME = 1
    IS_LOCATION = 2
    IS_TYPE = 4
    IS_IDENTITY = 8
