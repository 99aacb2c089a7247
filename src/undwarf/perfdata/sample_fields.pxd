# Bits of `sample_type`, as SampleField in records.py has them.
cdef enum:
    IP = 0x1
    TID = 0x2
    TIME = 0x4
    ADDR = 0x8
    READ = 0x10
    CALLCHAIN = 0x20
    ID = 0x40
    CPU = 0x80
    PERIOD = 0x100
    STREAM_ID = 0x200
    RAW = 0x400
    BRANCH_STACK = 0x800
    REGS_USER = 0x1000
    STACK_USER = 0x2000
    WEIGHT = 0x4000
    DATA_SRC = 0x8000
    IDENTIFIER = 0x10000
    TRANSACTION = 0x20000
    REGS_INTR = 0x40000
    PHYS_ADDR = 0x80000
    AUX = 0x100000
    CGROUP = 0x200000
    DATA_PAGE_SIZE = 0x400000
    CODE_PAGE_SIZE = 0x800000
    WEIGHT_STRUCT = 0x1000000
