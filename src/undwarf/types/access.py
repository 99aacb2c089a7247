"""One memory operand of an instruction, and what was found of it."""

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from undwarf.disasm import Instruction, Memory
from undwarf.types.layouts.type_graph import VOID

__all__ = ["Access", "access", "nothing", "packed", "unpacked", "untold"]


@dataclass(frozen=True, slots=True)
class Access:
    """One memory operand of one instruction, and what it touches.

    `type` is a name such as `struct node`, None where it is not known; `offset` the first byte's place in it, `field`
    the path of the member there, empty for the whole; `size` in bytes, 0 if registers say it. `how` tells what the
    answer rests on: variable, tracking, global, thread, percpu, container (the only aggregate it can be a part of),
    frame (a variable on the stack that nothing names, by what goes into it); or, for what has no type by nature, stack
    (push, call, return), spill, canary, constant, table; or unread, where the instruction is not at hand. `reason` says
    why there is none. A kernel's canary is a member of a per-cpu variable, whose type is then told too.
    """

    address: int
    insn: str
    access: str
    type: str | None
    offset: int | None
    field: str
    size: int
    how: str
    candidates: tuple[str, ...] = ()
    reason: str = ""
    type_number: int = VOID
    type_size: int = 0
    layout: int = 0
    """Of an aggregate: tells types of one name and size apart, in all processes (:meth:`TypeGraph.layout`)."""
    operand: Memory | None = dataclass_field(default=None, repr=False, compare=False)
    """The operand itself, which says how the address is made of registers."""

    @property
    def typed(self) -> bool:
        """Whether a type was found."""
        return self.type is not None

    @property
    def countable(self) -> bool:
        """Whether the access is one that has a type: not the machine's own use of the stack, of tables, or of none; nor
        one of which nothing is known."""
        return self.how not in _NO_TYPE

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "address": f"{self.address:#x}",
            "insn": self.insn,
            "access": self.access,
            "type": self.type,
            "offset": self.offset,
            "field": self.field,
            "size": self.size,
            "how": self.how,
            "candidates": list(self.candidates),
            "reason": self.reason,
        }


_NO_TYPE = frozenset(("none", "stack", "spill", "canary", "constant", "table", "unread"))


def untold(one: Access, reason: str) -> Access:
    """The access of an instruction of which it is not known what it touches after all."""
    return Access(one.address, one.insn, one.access or "rw", None, None, "", 0, "", (), reason)


def access(
    made: Instruction, operand: Memory, size: int, *, how: str, reason: str, candidates: tuple[str, ...] = ()
) -> Access:
    """An operand without a type."""
    return Access(made.address, made.text, operand.access, None, None, "", size, how, candidates, reason)


def nothing(address: int, text: str, reason: str) -> Access:
    """An address without an operand."""
    return Access(address, text, "", None, None, "", 0, "none", (), reason)


def packed(one: Access) -> tuple[object, ...]:
    """An access in plain numbers and text, but for the number of its type, which is one of this process's graph."""
    operand = one.operand
    where = None
    if operand is not None:
        where = (
            operand.base, operand.index, operand.scale, operand.displacement, operand.segment, operand.size,
            operand.access, operand.implicit, operand.element,
        )  # fmt: skip  # rows of fields
    return (
        one.address, one.insn, one.access, one.type, one.offset, one.field, one.size, one.how, one.candidates,
        one.reason, VOID, one.type_size, one.layout, where,
    )  # fmt: skip  # rows of fields


def unpacked(plain: Any) -> Access:
    """The access that was packed."""
    *fields, where = plain
    operand = None
    if where is not None:
        base, index, scale, displacement, segment, size, direction, implicit, element = where
        operand = Memory(
            base, index, scale, displacement, segment=segment, size=size, access=direction, implicit=implicit,
            element=element,
        )  # fmt: skip  # rows of fields
    return Access(*(*fields, operand))
