"""What else DWARF tells of around a function: the aggregates of its unit, and the types its variables are of.

They answer which whole a pointer to a part may be in: a base class of something, a member of a structure.
"""

from collections.abc import Sequence

from undwarf.dwarf.constants import ValueClass
from undwarf.types.from_dwarf import DwarfSource
from undwarf.types.locate import Embedders

__all__ = ["Neighbours"]

_AGGREGATES = frozenset((0x13, 0x17, 0x02))
_MOST_AGGREGATES = 4096
"""Aggregates of a unit that are looked through; of larger units nothing is said."""
_OUTERMOST = 0xFFFFFFFF
_SHARED_STRINGS = frozenset((ValueClass.STRP, ValueClass.STRP_ALT))
_KEPT = 16
_C = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E))
_CXX = frozenset((0x04, 0x1A, 0x21, 0x2B, 0x3A))
"""DW_LANG_* of C, and of C++."""


class Neighbours:
    """The aggregates around functions of one binary, unit by unit."""

    def __init__(self, source: DwarfSource) -> None:
        self._source = source
        self._units: dict[tuple[int, int], Embedders] = {}
        self._seen: dict[tuple[object, ...], int] = {}

    def embedders(self, pc: int) -> Embedders:
        """What has what as a member, among the types of the unit of an address; the function's own types first."""
        source = self._source
        place = source.place(pc)
        if place is None:
            return Embedders(source.graph, None)
        space, unit, _entry = place
        key = (space.number, unit)
        found = self._units.get(key)
        if found is None:
            if len(self._units) >= _KEPT:
                self._units.pop(next(iter(self._units)))
            language = space.language(unit)
            found = self._units[key] = Embedders(
                source.graph,
                lambda: self._aggregates(pc),
                bases_only=language in _CXX,
                wanted_only=language not in _CXX and language not in _C,
            )
        return found.preferring(lambda: self._mentioned(pc))

    def _aggregates(self, pc: int) -> Sequence[int] | None:
        place = self._source.place(pc)
        if place is None:
            return None
        space, unit, _entry = place
        rows = space.declared(unit)
        tags, flags, dies = rows["tag"], rows["flags"], rows["die"]
        wanted = [k for k, tag in enumerate(tags) if tag in _AGGREGATES and not flags[k] & 1]
        if len(wanted) > _MOST_AGGREGATES:
            return None
        # Headers' types are in unit after unit: one of a name, or of a place within one of a name, serves for all.
        kinds, names, parents = rows["kind"], rows["name"], rows["parent"]
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
                given = space.given_name(unit, dies[k])
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
