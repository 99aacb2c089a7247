"""How a type is laid out, with the weight of its members: lines for members, holes and cache lines; and what the
weights say about the layout: members used together but far apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.views.data.types import Counts, DataTypes, FieldRow, TypeRow

__all__ = ["LayoutLine", "Spread", "layout", "spread"]

_DEEPEST = 8
_MOST_LINES = 4096
_MOST_STEPS = 20_000


@dataclass(slots=True)
class LayoutLine:
    """One line of a drawn type: a member, an opened aggregate, a hole. `bits` names a bit field's place.

    `bounds` are an array's elements (0: unknown), of all its dimensions. Its element's members are below it once, with
    the weights of all elements, and `within_array`. `others` are the members that lie at the same place, of which any
    may be meant.
    `counts` are of all accesses that touch the member, `reached` the weight of those of them that begin before it.
    `weight` is that of all that lies there, the members of elements included.
    """

    kind: str
    offset: int
    size: int
    depth: int
    name: str
    type: str
    path: str = ""
    bits: str = ""
    counts: Counts | None = None
    bounds: tuple[int, ...] = ()
    within_array: bool = False
    others: tuple[str, ...] = ()
    reached: int = 0
    weight: int = 0


def layout(row: TypeRow) -> list[LayoutLine]:
    """A type's members in order of offset, those of inner aggregates below them; holes where nothing is."""
    graph, t = row.find()
    drawn = _Drawing(graph, row)
    drawn.open(t, 0, "", 0, within_array=False)
    _charge(drawn.lines, row)
    return drawn.lines


class _Drawing:
    """The lines of a type, as it is opened. Of arrays the elements are opened that samples touch members of."""

    def __init__(self, graph: TypeGraph, row: TypeRow) -> None:
        self.lines: list[LayoutLine] = []
        self._graph = graph
        self._steps = _MOST_STEPS
        parts = [one.field.split(".") for one in row.fields.values()]
        self._touched = {".".join(names[:count]) for names in parts for count in range(1, len(names))}

    def open(self, t: int, begin: int, path: str, depth: int, *, within_array: bool) -> None:
        """Add the members of an aggregate, and the holes between them."""
        graph = self._graph
        members = sorted(graph.members(t), key=lambda one: (one.bit_offset, one.bit_size))
        at = begin
        union = len({member.offset for member in members}) < len(members) and not any(one.bit_size for one in members)
        for member in members:
            self._steps -= 1
            if self._steps < 0 or len(self.lines) >= _MOST_LINES:
                return
            if member.base and member.size <= 1 and not graph.members(member.type):
                # What is inherited of a class without members takes no room.
                continue
            offset = begin + member.offset
            if offset > at and not member.bit_size:
                self._hole(at, offset, depth, within_array)
            inner = path if member.base or not member.name else f"{path}.{member.name}" if path else member.name
            bits = f":{member.bit_size}" if member.bit_size else ""
            of = graph.canonical_name(member.type)
            name = member.name or ("" if not member.base else "(base)")
            line = LayoutLine("member", offset, member.size, depth, name, of, inner, bits, within_array=within_array)
            self.lines.append(line)
            if not member.bit_size and depth < _DEEPEST:
                self._open_member(line, graph.strip(member.type))
            end = begin + (member.bit_offset + member.bit_size + 7) // 8 if member.bit_size else offset + member.size
            at = max(at, end)
        whole = begin + graph.size(t)
        if members and not union and at < whole:
            self._hole(at, whole, depth, within_array)

    def _hole(self, begin: int, end: int, depth: int, within_array: bool) -> None:
        self.lines.append(LayoutLine("hole", begin, end - begin, depth, "", "", within_array=within_array))

    def _open_member(self, line: LayoutLine, t: int) -> None:
        """What a member consists of: its own members, those of an array's element."""
        graph, path = self._graph, line.path
        for _dimension in range(_DEEPEST):
            if graph.is_array(t):
                line.bounds += (max(0, graph.element_count(t)),)
                t, path = graph.strip(graph.target(t)), path + "[]"
        within = line.within_array or path != line.path
        if graph.is_aggregate(t) and (path == line.path or path in self._touched):
            self.open(t, line.offset, path, line.depth + 1, within_array=within)


