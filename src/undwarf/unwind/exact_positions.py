# constants of kernels: the build writes the .pxd beside this file
"""Where the registers of a precise sample may be of, and how well that is proven."""

from enum import IntEnum


class Position(IntEnum):
    """A position that control flow reaches from an instruction, in relation to the frame of that instruction."""

    IN_FRAME = 0
    """In the frame, or in that of a known function it jumped to: the rule there leads to the frame's caller."""
    IN_CALLEE = 1
    """In a known callee."""
    IN_UNKNOWN_CALLEE = 2
    """In a callee that code does not name."""
    PAST_JUMP = 3
    """In a function it jumped to that code does not name."""
    PAST_RETURN = 4
    """In the caller, to which the function has returned."""


class CallLevel(IntEnum):
    """What the code says of a return address, as that of a call of a function."""

    IMPOSSIBLE = 0
    """The call is of another function, or there is none."""
    UNKNOWN = 1
    """The code is not at hand, or does not say."""
    POSSIBLE = 2
    """An indirect call or jumps may have led there."""
    PROVEN = 3
    """A direct call of the function."""


CONTRADICTED = -2
"""In place of a number of facts that registers fulfil: they contradict one."""
NO_FACTS = -1
"""The same: the code does not say what they must be."""
GENERAL_REGISTERS = 16
"""Registers of x86-64 that values are followed in, by their DWARF numbers."""
ALL_PATHS = 1 << 24
"""The weight of a position on every path: each branch halves it."""
REACH = 12
"""Instructions that the state of a precise sample may be late, as far as it is looked for."""
NEAR_SLOTS = 16
"""Words above the stack pointer in which a return address is looked for, on which at most REACH were pushed."""
CALLEE_SLOTS = 64
"""Words above the stack pointer in which the return address of a known call is looked for, below which its callee may
have a frame of its own."""
