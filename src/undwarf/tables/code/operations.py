"""Effects of instructions on the stack, on registers and on control flow, as operations.

An operation is a tuple ``(address, kind, a, b, c, next)``; other instructions have none. Registers have their DWARF
numbers, -1 stands for none.
"""

from collections.abc import Iterable

__all__ = ["Operation", "changed"]

Operation = tuple[int, int, int, int, int, int]

LEADER = -1
"""A block starts here; operations of the same address follow."""
KILL = 0
"""Register a has a new value."""
MOVE = 1
"""a = b."""
LOAD = 2
"""a = word at b + c."""
STORE = 3
"""Word at b + c = a."""
CALL = 4
"""a: the called address, 0 if unknown; b: the address of the pointer to it, 0 if unknown."""
BRANCH = 5
"""To a or on; b: whether by a comparison of unsigned numbers."""
JUMP = 6
"""To a."""
INDIRECT = 7
"""To register a, or to the word at register b + c (b -1: at c), or (a -2) to a word of a table at b + c."""
PUSH = 8
"""Register a; -1 anything else."""
POP = 9
ADD = 10
"""a += c."""
ADDRESS = 11
"""a = b + c."""
CONSTANT = 12
"""a = c."""
ALIGN = 13
"""a = b plus an unknown offset: rounded down, or an element of an array."""
LEAVE = 14
RETURN = 15
STOP = 16
"""Execution does not continue."""
SUM = 17
"""a = b + c, registers."""
DIFFERENCE = 18
"""a -= b."""
OFFSETS = 19
"""a = 32-bit word of a table at b + c."""
WORDS = 20
"""a = 64-bit word of a table at b + c."""
EXCHANGE = 21
COMPARE = 22
"""Registers a and b."""
LIMIT = 23
"""Something is compared with c."""
ENTER = 24
HALT = 25
"""As STOP, but it may be meant to continue."""
ELEMENT = 26
"""a = 32-bit word at b + c, registers, one of which is a table."""
EXTEND = 27
"""a = the lower half of b, sign-extended."""
END = -2
"""The decoded code ends here."""

KINDS = 30
"""Number of kinds; the negative ones count from the end of a list by kind."""

STACK = {PUSH, POP, LEAVE, ENTER}
"""Kinds that move the stack pointer without naming it."""

RBP = 6
RSP = 7

_CHANGED = {
    KILL, MOVE, LOAD, POP, ADD, ADDRESS, CONSTANT, ALIGN, SUM, DIFFERENCE, OFFSETS, WORDS, EXCHANGE, LEAVE,
    ELEMENT, EXTEND,
}  # fmt: skip  # a table


def changed(operations: Iterable[Operation]) -> set[int] | None:
    """The registers that code changes; None if it calls or jumps elsewhere."""
    found: set[int] = set()
    for _, kind, a, b, _, _ in operations:
        if kind in _CHANGED:
            found.add(RBP if kind == LEAVE else a)
            if kind == EXCHANGE:
                found.add(b)
        elif kind in (CALL, INDIRECT, ENTER):
            return None
    return found
