# Made of type_source.py by setup.py.
cdef enum PlaceKind:
    REGISTER = 1
    MEMORY = 2
    CFA = 3
    ADDRESS = 4
    VALUE = 5
    THREAD = 6
    CONSTANT = 7
    CFA_VALUE = 8
