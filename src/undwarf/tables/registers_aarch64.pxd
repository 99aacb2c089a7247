# Made of registers_aarch64.py by setup.py.
cdef enum:
    RETURN_ADDRESS = 30
    FRAME_POINTER = 29
