# Made of flows.py by setup.py.
cdef enum Flow:
    NEXT = 0
    JUMP = 1
    BRANCH = 2
    INDIRECT_JUMP = 3
    CALL = 4
    INDIRECT_CALL = 5
    RETURN = 6
    STOP = 7
