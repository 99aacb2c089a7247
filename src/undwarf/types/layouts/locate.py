# cython: language_level=3, annotation_typing=False
"""What an access touches, given a type, an offset and by which steps the offset may be off.

An exact offset must lie inside the type. A step is explained by an array: of the type itself, where it is a multiple of
the type's size, or by one inside that holds the offset and whose stride divides it. What is explained by nothing stays
unknown: a negative offset is most often a pointer to a member, and the whole around it is not known.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from undwarf.light_classes import NamedTuple
from undwarf.types.layouts.model import VOID, Field, Kind, TypeGraph

__all__ = [
    "INCOMPLETE",
    "Embedders",
    "Located",
    "array_at",
    "before_array",
    "covered",
    "holds_array",
    "in_array_behind",
    "in_words",
    "is_member",
    "locate",
    "same_array",
    "stands_alone",
    "value_of",
    "whole_around",
]

INCOMPLETE = "incomplete type"
"""Why it is not known what is touched behind a pointer to what is only declared."""
_AGGREGATES = (Kind.STRUCT, Kind.UNION, Kind.CLASS, Kind.VARIANT)
_CANDIDATES = 16
_TURNS = 4
"""Turns of a loop that compilers make one of."""
_APART = 64
"""Bytes at most between two members of which a condition chooses one."""
_WORDS, _CHARACTERS = 8, 64
"""Words of characters (a power of two), and characters, that a loop goes through in one turn at most."""
_MANY = 64
"""Aggregates that have a type as a part, above which not all of them are looked at."""


class Located(NamedTuple):
    """An access that was explained: the type, the offset of its first byte, and what lies there.

    `how` is "" for an offset inside the type, "array" for one of its neighbours, "container" for what it is a part of.
    """

    type: int
    offset: int
    field: Field
    how: str = ""


class Parts(Protocol):
    """What lies in the aggregates of a unit, told without making records of them all."""

    def wholes(self, t: int, *, bases_only: bool) -> list[tuple[int, int]] | None:
        """(aggregate, offset of the member in it) of what has a type as a part; None where that is not known."""

    def plain_name(self, t: int) -> str:
        """The name of an aggregate, or the one a typedef gives it, without what it is declared in; empty for none."""


class Embedders:
    """Which aggregates have a member of a type, by value and not in an array; made when it is first asked for.

    `types` gives all types that are to be looked at, or None where they are too many. `wanted` are those that go before
    others: what the function's own variables are of. `bases_only`: a pointer to a part becomes one to the whole only
    from a base class to what is derived from it, as in C++; `wanted_only`: only to what its variables are of. `lonely`:
    behind an object that is a part of nothing may be anything, as behind the headers of a kernel's messages.
    """

    def __init__(
        self,
        graph: TypeGraph,
        types: Callable[[], Iterable[int] | None] | None,
        *,
        bases_only: bool = False,
        wanted_only: bool = False,
        lonely: bool = False,
        parts: Parts | None = None,
    ) -> None:
        self._graph = graph
        self._parts = parts
        self._bases_only = bases_only
        self._wanted_only = wanted_only
        self.lonely = lonely
        self._types = types
        self._direct: dict[int, list[tuple[int, int]]] | None = None
        self._shared = self
        self._wanted: Callable[[], frozenset[int]] | None = None
        self._known_wanted: frozenset[int] | None = None
        self._known_names: set[str] | None = None
        self._by_name: dict[int, dict[str, list[tuple[int, tuple[int, int]]]]] = {}
        """By type: what is around it, by name, with its number in that list."""
        self._around: dict[int, list[tuple[int, int]]] = {}
        self.located: dict[tuple[int, int, int], Located | str] = {}
        """Answers of this function for accesses outside of types."""

    def preferring(self, wanted: Callable[[], frozenset[int]]) -> "Embedders":
        """The same, for one function."""
        made = Embedders(self._graph, self._types, bases_only=self._bases_only, wanted_only=self._wanted_only)
        made.lonely = self.lonely
        made._shared, made._parts = self._shared, self._parts
        made._wanted = wanted
        return made

    @property
    def complete(self) -> bool:
        """Whether the types are known; else nothing can be said."""
        shared = self._shared
        if shared._types is None:
            return False
        if shared._parts is not None:
            return True
        if shared._direct is None:
            shared._direct = shared._index(shared._types())
        return shared._types is not None

    @property
    def bases_only(self) -> bool:
        """Whether only classes that derive from others are told."""
        return self._bases_only

    @property
    def speaks(self) -> bool:
        """Whether it is known which types the function speaks of."""
        return self._wanted is not None

    @property
    def whole(self) -> bool:
        """Whether it is told of everything what it is a part of; nodes of C++ containers hold values in plain bytes."""
        return not self._wanted_only and not self._bases_only

    def wanted(self) -> frozenset[int]:
        """Canonical types that go before others."""
        if self._known_wanted is None:
            self._known_wanted = self._wanted() if self._wanted is not None else frozenset()
        return self._known_wanted

    def of(self, t: int) -> list[tuple[int, int]]:
        """(aggregate, offset of the member in it), also through aggregates in between."""
        if not self.complete:
            return []
        shared = self._shared
        canonical = self._graph.canonical(t)
        found = shared._around.get(canonical)
        if found is None:
            found = shared._around[canonical] = shared._found(t, canonical)
        return self._only_wanted(canonical, found) if self._wanted_only and found else found

    def _found(self, t: int, canonical: int) -> list[tuple[int, int]]:
        if self._parts is not None:
            found = self._parts.wholes(t, bases_only=self._bases_only)
            if found is not None:
                return found
            self._parts = None
            if not self.complete:
                return []
        return list(self._wholes(canonical))

    def _only_wanted(self, t: int, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those around a type that go before others."""
        wanted = self.wanted()
        shared = self._shared
        if shared._parts is not None and found:
            # Most are told by their names alone.
            by_name = shared._by_name.get(t)
            if by_name is None:
                by_name = shared._by_name[t] = {}
                for number, one in enumerate(found):
                    by_name.setdefault(shared._parts.plain_name(one[0]), []).append((number, one))
            fitting = [one for name in self._names_of_wanted() for one in by_name.get(name, ())]
            found = [one for _number, one in sorted(fitting)]
        return [one for one in found if self._graph.canonical(one[0]) in wanted]

    def _names_of_wanted(self) -> set[str]:
        """The names of those that go before others, with all, some and none of what they are declared in."""
        if self._known_names is None:
            self._known_names = set()
            for t in self.wanted():
                name = self._graph.name(t)
                self._known_names.add(name)
                at = name.find("::")
                while at >= 0:
                    self._known_names.add(name[at + 2 :])
                    at = name.find("::", at + 2)
        return self._known_names

    def around(self, t: int) -> list[tuple[int, int]]:
        """As :meth:`of`; of many only what the function's own variables are of: it may be a part of anything."""
        found = self.of(t)
        return self._only_wanted(self._graph.canonical(t), found) if len(found) > _MANY else found

    def _wholes(self, t: int) -> dict[tuple[int, int], None]:
        direct = self._direct or {}
        found: dict[tuple[int, int], None] = {}
        queue = [(t, 0)]
        while queue and len(found) < 4096:
            inner, below = queue.pop()
            for outer, offset in direct.get(inner, ()):
                key = (outer, offset + below)
                if key not in found:
                    found[key] = None
                    queue.append((self._graph.canonical(outer), offset + below))
        return found

    def _index(self, types: Iterable[int] | None) -> dict[int, list[tuple[int, int]]]:
        graph = self._graph
        direct: dict[int, list[tuple[int, int]]] = defaultdict(list)
        seen: set[int] = set()
        if types is None:
            self._types = None
            return direct
        for t in types:
            if graph.kind(t) not in _AGGREGATES:
                continue
            canonical = graph.canonical(t)
            if canonical in seen:
                continue
            seen.add(canonical)
            for member in graph.members(t):
                if graph.is_aggregate(member.type) and (member.base or not self._bases_only):
                    direct[graph.canonical(member.type)].append((t, member.offset))
        return direct


