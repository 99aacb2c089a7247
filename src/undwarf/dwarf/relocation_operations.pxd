# Made of relocation_operations.py by setup.py.
cdef enum:
    ABSOLUTE = 1
    RELATIVE = 2
    ADD = 3
    SUBTRACT = 4
    SET_LOW = 5
    SUBTRACT_LOW = 6
    SET_LEB = 7
    SUBTRACT_LEB = 8
    KEEP = 9
