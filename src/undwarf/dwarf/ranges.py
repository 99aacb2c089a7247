# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Address ranges: range lists, and the code of units.

Sources: DWARF 5, 2.17.3 and 7.25 (range lists); DWARF 4, 2.17.3.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import range_list_entries as entries
from cython.cimports.undwarf.dwarf import tags
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.reader_constants import LARGEST_OFFSET, MAX_REUSED
from cython.cimports.undwarf.dwarf.root_die_columns import ROOT_COLUMNS, Root
from cython.cimports.undwarf.dwarf.unit_kinds import UnitKind
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, ADDRX, RNGLISTX
from cython.cimports.undwarf.elf.integers import integer_at
from cython.cimports.undwarf.integer_constants import ALL_ONES

from undwarf.column import copied, doubled, zeros
from undwarf.dwarf.attribute_values import AttributeReader


@cython.final
@cython.cclass
class RangeLists:
    """Reads range lists into the columns ``start``, ``end`` and ``owner``, a row for each range."""

    def __init__(
        self, reader: AttributeReader, ranges: Any, rnglists: Any, addresses: Any, code: Any, max_ranges: int
    ) -> None:
        """The sections `.debug_ranges`, `.debug_rnglists` and `.debug_addr`. ``code`` has start and end of each segment
        of code (Q): ranges outside of them are dropped; without any, all are kept."""
        self.reader = reader
        self.units = reader.units
        self.old_lists = ranges
        self.lists = rnglists
        self.addresses = addresses
        self.code = code
        self.list_bytes = 0
        self.base = self.addr_base = self.rnglists_base = self.ranges_base = 0
        self.limit = max_ranges
        self.start = self.end = zeros("Q", 0)
        self.owner = zeros("I", 0)
        self.reset()

    @cython.cfunc
    @cython.exceptval(-1)
    def reset(self) -> cython.int:
        """Remove all ranges, but reuse their memory: allocating it for each unit took longer than reading small units.
        So callers must copy what they return."""
        if not 0 < len(self.start) <= MAX_REUSED:
            self.start = zeros("Q", 64)
            self.end = zeros("Q", 64)
            self.owner = zeros("I", 64)
        self.total = 0
        return 0

    def set_bases(self, base: int, addr_base: int, rnglists_base: int, ranges_base: int) -> None:
        """Set the bases of the next unit: its low address, and the offsets of its parts of `.debug_addr`,
        `.debug_rnglists` and `.debug_ranges`."""
        self.base = base
        self.addr_base = addr_base
        self.rnglists_base = rnglists_base
        self.ranges_base = ranges_base

    def ranges_of(self, unit: int, value_class: int, value: int) -> Any:
        """(start, end) pairs of a DW_AT_ranges value (class and number) of a unit whose bases are set."""
        self.reader.enter(unit)
        self.reset()
        self.add_list(value_class, value, 0)
        return [(self.start[i], self.end[i]) for i in range(self.total)]

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
        """The code of all units by the attributes of their roots (see :meth:`AttributeReader.roots`): starts and ends
        (Q), units (I); and the units without such attributes whose DIEs may have code."""
        classes = root_classes
        values = root_values
        unsure: list[int] = []
        self.reset()
        for unit in range(self.units.count):
            at = ROOT_COLUMNS * unit
            # Type units and partial units have no code.
            if (
                values[at + Root.TAG] == 0
                or values[at + Root.TAG] == tags.TYPE_UNIT
                or self.units.kind[unit] == UnitKind.TYPE
                or self.units.kind[unit] == UnitKind.PARTIAL
            ):
                continue
            before = self.total
            low = values[at + Root.LOW_PC] if classes[at + Root.LOW_PC] else 0
            if classes[at + Root.RANGES] or classes[at + Root.LOW_PC] != ADDRESS or classes[at + Root.HIGH_PC] == ADDRX:
                self.reader.enter(unit)
                self.addr_base = values[at + Root.ADDR_BASE] if classes[at + Root.ADDR_BASE] else 0
                self.rnglists_base = values[at + Root.RNGLISTS_BASE] if classes[at + Root.RNGLISTS_BASE] else 0
                self.ranges_base = 0
                if classes[at + Root.LOW_PC] == ADDRX:
                    low = self.indexed_address(low)
                self.base = low
            if classes[at + Root.RANGES]:
                self.add_list(classes[at + Root.RANGES], values[at + Root.RANGES], cython.cast("unsigned int", unit))
            elif classes[at + Root.LOW_PC] and classes[at + Root.HIGH_PC]:
                high = values[at + Root.HIGH_PC]
                if classes[at + Root.HIGH_PC] == ADDRX:
                    high = self.indexed_address(high)
                elif classes[at + Root.HIGH_PC] != ADDRESS:
                    high = low + high if high < ALL_ONES - low else ALL_ONES
                self.add(low, high, cython.cast("unsigned int", unit))
            if self.total == before and values[at + Root.CHILDREN]:
                unsure.append(unit)
        return (
            copied(self.start, self.total),
            copied(self.end, self.total),
            copied(self.owner, self.total),
            unsure,
        )

    def address_at(self, unit: int, index: int) -> int:
        """Entry ``index`` of the unit's part of `.debug_addr` (bases set); 0 where there is none."""
        self.reader.enter(unit)
        found: cython.ulonglong = self.indexed_address(index)
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def indexed_address(self, index: cython.ulonglong) -> cython.ulonglong:
        """An entry of the unit's part of `.debug_addr`, plus the distance in the upper 32 bits of ``index``; 0 where
        there is none."""
        distance: cython.ulonglong = index >> 32
        found: cython.ulonglong
        index = index & cython.cast(cython.ulonglong, 0xFFFFFFFF)
        if index > 0xFFFFFFF or self.addr_base > LARGEST_OFFSET:
            return 0
        found = integer_at(
            self.addresses,
            cython.cast("Py_ssize_t", self.addr_base + index * self.reader.address_size),
            self.reader.address_size,
            self.reader.big,
        )
        return found + distance if found else 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add(self, start: cython.ulonglong, stop: cython.ulonglong, owner: cython.uint) -> cython.int:
        """Add a range, unless it is empty or the linker discarded its code."""
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
        n = self.total
        if n >= self.limit:
            self.reader.damaged += 1
            return 0
        if n == len(self.start):
            self.start = doubled(self.start, n)
            self.end = doubled(self.end, n)
            self.owner = doubled(self.owner, n)
        self.start[n] = start
        self.end[n] = stop
        self.owner[n] = owner
        self.total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_list(self, value_class: cython.int, value: cython.ulonglong, owner: cython.uint) -> cython.int:
        """Add the ranges of a DW_AT_ranges value in the reader's unit."""
        at: cython.ulonglong = value
        size: cython.Py_ssize_t = self.old_lists.shape[0] + self.lists.shape[0]
        if self.list_bytes > 16 * cython.cast(cython.ulonglong, size) + 65536:
            # DIEs share few lists: this many bytes are damage.
            self.reader.damaged += 1
            return 0
        if self.reader.version < 5:
            return self._add_old_list(value + self.ranges_base, owner)
        if value_class == RNGLISTX:
            if value > 0xFFFFFFF or self.rnglists_base > LARGEST_OFFSET:
                self.reader.damaged += 1
                return 0
            at = self.rnglists_base + integer_at(
                self.lists,
                cython.cast("Py_ssize_t", self.rnglists_base + value * self.reader.offset_size),
                self.reader.offset_size,
                self.reader.big,
            )
        return self._add_new_list(at, owner)

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_old_list(self, offset: cython.ulonglong, owner: cython.uint) -> cython.int:
        """A list in `.debug_ranges`: pairs of addresses up to two zeros."""
        n: cython.Py_ssize_t = self.old_lists.shape[0]
        at: cython.Py_ssize_t
        base: cython.ulonglong = self.base
        start: cython.ulonglong
        stop: cython.ulonglong
        size: cython.int = self.reader.address_size
        highest: cython.ulonglong = ALL_ONES if size == 8 else (cython.cast(cython.ulonglong, 1) << (8 * size)) - 1
        if offset >= cython.cast(cython.ulonglong, n):
            self.reader.damaged += 1
            return 0
        at = cython.cast("Py_ssize_t", offset)
        while n - at >= 2 * size:
            self.list_bytes += 2 * size
            start = integer_at(self.old_lists, at, size, self.reader.big)
            stop = integer_at(self.old_lists, at + size, size, self.reader.big)
            at += 2 * size
            if start == highest:
                base = stop
            elif start == 0 and stop == 0:
                return 0
            elif start <= stop:
                self.add((base + start) & highest, (base + stop) & highest, owner)
                if self.total >= self.limit:
                    return 0
        self.reader.damaged += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _add_new_list(self, offset: cython.ulonglong, owner: cython.uint) -> cython.int:
        """A list in `.debug_rnglists`."""
        base: cython.ulonglong = self.base
        start: cython.ulonglong
        stop: cython.ulonglong
        op: cython.int = entries.BASE_ADDRESSX
        size: cython.int = self.reader.address_size
        big: cython.bint = self.reader.big
        end: cython.Py_ssize_t = self.lists.shape[0]
        at: cython.Py_ssize_t = cython.cast("Py_ssize_t", min(offset, cython.cast(cython.ulonglong, end)))
        first: cython.Py_ssize_t = at
        while at < end and self.total < self.limit:
            op = self.lists[at]
            at += 1
            if op == entries.END_OF_LIST:
                break
            if op == entries.BASE_ADDRESSX:
                base = self.indexed_address(leb128(self.lists, cython.address(at), end, False))
                continue
            if op == entries.BASE_ADDRESS:
                base = integer_at(self.lists, at, size, big)
                at += size
                continue
            if op == entries.STARTX_ENDX:
                start = self.indexed_address(leb128(self.lists, cython.address(at), end, False))
                stop = self.indexed_address(leb128(self.lists, cython.address(at), end, False))
            elif op == entries.STARTX_LENGTH:
                start = self.indexed_address(leb128(self.lists, cython.address(at), end, False))
                stop = start + leb128(self.lists, cython.address(at), end, False)
            elif op == entries.OFFSET_PAIR:
                start = base + leb128(self.lists, cython.address(at), end, False)
                stop = base + leb128(self.lists, cython.address(at), end, False)
            elif op == entries.START_END or op == entries.START_LENGTH:
                start = integer_at(self.lists, at, size, big)
                at += size
                if op == entries.START_END:
                    stop = integer_at(self.lists, at, size, big)
                    at += size
                else:
                    stop = start + leb128(self.lists, cython.address(at), end, False)
            else:
                at = end + 1
                break
            if at <= end:
                self.add(start, stop, owner)
        if op != entries.END_OF_LIST:
            self.reader.damaged += 1
        if at > first:
            self.list_bytes += cython.cast(cython.ulonglong, at - first)
        return 0
