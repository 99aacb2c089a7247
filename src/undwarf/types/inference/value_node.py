# cython: language_level=3, annotation_typing=False
"""Nodes of the value graph: the evidence on values of one origin, gathered by `value_graph.py`."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar, cast

import cython

__all__ = ["Decided", "Held", "Key", "Node", "added"]

Key = tuple[str, int, int]
_One = TypeVar("_One")
_NO_SET: Set[Any] = frozenset()
_NO_MAPPING: Mapping[Any, Any] = MappingProxyType({})
"""Shared empty values: there are very many nodes, most without such evidence."""


def added(known: Sequence[_One], *more: _One) -> Sequence[_One]:
    """A sequence with some more items, extended in place unless it is the shared empty one."""
    if not known:
        return [*more] if more else known
    cast("list[_One]", known).extend(more)
    return known


def _with(known: Set[_One], one: _One) -> Set[_One]:
    """A set with one more item, extended in place unless it is the shared empty one."""
    if not known:
        return {one}
    cast("set[_One]", known).add(one)
    return known


@cython.final
@cython.cclass
class Node:
    """Values of one origin, identified by ``key``. ``leads``: pointees by the offset added to it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.leads: Mapping[int, list[int]] = _NO_MAPPING
        self.sources: Sequence[tuple[Node, int]] = ()
        self.origins: Sequence[Node | None] = ()
        """All values that flow into it, None for other than nodes."""
        self.known: Sequence[tuple[int, ...]] = ()
        """Known pointees of values that flow into it, each as the types that start there, largest first."""
        self.begun: bool = True
        """All sources are known."""
        self.declared: Sequence[int] = ()
        """Types from prototypes."""
        self.use_confirmed: bool = False
        """A use agrees with its known pointee."""
        self.copied: Sequence[int] = ()
        self.signs: Set[int] = _NO_SET
        self.unsigned: bool = False
        """Compared or divided as an unsigned integer."""
        self.floats: bool = False
        self.compared: Sequence[Node | int] = ()
        """Nodes or types that it is compared with."""
        self.met: Sequence[Node | int] = ()
        """Nodes or types of the other operands of arithmetic and comparisons."""
        self.numeric: bool = False
        """Used in arithmetic that excludes pointers."""
        self.followed: bool = False
        """Dereferenced."""
        self.touched: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of accesses through it."""
        self.floating: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of floating-point accesses."""
        self.calculated: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of operands of floating-point arithmetic."""
        self.numbers: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of memory operands of integer arithmetic."""
        self.grown: Set[tuple[int, int, int]] = _NO_SET
        """(offset, size, constant) of additions in memory."""
        self.stored: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of narrow stores other than 0."""
        self.put: Set[tuple[int, tuple[int, ...]]] = _NO_SET
        """(offset, possible pointees) of pointers stored through it."""
        self.allocated: int = 0
        """Allocated size in bytes, if constant."""
        self.room: bool = False
        """Result of an allocator."""
        self.rowed: int = 0
        """The allocated size is a multiple of this many bytes."""
        self.element: int = 0
        """Element size in bytes passed to a call."""
        self.number_size: int = 0
        """Element size passed to a call, if it is that of a scalar."""
        self.elements: Mapping[int, Node] = _NO_MAPPING
        """{stride: node of the elements}."""
        self.steps: Set[int] = _NO_SET
        """Constants added to it in loops."""
        self.loads: Sequence[tuple[int, int, Node]] = ()
        """(offset, size, node of the loaded value)."""
        self.passed: bool = False
        """Used where a type is expected, not only compared."""
        self.freed: bool = False
        """Freed."""
        self.reckoned: bool = False
        """Operand of an addition or subtraction."""
        self.single: bool = False
        """The allocation is one object, or several of that size."""
        self.several: bool = False
        """Array of objects of the allocated size, with the count given by the call."""
        self.wholes: Sequence[int] = ()
        """Larger types, starting with the known pointee, as which it is used."""
        self.firsts: Sequence[int] = ()
        """First parts of the known pointee as which it is used."""
        self.goes: Set[tuple[int, int]] = _NO_SET
        """(offset added, pointee) of all uses."""
        self.apart: Sequence[tuple[int, int]] = ()
        """(type, offset) of pointers outside of their object that flow into it."""
        self.indexed: bool = False
        """Address of an array element."""
        self.strayed: bool = False
        """An offset that is no multiple of the pointee's size is added to it."""
        self.either: bool = False
        """Loaded from a union of pointers and integers."""
        self.low: int = 0
        self.high: int = 0
        """Range of offsets accessed through it."""
        self.summed: Sequence[int] = ()
        """Return types that it is an operand of."""
        self.read: bool = False
        """A slot that is read directly."""
        self.signed_part: bool = False
        """A sum that it is an operand of is used as signed."""
        self.unsigned_sum: bool = False
        """The same as unsigned."""
        self.flows: bool = False
        """Flows into another node."""
        self.beside: Sequence[Node | int] = ()
        """Nodes or types that it was computed with."""

    def release(self) -> None:
        """Drop references to other nodes."""
        self.sources = self.origins = ()
        self.compared = self.met = self.beside = ()

    def add_pointee(self, offset: int, t: int) -> None:
        """Add a pointee at an offset."""
        if not self.leads:
            self.leads = {}
        known = cast("dict[int, list[int]]", self.leads)
        known.setdefault(offset, []).append(t)

    def sign(self, sign: int) -> None:
        """Note a signed (1) or unsigned (-1) use."""
        self.signs = _with(self.signs, sign)

    def take(self, sign: int) -> None:
        """Note an instruction that is signed (1) or unsigned (-1)."""
        self.sign(sign)
        self.unsigned = self.unsigned or sign < 0

    def number(self, offset: int, size: int) -> None:
        """Note integer arithmetic on memory at an offset."""
        self.numbers = _with(self.numbers, (offset, size))

    def grows(self, offset: int, size: int, by: int) -> None:
        """Note an addition of a constant to memory at an offset."""
        self.grown = _with(self.grown, (offset, size, by))

    def stores(self, offset: int, size: int) -> None:
        """Note a narrow store at an offset."""
        self.stored = _with(self.stored, (offset, size))

    def puts(self, offset: int, types: tuple[int, ...]) -> None:
        """Note a stored pointer at an offset, by its possible pointees."""
        self.put = _with(self.put, (offset, types))

    def calculate(self, offset: int, size: int) -> None:
        """Note floating-point arithmetic on memory at an offset."""
        self.calculated = _with(self.calculated, (offset, size))

    def step(self, by: int) -> None:
        """Note an increment by a constant."""
        self.steps = _with(self.steps, abs(by))

    def note_use_as(self, offset: int, t: int) -> None:
        """Note a use as pointer to a type, with an offset added."""
        self.goes = _with(self.goes, (offset, t))

    def row(self, size: int, row: "Node") -> None:
        """Set the node of elements with a stride."""
        self.elements = {**self.elements, size: row}

    def follow(self, offset: int, size: int, *, floating: bool, number: bool) -> None:
        """Note an access at an offset."""
        self.followed = True
        self.touched = _with(self.touched, (offset, size))
        if floating:
            self.floating = _with(self.floating, (offset, size))
        if number:
            self.numbers = _with(self.numbers, (offset, size))
        self.low = min(self.low, offset)
        self.high = max(self.high, offset + size)


Held = tuple[Node, int, int]
"""(node, constant added, bytes) held by a register."""


@dataclass(slots=True, eq=False)
class Decided:
    """Results of one pass over a function."""

    leads: dict[Node, int] = field(default_factory=dict)
    """{node: pointee}."""
    conflicting: set[Node] = field(default_factory=set)
    more: dict[Node, bool] = field(default_factory=dict)
    """Whether nodes have other accesses than text."""
