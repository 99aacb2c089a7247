# Bases of values, as in abstract_values.py.
cdef enum:
    NUMBER = 0
    FRAME = 1
    OBJECT = 2
    ADDRESS = 3
    PERCPU = 4
    THREAD = 5
    POISON = 6
    VIRTUAL = 7
