# cython: language_level=3, annotation_typing=False
"""Aggregates of a function's compilation unit, as candidates for the type around a pointer (container_of, base
classes).

A pointer to a member or a base class may be used to reach the enclosing object. Which types contain it is taken from
the function's unit, since its code can only name types that are declared there; those of the function's own variables
first.
"""

from collections.abc import Callable, Sequence

import cython
from cython.cimports.undwarf.dwarf.reader_constants import BASE_CLASS
from cython.cimports.undwarf.dwarf.tags import CLASS_TYPE, STRUCTURE_TYPE, UNION_TYPE
from cython.cimports.undwarf.dwarf.value_classes import STRP, STRP_ALT, UNSIGNED
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.dwarf.type_sizes import member_types
from undwarf.types.layouts.containers import Containers
from undwarf.types.sources.dwarf_entries import ABSTRACT_ORIGIN, NAME, Space
from undwarf.types.sources.from_dwarf import DwarfSource

__all__ = ["UnitTypes"]

_MADE_UP = "<artificial>"
"""Name of units without a source file (gcc -flto)."""
_MOST_AGGREGATES = 4096
"""Aggregates of a unit that are looked through; of larger units nothing is said."""
_KEPT = 64
_MOST_WHOLES = 4096
"""Limit of (aggregate, offset) pairs that contain one type."""
_MOST_ALIASES = 64
_C = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E))
_CXX = frozenset((0x04, 0x1A, 0x21, 0x2B, 0x3A))
"""DW_LANG_* of C, and of C++."""


class UnitTypes:
    """The aggregates of one binary's units. ``isolated``: see :class:`Containers`."""

    def __init__(self, source: DwarfSource, *, isolated: bool = False) -> None:
        self._source = source
        self._lonely = isolated
        self._units: dict[tuple[int, int], Containers] = {}
        self._made_up: dict[tuple[int, int], bool] = {}
        self._seen: dict[tuple[object, ...], int] = {}
        self._relations = _Relations()
        """Shared by all units of C."""
        self._shared: dict[int, list[int]] = {}
        """Aggregates in type units, by space."""

    def containers(self, pc: int) -> Containers:
        """The containment relation among the types of the unit of an address; the function's own types come first."""
        source = self._source
        place = self._declared_in(pc)
        if place is None:
            return Containers(source.graph, None)
        space, unit = place
        key = (space.number, unit)
        found = self._units.get(key)
        if found is None:
            if len(self._units) >= _KEPT:
                self._units.pop(next(iter(self._units)))
            language = space.language(unit)
            # In other languages a nested type has an id of its own in each unit.
            relations = self._relations if language in _C else _Relations()
            apart = bool(space.spaces.type_units(space))
            parts = _UnitParts(source, space, unit, lambda: self._aggregates(space, unit), relations)
            found = self._units[key] = Containers(
                source.graph,
                lambda: self._with_type_units(space, unit) if apart else self._aggregates(space, unit),
                bases_only=language in _CXX,
                wanted_only=language not in _CXX and language not in _C,
                isolated=self._lonely,
                parts=None if apart else parts,
            )
        return found.preferring(lambda: self._mentioned(pc))

    def _declared_in(self, pc: int) -> tuple[Space, int] | None:
        """The unit that declares the types of the function at an address. With link-time optimization the code is in an
        artificial unit, which refers to the source's."""
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

    def _with_type_units(self, space: Space, unit: int) -> Sequence[int] | None:
        """The aggregates of a unit and of all type units of its file; None if they are too many."""
        shared = self._shared.get(space.number)
        if shared is None:
            shared = self._shared[space.number] = []
            for other, number in space.spaces.type_units(space):
                found = self._aggregates(other, number)
                if found is None or len(shared) > _MOST_AGGREGATES:
                    break
                shared += found
        own = self._aggregates(space, unit)
        return None if own is None or len(shared) > _MOST_AGGREGATES else [*shared, *own]

    @cython.locals(
        dies="const unsigned long long[::1]",
        names="const unsigned long long[::1]",
        kinds="const unsigned char[::1]",
        tags="const unsigned int[::1]",
        parents="const unsigned int[::1]",
        linkages="const unsigned int[::1]",
        linkage_kinds="const unsigned int[::1]",
        k=cython.Py_ssize_t,
        outer=cython.uint,
        keys=dict,
        seen=dict,
    )
    def _aggregates(self, space: Space, unit: int) -> Sequence[int] | None:
        rows = space.declared(unit)
        wanted = _defined(rows)
        if len(wanted) > _MOST_AGGREGATES:
            return None
        dies, names, kinds, tags = rows["die"], rows["name"], rows["kind"], rows["tag"]
        parents, linkages, linkage_kinds = rows["parent"], rows["linkage"], rows["linkage_kind"]
        # Types of headers repeat in each unit: one for each name, or for each position within a named type, is enough.
        given_names = space.given_names(unit)
        number_of_space, types, seen = space.number, self._source.types, self._seen
        keys: dict[int, tuple[object, ...]] = {}
        inside: dict[int, int] = {}
        found: list[int] = []
        for k in wanted:
            outer = parents[k]
            key: tuple[object, ...] | None = None
            if outer != NOTHING:
                if outer in keys:
                    inside[outer] = inside.get(outer, 0) + 1
                    key = (*keys[outer], inside[outer])
            elif kinds[k] == STRP or kinds[k] == STRP_ALT:
                key = (number_of_space, tags[k], kinds[k], names[k])
            elif not kinds[k]:
                given = space.given_name(unit, dies[k]) if dies[k] in given_names else ""
                if given:
                    key = (tags[k], given)
                elif linkage_kinds[k] == UNSIGNED:
                    key = (tags[k], linkages[k])
            number = None
            if key is not None:
                keys[k] = key
                number = seen.get(key)
            if number is None:
                number = types.number(space, dies[k])
                if key is not None:
                    seen[key] = number
            found.append(number)
        return found

    def _mentioned(self, pc: int) -> frozenset[int]:
        """Types of a function's variables and parameters (inlined ones too), or what these point to."""
        graph = self._source.graph
        wholes: set[int] = set()
        for t in self._source.types_of_variables(pc):
            for _hop in range(3):
                if not graph.is_pointer(t):
                    break
                t = graph.target(t)
            wholes.add(graph.canonical(t))
        return frozenset(wholes)


