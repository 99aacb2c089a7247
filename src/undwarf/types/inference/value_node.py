# cython: language_level=3, annotation_typing=False
"""What is told of the values of one origin in a function; `value_graph.py` gathers it."""

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
"""What all nodes have of which nothing is told: there are very many."""


def added(known: Sequence[_One], *more: _One) -> Sequence[_One]:
    """A list with some more in it: itself, if it is not the one that all share."""
    if not known:
        return [*more] if more else known
    cast("list[_One]", known).extend(more)
    return known


def _with(known: Set[_One], one: _One) -> Set[_One]:
    """A set with one more in it: itself, if it is not the one that all share."""
    if not known:
        return {one}
    cast("set[_One]", known).add(one)
    return known


@cython.final
@cython.cclass
class Node:
    """Values of one origin. ``key`` says which; ``leads`` are types it leads to, by the offset added to it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.leads: Mapping[int, list[int]] = _NO_MAPPING
        self.sources: Sequence[tuple[Node, int]] = ()
        self.origins: Sequence[Node | None] = ()
        """All that flows into it, None for what is no node."""
        self.known: Sequence[tuple[int, ...]] = ()
        """Types of what is stored there where they are known, the largest whole first."""
        self.begun: bool = True
        """All sources are known."""
        self.declared: Sequence[int] = ()
        """Types said by prototypes."""
        self.confirmed: bool = False
        """It also goes where what it is known to lead to is expected."""
        self.copied: Sequence[int] = ()
        self.signs: Set[int] = _NO_SET
        self.unsigned: bool = False
        """It is compared or divided as a number without sign."""
        self.floats: bool = False
        self.compared: Sequence[Node | int] = ()
        """Nodes, or types of numbers, it is compared with."""
        self.met: Sequence[Node | int] = ()
        """Nodes, or types of numbers, that it is read together with, to calculate or to compare."""
        self.numeric: bool = False
        """It is calculated with as only numbers are."""
        self.followed: bool = False
        """It is used as an address."""
        self.touched: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of what is accessed behind it."""
        self.floating: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of those of them that are one number with a point."""
        self.calculated: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of those of these that are calculated with."""
        self.numbers: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of those of them that are calculated with where they are."""
        self.grown: Set[tuple[int, int, int]] = _NO_SET
        """(offset, size, number) of what grows by a number behind it."""
        self.stored: Set[tuple[int, int]] = _NO_SET
        """(offset, size) of what is stored behind it with few bytes, and is not nothing."""
        self.put: Set[tuple[int, tuple[int, ...]]] = _NO_SET
        """(offset, types) of pointers that are stored behind it, by what these lead to."""
        self.allocated: int = 0
        """Bytes of what it leads to, where it comes from an allocator."""
        self.room: bool = False
        """It comes from an allocator."""
        self.rowed: int = 0
        """Bytes of which a multiple is allocated, where it is so many times them."""
        self.element: int = 0
        """Bytes of one of several objects it leads to, where a call says so."""
        self.number_size: int = 0
        """Bytes of one of several that it leads to, where a call says so, and they are those of a number."""
        self.elements: Mapping[int, Node] = _NO_MAPPING
        """By how many bytes, what is so many times that behind it."""
        self.steps: Set[int] = _NO_SET
        """By how many bytes it is moved on."""
        self.loads: Sequence[tuple[int, int, Node]] = ()
        """(offset, size, what is loaded there) behind it."""
        self.passed: bool = False
        """It goes where something of a type is expected; else only what it is compared with is known."""
        self.freed: bool = False
        """It is given back to an allocator."""
        self.reckoned: bool = False
        """It is a part of a sum or a difference."""
        self.single: bool = False
        """These bytes are one object, or several of that size."""
        self.several: bool = False
        """It leads to as many objects of the size that is allocated, one behind the other, as a call says."""
        self.wholes: Sequence[int] = ()
        """What begins with what it is known to lead to, where it goes as a pointer to that."""
        self.firsts: Sequence[int] = ()
        """What that which it is known to lead to begins with, where it goes as a pointer to that."""
        self.goes: Set[tuple[int, int]] = _NO_SET
        """(bytes added, type) of all that a variable goes as a pointer to, whatever is known of it."""
        self.apart: Sequence[tuple[int, int]] = ()
        """(type, offset) of places outside of objects that are stored there."""
        self.indexed: bool = False
        """It is the address of an element of an array."""
        self.strayed: bool = False
        """A number of bytes is added to it that is no multiple of what it leads to."""
        self.either: bool = False
        """It was loaded where a union has pointers and numbers."""
        self.low: int = 0
        self.high: int = 0
        """Where what is read and written behind it begins and ends."""
        self.summed: Sequence[int] = ()
        """What functions return of which a part is calculated from it."""
        self.read: bool = False
        """It is a place that is read without an index."""
        self.signed_part: bool = False
        """What it is a part of, a sum or a difference, is used as a number with sign."""
        self.unsigned_sum: bool = False
        """The same without sign."""
        self.flows: bool = False
        """It goes somewhere else."""
        self.beside: Sequence[Node | int] = ()
        """Nodes, or types of numbers, it was calculated with."""

    def release(self) -> None:
        """Forget the other nodes."""
        self.sources = self.origins = ()
        self.compared = self.met = self.beside = ()

    def lead(self, offset: int, t: int) -> None:
        """It leads to a type, so far behind it."""
        if not self.leads:
            self.leads = {}
        known = cast("dict[int, list[int]]", self.leads)
        known.setdefault(offset, []).append(t)

    def sign(self, sign: int) -> None:
        """It is used as a number with sign (1), or without (-1)."""
        self.signs = _with(self.signs, sign)

    def take(self, sign: int) -> None:
        """An instruction takes it for a number with sign (1), or for one without (-1)."""
        self.sign(sign)
        self.unsigned = self.unsigned or sign < 0

    def number(self, offset: int, size: int) -> None:
        """What is so far behind it is calculated with where it is."""
        self.numbers = _with(self.numbers, (offset, size))

    def grows(self, offset: int, size: int, by: int) -> None:
        """What is so far behind it grows by a number where it is."""
        self.grown = _with(self.grown, (offset, size, by))

    def stores(self, offset: int, size: int) -> None:
        """Few bytes are stored so far behind it, and not to set them to nothing."""
        self.stored = _with(self.stored, (offset, size))

    def puts(self, offset: int, types: tuple[int, ...]) -> None:
        """A pointer that leads to one of some types is stored so far behind it."""
        self.put = _with(self.put, (offset, types))

    def calculate(self, offset: int, size: int) -> None:
        """What is so far behind it is calculated with as one number with a point."""
        self.calculated = _with(self.calculated, (offset, size))

    def step(self, by: int) -> None:
        """It is moved on by so many bytes, or back."""
        self.steps = _with(self.steps, abs(by))

    def goes_as(self, offset: int, t: int) -> None:
        """It goes, with so much added, where a pointer to a type is expected."""
        self.goes = _with(self.goes, (offset, t))

    def row(self, size: int, row: "Node") -> None:
        """Something else is a multiple of so many bytes behind it."""
        self.elements = {**self.elements, size: row}

    def follow(self, offset: int, size: int, *, floating: bool, number: bool) -> None:
        """So many bytes are accessed at an offset from it, as one number, with a point or without, or as anything."""
        self.followed = True
        self.touched = _with(self.touched, (offset, size))
        if floating:
            self.floating = _with(self.floating, (offset, size))
        if number:
            self.numbers = _with(self.numbers, (offset, size))
        self.low = min(self.low, offset)
        self.high = max(self.high, offset + size)


Held = tuple[Node, int, int]
"""What a register holds: the value of a node, so much more, as so many bytes."""


@dataclass(slots=True, eq=False)
class Decided:
    """What one look at a function tells."""

    leads: dict[Node, int] = field(default_factory=dict)
    """What nodes lead to."""
    conflicting: set[Node] = field(default_factory=set)
    more: dict[Node, bool] = field(default_factory=dict)
    """Whether nodes lead to more than text."""
