# constants of kernels: the build writes the .pxd beside this file
"""What an instruction does to whole registers."""

from enum import IntEnum


class Action(IntEnum):
    """What an instruction does to whole registers, as far as a tracker of values wants to know.

    `destination`, `left` and `right` are registers, `immediate` a number; where `right` is NONE the second operand is
    the immediate. Everything not listed is OTHER: only `writes` says what it changes.
    """

    OTHER = 0
    COPY = 1
    """destination = left, of `width` bytes (8, or 4 with the upper half cleared)."""
    CONSTANT = 2
    """destination = immediate."""
    LOAD = 3
    """destination = memory[0], `width` bytes of the register are made (zero or sign extended)."""
    STORE = 4
    """memory[0] = left, or the immediate where left is NONE."""
    ADDRESS = 5
    """destination = the address memory[0] says; nothing is accessed."""
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
    """destination = left, of `width` bytes, sign or zero extended: a number from here on."""
    SELECT = 12
    """destination = left or right, or left or memory[0] where right is NONE, by a condition."""
    EXCHANGE = 13
    """left and right change places."""
    PUSH = 14
    """The stack pointer goes down by 8, then memory = left or the immediate."""
    POP = 15
    """destination = memory, then the stack pointer goes up by 8."""
    LEAVE = 16
    """The stack pointer becomes the frame pointer, which is popped."""
    ADD_MEMORY = 17
    """destination = left + memory[0]."""
    LOAD_PAIR = 18
    """destination, right = two words from memory[0] on; both in destination, a vector register, where right is NONE."""
    STORE_PAIR = 19
    """two words from memory[0] on = left, right; both in left, a vector register, where right is NONE."""
    OR = 20
    """destination = left | immediate; or memory[0] |= immediate, where both are NONE."""
    UPDATE = 21
    """memory[0] += left, or -= right, or += the immediate where both are NONE."""
    SHIFT_RIGHT = 22
    """destination = left >> immediate."""
    CARRY = 23
    """destination = left + immediate, give or take one."""
    REPEAT = 24
    """memory[0] is written, from memory[1] where there is one, as many elements as left says (NONE: one), upwards; the
    operands' bases are behind them then, and left is 0."""
    TEST = 25
    """Flags say whether left is 0; all of it, where `width` is 8."""
    IF_ZERO = 26
    """To `target` if flags say so, else on."""
    IF_NOT_ZERO = 27
    """On if flags say so, else to `target`."""
    COPY_PAIR = 28
    """destination = left, two words of each."""
    COPY_UPPER = 29
    """destination = the second word of left."""
    SET_UPPER = 30
    """The second word of destination = left, or memory[0] where left is NONE; the first one stays."""
    COMPARE = 31
    """Flags say whether left, of `width` bytes, is the immediate."""
    SET_IF_ZERO = 32
    """The lowest byte of left = 1 if flags say so, else 0."""
    SET_IF_NOT_ZERO = 33
    """The lowest byte of left = 0 if flags say so, else 1."""
