# Made of ranks.py by setup.py.
cdef enum:
    RANK_SIZED = 8
    RANK_TYPED = 4
    RANK_STRONG = 2
    RANK_GLOBAL = 1
