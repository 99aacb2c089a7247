# As Flow in model.py has them.
cdef enum:
    NEXT = 0
    JUMP = 1
    BRANCH = 2
    INDIRECT_JUMP = 3
    CALL = 4
    INDIRECT_CALL = 5
    RETURN = 6
    STOP = 7
