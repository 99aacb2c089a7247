# As SidebandKind in records.py has them.
cdef enum:
    MMAP = 1
    COMM = 2
    FORK = 3
    EXIT = 4
    KSYMBOL = 5
    TEXT_POKE = 6
    BPF = 7
    CGROUP = 8
    NAMESPACES = 9
    SWITCH = 10
    LOST = 11
    DEFERRED = 12
    AUX = 13
    ITRACE_START = 14
    AUX_OUTPUT_HW_ID = 15
    THROTTLE = 16
    UNTHROTTLE = 17
