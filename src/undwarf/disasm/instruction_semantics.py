# constants of kernels: the build writes the .pxd beside this file
"""Semantics of instructions as register transfers."""

from enum import IntEnum


class Action(IntEnum):
    """The effect of an instruction on whole registers, where the data flow models it.

    `destination`, `left` and `right` are registers; if `right` is NONE the second operand is `immediate`. For OTHER,
    all other instructions, only `writes` is known.
    """

    OTHER = 0
    COPY = 1
    """destination = left, of `width` bytes (8, or 4 with the upper half cleared)."""
    CONSTANT = 2
    """destination = immediate."""
    LOAD = 3
    """destination = memory[0], zero or sign extended to `width` bytes."""
    STORE = 4
    """memory[0] = left, or the immediate if left is NONE."""
    ADDRESS = 5
    """destination = the address of memory[0], which is not accessed."""
    ADD = 6
    """destination = left + right."""
    SUBTRACT = 7
    """destination = left - right."""
    MULTIPLY = 8
    """destination = left * right."""
    SHIFT_LEFT = 9
    """destination = left << immediate."""
    AND = 10
    """destination = left & right."""
    EXTEND = 11
    """destination = the low `width` bytes of left, sign or zero extended: an integer, not a pointer."""
    SELECT = 12
    """destination = left or right (memory[0] if right is NONE), by a condition."""
    EXCHANGE = 13
    """left and right are swapped."""
    PUSH = 14
    """The stack pointer decreases by 8, then memory = left or the immediate."""
    POP = 15
    """destination = memory, then the stack pointer increases by 8."""
    LEAVE = 16
    """The stack pointer becomes the frame pointer, which is popped."""
    ADD_MEMORY = 17
    """destination = left + memory[0]."""
    LOAD_PAIR = 18
    """destination, right = two words from memory[0] on; both to destination, a vector register, if right is NONE."""
    STORE_PAIR = 19
    """two words from memory[0] on = left, right; both from left, a vector register, if right is NONE."""
    OR = 20
    """destination = left | immediate; or memory[0] |= immediate if both are NONE."""
    UPDATE = 21
    """memory[0] += left, or -= right, or += the immediate if both are NONE."""
    SHIFT_RIGHT = 22
    """destination = left >> immediate."""
    CARRY = 23
    """destination = left + immediate, plus or minus the carry."""
    REPEAT = 24
    """A string instruction: writes memory[0], from memory[1] if present, upwards; left is the number of elements (NONE:
    one). Afterwards the operands' base registers point past them, and left is 0."""
    TEST = 25
    """Sets flags by whether the low `width` bytes of left are 0."""
    IF_ZERO = 26
    """Branches to `target` if the zero flag is set."""
    IF_NOT_ZERO = 27
    """Branches to `target` if the zero flag is clear."""
    COPY_PAIR = 28
    """destination = left, both words of vector registers."""
    COPY_UPPER = 29
    """destination = the upper word of left."""
    SET_UPPER = 30
    """The upper word of destination = left, or memory[0] if left is NONE; the lower word is kept."""
    COMPARE = 31
    """Sets flags by comparing the low `width` bytes of left with the immediate."""
    SET_IF_ZERO = 32
    """The lowest byte of left = the zero flag."""
    SET_IF_NOT_ZERO = 33
    """The lowest byte of left = the negated zero flag."""
