# cython: language_level=3, annotation_typing=False
"""Instructions of any machine as data: their operands and their effects.

Registers are DWARF register numbers (System V ABI of the machine), -1 for none, and always stand for the whole
register: a write of `%eax` is a write of register 0. Addresses are those the code was decoded at.
"""

from collections.abc import Callable

import cython

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction_semantics import Action

NONE = -1
SEGMENTS = ("", "fs", "gs")
ACCESSES = ("", "r", "w", "rw")
"""Names of segments and accesses in templates, by index."""

__all__ = ["NONE", "Action", "Flow", "Instruction", "Memory", "as_signed"]


def as_signed(value: int) -> int:
    """The low 64 bits of an integer as a signed one."""
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


@cython.cclass
class Memory:
    """One memory operand.

    The address is base + index * scale + displacement in `segment` ("", "fs", "gs"); with `absolute` there is
    neither base nor index (a base of the instruction pointer is already added). `size` in bytes, 0 if it depends on
    registers; `access` is "r", "w", "rw" or "" (address only). `implicit` marks the stack slots of push, pop, call
    and return. `writeback` is added to the base: before the access if `pre`, else after it. `floating`: the operand is
    a floating-point scalar.
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
    """One instruction; see the module and :class:`Action`. `text` and `native` are computed on demand."""

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
        """The decoder's own object; None for invalid bytes."""
        if self._native is None and self._decode is not None:
            self._native = self._decode(self)
        return self._native

    @property
    def next_address(self) -> int:
        """The address after it."""
        return self.address + self.size

    @property
    def text(self) -> str:
        """In assembler syntax."""
        native = self.native
        return self._text(native) if native is not None and self._text is not None else "(bad)"

    def __repr__(self) -> str:
        return f"<{self.address:#x} {self.text}>"


_NEXT, _OTHER = Flow.NEXT, Action.OTHER
