# cython: language_level=3, annotation_typing=False
"""Instructions as data: what they read, write and do, whatever the machine.

Registers are DWARF register numbers (System V ABI of the machine), -1 where there is none, and always stand for the
whole register: a write of `%eax` is a write of register 0. Addresses are those the code was decoded at.
"""

from collections.abc import Callable
from enum import IntEnum

import cython

NONE = -1
SEGMENTS = ("", "fs", "gs")
ACCESSES = ("", "r", "w", "rw")
"""What operands' segments and accesses are by number."""

__all__ = ["NONE", "Action", "Flow", "Instruction", "Memory"]


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


@cython.cclass
class Memory:
    """One memory operand.

    The address is base + index * scale + displacement in `segment` ("", "fs", "gs"); with `absolute` there is
    neither base nor index (a base of the instruction pointer is already added). `size` in bytes, 0 if it depends on
    registers; `access` is "r", "w", "rw" or "" (address only). `implicit` marks the stack slots of push, pop, call
    and return. `writeback` is what base grows by: before the access if `pre`, else after it. `floating`: one
    floating-point number is read or written.
    """

    def __init__(
        self,
        base: int,
        index: int = NONE,
        scale: int = 1,
        displacement: int = 0,
        *,
        segment: str = "",
        size: int = 0,
        access: str = "",
        implicit: bool = False,
        element: int = 0,
    ) -> None:
        self.base = base
        self.index = index
        self.scale = scale
        self.displacement = displacement
        self.segment = segment
        self.size = size
        self.access = access
        self.implicit = implicit
        self.element = element or size
        self.absolute = base == NONE and index == NONE
        self.floating = False
        self.writeback = 0
        self.pre = False

    def __repr__(self) -> str:
        index = f"+r{self.index}*{self.scale}" if self.index != NONE else ""
        base = f"r{self.base}" if self.base != NONE else ""
        prefix = f"{self.segment}:" if self.segment else ""
        return f"{prefix}[{base}{index}{self.displacement:+#x}]:{self.size}{self.access}"


@cython.cclass
class Instruction:
    """One instruction; see the module and :class:`Action`. `text` and `native` are made when asked for."""

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size
        self.flow = _NEXT
        self.target: int | None = None
        self.memory: tuple[Memory, ...] = ()
        self.writes: tuple[int, ...] = ()
        self.reads: tuple[int, ...] = ()
        self.action = _OTHER
        self.destination = NONE
        self.left = NONE
        self.right = NONE
        self.immediate = 0
        self.width = 8
        self.signed = False
        self._native: object = None
        self._decode: Callable[[Instruction], object] | None = None
        self._text: Callable[[object], str] | None = None

    @property
    def native(self) -> object:
        """What the decoder makes of it; None for bytes that are no instruction."""
        if self._native is None and self._decode is not None:
            self._native = self._decode(self)
        return self._native

    @property
    def next_address(self) -> int:
        """The address behind it."""
        return self.address + self.size

    @property
    def text(self) -> str:
        """As a disassembler prints it."""
        native = self.native
        return self._text(native) if native is not None and self._text is not None else "(bad)"

    def __repr__(self) -> str:
        return f"<{self.address:#x} {self.text}>"


_NEXT, _OTHER = Flow.NEXT, Action.OTHER
