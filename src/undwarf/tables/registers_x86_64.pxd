# Made of registers_x86_64.py by setup.py.
cdef enum:
    RAX = 0
    RDX = 1
    RCX = 2
    RBX = 3
    RBP = 6
    RSP = 7
    RIP = 16
    REGISTERS = 17
    RETURN_ADDRESS = 16
    FRAME_POINTER = 6
    CALLEE_SAVED = 127176
