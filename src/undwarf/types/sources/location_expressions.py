# cython: language_level=3, annotation_typing=False
"""What the expressions of one function's variables tell: places, one by one or in lists by address."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import operations
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, LOCLISTX, SEC_OFFSET, UNSIGNED

from undwarf.dwarf.die import Entry
from undwarf.dwarf.root_die_columns import Root
from undwarf.types.sources.dwarf_entries import FRAME_BASE, HIGH_PC, LOW_PC
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.location_lists import Lists
from undwarf.types.sources.location_table import words_of
from undwarf.types.sources.locations import FrameBase, Spot, spots
from undwarf.types.sources.type_source import PlaceKind

__all__ = ["Expressions", "Known", "Told", "without_doubles"]

_KEPT = 1 << 16
"""Expressions that are kept for the functions looked at next."""
_FLAGS = {
    PlaceKind.REGISTER: 1, PlaceKind.VALUE: 1, PlaceKind.MEMORY: 2, PlaceKind.CFA: 2, PlaceKind.CONSTANT: 4,
    PlaceKind.CFA_VALUE: 2,
}  # fmt: skip  # a table
_AT_ENTRY = {62: (7, 8), 183: (31, 0)}
"""By machine, what register and how far behind that the call frame address is where a function begins."""


@cython.final
@cython.cclass
class Told:
    """What one expression tells: its spots, and in a byte of each what matters of its kind. ``reader`` and ``number``:
    what it is called by the function read last; ``kind`` and what follows: what rows of places say of the first spot,
    once ``worded``."""

    def __init__(self, found: list[Spot]) -> None:
        self.spots = found
        self.worded = False
        self.kind = self.register = self.offset = self.piece = self.size = 0
        self.flags = bytes(_FLAGS.get(spot.kind, 0) | 8 * spot.indirect for spot in found)
        self.reader = -1
        self.number = -1

    def put_in_words(self) -> int:
        """Have what rows of places say of the first spot."""
        spot = self.spots[0]
        self.kind, self.register, self.offset, self.piece, self.size = words_of(
            spot[0], spot[1], spot[2], spot[3], spot[4]
        )
        self.worded = True
        return 0


class Known:
    """What expressions tell that say the same in all units of a space, by frame base, size of addresses and expression:
    for the functions looked at next."""

    def __init__(self) -> None:
        self._told: dict[tuple[FrameBase | None, int], dict[bytes, Told]] = {}
        self._readers = 0
        self.registers: list[Told | None] = [None] * 32
        """What the expressions tell that are a register's number: half of all."""

    def of(self, frame_base: FrameBase | None, address_size: int) -> dict[bytes, Told]:
        """Those that are read with a frame base."""
        known = self._told.setdefault((frame_base, address_size), {})
        if len(known) > _KEPT:
            known.clear()
        return known

    def next_reader(self) -> int:
        """A number for a function that is read."""
        self._readers += 1
        return self._readers


