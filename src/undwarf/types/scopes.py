# cython: language_level=3, annotation_typing=False
"""The scopes of a function and what is declared in each: blocks, inlined functions, variables with their places."""

from collections.abc import Callable
from typing import Any

import cython

from undwarf.dwarf.constants import Root
from undwarf.dwarf.info import Entry
from undwarf.types.dwarf_types import DwarfTypes
from undwarf.types.entries import (
    ABSTRACT_ORIGIN,
    FRAME_BASE,
    HIGH_PC,
    LOW_PC,
    MAX_CHILDREN,
    NAME,
    RANGES,
    SPECIFICATION,
    TAG_PACK,
    tags_of,
)
from undwarf.types.locations import FrameBase, Lists, Spot, spots
from undwarf.types.model import VOID
from undwarf.types.places import Place, PlaceKind

_INLINED, _BLOCK, _TRY, _CATCH = 0x1D, 0x0B, 0x32, 0x25
_WITHIN = tags_of(0x34, 0x05, into=(_INLINED, _BLOCK, _TRY, _CATCH, TAG_PACK))
_IN_REGISTERS = frozenset((PlaceKind.REGISTER, PlaceKind.VALUE))
_ON_FRAME = frozenset((PlaceKind.MEMORY, PlaceKind.CFA))
# Places by the ten thousand: past the named tuple's own way to be made.
_as_it_is = tuple.__new__
MAX_PLACES = 200_000
"""Places of one function that are kept."""
_KEPT = 1 << 16
"""Variables, and expressions, that are kept for the functions looked at next."""

# undwarf.dwarf.constants.ValueClass
ADDRESS = cython.declare(cython.int, 1)
UNSIGNED = cython.declare(cython.int, 2)
BLOCK = cython.declare(cython.int, 5)
STRING = cython.declare(cython.int, 6)
STRP = cython.declare(cython.int, 7)
REF = cython.declare(cython.int, 11)
SEC_OFFSET = cython.declare(cython.int, 14)
ADDRX = cython.declare(cython.int, 15)
LOCLISTX = cython.declare(cython.int, 16)
ROW = cython.declare(cython.Py_ssize_t, 12)
"""Numbers of each row of :meth:`undwarf.dwarf.info.Info.variables`."""
VARIABLE = cython.declare(cython.int, 0x34)
PARAMETER = cython.declare(cython.int, 0x05)
PACK = cython.declare(cython.int, TAG_PACK)


@cython.final
@cython.cclass
class Scope:
    """Code ranges of a scope, how deep it is (0 the function), and the places of what is declared directly in it."""

    depth = cython.declare(cython.Py_ssize_t, visibility="readonly")
    ranges = cython.declare(list, visibility="readonly")
    places = cython.declare(list, visibility="readonly")

    def __init__(self, depth: int, ranges: list[tuple[int, int]]) -> None:
        self.depth = depth
        self.ranges = ranges
        self.places = []

    def holds(self, pc: int) -> bool:
        """Whether an address is in the scope."""
        return any(low <= pc < high for low, high in self.ranges)


class Declared:
    """What is known of the variables of a space: names and types of those that others are copies of, by their offsets;
    what expressions tell that say the same in all units, by frame base and expression."""

    def __init__(self) -> None:
        self.origins: dict[int, tuple[str, int]] = {}
        self.spots: dict[tuple[FrameBase | None, int], dict[bytes, list[Spot]]] = {}


