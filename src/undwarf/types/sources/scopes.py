# cython: language_level=3, annotation_typing=False
"""The scopes of a function and what is declared in each: blocks, inlined functions, variables with their places."""

from collections.abc import Callable
from typing import Any

import cython

from undwarf.buffers import longer, zeros
from undwarf.dwarf.constants import Root
from undwarf.dwarf.info import Entry
from undwarf.types.layouts.model import VOID
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.entries import (
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
from undwarf.types.sources.location_lists import Lists
from undwarf.types.sources.locations import FrameBase, Spot, spots
from undwarf.types.sources.place_table import WORDS, PlaceTable, words_of
from undwarf.types.sources.places import Place, PlaceKind

_INLINED, _BLOCK, _TRY, _CATCH = 0x1D, 0x0B, 0x32, 0x25
_WITHIN = tags_of(0x34, 0x05, into=(_INLINED, _BLOCK, _TRY, _CATCH, TAG_PACK))
# Places by the ten thousand: past the named tuple's own way to be made.
_as_it_is = tuple.__new__
MAX_PLACES = 200_000
"""Places of one function that are kept."""
_KEPT = 1 << 16
"""Variables, and expressions, that are kept for the functions looked at next."""
_PLACE_COST, _SCOPE_COST = 100, 50
"""Bytes, about, that a place of a variable takes, and a scope."""

# undwarf.dwarf.constants.ValueClass
ADDRESS = cython.declare(cython.int, 1)
UNSIGNED = cython.declare(cython.int, 2)
BLOCK = cython.declare(cython.int, 5)
STRP = cython.declare(cython.int, 7)
STRX = cython.declare(cython.int, 9)
REF = cython.declare(cython.int, 11)
SEC_OFFSET = cython.declare(cython.int, 14)
ADDRX = cython.declare(cython.int, 15)
LOCLISTX = cython.declare(cython.int, 16)
ENTRY = cython.declare(cython.Py_ssize_t, 12)
"""Numbers of each row of :meth:`undwarf.dwarf.info.Info.variables`."""
PLACE_WORDS = cython.declare(cython.Py_ssize_t, WORDS)
AT_REGISTER = cython.declare(cython.int, 1)
"""A kind of places, as in `places.py`."""
# What matters of spots' kinds.
IN_REGISTER = cython.declare(cython.int, 1)
ON_FRAME = cython.declare(cython.int, 2)
NOWHERE = cython.declare(cython.int, 4)
INDIRECT = cython.declare(cython.int, 8)
_FLAGS = {
    PlaceKind.REGISTER: 1, PlaceKind.VALUE: 1, PlaceKind.MEMORY: 2, PlaceKind.CFA: 2, PlaceKind.CONSTANT: 4,
    PlaceKind.CFA_VALUE: 2,
}  # fmt: skip
VARIABLE = cython.declare(cython.int, 0x34)
PARAMETER = cython.declare(cython.int, 0x05)
INLINED = cython.declare(cython.int, _INLINED)
PACK = cython.declare(cython.int, TAG_PACK)
ROW = cython.declare(cython.Py_ssize_t, 6)
"""Numbers of a place: where it begins and ends to be valid; which expression tells it, and which of its spots it is;
whose it is; the scope."""
SCOPE = cython.declare(cython.Py_ssize_t, 5)
"""Numbers of a scope: its depth (0 the function), its first range and the one behind its last, how many places; of an
inlined function the offset of its entry, else 0."""


@cython.final
@cython.cclass
class _Variable:
    """A variable's name and type; whether its value in a register says what is in memory, -1 while nobody asked."""

    name = cython.declare(str)
    type = cython.declare(cython.longlong)
    leads = cython.declare(cython.int)

    def __init__(self, name: str, t: int) -> None:
        self.name = name
        self.type = t
        self.leads = -1


@cython.final
@cython.cclass
class _Told:
    """What one expression tells: its spots, and in a byte of each what matters of its kind. ``reader`` and ``number``:
    what it is called by the function read last."""

    spots = cython.declare(list)
    flags = cython.declare(bytes)
    words = cython.declare(tuple)
    """What rows of places say of the first spot (:func:`undwarf.types.sources.place_table.words_of`)."""
    reader = cython.declare(cython.longlong)
    number = cython.declare(cython.Py_ssize_t)

    def __init__(self, found: list[Spot]) -> None:
        self.spots = found
        self.words = None
        self.flags = bytes(_FLAGS.get(spot.kind, 0) | 8 * spot.indirect for spot in found)
        self.reader = -1


class Declared:
    """What is known of the variables of a space, for the functions looked at next: those that others are copies of, by
    their offsets; what expressions tell that say the same in all units, by frame base and expression."""

    def __init__(self) -> None:
        self.origins: dict[int, _Variable] = {}
        self.told: dict[tuple[FrameBase | None, int], dict[bytes, _Told]] = {}
        self.readers = 0
        self.room: Any = None
        """Where places are put before they are brought in order, while nobody does."""


@cython.final
@cython.cclass
class FunctionScopes:
    """The scopes of one function, and the places of what is declared in each. ``entry`` is its concrete entry; ``base``
    its unit's low address; ``environment`` tells the type of what a closure has captured, void for none."""

    entry = cython.declare(object, visibility="readonly")
    types = cython.declare(dict, visibility="readonly")
    """Types of all variables and parameters, those without a place too."""
    _types = cython.declare(object)
    _strings = cython.declare(dict)
    _environment = cython.declare(object)
    _space = cython.declare(object)
    _unit = cython.declare(cython.Py_ssize_t)
    _base = cython.declare(object)
    _order = cython.declare(object)
    _address_size = cython.declare(cython.int)
    _version = cython.declare(cython.int)
    _left = cython.declare(cython.Py_ssize_t)
    _through = cython.declare(list)
    """Variables whose address, or that of what they are a part of, is in a place of its own."""
    _lists = cython.declare(object)
    _rows_of_lists = cython.declare(object)
    _list_rows = cython.declare("unsigned long long[::1]")
    _list_data = cython.declare("const unsigned char[::1]")
    _origins = cython.declare(dict)
    _known = cython.declare(dict)
    _own = cython.declare(dict)
    _asked = cython.declare(cython.bint)
    _reader = cython.declare(cython.longlong)
    _frame_base = cython.declare(object)
    _variables = cython.declare(list)
    _told = cython.declare(list)
    _rows = cython.declare("unsigned long long[::1]")
    _row_total = cython.declare(cython.Py_ssize_t)
    _scopes = cython.declare("unsigned long long[::1]")
    _scope_total = cython.declare(cython.Py_ssize_t)
    _ranges = cython.declare("unsigned long long[::1]")
    _range_total = cython.declare(cython.Py_ssize_t)

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
        self._strings = entry.space.info.known_strings
        self._environment = environment
        self._base = base
        self._space = entry.space
        self._unit = entry.unit
        self._order = entry.space.file.elf.byte_order
        self._address_size = entry.space.columns["address"][entry.unit]
        self._version = entry.space.columns["version"][entry.unit]
        self._left = MAX_PLACES
        self._through = []
        self._lists = self._rows_of_lists = None
        self._own = {}
        self._asked = False
        self._variables = []
        self._told = []
        room, declared.room = declared.room, None
        self._rows = zeros("Q", ROW * 1024) if room is None else room
        self._scopes = zeros("Q", SCOPE * 32)
        self._ranges = zeros("Q", 2 * 64)
        self._row_total = self._scope_total = self._range_total = 0
        self.types = {}
        self._frame_base = self._read_frame_base(entry)
        self._origins = declared.origins
        self._known = declared.told.setdefault((self._frame_base, self._address_size), {})
        self._reader = declared.readers
        declared.readers += 1
        if len(self._origins) > _KEPT:
            self._origins.clear()
        if len(self._known) > _KEPT:
            self._known.clear()
        self._scope(
            0, -1, entry.kind(LOW_PC), entry.value(LOW_PC), entry.kind(HIGH_PC), entry.value(HIGH_PC),
            entry.kind(RANGES), entry.value(RANGES),
        )  # fmt: skip
        if entry.has_children:
            self._walk(self._space.info.variables(self._unit, entry.behind, _WITHIN, MAX_CHILDREN))
        if self._through:
            self._lead_through()
        declared.room = memoryview(self._rows)
        self._in_order()
        # Only reading needs them.
        self._own = {}
        self._lists = self._rows_of_lists = None

    @property
    def cost(self) -> int:
        """Bytes, about, that are kept."""
        return _SCOPE_COST * self._scope_total + _PLACE_COST * self._row_total

    # Code --------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.returns(cython.Py_ssize_t)
    @cython.exceptval(-1)
    @cython.locals(
        outer=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        low_kind=cython.int,
        high_kind=cython.int,
        list_kind=cython.int,
        depth=cython.Py_ssize_t,
        first=cython.ulonglong,
        last=cython.ulonglong,
    )
    def _scope(
        self, depth: int, outer: int, low_kind: int, low: int, high_kind: int, high: int, list_kind: int, ranges: int
    ) -> int:
        """A further scope, by its entry's attributes, their classes and values; its code is that of the scope
        ``outer`` where it does not say."""
        at = SCOPE * self._scope_total
        if at == self._scopes.shape[0]:
            self._scopes = longer(self._scopes, at, 2 * at)
        self._scopes[at] = depth
        self._scopes[at + 1] = self._range_total
        if list_kind:
            for start, end in self._space.info.ranges_of(self._unit, list_kind, ranges):
                self._range(start, end)
        else:
            begin = self._address(low_kind, low)
            if begin is not None:
                first = begin
                stop = self._address(high_kind, high) if high_kind else first + 1
                last = stop if stop is not None else first + cython.cast(cython.ulonglong, high)
                if first < last:
                    self._range(first, last)
            elif outer >= 0:
                self._scopes[at + 1] = self._scopes[SCOPE * outer + 1]
                self._scopes[at + 2] = self._scopes[SCOPE * outer + 2]
                self._scope_total += 1
                return self._scope_total - 1
        self._scopes[at + 2] = self._range_total
        self._scope_total += 1
        return self._scope_total - 1

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(low=cython.ulonglong, high=cython.ulonglong)
    def _range(self, low: int, high: int) -> int:
        if 2 * self._range_total == self._ranges.shape[0]:
            self._ranges = longer(self._ranges, 2 * self._range_total, 4 * self._range_total)
        self._ranges[2 * self._range_total] = low
        self._ranges[2 * self._range_total + 1] = high
        self._range_total += 1
        return 0

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

    # Expressions -------------------------------------------------------------------------------------------

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
    @cython.locals(told=_Told)
    def _of_expression(self, expression: bytes) -> _Told:
        """What an expression tells; most are written over and over."""
        found: _Told | None = self._known.get(expression)
        if found is None:
            found = self._own.get(expression)
        if found is None:
            self._asked = False
            places = self._spots(expression, self._frame_base)
            found = _Told(without_doubles(places) if len(places) > 1 else places)
            # What an index stands for is each unit's own.
            (self._own if self._asked else self._known)[expression] = found
        told = found
        if told.reader != self._reader:
            told.reader = self._reader
            told.number = len(self._told)
            self._told.append(told)
        return told

    @cython.cfunc
    @cython.returns(cython.Py_ssize_t)
    @cython.exceptval(-1)
    @cython.locals(kind=cython.int)
    def _list(self, kind: int, value: int) -> int:
        """How many entries a list has, which are then in ``_list_rows``: start, end, place and size of expressions."""
        lists = self._lists
        if lists is None:
            lists = self._lists = self._read_lists()
        if kind == LOCLISTX and self._version >= 5:
            value = lists.offset_of(value)
        total: int = lists.read(value)
        if self._rows_of_lists is not lists.rows:
            # More room was needed.
            self._list_rows = self._rows_of_lists = lists.rows
        return total

    @cython.cfunc
    def _read_lists(self) -> Lists:
        """The lists of the function's unit."""
        space, file = self._space, self._space.file
        width = space.columns["width"][self._unit]
        table = file.roots.value(self._unit, Root.LOCLISTS_BASE) if self._version >= 5 else 0
        data = file.section("debug_loclists" if self._version >= 5 else "debug_loc")
        self._list_data = data
        return Lists(
            data,
            version=5 if self._version >= 5 else 0 if file.split else 4,
            base=self._base,
            address_size=self._address_size,
            order=self._order,
            addresses=self._types.spaces.addresses(space, self._unit),
            table=table if table is not None else 12 if width == 4 else 20,
            width=width,
        )

    # Places ------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        entries="const unsigned long long[::1]",
        row=cython.Py_ssize_t,
        depth=cython.Py_ssize_t,
        tag=cython.int,
        scope=cython.Py_ssize_t,
        number=cython.Py_ssize_t,
        inside=list,
    )
    def _walk(self, entries: Any) -> int:
        # What the entries at each depth are declared in.
        inside = [0]
        for row in range(0, entries.shape[0], ENTRY):
            tag = cython.cast(cython.int, entries[row])
            depth = cython.cast(cython.Py_ssize_t, entries[row + 1])
            if depth + 1 < len(inside):
                del inside[depth + 1 :]
            if len(inside) <= depth:
                # What it is in could not be read.
                continue
            scope = inside[depth]
            if tag in (VARIABLE, PARAMETER):
                self._variable(entries, row, scope)
            elif tag == PACK:
                inside.append(scope)
            else:
                number = self._scope(
                    cython.cast(cython.Py_ssize_t, self._scopes[SCOPE * scope]) + 1,
                    scope,
                    cython.cast(cython.int, entries[row + 3]),
                    entries[row + 4],
                    cython.cast(cython.int, entries[row + 5]),
                    entries[row + 6],
                    cython.cast(cython.int, entries[row + 7]),
                    entries[row + 8],
                )
                if tag == INLINED:
                    self._scopes[SCOPE * number + 4] = entries[row + 2]
                inside.append(number)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        entries="const unsigned long long[::1]",
        row=cython.Py_ssize_t,
        scope=cython.Py_ssize_t,
        kind=cython.int,
        variable=_Variable,
        told=_Told,
        k=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        start=cython.Py_ssize_t,
        size=cython.Py_ssize_t,
        before=cython.Py_ssize_t,
        base="const char *",
        expression=bytes,
    )
    def _variable(self, entries: Any, row: int, scope: int) -> int:
        kind = cython.cast(cython.int, entries[row + 9])
        variable = self._declared(entries, row)
        self.types[variable.type] = None
        if kind == 0:
            return 0
        if variable.leads < 0:
            variable.leads = self._types.leads(variable.type)
        before = self._row_total
        if kind == BLOCK:
            expression = bytes(self._space.data[entries[row + 10] : entries[row + 10] + entries[row + 11]])
            told = self._of_expression(expression)
            for k in range(self._scopes[SCOPE * scope + 1], self._scopes[SCOPE * scope + 2]):
                self._add(scope, variable, told, self._ranges[2 * k], self._ranges[2 * k + 1])
        elif kind in (SEC_OFFSET, LOCLISTX, UNSIGNED):
            total = self._list(kind, entries[row + 10])
            for k in range(total):
                if self._list_rows[4 * k] < self._list_rows[4 * k + 1]:
                    start = self._list_rows[4 * k + 2]
                    size = self._list_rows[4 * k + 3]
                    expression = b""
                    if 0 < size <= self._list_data.shape[0] - start:
                        # All of it is inside.
                        base = cython.cast("const char *", cython.address(self._list_data[start]))
                        expression = base[:size]
                    told = self._of_expression(expression)
                    self._add(scope, variable, told, self._list_rows[4 * k], self._list_rows[4 * k + 1])
        if self._row_total > before:
            self._variables.append(variable)
        return 0

    @cython.cfunc
    @cython.locals(entries="const unsigned long long[::1]", row=cython.Py_ssize_t)
    def _declared(self, entries: Any, row: int) -> _Variable:
        """Name and type of a variable; those of one that is inlined again and again are read once."""
        if entries[row + 3] == REF and not entries[row + 5] and not entries[row + 7]:
            origin = entries[row + 4]
            found: _Variable | None = self._origins.get(origin)
            if found is None:
                found = self._origins[origin] = self._described(self._space.entry(origin))
            return found
        if entries[row + 5] == REF and entries[row + 7]:
            name: str | None = None
            if entries[row + 7] == STRP:
                name = self._strings.get(entries[row + 8])
            elif entries[row + 7] == STRX and entries[row + 8] >> 32 == 0:
                name = self._strings.get(~(self._unit << 32 | cython.cast(cython.Py_ssize_t, entries[row + 8])))
            if name is None:
                name = self._space.file.string(entries[row + 7], entries[row + 8], self._unit, self._space.data)
            if name:
                return _Variable(name, self._types.number(self._space, min(entries[row + 6], 1 << 62)))
        return self._described(self._space.entry_in(self._unit, entries[row + 2]))

    @cython.cfunc
    def _described(self, entry: Entry | None) -> _Variable:
        return _Variable("", VOID) if entry is None else _Variable(name_of_entry(entry), self._types.of(entry))

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        variable=_Variable,
        told=_Told,
        low=cython.ulonglong,
        high=cython.ulonglong,
        first=cython.ulonglong,
        last=cython.ulonglong,
        which=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        flags=cython.int,
    )
    def _add(self, scope: int, variable: _Variable, told: _Told, low: int, high: int) -> int:
        """What an expression tells of a variable becomes places of a scope."""
        for which in range(len(told.spots)):
            flags = told.flags[which]
            if flags == IN_REGISTER and not variable.leads and self._scopes[SCOPE * scope + 3]:
                continue
            if self._left <= 0:
                self._types.graph.defects.add("too many places of variables", self._types.graph.subject)
                return 0
            self._left -= 1
            if flags & INDIRECT:
                self._through.append((scope, variable, told.spots[which], low, high))
            elif flags & ON_FRAME and self._scopes[SCOPE * scope] and not self._within(scope, low, high):
                # Lists go on where the variable's scope has ended, and others are there.
                for k in range(self._scopes[SCOPE * scope + 1], self._scopes[SCOPE * scope + 2]):
                    first, last = self._ranges[2 * k], self._ranges[2 * k + 1]
                    if first < high and low < last:
                        self._row(scope, told.number, which, max(low, first), min(high, last))
            elif (
                flags == IN_REGISTER
                and self._scopes[SCOPE * scope]
                and not self._within(scope, low, high)
                and told.spots[which][0] == AT_REGISTER
            ):
                self._split(scope, told.number, which, low, high)
            else:
                self._row(scope, told.number, which, low, high)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        told=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
        first=cython.ulonglong,
        last=cython.ulonglong,
        k=cython.Py_ssize_t,
    )
    def _split(self, scope: int, told: int, which: int, low: int, high: int) -> int:
        """The places of a variable in a register, inside of its scope and where it goes on outside."""
        for k in range(self._scopes[SCOPE * scope + 1], self._scopes[SCOPE * scope + 2]):
            first, last = max(low, self._ranges[2 * k]), min(high, self._ranges[2 * k + 1])
            if first < last and self._left > 0:
                if low < first:
                    self._row(scope, told, which, low, first)
                self._row(scope, told, which, first, last)
                self._left -= 1
                low = last
        if low < high:
            self._row(scope, told, which, low, high)
        return 0

    @cython.cfunc
    @cython.returns(cython.bint)
    @cython.exceptval(check=False)
    @cython.locals(scope=cython.Py_ssize_t, low=cython.ulonglong, high=cython.ulonglong, k=cython.Py_ssize_t)
    def _within(self, scope: int, low: int, high: int) -> bool:
        """Whether one range of a scope holds all of another."""
        for k in range(self._scopes[SCOPE * scope + 1], self._scopes[SCOPE * scope + 2]):
            if self._ranges[2 * k] <= low and high <= self._ranges[2 * k + 1]:
                return True
        return False

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        told=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
        at=cython.Py_ssize_t,
    )
    def _row(self, scope: int, told: int, which: int, low: int, high: int) -> int:
        """A place of the variable whose number is the next one."""
        at = ROW * self._row_total
        if at == self._rows.shape[0]:
            self._rows = longer(self._rows, at, 2 * at)
        self._rows[at] = low
        self._rows[at + 1] = high
        self._rows[at + 2] = told
        self._rows[at + 3] = which
        self._rows[at + 4] = len(self._variables)
        self._rows[at + 5] = scope
        self._row_total += 1
        self._scopes[SCOPE * scope + 3] += 1
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(variable=_Variable, scope=cython.Py_ssize_t, total=cython.Py_ssize_t, depth=cython.bint)
    def _lead_through(self) -> int:
        """Make the places that hold addresses: of one variable, or of what several variables are parts of."""
        graph = self._types.graph
        ends: dict[tuple[bool, PlaceKind, int, int], int] = {}
        for scope, variable, spot, _low, _high in self._through:
            key = (self._scopes[SCOPE * scope] > 0, spot.kind, spot.register, spot.offset)
            size = graph.pointer_size if spot.further else max(graph.size(variable.type), 0)
            ends[key] = max(ends.get(key, 0), spot.beyond and spot.beyond + size)
        whole = self._environment(self._types, self.entry) if any(ends.values()) else VOID
        rows, total = self._rows, self._row_total
        self._rows, self._row_total = zeros("Q", ROW * (total + len(self._through))), 0
        # What leads there may be a variable of its own, as a closure is to what it captured: that goes before.
        for scope, variable, spot, low, high in reversed(self._through):
            depth = self._scopes[SCOPE * scope] > 0
            end = ends[depth, spot.kind, spot.register, spot.offset]
            t = variable.type
            if end:
                if depth or not whole or graph.size(whole) < end:
                    # A part of something unknown.
                    continue
                t = whole
            elif spot.further:
                continue
            self._told.append(_Told([Spot(spot.kind, spot.register, spot.offset)]))
            self._row(scope, len(self._told) - 1, 0, low, high)
            self._variables.append(_Variable(variable.name, graph.pointer_to(t)))
        self._rows[ROW * self._row_total : ROW * (self._row_total + total)] = rows[: ROW * total]
        self._row_total += total
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        ordered="unsigned long long[::1]",
        begins="unsigned long long[::1]",
        scope=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        to=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
    )
    def _in_order(self) -> int:
        """Bring the places of outer scopes before those of inner ones, each scope's as they were found."""
        begins = zeros("Q", self._scope_total)
        depths = [self._scopes[SCOPE * k] for k in range(self._scope_total)]
        at = 0
        for scope in sorted(range(self._scope_total), key=depths.__getitem__):
            begins[scope] = at
            at += self._scopes[SCOPE * scope + 3]
        ordered = zeros("Q", ROW * self._row_total)
        for k in range(self._row_total):
            scope = self._rows[ROW * k + 5]
            to = begins[scope]
            begins[scope] += 1
            for i in range(ROW):
                ordered[ROW * to + i] = self._rows[ROW * k + i]
        self._rows = ordered
        return 0

    # Asking ------------------------------------------------------------------------------------------------

    @cython.ccall
    @cython.locals(
        k=cython.Py_ssize_t, told=_Told, variable=_Variable, spot=tuple, scope=cython.Py_ssize_t, inside=cython.bint,
    )  # fmt: skip
    def place(self, k: int) -> Place:
        """The place that a row tells."""
        told = self._told[self._rows[ROW * k + 2]]
        variable = self._variables[self._rows[ROW * k + 4]]
        spot = cython.cast(tuple, told.spots[self._rows[ROW * k + 3]])
        scope = self._rows[ROW * k + 5]
        inside = not self._scopes[SCOPE * scope] or self._within(scope, self._rows[ROW * k], self._rows[ROW * k + 1])
        return _as_it_is(
            Place,
            (
                variable.name, variable.type, spot[0], spot[1], spot[2], self._rows[ROW * k], self._rows[ROW * k + 1],
                spot[3], spot[4], not inside,
            ),
        )  # fmt: skip

    @cython.locals(
        first=cython.ulonglong,
        last=cython.ulonglong,
        numbers="int[::1]",
        rows="long long[::1]",
        strays="unsigned char[::1]",
        k=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        scope=cython.Py_ssize_t,
        told=_Told,
        variable=_Variable,
        words=tuple,
    )
    def places(self, low: int, high: int) -> PlaceTable:
        """The places that are valid somewhere in a range of code, those of outer scopes first.

        Of what is a number without a place of its own one is among them at most: that there are variables.
        """
        first = low
        last = high
        total = 0
        which_of = numbers = zeros("i", self._row_total)
        for k in range(self._row_total):
            if self._rows[ROW * k] < last and self._rows[ROW * k + 1] > first:
                if total:
                    told = self._told[self._rows[ROW * k + 2]]
                    if told.flags[self._rows[ROW * k + 3]] & NOWHERE:
                        continue
                numbers[total] = k
                total += 1
        made = rows = zeros("q", PLACE_WORDS * total)
        made_strays = strays = zeros("B", total)
        at = 0
        for n in range(total):
            k = numbers[n]
            told = self._told[self._rows[ROW * k + 2]]
            variable = self._variables[self._rows[ROW * k + 4]]
            which = self._rows[ROW * k + 3]
            words = told.words if which == 0 else None
            if words is None:
                words = words_of(*told.spots[which][:5])
                if which == 0:
                    told.words = words
            rows[at] = self._distance(self._rows[ROW * k], first, last)
            rows[at + 1] = self._distance(self._rows[ROW * k + 1], first, last)
            rows[at + 2] = words[0]
            rows[at + 3] = words[1]
            rows[at + 4] = words[2]
            rows[at + 5] = words[3]
            rows[at + 6] = words[4]
            rows[at + 7] = variable.type
            rows[at + 8] = -1
            if rows[at + 2] == AT_REGISTER:
                scope = self._rows[ROW * k + 5]
                if self._scopes[SCOPE * scope]:
                    strays[n] = not self._within(scope, self._rows[ROW * k], self._rows[ROW * k + 1])
            at += PLACE_WORDS
        return PlaceTable(made, made_strays, lambda number: self.place(which_of[number]))

    @cython.cfunc
    @cython.inline
    @cython.returns(cython.longlong)
    @cython.exceptval(check=False)
    @cython.locals(address=cython.ulonglong, first=cython.ulonglong, last=cython.ulonglong)
    def _distance(self, address: int, first: int, last: int) -> int:
        """How far behind the first an address is; -1 for before it, one more than the last for what is behind that."""
        if address < first:
            return -1
        return cython.cast(cython.longlong, last - first + 1 if address > last else address - first)

    @cython.locals(at=cython.ulonglong, k=cython.Py_ssize_t, scope=cython.Py_ssize_t)
    def places_at(self, pc: int) -> list[list[Place]]:
        """The variables that have a place at an address, by scope, the innermost first."""
        at = pc
        found: dict[int, list[Place]] = {}
        for k in range(self._row_total):
            scope = self._rows[ROW * k + 5]
            if self._rows[ROW * k] <= at < self._rows[ROW * k + 1] and self._within(scope, at, at + 1):
                found.setdefault(scope, []).append(self.place(k))
        return [found[k] for k in sorted(found, key=self._depth_below)]

    def _depth_below(self, scope: int) -> int:
        depth: int = self._scopes[SCOPE * scope]
        return -depth

    @cython.locals(at=cython.ulonglong, k=cython.Py_ssize_t)
    def returned_at(self, pc: int) -> list[int]:
        """The types that functions return, void for none, that are inlined at an address, the innermost first; at last
        what the function itself returns."""
        at = pc
        held = [k for k in range(self._scope_total) if self._scopes[SCOPE * k + 4] and self._within(k, at, at + 1)]
        offsets = [self._scopes[SCOPE * k + 4] for k in sorted(held, key=self._depth_below)]
        entries = (*(self._space.entry_in(self._unit, offset) for offset in offsets), self.entry)
        return [self._types.of(entry) for entry in entries if entry is not None]


def without_doubles(found: list[Spot]) -> list[Spot]:
    """Without pieces that are all said to be in one register: a pointer and an index, of which one was there before."""
    registers = [spot.register for spot in found if spot.kind == PlaceKind.REGISTER]
    if len(set(registers)) == len(registers):
        return found
    return [spot for spot in found if spot.kind != PlaceKind.REGISTER or registers.count(spot.register) == 1]


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
