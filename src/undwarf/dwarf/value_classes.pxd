# What a value is, as ValueClass in constants.py has it.
cdef enum:
    NOTHING = 0
    ADDRESS = 1
    UNSIGNED = 2
    SIGNED = 3
    FLAG = 4
    BLOCK = 5
    STRING = 6
    STRP = 7
    LINE_STRP = 8
    STRX = 9
    STRP_ALT = 10
    REF = 11
    REF_ALT = 12
    REF_SIG8 = 13
    SEC_OFFSET = 14
    ADDRX = 15
    LOCLISTX = 16
    RNGLISTX = 17
    DATA16 = 18
