# cython: language_level=3, annotation_typing=False
"""Type records by id, decoded at first use: kinds, sizes, members, arrays, independent of the debugging format.

A type is an int id: 0 is void (or unknown), others come from :class:`TypeStore`, and a loader decodes the record when
it is first needed. Typedefs and qualifiers are records of their own, which :meth:`TypeStore.strip` skips. Sizes and
offsets are bytes unless the name says bits. Bad input raises nothing: cycles, impossible arrays and dangling references
are counted in ``defects`` and end the query.
"""

from collections.abc import Iterator
from typing import Any

import cython

from undwarf.column import longer, zeros
from undwarf.defects import Defects
from undwarf.limits import Limits
from undwarf.types.layouts.type_records import (
    ADDRESSES,
    AGGREGATES,
    SCALARS,
    THROUGH,
    VOID,
    Kind,
    Loader,
    LoaderOfMany,
    Member,
    TypeRecord,
)

# tuple.__new__ is faster than the named tuple's constructor; there are tens of thousands of members.
_as_it_is = tuple.__new__

# Kinds of `type_records.py` as C integers.
_OTHER = Kind.OTHER
_POINTER = cython.declare(cython.int, Kind.POINTER)
_REFERENCE = cython.declare(cython.int, Kind.REFERENCE)
_ARRAY = cython.declare(cython.int, Kind.ARRAY)
_AGGREGATE = cython.declare(cython.ulonglong, sum([1 << int(kind) for kind in AGGREGATES]))
_SCALAR = cython.declare(cython.ulonglong, sum([1 << int(kind) for kind in SCALARS]))

_NAMELESS = 4
"""Limit of nested anonymous aggregates around an array without bounds."""


