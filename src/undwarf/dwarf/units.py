# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The unit headers of `.debug_info` or `.debug_types`.

Source: DWARF 5, 7.5.1; DWARF 4, 7.5.1.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.reader_constants import DWARF64_LENGTH, RESERVED_LENGTH
from cython.cimports.undwarf.dwarf.unit_kinds import UnitKind
from cython.cimports.undwarf.elf.integers import integer_at

from undwarf.column import zeros


@cython.final
@cython.cclass
class UnitTable:
    """The headers of all units of one section, as columns.

    Damage is counted in ``damaged`` and ends the reading; it never raises.
    """

    def __init__(self, data: Any, *, big: bool = False, types: bool = False) -> None:
        """``types``: the section is `.debug_types`, whose units are type units."""
        self.data = data
        self.big = big
        self.damaged = 0
        self.count = 0
        self._read_headers(types, False)
        count = self.count
        self.offset, self.first, self.end = zeros("Q", count), zeros("Q", count), zeros("Q", count)
        self.abbreviations, self.signature, self.type = zeros("Q", count), zeros("Q", count), zeros("Q", count)
        self.version = zeros("B", count)
        self.offset_size = zeros("B", count)
        self.address_size = zeros("B", count)
        self.kind = zeros("B", count)
        self._read_headers(types, True)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(length="unsigned long long", start="Py_ssize_t", stop="Py_ssize_t", n="Py_ssize_t", width="int")
    def _read_headers(self, type_units: cython.bint, keep: cython.bint) -> cython.int:
        """Count the unit headers, or ``keep`` their fields in the columns, which have room for them."""
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
            length = integer_at(self.data, at, 4, self.big)
            at += 4
            width = 4
            if length == DWARF64_LENGTH:
                if n - at < 8:
                    break
                length = integer_at(self.data, at, 8, self.big)
                at += 8
                width = 8
            elif length >= RESERVED_LENGTH:
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
            version = cython.cast(cython.int, integer_at(self.data, at, 2, self.big))
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
                abbrev = integer_at(self.data, at, width, self.big)
                at += width
            else:
                abbrev = integer_at(self.data, at, width, self.big)
                at += width
                address = self.data[at] if at < n else 0
                at += 1
                if type_units:
                    kind = UnitKind.TYPE
            if kind == UnitKind.TYPE or kind == UnitKind.SPLIT_TYPE:
                signature = integer_at(self.data, at, 8, self.big)
                type_at = integer_at(self.data, at + 8, width, self.big)
                at += 8 + width
            elif kind == UnitKind.SKELETON or kind == UnitKind.SPLIT_COMPILE:
                signature = integer_at(self.data, at, 8, self.big)
                at += 8
            if at > stop or (address != 8 and address != 4 and address != 2):
                self.damaged += keep
                at = stop
                continue
            if keep:
                self.offset[found] = start
                self.first[found] = at
                self.end[found] = stop
                self.abbreviations[found] = abbrev
                self.signature[found] = signature
                self.type[found] = type_at
                self.version[found] = cython.cast("unsigned char", version)
                self.offset_size[found] = cython.cast("unsigned char", width)
                self.address_size[found] = cython.cast("unsigned char", address)
                self.kind[found] = cython.cast("unsigned char", kind)
            found += 1
            at = stop
        self.count = found
        return 0

    def columns(self) -> dict[str, memoryview]:
        """``offset``, ``first`` (offset of the root DIE), ``end``, ``signature``, ``type`` (offset within the unit; Q),
        ``version``, ``offset_size``, ``address_size``, ``kind`` (DW_UT_*; B), each by unit."""
        return {
            "offset": memoryview(self.offset),
            "first": memoryview(self.first),
            "end": memoryview(self.end),
            "signature": memoryview(self.signature),
            "type": memoryview(self.type),
            "version": memoryview(self.version),
            "offset_size": memoryview(self.offset_size),
            "address_size": memoryview(self.address_size),
            "kind": memoryview(self.kind),
        }

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """The unit that has DIEs at an offset of the section, or -1."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.count
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if self.offset[middle] <= offset:
                low = middle + 1
            else:
                high = middle
        if low == 0 or offset < self.first[low - 1] or offset >= self.end[low - 1]:
            return -1
        return low - 1

    def unit_at(self, offset: int) -> int:
        """As :meth:`find`, for callers in Python."""
        number: cython.Py_ssize_t = self.find(offset)
        return number
