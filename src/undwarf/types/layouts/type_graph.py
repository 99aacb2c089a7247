# cython: language_level=3, annotation_typing=False
"""The type graph: names, canonical types, and members by offset, for types from DWARF, BTF or inference alike.

A type is an int id: 0 is void (or unknown), others come from :class:`TypeStore`. Sizes and offsets are bytes unless the
name says bits. Bad input raises nothing: it is counted in ``defects`` and ends the query.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any
from zlib import crc32

import cython

from undwarf.defects import Defects
from undwarf.limits import DEFAULT, Limits
from undwarf.types.layouts.member_search import MemberSearch
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
"""Limit of cached results of :meth:`TypeGraph.member_at`; loops repeat the same queries."""
_SEARCHES_KEPT, _FEW_LEAVES = 4096, 64
"""Limit of cached searches, and of leaves in one of them."""

_SEVERAL = -1
_score_of = itemgetter(0)

_MOST_CHOICES = 32
"""Limit of alternative pointees (:meth:`TypeGraph.one_of`)."""

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
"""Limit of nested types that :meth:`TypeGraph.arrays` visits."""


@cython.final
@cython.cclass
class TypeGraph(TypeStore):
    """Types by id and the queries on them. ``pointer_size`` is used where a source does not give a pointer's size."""

    def __init__(
        self, *, pointer_size: int = 8, limits: Limits = DEFAULT, defects: Defects | None = None, subject: str = ""
    ) -> None:
        super().__init__(pointer_size, limits, Defects() if defects is None else defects, subject)
        self._names: dict[int, str] = {}
        self._canonical: dict[int, int] = {}
        self._alone: dict[tuple[str, int], int] = {}
        """{(name, size): type} while there is only one, else _SEVERAL."""
        self._by_layout: dict[tuple[str, int, int], int] = {}
        self._by_shape: dict[tuple[str, int, int], int] = {}
        """{(name, size, shape): type}: decides most comparisons without reading layouts."""
        self._shapes: dict[int, int] = {}
        self._layouts: dict[tuple[int, int], int] = {}
        """{(shape, size): layout}."""
        self._fields: dict[tuple[int, int, int], Field | None] = {}
        self._searched: dict[tuple[int, int, int], list[tuple[int, Field]]] = {}
        self._objects: dict[tuple[int, int, int], bool] = {}
        self._alignments: dict[int, int] = {}
        self._choices: dict[int, tuple[int, ...]] = {}
        self._choice_of: dict[tuple[int, ...], int] = {}
        self._arrays: dict[int, list[tuple[int, int, int]]] = {}
        self.passed: dict[tuple[int, Any, int], Any] = {}
        """Cache of :mod:`undwarf.types.sources.parameter_registers`: {(query, parameter types, return
        type): result}."""
        self._given: dict[int, str] | None = None
        """{type: first typedef that directly names it}."""

    def alignment(self, t: int) -> int:
        """Alignment in bytes: the largest scalar's size, at most 8, if all members are aligned; 1 for packed types."""
        return self._aligned(t, self.limits.type_depth)

    def _aligned(self, t: int, depth: int) -> int:
        t = self.strip(t)
        known = self._alignments.get(t)
        if known is None:
            if depth <= 0:
                return 1
            # Each type once: members may repeat or be recursive.
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
        """(offset, stride, size in bytes) of the arrays in an aggregate, breadth first."""
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
        """(name, type) of the parameters of a function or of a pointer to one."""
        return self._function(t).parameters

    def returns(self, t: int) -> int:
        """The return type of a function or of a pointer to one; void for others."""
        record = self._function(t)
        return record.target if record.kind == Kind.FUNCTION else VOID

    def _function(self, t: int) -> TypeRecord:
        record = self.record(self.strip(t))
        if record.kind in ADDRESSES:
            record = self.record(self.strip(record.target))
        return record if record.kind == Kind.FUNCTION else TypeRecord(Kind.VOID)

    # Places within a type ----------------------------------------------------------------------------------

    def member_at(self, t: int, offset: int, size: int = 0) -> Field | None:
        """The field that an access of ``size`` bytes (0: unknown) at ``offset`` of a type is of; None outside of the
        type.

        Arrays take any index inside their bounds, arrays without bounds any index. Of overlapping members the leaf with
        the size of the access is preferred, then one that starts there.
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
        """As :meth:`member_at`, for an access of which only some ``bits`` are used: only bit fields with any of them.
        None if no leaf is."""
        leaves = self._leaves(t, offset, size) if offset >= 0 else []
        touched = [self._bits_in(one, bits) for _score, one in leaves]
        if not any(touched):
            return None
        return self._best([leaf for leaf, some in zip(leaves, touched, strict=True) if some is not False])

    def _bits_in(self, found: Field, bits: int) -> bool | None:
        """Whether a bit field has any of the bits of an access; None if it is no bit field."""
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
        """The leaf with the best score, with the others as its candidates."""
        if not leaves:
            return None
        if len(leaves) == 1:
            alone: Field = leaves[0][1]
            return alone
        most, best = max(leaves, key=_score_of)
        # Padding and empty bases are no candidates beside a member.
        paths = tuple(dict.fromkeys(one.path for score, one in leaves if score or not most))
        several = paths if len(paths) > 1 else ()
        return Field(best.path, best.type, best.offset, best.begin, best.size, several, best.containers)

    @cython.cfunc
    @cython.returns(list)
    def _leaves(self, t: int, offset: int, size: int) -> list[tuple[int, Field]]:
        """(score, field) of the leaves at an offset (:class:`~undwarf.types.layouts.member_search.MemberSearch`);
        cached."""
        key = (t, offset, size)
        found: list[tuple[int, Field]] | None = self._searched.get(key)
        if found is None:
            found = MemberSearch(self, t, offset, size).found
            if self.settled and len(found) <= _FEW_LEAVES:
                if len(self._searched) >= _SEARCHES_KEPT:
                    self._searched.clear()
                self._searched[key] = found
        return found

    def value_at(self, t: int, offset: int, size: int) -> int:
        """The type of a value of ``size`` bytes loaded from ``offset`` of a type; void if that is not one whole scalar.

        Union members of this size must agree. A pointer is preferred to integers: only its type matters further on.
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
        """All scalars of ``size`` bytes at ``offset`` of a type; several for members of a union."""
        leaves = self._leaves(t, offset, size)
        return [one.type for score, one in leaves if score >= 4 and self.is_scalar(one.type)]

    def is_mixed(self, t: int, offset: int, size: int) -> bool:
        """Whether members of a union with ``size`` bytes are there, some of them pointers and others not."""
        leaves = self._leaves(t, offset, size)
        kinds = {self.is_pointer(one.type) for score, one in leaves if score >= 4 and self.is_scalar(one.type)}
        return len(kinds) > 1

    def pointers_at(self, t: int, offset: int, size: int) -> int:
        """The alternative pointees of a pointer at ``offset`` of a type, as a choice type (:meth:`choices`); void if
        not ambiguous.

        For members of a union that are pointers, at least two. If one points to a described type and the others to
        void, the result is that type or anything.
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
        """The only function type that pointers at ``offset`` of a type point to; void if there is none or several."""
        if offset < 0:
            return VOID
        leaves = self._leaves(t, offset, self.pointer_size)
        targets = [self.target(one.type) for score, one in leaves if score >= 4 and self.is_pointer(one.type)]
        found = {self.canonical(one): one for one in targets if self.kind(self.strip(one)) == Kind.FUNCTION}
        return next(iter(found.values())) if len(found) == 1 else VOID

    def _or_anything(self, t: int) -> int:
        """A choice type of one alternative: the type, if the accesses fit it."""
        found = self._choice_of.get((t,))
        if found is None:
            found = self._choice_of[(t,)] = self.add(TypeRecord(Kind.UNION, size=self.size(t)))
            if found:
                self._choices[found] = (t,)
        return found

    def one_of(self, types: Iterable[int], *, by_size: bool = False) -> int:
        """A choice type for an object of one of several types, decided by its use. The type itself if there is one;
        void if there are too many, or if their use cannot decide: none is an aggregate and not all are bytes.
        ``by_size``: scalars of different sizes can be decided, too."""
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
        """Whether a type consists of pointers to itself only, as list heads do: it is made to be embedded."""
        members = self.members(t)
        canonical = self.canonical(t)
        return bool(members) and all(self.canonical(self.target(one.type)) == canonical for one in members)

    def of_kinds(self, kinds: frozenset[Kind]) -> list[int]:
        """Ids of all the program's types of some kinds, ascending; without choice types, which depend on earlier
        queries."""
        found = super().of_kinds(kinds)
        return [t for t in found if t not in self._choices] if self._choices else found

    def choices(self, t: int) -> tuple[int, ...]:
        """The alternatives of a choice type (:meth:`one_of`); empty for other types."""
        return self._choices.get(t, ())

    def chosen(self, t: int, offset: int, size: int) -> int:
        """The only alternative with a member of ``size`` bytes at ``offset``; void if none or several have, or if it
        may be anything."""
        if len(self._choices.get(t, ())) == 1:
            return VOID
        fitting = []
        # Scalars are read whole, or several at once; then an aggregate's member may be read in part, too.
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
        """Whether an access covers a scalar member and padding up to the next one, which are copied together."""
        if found.offset or self.size(found.type) >= size:
            return False
        last = self.member_at(t, offset + size - 1, 1)
        return last is not None and self.is_aggregate(last.type)

    def _typed_bytes(self, found: Field) -> int:
        """The type of a byte pointer in an aggregate that declares the bytes' type (`RawVec<T>`); void for others."""
        if not self.is_pointer(found.type) or self.size(self.target(found.type)) != 1:
            return VOID
        for container, _offset in found.containers:
            holds = self.record(self.strip(container)).holds
            if holds:
                return self.pointer_to(holds)
        return VOID

    def object_at(self, t: int, offset: int, wanted: int) -> bool:
        """Whether an object of type ``wanted`` starts at ``offset`` of ``t``, in any variant."""
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
        """The only aggregate of ``size`` bytes that starts at an offset of a type; void if there is none or several."""
        leaves = self._leaves(t, offset, 0)
        found = {
            self.canonical(inner): inner
            for _score, one in leaves
            for inner, left in one.containers
            if not left and self.is_aggregate(inner) and self.size(inner) == size
        }
        return next(iter(found.values())) if len(found) == 1 else VOID

    def unwrapped(self, t: int) -> int:
        """The aggregate or array inside of Rust's `MaybeUninit`, `ManuallyDrop` and the like; else the type itself."""
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
        """The name of a type without typedefs and qualifiers: ``struct node``, ``struct node*``, ``int[]``. An
        anonymous type has the name of the typedef it was reached through."""
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
                # The innermost typedef names an anonymous type.
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
        """The first typedef of an anonymous type, if all types are known, so that it has one name however it was
        reached."""
        if self._given is None:
            self._given = {}
            for one in self.of_kinds(_TYPEDEFS) if self.complete else ():
                record = self.record(one)
                self._given.setdefault(record.target, record.name)
        found: str = self._given.get(t, "")
        return found

    def layout(self, t: int) -> int:
        """A 32-bit hash of size, members and their types' names, stable across runs."""
        t = self.strip(t)
        record = self.record(t)
        # Types of headers repeat in each unit: comparing shapes avoids loading their members again and again.
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
        """A hash that is equal for aggregates with equal members and names of their types; 0 if unknown."""
        stripped = self.strip(t)
        found = self._shapes.get(stripped)
        if found is None:
            record = self.record(stripped)
            found = record.shape if record.unread is None else record.unread.shape()
            if not self._loading:
                self._shapes[stripped] = found
        return found

    def canonical(self, t: int) -> int:
        """The id of the first type with this name and layout, the same for all equal types."""
        found = self._canonical.get(t)
        if found is None:
            stripped = self.strip(t)
            name, size = self.canonical_name(t), self.size(t)
            alone = self._alone.setdefault((name, size), stripped)
            if alone == stripped:
                # The layout is not needed while the name is unique.
                self._canonical[t] = found = stripped
                return found
            shape = self._shape(stripped)
            if alone != _SEVERAL:
                if shape and shape == self._shape(alone):
                    # The same type of a header, in another unit.
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
        """Whether two types have one name and layout. Layouts are only read if the names are equal."""
        if t == other:
            return True
        if self.canonical_name(t) != self.canonical_name(other) or self.size(t) != self.size(other):
            return False
        return self.canonical(t) == self.canonical(other)
