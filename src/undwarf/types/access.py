"""The result for one memory operand: type, offset and member, or the reason why there is none."""

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import StrEnum
from typing import Any

from undwarf.disasm import Instruction, Memory
from undwarf.types.layouts.type_graph import VOID

__all__ = ["Access", "TypeEvidence", "access", "nothing", "packed", "unpacked", "without_type"]


class TypeEvidence(StrEnum):
    """What an access is known by, or why it needs no type.

    Of accesses with a type: ``VARIABLE`` is a declared variable at its location, ``TRACKING`` the data flow from one,
    ``GLOBAL``, ``THREAD`` and ``PERCPU`` a variable at its address, ``CONTAINER`` the only aggregate that has the
    member, ``FRAME`` an undeclared object on the stack. Without a type: ``STACK`` (push, call, return), ``SPILL`` (a
    compiler's own slot), ``CANARY``, ``CONSTANT`` and ``TABLE`` (of addresses) are not the program's data, ``NONE`` is
    no memory access, ``UNREAD`` code that is not available, ``UNKNOWN`` an access whose type was not found.
    """

    VARIABLE = "variable"
    TRACKING = "tracking"
    GLOBAL = "global"
    THREAD = "thread"
    PERCPU = "percpu"
    CONTAINER = "container"
    FRAME = "frame"
    STACK = "stack"
    SPILL = "spill"
    CANARY = "canary"
    CONSTANT = "constant"
    TABLE = "table"
    NONE = "none"
    UNREAD = "unread"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Access:
    """One memory operand of one instruction, and what it accesses.

    `type` is a name such as `struct node`, None if unknown; `offset` is that of the first byte in it, `field` the path
    of the member there, empty for the whole; `size` is in bytes, 0 if registers have it. `how` is the kind of evidence:
    variable, tracking (data flow), global, thread, percpu, container (the only aggregate that contains it), frame (an
    undeclared stack object); or, for accesses that have no type, stack (push, call, return), spill, canary, constant,
    table; or unread if the instruction is not available. `reason` says why there is no type. A kernel's canary is a
    member of a per-CPU variable and may have its type.
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
    """Of an aggregate: distinguishes types with one name and size, equal in all processes
    (:meth:`TypeGraph.layout`)."""
    operand: Memory | None = dataclass_field(default=None, repr=False, compare=False)
    """The operand, to compute the address from register values."""

    @property
    def typed(self) -> bool:
        """Whether a type was found."""
        return self.type is not None

    @property
    def evidence(self) -> TypeEvidence:
        """What the access is known by."""
        return TypeEvidence(self.how)

    @property
    def countable(self) -> bool:
        """Whether the access should have a type: it is none of the machine's own (stack, tables) and its instruction is
        available."""
        return self.how not in _NO_TYPE


_NO_TYPE = frozenset(("none", "stack", "spill", "canary", "constant", "table", "unread"))


def without_type(one: Access, reason: str) -> Access:
    """The access without its type, for an answer that turned out to be unreliable."""
    return Access(one.address, one.insn, one.access or "rw", None, None, "", 0, "", (), reason)


def access(
    made: Instruction, operand: Memory, size: int, *, how: str, reason: str, candidates: tuple[str, ...] = ()
) -> Access:
    """The result for an operand without a type."""
    return Access(made.address, made.text, operand.access, None, None, "", size, how, candidates, reason)


def nothing(address: int, text: str, reason: str) -> Access:
    """The result for an address without an operand."""
    return Access(address, text, "", None, None, "", 0, "none", (), reason)


def packed(one: Access) -> tuple[object, ...]:
    """An access as plain numbers and text, without the type id, which is specific to this process's graph."""
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
    """The access of :func:`packed`."""
    *fields, where = plain
    operand = None
    if where is not None:
        base, index, scale, displacement, segment, size, direction, implicit, element = where
        operand = Memory(
            base, index, scale, displacement, segment=segment, size=size, access=direction, implicit=implicit,
            element=element,
        )  # fmt: skip  # rows of fields
    return Access(*(*fields, operand))