@cython.locals(
    tags="const unsigned int[::1]", flags="const unsigned char[::1]", tag=cython.uint, k=cython.Py_ssize_t, found=list
)
def _defined(rows: "dict[str, memoryview[int]]") -> list[int]:
    """Rows of the aggregates that a unit defines."""
    tags, flags = rows["tag"], rows["flags"]
    found: list[int] = []
    for k in range(len(tags)):
        tag = tags[k]
        if tag in (STRUCTURE_TYPE, UNION_TYPE, CLASS_TYPE) and not flags[k] & 1:
            found.append(k)
    return found


@cython.final
@cython.cclass
class _Around:
    """The aggregates that contain one type, with their offsets. ``known``: number of relations taken into account."""

    part = cython.declare(object)
    known = cython.declare(cython.Py_ssize_t)
    found: dict[int, list[int]] = cython.declare(dict)
    _seen: set[tuple[int, int]] = cython.declare(set)

    def __init__(self, part: int) -> None:
        self.part = part
        self.known = 0
        self.found = {}
        self._seen = set()

    @cython.ccall
    def find(self, direct: dict[int, list[tuple[int, int]]], bases_only: bool) -> None:
        """Compute all of it."""
        self.found = {}
        self._seen = set()
        self._follow([(self.part, 0)], direct, bases_only)

    @cython.ccall
    def further(self, added: list[tuple[int, int, int]], bases_only: bool) -> bool:
        """Add what new relations contribute; False if that exceeds the limit."""
        if len(self._seen) >= _MOST_WHOLES:
            return False
        direct: dict[int, list[tuple[int, int]]] = {}
        for part, whole, offset in added:
            direct.setdefault(part, []).append((whole, offset))
        queue = [(part, at) for part in direct for at in self.found.get(part, ())]
        self._follow([(self.part, 0), *queue], direct, bases_only)
        return len(self._seen) < _MOST_WHOLES

    @cython.cfunc
    @cython.locals(offset=cython.longlong, at=cython.longlong, below=cython.longlong, new=dict)
    def _follow(self, queue: list[tuple[int, int]], direct: dict[int, list[tuple[int, int]]], bases_only: bool) -> None:
        new: dict[int, list[int]] = {}
        while queue and len(self._seen) < _MOST_WHOLES:
            inner, below = queue.pop()
            for whole, offset in direct.get(inner, ()):
                if offset >= BASE_CLASS:
                    offset -= BASE_CLASS
                elif bases_only:
                    continue
                at = offset + below
                one = (whole, at)
                if one not in self._seen:
                    self._seen.add(one)
                    if whole in direct:
                        queue.append(one)
                    places = new.get(whole)
                    if places is None:
                        new[whole] = [at]
                    else:
                        places.append(at)
        for offsets in new.values():
            offsets.sort()
        self.found.update(new)


