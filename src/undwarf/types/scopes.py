# cython: language_level=3, annotation_typing=False
"""The scopes of a function and what is declared in each: blocks, inlined functions, variables with their places."""

from collections.abc import Callable
from dataclasses import dataclass, field

from undwarf.dwarf.constants import Root, ValueClass
from undwarf.types.dwarf_types import DwarfTypes
from undwarf.types.entries import (
    ABSTRACT_ORIGIN,
    FRAME_BASE,
    HIGH_PC,
    LOCATION,
    LOW_PC,
    NAME,
    RANGES,
    SPECIFICATION,
    TAG_PACK,
    TYPE,
    Entry,
    Space,
    tags_of,
)
from undwarf.types.locations import FrameBase, Spot, new_list, old_list, split_list, spots
from undwarf.types.model import VOID
from undwarf.types.places import Place, PlaceKind

_SUBPROGRAM, _INLINED, _BLOCK, _TRY, _CATCH = 0x2E, 0x1D, 0x0B, 0x32, 0x25
_VARIABLE, _PARAMETER = 0x34, 0x05
_NESTED = frozenset((_INLINED, _BLOCK, _TRY, _CATCH))
_WITHIN = tags_of(_VARIABLE, _PARAMETER, into=(_INLINED, _BLOCK, _TRY, _CATCH, TAG_PACK))
_IN_REGISTERS = frozenset((PlaceKind.REGISTER, PlaceKind.VALUE))
_ON_FRAME = frozenset((PlaceKind.MEMORY, PlaceKind.CFA))
_as_it_is = tuple.__new__
MAX_PLACES = 200_000
"""Places of one function that are kept."""


@dataclass(slots=True)
class Scope:
    """Code ranges of a scope, how deep it is (0 the function), and the places of what is declared directly in it."""

    depth: int
    ranges: list[tuple[int, int]]
    places: list[Place] = field(default_factory=list)

    def holds(self, pc: int) -> bool:
        """Whether an address is in the scope."""
        return any(low <= pc < high for low, high in self.ranges)


