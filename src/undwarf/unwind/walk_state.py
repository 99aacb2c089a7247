# constants of kernels: the build writes the .pxd beside this file
"""Sizes and marks of what the walk remembers."""

from enum import IntEnum

STATE = 10
"""Words of a frame's state: address, stack pointer, rbx, rbp, r12 to r15, which callee-saved registers are known (all
ones where the address is exact), stack node with the place in the log above 32 bits."""

END = 0xFFFF
"""In the log of frames (:mod:`undwarf.unwind.frame_log`), in place of a frame's size: the stack ends here, or continues
elsewhere in the log."""


class LiveMemory(IntEnum):
    """Whether memory of the process above the end of the dump was asked for, and whether it may be read."""

    UNUSED = 0
    OPEN = 1
    REFUSED = 2
