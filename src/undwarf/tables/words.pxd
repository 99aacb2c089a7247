# Made of words.py by setup.py.
cdef enum:
    STRIDE = 80
    ENTRIES = 18
    STATE = 40
    SIGNED = 65536
    CIE_WORDS = 8
cdef extern from *:
    """
    #define UNDWARF_TABLES_WORDS_NO_RULE 4294967295u
    #define UNDWARF_TABLES_WORDS_UNKNOWN 4294967294u
    """
    const unsigned int NO_RULE "UNDWARF_TABLES_WORDS_NO_RULE"
    const unsigned int UNKNOWN "UNDWARF_TABLES_WORDS_UNKNOWN"
