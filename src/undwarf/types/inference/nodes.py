# cython: language_level=3, annotation_typing=False
"""What is told of the values of one origin in a function; `webs.py` gathers it."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType
from typing import Any, TypeVar, cast

import cython

from undwarf.lazy_dataclasses import dataclass

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

    key: Key = cython.declare(object, visibility="public")
    leads: Mapping[int, list[int]] = cython.declare(object, visibility="public")
    sources: "Sequence[tuple[Node, int]]" = cython.declare(object, visibility="public")
    origins: "Sequence[Node | None]" = cython.declare(object, visibility="public")
    """All that flows into it, None for what is no node."""
    known: Sequence[tuple[int, ...]] = cython.declare(object, visibility="public")
    """Types of what is stored there where they are known, the largest whole first."""
    begun: bool = cython.declare(cython.bint, visibility="public")
    """All sources are known."""
    declared: Sequence[int] = cython.declare(object, visibility="public")
    """Types said by prototypes."""
    confirmed: bool = cython.declare(cython.bint, visibility="public")
    """It also goes where what it is known to lead to is expected."""
    copied: Sequence[int] = cython.declare(object, visibility="public")
    signs: Set[int] = cython.declare(object, visibility="public")
    unsigned: bool = cython.declare(cython.bint, visibility="public")
    """It is compared or divided as a number without sign."""
    floats: bool = cython.declare(cython.bint, visibility="public")
    compared: "Sequence[Node | int]" = cython.declare(object, visibility="public")
    """Nodes, or types of numbers, it is compared with."""
    met: "Sequence[Node | int]" = cython.declare(object, visibility="public")
    """Nodes, or types of numbers, that it is read together with, to calculate or to compare."""
    numeric: bool = cython.declare(cython.bint, visibility="public")
    """It is calculated with as only numbers are."""
    followed: bool = cython.declare(cython.bint, visibility="public")
    """It is used as an address."""
    touched: Set[tuple[int, int]] = cython.declare(object, visibility="public")
    """(offset, size) of what is accessed behind it."""
    floating: Set[tuple[int, int]] = cython.declare(object, visibility="public")
    """(offset, size) of those of them that are one number with a point."""
    numbers: Set[tuple[int, int]] = cython.declare(object, visibility="public")
    """(offset, size) of those of them that are calculated with where they are."""
    grown: Set[tuple[int, int, int]] = cython.declare(object, visibility="public")
    """(offset, size, number) of what grows by a number behind it."""
    stored: Set[tuple[int, int]] = cython.declare(object, visibility="public")
    """(offset, size) of what is stored behind it with few bytes, and is not nothing."""
    put: Set[tuple[int, tuple[int, ...]]] = cython.declare(object, visibility="public")
    """(offset, types) of pointers that are stored behind it, by what these lead to."""
    allocated: int = cython.declare(object, visibility="public")
    """Bytes of what it leads to, where it comes from an allocator."""
    room: bool = cython.declare(cython.bint, visibility="public")
    """It comes from an allocator."""
    rowed: int = cython.declare(object, visibility="public")
    """Bytes of which a multiple is allocated, where it is so many times them."""
    element: int = cython.declare(object, visibility="public")
    """Bytes of one of several objects it leads to, where a call says so."""
    elements: "Mapping[int, Node]" = cython.declare(object, visibility="public")
    """By how many bytes, what is so many times that behind it."""
    steps: Set[int] = cython.declare(object, visibility="public")
    """By how many bytes it is moved on."""
    loads: "Sequence[tuple[int, int, Node]]" = cython.declare(object, visibility="public")
    """(offset, size, what is loaded there) behind it."""
    passed: bool = cython.declare(cython.bint, visibility="public")
    """It goes where something of a type is expected; else only what it is compared with is known."""
    reckoned: bool = cython.declare(cython.bint, visibility="public")
    """It is a part of a sum or a difference."""
    single: bool = cython.declare(cython.bint, visibility="public")
    """These bytes are one object, or several of that size."""
    several: bool = cython.declare(cython.bint, visibility="public")
    """It leads to as many objects of the size that is allocated, one behind the other, as a call says."""
    wholes: Sequence[int] = cython.declare(object, visibility="public")
    """What begins with what it is known to lead to, where it goes as a pointer to that."""
    firsts: Sequence[int] = cython.declare(object, visibility="public")
    """What that which it is known to lead to begins with, where it goes as a pointer to that."""
    goes: Set[tuple[int, int]] = cython.declare(object, visibility="public")
    """(bytes added, type) of all that a variable goes as a pointer to, whatever is known of it."""
    apart: Sequence[tuple[int, int]] = cython.declare(object, visibility="public")
    """(type, offset) of places outside of objects that are stored there."""
    indexed: bool = cython.declare(cython.bint, visibility="public")
    """It is the address of an element of an array."""
    strayed: bool = cython.declare(cython.bint, visibility="public")
    """A number of bytes is added to it that is no multiple of what it leads to."""
    either: bool = cython.declare(cython.bint, visibility="public")
    """It was loaded where a union has pointers and numbers."""
    low: int = cython.declare(object, visibility="public")
    high: int = cython.declare(object, visibility="public")
    """Where what is read and written behind it begins and ends."""
    summed: Sequence[int] = cython.declare(object, visibility="public")
    """What functions return of which a part is calculated from it."""
    read: bool = cython.declare(cython.bint, visibility="public")
    """It is a place that is read without an index."""
    flows: bool = cython.declare(cython.bint, visibility="public")
    """It goes somewhere else."""
    beside: "Sequence[Node | int]" = cython.declare(object, visibility="public")
    """Nodes, or types of numbers, it was calculated with."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.leads = _NO_MAPPING
        self.sources = ()
        self.origins = ()
        self.known = ()
        self.begun = True
        self.declared = ()
        self.confirmed = False
        self.copied = ()
        self.signs = _NO_SET
        self.unsigned = False
        self.floats = False
        self.compared = ()
        self.met = ()
        self.numeric = False
        self.followed = False
        self.touched = _NO_SET
        self.floating = _NO_SET
        self.numbers = _NO_SET
        self.grown = _NO_SET
        self.stored = _NO_SET
        self.put = _NO_SET
        self.allocated = 0
        self.room = False
        self.rowed = 0
        self.element = 0
        self.elements = _NO_MAPPING
        self.steps = _NO_SET
        self.loads = ()
        self.reckoned = False
        self.passed = False
        self.single = False
        self.several = False
        self.wholes = ()
        self.firsts = ()
        self.goes = _NO_SET
        self.apart = ()
        self.indexed = False
        self.strayed = False
        self.either = False
        self.low = 0
        self.high = 0
        self.summed = ()
        self.read = False
        self.flows = False
        self.beside = ()

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
