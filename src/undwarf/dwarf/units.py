# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Units and abbreviations of a section of debugging information entries, and the numbers that they are made of.

Source: DWARF 5, 7.5 (unit headers, abbreviations), 7.6 (LEB128); DWARF 4, 7.5.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
from cython.cimports.undwarf.dwarf.leb128 import leb128

from undwarf.buffers import doubled, with_room, zeros

NULL_ENTRY = cython.declare(cython.Py_ssize_t, -2)
NONE = cython.declare(cython.uint, 0xFFFFFFFF)
HIGH = cython.declare(cython.ulonglong, 0xFFFFFFF0)
ESCAPE = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MAX_ATTRIBUTES = cython.declare(cython.Py_ssize_t, 256)
"""Attributes of one abbreviation; the largest that compilers write have some forty. Entries that take no room at all
could have more, each time they occur."""
OF_MEMBERS = cython.declare(cython.uint, 0x80000000)
"""Set in ``decl_leap`` of structures, unions and classes: their children say nothing of types' members only in C."""
SPARSE = cython.declare(cython.ulonglong, 256)
"""How far the codes of an abbreviation table may go beyond eight for each entry; they are dense."""

# Which attributes say what an entry declares, as NAMING and its like in undwarf.dwarf.declarations tell them apart.
_TOLD = bytearray(256)
for _attribute, _told in (
    (attributes.NAME, 1),
    (attributes.LINKAGE_NAME, 1),
    (attributes.DECLARATION, 1),
    (attributes.SPECIFICATION, 1),
    (attributes.ABSTRACT_ORIGIN, 1),
    (attributes.LOCATION, 2),
    (attributes.TYPE, 4),
    (attributes.DECL_LINE, 8),
    (attributes.DECL_COLUMN, 8),
    (attributes.BYTE_SIZE, 8),
):
    _TOLD[_attribute] = _told

# Sizes of forms 0x00 to 0x2c: 255 varies, 254 an offset of the unit's width, 253 an address, 252 DW_FORM_ref_addr.
_SIZES = bytearray(b"\xff" * 0x2D)
for _form, _size in {
    0x01: 253, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 254, 0x10: 252, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
    0x17: 254, 0x19: 0, 0x1C: 4, 0x1D: 254, 0x1E: 16, 0x1F: 254, 0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3,
    0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}.items():  # fmt: skip
    _SIZES[_form] = _size


