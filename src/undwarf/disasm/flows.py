# constants of kernels: the build writes the .pxd beside this file
"""Where execution goes after an instruction."""

from enum import IntEnum


class Flow(IntEnum):
    """Where execution goes after an instruction."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    """To `target` or on."""
    INDIRECT_JUMP = 3
    CALL = 4
    INDIRECT_CALL = 5
    RETURN = 6
    STOP = 7
    """Never on: undefined instructions, halts, bytes that are no code."""