def locate(
    graph: TypeGraph, t: int, step: int, offset: int, size: int, embedders: Embedders | None = None
) -> Located | str:
    """What an access of `size` bytes at `offset`, give or take `step`s, of a type touches; else why it is not known."""
    if graph.kind(graph.strip(t)) in (Kind.FUNCTION, Kind.VOID):
        return "code or void"
    if graph.choices(t):
        t = VOID if step else graph.chosen(t, offset, size)
        if not t:
            return "one of several types"
    whole = graph.size(t)
    how, walks = "", 0
    if step and whole and step % whole == 0 and not _goes_on(graph, t):
        if not 0 <= offset < whole:
            offset %= whole
        step, how, walks = 0, "array", abs(step)
    if graph.is_scalar(t):
        return _in_scalars(graph, t, step, offset, size, whole, walks)
    if not step:
        found = graph.member_at(t, offset, size) if offset >= 0 else None
        if found is not None:
            return Located(t, offset, found, how)
        if not whole and not graph.members(t):
            return INCOMPLETE
        return _around(graph, t, offset, size, whole, embedders)
    if not 0 <= offset < whole:
        place = _in_rows(graph, t, step, offset)
        found = graph.member_at(t, place, size) if place is not None else None
        if found is not None and place is not None:
            return Located(t, place, found, "array")
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    if found is not None and (_absorbed(graph, found, step) or _in_rows(graph, t, step, offset) is not None):
        if _at_border(graph, t, step, offset):
            return _behind_smaller(graph, t, step, offset, size) or "index not understood"
        # What an element and the one behind it share is none: the index counts from one, in the array behind.
        other = in_array_behind(graph, t, step, offset, size) if _leaves_element(graph, found, step, size) else None
        return other or Located(t, offset, found)
    other = in_array_behind(graph, t, step, offset, size)
    if other is not None:
        return other
    # Elements are read one by one when the index is biased: what is wider is no element. An index hardly counts from a
    # member behind the array.
    arrays = [
        (at, stride)
        for at, stride, total in graph.arrays(t)
        if step == stride and size <= stride
        if (step < total and not at + total < offset < whole)
        or (at <= offset and _stands_for_more(graph, t, at, total))
    ]
    if len(arrays) == 1:
        at, stride = arrays[0]
        place = at + (offset - at) % stride
        found = graph.member_at(t, place, size)
        if found is not None:
            return Located(t, place, found, "array")
    return "index not understood"