@cython.final
@cython.cclass
class Expressions:
    """The expressions of one function, whose concrete entry is ``entry``; ``base`` is its unit's low address. ``told``
    are those that were met, each with its number there. Of a list that was read, ``rows`` are four words for each entry
    (start, end, place of the expression in ``data`` and its size)."""

    def __init__(self, types: DwarfTypes, entry: Entry, base: int, known: Known) -> None:
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
        self._own: dict[bytes, Told] = {}
        self._asked = False
        self.told: list[Told] = []
        low = entry.value(LOW_PC) if entry.kind(LOW_PC) == ADDRESS else 0
        self._low = low
        self._high = entry.value(HIGH_PC) if entry.kind(HIGH_PC) == ADDRESS else low + entry.value(HIGH_PC)
        self._frame_base = self._read_frame_base(entry)
        self._known = known.of(self._frame_base, self._address_size)
        self._registers = known.registers
        self._reader = known.next_reader()

    def close(self) -> None:
        """Let go what only reading needs."""
        self._own = {}
        self._lists = self._rows_of_lists = None

    def add(self, found: list[Spot]) -> int:
        """Spots that no expression tells as they are; their number."""
        self.told.append(Told(found))
        return len(self.told) - 1

    def indexed(self, index: int) -> int | None:
        """The address that an index stands for in the function's unit."""
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
        """The call frame address, if a list of what it is counted from begins so: DWARF 2 has no operation for it, and
        GCC keeps to that with -gstrict-dwarf. A frame's base is the same all the time (DWARF 5, 3.3.5)."""
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

    @cython.locals(told=Told, base="const char *", expression=bytes, register=cython.int)
    def at(self, start: int, size: int) -> Told:
        """What an expression in ``data`` tells; nothing where it is not all inside."""
        expression = b""
        register = -1
        if 0 < size <= self.data.shape[0] - start:
            if size == 1 and operations.REG0 <= self.data[start] <= operations.REG31:
                register = self.data[start] - operations.REG0
                found: Told | None = self._registers[register]
                if found is not None:
                    self._number(found)
                    return found
            # All of it is inside.
            base = cython.cast("const char *", cython.address(self.data[start]))
            expression = base[:size]
        told: Told = self.of(expression)
        if register >= 0:
            self._registers[register] = told
        return told

    def of(self, expression: bytes) -> Told:
        """What an expression tells; most are written over and over."""
        found: Told | None = self._known.get(expression)
        if found is None:
            found = self._own.get(expression)
        if found is None:
            self._asked = False
            places = self._spots(expression, self._frame_base)
            found = Told(without_doubles(places) if len(places) > 1 else places)
            # What an index stands for is each unit's own.
            (self._own if self._asked else self._known)[expression] = found
        self._number(found)
        return found

    def _number(self, told: Told) -> int:
        """Have what an expression tells among those that were met."""
        if told.reader != self._reader:
            told.reader = self._reader
            told.number = len(self.told)
            self.told.append(told)
        return 0

    @cython.locals(k=cython.Py_ssize_t, total=cython.Py_ssize_t)
    def read_list(self, kind: int, value: int) -> int:
        """How many entries a list has, which are then in ``rows``."""
        lists = self._lists
        if lists is None:
            lists = self._lists = self._read_lists()
        if kind == LOCLISTX and self._version >= 5:
            value = lists.offset_of(value)
        total: int = lists.read(value)
        if self._rows_of_lists is not lists.rows:
            # More room was needed.
            self.rows = self._rows_of_lists = lists.rows
        if self._version == 2 and self._base and total and self._counts_from_none(self.rows[0]):
            for k in range(total):
                self.rows[4 * k] = (self.rows[4 * k] - self._base) & 0xFFFFFFFFFFFFFFFF
                self.rows[4 * k + 1] = (self.rows[4 * k + 1] - self._base) & 0xFFFFFFFFFFFFFFFF
        return total

    def _counts_from_none(self, start: int) -> bool:
        """Whether a list's addresses are such themselves, not distances from the unit's begin: so GCC writes them where
        a unit's code is in several sections, for which it has no list of ranges in DWARF 2."""
        here = self._low <= start < self._high
        return not here and bool(self._low <= start - self._base < self._high)

    def _read_lists(self) -> Lists:
        """The lists of the function's unit."""
        space, file = self._space, self._space.file
        width = space.columns["offset_size"][self._unit]
        table = file.roots.value(self._unit, Root.LOCLISTS_BASE) if self._version >= 5 else 0
        data = file.section("debug_loclists" if self._version >= 5 else "debug_loc")
        self.data = data
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


def without_doubles(found: list[Spot]) -> list[Spot]:
    """Without pieces that are all said to be in one register: a pointer and an index, of which one was there before."""
    registers = [spot.register for spot in found if spot.kind == PlaceKind.REGISTER]
    if len(set(registers)) == len(registers):
        return found
    return [spot for spot in found if spot.kind != PlaceKind.REGISTER or registers.count(spot.register) == 1]
