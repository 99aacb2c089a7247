# cython: language_level=3, annotation_typing=False
"""Finds the members at an offset of a type, down to the innermost, with a score of how well each fits the access."""

import cython

from undwarf.column import zeros
from undwarf.types.layouts.type_records import AGGREGATES, DISCRIMINANT, VOID, Field, Kind, Member
from undwarf.types.layouts.type_store import TypeStore

# tuple.__new__ is faster than the named tuple's constructor; there are tens of thousands of fields.
_as_it_is = tuple.__new__

_FARTHEST = cython.declare(cython.longlong, 1 << 58)
"""Upper bound of offsets, and of members, arrays and sizes."""
_LOWEST = cython.declare(cython.longlong, -1 << 40)
"""Lower bound of member offsets, so that sums over all levels do not overflow."""
_WORDS = cython.declare(cython.Py_ssize_t, 4)
"""Columns of a member: offset, size, bit offset and bit size (0: no bit field)."""


@cython.final
@cython.cclass
class TypeShape:
    """One type prepared for the search.

    ``type``: below typedefs, except that an anonymous aggregate keeps its typedef; ``whole``: its size. Arrays:
    ``element``, ``stride`` and ``end`` (-1: no bounds). Aggregates: ``members``, and ``rows`` with their columns.
    """

    type = cython.declare(cython.Py_ssize_t)
    array = cython.declare(cython.bint)
    aggregate = cython.declare(cython.bint)
    variant = cython.declare(cython.bint)
    whole = cython.declare(cython.longlong)
    element = cython.declare(cython.Py_ssize_t)
    stride = cython.declare(cython.longlong)
    end = cython.declare(cython.longlong)
    members: tuple[Member, ...] = cython.declare(tuple)
    rows: "memoryview[int]" = cython.declare("long long[::1]")
    open_end = cython.declare(cython.bint)
    """The last member is an array without bounds, or an anonymous aggregate of these."""
    hollow = cython.declare(cython.bint)
    """Its size is 0 and it consists of arrays without bounds."""
    in_a_row = cython.declare(cython.bint)
    """Members are sorted, disjoint and no bit fields: at most one contains an offset, the last that starts at or before
    it."""

    @cython.locals(at=cython.Py_ssize_t, end=cython.longlong)
    def __init__(self, graph: TypeStore, t: int) -> None:
        whole, t = t, graph.strip(t)
        record = graph.record(t)
        self.type = t if record.name or record.kind not in AGGREGATES else whole
        self.array, self.aggregate = record.kind == Kind.ARRAY, record.kind in AGGREGATES
        self.variant = record.kind == Kind.VARIANT
        self.whole = _bounded(graph.size(t))
        self.members = ()
        self.element = VOID
        self.stride = self.end = 0
        self.open_end = self.hollow = self.in_a_row = False
        if self.array:
            stride, count = graph.stride(t), graph.element_count(t)
            self.element, self.stride = record.target, _bounded(stride)
            # Arrays without bounds, or with none at the end of a structure, are open-ended; others end at their bounds.
            self.end = _bounded(count * stride) if count > 0 else -1
        elif self.aggregate:
            self.members = graph.members(t)
            self.rows = zeros("q", _WORDS * len(self.members))
            at = 0
            end = _LOWEST
            self.in_a_row = True
            for member in self.members:
                self.rows[at], self.rows[at + 1] = _bounded(member.offset), _bounded(member.size)
                self.rows[at + 2], self.rows[at + 3] = _bounded(member.bit_offset), _bounded(member.bit_size)
                if self.rows[at] < end or self.rows[at + 1] < 0 or self.rows[at + 3]:
                    self.in_a_row = False
                end = self.rows[at] + self.rows[at + 1]
                at += _WORDS
            last = self.members[-1] if self.members else None
            self.open_end = last is not None and not last.size and graph.is_open(last.type)
            self.hollow = last is not None and not self.whole and graph.is_open(whole)
            self.in_a_row = self.in_a_row and not self.hollow

    @cython.cfunc
    @cython.returns(cython.Py_ssize_t)
    @cython.exceptval(check=False)
    @cython.locals(offset=cython.longlong, low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    def first_at(self, offset: int) -> int:
        """Index of the only member that may contain an offset (``in_a_row``); the number of members if
        there is none."""
        low = 0
        high = len(self.members)
        while low < high:
            middle = (low + high) >> 1
            if self.rows[_WORDS * middle] <= offset:
                low = middle + 1
            else:
                high = middle
        return low - 1 if low else len(self.members)


def _bounded(value: int) -> int:
    return max(_LOWEST, min(value, _FARTHEST))


@cython.final
@cython.cclass
class MemberSearch:
    """One query: the leaves of type ``t`` at ``offset``, for an access of ``width`` bytes (0: unknown).

    ``found`` are (score, field): 4 for a scalar of exactly this size, less if it only starts there, is accessed in
    part, or is exceeded; 0 for padding.
    """

    _graph: TypeStore = cython.declare(object)
    _shapes: dict[int, TypeShape] = cython.declare(dict)
    _steps = cython.declare(cython.longlong)
    _depth = cython.declare(cython.longlong)
    width = cython.declare(cython.longlong)
    found: list[tuple[int, Field]] = cython.declare(list, visibility="readonly")

    def __init__(self, graph: TypeStore, t: int, offset: int, width: int) -> None:
        self._graph = graph
        self._shapes = graph.shapes
        self._steps = graph.limits.type_steps
        self._depth = graph.limits.type_depth
        self.width = _bounded(width)
        self.found = []
        if offset < _FARTHEST:
            self._descend(t, offset, 0, "", (), 0)

    @cython.cfunc
    @cython.returns(TypeShape)
    def _shape(self, t: int) -> TypeShape:
        shape = cython.cast(TypeShape, self._shapes.get(t))
        if shape is None:
            shape = TypeShape(self._graph, t)
            if self._graph.settled:
                self._shapes[t] = shape
        return shape

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.returns(cython.bint)
    @cython.locals(
        offset=cython.longlong,
        begin=cython.longlong,
        path=str,
        containers=tuple,
        depth=cython.longlong,
        shape=TypeShape,
        index=cython.longlong,
        first=cython.longlong,
        width=cython.longlong,
        within=cython.longlong,
        bits=cython.longlong,
        k=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        begin_at=cython.Py_ssize_t,
        last=cython.Py_ssize_t,
        known=cython.Py_ssize_t,
        found=cython.bint,
        score=cython.int,
    )
    def _descend(
        self,
        t: int,
        offset: int,
        begin: int,
        path: str,
        containers: tuple[tuple[int, int], ...],
        depth: int,
    ) -> bool:
        """Add the leaves at an offset of a type; True if there are any."""
        self._steps -= 1
        if self._steps < 0 or depth > self._depth:
            self._graph.defects.add("types nested too deeply", self._graph.subject)
            return False
        shape = self._shape(t)
        here = (*containers, (shape.type, offset))
        if shape.array:
            if shape.stride <= 0 or (shape.end >= 0 and offset >= shape.end):
                return False
            index = offset // shape.stride * shape.stride
            return self._descend(shape.element, offset - index, begin + index, path + "[]", here, depth + 1)
        if shape.aggregate:
            found = False
            known = len(self.found)
            last = len(shape.members) - 1
            first = 8 * offset
            width = 8 * max(self.width, 1)
            begin_at = shape.first_at(offset) if shape.in_a_row else 0
            for k in range(begin_at, last + 1):
                at = k * _WORDS
                if shape.rows[at + 3]:
                    bits = shape.rows[at + 2]
                    if bits + shape.rows[at + 3] <= first or bits >= first + width:
                        continue
                    member = shape.members[k]
                    if first < bits // 8 * 8 and not _same_unit(shape.members, first, member):
                        continue
                    leaf = Field(_join(path, member), member.type, 0, begin + bits // 8, member.size, containers=here)
                    self.found.append((2, leaf))
                    found = True
                    continue
                within = offset - shape.rows[at]
                if within < 0:
                    if shape.in_a_row:
                        break
                    continue
                member = shape.members[k]
                if (
                    within >= shape.rows[at + 1]
                    and not (k == last and shape.open_end)
                    and not (shape.hollow and self._graph.is_open(member.type))
                ):
                    continue
                if self._descend(member.type, within, begin + shape.rows[at], _join(path, member), here, depth + 1):
                    found = True
            if shape.variant:
                self._prefer_values(known, shape.whole, _join(path, Member(DISCRIMINANT, 0, 0, 0, 0, VOID)))
            if found:
                return True
            # Padding, or an aggregate with unknown members.
            if shape.whole and offset >= shape.whole:
                return False
            self.found.append((0, _as_it_is(Field, (path, shape.type, offset, begin, shape.whole, (), here))))
            return True
        if shape.whole <= offset:
            return False
        score = 4 if self.width and shape.whole == self.width and not offset else 2 if not offset else 1
        if self.width and offset + self.width > shape.whole:
            score -= 1
        self.found.append((score, _as_it_is(Field, (path, shape.type, offset, begin, shape.whole, (), here))))
        return True

    def _prefer_values(self, known: int, whole: int, path: str) -> None:
        """Choose between the discriminant of a Rust enum and a variant's value that encodes it (niche).

        If the value is a pointer or all of the enum, a read wants the value, and the discriminant only in passing.
        Otherwise, as with the capacity of a vector, a read mostly wants the discriminant.
        """
        new = self.found[known:]
        values = [one for score, one in new if score >= 4 and one.path != path]
        if not values:
            return
        own = [pair for pair in new if pair[1].path == path]
        others = [pair for pair in new if pair[1].path != path]
        wanted = any(one.size == whole or self._graph.is_pointer(one.type) for one in values)
        self.found[known:] = others if wanted else own + others


def _same_unit(members: tuple[Member, ...], first: int, member: Member) -> bool:
    """Whether no plain member covers the first byte accessed before a bit field of the same storage unit."""
    return not any(
        not other.bit_size and 8 * other.offset <= first < 8 * (other.offset + max(other.size, 1)) for other in members
    )


def _join(path: str, member: Member) -> str:
    # Base classes and anonymous members do not appear in the path.
    if not member.name or member.base:
        return path
    return f"{path}.{member.name}" if path else member.name
