# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Where code is: range lists, the code of units, and the columns that walks through a unit's entries fill.

Sources: DWARF 5, 2.17.3 and 7.25 (range lists); DWARF 4, 2.17.3.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import range_list_entries as entries
from cython.cimports.undwarf.dwarf import tags, walks
from cython.cimports.undwarf.dwarf.root_places import Root
from cython.cimports.undwarf.dwarf.unit_kinds import UnitKind
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, ADDRX, RNGLISTX

from undwarf.column import copied, doubled, zeros
from undwarf.dwarf.type_sizes import Layouts

ALL_ONES = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
LARGE = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFF)
ROOT = cython.declare(cython.Py_ssize_t, 16)
"""Places kept of each unit's root, as undwarf.dwarf.constants.Root has them."""
MOST_KEPT = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Records of one unit whose memory is used for the next one again."""


@cython.cclass
class Ranges(Layouts):
    """Units with the sections that say where their code is.

    What walks find goes to columns: a row of ``record_*`` for each entry, one of ``range_*`` for each range or place.
    """

    def __init__(
        self,
        data: Any,
        abbrevs: Any,
        *,
        big: bool = False,
        types: bool = False,
        ranges: Any = b"",
        rnglists: Any = b"",
        addresses: Any = b"",
        code: Any = None,
        max_ranges: int = 1 << 22,
    ) -> None:
        """``code`` has the starts and ends of what is run; ranges outside of that are none."""
        super().__init__(data, abbrevs, big=big, types=types)
        self.ranges_data = ranges
        self.rnglists = rnglists
        self.addresses = addresses
        self.code = code if code is not None else zeros("Q", 0)
        self.list_bytes = 0
        self.record_total = 0
        self.range_total = 0
        self.range_limit = max_ranges
        self.enclosing = zeros("I", walks.MAX_DEPTH + 2)
        self.record_die = self.range_start = self.range_end = zeros("Q", 0)
        self.range_record = zeros("I", 0)
        self._reset_records()
        self.own_start = zeros("Q", 16)
        self.own_end = zeros("Q", 16)
        self.own_record = zeros("I", 16)

    def set_bases(self, base: int, addr_base: int, rnglists_base: int, ranges_base: int) -> None:
        """What range lists of the next unit are relative to: its low address, and its parts of other sections."""
        self.base = base
        self.addr_base = addr_base
        self.rnglists_base = rnglists_base
        self.ranges_base = ranges_base

    @cython.locals(
        start="unsigned long long[::1]",
        end="unsigned long long[::1]",
        record="unsigned int[::1]",
        total=cython.Py_ssize_t,
    )
    def ranges_of(self, unit: int, kind: int, value: int) -> Any:
        """(start, end) pairs of a DW_AT_ranges value (class and number) of a unit whose bases are set."""
        self.enter(unit)
        # Those at hand may still be looked at by whoever asked for the functions of a unit.
        start = self.range_start
        end = self.range_end
        record = self.range_record
        total = self.range_total
        self.range_start = self.own_start
        self.range_end = self.own_end
        self.range_record = self.own_record
        self.range_total = 0
        self.add_list(kind, value, 0)
        found = [(self.range_start[i], self.range_end[i]) for i in range(self.range_total)]
        self.own_start = self.range_start
        self.own_end = self.range_end
        self.own_record = self.range_record
        self.range_start = start
        self.range_end = end
        self.range_record = record
        self.range_total = total
        return found

    @cython.locals(
        classes="const unsigned char[::1]",
        values="const unsigned long long[::1]",
        unit=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        before=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
    )
    def unit_ranges(self, root_classes: Any, root_values: Any) -> tuple[Any, Any, Any, list[int]]:
        """Where the code of units is, by their roots (columns as :meth:`roots` gives them): starts and ends (Q) and the
        units (I); and the units that say nothing of it and have entries that may."""
        classes = root_classes
        values = root_values
        unsure: list[int] = []
        self._reset_records()
        for unit in range(self.count):
            at = ROOT * unit
            # A unit of types, or of parts of others.
            if (
                values[at + Root.TAG] == 0
                or values[at + Root.TAG] == tags.TYPE_UNIT
                or self.unit_kind[unit] == UnitKind.TYPE
                or self.unit_kind[unit] == UnitKind.PARTIAL
            ):
                continue
            before = self.range_total
            low = values[at + Root.LOW_PC] if classes[at + Root.LOW_PC] else 0
            if classes[at + Root.RANGES] or classes[at + Root.LOW_PC] != ADDRESS or classes[at + Root.HIGH_PC] == ADDRX:
                self.enter(unit)
                self.addr_base = values[at + Root.ADDR_BASE] if classes[at + Root.ADDR_BASE] else 0
                self.rnglists_base = values[at + Root.RNGLISTS_BASE] if classes[at + Root.RNGLISTS_BASE] else 0
                self.ranges_base = 0
                if classes[at + Root.LOW_PC] == ADDRX:
                    low = self.indexed(low)
                self.base = low
            if classes[at + Root.RANGES]:
                self.add_list(classes[at + Root.RANGES], values[at + Root.RANGES], cython.cast("unsigned int", unit))
            elif classes[at + Root.LOW_PC] and classes[at + Root.HIGH_PC]:
                high = values[at + Root.HIGH_PC]
                if classes[at + Root.HIGH_PC] == ADDRX:
                    high = self.indexed(high)
                elif classes[at + Root.HIGH_PC] != ADDRESS:
                    high = low + high if high < ALL_ONES - low else ALL_ONES
                self.add_range(low, high, cython.cast("unsigned int", unit))
            if self.range_total == before and values[at + Root.CHILDREN]:
                unsure.append(unit)
        return (
            copied(self.range_start, self.range_total),
            copied(self.range_end, self.range_total),
            copied(self.range_record, self.range_total),
            unsure,
        )

    def address_at(self, unit: int, index: int) -> int:
        """Entry ``index`` of the unit's part of `.debug_addr` (bases set); 0 where there is none."""
        self.enter(unit)
        found: cython.ulonglong = self.indexed(index)
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def indexed(self, index: cython.ulonglong) -> cython.ulonglong:
        """An entry of the unit's part of `.debug_addr`, and what the index has above its 32 bits behind that; 0 where
        there is none."""
        behind: cython.ulonglong = index >> 32
        found: cython.ulonglong
        index = index & cython.cast(cython.ulonglong, 0xFFFFFFFF)
        if index > 0xFFFFFFF or self.addr_base > LARGE:
            return 0
        found = self.fixed(
            self.addresses, cython.cast("Py_ssize_t", self.addr_base + index * self.address), self.address
        )
        return found + behind if found else 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_range(self, start: cython.ulonglong, stop: cython.ulonglong, record: cython.uint) -> cython.int:
        """Keep a range, unless it is empty or its code was discarded by the linker."""
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        inside: cython.bint = len(self.code) == 0
        if stop <= start:
            return 0
        for k in range(0, len(self.code) - 1, 2):
            if self.code[k] <= start < self.code[k + 1]:
                inside = True
                break
        if not inside:
            return 0
        n = self.range_total
        if n >= self.range_limit:
            self.damaged += 1
            return 0
        if n == len(self.range_start):
            self.range_start = doubled(self.range_start, n)
            self.range_end = doubled(self.range_end, n)
            self.range_record = doubled(self.range_record, n)
        self.range_start[n] = start
        self.range_end[n] = stop
        self.range_record[n] = record
        self.range_total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_list(self, kind: cython.int, value: cython.ulonglong, record: cython.uint) -> cython.int:
        """Keep the ranges of a DW_AT_ranges value of the unit at hand."""
        at: cython.ulonglong = value
        size: cython.Py_ssize_t = self.ranges_data.shape[0] + self.rnglists.shape[0]
        if self.list_bytes > 16 * cython.cast(cython.ulonglong, size) + 65536:
            # Entries share few lists: this many are damage.
            self.damaged += 1
            return 0
        if self.version < 5:
            return self.add_old_list(value + self.ranges_base, record)
        if kind == RNGLISTX:
            if value > 0xFFFFFFF or self.rnglists_base > LARGE:
                self.damaged += 1
                return 0
            at = self.rnglists_base + self.fixed(
                self.rnglists, cython.cast("Py_ssize_t", self.rnglists_base + value * self.width), self.width
            )
        return self.add_new_list(at, record)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_old_list(self, offset: cython.ulonglong, record: cython.uint) -> cython.int:
        """A list in `.debug_ranges`: pairs of addresses up to two zeros."""
        n: cython.Py_ssize_t = self.ranges_data.shape[0]
        at: cython.Py_ssize_t
        base: cython.ulonglong = self.base
        start: cython.ulonglong
        stop: cython.ulonglong
        size: cython.int = self.address
        highest: cython.ulonglong = ALL_ONES if size == 8 else (cython.cast(cython.ulonglong, 1) << (8 * size)) - 1
        if offset >= cython.cast(cython.ulonglong, n):
            self.damaged += 1
            return 0
        at = cython.cast("Py_ssize_t", offset)
        while n - at >= 2 * size:
            self.list_bytes += 2 * size
            start = self.fixed(self.ranges_data, at, size)
            stop = self.fixed(self.ranges_data, at + size, size)
            at += 2 * size
            if start == highest:
                base = stop
            elif start == 0 and stop == 0:
                return 0
            elif start <= stop:
                self.add_range((base + start) & highest, (base + stop) & highest, record)
                if self.range_total >= self.range_limit:
                    return 0
        self.damaged += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(kept="const unsigned char[::1]", start_at="Py_ssize_t")
    def add_new_list(self, offset: cython.ulonglong, record: cython.uint) -> cython.int:
        """A list in `.debug_rnglists`."""
        kept_at: cython.Py_ssize_t = self.at
        kept_end: cython.Py_ssize_t = self.end
        base: cython.ulonglong = self.base
        start: cython.ulonglong
        stop: cython.ulonglong
        op: cython.int
        size: cython.int = self.address
        kept = self.data
        self.data = self.rnglists
        self.end = self.rnglists.shape[0]
        op = entries.BASE_ADDRESSX
        self.at = cython.cast("Py_ssize_t", offset) if offset < cython.cast(cython.ulonglong, self.end) else self.end
        start_at = self.at
        while self.at < self.end and self.range_total < self.range_limit:
            op = self.data[self.at]
            self.at += 1
            if op == entries.END_OF_LIST:
                break
            if op == entries.BASE_ADDRESSX:
                base = self.indexed(self.uleb())
                continue
            if op == entries.BASE_ADDRESS:
                base = self.fixed(self.data, self.at, size)
                self.at += size
                continue
            if op == entries.STARTX_ENDX:
                start = self.indexed(self.uleb())
                stop = self.indexed(self.uleb())
            elif op == entries.STARTX_LENGTH:
                start = self.indexed(self.uleb())
                stop = start + self.uleb()
            elif op == entries.OFFSET_PAIR:
                start = base + self.uleb()
                stop = base + self.uleb()
            elif op == entries.START_END or op == entries.START_LENGTH:
                start = self.fixed(self.data, self.at, size)
                self.at += size
                if op == entries.START_END:
                    stop = self.fixed(self.data, self.at, size)
                    self.at += size
                else:
                    stop = start + self.uleb()
            else:
                self.at = self.end + 1
                break
            if self.at <= self.end:
                self.add_range(start, stop, record)
        if op != entries.END_OF_LIST:
            self.damaged += 1
        if self.at > start_at:
            self.list_bytes += cython.cast(cython.ulonglong, self.at - start_at)
        self.data = kept
        self.at = kept_at
        self.end = kept_end
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _reset_records(self) -> cython.int:
        """Begin with no records and ranges, in the memory of those before: making it anew for each unit took longer
        than reading small ones. What is handed out is copied from there."""
        if not 0 < len(self.record_die) <= MOST_KEPT:
            self.record_die = zeros("Q", 64)
            self.record_origin = zeros("Q", 64)
            self.record_class = zeros("B", 64)
            self.record_inlined = zeros("B", 64)
            self.record_parent = zeros("I", 64)
            self.record_file = zeros("I", 64)
            self.record_line = zeros("I", 64)
            self.record_column = zeros("I", 64)
        if not 0 < len(self.range_start) <= MOST_KEPT:
            self.range_start = zeros("Q", 64)
            self.range_end = zeros("Q", 64)
            self.range_record = zeros("I", 64)
        self.record_total = 0
        self.range_total = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_record(self) -> cython.int:
        n: cython.Py_ssize_t = self.record_total
        if n == len(self.record_die):
            self.record_die = doubled(self.record_die, n)
            self.record_origin = doubled(self.record_origin, n)
            self.record_class = doubled(self.record_class, n)
            self.record_inlined = doubled(self.record_inlined, n)
            self.record_parent = doubled(self.record_parent, n)
            self.record_file = doubled(self.record_file, n)
            self.record_line = doubled(self.record_line, n)
            self.record_column = doubled(self.record_column, n)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_place(self) -> cython.int:
        n: cython.Py_ssize_t = self.range_total
        if n == len(self.range_start):
            self.range_start = doubled(self.range_start, n)
            self.range_end = doubled(self.range_end, n)
            self.range_record = doubled(self.range_record, n)
        return 0
