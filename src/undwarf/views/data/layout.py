"""The layout of a type with the weights of its members and holes; members that are used together but far apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.views.data.types import Counts, DataTypes, FieldRow, TypeRow

_DEEPEST = 8
_MOST_LINES = 4096
_MOST_STEPS = 20_000


@dataclass(slots=True)
class LayoutLine:
    """One line of a drawn type: a ``member`` or a ``hole``. ``bits``: the width of a bit field, as ``:3``.

    ``bounds``: element counts of all dimensions of an array (0: unknown). The members of its element follow once, with
    the weights of all elements, and are ``within_array``. ``others``: members at the same offset that the accesses may
    be to as well. ``counts`` are of all accesses to the member, ``reached`` the weight of those that begin before it.
    ``weight`` includes the members of array elements.
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


class DrawnType(NamedTuple):
    """A type with its layout: members and holes in order of offset, members of aggregates after these."""

    row: TypeRow
    lines: list[LayoutLine]


def draw(row: TypeRow) -> DrawnType:
    """Lay out a type."""
    graph, t = row.find()
    drawing = _Drawing(graph, row)
    drawing.open(t, 0, "", 0, within_array=False)
    _add_weights(drawing.lines, row)
    return DrawnType(row, drawing.lines)


class _Drawing:
    """Collects the lines of a type. Array elements are opened if samples access members of them."""

    def __init__(self, graph: TypeGraph, row: TypeRow) -> None:
        self.lines: list[LayoutLine] = []
        self._graph = graph
        self._steps = _MOST_STEPS
        paths = [field.field.split(".") for field in row.fields.values()]
        self._accessed = {".".join(names[:count]) for names in paths for count in range(1, len(names))}

    def open(self, t: int, start: int, path: str, depth: int, *, within_array: bool) -> None:
        """Add the members of an aggregate, and the holes between them."""
        graph = self._graph
        members = sorted(graph.members(t), key=lambda member: (member.bit_offset, member.bit_size))
        at = start
        has_bits = any(member.bit_size for member in members)
        union = len({member.offset for member in members}) < len(members) and not has_bits
        for member in members:
            self._steps -= 1
            if self._steps < 0 or len(self.lines) >= _MOST_LINES:
                return
            if member.base and member.size <= 1 and not graph.members(member.type):
                # The empty base class optimization.
                continue
            offset = start + member.offset
            if offset > at and not member.bit_size:
                self._hole(at, offset, depth, within_array)
            inner = path if member.base or not member.name else f"{path}.{member.name}" if path else member.name
            bits = f":{member.bit_size}" if member.bit_size else ""
            type_name = graph.canonical_name(member.type)
            name = member.name or ("(base)" if member.base else "")
            line = LayoutLine(
                "member", offset, member.size, depth, name, type_name, inner, bits, within_array=within_array
            )
            self.lines.append(line)
            if not member.bit_size and depth < _DEEPEST:
                self._open_member(line, graph.strip(member.type))
            end = start + (member.bit_offset + member.bit_size + 7) // 8 if member.bit_size else offset + member.size
            at = max(at, end)
        end = start + graph.size(t)
        if members and not union and at < end:
            self._hole(at, end, depth, within_array)

    def _hole(self, start: int, end: int, depth: int, within_array: bool) -> None:
        self.lines.append(LayoutLine("hole", start, end - start, depth, "", "", within_array=within_array))

    def _open_member(self, line: LayoutLine, t: int) -> None:
        """Add the members of a member, or of an array's element."""
        graph, path = self._graph, line.path
        for _dimension in range(_DEEPEST):
            if graph.is_array(t):
                line.bounds += (max(0, graph.element_count(t)),)
                t, path = graph.strip(graph.target(t)), path + "[]"
        within = line.within_array or path != line.path
        if graph.is_aggregate(t) and (path == line.path or path in self._accessed):
            self.open(t, line.offset, path, line.depth + 1, within_array=within)