@cython.cclass
class Units:
    """One section of units, `.debug_info` or `.debug_types`, and the abbreviations of its entries.

    ``width`` of an offset and ``address`` size are each unit's own. Nothing is read but unit headers until a unit is
    asked for. Damage is counted in ``damaged`` and ends what is being read, never raises.
    """

    def __init__(self, data: Any, abbrevs: Any, *, big: bool = False, types: bool = False) -> None:
        self.data = data
        self.abbrevs = abbrevs
        self.big = big
        self.types = types
        self.damaged = 0
        self.tables: dict[Any, int] = {}
        self.sizes = memoryview(bytes(_SIZES))
        self.told_by = memoryview(bytes(_TOLD))
        # Room for all that compilers write there: to make more again and again would take twice the memory.
        entries = max(256, len(abbrevs) // 12)
        room = max(1024, 2 * len(abbrevs) // 5)
        self.map_first = zeros("I", 16)
        self.map_size = zeros("I", 16)
        self.table_total = 0
        self.table_bytes = 0
        self.code_map = zeros("I", max(1024, entries))
        self.code_total = 0
        self.decl_tag = zeros("H", entries)
        self.decl_children = zeros("B", entries)
        self.decl_spec = zeros("I", entries)
        self.decl_count = zeros("I", entries)
        self.decl_fixed = zeros("i", entries)
        self.decl_leap = zeros("I", entries)
        self.decl_placed = zeros("B", entries)
        self.codes = zeros("Q", 256)
        self.decl_total = 0
        self.spec_attribute = zeros("H", room)
        self.spec_form = zeros("H", room)
        self.spec_size = zeros("B", room)
        self.spec_told = zeros("B", room)
        self.spec_constant = zeros("q", room)
        self.spec_total = 0
        self.at = self.end = self.count = 0
        self._units(False)
        count = self.count
        for name in ("offset", "first", "end", "abbrev", "signature", "type"):
            self._set_unit_column(name, zeros("Q", count))
        self.unit_table = zeros("I", count)
        self.unit_version = zeros("B", count)
        self.unit_width = zeros("B", count)
        self.unit_address = zeros("B", count)
        self.unit_kind = zeros("B", count)
        self.unit_plain = zeros("B", count)
        self._units(True)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.boundscheck(False)
    @cython.locals(view="const unsigned char[::1]")
    def fixed(self, view: Any, at: cython.Py_ssize_t, size: cython.int) -> cython.ulonglong:
        """A number of ``size`` bytes, 8 at most; 0 where the view ends before it."""
        value: cython.ulonglong = 0
        k: cython.int
        # Nothing below reads anything else.
        if at < 0 or size > view.shape[0] - at:
            return 0
        if self.big:
            for k in range(size):
                value = value << 8 | view[at + k]
        elif size == 4:
            # Most are.
            value = cython.cast(cython.uint, view[at + 3]) << 24
            value |= view[at] | view[at + 1] << 8 | view[at + 2] << 16
        else:
            k = size
            while k > 0:
                k -= 1
                value = value << 8 | view[at + k]
        return value

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

    def _set_unit_column(self, name: str, column: Any) -> None:
        if name == "offset":
            self.unit_offset = column
        elif name == "first":
            self.unit_first = column
        elif name == "end":
            self.unit_end = column
        elif name == "abbrev":
            self.unit_abbrev = column
        elif name == "signature":
            self.unit_signature = column
        else:
            self.unit_type = column

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
            kind = 1
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
                    kind = 2
            if kind == 2 or kind == 6:
                signature = self.fixed(self.data, at, 8)
                type_at = self.fixed(self.data, at + 8, width)
                at += 8 + width
            elif kind == 4 or kind == 5:
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
                self.unit_table[found] = NONE
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

    @cython.cfunc
    @cython.exceptval(-1)
    def enter(self, unit: cython.Py_ssize_t) -> cython.int:
        """Make a unit the one at hand, its abbreviations known."""
        self.unit = unit
        self.width = self.unit_width[unit]
        self.address = self.unit_address[unit]
        self.version = self.unit_version[unit]
        if self.unit_table[unit] == NONE:
            key = (self.unit_abbrev[unit], self.width, self.address, self.version == 2)
            number = self.tables.get(key)
            if number is None:
                number = self.tables[key] = self._abbreviations(self.unit_abbrev[unit])
            self.unit_table[unit] = number
        self.codes_at = self.map_first[self.unit_table[unit]]
        self.codes_end = self.map_size[self.unit_table[unit]]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def at_hand(self, unit: cython.Py_ssize_t) -> cython.int:
        """Make a unit whose abbreviations are known the one at hand."""
        self.unit = unit
        self.width = self.unit_width[unit]
        self.address = self.unit_address[unit]
        self.version = self.unit_version[unit]
        self.codes_at = self.map_first[self.unit_table[unit]]
        self.codes_end = self.map_size[self.unit_table[unit]]
        self.end = self.unit_end[unit]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        code="unsigned long long",
        tag="unsigned long long",
        attribute="unsigned long long",
        form="unsigned long long",
        first_decl="Py_ssize_t",
        first_code="Py_ssize_t",
        total="int",
        size="int",
        kept="const unsigned char[::1]",
        data="const unsigned char[::1]",
        at="Py_ssize_t",
        leaf="bint",
        holds="bint",
        leap="unsigned int",
        placed="bint",
        highest="unsigned long long",
        known="Py_ssize_t",
        i="Py_ssize_t",
        constant="long long",
        start="Py_ssize_t",
    )
    def _abbreviations(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """Read an abbreviation table for units of the width and address size at hand; its number."""
        kept_at: cython.Py_ssize_t = self.at
        kept_end: cython.Py_ssize_t = self.end
        kept = self.data
        first_decl = self.decl_total
        known = 0
        highest = 0
        # The LEB128 readers work on ``data``.
        data = self.abbrevs
        self.data = data
        self.end = self.abbrevs.shape[0]
        self.at = (
            self.end + 1 if offset > cython.cast(cython.ulonglong, self.end) else cython.cast("Py_ssize_t", offset)
        )
        start = self.at
        if self.table_bytes > 4 * cython.cast("unsigned long long", self.end) + 65536:
            # Tables do not overlap, but that one serves units of several shapes: this is damage.
            self.damaged += 1
            self.at = self.end + 1
        while self.at < self.end:
            code = self.uleb()
            if code == 0:
                break
            tag = self.uleb()
            if self.at >= self.end:
                self.damaged += 1
                break
            if self.decl_total == len(self.decl_tag):
                self._room_for_decl()
            # Arrays, enumerations, types of functions; calls.
            leaf = (
                tag == tags.ARRAY_TYPE
                or tag == tags.ENUMERATION_TYPE
                or tag == tags.SUBROUTINE_TYPE
                or tag == tags.CALL_SITE
                or tag == tags.GNU_CALL_SITE
            )
            holds = tag == tags.STRUCTURE_TYPE or tag == tags.UNION_TYPE or tag == tags.CLASS_TYPE
            leap = 0
            placed = False
            self.decl_tag[self.decl_total] = cython.cast("unsigned short", tag if tag < 0x10000 else 0)
            self.decl_children[self.decl_total] = self.data[self.at]
            self.at += 1
            self.decl_spec[self.decl_total] = cython.cast("unsigned int", self.spec_total)
            total = 0
            while True:
                at = self.at
                if at + 1 < self.end and data[at] < 0x80 and data[at + 1] < 0x80:
                    # Nearly all are of one byte.
                    attribute = data[at]
                    form = data[at + 1]
                    self.at = at + 2
                else:
                    attribute = self.uleb()
                    form = self.uleb()
                if self.at > self.end or (attribute == 0 and form == 0):
                    break
                if self.spec_total - cython.cast("Py_ssize_t", self.decl_spec[self.decl_total]) >= MAX_ATTRIBUTES:
                    self.damaged += 1
                    self.at = self.end + 1
                    break
                constant = cython.cast("long long", self.sleb()) if form == 0x21 else 0
                size = self.sizes[form] if form < 0x2D else 254 if form == 0x1F20 or form == 0x1F21 else 255
                if size == 254:
                    size = self.width
                elif size == 253:
                    size = self.address
                elif size == 252:
                    # In DWARF 2 a reference to another unit was as wide as an address.
                    size = self.address if self.version == 2 else self.width
                if (
                    (leaf or holds)
                    and attribute == attributes.SIBLING
                    and 0x11 <= form <= 0x14
                    and 0 <= total < 1 << 16
                ):
                    leap = total << 4 | size
                    if holds:
                        leap |= OF_MEMBERS
                elif attribute == attributes.DECLARATION or (
                    attribute == attributes.LOCATION and form != 0x17 and form != 0x22 and form != 0x06 and form != 0x07
                ):
                    placed = True
                if size == 255 or total < 0:
                    total = -1
                else:
                    total += size
                i = self.spec_total
                if i == len(self.spec_form):
                    self._room_for_spec()
                self.spec_attribute[i] = cython.cast("unsigned short", attribute if attribute < 0x10000 else 0)
                self.spec_form[i] = cython.cast("unsigned short", form if form < 0x10000 else 0)
                self.spec_size[i] = cython.cast("unsigned char", size)
                self.spec_told[i] = (
                    self.told_by[attribute] if attribute < 256 else attribute == attributes.MIPS_LINKAGE_NAME
                )
                self.spec_constant[i] = constant
                self.spec_total += 1
            self.decl_count[self.decl_total] = cython.cast(
                "unsigned int", self.spec_total - self.decl_spec[self.decl_total]
            )
            self.decl_fixed[self.decl_total] = total
            self.decl_leap[self.decl_total] = leap
            self.decl_placed[self.decl_total] = placed
            self.decl_total += 1
            if known == len(self.codes):
                self.codes = doubled(self.codes, known)
            self.codes[known] = code
            known += 1
            highest = max(highest, code)
        if self.at > start:
            self.table_bytes += cython.cast("unsigned long long", self.at - start)
        self.data = kept
        self.at = kept_at
        self.end = kept_end
        # Codes are dense in all that compilers write; those far beyond the number of entries are damage.
        if highest > 8 * cython.cast(cython.ulonglong, known) + SPARSE:
            self.damaged += 1
            highest = 8 * cython.cast(cython.ulonglong, known) + SPARSE
        first_code = self.code_total
        size_of_map = first_code + cython.cast("Py_ssize_t", highest) + 1
        if size_of_map > len(self.code_map):
            self.code_map = with_room(self.code_map, first_code, size_of_map)
        for i in range(known):
            # The first of two entries with one code counts.
            code = self.codes[i]
            if code <= highest and self.code_map[first_code + cython.cast("Py_ssize_t", code)] == 0:
                self.code_map[first_code + cython.cast("Py_ssize_t", code)] = cython.cast(
                    "unsigned int", first_decl + i + 1
                )
        self.code_total = size_of_map
        i = self.table_total
        if i == len(self.map_first):
            self.map_first = doubled(self.map_first, i)
            self.map_size = doubled(self.map_size, i)
        self.map_first[i] = cython.cast("unsigned int", first_code)
        self.map_size[i] = cython.cast("unsigned int", highest + 1)
        self.table_total += 1
        return i

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_decl(self) -> cython.int:
        n: cython.Py_ssize_t = self.decl_total
        self.decl_tag = doubled(self.decl_tag, n)
        self.decl_children = doubled(self.decl_children, n)
        self.decl_spec = doubled(self.decl_spec, n)
        self.decl_count = doubled(self.decl_count, n)
        self.decl_fixed = doubled(self.decl_fixed, n)
        self.decl_leap = doubled(self.decl_leap, n)
        self.decl_placed = doubled(self.decl_placed, n)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_spec(self) -> cython.int:
        n: cython.Py_ssize_t = self.spec_total
        self.spec_attribute = doubled(self.spec_attribute, n)
        self.spec_form = doubled(self.spec_form, n)
        self.spec_size = doubled(self.spec_size, n)
        self.spec_told = doubled(self.spec_told, n)
        self.spec_constant = doubled(self.spec_constant, n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def head(self) -> cython.Py_ssize_t:
        """The abbreviation of the entry at ``at``, which becomes the place behind its code: -1 for a code not in the
        table at hand, NULL_ENTRY for what ends a list of siblings."""
        number: cython.Py_ssize_t = 0
        code: cython.ulonglong = 0
        if self.at < self.end:
            code = self.data[self.at]
        if 0 < code < 0x80:
            # Most are: not worth a call.
            self.at += 1
        else:
            code = self.uleb()
        if code == 0:
            return NULL_ENTRY
        if code < self.codes_end:
            number = self.code_map[self.codes_at + cython.cast("Py_ssize_t", code)]
        return number - 1
