# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Units of a section of debugging information entries, and the numbers that they are made of.

Source: DWARF 5, 7.5.1 (unit headers), 7.6 (LEB128); DWARF 4, 7.5.1.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.fixed import fixed
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.unit_kinds import UnitKind

from undwarf.column import zeros

HIGH = cython.declare(cython.ulonglong, 0xFFFFFFF0)
ESCAPE = cython.declare(cython.ulonglong, 0xFFFFFFFF)


@cython.cclass
class Units:
    """One section of units, `.debug_info` or `.debug_types`, of which their headers are read.

    Damage is counted in ``damaged`` and ends what is being read, never raises.
    """

    def __init__(self, data: Any, *, big: bool = False, types: bool = False) -> None:
        self.data = data
        self.big = big
        self.types = types
        self.damaged = 0
        self.at = self.end = self.count = 0
        self._units(False)
        count = self.count
        self.unit_offset, self.unit_first, self.unit_end = zeros("Q", count), zeros("Q", count), zeros("Q", count)
        self.unit_abbrev, self.unit_signature, self.unit_type = zeros("Q", count), zeros("Q", count), zeros("Q", count)
        self.unit_version = zeros("B", count)
        self.unit_width = zeros("B", count)
        self.unit_address = zeros("B", count)
        self.unit_kind = zeros("B", count)
        self._units(True)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.locals(view="const unsigned char[::1]")
    def fixed(self, view: Any, at: cython.Py_ssize_t, size: cython.int) -> cython.ulonglong:
        """A number of ``size`` bytes, 8 at most; 0 where the view ends before it."""
        return fixed(view, at, size, self.big)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def uleb(self) -> cython.ulonglong:
        """The unsigned LEB128 number at ``at``, which becomes past the end of the unit where there is none."""
        return leb128(self.data, cython.address(self.at), self.end, False)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sleb(self) -> cython.ulonglong:
        """The signed LEB128 number at ``at``, as its two's complement."""
        return leb128(self.data, cython.address(self.at), self.end, True)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(length="unsigned long long", start="Py_ssize_t", stop="Py_ssize_t", n="Py_ssize_t", width="int")
    def _units(self, keep: cython.bint) -> cython.int:
        """Count all unit headers, or keep what they say."""
        at: cython.Py_ssize_t = 0
        found: cython.Py_ssize_t = 0
        version: cython.int
        kind: cython.int
        address: cython.int
        abbrev: cython.ulonglong
        signature: cython.ulonglong
        type_at: cython.ulonglong
        n = self.data.shape[0]
        while n - at >= 11:
            start = at
            length = self.fixed(self.data, at, 4)
            at += 4
            width = 4
            if length == ESCAPE:
                if n - at < 8:
                    break
                length = self.fixed(self.data, at, 8)
                at += 8
                width = 8
            elif length >= HIGH:
                self.damaged += keep
                break
            if length > cython.cast(cython.ulonglong, n - at):
                self.damaged += keep
                length = n - at
            stop = at + cython.cast("Py_ssize_t", length)
            if length < 7:
                # Padding, or nothing that can be a unit.
                at = stop
                continue
            version = cython.cast(cython.int, self.fixed(self.data, at, 2))
            at += 2
            if version < 2 or version > 5:
                self.damaged += keep
                at = stop
                continue
            kind = UnitKind.COMPILE
            signature = 0
            type_at = 0
            if version == 5:
                kind = self.data[at]
                address = self.data[at + 1]
                at += 2
                abbrev = self.fixed(self.data, at, width)
                at += width
            else:
                abbrev = self.fixed(self.data, at, width)
                at += width
                address = self.data[at] if at < n else 0
                at += 1
                if self.types:
                    kind = UnitKind.TYPE
            if kind == UnitKind.TYPE or kind == UnitKind.SPLIT_TYPE:
                signature = self.fixed(self.data, at, 8)
                type_at = self.fixed(self.data, at + 8, width)
                at += 8 + width
            elif kind == UnitKind.SKELETON or kind == UnitKind.SPLIT_COMPILE:
                signature = self.fixed(self.data, at, 8)
                at += 8
            if at > stop or (address != 8 and address != 4 and address != 2):
                self.damaged += keep
                at = stop
                continue
            if keep:
                self.unit_offset[found] = start
                self.unit_first[found] = at
                self.unit_end[found] = stop
                self.unit_abbrev[found] = abbrev
                self.unit_signature[found] = signature
                self.unit_type[found] = type_at
                self.unit_version[found] = cython.cast("unsigned char", version)
                self.unit_width[found] = cython.cast("unsigned char", width)
                self.unit_address[found] = cython.cast("unsigned char", address)
                self.unit_kind[found] = cython.cast("unsigned char", kind)
            found += 1
            at = stop
        self.count = found
        return 0

    def units(self) -> dict[str, memoryview]:
        """Columns of all units: ``offset``, ``first`` (the root's offset), ``end``, ``signature``, ``type`` (Q, within
        the unit), ``version``, ``width``, ``address``, ``kind`` (B; DW_UT_*)."""
        return {
            "offset": memoryview(self.unit_offset),
            "first": memoryview(self.unit_first),
            "end": memoryview(self.unit_end),
            "signature": memoryview(self.unit_signature),
            "type": memoryview(self.unit_type),
            "version": memoryview(self.unit_version),
            "width": memoryview(self.unit_width),
            "address": memoryview(self.unit_address),
            "kind": memoryview(self.unit_kind),
        }

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_unit(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """The unit that holds an offset of the section, or -1."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.count
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if self.unit_offset[middle] <= offset:
                low = middle + 1
            else:
                high = middle
        if low == 0 or offset < self.unit_first[low - 1] or offset >= self.unit_end[low - 1]:
            return -1
        return low - 1

    def unit_at(self, offset: int) -> int:
        """The number of the unit that holds an offset of the section, or -1."""
        number: cython.Py_ssize_t = self.find_unit(offset)
        return number
