# Made of walk_state.py by setup.py.
cdef enum:
    STATE = 10
    END = 65535
cdef enum LiveMemory:
    UNUSED = 0
    OPEN = 1
    REFUSED = 2
