# constants of kernels: the build writes the .pxd beside this file
"""Kinds of control flow after an instruction."""

from enum import IntEnum


class Flow(IntEnum):
    """Where execution continues after an instruction."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    """Conditional: to `target` or the next instruction."""
    INDIRECT_JUMP = 3
    CALL = 4
    INDIRECT_CALL = 5
    RETURN = 6
    STOP = 7
    """Nowhere: undefined instructions, halts, invalid bytes."""