@cython.cclass
class TypeStore:
    """Types by id. ``pointer_size`` is used where a source does not give a pointer's size."""

    def __init__(self, pointer_size: int, limits: Limits, defects: Defects, subject: str) -> None:
        self.pointer_size = pointer_size
        self.limits = limits
        self.defects = defects
        self.subject = subject
        self._records: list[TypeRecord | None] = [TypeRecord(Kind.VOID, "void", 0)]
        self._pending: dict[int, tuple[Loader, int]] = {}
        self._ranges: list[tuple[int, int, LoaderOfMany]] = []
        self._members: dict[int, tuple[Member, ...]] = {}
        self.shapes: dict[int, Any] = {}
        """Cache of `member_search.py`."""
        self._room = 256
        self._facts = zeros("i", 2 * self._room)
        self._sizes = zeros("q", self._room)
        self._loading = 0
        self._pointers: dict[int, int] = {}
        self._made_arrays: dict[tuple[int, int], int] = {}
        self._numbers: dict[tuple[Kind, str, int], int] = {}
        self._open: dict[tuple[int, int], bool] = {}

    @property
    def settled(self) -> bool:
        """Whether no record is being decoded; those that are look unknown, so results must not be cached."""
        return not self._loading

    @property
    def complete(self) -> bool:
        """Whether all types of the program are known (BTF), not only those requested so far (DWARF)."""
        return bool(self._ranges)

    def __len__(self) -> int:
        return len(self._records)

    def loaded(self) -> Iterator[int]:
        """Ids of the types decoded so far."""
        return (number for number, record in enumerate(self._records) if record is not None)

    # Filling -----------------------------------------------------------------------------------------------

    def add(self, record: TypeRecord) -> int:
        """Add a type and return its id; void past the limit."""
        if len(self._records) >= self.limits.types:
            self.defects.add("too many types", self.subject)
            return VOID
        self._records.append(record)
        return len(self._records) - 1

    def number(self, kind: Kind, name: str, size: int) -> int:
        """The id of a scalar type without a description, such as those of C; created once."""
        found = self._numbers.get((kind, name, size))
        if found is None:
            found = self._numbers[kind, name, size] = self.add(TypeRecord(kind, name, size))
        return found

    def reserve(self, loader: Loader, key: int) -> int:
        """An id for a type whose record ``loader`` decodes at first use."""
        if len(self._records) >= self.limits.types:
            self.defects.add("too many types", self.subject)
            return VOID
        self._records.append(None)
        number = len(self._records) - 1
        self._pending[number] = (loader, key)
        return number

    def reserve_many(self, loader: LoaderOfMany, count: int) -> int:
        """Consecutive ids for the keys 0 to ``count`` - 1 of a loader; returns the first."""
        count = max(0, min(count, self.limits.types - len(self._records)))
        first = len(self._records)
        self._records.extend([None] * count)
        self._ranges.append((first, first + count, loader))
        return first

    def of_kinds(self, kinds: frozenset[Kind]) -> list[int]:
        """Ids of all types of some kinds, ascending; decodes no others of those reserved together."""
        found: list[int] = []
        at = 1
        for first, end, loader in self._ranges:
            found += [t for t in range(at, first) if self.kind(t) in kinds]
            found += [first + key for key in loader.keys(kinds) if first + key < end]
            at = end
        return found + [t for t in range(at, len(self)) if self.kind(t) in kinds]

    def record(self, t: int) -> TypeRecord:
        """The record of a type; that of void for an unknown id."""
        found: Any = self._records[t if 0 <= t < len(self._records) else 0]
        return found if found is not None else self._load(t)

    def _load(self, t: int) -> TypeRecord:
        # Ends the recursion if the loader needs this type while it decodes it.
        self._records[t] = TypeRecord(_OTHER)
        loader, key = self._source(t)
        self._loading += 1
        try:
            found = loader.load(key) if loader is not None else None
        finally:
            self._loading -= 1
        if found is None:
            self.defects.add("type without a description", self.subject)
            found = TypeRecord(Kind.OTHER)
        self._records[t] = found
        return found

    @cython.locals(room=cython.Py_ssize_t)
    def _grow(self) -> int:
        """Enlarge the caches of facts about types."""
        room = max(2 * self._room, len(self._records))
        self._facts = longer(self._facts, 2 * self._room, 2 * room)
        self._sizes = longer(self._sizes, self._room, room)
        self._room = room
        return 0

    def _source(self, t: int) -> "tuple[Loader | None, int]":
        pending = self._pending.pop(t, None)
        if pending is not None:
            return pending
        for first, end, loader in self._ranges:
            if first <= t < end:
                return loader, t - first
        return None, 0

    def pointer_to(self, t: int) -> int:
        """The type of a pointer to ``t``, created on demand."""
        found = self._pointers.get(t)
        if found is None:
            found = self._pointers[t] = self.add(TypeRecord(Kind.POINTER, size=self.pointer_size, target=t))
        return found

    def array_of(self, t: int, count: int) -> int:
        """The type of an array of ``t``, created on demand."""
        found = self._made_arrays.get((t, count))
        if found is None:
            found = self._made_arrays[t, count] = self.add(TypeRecord(Kind.ARRAY, target=t, count=count))
        return found

    # Queries -----------------------------------------------------------------------------------------------

    def strip(self, t: int) -> int:
        """The type below typedefs and qualifiers; void if they form a cycle."""
        if 0 <= t < self._room and self._facts[2 * t]:
            return self._facts[2 * t] - 1
        return self._strip(t)

    @cython.locals(first=cython.Py_ssize_t)
    def _strip(self, t: int) -> int:
        first = t
        for _hop in range(self.limits.type_depth):
            record = self.record(t)
            if record.kind not in THROUGH:
                if not self._loading and 0 <= first < len(self._records):
                    # Types being decoded look unknown, so do not cache them.
                    if first >= self._room:
                        self._grow()
                    self._facts[2 * first] = t + 1
                    self._facts[2 * first + 1] = record.kind + 1
                return t
            t = record.target
        self.defects.add("circular typedef", self.subject)
        return VOID

    def _kind(self, t: int) -> int:
        """Kind of a type below typedefs and qualifiers."""
        if 0 <= t < self._room and self._facts[2 * t + 1]:
            return self._facts[2 * t + 1] - 1
        return int(self.record(self.strip(t)).kind)

    def kind(self, t: int) -> Kind:
        """Kind of a type as declared; use :meth:`strip` first to see through typedefs."""
        return self.record(t).kind

    def name(self, t: int) -> str:
        """Declared name without ``struct``; empty if anonymous."""
        return self.record(t).name

    def target(self, t: int) -> int:
        """Pointee, array element or return type; void for others."""
        return self.record(self.strip(t)).target

    @cython.locals(kind=cython.int)
    def is_pointer(self, t: int) -> bool:
        """Whether the type is a pointer or a reference."""
        kind = self._kind(t)
        return kind in (_POINTER, _REFERENCE)

    def is_aggregate(self, t: int) -> bool:
        """Whether the type has members."""
        return bool(_AGGREGATE >> self._kind(t) & 1)

    def is_scalar(self, t: int) -> bool:
        """Whether the type is a scalar, held in one register."""
        return bool(_SCALAR >> self._kind(t) & 1)

    def is_void_pointer(self, t: int) -> bool:
        """Whether the type is a pointer to void."""
        return self.is_pointer(t) and self.record(self.strip(self.target(t))).kind == Kind.VOID

    def is_open(self, t: int, depth: int = 0) -> bool:
        """Whether a type of size 0 is an array without bounds, or an anonymous aggregate of these, as the kernel's
        DECLARE_FLEX_ARRAY creates."""
        if self.size(t):
            return False
        if self.is_array(t):
            return True
        record = self.record(self.strip(t))
        if record.kind not in AGGREGATES or record.name or depth >= _NAMELESS:
            return False
        # Each type once: members may repeat at each level.
        found = self._open.get((t, depth))
        if found is None:
            found = any(self.is_open(one.type, depth + 1) for one in self.members(t))
            if not self._loading:
                self._open[t, depth] = found
        return found

    def is_array(self, t: int) -> bool:
        """Whether the type is an array."""
        return self._kind(t) == _ARRAY

    @cython.locals(known=cython.longlong)
    def size(self, t: int) -> int:
        """Size in bytes; 0 if unknown (void, functions, declarations, arrays without bounds)."""
        if 0 <= t < self._room and self._sizes[t]:
            return self._sizes[t] - 1
        known = self._size_of(t)
        if not self._loading and 0 <= t < len(self._records):
            if t >= self._room:
                self._grow()
            self._sizes[t] = known + 1
        return known

    def _size_of(self, t: int) -> int:
        total = 1
        for _hop in range(self.limits.type_depth):
            t = self.strip(t)
            record = self.record(t)
            if record.kind in ADDRESSES:
                size = record.size if record.size > 0 else self.pointer_size
                break
            if record.kind != _ARRAY or record.size >= 0:
                size = record.size
                if size < 0:
                    return 0
                break
            if record.count < 0:
                return 0
            total *= record.count
            t = record.target
        else:
            self.defects.add("circular array type", self.subject)
            return 0
        total *= size
        if total > self.limits.type_bytes:
            self.defects.add("type larger than memory", self.subject)
            return 0
        return total

    def stride(self, t: int) -> int:
        """Size of an array's element in bytes; 0 if unknown."""
        return self.size(self.target(t)) if self._kind(t) == _ARRAY else 0

    def dimensions(self, t: int) -> list[int]:
        """An array and the arrays that are its elements, outermost first, up to the depth limit (damaged files may have
        cycles). Empty for other types."""
        found: list[int] = []
        while self._kind(t) == _ARRAY and len(found) < self.limits.type_depth:
            found.append(t)
            t = self.record(self.strip(t)).target
        return found

    def element_count(self, t: int) -> int:
        """Elements of an array; -1 if unknown (flexible array, computed bound) or no array."""
        record = self.record(self.strip(t))
        if record.kind != _ARRAY:
            return -1
        if record.count < 0 and record.size > 0:
            stride = self.size(record.target)
            return record.size // stride if stride else -1
        return record.count

    def members(self, t: int) -> tuple[Member, ...]:
        """Members as declared, base classes as one each (``base``), with sizes and bit offsets filled in."""
        t = self.strip(t)
        found = self._members.get(t)
        if found is None:
            found = ()
            if self.is_aggregate(t):
                record = self.record(t)
                found = tuple(
                    [
                        member
                        if member[2] >= 0
                        else _as_it_is(Member, (*member[:2], self.size(member[5]), *member[3:]))
                        for member in (record.members if record.unread is None else record.unread.members())
                    ]
                )
            self._members[t] = found
        return found
