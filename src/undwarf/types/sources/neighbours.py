# cython: language_level=3, annotation_typing=False
"""What else DWARF tells of around a function: the aggregates of its unit, and the types its variables are of.

They answer which whole a pointer to a part may be in: a base class of something, a member of a structure.
"""

from collections.abc import Callable, Sequence

from undwarf.dwarf.constants import ValueClass
from undwarf.types.layouts.embedders import Embedders
from undwarf.types.sources.entries import ABSTRACT_ORIGIN, NAME, Space
from undwarf.types.sources.from_dwarf import DwarfSource

__all__ = ["Neighbours"]

_MADE_UP = "<artificial>"
"""The name of units that stand for no source (gcc -flto)."""
_AGGREGATES = frozenset((0x13, 0x17, 0x02))
_MOST_AGGREGATES = 4096
"""Aggregates of a unit that are looked through; of larger units nothing is said."""
_OUTERMOST = 0xFFFFFFFF
_SHARED_STRINGS = frozenset((ValueClass.STRP, ValueClass.STRP_ALT))
_KEPT = 16
_MOST_WHOLES = 4096
"""Aggregates around one type that are looked at."""
_MOST_ALIASES = 64
_BASE_CLASS = 1 << 62
"""Added to the offset of a base class."""
_C = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E))
_CXX = frozenset((0x04, 0x1A, 0x21, 0x2B, 0x3A))
"""DW_LANG_* of C, and of C++."""


class Neighbours:
    """The aggregates around functions of one binary, unit by unit. ``lonely``: see :class:`Embedders`."""

    def __init__(self, source: DwarfSource, *, lonely: bool = False) -> None:
        self._source = source
        self._lonely = lonely
        self._units: dict[tuple[int, int], Embedders] = {}
        self._made_up: dict[tuple[int, int], bool] = {}
        self._seen: dict[tuple[object, ...], int] = {}

    def embedders(self, pc: int) -> Embedders:
        """What has what as a member, among the types of the unit of an address; the function's own types first."""
        source = self._source
        place = self._declared_in(pc)
        if place is None:
            return Embedders(source.graph, None)
        space, unit = place
        key = (space.number, unit)
        found = self._units.get(key)
        if found is None:
            if len(self._units) >= _KEPT:
                self._units.pop(next(iter(self._units)))
            language = space.language(unit)
            found = self._units[key] = Embedders(
                source.graph,
                lambda: self._aggregates(space, unit),
                bases_only=language in _CXX,
                wanted_only=language not in _CXX and language not in _C,
                lonely=self._lonely,
                parts=_UnitParts(source, space, unit, lambda: self._aggregates(space, unit)),
            )
        return found.preferring(lambda: self._mentioned(pc))

    def _declared_in(self, pc: int) -> tuple[Space, int] | None:
        """The unit whose types the function at an address knows: what is optimized when it is linked has its code in
        a unit of its own, and all that its source declares elsewhere."""
        place = self._source.place(pc)
        if place is None:
            return None
        space, unit, offset = place
        made = self._made_up.get((space.number, unit))
        if made is None:
            root = space.root(unit)
            made = self._made_up[space.number, unit] = root is not None and root.string(NAME) == _MADE_UP
        entry = space.entry_in(unit, offset) if made else None
        origin = entry.reference(ABSTRACT_ORIGIN) if entry is not None else None
        return (space, unit) if origin is None else (origin.space, origin.unit)

    def _aggregates(self, space: Space, unit: int) -> Sequence[int] | None:
        rows = space.declared(unit)
        dies = rows["die"]
        tags, wanted = rows["tag"], _defined(rows)
        if len(wanted) > _MOST_AGGREGATES:
            return None
        # Headers' types are in unit after unit: one of a name, or of a place within one of a name, serves for all.
        kinds, names, parents = rows["kind"], rows["name"], rows["parent"]
        given_names = space.given_names(unit)
        keys: dict[int, tuple[object, ...]] = {}
        inside: dict[int, int] = {}
        found: list[int] = []
        for k in wanted:
            outer = parents[k]
            key: tuple[object, ...] | None = None
            if outer in keys:
                inside[outer] = inside.get(outer, 0) + 1
                key = (*keys[outer], inside[outer])
            elif outer == _OUTERMOST and kinds[k] in _SHARED_STRINGS:
                key = (space.number, tags[k], kinds[k], names[k])
            elif outer == _OUTERMOST and not kinds[k]:
                given = space.given_name(unit, dies[k]) if dies[k] in given_names else ""
                if given:
                    key = (tags[k], given)
                elif rows["linkage_kind"][k] == ValueClass.UNSIGNED:
                    key = (tags[k], rows["linkage"][k])
            number = None
            if key is not None:
                keys[k] = key
                number = self._seen.get(key)
            if number is None:
                number = self._source.types.number(space, dies[k])
                if key is not None:
                    self._seen[key] = number
            found.append(number)
        return found

    def _mentioned(self, pc: int) -> frozenset[int]:
        """Types that variables and parameters of a function have, or lead to, wherever they are (inlined ones too)."""
        graph = self._source.graph
        wholes: set[int] = set()
        for t in self._source.types_of_variables(pc):
            for _hop in range(3):
                if not graph.is_pointer(t):
                    break
                t = graph.target(t)
            wholes.add(graph.canonical(t))
        return frozenset(wholes)


