"""What is said of one type: its kind, its members, its size; and of a place in one.

Sizes and offsets are bytes unless the name says bits.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

VOID = 0


class Kind(IntEnum):
    """What a type is."""

    VOID = 0
    INT = 1
    FLOAT = 2
    BOOL = 3
    CHAR = 4
    POINTER = 5
    REFERENCE = 6
    ARRAY = 7
    STRUCT = 8
    UNION = 9
    CLASS = 10
    ENUM = 11
    TYPEDEF = 12
    CONST = 13
    VOLATILE = 14
    RESTRICT = 15
    ATOMIC = 16
    FUNCTION = 17
    VARIANT = 18
    """A Rust enum with values: its members are the discriminant and the variants, one over the other."""
    FORWARD = 19
    """Declared, and defined nowhere that was found."""
    OTHER = 20
    """What has a size at most (a pointer to a member, a vector register's type of its own)."""
    TAG = 21
    """An annotation (BTF_KIND_TYPE_TAG), stepped over like a qualifier."""


THROUGH = frozenset((Kind.TYPEDEF, Kind.CONST, Kind.VOLATILE, Kind.RESTRICT, Kind.ATOMIC, Kind.TAG))
"""What is not a type of its own: stepped over to get at one."""
AGGREGATES = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS, Kind.VARIANT))
ADDRESSES = frozenset((Kind.POINTER, Kind.REFERENCE))
SCALARS = frozenset(
    (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.CHAR, Kind.POINTER, Kind.REFERENCE, Kind.ENUM, Kind.OTHER),
)

DISCRIMINANT = "discriminant"
"""Name of the member of a VARIANT that says which of the others is there."""


class Member(NamedTuple):
    """A member of an aggregate. ``bit_size`` is 0 unless it is a bit field; ``bit_offset`` is from the aggregate on."""

    name: str
    offset: int
    size: int
    bit_offset: int
    bit_size: int
    type: int
    base: bool = False


class Unread(Protocol):
    """What is not read of an aggregate before it is asked for: most are asked for their names and sizes only."""

    def members(self) -> tuple[Member, ...]:
        """See :class:`TypeRecord`."""

    def shape(self) -> int:
        """See :class:`TypeRecord`."""


@dataclass(slots=True)
class TypeRecord:
    """One type as its source says it. ``size`` is -1 where the source does not give it.

    ``target``: what a pointer, typedef or qualifier is of, an array's element, what a function returns. ``count``:
    elements of an array, -1 for unknown. ``members``: of aggregates; a size of -1 in one is that of its type.
    ``parameters``: (name, type) of a function. ``keyword`` goes before the name (``struct``), empty in languages
    without.
    """

    kind: Kind
    name: str = ""
    size: int = -1
    target: int = VOID
    count: int = -1
    members: tuple[Member, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()
    variadic: bool = False
    keyword: str = ""
    signed: bool = False
    by_reference: bool = False
    """A C++ class that is passed by its address, whatever its size."""
    virtual_bases: tuple[tuple[int, int], ...] = ()
    """(offset in the table of virtual functions, type) of the bases whose place only the object says."""
    shape: int = 0
    """Equal for two aggregates whose members have the same names, places and names of types; 0 for not known."""
    dynamic: bool = False
    """A C++ class that is only declared: it may have virtual functions."""
    holds: int = VOID
    """What the bytes are that an address inside leads to, where its own type does not say (Rust's `RawVec<T>`)."""
    unread: Unread | None = None
    """Who tells members and shape; None where they are here."""


class Loader(Protocol):
    """Makes the records of types that were only numbered."""

    def load(self, key: int) -> "TypeRecord | None":
        """The record that was reserved under a key; None where the source has none."""


class LoaderOfMany(Loader, Protocol):
    """One that knows of what kinds its types are before it makes them."""

    def keys(self, kinds: frozenset[Kind]) -> "list[int]":
        """The keys of the types of some kinds, ascending."""


class Field(NamedTuple):
    """What lies at a place within a type.

    ``path`` names the members down to it, such as ``src.port[].low``, empty for the whole; ``type`` is the innermost
    type there, which begins at ``begin`` of the outer type; ``offset`` is what is left within it. ``candidates`` are
    the paths of all that lie there, where that is more than one: the members of a union, the bit fields of a unit.
    """

    path: str
    type: int
    offset: int
    begin: int
    size: int
    candidates: tuple[str, ...] = ()
    containers: tuple[tuple[int, int], ...] = ()
    """(type, offset in it) of each type on the way, the outermost first and the innermost last."""