class FunctionScopes:
    """The scopes of one function, outermost first. ``entry`` is its concrete entry; ``base`` its unit's low address;
    ``environment`` tells the type of what a closure has captured, void for none."""

    def __init__(
        self, types: DwarfTypes, entry: Entry, base: int, environment: Callable[[DwarfTypes, Entry], int]
    ) -> None:
        self.entry = entry
        self._types = types
        self._environment = environment
        self._base = base
        self._space: Space = entry.space
        self._unit = entry.unit
        self._order = entry.space.file.elf.byte_order
        self._address_size: int = entry.space.columns["address"][entry.unit]
        self._version: int = entry.space.columns["version"][entry.unit]
        self._left = MAX_PLACES
        self._through: list[tuple[Scope, str, int, Spot, int, int]] = []
        """Variables whose address, or that of what they are a part of, is in a place of its own."""
        self._lists: memoryview | None = None
        self._origins: dict[int, tuple[str, int]] = {}
        self._known_spots: dict[bytes, list[Spot]] = {}
        self._leading: dict[int, bool] = {}
        self.scopes: list[Scope] = []
        self.types: dict[int, None] = {}
        """Types of all variables and parameters, those without a place too."""
        self.ranges = self._ranges_of(entry) or []
        self._frame_base = self._read_frame_base(entry)
        self._walk(entry)
        if self._through:
            self._lead_through()

    # Code --------------------------------------------------------------------------------------------------

    def _ranges_of(self, entry: Entry) -> "list[tuple[int, int]] | None":
        """The code of an entry; None where it does not say."""
        listed = entry.attributes.get(RANGES)
        if listed is not None:
            found: list[tuple[int, int]] = self._space.info.ranges_of(self._unit, listed.kind, listed.value)
            return found
        low_value, high_value = entry.attributes.get(LOW_PC), entry.attributes.get(HIGH_PC)
        if low_value is None:
            return None
        low = self._address(low_value.kind, low_value.value)
        if low is None:
            return None
        if high_value is None:
            return [(low, low + 1)]
        high = self._address(high_value.kind, high_value.value)
        if high is None:
            high = low + high_value.value
        return [(low, high)] if low < high else []

    def _address(self, kind: int, value: int) -> int | None:
        if kind == ValueClass.ADDRESS:
            return value
        return self._indexed(value) if kind == ValueClass.ADDRX else None

    def _indexed(self, index: int) -> int | None:
        return self._types.spaces.indexed_address(self._space, self._unit, index)

    # Places ------------------------------------------------------------------------------------------------

    def _spots(self, expression: "bytes | memoryview", frame_base: FrameBase | None) -> list[Spot]:
        return spots(
            expression,
            address_size=self._address_size,
            order=self._order,
            frame_base=frame_base,
            indexed=self._indexed,
            steps=self._types.graph.limits.expression_steps,
        )

    def _read_frame_base(self, entry: Entry) -> FrameBase | None:
        block = entry.block(FRAME_BASE)
        if block is None:
            return None
        found = self._spots(block, None)
        if len(found) != 1 or found[0].indirect:
            return None
        spot = found[0]
        if spot.kind == PlaceKind.REGISTER:
            return FrameBase(spot.register, 0)
        if spot.kind in (PlaceKind.MEMORY, PlaceKind.VALUE):
            return FrameBase(spot.register, spot.offset)
        if spot.kind in (PlaceKind.CFA, PlaceKind.CFA_VALUE):
            return FrameBase(-1, spot.offset)
        return None

    def _list(self, kind: int, value: int) -> list[tuple[int, int, bytes]]:
        space, file = self._space, self._space.file
        if self._version >= 5:
            data = self._lists
            if data is None:
                data = self._lists = file.section("debug_loclists")
            if kind == ValueClass.LOCLISTX:
                width = space.columns["width"][self._unit]
                start = file.roots.value(self._unit, Root.LOCLISTS_BASE)
                if start is None:
                    start = 12 if width == 4 else 20
                at = start + value * width
                if at + width > len(data):
                    return []
                value = start + int.from_bytes(data[at : at + width], self._order)
            return new_list(data, value, self._base, self._address_size, self._order, self._indexed)
        data = self._lists
        if data is None:
            data = self._lists = file.section("debug_loc")
        if file.split:
            return split_list(data, value, self._indexed, self._order)
        return old_list(data, value, self._base, self._address_size, self._order)

    def _variable(self, entry: Entry, scope: Scope) -> None:
        location = entry.attributes.get(LOCATION)
        name, t = self._declared(entry)
        self.types[t] = None
        if location is None:
            return
        leads = self._leads(t)
        if location.kind == ValueClass.BLOCK:
            block = entry.block(LOCATION)
            found = self._places(block) if block is not None else []
            for low, high in scope.ranges:
                self._add(scope, name, t, leads, found, low, high)
        elif location.kind in (ValueClass.SEC_OFFSET, ValueClass.LOCLISTX, ValueClass.UNSIGNED):
            known = self._known_spots
            for low, high, expression in self._list(location.kind, location.value):
                if low < high:
                    places = known.get(expression)
                    if places is None:
                        places = self._places(expression)
                    self._add(scope, name, t, leads, places, low, high)

    def _leads(self, t: int) -> bool:
        """Whether a value of a type in a register says what is in memory: numbers do not."""
        found = self._leading.get(t)
        if found is None:
            graph = self._types.graph
            found = self._leading[t] = graph.is_pointer(t) or not graph.is_scalar(t)
        return found

    def _declared(self, entry: Entry) -> tuple[str, int]:
        """Name and type of a variable; those of one that is inlined again and again are read once."""
        origin = entry.attributes.get(ABSTRACT_ORIGIN)
        if origin is None or origin.kind != ValueClass.REF or TYPE in entry.attributes or NAME in entry.attributes:
            return name_of_entry(entry), self._types.of(entry)
        found = self._origins.get(origin.value)
        if found is None:
            further = entry.reference(ABSTRACT_ORIGIN)
            found = ("", VOID) if further is None else (name_of_entry(further), self._types.of(further))
            self._origins[origin.value] = found
        return found

    def _places(self, expression: "bytes | memoryview") -> list[Spot]:
        """The places an expression tells; most expressions are written over and over."""
        key = expression if isinstance(expression, bytes) else bytes(expression)
        found = self._known_spots.get(key)
        if found is None:
            found = self._known_spots[key] = self._spots(key, self._frame_base)
        return found

    def _add(self, scope: Scope, name: str, t: int, leads: bool, found: list[Spot], low: int, high: int) -> None:
        places = scope.places
        if len(found) > 1:
            found = without_doubles(found)
        for spot in found:
            if not leads and places and spot.kind in _IN_REGISTERS and not spot.indirect:
                continue
            if self._left <= 0:
                self._types.graph.defects.add("too many places of variables", self._types.graph.subject)
                return
            self._left -= 1
            if spot.indirect:
                self._through.append((scope, name, t, spot, low, high))
                continue
            kind, register, offset, piece_offset, piece_size = spot[:5]
            if kind in _ON_FRAME and scope.depth and not _within(low, high, scope.ranges):
                # Lists go on where the variable's scope has ended, and others are there.
                for first, last in scope.ranges:
                    if first < high and low < last:
                        part = (name, t, kind, register, offset, max(low, first), min(high, last))
                        places.append(Place(*part, piece_offset, piece_size))
                continue
            # Places by the ten thousand: past the named tuple's own way to be made.
            places.append(_as_it_is(Place, (name, t, kind, register, offset, low, high, piece_offset, piece_size)))

    def _lead_through(self) -> None:
        """Make the places that hold addresses: of one variable, or of what several variables are parts of."""
        graph = self._types.graph
        ends: dict[tuple[bool, PlaceKind, int, int], int] = {}
        for scope, _name, t, spot, _low, _high in self._through:
            key = (scope.depth > 0, spot.kind, spot.register, spot.offset)
            size = graph.pointer_size if spot.further else max(graph.size(t), 0)
            ends[key] = max(ends.get(key, 0), spot.beyond and spot.beyond + size)
        whole = self._environment(self._types, self.entry) if any(ends.values()) else VOID
        for scope, name, t, spot, low, high in self._through:
            kind, register, offset = spot[:3]
            end = ends[scope.depth > 0, kind, register, offset]
            if end:
                if scope.depth or not whole or graph.size(whole) < end:
                    # A part of something unknown.
                    continue
                t = whole
            elif spot.further:
                continue
            of = graph.pointer_to(t)
            # What leads there may be a variable of its own, as a closure is to what it captured: that goes before.
            scope.places.insert(0, _as_it_is(Place, (name, of, kind, register, offset, low, high, 0, 0)))

    # Walking -----------------------------------------------------------------------------------------------

    def _walk(self, entry: Entry) -> None:
        outermost = Scope(0, self.ranges)
        self.scopes.append(outermost)
        # What the entries at each depth are declared in.
        inside = [outermost]
        for child, depth in self._space.below(entry, _WITHIN):
            del inside[depth + 1 :]
            if len(inside) <= depth:
                # What it is in could not be read.
                continue
            scope = inside[depth]
            if child.tag in _NESTED:
                ranges = self._ranges_of(child)
                below = Scope(scope.depth + 1, scope.ranges if ranges is None else ranges)
                self.scopes.append(below)
                inside.append(below)
            elif child.tag == TAG_PACK:
                inside.append(scope)
            else:
                self._variable(child, scope)


def without_doubles(found: list[Spot]) -> list[Spot]:
    """Without pieces that are all said to be in one register: a pointer and an index, of which one was there before."""
    registers = [spot.register for spot in found if spot.kind == PlaceKind.REGISTER]
    if len(set(registers)) == len(registers):
        return found
    return [spot for spot in found if spot.kind != PlaceKind.REGISTER or registers.count(spot.register) == 1]


def _within(low: int, high: int, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= low and high <= last for first, last in ranges)


def name_of_entry(entry: Entry) -> str:
    """An entry's plain name, from its origin or specification where it has none itself."""
    for _hop in range(8):
        name = entry.string(NAME)
        if name:
            return name
        further = entry.reference(ABSTRACT_ORIGIN) or entry.reference(SPECIFICATION)
        if further is None:
            return ""
        entry = further
    return ""