def _add_weights(lines: list[LayoutLine], row: TypeRow) -> None:
    """Add the weight of each field to the innermost line of its path."""
    by_path: dict[str, LayoutLine] = {}
    index_of: dict[str, int] = {}
    for index, line in enumerate(lines):
        if line.kind == "member" and line.path not in by_path:
            by_path[line.path], index_of[line.path] = line, index
    for field in row.fields.values():
        path = field.field
        while path and path not in by_path:
            # Members of elements that have no lines count as the array's.
            path = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(".")[0]
        if not path:
            continue
        innermost = by_path[path]
        _add(innermost, field.counts, by_path)
        if path == field.field:
            for size, counts in field.by_size.items():
                for line in _reached(lines, index_of[path], size):
                    _add(line, counts, by_path)
                    line.reached += counts.weight
            others = (other for other in field.candidates if other != path)
            innermost.others = tuple(dict.fromkeys((*innermost.others, *others)))


def _add(line: LayoutLine, counts: Counts, by_path: dict[str, LayoutLine]) -> None:
    if line.counts is None:
        line.counts = Counts()
    line.counts.add(counts)
    outer = by_path.get(line.path.partition("[")[0], line) if line.within_array else line
    outer.weight += counts.weight


def _reached(lines: list[LayoutLine], index: int, size: int) -> Iterator[LayoutLine]:
    """The members after the one at ``index`` that an access of ``size`` bytes extends into, as one of a vector register
    does. Of members at the same offset (a union's) the first one; none within arrays, where the next element follows.
    """
    first = lines[index]
    at, end = first.offset + first.size, first.offset + size
    if end <= at or first.within_array or first.bits:
        return
    for number in range(index + 1, len(lines)):
        line = lines[number]
        if line.offset >= end:
            return
        opened = number + 1 < len(lines) and lines[number + 1].depth > line.depth
        if line.kind == "member" and line.offset >= at and not opened and not line.within_array:
            yield line
            at = max(at, line.offset + line.size)


class Spread(NamedTuple):
    """Members that are hot in the same functions and are spread over more cache lines than they need.

    ``members`` are (name, offset, share of the type's weight). They are on the cache lines ``lines`` of the type:
    ``taken`` lines at best (an object whose size is no multiple of a line may start anywhere in one), where ``needed``
    would do. ``functions`` access at least two of them: (name, these members' share of the type's weight there).
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
    """Hot members that could be closer together, of types larger than a cache line with at least ``least`` of all
    weight. Members of false or true sharing are left out: they should rather be apart."""
    clashing = {(party.type, party.offset) for clash in data.sharing for party in (*clash.written, *clash.used)}
    spreads = []
    for row in data.types:
        if row.size <= data.line_size or row.counts.weight < least * data.total:
            continue
        hot = [
            field
            for field in row.fields.values()
            if field.field
            and field.counts.weight >= 0.1 * row.counts.weight
            and "[" not in field.field
            and (row.name, field.offset) not in clashing
        ]
        together, functions = _together(hot)
        if len(together) < 2:
            continue
        needed = -(-sum(max(one.size, 1) for one in together) // data.line_size)
        taken = _lines_taken(together, data.line_size, aligned=not row.size % data.line_size)
        if taken <= needed:
            continue
        whole = row.counts.weight
        spreads.append(
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
    spreads.sort(key=lambda one: (-one.weight, one.type))
    return spreads


def _together(members: list[FieldRow]) -> tuple[list[FieldRow], list[tuple[str, int]]]:
    """(members that some function accesses together with another one, these functions with their weight)."""
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
    """The number of cache lines that the members are on; the lowest if objects may start anywhere in a line."""
    if aligned:
        return len({one.offset // line_size for one in members})
    taken, end = 0, -1
    for one in sorted(members, key=lambda one: one.offset):
        if one.offset + max(one.size, 1) > end:
            taken += 1
            end = one.offset + line_size
    return taken