class _Relations:
    """Containment among aggregates by their ids. Types of headers, which C units share, are read once."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        """Aggregates whose members are known."""
        self.named: dict[str, list[int]] = {}
        """These by their unqualified name, or that of their typedef."""
        self.direct: dict[int, list[tuple[int, int]]] = {}
        """{part: [(container, offset)]}."""
        self._added: list[tuple[int, int, int]] = []
        """(part, container, offset) in the order they were added."""
        self._wholes: dict[tuple[int, bool], _Around] = {}

    def add(self, part: int, whole: int, offset: int) -> None:
        """``part`` is at ``offset`` of ``whole``."""
        self.direct.setdefault(part, []).append((whole, offset))
        self._added.append((part, whole, offset))

    @cython.locals(around=_Around)
    def wholes(self, part: int, *, bases_only: bool) -> dict[int, list[int]]:
        """{container: ascending offsets} of the aggregates that contain a type, directly or not."""
        around = self._wholes.get((part, bases_only))
        if around is None:
            around = self._wholes[part, bases_only] = _Around(part)
        if around.known < len(self._added):
            if not around.known or not around.further(self._added[around.known :], bases_only):
                around.find(self.direct, bases_only)
            around.known = len(self._added)
        return around.found


class _UnitParts:
    """Containment among the aggregates of one unit (:class:`undwarf.types.layouts.containers.Parts`).

    Only types that contain the queried one are loaded, and names are compared before layouts.
    """

    def __init__(
        self,
        source: DwarfSource,
        space: Space,
        unit: int,
        aggregates: Callable[[], Sequence[int] | None],
        relations: _Relations,
    ) -> None:
        self._source = source
        self._space = space
        self._unit = unit
        self._aggregates = aggregates
        self._relations = relations
        self._read = False
        self._order: dict[int, int] | None = None
        """{aggregate: position in the unit}; None if its members are not known."""

    def _load(self) -> None:
        self._read = True
        numbers = self._aggregates()
        if numbers is None:
            return
        order = {number: k for k, number in reversed(list(enumerate(numbers)))}
        if order.keys() <= self._relations.known or self._relate(numbers):
            self._order = order

    @cython.locals(
        dies="const unsigned long long[::1]",
        wholes="const unsigned long long[::1]",
        types="const unsigned long long[::1]",
        offsets="const long long[::1]",
        k=cython.Py_ssize_t,
        last=cython.ulonglong,
        fresh=dict,
        aliases=dict,
        number_of=dict,
    )
    def _relate(self, numbers: Sequence[int]) -> bool:
        """Read which of the unit's aggregates contain which; False if that is not possible."""
        space, unit, relations = self._space, self._unit, self._relations
        found = member_types(space.info.cursor, unit)
        if found is None:
            return False
        defined = _defined(space.declared(unit))
        dies, given = space.declared(unit)["die"], space.given_names(unit)
        number_of = {dies[k]: number for k, number in zip(defined, numbers, strict=True)}
        fresh: dict[int, int] = {}
        rows = [k for k, number in zip(defined, numbers, strict=True) if number not in relations.known]
        for k, name in zip(rows, space.row_names(unit, rows), strict=True):
            die = dies[k]
            number = number_of[die]
            if number not in relations.known:
                fresh[die] = number
                relations.known.add(number)
                name = name or (space.given_name(unit, die) if die in given else "")
                relations.named.setdefault(name, []).append(number)
        wholes, types, offsets = found
        aliases: dict[int, int] = {}
        for k in range(len(offsets)):
            if offsets[k] == -1:
                aliases[wholes[k]] = types[k]
        last, whole = 0, None
        for k in range(len(offsets)):
            if offsets[k] < 0:
                continue
            if wholes[k] != last:
                # The members of an aggregate are consecutive.
                last = wholes[k]
                whole = fresh.get(last)
            if whole is None:
                continue
            of = types[k]
            for _hop in range(_MOST_ALIASES):
                if of not in aliases:
                    break
                of = aliases[of]
            if of in number_of:
                relations.add(number_of[of], whole, offsets[k])
        return True

    def named(self, name: str) -> list[int]:
        """The aggregates with an unqualified name, their own or that of a typedef."""
        return self._relations.named.get(name, [])

    def wholes(self, t: int, *, bases_only: bool) -> dict[int, list[int]] | None:
        """{container: ascending offsets} of the unit's aggregates that contain a type, directly or not; None if
        unknown."""
        if not self._read:
            self._load()
        order = self._order
        if order is None:
            return None
        found: dict[int, list[int]] = {}
        for part in self._same(t):
            for whole, offsets in self._relations.wholes(part, bases_only=bases_only).items():
                # A type of the unit has all of its parts there.
                if whole in order:
                    found[whole] = sorted({*found[whole], *offsets}) if whole in found else offsets
        # Independent of the order in which units were read.
        return {whole: found[whole] for whole in sorted(found, key=order.__getitem__)}

    def _same(self, t: int) -> list[int]:
        """The ids of a type: equal types nested in another type may have several."""
        graph = self._source.graph
        canonical, stripped = graph.canonical(t), graph.strip(t)
        found = dict.fromkeys((stripped, canonical))
        name = graph.name(stripped)
        at = 0
        while name and at >= 0:
            for number in self.named(name):
                if number not in found and graph.canonical(number) == canonical:
                    found[number] = None
            at = name.find("::")
            name = name[at + 2 :]
        return list(found)
