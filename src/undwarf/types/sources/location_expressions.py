# cython: language_level=3, annotation_typing=False
"""Location expressions of one function's variables, decoded once and shared, singly or from location lists."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import operations
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, LOCLISTX, SEC_OFFSET, UNSIGNED

from undwarf.dwarf.die import Entry
from undwarf.dwarf.root_die_columns import Root
from undwarf.types.sources.dwarf_entries import FRAME_BASE, HIGH_PC, LOW_PC
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.location_lists import LocationLists
from undwarf.types.sources.location_table import words_of
from undwarf.types.sources.locations import FrameBase, Spot, spots
from undwarf.types.sources.type_source import PlaceKind

__all__ = ["DecodedExpression", "ExpressionCache", "Expressions", "without_doubles"]

_KEPT = 1 << 16
"""Limit of decoded expressions that are cached for the next functions."""
_FLAGS = {
    PlaceKind.REGISTER: 1, PlaceKind.VALUE: 1, PlaceKind.MEMORY: 2, PlaceKind.CFA: 2, PlaceKind.CONSTANT: 4,
    PlaceKind.CFA_VALUE: 2,
}  # fmt: skip  # a table
_AT_ENTRY = {62: (7, 8), 183: (31, 0)}
"""By machine, what register and how far behind that the call frame address is where a function begins."""


@cython.final
@cython.cclass
class DecodedExpression:
    """One decoded expression: its ``spots``, and ``flags`` with a byte of what matters of each spot's kind.

    ``reader`` and ``number``: its index in the function read last. ``kind`` and the following: the first spot as
    columns of a location row, once ``worded``.
    """

    def __init__(self, found: list[Spot]) -> None:
        self.spots = found
        self.worded = False
        self.kind = self.register = self.offset = self.piece = self.size = 0
        self.flags = bytes(_FLAGS.get(spot.kind, 0) | 8 * spot.indirect for spot in found)
        self.reader = -1
        self.number = -1

    def fill_columns(self) -> int:
        """Compute the columns of the first spot."""
        spot = self.spots[0]
        self.kind, self.register, self.offset, self.piece, self.size = words_of(
            spot[0], spot[1], spot[2], spot[3], spot[4]
        )
        self.worded = True
        return 0


class ExpressionCache:
    """Cache of expressions that mean the same in all units of a space, by frame base, address size and bytes."""

    def __init__(self) -> None:
        self._told: dict[tuple[FrameBase | None, int], dict[bytes, DecodedExpression]] = {}
        self._readers = 0
        self.registers: list[DecodedExpression | None] = [None] * 32
        """Expressions DW_OP_reg0 to reg31 by number: half of all expressions."""

    def of(self, frame_base: FrameBase | None, address_size: int) -> dict[bytes, DecodedExpression]:
        """The cache for a frame base and an address size."""
        known = self._told.setdefault((frame_base, address_size), {})
        if len(known) > _KEPT:
            known.clear()
        return known

    def next_reader(self) -> int:
        """A new id for the next function that is read."""
        self._readers += 1
        return self._readers


@cython.final
@cython.cclass
class Expressions:
    """The expressions of the function with the concrete entry ``entry``; ``base`` is its unit's low address.

    ``told`` are those met so far, each at its number. After :meth:`read_list`, ``rows`` has four words for each entry:
    start, end, offset of the expression in ``data``, and its size.
    """

    def __init__(self, types: DwarfTypes, entry: Entry, base: int, known: ExpressionCache) -> None:
        space = entry.space
        self._types = types
        self._base = base
        self._space = space
        self._unit = entry.unit
        self._order = space.file.elf.byte_order
        self._address_size = space.columns["address_size"][entry.unit]
        self._version = space.columns["version"][entry.unit]
        self._lists: Any = None
        self._rows_of_lists: Any = None
        self._own: dict[bytes, DecodedExpression] = {}
        self._asked = False
        self.told: list[DecodedExpression] = []
        low = entry.value(LOW_PC) if entry.kind(LOW_PC) == ADDRESS else 0
        self._low = low
        self._high = entry.value(HIGH_PC) if entry.kind(HIGH_PC) == ADDRESS else low + entry.value(HIGH_PC)
        self._frame_base = self._read_frame_base(entry)
        self._known = known.of(self._frame_base, self._address_size)
        self._registers = known.registers
        self._reader = known.next_reader()

    def close(self) -> None:
        """Drop what only reading needs."""
        self._own = {}
        self._lists = self._rows_of_lists = None

    def add(self, found: list[Spot]) -> int:
        """Add spots that no expression gives unchanged, and return their number."""
        self.told.append(DecodedExpression(found))
        return len(self.told) - 1

    def indexed(self, index: int) -> int | None:
        """The address at an index of the unit's `.debug_addr`; None if out of range."""
        self._asked = True
        found: int | None = self._types.spaces.indexed_address(self._space, self._unit, index)
        return found

    def _spots(self, expression: "bytes | memoryview", frame_base: FrameBase | None) -> list[Spot]:
        return spots(
            expression,
            address_size=self._address_size,
            order=self._order,
            frame_base=frame_base,
            indexed=self.indexed,
            steps=self._types.graph.limits.expression_steps,
        )

    def _read_frame_base(self, entry: Entry) -> FrameBase | None:
        block = entry.block(FRAME_BASE)
        if block is None:
            return self._listed_frame_base(entry)
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

    @cython.locals(kind=cython.int, k=cython.Py_ssize_t, start=cython.Py_ssize_t, size=cython.Py_ssize_t)
    def _listed_frame_base(self, entry: Entry) -> FrameBase | None:
        """The call frame address, if the location list of the frame base starts with it at the function's entry.

        DWARF 2 has no operation for the CFA, so GCC with -gstrict-dwarf emits such lists. A frame base is constant
        within a function (DWARF 5, 3.3.5).
        """
        kind = entry.kind(FRAME_BASE)
        at_entry = _AT_ENTRY.get(self._space.file.elf.machine)
        if kind not in (SEC_OFFSET, UNSIGNED, LOCLISTX) or not self._low or at_entry is None:
            return None
        for k in range(self.read_list(kind, entry.value(FRAME_BASE))):
            if self.rows[4 * k] <= self._low < self.rows[4 * k + 1]:
                start, size = self.rows[4 * k + 2], self.rows[4 * k + 3]
                found = self._spots(bytes(self.data[start : start + size]), None)
                said = [(one.register, one.offset) for one in found if one.kind == PlaceKind.MEMORY]
                return FrameBase(-1, 0) if said == [at_entry] else None
        return None

    @cython.locals(told=DecodedExpression, base="const char *", expression=bytes, register=cython.int)
    def at(self, start: int, size: int) -> DecodedExpression:
        """The decoded expression at an offset of ``data``; empty if it does not fit."""
        expression = b""
        register = -1
        if 0 < size <= self.data.shape[0] - start:
            if size == 1 and operations.REG0 <= self.data[start] <= operations.REG31:
                register = self.data[start] - operations.REG0
                found: DecodedExpression | None = self._registers[register]
                if found is not None:
                    self._number(found)
                    return found
            # The bounds were checked above.
            base = cython.cast("const char *", cython.address(self.data[start]))
            expression = base[:size]
        told: DecodedExpression = self.of(expression)
        if register >= 0:
            self._registers[register] = told
        return told

    def of(self, expression: bytes) -> DecodedExpression:
        """The decoded expression of these bytes, from the cache where it was met before."""
        found: DecodedExpression | None = self._known.get(expression)
        if found is None:
            found = self._own.get(expression)
        if found is None:
            self._asked = False
            places = self._spots(expression, self._frame_base)
            found = DecodedExpression(without_doubles(places) if len(places) > 1 else places)
            # Address indices are specific to a unit.
            (self._own if self._asked else self._known)[expression] = found
        self._number(found)
        return found

    def _number(self, told: DecodedExpression) -> int:
        """Add an expression to those met by the current function."""
        if told.reader != self._reader:
            told.reader = self._reader
            told.number = len(self.told)
            self.told.append(told)
        return 0

    @cython.locals(k=cython.Py_ssize_t, total=cython.Py_ssize_t)
    def read_list(self, kind: int, value: int) -> int:
        """Read a location list into ``rows`` and return the number of its entries."""
        lists = self._lists
        if lists is None:
            lists = self._lists = self._read_lists()
        if kind == LOCLISTX and self._version >= 5:
            value = lists.offset_of(value)
        total: int = lists.read(value)
        if self._rows_of_lists is not lists.rows:
            # The buffer has grown.
            self.rows = self._rows_of_lists = lists.rows
        if self._version == 2 and self._base and total and self._counts_from_none(self.rows[0]):
            for k in range(total):
                self.rows[4 * k] = (self.rows[4 * k] - self._base) & 0xFFFFFFFFFFFFFFFF
                self.rows[4 * k + 1] = (self.rows[4 * k + 1] - self._base) & 0xFFFFFFFFFFFFFFFF
        return total

    def _counts_from_none(self, start: int) -> bool:
        """Whether a list has absolute addresses instead of offsets from the unit's base. GCC emits these in DWARF 2,
        which has no range lists, if the unit's code is in several sections."""
        here = self._low <= start < self._high
        return not here and bool(self._low <= start - self._base < self._high)

    def _read_lists(self) -> LocationLists:
        """The location lists of the function's unit."""
        space, file = self._space, self._space.file
        width = space.columns["offset_size"][self._unit]
        table = file.roots.value(self._unit, Root.LOCLISTS_BASE) if self._version >= 5 else 0
        data = file.section("debug_loclists" if self._version >= 5 else "debug_loc")
        self.data = data
        return LocationLists(
            data,
            version=5 if self._version >= 5 else 0 if file.split else 4,
            base=self._base,
            address_size=self._address_size,
            order=self._order,
            addresses=self._types.spaces.addresses(space, self._unit),
            table=table if table is not None else 12 if width == 4 else 20,
            width=width,
        )


def without_doubles(found: list[Spot]) -> list[Spot]:
    """Without pieces that are all in one register: a pointer and an index, of which only one can be current."""
    registers = [spot.register for spot in found if spot.kind == PlaceKind.REGISTER]
    if len(set(registers)) == len(registers):
        return found
    return [spot for spot in found if spot.kind != PlaceKind.REGISTER or registers.count(spot.register) == 1]
