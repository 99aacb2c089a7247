# What walks through entries share: how far they go, and what comes next.
cdef enum:
    # Nesting of entries that is followed.
    MAX_DEPTH = 1024
    # References followed from an entry to the one that has its name.
    MAX_HOPS = 32
    # What comes behind an entry: nothing more, an entry that is not in it, one that is.
    NOTHING = 0
    BESIDE = 1
    BELOW = 2