def _defined(rows: "dict[str, memoryview[int]]") -> list[int]:
    """The rows of the aggregates that a unit defines."""
    flags = rows["flags"]
    return [k for k, tag in enumerate(rows["tag"].tolist()) if tag in _AGGREGATES and not flags[k] & 1]


class _UnitParts:
    """What lies in the aggregates of one unit (:class:`undwarf.types.layouts.locate.Parts`), by offsets of entries.

    Records are made of those only that have a type as a part, and names are compared before layouts.
    """

    def __init__(
        self, source: DwarfSource, space: Space, unit: int, aggregates: Callable[[], Sequence[int] | None]
    ) -> None:
        self._source = source
        self._space = space
        self._unit = unit
        self._aggregates = aggregates
        self._read = False
        self._direct: dict[int, list[tuple[int, int]]] | None = None
        self._numbers: dict[int, int] = {}
        self._plain: dict[int, str] = {}
        """Names of aggregates by their numbers, without what they are declared in."""
        self._named: dict[str, list[int]] = {}

    def _load(self) -> None:
        self._read = True
        space, unit = self._space, self._unit
        embedded = space.info.embedded(unit)
        numbers = self._aggregates() if embedded is not None else None
        if numbers is None:
            return
        rows = space.declared(unit)
        defined = _defined(rows)
        dies, given = rows["die"], space.given_names(unit)
        plain, by_die, named = self._plain, self._numbers, self._named
        for k, number, name in zip(defined, numbers, space.row_names(unit, defined), strict=True):
            die = dies[k]
            by_die[die] = number
            plain[number] = name or (space.given_name(unit, die) if die in given else "")
            if name:
                named.setdefault(name, []).append(die)
        columns = [column.tolist() for column in embedded]
        aliases = {die: of for die, of, offset in zip(*columns, strict=True) if offset == -1}
        direct: dict[int, list[tuple[int, int]]] = {}
        for whole, of, offset in zip(*columns, strict=True):
            if offset >= 0 and whole in by_die:
                for _hop in range(_MOST_ALIASES):
                    if of not in aliases:
                        break
                    of = aliases[of]
                direct.setdefault(of, []).append((whole, offset))
        self._direct = direct

    def named(self, wholes: list[tuple[int, int]], names: set[str]) -> list[tuple[int, int]]:
        """Those of some that have one of some names, or are given it by a typedef, without what they are declared in;
        those without a name have the empty one."""
        plain = self._plain
        return [one for one in wholes if plain.get(one[0], "") in names]

    def wholes(self, t: int, *, bases_only: bool) -> list[tuple[int, int]] | None:
        """(aggregate, offset of the member in it) of what has a type as a part, directly or not."""
        if not self._read:
            self._load()
        if self._direct is None:
            return None
        found: dict[tuple[int, int], None] = {}
        direct, numbers = self._direct, self._numbers
        queue = [(die, 0) for die in self._entries(t)]
        while queue and len(found) < _MOST_WHOLES:
            die, below = queue.pop()
            for outer, offset in direct.get(die, ()):
                base = offset >= _BASE_CLASS
                if bases_only and not base:
                    continue
                place = offset - _BASE_CLASS * base + below
                key = (numbers[outer], place)
                if key not in found:
                    found[key] = None
                    queue.append((outer, place))
        return list(found)

    def _entries(self, t: int) -> list[int]:
        """The entries of this unit that describe a type."""
        graph, types = self._source.graph, self._source.types
        canonical = graph.canonical(t)
        stripped = graph.strip(t)
        found: dict[int, None] = {}
        for one in (stripped, canonical):
            place = types.place(one)
            if place is not None and place[0] is self._space:
                found[place[1]] = None
        name = graph.name(stripped)
        at = 0
        while name and at >= 0:
            for die in self._named.get(name, ()):
                if die not in found and graph.canonical(self._numbers[die]) == canonical:
                    found[die] = None
            at = name.find("::")
            name = name[at + 2 :]
        return list(found)
