# cython: language_level=3, annotation_typing=False
"""Types as a graph: what lies where in them, what they are called, and which of them are one.

A type is an int: 0 is void (or unknown), others are given out by the :class:`TypeStore` below this. Sizes and offsets
are bytes unless the name says bits. Nothing here raises for what the input says: what cannot be is counted in
``defects`` and ends what is being looked at.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any
from zlib import crc32

import cython

from undwarf.defects import Defects
from undwarf.limits import DEFAULT, Limits
from undwarf.types.layouts.member_search import Search
from undwarf.types.layouts.type_records import (
    ADDRESSES,
    DISCRIMINANT,
    THROUGH,
    VOID,
    Field,
    Kind,
    Loader,
    Member,
    TypeRecord,
)
from undwarf.types.layouts.type_store import TypeStore

__all__ = ["DISCRIMINANT", "VOID", "Field", "Kind", "Loader", "Member", "TypeGraph", "TypeRecord"]

_FIELDS_KEPT = 50_000
"""Answers to where something lies in a type that are kept; the same are asked for at every turn of a loop."""
_SEARCHES_KEPT, _FEW_LEAVES = 4096, 64
"""Places in types of which is kept what lies there, if that is no more than so much."""

_SEVERAL = -1
_score_of = itemgetter(0)

_MOST_CHOICES = 32
"""Types that a pointer may lead to, of which its use has to tell one."""

_TYPEDEFS = frozenset((Kind.TYPEDEF,))
_WRAPPERS = (
    "core::mem::maybe_uninit::MaybeUninit<",
    "core::mem::manually_drop::ManuallyDrop<",
    "core::mem::maybe_dangling::MaybeDangling<",
)


# Kinds as numbers of C, as in `type_records.py`.
_VOID = cython.declare(cython.int, Kind.VOID)
_POINTER = cython.declare(cython.int, Kind.POINTER)
_REFERENCE = cython.declare(cython.int, Kind.REFERENCE)
_ARRAY = cython.declare(cython.int, Kind.ARRAY)
_TYPEDEF = cython.declare(cython.int, Kind.TYPEDEF)
_FUNCTION = cython.declare(cython.int, Kind.FUNCTION)
_STEPS = cython.declare(cython.int, 512)
"""Aggregates and arrays inside of a type that are looked at to find its arrays."""


@cython.final
@cython.cclass
class TypeGraph(TypeStore):
    """Types by number, and all that is asked of them. ``pointer_size`` serves where a source does not give a pointer's
    size."""

    def __init__(
        self, *, pointer_size: int = 8, limits: Limits = DEFAULT, defects: Defects | None = None, subject: str = ""
    ) -> None:
        super().__init__(pointer_size, limits, Defects() if defects is None else defects, subject)
        self._names: dict[int, str] = {}
        self._canonical: dict[int, int] = {}
        self._alone: dict[tuple[str, int], int] = {}
        """The type of a name and size, while there is only one; else _SEVERAL."""
        self._by_layout: dict[tuple[str, int, int], int] = {}
        self._by_shape: dict[tuple[str, int, int], int] = {}
        """Types by name, size and shape, by which most are told before their layouts are looked at."""
        self._shapes: dict[int, int] = {}
        self._layouts: dict[tuple[int, int], int] = {}
        """Layouts by shapes and sizes."""
        self._fields: dict[tuple[int, int, int], Field | None] = {}
        self._searched: dict[tuple[int, int, int], list[tuple[int, Field]]] = {}
        self._objects: dict[tuple[int, int, int], bool] = {}
        self._alignments: dict[int, int] = {}
        self._choices: dict[int, tuple[int, ...]] = {}
        self._choice_of: dict[tuple[int, ...], int] = {}
        self._arrays: dict[int, list[tuple[int, int, int]]] = {}
        self.passed: dict[tuple[int, Any, int], Any] = {}
        """Where parameters are (:mod:`undwarf.types.sources.parameter_registers`), by what is asked, their types, and
        the result's.
        """
        self._given: dict[int, str] | None = None
        """By type the first typedef that leads right to it."""

    def alignment(self, t: int) -> int:
        """Of what the address of an object is a multiple: its largest scalar's size, at most 8, if all lie evenly."""
        return self._aligned(t, self.limits.type_depth)

    def _aligned(self, t: int, depth: int) -> int:
        t = self.strip(t)
        known = self._alignments.get(t)
        if known is None:
            if depth <= 0:
                return 1
            # Each once: members may be of one type all of them, or of the one that they are in.
            self._alignments[t] = 1
            known = self._alignments[t] = self._alignment_of(t, depth)
        return known

    def _alignment_of(self, t: int, depth: int) -> int:
        size = self.size(t)
        if self.is_scalar(t):
            return min(size & -size, 8) or 1
        if not size:
            return 1
        if self.is_array(t):
            return self._aligned(self.target(t), depth - 1)
        most = 1
        for member in self.members(t):
            if not member.bit_size:
                inner = self._aligned(member.type, depth - 1)
                if member.offset % inner or size % inner:
                    # Packed.
                    return 1
                most = max(most, inner)
        return most

    def arrays(self, t: int) -> list[tuple[int, int, int]]:
        """(offset, stride, bytes) of the arrays in an aggregate, one level of aggregates deep after another."""
        found: list[tuple[int, int, int]] | None = self._arrays.get(t)
        if found is None:
            found = self._arrays[t] = []
            queue = [(t, 0)]
            steps = 0
            while queue and steps < _STEPS:
                steps += 1
                inner, begin = queue.pop()
                if self.is_array(inner):
                    stride = self.stride(inner)
                    if stride > 0:
                        found.append((begin, stride, self.size(inner) or 1 << 62))
                        queue.append((self.target(inner), begin))
                elif self.is_aggregate(inner):
                    queue.extend([(member.type, begin + member.offset) for member in self.members(inner)])
        return found

    def parameters(self, t: int) -> tuple[tuple[str, int], ...]:
        """(name, type) of a function's parameters; also of a pointer to one."""
        return self._function(t).parameters

    def returns(self, t: int) -> int:
        """What a function, or a pointer to one, returns; void for what is none."""
        record = self._function(t)
        return record.target if record.kind == Kind.FUNCTION else VOID

    def _function(self, t: int) -> TypeRecord:
        record = self.record(self.strip(t))
        if record.kind in ADDRESSES:
            record = self.record(self.strip(record.target))
        return record if record.kind == Kind.FUNCTION else TypeRecord(Kind.VOID)

    # Places within a type ----------------------------------------------------------------------------------

    def member_at(self, t: int, offset: int, size: int = 0) -> Field | None:
        """What an access of ``size`` bytes (0: unknown) at ``offset`` of a type touches; None outside of the type.

        Arrays take any element inside their bounds, an array without bounds (at the end of a structure) any element. Of
        several members at one place the one is taken whose leaf has the size of the access, then one that begins there.
        """
        if offset < 0:
            return None
        key = (t, offset, size)
        found = self._fields.get(key, _SEVERAL)
        if isinstance(found, int):
            if len(self._fields) >= _FIELDS_KEPT:
                self._fields.clear()
            found = self._fields[key] = self._find(t, offset, size)
        return found

    def bits_at(self, t: int, offset: int, size: int, bits: int) -> Field | None:
        """As :meth:`member_at`, for an access of some of its ``size`` bytes' ``bits`` only: of bit fields those that
        have any of them. None where none has."""
        leaves = self._leaves(t, offset, size) if offset >= 0 else []
        touched = [self._bits_in(one, bits) for _score, one in leaves]
        if not any(touched):
            return None
        return self._best([leaf for leaf, some in zip(leaves, touched, strict=True) if some is not False])

    def _bits_in(self, found: Field, bits: int) -> bool | None:
        """Whether a bit field has any of the bits of an access; None for what is none."""
        container, within = found.containers[-1]
        name = found.path.rpartition(".")[2]
        for member in self.members(container):
            if member.bit_size and member.name == name:
                first = member.bit_offset - 8 * within
                own = (1 << member.bit_size) - 1
                return bool(bits & (own << first if first >= 0 else own >> -first))
        return None

    def _find(self, t: int, offset: int, size: int) -> Field | None:
        return self._best(self._leaves(t, offset, size))

    def _best(self, leaves: list[tuple[int, Field]]) -> Field | None:
        """Of the leaves at a place the best, with the others as its candidates."""
        if not leaves:
            return None
        if len(leaves) == 1:
            alone: Field = leaves[0][1]
            return alone
        most, best = max(leaves, key=_score_of)
        # Where a member is, padding of another one and bases without bytes are nothing that could be meant.
        paths = tuple(dict.fromkeys(one.path for score, one in leaves if score or not most))
        several = paths if len(paths) > 1 else ()
        return Field(best.path, best.type, best.offset, best.begin, best.size, several, best.containers)

    @cython.cfunc
    @cython.returns(list)
    def _leaves(self, t: int, offset: int, size: int) -> list[tuple[int, Field]]:
        """The leaves at a place of a type, with their scores (:class:`undwarf.types.layouts.member_search.Search`):
        several things are asked of them, one after the other."""
        key = (t, offset, size)
        found: list[tuple[int, Field]] | None = self._searched.get(key)
        if found is None:
            found = Search(self, t, offset, size).found
            if self.settled and len(found) <= _FEW_LEAVES:
                if len(self._searched) >= _SEARCHES_KEPT:
                    self._searched.clear()
                self._searched[key] = found
        return found

    def value_at(self, t: int, offset: int, size: int) -> int:
        """The type of a value of ``size`` bytes read at ``offset`` of a type; void where that is not one whole scalar.

        Members of a union that are there with the same size must be of one type; a pointer goes before numbers, of
        which nothing is asked that leads anywhere.
        """
        if offset < 0 or size <= 0:
            return VOID
        leaves = self._leaves(t, offset, size)
        found = VOID
        for score, one in leaves:
            if score < 4 or not self.is_scalar(one.type):
                continue
            leaf = self._typed_bytes(one) or one.type
            if found and self.canonical(found) != self.canonical(leaf):
                if self.is_pointer(found) and self.is_pointer(leaf):
                    return VOID
                if self.is_pointer(found):
                    continue
            found = leaf
        return found

    def scalars_at(self, t: int, offset: int, size: int) -> list[int]:
        """The numbers and pointers of ``size`` bytes at ``offset`` of a type: of members of a union all of them."""
        leaves = self._leaves(t, offset, size)
        return [one.type for score, one in leaves if score >= 4 and self.is_scalar(one.type)]

    def is_mixed(self, t: int, offset: int, size: int) -> bool:
        """Whether members of a union are there with ``size`` bytes of which some are pointers and others numbers."""
        leaves = self._leaves(t, offset, size)
        kinds = {self.is_pointer(one.type) for score, one in leaves if score >= 4 and self.is_scalar(one.type)}
        return len(kinds) > 1

    def pointers_at(self, t: int, offset: int, size: int) -> int:
        """What a pointer read at ``offset`` of a type leads to, where that is one of several: a type that says so.

        Of the members of a union that are pointers; void where there are not at least two. One of these, where the
        others lead to anything, is that or anything. See :meth:`choices`.
        """
        if offset < 0 or size != self.pointer_size:
            return VOID
        leaves = self._leaves(t, offset, size)
        targets = [self.target(one.type) for score, one in leaves if score >= 4 and self.is_pointer(one.type)]
        found = self.one_of(targets, by_size=True)
        told = bool(found) and (self.is_aggregate(found) or self.size(found) == 1)
        if told and not self.choices(found) and len(targets) > 1:
            canonical = self.canonical(found)
            return self._or_anything(found) if any(self.canonical(one) != canonical for one in targets) else VOID
        return found if self.choices(found) else VOID

    def function_at(self, t: int, offset: int) -> int:
        """The type of the only function that pointers at ``offset`` of a type lead to; void for none and several."""
        if offset < 0:
            return VOID
        leaves = self._leaves(t, offset, self.pointer_size)
        targets = [self.target(one.type) for score, one in leaves if score >= 4 and self.is_pointer(one.type)]
        found = {self.canonical(one): one for one in targets if self.kind(self.strip(one)) == Kind.FUNCTION}
        return next(iter(found.values())) if len(found) == 1 else VOID

    def _or_anything(self, t: int) -> int:
        """A type that says that an object is of a type, if that is what is done with it."""
        found = self._choice_of.get((t,))
        if found is None:
            found = self._choice_of[(t,)] = self.add(TypeRecord(Kind.UNION, size=self.size(t)))
            if found:
                self._choices[found] = (t,)
        return found

    def one_of(self, types: Iterable[int], *, by_size: bool = False) -> int:
        """A type that says that an object is one of several; the type itself where there is only one, void where they
        are too many, or none of them has members and not all are bytes. ``by_size``: numbers that are all of other
        sizes are told apart as well."""
        told: dict[int, int] = {}
        for t in types:
            if t and (self.is_aggregate(t) or self.is_scalar(t)) and self.size(t):
                told.setdefault(self.canonical(t), t)
        several = tuple(told.values())
        if len(several) == 1:
            return several[0]
        told_apart = any(self.is_aggregate(one) for one in several) or all(self.size(one) == 1 for one in several)
        told_apart = told_apart or (by_size and len({self.size(one) for one in several}) == len(several))
        if not 2 <= len(several) <= _MOST_CHOICES or not told_apart:
            return VOID
        found = self._choice_of.get(several)
        if found is None:
            members = tuple(Member("", 0, self.size(one), 0, 0, one) for one in several)
            size = max(member.size for member in members)
            found = self._choice_of[several] = self.add(TypeRecord(Kind.UNION, size=size, members=members))
            if found:
                self._choices[found] = several
        return found

    def is_link(self, t: int) -> bool:
        """Whether a type is made to be a part of others: nothing but pointers to others of its kind."""
        members = self.members(t)
        canonical = self.canonical(t)
        return bool(members) and all(self.canonical(self.target(one.type)) == canonical for one in members)

    def of_kinds(self, kinds: frozenset[Kind]) -> list[int]:
        """The numbers of all types of some kinds that the program has, ascending: what only its use tells of is none,
        which would be there or not by what was asked before."""
        found = super().of_kinds(kinds)
        return [t for t in found if t not in self._choices] if self._choices else found

    def choices(self, t: int) -> tuple[int, ...]:
        """The types an object is one of, which its use tells; empty for a type that is one."""
        return self._choices.get(t, ())

    def chosen(self, t: int, offset: int, size: int) -> int:
        """The only one of its choices that has a member of ``size`` bytes at ``offset``; void for none or several, and
        where it may be anything."""
        if len(self._choices.get(t, ())) == 1:
            return VOID
        fitting = []
        # Of a number all of it is read, or several in a row; then a part of a member may be meant as well.
        numbers = [
            one
            for one in self._choices.get(t, ())
            if self.is_scalar(one) and size and not size % self.size(one) and not offset % self.size(one)
        ]
        for one in self._choices.get(t, ()):
            if self.is_scalar(one):
                continue
            found = self.member_at(one, offset, size) if offset >= 0 else None
            if found is None:
                continue
            begins = not found.offset and (not size or self.size(found.type) == size)
            if numbers or begins or self.reaches_next(one, found, offset, size):
                fitting.append(one)
        fitting += [one for one in numbers if self.size(one) == size]
        return fitting[0] if len(fitting) == 1 else VOID

    def reaches_next(self, t: int, found: Field, offset: int, size: int) -> bool:
        """Whether so many bytes are a number of an aggregate that begins at an offset and some of those between it and
        the next member, which are copied with it."""
        if found.offset or self.size(found.type) >= size:
            return False
        last = self.member_at(t, offset + size - 1, 1)
        return last is not None and self.is_aggregate(last.type)

    def _typed_bytes(self, found: Field) -> int:
        """The type of a pointer to bytes in something that says what these are; void for others."""
        if not self.is_pointer(found.type) or self.size(self.target(found.type)) != 1:
            return VOID
        for container, _offset in found.containers:
            holds = self.record(self.strip(container)).holds
            if holds:
                return self.pointer_to(holds)
        return VOID

    def object_at(self, t: int, offset: int, wanted: int) -> bool:
        """Whether an object of type ``wanted`` begins at ``offset`` of ``t``, be it in one of several variants."""
        if offset < 0:
            return False
        if not offset and 0 < self.size(t) < self.size(wanted):
            return False
        key = (t, offset, wanted)
        known = self._objects.get(key)
        if known is None:
            if len(self._objects) >= _FIELDS_KEPT:
                self._objects.clear()
            leaves = self._leaves(t, offset, 0)
            known = self._objects[key] = any(
                not left and self.same(container, wanted)
                for _score, one in leaves
                for container, left in one.containers
            )
        return known

    def only_object_of(self, t: int, offset: int, size: int) -> int:
        """The only aggregate of so many bytes that begins at an offset of a type; void for none and several."""
        leaves = self._leaves(t, offset, 0)
        found = {
            self.canonical(inner): inner
            for _score, one in leaves
            for inner, left in one.containers
            if not left and self.is_aggregate(inner) and self.size(inner) == size
        }
        return next(iter(found.values())) if len(found) == 1 else VOID

    def unwrapped(self, t: int) -> int:
        """The aggregate or array that one of Rust's wrappers holds which say that it may not be there yet, or is not
        dropped; the type itself where it is no such wrapper, or holds a scalar."""
        inner = t
        for _depth in range(16):
            name = self.record(self.strip(inner)).name
            if not name.startswith(_WRAPPERS):
                return inner if self.is_aggregate(inner) or self.is_array(inner) else t
            size = self.size(inner)
            held = [one for one in self.members(inner) if not one.offset and size > 0 and self.size(one.type) == size]
            if len(held) != 1:
                break
            inner = held[0].type
        return t

    # Names -------------------------------------------------------------------------------------------------

    def canonical_name(self, t: int) -> str:
        """The one name a type goes by, typedefs and qualifiers left out: ``struct node``, ``struct node*``, ``int[]``.

        A type without a name of its own goes by the typedef it was reached through.
        """
        found = self._names.get(t)
        if found is None:
            found = self._names[t] = self._spell(t, 0)
        return found

    @cython.locals(kind=cython.int)
    def _spell(self, t: int, depth: int) -> str:
        if depth > self.limits.type_depth:
            return "?"
        given = ""
        for _hop in range(self.limits.type_depth):
            record = self.record(t)
            if record.kind not in THROUGH:
                break
            if record.kind == _TYPEDEF:
                # The innermost typedef names what has no name itself.
                given = record.name or given
            t = record.target
        else:
            return given or "?"
        kind = record.kind
        if kind == _POINTER:
            return self._spell(record.target, depth + 1) + "*"
        if kind == _REFERENCE:
            return self._spell(record.target, depth + 1) + (record.name or "&")
        if kind == _ARRAY:
            return self._spell(record.target, depth + 1) + "[]"
        if kind == _FUNCTION:
            return "(function)"
        if kind == _VOID:
            return record.name or "void"
        name = record.name
        if not name:
            given = given or self._given_name(t)
            return given or (f"{record.keyword} (anonymous)" if record.keyword else "(anonymous)")
        return f"{record.keyword} {name}" if record.keyword else name

    def _given_name(self, t: int) -> str:
        """The first typedef of a type without a name, where all types are known: what is reached otherwise than through
        that, as what a member lies in, is the same type."""
        if self._given is None:
            self._given = {}
            for one in self.of_kinds(_TYPEDEFS) if self.complete else ():
                record = self.record(one)
                self._given.setdefault(record.target, record.name)
        found: str = self._given.get(t, "")
        return found

    def layout(self, t: int) -> int:
        """32 bits for what a type looks like, members and their types by name: equal for equal layouts, in all runs."""
        t = self.strip(t)
        record = self.record(t)
        # Headers' types are in unit after unit: looking at all of their members again would load these. Any are asked
        # for at each access.
        shape = self._shape(t)
        key = (shape, self.size(t)) if shape else (0, t)
        known = self._layouts.get(key)
        if known is not None:
            return known
        looks = (
            self.size(t),
            [
                (member.name, member.offset, member.bit_offset, member.bit_size, self.canonical_name(member.type))
                for member in self.members(t)
            ],
            record.count,
            self.canonical_name(record.target) if record.target else "",
        )
        found = crc32(repr(looks).encode("utf-8", "backslashreplace"))
        if not self._loading:
            self._layouts[key] = found
        return found

    def _shape(self, t: int) -> int:
        """Equal for aggregates that look alike, members and names of their types; 0 where that is not known."""
        stripped = self.strip(t)
        found = self._shapes.get(stripped)
        if found is None:
            record = self.record(stripped)
            found = record.shape if record.unread is None else record.unread.shape()
            if not self._loading:
                self._shapes[stripped] = found
        return found

    def canonical(self, t: int) -> int:
        """The first type found of this name and layout, for all of them."""
        found = self._canonical.get(t)
        if found is None:
            stripped = self.strip(t)
            name, size = self.canonical_name(t), self.size(t)
            alone = self._alone.setdefault((name, size), stripped)
            if alone == stripped:
                # As long as no other has its name, nobody need know what it looks like.
                self._canonical[t] = found = stripped
                return found
            shape = self._shape(stripped)
            if alone != _SEVERAL:
                if shape and shape == self._shape(alone):
                    # Those of headers.
                    self._canonical[t] = alone
                    return alone
                self._alone[name, size] = _SEVERAL
                self._by_layout[name, size, self.layout(alone)] = alone
            found = self._by_shape.get((name, size, shape)) if shape else None
            if found is None:
                found = self._by_layout.setdefault((name, size, self.layout(t)), stripped)
                if shape:
                    self._by_shape[name, size, shape] = found
            self._canonical[t] = found
        return found

    def same(self, t: int, other: int) -> bool:
        """Whether two types have one name and layout. What they look like need not be known where names differ."""
        if t == other:
            return True
        if self.canonical_name(t) != self.canonical_name(other) or self.size(t) != self.size(other):
            return False
        return self.canonical(t) == self.canonical(other)