def _charge(drawn: list[LayoutLine], row: TypeRow) -> None:
    """Add the weights to the lines they are at: the innermost one of a member's path."""
    by_path: dict[str, LayoutLine] = {}
    place_of: dict[str, int] = {}
    for place, line in enumerate(drawn):
        if line.kind == "member" and line.path not in by_path:
            by_path[line.path], place_of[line.path] = line, place
    for one in row.fields.values():
        found = None
        path = one.field
        while path:
            found = by_path.get(path)
            if found is not None:
                break
            # What is inside of an array belongs to the array.
            path = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(".")[0]
        if found is None:
            continue
        _add(found, one.counts, by_path)
        if found.path == one.field:
            for size, counts in one.by_size.items():
                for line in _reached(drawn, place_of[found.path], size):
                    _add(line, counts, by_path)
                    line.reached += counts.weight
            found.others = tuple(dict.fromkeys((*found.others, *(two for two in one.candidates if two != one.field))))


def _add(line: LayoutLine, counts: Counts, by_path: dict[str, LayoutLine]) -> None:
    if line.counts is None:
        line.counts = Counts()
    line.counts.add(counts)
    outer = by_path.get(line.path.partition("[")[0], line) if line.within_array else line
    outer.weight += counts.weight


def _reached(drawn: list[LayoutLine], place: int, size: int) -> Iterator[LayoutLine]:
    """The members behind the one at a place that an access of some bytes reaches into, as a vector register does that
    holds several. Of members that lie at the same place, which are a union's, the first one; none within arrays, where
    what follows is the next element."""
    first = drawn[place]
    at, end = first.offset + first.size, first.offset + size
    if end <= at or first.within_array or first.bits:
        return
    for number in range(place + 1, len(drawn)):
        line = drawn[number]
        if line.offset >= end:
            return
        opened = number + 1 < len(drawn) and drawn[number + 1].depth > line.depth
        if line.kind == "member" and line.offset >= at and not opened and not line.within_array:
            yield line
            at = max(at, line.offset + line.size)


class Spread(NamedTuple):
    """Members that are hot in the same functions and lie on more cache lines than they need.

    `members` are (name, offset, share of the type's weight); `lines` those of the type they are on, `taken` how many at
    best (objects that are no multiple of a line may begin anywhere in one), `needed` how many would do; `functions` use
    at least two of them, with the share of the type's weight that these members have there.
    """

    type: str
    size: int
    weight: int
    members: tuple[tuple[str, int, float], ...]
    lines: tuple[int, ...]
    taken: int
    needed: int
    functions: tuple[tuple[str, float], ...]


def spread(data: DataTypes, least: float = 0.02) -> list[Spread]:
    """Types larger than a cache line, with a share `least` of all weight, whose hot members could be closer. Members
    that cpus take from each other are left where they are."""
    clashing = {(party.type, party.offset) for one in data.sharing for party in (*one.written, *one.used)}
    found = []
    for row in data.types:
        if row.size <= data.line_size or row.counts.weight < least * data.total:
            continue
        hot = [one for one in row.fields.values() if one.field and one.counts.weight >= 0.1 * row.counts.weight]
        plain = [one for one in hot if "[" not in one.field and (row.name, one.offset) not in clashing]
        together, functions = _together(plain)
        if len(together) < 2:
            continue
        needed = -(-sum(max(one.size, 1) for one in together) // data.line_size)
        taken = _lines_taken(together, data.line_size, aligned=not row.size % data.line_size)
        if taken <= needed:
            continue
        whole = row.counts.weight
        found.append(
            Spread(
                row.name,
                row.size,
                sum(one.counts.weight for one in together),
                tuple(
                    (one.field, one.offset, one.counts.weight / whole)
                    for one in sorted(together, key=lambda one: (-one.counts.weight, one.offset))
                ),
                tuple(sorted({one.offset // data.line_size for one in together})),
                taken,
                needed,
                tuple((name, weight / whole) for name, weight in functions[:4]),
            )
        )
    found.sort(key=lambda one: (-one.weight, one.type))
    return found


def _together(members: list[FieldRow]) -> tuple[list[FieldRow], list[tuple[str, int]]]:
    """(the members that some function uses with another one of them, these functions with their weight)."""
    users: dict[str, list[FieldRow]] = {}
    for one in members:
        for name in one.functions:
            users.setdefault(name, []).append(one)
    shared = {name: used for name, used in users.items() if len(used) > 1}
    together = [one for one in members if any(name in shared for name in one.functions)]
    functions = [(name, sum(one.functions[name] for one in used)) for name, used in shared.items()]
    functions.sort(key=lambda one: (-one[1], one[0]))
    return together, functions


def _lines_taken(members: list[FieldRow], line_size: int, *, aligned: bool) -> int:
    """How many lines members are on; at best, where objects may begin anywhere in a line."""
    if aligned:
        return len({one.offset // line_size for one in members})
    taken, end = 0, -1
    for one in sorted(members, key=lambda one: one.offset):
        if one.offset + max(one.size, 1) > end:
            taken += 1
            end = one.offset + line_size
    return taken