@cython.final
@cython.cclass
class FunctionScopes:
    """The scopes of one function, outermost first. ``entry`` is its concrete entry; ``base`` its unit's low address;
    ``environment`` tells the type of what a closure has captured, void for none."""

    entry = cython.declare(object, visibility="readonly")
    scopes = cython.declare(list, visibility="readonly")
    types = cython.declare(dict, visibility="readonly")
    """Types of all variables and parameters, those without a place too."""
    ranges = cython.declare(list, visibility="readonly")
    _types = cython.declare(object)
    _environment = cython.declare(object)
    _space = cython.declare(object)
    _unit: cython.Py_ssize_t
    _base = cython.declare(object)
    _order = cython.declare(object)
    _address_size: cython.int
    _version: cython.int
    _left: cython.Py_ssize_t
    _through: list[tuple[Scope, str, int, Spot, int, int]]
    """Variables whose address, or that of what they are a part of, is in a place of its own."""
    _lists = cython.declare(object)
    _lists_at = cython.declare(object)
    _origins: dict[int, tuple[str, int]]
    _known_spots: dict[bytes, list[Spot]]
    _own_spots: dict[bytes, list[Spot]]
    _asked: cython.bint
    _frame_base = cython.declare(object)

    def __init__(
        self,
        types: DwarfTypes,
        entry: Entry,
        base: int,
        environment: Callable[[DwarfTypes, Entry], int],
        declared: Declared,
    ) -> None:
        self.entry = entry
        self._types = types
        self._environment = environment
        self._base = base
        self._space = entry.space
        self._unit = entry.unit
        self._order = entry.space.file.elf.byte_order
        self._address_size = entry.space.columns["address"][entry.unit]
        self._version = entry.space.columns["version"][entry.unit]
        self._left = MAX_PLACES
        self._through = []
        self._lists = None
        self._lists_at = None
        self._origins = declared.origins
        self._own_spots = {}
        self._asked = False
        self.scopes = []
        self.types = {}
        self.ranges = self._ranges_of(
            entry.kind(LOW_PC), entry.value(LOW_PC), entry.kind(HIGH_PC), entry.value(HIGH_PC), entry.kind(RANGES),
            entry.value(RANGES),
        ) or []  # fmt: skip
        self._frame_base = self._read_frame_base(entry)
        self._known_spots = declared.spots.setdefault((self._frame_base, self._address_size), {})
        if len(self._origins) > _KEPT:
            self._origins.clear()
        if len(self._known_spots) > _KEPT:
            self._known_spots.clear()
        self._walk(entry)
        if self._through:
            self._lead_through()

    # Code --------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.locals(low_kind=cython.int, high_kind=cython.int, list_kind=cython.int)
    def _ranges_of(
        self, low_kind: int, low: int, high_kind: int, high: int, list_kind: int, ranges: int
    ) -> "list[tuple[int, int]] | None":
        """The code of an entry, by its attributes' classes and values; None where it does not say."""
        if list_kind:
            found: list[tuple[int, int]] = self._space.info.ranges_of(self._unit, list_kind, ranges)
            return found
        first = self._address(low_kind, low)
        if first is None:
            return None
        if not high_kind:
            return [(first, first + 1)]
        last = self._address(high_kind, high)
        if last is None:
            last = first + high
        return [(first, last)] if first < last else []

    @cython.cfunc
    @cython.locals(kind=cython.int)
    def _address(self, kind: int, value: int) -> int | None:
        if kind == ADDRESS:
            return value
        return self.indexed(value) if kind == ADDRX else None

    def indexed(self, index: int) -> int | None:
        """The address that an index stands for in the function's unit."""
        self._asked = True
        found: int | None = self._types.spaces.indexed_address(self._space, self._unit, index)
        return found

    # Places ------------------------------------------------------------------------------------------------

    @cython.cfunc
    def _spots(self, expression: "bytes | memoryview", frame_base: FrameBase | None) -> list[Spot]:
        return spots(
            expression,
            address_size=self._address_size,
            order=self._order,
            frame_base=frame_base,
            indexed=self.indexed,
            steps=self._types.graph.limits.expression_steps,
        )

    @cython.cfunc
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

    @cython.cfunc
    @cython.locals(kind=cython.int)
    def _list(self, kind: int, value: int) -> list[tuple[int, int, bytes]]:
        space, file = self._space, self._space.file
        lists = self._lists
        if lists is None:
            version = 5 if self._version >= 5 else 0 if file.split else 4
            self._lists_at = file.section("debug_loclists" if version == 5 else "debug_loc")
            lists = self._lists = Lists(
                self._lists_at,
                version=version,
                base=self._base,
                address_size=self._address_size,
                order=self._order,
                indexed=self.indexed,
            )
        if kind == LOCLISTX and self._version >= 5:
            width = space.columns["width"][self._unit]
            start = file.roots.value(self._unit, Root.LOCLISTS_BASE)
            if start is None:
                start = 12 if width == 4 else 20
            at = start + value * width
            if at + width > len(self._lists_at):
                return []
            value = start + int.from_bytes(self._lists_at[at : at + width], self._order)
        found: list[tuple[int, int, bytes]] = lists.at_offset(value)
        return found

    @cython.cfunc
    @cython.locals(
        rows="const unsigned long long[::1]",
        row=cython.Py_ssize_t,
        kind=cython.int,
        scope=Scope,
        leads=cython.bint,
        low=cython.ulonglong,
        high=cython.ulonglong,
    )
    def _variable(self, rows: Any, row: int, scope: Scope) -> None:
        kind = rows[row + 9]
        name, t = self._declared(rows, row)
        self.types[t] = None
        if kind == 0:
            return
        leads = self._types.leads(t)
        if kind == BLOCK:
            places = self._places(bytes(self._space.data[rows[row + 10] : rows[row + 10] + rows[row + 11]]))
            for low, high in scope.ranges:
                self._add(scope, name, t, leads, places, low, high)
        elif kind in (SEC_OFFSET, LOCLISTX, UNSIGNED):
            for low, high, expression in self._list(kind, rows[row + 10]):
                if low < high:
                    self._add(scope, name, t, leads, self._places(expression), low, high)

    @cython.cfunc
    @cython.locals(rows="const unsigned long long[::1]", row=cython.Py_ssize_t)
    def _declared(self, rows: Any, row: int) -> tuple[str, int]:
        """Name and type of a variable; those of one that is inlined again and again are read once."""
        if rows[row + 3] == REF and not rows[row + 5] and not rows[row + 7]:
            origin = rows[row + 4]
            found = self._origins.get(origin)
            if found is None:
                further = self._space.entry(origin)
                found = ("", VOID) if further is None else (name_of_entry(further), self._types.of(further))
                self._origins[origin] = found
            return found
        if rows[row + 5] == REF and rows[row + 7]:
            name = self._space.file.string(rows[row + 7], rows[row + 8], self._unit, self._space.data)
            if name:
                return name, self._types.number(self._space, min(rows[row + 6], 1 << 62))
        entry = self._space.entry_in(self._unit, rows[row + 2])
        return ("", VOID) if entry is None else (name_of_entry(entry), self._types.of(entry))

    @cython.cfunc
    def _places(self, expression: bytes) -> list[Spot]:
        """The places an expression tells; most expressions are written over and over."""
        found = self._known_spots.get(expression)
        if found is None:
            found = self._own_spots.get(expression)
            if found is None:
                self._asked = False
                found = self._spots(expression, self._frame_base)
                if len(found) > 1:
                    found = without_doubles(found)
                # What an index stands for is each unit's own.
                (self._own_spots if self._asked else self._known_spots)[expression] = found
        return found

    @cython.cfunc
    @cython.locals(scope=Scope, leads=cython.bint, low=cython.ulonglong, high=cython.ulonglong)
    def _add(self, scope: Scope, name: str, t: int, leads: bool, found: list[Spot], low: int, high: int) -> None:
        places = scope.places
        for spot in found:
            kind, register, offset, piece_offset, piece_size, indirect, _beyond, _further = spot
            if not leads and places and not indirect and kind in _IN_REGISTERS:
                continue
            if self._left <= 0:
                self._types.graph.defects.add("too many places of variables", self._types.graph.subject)
                return
            self._left -= 1
            if indirect:
                self._through.append((scope, name, t, spot, low, high))
                continue
            if scope.depth and kind in _ON_FRAME and not _within(low, high, scope.ranges):
                # Lists go on where the variable's scope has ended, and others are there.
                for first, last in scope.ranges:
                    if first < high and low < last:
                        part = (name, t, kind, register, offset, max(low, first), min(high, last))
                        places.append(Place(*part, piece_offset, piece_size))
                continue
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

    @cython.cfunc
    @cython.locals(
        rows="const unsigned long long[::1]",
        row=cython.Py_ssize_t,
        depth=cython.Py_ssize_t,
        tag=cython.int,
        scope=Scope,
        below=Scope,
        inside=list,
    )
    def _walk(self, entry: Entry) -> None:
        outermost = Scope(0, self.ranges)
        self.scopes.append(outermost)
        if not entry.has_children:
            return
        # What the entries at each depth are declared in.
        inside = [outermost]
        rows = self._space.info.variables(self._unit, entry.behind, _WITHIN, MAX_CHILDREN)
        for row in range(0, rows.shape[0], ROW):
            tag, depth = rows[row], rows[row + 1]
            if depth + 1 < len(inside):
                del inside[depth + 1 :]
            if len(inside) <= depth:
                # What it is in could not be read.
                continue
            scope = inside[depth]
            if tag in (VARIABLE, PARAMETER):
                self._variable(rows, row, scope)
            elif tag == PACK:
                inside.append(scope)
            else:
                ranges = self._ranges_of(
                    rows[row + 3], rows[row + 4], rows[row + 5], rows[row + 6], rows[row + 7], rows[row + 8]
                )
                below = Scope(scope.depth + 1, scope.ranges if ranges is None else ranges)
                self.scopes.append(below)
                inside.append(below)


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