def in_words(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> Located | None:
    """The first of the words of different types that steps from the begin of an aggregate without arrays lead through:
    who goes there copies it, or changes it with another one."""
    found = graph.member_at(t, offset, size) if offset >= 0 and step == size == graph.pointer_size else None
    if found is None or found.offset or graph.size(found.type) != size or graph.arrays(t):
        return None
    begins = any(not left and graph.is_aggregate(one) and graph.size(one) > size for one, left in found.containers)
    behind = graph.member_at(t, offset + size, 1)
    differs = behind is not None and graph.canonical(behind.type) != graph.canonical(found.type)
    return Located(t, offset, found, "array") if begins and differs else None


def _goes_on(graph: TypeGraph, t: int) -> bool:
    """Whether an aggregate ends in an array without bounds, or in what Rust describes as the first element of one:
    nothing follows it, least of all another one."""
    members = graph.members(t) if graph.is_aggregate(t) else ()
    if not members:
        return False
    last = members[-1]
    return (graph.is_array(last.type) and not last.size) or (last.offset >= graph.size(t) > 0 and last.size > 0)


def stands_alone(graph: TypeGraph, t: int) -> bool:
    """Whether an aggregate ends in an array that takes as much room as there is: others of it are not beside it."""
    members = graph.members(t) if graph.is_aggregate(t) else ()
    return bool(members) and (_goes_on(graph, t) or _stands_for_more(graph, t, members[-1].offset, members[-1].size))


def _stands_for_more(graph: TypeGraph, t: int, at: int, total: int) -> bool:
    """Whether an aggregate ends in an array of one element, as older C has it for one without bounds."""
    members = graph.members(t)
    last = members[-1].type if members and members[-1].offset == at else VOID
    return graph.is_array(last) and graph.stride(last) == total == graph.size(last)


def _in_rows(graph: TypeGraph, t: int, step: int, offset: int) -> int | None:
    """Where an element of an array of arrays is that steps lead to: rows lie one behind the other."""
    while graph.is_array(t):
        stride = graph.stride(t)
        if stride and not step % stride:
            return offset % stride
        t = graph.target(t)
    return None


def one_of_two(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> list[tuple[int, int]]:
    """(aggregate, offset) of two members of one type side by side of which a condition chooses, as a tree's left and
    right; empty where that is not so."""
    first = graph.member_at(t, offset, size) if offset >= 0 and 2 <= abs(step) <= _APART else None
    if first is None or first.offset or graph.size(first.type) != size:
        return []
    for place in (offset + abs(step), offset - abs(step)):
        other = graph.member_at(t, place, size) if place >= 0 else None
        if other is None or other.offset or graph.size(other.type) != size:
            continue
        if graph.canonical(other.type) == graph.canonical(first.type):
            return [(t, min(place, offset)), (t, max(place, offset))]
    return []


def _in_scalars(graph: TypeGraph, t: int, step: int, offset: int, size: int, whole: int, walks: int) -> Located | str:
    """One of several scalars in a row: what a pointer to a scalar leads to is one, or an array of them. ``walks``: by
    steps of so many bytes, whole scalars."""
    if not whole:
        return INCOMPLETE
    within = offset % whole
    if size > whole:
        # Several at once: vectors of them, but hardly eight characters.
        if whole == 1 and ((size < 16 and not walks) or walks > _WORDS * size or walks & (walks - 1)):
            return "wider than its type"
        if size % whole or within:
            return "wider than its type"
    elif whole == 1 and walks > _CHARACTERS:
        # Who walks through characters does not take so many at once: they stand for something else.
        return "index not understood"
    elif within + size > whole or (step and (step % whole) and size != whole):
        return "index not understood"
    if step % whole:
        within = 0
    found = graph.member_at(t, within, size)
    return Located(t, within, found, "" if not step and 0 <= offset < whole else "array") if found else "outside"


def _around(graph: TypeGraph, t: int, offset: int, size: int, whole: int, embedders: Embedders | None) -> Located | str:
    """An exact offset outside of a type: in what the object is a part of, or in a neighbour of an array."""
    if graph.is_array(t) and embedders is not None and whole and offset >= 0:
        # A pointer to an array goes from row to row.
        found = graph.member_at(t, offset % whole, size)
        return Located(t, offset % whole, found, "array") if found is not None else "outside of the type"
    if embedders is None or not embedders.complete or graph.is_array(t):
        return "outside of the type"
    key = (t, offset, size)
    known = embedders.located.get(key)
    if known is None:
        known = embedders.located[key] = _in_wholes(graph, t, offset, size, whole, embedders)
    return known


def whole_around(
    graph: TypeGraph,
    t: int,
    accesses: "list[tuple[int, int]]",
    embedders: Embedders,
    rows: "Iterable[tuple[int, int]]" = (),
) -> tuple[int, int] | None:
    """The only (aggregate, offset of the part in it) around a part of it in which all of some accesses, (offset from
    the part, size), are of whole members, and ``rows``, accesses by an index, of elements of arrays; the innermost
    where it is a part of others itself."""
    if not embedders.complete:
        return None
    fitting = [
        (graph.size(container), container, at)
        for container, at in embedders.around(t)
        if all(is_member(graph, container, at + offset, size) for offset, size in accesses)
        and all(array_at(graph, container, size, at + offset) for offset, size in rows)
    ]
    if not fitting:
        return None
    fitting.sort()
    _size, container, at = fitting[0]
    for _other_size, other, place in fitting[1:]:
        if not graph.object_at(other, place - at, container):
            return None
    return container, at


def is_member(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether a whole member of a size begins there; of small numbers often less is read than there is."""
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    return found is not None and not found.offset and (graph.size(found.type) == size or size <= 2)


def _in_wholes(graph: TypeGraph, t: int, offset: int, size: int, whole: int, embedders: Embedders) -> Located | str:
    outer = embedders.around(t)
    if not outer and not embedders.of(t):
        if not whole:
            return INCOMPLETE
        if embedders.lonely or (offset < 0 and not embedders.whole):
            # Of something around it that is not known.
            return "outside of the type"
        return _beside(graph, t, offset, size, whole)
    if whole and embedders.whole and not embedders.lonely and not covered(graph, t, offset, embedders):
        return _beside(graph, t, offset, size, whole)
    fitting: list[Located] = []
    for container, at in outer:
        place = offset + at
        found = graph.member_at(container, place, size) if place >= 0 else None
        if found is not None and found.offset == 0 and size <= graph.size(found.type):
            fitting.append(Located(container, place, found, "container"))
    if fitting and whole and all(_beside_there(graph, t, one, offset) for one in fitting):
        # Whatever it is in, it is another one of the type.
        return _beside(graph, t, offset, size, whole)
    if size > 2:
        # Of small numbers often less is read than there is.
        whole_members = [one for one in fitting if graph.size(one.field.type) == size]
        if whole_members or (whole and offset >= whole and not embedders.speaks):
            # It may be the next of several: then something else is read than there is in the container.
            fitting = whole_members
    if embedders.speaks and whole and offset >= whole:
        # It may as well be the next of several: only a container that the function has a variable of.
        wanted = embedders.wanted()
        fitting = [one for one in fitting if graph.canonical(one.type) in wanted]
    # Of containers in containers the innermost that fits says enough.
    fitting.sort(key=lambda one: graph.size(one.type))
    names = {graph.canonical(one.type) for one in fitting}
    if len(names) > 1:
        wanted = embedders.wanted()
        chosen = [one for one in fitting if graph.canonical(one.type) in wanted]
        if chosen:
            fitting = chosen
            names = {graph.canonical(one.type) for one in fitting}
    if len(names) == 1 and len({one.offset for one in fitting}) == 1:
        return fitting[0]
    if len(names) > 1 and all(_within(graph, one, fitting[0]) for one in fitting[1:]):
        return fitting[0]
    return "outside of the type"


def _beside_there(graph: TypeGraph, t: int, found: Located, offset: int) -> bool:
    """Whether another object of a type lies in a container where one would beside the first in an array."""
    place = found.offset - offset % graph.size(t)
    return place >= 0 and graph.object_at(found.type, place, t)


def _beside(graph: TypeGraph, t: int, offset: int, size: int, whole: int) -> Located | str:
    """A place in a neighbour of an array."""
    place = offset % whole
    found = graph.member_at(t, place, size) if place + size <= whole else None
    return Located(t, place, found, "array") if found is not None else "outside of the type"


def covered(graph: TypeGraph, t: int, offset: int, embedders: Embedders) -> bool:
    """Whether anything that has a type as its part may reach to an offset of that, with something else there than
    another one of the type, as there is beside it in an array."""
    whole = graph.size(t)
    for container, at in embedders.of(t):
        end = graph.size(container)
        if not end or _goes_on(graph, container) or 0 <= offset + at < end:
            beside = at + offset - offset % whole if whole else -1
            if beside < 0 or not graph.object_at(container, beside, t):
                return True
    return False


def _within(graph: TypeGraph, outer: Located, inner: Located) -> bool:
    """Whether the outer one's place is in an object of the inner one's type, at the same place of it."""
    canonical = graph.canonical(inner.type)
    return any(graph.canonical(t) == canonical and at == inner.offset for t, at in outer.field.containers)


def candidates(graph: TypeGraph, t: int, offset: int, size: int, embedders: Embedders | None) -> list[tuple[int, int]]:
    """(aggregate, offset in it) of all that an access outside of a type may be in, if it is a part of something."""
    found: list[tuple[int, int]] = []
    outer = embedders.around(t) if embedders is not None else []
    for container, at in outer:
        place = offset + at
        inside = graph.member_at(container, place, size) if place >= 0 else None
        if inside is not None and (not size or graph.size(inside.type) == size):
            found.append((container, place))
    return found[:_CANDIDATES]


def _at_border(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether an offset is in the last element of an array behind which another one of the same steps begins: a pointer
    that goes through that one backwards is first there."""
    if abs(step) <= 8:
        # Numbers: those before are as good.
        return False
    arrays = [
        (at, at + total)
        for at, by, total in graph.arrays(t)
        if not (step % by and by % step) and (by >= abs(step) or total > abs(step))
    ]
    return any(end - abs(step) <= offset < end and any(at == end for at, _end in arrays) for _at, end in arrays)


def _behind_smaller(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> Located | None:
    """An element of the array behind, where those of the one before are so much smaller than the steps that no loop
    takes as many at once."""
    stride = abs(step)
    held = [by for at, by, total in graph.arrays(t) if at <= offset < at + total]
    if not held or max(held) * _TURNS >= stride or not stride & (stride - 1):
        return None
    return in_array_behind(graph, t, step, offset, size)


def _leaves_element(graph: TypeGraph, found: Field, step: int, size: int) -> bool:
    """Whether an access begins in an element of an array of some steps and ends in the next one."""
    for t, offset in found.containers:
        if graph.is_array(t) and graph.stride(t) == abs(step):
            return size <= abs(step) < offset % abs(step) + size
    return False


def in_array_behind(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> Located | None:
    """The first element of an array of some steps, a few of them further, if a whole scalar or element is accessed: an
    index that counts from one, or more where a loop does several turns in one."""
    stride = abs(step)
    if not graph.is_aggregate(t) or not 0 < size <= stride:
        return None
    begins = {at for at, by, total in graph.arrays(t) if by == stride <= total}
    for place in range(offset + stride, offset + _TURNS * stride + 1, stride) if begins else ():
        if not any(at <= place < at + stride for at in begins):
            continue
        found = graph.member_at(t, place, size)
        if found is not None and not found.offset and size in (graph.size(found.type), stride):
            return Located(t, place, found, "array")
        break
    return None


def array_at(graph: TypeGraph, t: int, step: int, offset: int) -> tuple[int, int] | None:
    """Where the array of some steps begins and ends that holds an offset; None where there is none."""
    found = [(at, at + total) for at, by, total in graph.arrays(t) if by == step and at <= offset < at + total]
    return min(found, key=lambda one: one[1] - one[0]) if found else None


def before_array(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether an offset is in one of the last elements of a longer array, and another one of the same steps follows: it
    may be that one's, of an index that counts from more than 0."""
    stride = abs(step)
    arrays = [(at, at + total) for at, by, total in graph.arrays(t) if by == stride]
    ends = [
        end
        for at, end in arrays
        if at <= offset < end and offset + _TURNS * stride > end and end - at > 2 * _TURNS * stride
    ]
    return any(at == end for end in ends for at, _end in arrays)


def _absorbed(graph: TypeGraph, found: Field, step: int) -> bool:
    """Whether an array on the way to a field explains steps."""
    for t, _offset in found.containers:
        if graph.is_array(t):
            stride = graph.stride(t)
            total = graph.size(t)
            if stride and not step % stride and (not total or abs(step) <= total or step == stride):
                return True
    return False


def row_at(graph: TypeGraph, t: int, step: int, offset: int) -> tuple[int, int] | None:
    """(element, offset in it) of the array inside an aggregate through which steps lead; None where none has them."""
    found = graph.member_at(t, offset) if offset >= 0 else None
    for container, left in found.containers if found is not None else ():
        if graph.is_array(container) and graph.stride(container) == abs(step):
            return graph.target(container), left % abs(step)
    return None


def holds_array(graph: TypeGraph, t: int, step: int, offset: int, element: int) -> bool:
    """Whether an aggregate has an array of a type, of whose elements an offset gives or takes steps."""
    size = graph.size(element)
    if not size or step % size or not graph.is_aggregate(t):
        return False
    canonical = graph.canonical(element)
    for at, stride, _total in graph.arrays(t):
        if stride == size and not (offset - at) % stride:
            found = graph.member_at(t, at)
            inside = found.containers if found is not None else ()
            elements = (graph.unwrapped(graph.target(one)) for one, _left in inside if graph.is_array(one))
            if any(graph.canonical(each) == canonical for each in elements):
                return True
    return False


def same_array(graph: TypeGraph, t: int, step: int, first: int, second: int) -> bool:
    """Whether two places of an aggregate, give or take steps, may be in one array inside of it; so if none has them."""
    if not graph.is_aggregate(t):
        return True
    within = [
        {at for at, by, total in graph.arrays(t) if not (step % by and by % step) and at <= place < at + total}
        for place in (first, second)
    ]
    return not within[0] or not within[1] or not within[0].isdisjoint(within[1])


def value_of(graph: TypeGraph, found: Located, size: int) -> int:
    """The type of the value that is read there; void where it is not one whole scalar."""
    return graph.value_at(found.type, found.offset, size)
