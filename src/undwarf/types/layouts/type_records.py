"""Records of the type graph: kind, size and members of a type, and the field at an offset of one.

Sizes and offsets are bytes unless the name says bits.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

VOID = 0


class Kind(IntEnum):
    """Kind of a type, close to DW_TAG_* and BTF_KIND_*."""

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
    """A Rust enum with values: its members are the discriminant and the variants, which overlap."""
    FORWARD = 19
    """Declared without a known definition."""
    OTHER = 20
    """A type with at most a size (a pointer to a member, a vector register type)."""
    TAG = 21
    """An annotation (BTF_KIND_TYPE_TAG), skipped like a qualifier."""


THROUGH = frozenset((Kind.TYPEDEF, Kind.CONST, Kind.VOLATILE, Kind.RESTRICT, Kind.ATOMIC, Kind.TAG))
"""Typedefs and qualifiers, which :meth:`TypeStore.strip` skips."""
AGGREGATES = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS, Kind.VARIANT))
ADDRESSES = frozenset((Kind.POINTER, Kind.REFERENCE))
SCALARS = frozenset(
    (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.CHAR, Kind.POINTER, Kind.REFERENCE, Kind.ENUM, Kind.OTHER),
)

DISCRIMINANT = "discriminant"
"""Name of the member of a VARIANT that selects the others."""


class Member(NamedTuple):
    """A member of an aggregate. ``bit_size`` is 0 unless it is a bit field; ``bit_offset`` is relative to the
    aggregate."""

    name: str
    offset: int
    size: int
    bit_offset: int
    bit_size: int
    type: int
    base: bool = False


class Unread(Protocol):
    """The members of an aggregate before they are read: of most types only name and size are needed."""

    def members(self) -> tuple[Member, ...]:
        """See :class:`TypeRecord`."""

    def shape(self) -> int:
        """See :class:`TypeRecord`."""


@dataclass(slots=True)
class TypeRecord:
    """One type as described by its source. ``size`` is -1 if the source does not give it.

    ``target``: pointee, type below a typedef or qualifier, array element, return type. ``count``: array elements, -1 if
    unknown. ``members``: of aggregates; a size of -1 means that of the member's type. ``parameters``: (name, type) of a
    function. ``keyword`` precedes the name (``struct``), empty in languages without.
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
    """A C++ class that is passed by reference, whatever its size."""
    virtual_bases: tuple[tuple[int, int], ...] = ()
    """(vtable offset, type) of virtual bases, whose offset is in the vtable."""
    shape: int = 0
    """Hash of the members' names, offsets and names of types; 0 if unknown."""
    dynamic: bool = False
    """A C++ class that is only declared, and may have virtual functions."""
    holds: int = VOID
    """Type of the bytes that a byte pointer inside points to (Rust's `RawVec<T>`)."""
    unread: Unread | None = None
    """Reads members and shape on demand; None if the record has them."""


class Loader(Protocol):
    """Decodes the records of reserved type ids."""

    def load(self, key: int) -> "TypeRecord | None":
        """The record that was reserved under a key; None if the source has none."""


class LoaderOfMany(Loader, Protocol):
    """A loader that knows the kinds of its types without decoding them."""

    def keys(self, kinds: frozenset[Kind]) -> "list[int]":
        """The keys of the types of some kinds, ascending."""


class Field(NamedTuple):
    """The innermost member at an offset of a type.

    ``path`` has the names of the members down to it, such as ``src.port[].low``, empty for the whole type. ``type`` is
    the innermost type, which starts at ``begin`` of the outer one; ``offset`` is the rest within it. ``candidates`` are
    the paths of all members there if there are several: members of a union, bit fields of a storage unit.
    """

    path: str
    type: int
    offset: int
    begin: int
    size: int
    candidates: tuple[str, ...] = ()
    containers: tuple[tuple[int, int], ...] = ()
    """(type, offset in it) of each enclosing type, outermost first, and of the innermost itself."""
