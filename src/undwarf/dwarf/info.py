# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Debugging information entries: units, abbreviations, attribute values, and the functions of a unit in one pass.

Sources: DWARF 5, sections 7.5 (units, abbreviations, forms), 2.17.3 and 7.25 (range lists); DWARF 4, 7.5 and 2.17.3;
GCC's wiki on DebugFission for the forms and attributes that DWARF 4 uses in split files; the GNU forms of dwz.
"""

from typing import Any

import cython

from undwarf.buffers import longer, zeros

NONE = cython.declare(cython.uint, 0xFFFFFFFF)
ALL_ONES = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
HIGH = cython.declare(cython.ulonglong, 0xFFFFFFF0)
LARGE = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFF)
FAR = cython.declare(cython.ulonglong, 1 << 62)
SPREAD = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
BYTES = cython.declare(cython.longlong, 1 << 40)
"""Sizes of types up to this are plain."""
ESCAPE = cython.declare(cython.ulonglong, 0xFFFFFFFF)

# What a value is, as undwarf.dwarf.constants.ValueClass has it.
ADDRESS = cython.declare(cython.int, 1)
UNSIGNED = cython.declare(cython.int, 2)
SIGNED = cython.declare(cython.int, 3)
FLAG = cython.declare(cython.int, 4)
BLOCK = cython.declare(cython.int, 5)
STRING = cython.declare(cython.int, 6)
STRP = cython.declare(cython.int, 7)
LINE_STRP = cython.declare(cython.int, 8)
STRX = cython.declare(cython.int, 9)
STRP_ALT = cython.declare(cython.int, 10)
REF = cython.declare(cython.int, 11)
REF_ALT = cython.declare(cython.int, 12)
REF_SIG8 = cython.declare(cython.int, 13)
SEC_OFFSET = cython.declare(cython.int, 14)
ADDRX = cython.declare(cython.int, 15)
LOCLISTX = cython.declare(cython.int, 16)
RNGLISTX = cython.declare(cython.int, 17)
DATA16 = cython.declare(cython.int, 18)

BASE_CLASS = cython.declare(cython.longlong, 1 << 62)
VARIABLE = cython.declare(cython.Py_ssize_t, 12)
"""Numbers of each row of :meth:`Info.variables`."""
ROOT = cython.declare(cython.Py_ssize_t, 16)
"""Places kept of each unit's root, as undwarf.dwarf.constants.Root has them."""

_ROOT_OF = bytearray(b"\xff" * 0x80)
for _attribute, _place in {
    0x03: 0, 0x1B: 1, 0x10: 2, 0x11: 3, 0x12: 4, 0x55: 5, 0x13: 6, 0x76: 7, 0x72: 9, 0x73: 10, 0x74: 11,
}.items():  # fmt: skip
    _ROOT_OF[_attribute] = _place

# Sizes of forms 0x00 to 0x2c: 255 varies, 254 an offset of the unit's width, 253 an address, 252 DW_FORM_ref_addr.
_SIZES = bytearray(b"\xff" * 0x2D)
for _form, _size in {
    0x01: 253, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 254, 0x10: 252, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
    0x17: 254, 0x19: 0, 0x1C: 4, 0x1D: 254, 0x1E: 16, 0x1F: 254, 0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3,
    0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}.items():  # fmt: skip
    _SIZES[_form] = _size

MAX_DEPTH = cython.declare(cython.Py_ssize_t, 1024)
"""Nesting of entries that is followed."""
MAX_STRING = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Bytes of a name that are looked at."""
MAX_ATTRIBUTES = cython.declare(cython.Py_ssize_t, 256)
"""Attributes of one abbreviation; the largest that compilers write have some forty. Entries that take no room at all
could have more, each time they occur."""
MOST_KEPT = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Records of one unit whose memory is used for the next one again."""
SPARSE = cython.declare(cython.ulonglong, 256)
"""How far the codes of an abbreviation table may go beyond eight for each entry; they are dense."""
CODE = cython.declare(cython.int, 1)
TYPES = cython.declare(cython.int, 2)
ALL = cython.declare(cython.int, 7)
"""Of what units declare: functions and variables; types but typedefs; these and namespaces as well."""
MAX_HOPS = cython.declare(cython.int, 32)
"""References followed from an entry to the one that has its name."""


@cython.cclass
class Info:
    """One section of units, `.debug_info` or `.debug_types`, with the sections that its values refer to.

    ``width`` of an offset and ``address`` size are each unit's own. Nothing is read but unit headers until a unit is
    asked for. Damage is counted in ``damaged`` and ends what is being read, never raises.
    """

    data = cython.declare("const unsigned char[::1]")
    abbrevs = cython.declare("const unsigned char[::1]")
    ranges_data = cython.declare("const unsigned char[::1]")
    rnglists = cython.declare("const unsigned char[::1]")
    addresses = cython.declare("const unsigned char[::1]")
    big: cython.bint
    types: cython.bint
    damaged = cython.declare(cython.Py_ssize_t, visibility="public")
    # units
    unit_offset = cython.declare("unsigned long long[::1]")
    unit_first = cython.declare("unsigned long long[::1]")
    unit_end = cython.declare("unsigned long long[::1]")
    unit_abbrev = cython.declare("unsigned long long[::1]")
    unit_signature = cython.declare("unsigned long long[::1]")
    unit_type = cython.declare("unsigned long long[::1]")
    unit_table = cython.declare("unsigned int[::1]")
    unit_version = cython.declare("unsigned char[::1]")
    unit_width = cython.declare("unsigned char[::1]")
    unit_address = cython.declare("unsigned char[::1]")
    unit_kind = cython.declare("unsigned char[::1]")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    # abbreviation tables
    tables: dict[Any, int]
    map_first = cython.declare("unsigned int[::1]")
    map_size = cython.declare("unsigned int[::1]")
    table_total: cython.Py_ssize_t
    table_bytes: cython.ulonglong
    list_bytes: cython.ulonglong
    code_map = cython.declare("unsigned int[::1]")
    code_total: cython.Py_ssize_t
    decl_tag = cython.declare("unsigned short[::1]")
    decl_children = cython.declare("unsigned char[::1]")
    decl_spec = cython.declare("unsigned int[::1]")
    decl_count = cython.declare("unsigned int[::1]")
    decl_fixed = cython.declare("int[::1]")
    decl_leap = cython.declare("unsigned int[::1]")
    """Where DW_AT_sibling is in an entry, and its size in the lowest four bits, of those whose children say nothing of
    types' members, functions and variables; 0 for others."""
    decl_placed = cython.declare("unsigned char[::1]")
    """Whether a variable may have one place all the time, or be declared only."""
    codes = cython.declare("unsigned long long[::1]")
    decl_total: cython.Py_ssize_t
    spec_attribute = cython.declare("unsigned short[::1]")
    spec_form = cython.declare("unsigned short[::1]")
    spec_size = cython.declare("unsigned char[::1]")
    spec_constant = cython.declare("long long[::1]")
    spec_total: cython.Py_ssize_t
    sizes = cython.declare("const unsigned char[::1]")
    root_of = cython.declare("const unsigned char[::1]")
    # the value read last, and where reading went on
    value_class: cython.int
    value: cython.ulonglong
    value_size: cython.ulonglong
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    # the name found last
    next_class: cython.int
    next_value: cython.ulonglong
    name_unit: cython.Py_ssize_t
    # the unit at hand
    unit: cython.Py_ssize_t
    width: cython.int
    address: cython.int
    version: cython.int
    table: cython.Py_ssize_t
    base: cython.ulonglong
    addr_base: cython.ulonglong
    rnglists_base: cython.ulonglong
    ranges_base: cython.ulonglong
    # where code is: pairs of start and end
    own_start = cython.declare("unsigned long long[::1]")
    own_end = cython.declare("unsigned long long[::1]")
    own_record = cython.declare("unsigned int[::1]")
    """Room for the ranges of one entry."""
    code = cython.declare("const unsigned long long[::1]")
    # functions found
    record_die = cython.declare("unsigned long long[::1]")
    record_origin = cython.declare("unsigned long long[::1]")
    record_class = cython.declare("unsigned char[::1]")
    record_inlined = cython.declare("unsigned char[::1]")
    record_parent = cython.declare("unsigned int[::1]")
    record_file = cython.declare("unsigned int[::1]")
    record_line = cython.declare("unsigned int[::1]")
    record_column = cython.declare("unsigned int[::1]")
    record_total: cython.Py_ssize_t
    range_start = cython.declare("unsigned long long[::1]")
    range_end = cython.declare("unsigned long long[::1]")
    range_record = cython.declare("unsigned int[::1]")
    range_total: cython.Py_ssize_t
    range_limit: cython.Py_ssize_t
    enclosing = cython.declare("unsigned int[::1]")
    # entries found below one, and what is said of those of a function
    below = cython.declare("unsigned long long[::1]")
    variable_rows = cython.declare("unsigned long long[::1]")
    known_strings = cython.declare(dict, visibility="readonly")

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
        known_strings: "dict[int, str] | None" = None,
    ) -> None:
        """``known_strings`` are those of `.debug_str` that were read, by offset; whoever reads more adds to them."""
        self.data = data
        self.abbrevs = abbrevs
        self.ranges_data = ranges
        self.rnglists = rnglists
        self.addresses = addresses
        self.big = big
        self.types = types
        self.code = code if code is not None else zeros("Q", 0)
        self.damaged = 0
        self.tables = {}
        self.sizes = memoryview(bytes(_SIZES))
        self.root_of = memoryview(bytes(_ROOT_OF))
        self.map_first = zeros("I", 16)
        self.map_size = zeros("I", 16)
        self.table_total = 0
        self.table_bytes = 0
        self.list_bytes = 0
        self.code_map = zeros("I", 1024)
        self.code_total = 0
        self.decl_tag = zeros("H", 256)
        self.decl_children = zeros("B", 256)
        self.decl_spec = zeros("I", 256)
        self.decl_count = zeros("I", 256)
        self.decl_fixed = zeros("i", 256)
        self.decl_leap = zeros("I", 256)
        self.decl_placed = zeros("B", 256)
        self.codes = zeros("Q", 256)
        self.decl_total = 0
        self.spec_attribute = zeros("H", 1024)
        self.spec_form = zeros("H", 1024)
        self.spec_size = zeros("B", 1024)
        self.spec_constant = zeros("q", 1024)
        self.spec_total = 0
        self.record_total = 0
        self.range_total = 0
        self.range_limit = max_ranges
        self.enclosing = zeros("I", MAX_DEPTH + 2)
        self.below = zeros("Q", 5 * 64)
        self.variable_rows = zeros("Q", VARIABLE * 64)
        self.known_strings = {} if known_strings is None else known_strings
        self.record_die = self.range_start = zeros("Q", 0)
        self._reset_records()
        self.own_start = zeros("Q", 16)
        self.own_end = zeros("Q", 16)
        self.own_record = zeros("I", 16)
        self._units(False)
        count = self.count
        for name in ("offset", "first", "end", "abbrev", "signature", "type"):
            self._set_unit_column(name, zeros("Q", count))
        self.unit_table = zeros("I", count)
        self.unit_version = zeros("B", count)
        self.unit_width = zeros("B", count)
        self.unit_address = zeros("B", count)
        self.unit_kind = zeros("B", count)
        self._units(True)

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

    # -- plain numbers ------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    @cython.locals(view="const unsigned char[::1]")
    def fixed(self, view: Any, at: cython.Py_ssize_t, size: cython.int) -> cython.ulonglong:
        """A number of ``size`` bytes, 8 at most; 0 where the view ends before it."""
        value: cython.ulonglong = 0
        k: cython.int
        if at < 0 or size > view.shape[0] - at:
            return 0
        # Just checked: at + size is inside.
        if not self.big:
            k = size
            while k > 0:
                k -= 1
                value = value << 8 | view[at + k]
        else:
            for k in range(size):
                value = value << 8 | view[at + k]
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def uleb(self) -> cython.ulonglong:
        """The LEB128 number at ``at``; bits past 64 are dropped. At the end of the unit ``at`` becomes past it."""
        value: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.uchar
        while self.at < self.end:
            byte = self.data[self.at]
            self.at += 1
            if shift < 64:
                value |= cython.cast(cython.ulonglong, byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 140:
                break
        self.at = self.end + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sleb(self) -> cython.ulonglong:
        """The signed LEB128 number at ``at``, as its two's complement."""
        value: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.uchar
        while self.at < self.end:
            byte = self.data[self.at]
            self.at += 1
            if shift < 64:
                value |= cython.cast(cython.ulonglong, byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if byte & 0x40 and shift < 64:
                    value |= ALL_ONES << shift
                return value
            if shift > 140:
                break
        self.at = self.end + 1
        return 0

    # -- units --------------------------------------------------------------------------------------------------

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
        self.table = self.unit_table[unit]
        return 0

    # -- abbreviations ------------------------------------------------------------------------------------------

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
            if self.decl_total == self.decl_tag.shape[0]:
                self._room_for_decl()
            # Arrays, enumerations, types of functions; calls.
            leaf = tag == 0x01 or tag == 0x04 or tag == 0x15 or tag == 0x48 or tag == 0x4109
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
                if leaf and attribute == 0x01 and 0x11 <= form <= 0x14 and 0 <= total < 1 << 16:
                    leap = total << 4 | size
                elif attribute == 0x3C or (
                    attribute == 0x02 and form != 0x17 and form != 0x22 and form != 0x06 and form != 0x07
                ):
                    placed = True
                if size == 255 or total < 0:
                    total = -1
                else:
                    total += size
                i = self.spec_total
                if i == self.spec_form.shape[0]:
                    self._room_for_spec()
                self.spec_attribute[i] = cython.cast("unsigned short", attribute if attribute < 0x10000 else 0)
                self.spec_form[i] = cython.cast("unsigned short", form if form < 0x10000 else 0)
                self.spec_size[i] = cython.cast("unsigned char", size)
                self.spec_constant[i] = constant
                self.spec_total += 1
            self.decl_count[self.decl_total] = cython.cast(
                "unsigned int", self.spec_total - self.decl_spec[self.decl_total]
            )
            self.decl_fixed[self.decl_total] = total
            self.decl_leap[self.decl_total] = leap
            self.decl_placed[self.decl_total] = placed
            self.decl_total += 1
            if known == self.codes.shape[0]:
                self.codes = _grown(self.codes, known)
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
        if size_of_map > self.code_map.shape[0]:
            self.code_map = _grown_to(self.code_map, first_code, size_of_map)
        for i in range(known):
            # The first of two entries with one code counts.
            code = self.codes[i]
            if code <= highest and self.code_map[first_code + cython.cast("Py_ssize_t", code)] == 0:
                self.code_map[first_code + cython.cast("Py_ssize_t", code)] = cython.cast(
                    "unsigned int", first_decl + i + 1
                )
        self.code_total = size_of_map
        i = self.table_total
        if i == self.map_first.shape[0]:
            self.map_first = _grown(self.map_first, i)
            self.map_size = _grown(self.map_size, i)
        self.map_first[i] = cython.cast("unsigned int", first_code)
        self.map_size[i] = cython.cast("unsigned int", highest + 1)
        self.table_total += 1
        return i

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_decl(self) -> cython.int:
        n: cython.Py_ssize_t = self.decl_total
        self.decl_tag = _grown(self.decl_tag, n)
        self.decl_children = _grown(self.decl_children, n)
        self.decl_spec = _grown(self.decl_spec, n)
        self.decl_count = _grown(self.decl_count, n)
        self.decl_fixed = _grown(self.decl_fixed, n)
        self.decl_leap = _grown(self.decl_leap, n)
        self.decl_placed = _grown(self.decl_placed, n)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_spec(self) -> cython.int:
        n: cython.Py_ssize_t = self.spec_total
        self.spec_attribute = _grown(self.spec_attribute, n)
        self.spec_form = _grown(self.spec_form, n)
        self.spec_size = _grown(self.spec_size, n)
        self.spec_constant = _grown(self.spec_constant, n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def declaration(self, code: cython.ulonglong) -> cython.Py_ssize_t:
        """The abbreviation of a code in the table at hand, or -1."""
        number: cython.Py_ssize_t = 0
        if code < self.map_size[self.table]:
            number = self.code_map[self.map_first[self.table] + cython.cast("Py_ssize_t", code)]
        return number - 1

    # -- values -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip(self, form: cython.int) -> cython.int:
        """Step over a value whose size varies. An unknown form puts ``at`` past the end."""
        size: cython.ulonglong
        n: cython.int = 0
        if form == 0x0D or form == 0x0F or form == 0x15 or form == 0x1A or form == 0x1B or form == 0x22 or form == 0x23:
            self.uleb()
            return 0
        if form == 0x1F01 or form == 0x1F02:
            self.uleb()
            return 0
        if form == 0x08:
            while self.at < self.end and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
            return 0
        if form == 0x16:
            # DW_FORM_indirect names the form in the entry; it may not name itself again, so this ends.
            form = cython.cast(cython.int, self.uleb() & 0xFFFF)
            if form == 0x16 or form == 0x21:
                self.at = self.end + 1
                return 0
            n = self.size_of(form)
            if n == 255:
                return self.skip(form)
            self.at += n
            return 0
        if form == 0x09 or form == 0x18:
            size = self.uleb()
        else:
            n = 1 if form == 0x0A else 2 if form == 0x03 else 4 if form == 0x04 else 0
            if n == 0:
                self.at = self.end + 1
                return 0
            size = self.fixed(self.data, self.at, n)
            self.at += n
        if self.at > self.end or size > cython.cast(cython.ulonglong, self.end - self.at):
            self.at = self.end + 1
        else:
            self.at += cython.cast("Py_ssize_t", size)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def size_of(self, form: cython.int) -> cython.int:
        """Bytes of a form in the unit at hand, 255 where it varies."""
        size: cython.int = 255
        if 0 <= form < 0x2D:
            size = self.sizes[form]
        elif form == 0x1F20 or form == 0x1F21:
            size = 254
        if size == 254:
            return self.width
        if size == 253:
            return self.address
        if size == 252:
            return self.address if self.version == 2 else self.width
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read(self, form: cython.int, constant: cython.longlong) -> cython.int:
        """Read a value at ``at`` into ``value_class``, ``value`` and ``value_size``; class 0 for an unknown form."""
        n: cython.int
        start: cython.Py_ssize_t
        unit_at: cython.ulonglong = self.unit_offset[self.unit]
        self.value_class = 0
        self.value = 0
        self.value_size = 0
        if form == 0x16:
            form = cython.cast(cython.int, self.uleb() & 0xFFFF)
            if form == 0x16 or form == 0x21:
                self.at = self.end + 1
                return 0
        if form == 0x21:
            self.value_class = SIGNED
            self.value = cython.cast(cython.ulonglong, constant)
            return 0
        if form == 0x19:
            self.value_class = FLAG
            self.value = 1
            return 0
        n = self.size_of(form)
        if n != 255:
            if n > self.end - self.at:
                self.at = self.end + 1
                return 0
            start = self.at
            self.at += n
            if form == 0x1E:
                self.value_class = DATA16
                self.value = start
                self.value_size = 16
                return 0
            self.value = self.fixed(self.data, start, n)
            if form == 0x01:
                self.value_class = ADDRESS
            elif form == 0x05 or form == 0x06 or form == 0x07 or form == 0x0B:
                self.value_class = UNSIGNED
                self.value_size = n
            elif form == 0x0C:
                self.value_class = FLAG
            elif form == 0x0E:
                self.value_class = STRP
            elif form == 0x1F:
                self.value_class = LINE_STRP
            elif 0x11 <= form <= 0x14:
                self.value_class = REF
                self.value += unit_at
            elif form == 0x10:
                self.value_class = REF
            elif form == 0x17:
                self.value_class = SEC_OFFSET
            elif form == 0x1C or form == 0x24 or form == 0x1F20:
                self.value_class = REF_ALT
            elif form == 0x1D or form == 0x1F21:
                self.value_class = STRP_ALT
            elif form == 0x20:
                self.value_class = REF_SIG8
            elif 0x25 <= form <= 0x28:
                self.value_class = STRX
            elif 0x29 <= form <= 0x2C:
                self.value_class = ADDRX
            return 0
        if form == 0x0D:
            self.value = self.sleb()
            self.value_class = SIGNED
        elif form == 0x0F:
            self.value = self.uleb()
            self.value_class = UNSIGNED
        elif form == 0x15:
            self.value = self.uleb() + unit_at
            self.value_class = REF
        elif form == 0x1A or form == 0x1F02:
            self.value = self.uleb()
            self.value_class = STRX
        elif form == 0x1B or form == 0x1F01:
            self.value = self.uleb()
            self.value_class = ADDRX
        elif form == 0x22:
            self.value = self.uleb()
            self.value_class = LOCLISTX
        elif form == 0x23:
            self.value = self.uleb()
            self.value_class = RNGLISTX
        elif form == 0x08:
            self.value = self.at
            self.value_class = STRING
            self.skip(form)
            self.value_size = self.at - 1 - self.value
        else:
            start = self.at
            if form == 0x09 or form == 0x18:
                self.value_size = self.uleb()
            else:
                n = 1 if form == 0x0A else 2 if form == 0x03 else 4 if form == 0x04 else 0
                if n == 0:
                    self.at = self.end + 1
                    return 0
                self.value_size = self.fixed(self.data, self.at, n)
                self.at += n
            if self.at > self.end or self.value_size > cython.cast(cython.ulonglong, self.end - self.at):
                self.at = self.end + 1
                return 0
            self.value = self.at
            self.value_class = BLOCK
            self.at += cython.cast("Py_ssize_t", self.value_size)
        if self.at > self.end:
            self.value_class = 0
        return 0

    # -- entries, one at a time ---------------------------------------------------------------------------------

    def entry(self, unit: int, offset: int, space: Any = None) -> "Entry | None":
        """The entry at an offset of a unit; its tag is 0 for the null entry that ends a list of siblings.

        ``space`` is where the entry says it belongs. None where there is no entry that can be read.
        """
        found: Entry | None = self.entry_at(unit, offset, space)
        return found

    @cython.cfunc
    def entry_at(self, unit: cython.Py_ssize_t, offset: cython.ulonglong, space: Any) -> Any:
        """As :meth:`entry`."""
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        decl: cython.Py_ssize_t = -1
        code: cython.ulonglong
        self.enter(unit)
        self.end = self.unit_end[unit]
        if offset < self.unit_first[unit] or offset >= self.unit_end[unit]:
            return None
        die = cython.cast("Py_ssize_t", offset)
        self.at = die
        code = self.uleb()
        first = self.at
        if code != 0:
            decl = self.declaration(code)
            if decl >= 0:
                self.pass_over(decl)
            if decl < 0 or self.at > self.end:
                self.damaged += 1
                return None
        return _entry(self, space, unit, die, decl, first, self.at, 0)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def pass_over(self, decl: cython.Py_ssize_t) -> cython.int:
        """Step over all values of an entry."""
        i: cython.Py_ssize_t
        if self.decl_fixed[decl] >= 0:
            self.at += self.decl_fixed[decl]
        else:
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                if self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def leap(self, decl: cython.Py_ssize_t, first: cython.Py_ssize_t) -> cython.bint:
        """Step over the children of an entry that have nothing of interest, if it says where they end; its values begin
        at ``first``, and are stepped over."""
        where: cython.Py_ssize_t = self.decl_leap[decl]
        target: cython.ulonglong
        if where == 0:
            return False
        target = self.unit_offset[self.unit] + self.fixed(self.data, first + (where >> 4), where & 15)
        if target <= cython.cast(cython.ulonglong, self.at) or target > cython.cast(cython.ulonglong, self.end):
            return False
        self.at = cython.cast("Py_ssize_t", target)
        return True

    @cython.cfunc
    @cython.exceptval(-2)
    def size_at(self, offset: cython.ulonglong) -> cython.longlong:
        """Bytes of a value of the type at an offset, where this section says it plainly; else -1. An array without
        bounds has none."""
        i: cython.Py_ssize_t
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        _hop: cython.int
        attribute: cython.int
        tag: cython.int
        code: cython.ulonglong
        target: cython.ulonglong
        size: cython.longlong
        count: cython.longlong
        total: cython.longlong = 1
        for _hop in range(MAX_HOPS):
            unit = self.find_unit(offset)
            if unit < 0:
                return -1
            self.enter(unit)
            self.at = cython.cast("Py_ssize_t", offset)
            self.end = self.unit_end[unit]
            code = self.uleb()
            decl = self.declaration(code) if code else -1
            if decl < 0:
                return -1
            tag = self.decl_tag[decl]
            size = -1
            target = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if attribute == 0x0B or attribute == 0x49 or attribute == 0x3C or attribute == 0x69:
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if attribute == 0x0B and self.value_class in (UNSIGNED, SIGNED) and self.value < LARGE:
                        size = cython.cast(cython.longlong, self.value)
                    elif attribute == 0x49 and self.value_class == REF:
                        target = self.value
                    else:
                        # Declarations, and what is in other sections.
                        return -1
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
            if self.at > self.end:
                return -1
            if tag == 0x16 or tag == 0x26 or tag == 0x35 or tag == 0x37 or tag == 0x47:
                if target == 0:
                    return -1
            elif tag == 0x01:
                if target == 0 or size >= 0 or self.decl_children[decl] == 0:
                    return -1
                count = self.elements()
                if count <= 0 or total > BYTES // count:
                    return count if count <= 0 else -1
                total *= count
            else:
                if tag == 0x0F or tag == 0x10 or tag == 0x42:
                    size = size if size > 0 else self.address
                elif tag != 0x24 and tag != 0x04 and tag != 0x13 and tag != 0x17 and tag != 0x02:
                    return -1
                return -1 if size < 0 or (size and total > BYTES // size) else total * size
            offset = target
        return -1

    @cython.cfunc
    @cython.exceptval(-2)
    def elements(self) -> cython.longlong:
        """Elements of an array whose first dimension is at hand; 0 where one has no end, -1 where that is not plain."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        code: cython.ulonglong
        count: cython.longlong
        dimensions: cython.Py_ssize_t = 0
        open_end: cython.bint = False
        total: cython.longlong = 1
        while True:
            code = self.uleb()
            if self.at > self.end:
                return -1
            if code == 0:
                break
            decl = self.declaration(code)
            if decl < 0 or self.decl_tag[decl] != 0x21 or self.decl_children[decl]:
                return -1
            count = -1
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if attribute == 0x37 or attribute == 0x2F or attribute == 0x22:
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if self.value_class != UNSIGNED or self.value >= HIGH or attribute == 0x22:
                        return -1
                    count = cython.cast(cython.longlong, self.value) + (attribute == 0x2F)
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
            dimensions += 1
            if self.at > self.end or (count > 0 and total > BYTES // count):
                return -1
            open_end = open_end or count <= 0
            total *= max(count, 1)
        return -1 if dimensions == 0 else 0 if open_end else total

    @cython.cfunc
    @cython.exceptval(check=False)
    def mixed_string(self, mixed: cython.ulonglong) -> cython.ulonglong:
        """A number made further by the string that was read last; 0 where it is in no section of this file."""
        k: cython.Py_ssize_t
        if self.value_class == STRP:
            return _mixed(_mixed(mixed, STRP), self.value)
        if self.value_class != STRING:
            return 0
        mixed = _mixed(mixed, STRING)
        for k in range(cython.cast("Py_ssize_t", self.value), cython.cast("Py_ssize_t", self.value + self.value_size)):
            mixed = _mixed(mixed, self.data[k])
        return mixed

    @cython.cfunc
    @cython.exceptval(check=False)
    def mixed_name(self, mixed: cython.ulonglong, offset: cython.ulonglong) -> cython.ulonglong:
        """A number made further by all that the name of a C type at an offset is made of; 0 where that is not plain."""
        i: cython.Py_ssize_t
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        _hop: cython.int
        attribute: cython.int
        tag: cython.int
        code: cython.ulonglong
        target: cython.ulonglong
        name: cython.ulonglong
        given: cython.ulonglong = 0
        declared: cython.ulonglong
        for _hop in range(MAX_HOPS):
            unit = self.find_unit(offset)
            if unit < 0 or self.unit_table[unit] == NONE:
                return 0
            self.at_hand(unit)
            self.at = cython.cast("Py_ssize_t", offset)
            code = self.uleb()
            decl = self.declaration(code) if code else -1
            if decl < 0:
                return 0
            tag = self.decl_tag[decl]
            target = 0
            name = 0
            declared = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == 0x03
                    or attribute == 0x49
                    or attribute == 0x3C
                    or attribute == 0x69
                    or attribute == 0x47
                ):
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if attribute == 0x03:
                        name = self.mixed_string(1)
                        if name == 0:
                            return 0
                    elif attribute == 0x49 and self.value_class == REF:
                        target = self.value
                    elif attribute == 0x3C:
                        declared = self.value
                    else:
                        return 0
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
            if self.at > self.end:
                return 0
            if tag == 0x16:
                if name == 0:
                    return 0
                given = name
            elif tag == 0x0F:
                mixed = _mixed(mixed, tag)
                given = 0
            elif tag == 0x24 or tag == 0x04 or tag == 0x13 or tag == 0x17:
                # One that has no name goes by the typedef that led to it.
                return _mixed(_mixed(_mixed(mixed, tag), declared), name if name else given)
            elif tag == 0x15:
                return _mixed(mixed, tag)
            elif tag == 0x01:
                mixed = self.mixed_dimensions(mixed) if self.decl_children[decl] else 0
                given = 0
                if mixed == 0:
                    return 0
            elif tag != 0x26 and tag != 0x35 and tag != 0x37:
                return 0
            if target == 0:
                return _mixed(mixed, 0)
            offset = target
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def mixed_dimensions(self, mixed: cython.ulonglong) -> cython.ulonglong:
        """A number made further by how many dimensions an array has, the first of which is at hand; 0 for other things
        below it."""
        decl: cython.Py_ssize_t
        code: cython.ulonglong
        while self.at < self.end:
            code = self.uleb()
            if code == 0:
                return _mixed(mixed, 0x01)
            decl = self.declaration(code)
            if decl < 0 or self.decl_tag[decl] != 0x21 or self.decl_children[decl]:
                return 0
            self.pass_over(decl)
            mixed = _mixed(mixed, 0x21)
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
        self.table = self.unit_table[unit]
        self.end = self.unit_end[unit]
        return 0

    def shape(self, unit: int, offset: int, tags: Any, limit: int) -> int:
        """A number for the members below a structure or union of C, their places, and the names of their types: equal
        where these are. 0 where that takes more than a look at them. ``tags`` are those of all that counts."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        total: cython.Py_ssize_t = self.gather(unit, offset, tags, limit)
        number: cython.Py_ssize_t = unit
        mixed: cython.ulonglong = 1
        target: cython.ulonglong
        if total == limit:
            return 0
        for k in range(total):
            self.at_hand(number)
            decl = self.below[5 * k + 1]
            self.at = self.below[5 * k + 2]
            target = 0
            if self.decl_tag[decl] != 0x0D:
                return 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == 0x03
                    or attribute == 0x49
                    or attribute == 0x38
                    or attribute == 0x0D
                    or attribute == 0x6B
                ):
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if attribute == 0x03:
                        mixed = self.mixed_string(_mixed(mixed, attribute))
                        if mixed == 0:
                            return 0
                    elif attribute == 0x49:
                        target = self.value if self.value_class == REF else 0
                    elif self.value_class == UNSIGNED or self.value_class == SIGNED:
                        mixed = _mixed(_mixed(mixed, attribute), self.value)
                    else:
                        return 0
                elif (
                    attribute == 0x0C
                    or attribute == 0x0B
                    or attribute == 0x3F
                    or attribute == 0x3C
                    or attribute == 0x1C
                ):
                    # Bit fields of old, and what is not in each object.
                    return 0
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
            mixed = self.mixed_name(_mixed(mixed, k), target) if target else 0
            if mixed == 0:
                return 0
        return mixed

    def entries(self, unit: int, offset: int, tags: Any, limit: int, space: Any = None) -> "list[Entry]":
        """Entries below one whose first child is at an offset, in their order, at most ``limit``.

        ``tags`` says by tag (0 to 254) which count: 1 wanted, 2 their children as well (``depth`` one more); what is
        below others is stepped over. Place 255 is that of DW_TAG_GNU_formal_parameter_pack.
        """
        total: cython.Py_ssize_t = self.gather(unit, offset, tags, limit)
        number: cython.Py_ssize_t = unit
        return [
            _entry(
                self, space, number, self.below[5 * k], self.below[5 * k + 1], self.below[5 * k + 2],
                self.below[5 * k + 3], self.below[5 * k + 4],
            )
            for k in range(total)
        ]  # fmt: skip

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(flags="const unsigned char[::1]")
    def gather(
        self, unit: cython.Py_ssize_t, offset: cython.Py_ssize_t, tags: Any, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """How many entries there are as :meth:`entries` finds them; five numbers of each go to ``below``: its offset,
        its abbreviation, where its values begin and end, its depth."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        total: cython.Py_ssize_t = 0
        depth: cython.Py_ssize_t = 0
        skipped: cython.Py_ssize_t = 0
        sibling: cython.ulonglong
        code: cython.ulonglong
        tag: cython.int
        flag: cython.int
        flags = tags
        if flags.shape[0] < 256:
            return 0
        self.enter(unit)
        self.at = offset
        self.end = self.unit_end[unit]
        if self.at < cython.cast("Py_ssize_t", self.unit_first[unit]):
            return 0
        while self.at < self.end and total < limit:
            die = self.at
            code = self.uleb()
            if code == 0:
                if skipped:
                    skipped -= 1
                    continue
                depth -= 1
                if depth < 0:
                    break
                continue
            decl = self.declaration(code)
            if decl < 0:
                self.damaged += 1
                break
            first = self.at
            tag = self.decl_tag[decl]
            if tag == 0x4108:
                tag = 255
            flag = flags[tag] if tag < 256 and not skipped else 0
            sibling = 0
            if flag & 2 or not self.decl_children[decl]:
                self.pass_over(decl)
            else:
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    if self.spec_attribute[i] == 0x01:
                        self.read(self.spec_form[i], self.spec_constant[i])
                        if self.value_class == REF:
                            sibling = self.value
                    elif self.spec_size[i] != 255:
                        self.at += self.spec_size[i]
                    else:
                        self.skip(self.spec_form[i])
            if self.at > self.end:
                self.damaged += 1
                break
            if flag & 1:
                if 5 * total == self.below.shape[0]:
                    self.below = _grown(self.below, 5 * total)
                self.below[5 * total] = die
                self.below[5 * total + 1] = decl
                self.below[5 * total + 2] = first
                self.below[5 * total + 3] = self.at
                self.below[5 * total + 4] = depth
                total += 1
            if self.decl_children[decl]:
                if flag & 2:
                    depth += 1
                    if depth > MAX_DEPTH:
                        self.damaged += 1
                        break
                elif sibling > cython.cast(cython.ulonglong, self.at) and sibling <= cython.cast(
                    cython.ulonglong, self.end
                ):
                    self.at = cython.cast("Py_ssize_t", sibling)
                else:
                    skipped += 1
        return total

    def variables(self, unit: int, offset: int, tags: Any, limit: int) -> Any:
        """What :meth:`entries` finds below a function, as a column of VARIABLE numbers (Q) each: tag, depth, offset,
        and class and value of attributes.

        Of variables and parameters: DW_AT_abstract_origin, DW_AT_type, DW_AT_name, DW_AT_location and its size. Of all
        others: DW_AT_low_pc, DW_AT_high_pc, DW_AT_ranges. Valid until this is asked for again.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        variable: cython.bint
        total: cython.Py_ssize_t = self.gather(unit, offset, tags, limit)
        if VARIABLE * total > self.variable_rows.shape[0]:
            self.variable_rows = _grown_to(self.variable_rows, 0, VARIABLE * total)
        for k in range(total):
            row = VARIABLE * k
            decl = self.below[5 * k + 1]
            variable = self.decl_tag[decl] == 0x34 or self.decl_tag[decl] == 0x05
            for i in range(VARIABLE):
                self.variable_rows[row + i] = 0
            self.variable_rows[row] = self.decl_tag[decl]
            self.variable_rows[row + 1] = self.below[5 * k + 4]
            self.variable_rows[row + 2] = self.below[5 * k]
            self.at = self.below[5 * k + 2]
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if variable:
                    place = (
                        3 if attribute == 0x31 else 5 if attribute == 0x49 else 7 if attribute == 0x03
                        else 9 if attribute == 0x02 else 0
                    )  # fmt: skip
                else:
                    place = 3 if attribute == 0x11 else 5 if attribute == 0x12 else 7 if attribute == 0x55 else 0
                if place:
                    self.read(self.spec_form[i], self.spec_constant[i])
                    self.variable_rows[row + place] = self.value_class
                    self.variable_rows[row + place + 1] = self.value
                    if place == 9:
                        self.variable_rows[row + 11] = self.value_size
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
        return memoryview(self.variable_rows)[: VARIABLE * total]

    @cython.locals(class_view="unsigned char[::1]", value_view="unsigned long long[::1]")
    def roots(self) -> tuple[memoryview, memoryview]:
        """(classes B, values Q): for each unit ROOT places with what its root says; class 0 where it says nothing.

        The places ROOT_TAG and ROOT_CHILDREN have the tag and whether there are children.
        """
        unit: cython.Py_ssize_t
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        place: cython.Py_ssize_t
        attribute: cython.int
        code: cython.ulonglong
        classes: Any = zeros("B", ROOT * self.count)
        values: Any = zeros("Q", ROOT * self.count)
        class_view = classes
        value_view = values
        for unit in range(self.count):
            self.enter(unit)
            self.at = self.unit_first[unit]
            self.end = self.unit_end[unit]
            code = self.uleb()
            decl = self.declaration(code) if code else -1
            if decl < 0:
                self.damaged += 1
                continue
            value_view[ROOT * unit + 14] = self.decl_tag[decl]
            value_view[ROOT * unit + 15] = self.decl_children[decl]
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                self.read(self.spec_form[i], self.spec_constant[i])
                if self.at > self.end:
                    self.damaged += 1
                    break
                attribute = self.spec_attribute[i]
                if attribute < 0x80:
                    place = self.root_of[attribute]
                elif attribute == 0x8C:
                    place = 12
                elif attribute == 0x2130:
                    place = 7
                elif attribute == 0x2131:
                    place = 8
                elif attribute == 0x2132:
                    place = 13
                elif attribute == 0x2133:
                    place = 10
                else:
                    place = 255
                if place < ROOT:
                    class_view[ROOT * unit + place] = cython.cast("unsigned char", self.value_class)
                    value_view[ROOT * unit + place] = self.value
            if self.unit_kind[unit] == 4 or self.unit_kind[unit] == 5:
                class_view[ROOT * unit + 8] = UNSIGNED
                value_view[ROOT * unit + 8] = self.unit_signature[unit]
        return memoryview(classes), memoryview(values)

    # -- ranges -------------------------------------------------------------------------------------------------

    def set_bases(self, base: int, addr_base: int, rnglists_base: int, ranges_base: int) -> None:
        """What range lists of the next unit are relative to: its low address, and its parts of other sections."""
        self.base = base
        self.addr_base = addr_base
        self.rnglists_base = rnglists_base
        self.ranges_base = ranges_base

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def indexed(self, index: cython.ulonglong) -> cython.ulonglong:
        """An entry of the unit's part of `.debug_addr`; 0 where there is none."""
        if index > 0xFFFFFFF or self.addr_base > LARGE:
            return 0
        return self.fixed(
            self.addresses, cython.cast("Py_ssize_t", self.addr_base + index * self.address), self.address
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def add_range(self, start: cython.ulonglong, stop: cython.ulonglong, record: cython.uint) -> cython.int:
        """Keep a range, unless it is empty or its code was discarded by the linker."""
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        inside: cython.bint = self.code.shape[0] == 0
        if stop <= start:
            return 0
        for k in range(0, self.code.shape[0] - 1, 2):
            if self.code[k] <= start < self.code[k + 1]:
                inside = True
                break
        if not inside:
            return 0
        n = self.range_total
        if n >= self.range_limit:
            self.damaged += 1
            return 0
        if n == self.range_start.shape[0]:
            self.range_start = _grown(self.range_start, n)
            self.range_end = _grown(self.range_end, n)
            self.range_record = _grown(self.range_record, n)
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
        op = 1
        self.at = cython.cast("Py_ssize_t", offset) if offset < cython.cast(cython.ulonglong, self.end) else self.end
        start_at = self.at
        while self.at < self.end and self.range_total < self.range_limit:
            op = self.data[self.at]
            self.at += 1
            if op == 0:
                break
            if op == 1:
                base = self.indexed(self.uleb())
                continue
            if op == 5:
                base = self.fixed(self.data, self.at, size)
                self.at += size
                continue
            if op == 2:
                start = self.indexed(self.uleb())
                stop = self.indexed(self.uleb())
            elif op == 3:
                start = self.indexed(self.uleb())
                stop = start + self.uleb()
            elif op == 4:
                start = base + self.uleb()
                stop = base + self.uleb()
            elif op == 6 or op == 7:
                start = self.fixed(self.data, self.at, size)
                self.at += size
                if op == 6:
                    stop = self.fixed(self.data, self.at, size)
                    self.at += size
                else:
                    stop = start + self.uleb()
            else:
                self.at = self.end + 1
                break
            if self.at <= self.end:
                self.add_range(start, stop, record)
        if op != 0:
            self.damaged += 1
        if self.at > start_at:
            self.list_bytes += cython.cast(cython.ulonglong, self.at - start_at)
        self.data = kept
        self.at = kept_at
        self.end = kept_end
        return 0

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
                values[at + 14] == 0
                or values[at + 14] == 0x41
                or self.unit_kind[unit] == 2
                or self.unit_kind[unit] == 3
            ):
                continue
            before = self.range_total
            low = values[at + 3] if classes[at + 3] else 0
            if classes[at + 5] or classes[at + 3] != ADDRESS or classes[at + 4] == ADDRX:
                self.enter(unit)
                self.addr_base = values[at + 10] if classes[at + 10] else 0
                self.rnglists_base = values[at + 11] if classes[at + 11] else 0
                self.ranges_base = 0
                if classes[at + 3] == ADDRX:
                    low = self.indexed(low)
                self.base = low
            if classes[at + 5]:
                self.add_list(classes[at + 5], values[at + 5], cython.cast("unsigned int", unit))
            elif classes[at + 3] and classes[at + 4]:
                high = values[at + 4]
                if classes[at + 4] == ADDRX:
                    high = self.indexed(high)
                elif classes[at + 4] != ADDRESS:
                    high = low + high if high < ALL_ONES - low else ALL_ONES
                self.add_range(low, high, cython.cast("unsigned int", unit))
            if self.range_total == before and values[at + 15]:
                unsure.append(unit)
        return (
            _copied(self.range_start, self.range_total),
            _copied(self.range_end, self.range_total),
            _copied(self.range_record, self.range_total),
            unsure,
        )

    def address_at(self, unit: int, index: int) -> int:
        """Entry ``index`` of the unit's part of `.debug_addr` (bases set); 0 where there is none."""
        self.enter(unit)
        found: cython.ulonglong = self.indexed(index)
        return found

    # -- the functions of a unit --------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def _reset_records(self) -> cython.int:
        """Begin with no records and ranges, in the memory of those before: making it anew for each unit took longer
        than reading small ones. What is handed out is copied from there."""
        if not 0 < self.record_die.shape[0] <= MOST_KEPT:
            self.record_die = zeros("Q", 64)
            self.record_origin = zeros("Q", 64)
            self.record_class = zeros("B", 64)
            self.record_inlined = zeros("B", 64)
            self.record_parent = zeros("I", 64)
            self.record_file = zeros("I", 64)
            self.record_line = zeros("I", 64)
            self.record_column = zeros("I", 64)
        if not 0 < self.range_start.shape[0] <= MOST_KEPT:
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
        if n == self.record_die.shape[0]:
            self.record_die = _grown(self.record_die, n)
            self.record_origin = _grown(self.record_origin, n)
            self.record_class = _grown(self.record_class, n)
            self.record_inlined = _grown(self.record_inlined, n)
            self.record_parent = _grown(self.record_parent, n)
            self.record_file = _grown(self.record_file, n)
            self.record_line = _grown(self.record_line, n)
            self.record_column = _grown(self.record_column, n)
        return 0

    def functions(self, unit: int) -> dict[str, memoryview]:
        """The functions that have code in a unit whose bases are set, and what is inlined in them.

        By function: ``die`` and ``origin`` (Q, offsets; ``origin`` is the entry that has the name, of class ``kind`` B:
        REF or REF_ALT), ``inlined`` (B), ``parent`` (I, what it is inlined in, 0xffffffff for none), ``file``,
        ``line``, ``column`` of the call (I). Their ranges: ``start``, ``end`` (Q) and ``of`` (I, a function's number).
        """
        self._read_functions(unit, True)
        return {
            "die": _copied(self.record_die, self.record_total),
            "origin": _copied(self.record_origin, self.record_total),
            "kind": _copied(self.record_class, self.record_total),
            "inlined": _copied(self.record_inlined, self.record_total),
            "parent": _copied(self.record_parent, self.record_total),
            "file": _copied(self.record_file, self.record_total),
            "line": _copied(self.record_line, self.record_total),
            "column": _copied(self.record_column, self.record_total),
            "start": _copied(self.range_start, self.range_total),
            "end": _copied(self.range_end, self.range_total),
            "of": _copied(self.range_record, self.range_total),
        }

    def own_functions(self, unit: int) -> list[tuple[int, int, int]]:
        """(start, end, offset) of the code of a unit's functions, sorted, without what is inlined in them; bases are
        set."""
        self._read_functions(unit, False)
        found = [
            (self.range_start[k], self.range_end[k], self.record_die[self.range_record[k]])
            for k in range(self.range_total)
        ]
        found.sort()
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_functions(self, unit: cython.Py_ssize_t, inlined: cython.bint) -> cython.int:
        """Make the records and ranges those of a unit's functions."""
        depth: cython.Py_ssize_t = 0
        decl: cython.Py_ssize_t
        i: cython.Py_ssize_t
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        code: cython.ulonglong
        outer: cython.uint
        tag: cython.int
        self.list_bytes = 0
        self._reset_records()
        self.enter(unit)
        self.at = self.unit_first[unit]
        self.end = self.unit_end[unit]
        # What the children at each depth are enclosed by.
        self.enclosing[0] = NONE
        while self.at < self.end:
            die = self.at
            code = self.data[die]
            if code < 0x80:
                self.at += 1
            else:
                code = self.uleb()
            if code == 0:
                depth -= 1
                if depth <= 0:
                    break
                continue
            first = self.at
            decl = self.declaration(code)
            if decl < 0:
                self.damaged += 1
                break
            tag = self.decl_tag[decl]
            outer = self.enclosing[depth]
            if tag == 0x2E or (tag == 0x1D and inlined):
                outer = self._function(decl, tag, die, outer)
            elif self.decl_fixed[decl] >= 0:
                self.at += self.decl_fixed[decl]
            else:
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    if self.spec_size[i] != 255:
                        self.at += self.spec_size[i]
                    else:
                        self.skip(self.spec_form[i])
            if self.at > self.end:
                self.damaged += 1
                break
            if self.decl_children[decl] and not (depth and self.leap(decl, first)):
                depth += 1
                if depth > MAX_DEPTH:
                    self.damaged += 1
                    break
                self.enclosing[depth] = outer
            elif depth == 0:
                break
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def _function(
        self, decl: cython.Py_ssize_t, tag: cython.int, die: cython.Py_ssize_t, enclosing: cython.uint
    ) -> cython.uint:
        """Read the entry of a function or of one inlined; its number, or what encloses its children."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.record_total
        attribute: cython.int
        low: cython.ulonglong = 0
        high: cython.ulonglong = 0
        has: cython.int = 0
        list_class: cython.int = 0
        list_value: cython.ulonglong = 0
        origin_class: cython.int = 0
        origin: cython.ulonglong = 0
        file: cython.ulonglong = 0
        line: cython.ulonglong = 0
        column: cython.ulonglong = 0
        named: cython.bint = False
        first: cython.Py_ssize_t = self.decl_spec[decl]
        for i in range(first, first + self.decl_count[decl]):
            attribute = self.spec_attribute[i]
            if attribute == 0x6E or attribute == 0x2007:
                named = True
            if (
                attribute == 0x11
                or attribute == 0x12
                or attribute == 0x55
                or attribute == 0x31
                or attribute == 0x47
                or 0x57 <= attribute <= 0x59
            ):
                self.read(self.spec_form[i], self.spec_constant[i])
                if attribute == 0x11:
                    low = self.indexed(self.value) if self.value_class == ADDRX else self.value
                    has |= 1
                elif attribute == 0x12:
                    if self.value_class == ADDRX:
                        high = self.indexed(self.value)
                        has |= 2
                    else:
                        high = self.value
                        has |= 2 if self.value_class == ADDRESS else 4
                elif attribute == 0x55:
                    list_class = self.value_class
                    list_value = self.value
                    has |= 8
                elif attribute == 0x31 or (attribute == 0x47 and origin_class == 0):
                    origin_class = self.value_class
                    origin = self.value
                elif attribute == 0x58:
                    file = self.value
                elif attribute == 0x59:
                    line = self.value
                elif attribute == 0x57:
                    column = self.value
            elif self.spec_size[i] != 255:
                self.at += self.spec_size[i]
            else:
                self.skip(self.spec_form[i])
        if self.at > self.end:
            return enclosing
        if tag == 0x2E and not has & 9:
            # A declaration or an abstract instance: what it contains is not inlined in what encloses it.
            return NONE
        self._room_for_record()
        self.record_die[n] = die
        if origin_class in (REF, REF_ALT) and not named:
            self.record_origin[n] = origin
            self.record_class[n] = cython.cast("unsigned char", origin_class)
        else:
            self.record_origin[n] = die
            self.record_class[n] = 0
        self.record_inlined[n] = tag == 0x1D
        self.record_parent[n] = enclosing if tag == 0x1D else NONE
        self.record_file[n] = cython.cast("unsigned int", file if file < NONE else 0)
        self.record_line[n] = cython.cast("unsigned int", line if line < NONE else 0)
        self.record_column[n] = cython.cast("unsigned int", column if column < NONE else 0)
        self.record_total += 1
        if has & 8:
            self.add_list(list_class, list_value, cython.cast("unsigned int", n))
        elif has & 1:
            if has & 4:
                high += low
            self.add_range(low, high, cython.cast("unsigned int", n))
        return cython.cast(cython.uint, n)

    @cython.cfunc
    @cython.exceptval(-1)
    def follow(self, offset: cython.ulonglong) -> cython.int:
        """Find an entry's name: sets ``value_class`` and ``value``, ``name_unit``, and where it leads on if it does."""
        _hops: cython.int
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        i: cython.Py_ssize_t
        attribute: cython.int
        code: cython.ulonglong
        next_class: cython.int
        next_value: cython.ulonglong
        plain_class: cython.int = 0
        plain: cython.ulonglong = 0
        at: cython.ulonglong = offset
        self.next_class = 0
        self.next_value = 0
        self.name_unit = -1
        for _hops in range(MAX_HOPS):
            unit = self.find_unit(at)
            if unit < 0:
                break
            self.enter(unit)
            self.at = cython.cast("Py_ssize_t", at)
            self.end = self.unit_end[unit]
            code = self.uleb()
            decl = self.declaration(code) if code else -1
            if decl < 0:
                break
            next_class = 0
            next_value = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == 0x03
                    or attribute == 0x6E
                    or attribute == 0x2007
                    or attribute == 0x31
                    or attribute == 0x47
                ):
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if self.at > self.end:
                        break
                    if attribute == 0x6E or attribute == 0x2007:
                        if self.value_class:
                            self.name_unit = unit
                            return 0
                    elif attribute == 0x03:
                        if plain_class == 0:
                            plain_class = self.value_class
                            plain = self.value
                            self.name_unit = unit
                    elif next_class == 0 or attribute == 0x31:
                        next_class = self.value_class
                        next_value = self.value
                elif self.spec_size[i] != 255:
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
            if next_class == REF:
                at = next_value
                continue
            if next_class in (REF_ALT, REF_SIG8):
                self.next_class = next_class
                self.next_value = next_value
            break
        self.value_class = plain_class
        self.value = plain
        return 0

    def declared(self, unit: int) -> dict[str, memoryview]:
        """What a unit declares, in the order of its entries: types, functions, namespaces, variables with an address.

        ``die`` (Q), ``tag`` (I), ``parent`` (I, number of the namespace or type it is in, 0xffffffff for none,
        0xfffffffe for a function), ``flags`` (B: 1 a declaration, 2 names come from another entry), ``kind`` (B) and
        ``name`` (Q) its name's class and value, ``linkage_kind`` and ``linkage`` (I, 0xffffffff where it is too large;
        of a typedef the reference to its type instead, of a type without a name what tells it from others: line, column
        and size in one number of class UNSIGNED). Of variables with an address: ``of`` (I, the number above),
        ``place`` (Q, address or index), ``place_kind`` (Q: 1 an address, 2 an index, 3 an offset for a thread, 4 the
        index of one, 5 more than that, such as pieces). Variables that are declared only are among the rows, those
        with neither address nor declaration are not.
        """
        self._reset_records()
        self.declare(unit, ALL)
        return {
            "die": _copied(self.record_die, self.record_total),
            "name": _copied(self.record_origin, self.record_total),
            "kind": _copied(self.record_class, self.record_total),
            "flags": _copied(self.record_inlined, self.record_total),
            "parent": _copied(self.record_parent, self.record_total),
            "tag": _copied(self.record_file, self.record_total),
            "linkage": _copied(self.record_line, self.record_total),
            "linkage_kind": _copied(self.record_column, self.record_total),
            "place": _copied(self.range_start, self.range_total),
            "place_kind": _copied(self.range_end, self.range_total),
            "of": _copied(self.range_record, self.range_total),
        }

    def outline(self) -> Any:
        """(variables, functions, declarations) of all units, in their order.

        Variables with an address as (unit, offset, place, kind of place), as :meth:`declared` tells them. Functions
        outside of others, and variables that are only declared and in nothing else, as (unit, offset, class and value
        of the name); of those whose names are at the same place of a section of strings, the first.
        """
        unit: cython.Py_ssize_t
        k: cython.Py_ssize_t
        of: cython.Py_ssize_t
        kind: cython.int
        name: cython.ulonglong
        variables = []
        functions = []
        declarations = []
        known: set[tuple[int, int]] = set()
        known_variables: set[tuple[int, int]] = set()
        for unit in range(self.count):
            self._reset_records()
            self.declare(unit, CODE)
            for k in range(self.range_total):
                of = self.range_record[k]
                variables.append((unit, self.record_die[of], self.range_start[k], self.range_end[k]))
            for k in range(self.record_total):
                if self.record_file[k] == 0x2E:
                    if self.record_parent[k] == NONE - 1:
                        continue
                    kind = self.record_column[k]
                    name = self.record_line[k]
                    if kind == 0 or name == NONE:
                        kind = self.record_class[k]
                        name = self.record_origin[k]
                    if kind == 0:
                        continue
                    if kind in (STRP, STRP_ALT):
                        key = (kind, name)
                        if key in known:
                            continue
                        known.add(key)
                    functions.append((unit, self.record_die[k], kind, name))
                elif self.record_file[k] == 0x34 and self.record_inlined[k] & 1 and self.record_parent[k] == NONE:
                    kind = self.record_class[k]
                    name = self.record_origin[k]
                    if kind in (STRP, STRP_ALT):
                        key = (kind, name)
                        if key in known_variables:
                            continue
                        known_variables.add(key)
                    if kind:
                        declarations.append((unit, self.record_die[k], kind, name))
        return variables, functions, declarations

    def definitions(self) -> Any:
        """(unit, offset, class and value of the name) of the structures, unions, classes and enumerations that are
        defined anywhere."""
        unit: cython.Py_ssize_t
        found = []
        for unit in range(self.count):
            self._reset_records()
            self.declare(unit, TYPES)
            found += [
                (unit, self.record_die[k], self.record_class[k], self.record_origin[k])
                for k in range(self.record_total)
                if not self.record_inlined[k] & 1 and self.record_class[k]
            ]
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def declare(self, unit: cython.Py_ssize_t, wanted_kinds: cython.int) -> cython.int:
        """Add what a unit declares to the rows. What entries are in is told by its row where ALL are wanted, else as 0
        for all that has a name."""
        depth: cython.Py_ssize_t = 0
        decl: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        m: cython.Py_ssize_t
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        code: cython.ulonglong
        outer: cython.uint
        tag: cython.int
        attribute: cython.int
        flags: cython.int
        kind: cython.int
        linkage_kind: cython.int
        name: cython.ulonglong
        linkage: cython.ulonglong
        place: cython.ulonglong
        place_kind: cython.int
        op: cython.int
        size: cython.int
        holds: cython.bint
        wanted: cython.bint
        inside: cython.uint = NONE - 1
        self.enter(unit)
        self.at = self.unit_first[unit]
        self.end = self.unit_end[unit]
        self.enclosing[0] = NONE
        while self.at < self.end:
            die = self.at
            code = self.data[die]
            if code < 0x80:
                self.at += 1
            else:
                code = self.uleb()
            if code == 0:
                depth -= 1
                if depth <= 0:
                    break
                continue
            first = self.at
            decl = self.declaration(code)
            if decl < 0:
                self.damaged += 1
                break
            tag = self.decl_tag[decl]
            outer = self.enclosing[depth]
            # Structures, unions, classes, interfaces.
            holds = tag == 0x13 or tag == 0x17 or tag == 0x02 or tag == 0x38
            if tag == 0x2E or tag == 0x34:
                wanted = wanted_kinds & CODE and (tag == 0x2E or self.decl_placed[decl])
            elif holds or tag == 0x04:
                wanted = wanted_kinds & TYPES
            else:
                # Namespaces, typedefs.
                wanted = wanted_kinds == ALL and (tag == 0x39 or tag == 0x16)
                holds = tag == 0x39
            if not wanted:
                if self.decl_fixed[decl] >= 0:
                    self.at += self.decl_fixed[decl]
                else:
                    for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                        if self.spec_size[i] != 255:
                            self.at += self.spec_size[i]
                        else:
                            self.skip(self.spec_form[i])
                if tag == 0x1D or tag == 0x0B:
                    outer = inside
                elif holds and outer != inside:
                    outer = 0
            else:
                flags = 0
                kind = 0
                name = 0
                linkage_kind = 0
                linkage = 0
                place = 0
                place_kind = 0
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    attribute = self.spec_attribute[i]
                    if (
                        attribute == 0x03 or attribute == 0x6E or attribute == 0x2007 or attribute == 0x3C
                        or attribute == 0x47 or attribute == 0x31 or (attribute == 0x02 and tag == 0x34)
                        or (attribute == 0x49 and tag == 0x16)
                        or (kind == 0 and (attribute == 0x3B or attribute == 0x39 or attribute == 0x0B))
                    ):  # fmt: skip
                        self.read(self.spec_form[i], self.spec_constant[i])
                        if self.at > self.end:
                            break
                        if attribute == 0x03:
                            kind = self.value_class
                            name = self.value
                            if linkage_kind == UNSIGNED:
                                linkage_kind = 0
                                linkage = 0
                        elif attribute == 0x3B or attribute == 0x39 or attribute == 0x0B:
                            if (tag == 0x13 or tag == 0x17 or tag == 0x02) and (
                                linkage_kind == 0 or linkage_kind == UNSIGNED
                            ):
                                linkage_kind = UNSIGNED
                                linkage = (linkage * 31 + self.value) & 0x7FFFFFFF
                        elif attribute == 0x3C:
                            flags |= 1 if self.value else 0
                        elif attribute == 0x47 or attribute == 0x31:
                            flags |= 2
                        elif attribute != 0x02:
                            linkage_kind = self.value_class
                            linkage = self.value
                        elif self.value_class == BLOCK and self.value_size > 1:
                            k = cython.cast("Py_ssize_t", self.value)
                            m = k + cython.cast("Py_ssize_t", self.value_size)
                            op = self.data[k]
                            size = 0
                            if op == 0x03:
                                size = self.address
                                place_kind = 1
                            elif op == 0x0E or op == 0x0F:
                                size = 8
                                place_kind = 3
                            elif op == 0x0C or op == 0x0D:
                                size = 4
                                place_kind = 3
                            if size and m - k > size:
                                place = self.fixed(self.data, k + 1, size)
                                k += 1 + size
                            elif op == 0xA1 or op == 0xFB or op == 0xA2 or op == 0xFC:
                                place_kind = 2 if op == 0xA1 or op == 0xFB else 4
                                k += 1
                                size = 0
                                while k < m:
                                    if size < 63:
                                        place |= cython.cast(cython.ulonglong, self.data[k] & 0x7F) << size
                                    size += 7
                                    k += 1
                                    if self.data[k - 1] < 0x80:
                                        break
                            else:
                                place_kind = 0
                            if place_kind and k < m:
                                # The operation that makes an address of a thread's, or others, such as pieces.
                                if m - k == 1 and (self.data[k] == 0xE0 or self.data[k] == 0x9B):
                                    place_kind = 3 if place_kind == 1 or place_kind == 3 else 4
                                else:
                                    place_kind = 5 if place_kind < 3 else 0
                            elif place_kind > 2:
                                place_kind = 0
                    elif self.spec_size[i] != 255:
                        self.at += self.spec_size[i]
                    else:
                        self.skip(self.spec_form[i])
                if tag != 0x34 or place_kind or (flags & 1 and outer != inside):
                    self._room_for_record()
                    n = self.record_total
                    self.record_die[n] = die
                    self.record_origin[n] = name
                    self.record_class[n] = cython.cast("unsigned char", kind)
                    self.record_inlined[n] = cython.cast("unsigned char", flags)
                    self.record_parent[n] = outer
                    self.record_file[n] = tag
                    self.record_column[n] = cython.cast("unsigned int", linkage_kind)
                    self.record_line[n] = cython.cast("unsigned int", linkage if linkage < NONE else NONE)
                    self.record_total += 1
                    if place_kind:
                        self._room_for_place()
                        self.range_start[self.range_total] = place
                        self.range_end[self.range_total] = place_kind
                        self.range_record[self.range_total] = cython.cast("unsigned int", n)
                        self.range_total += 1
                    outer = cython.cast(cython.uint, n) if outer != inside else inside
                if tag == 0x2E:
                    outer = inside
            if self.at > self.end:
                self.damaged += 1
                break
            if self.decl_children[decl] and not (depth and self.leap(decl, first)):
                depth += 1
                if depth > MAX_DEPTH:
                    self.damaged += 1
                    break
                self.enclosing[depth] = outer
            elif depth == 0:
                break
        return 0

    @cython.locals(
        wholes="unsigned long long[::1]",
        types="unsigned long long[::1]",
        offsets="long long[::1]",
        whole_at="unsigned long long[::1]",
        depth=cython.Py_ssize_t,
        decl=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        die=cython.Py_ssize_t,
        first=cython.Py_ssize_t,
        code=cython.ulonglong,
        outer=cython.ulonglong,
        tag=cython.int,
        attribute=cython.int,
        of=cython.ulonglong,
        offset=cython.longlong,
        elsewhere=cython.bint,
    )
    def embedded(self, unit: int) -> "tuple[Any, Any, Any] | None":
        """What lies in the aggregates of a unit, and what its names for types stand for, as three columns.

        Offsets of entries (Q), of the types they have (Q), and where they are (q): for the entry of an aggregate, the
        bytes before a member, -2 where that is an expression; with 1 << 62 added for a base class. For a typedef or
        qualifier -1. None where members have types that are not in this section.
        """
        wholes = zeros("Q", 256)
        types = zeros("Q", 256)
        offsets = zeros("q", 256)
        whole_at = zeros("Q", MAX_DEPTH + 2)
        n = 0
        depth = 0
        self.enter(unit)
        self.at = self.unit_first[unit]
        self.end = self.unit_end[unit]
        while self.at < self.end:
            die = self.at
            code = self.uleb()
            if code == 0:
                depth -= 1
                if depth <= 0:
                    break
                continue
            first = self.at
            decl = self.declaration(code)
            if decl < 0:
                self.damaged += 1
                break
            tag = self.decl_tag[decl]
            outer = whole_at[depth]
            # Members and base classes; typedefs, const, volatile, restrict, atomic.
            if ((tag == 0x0D or tag == 0x1C) and outer) or (
                tag == 0x16 or tag == 0x26 or tag == 0x35 or tag == 0x37 or tag == 0x47
            ):
                of = 0
                offset = 0
                elsewhere = False
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    attribute = self.spec_attribute[i]
                    self.read(self.spec_form[i], self.spec_constant[i])
                    if self.at > self.end:
                        break
                    if attribute == 0x49:
                        if self.value_class != REF:
                            return None
                        of = self.value
                    elif attribute == 0x38:
                        offset = -2
                        if self.value_class in (UNSIGNED, SIGNED) and self.value < LARGE:
                            offset = cython.cast(cython.longlong, self.value)
                    elif attribute == 0x3F or attribute == 0x3C or attribute == 0x1C or attribute == 0x0D:
                        # Variables of a class; bit fields.
                        elsewhere = True
                if of and not elsewhere:
                    if n == len(wholes):
                        wholes = _grown(wholes, n)
                        types = _grown(types, n)
                        offsets = _grown(offsets, n)
                    types[n] = of
                    if tag == 0x0D or tag == 0x1C:
                        wholes[n] = outer
                        offsets[n] = offset + (BASE_CLASS if tag == 0x1C and offset >= 0 else 0)
                    else:
                        wholes[n] = die
                        offsets[n] = -1
                    n += 1
            elif self.decl_fixed[decl] >= 0:
                self.at += self.decl_fixed[decl]
            else:
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    if self.spec_size[i] != 255:
                        self.at += self.spec_size[i]
                    else:
                        self.skip(self.spec_form[i])
            if self.at > self.end:
                self.damaged += 1
                break
            if self.decl_children[decl] and not (depth and self.leap(decl, first)):
                depth += 1
                if depth > MAX_DEPTH:
                    self.damaged += 1
                    break
                # Structures, unions, classes; variants of one belong to it.
                if tag == 0x13 or tag == 0x17 or tag == 0x02:
                    whole_at[depth] = die
                else:
                    whole_at[depth] = outer if tag == 0x33 or tag == 0x19 else 0
            elif depth == 0:
                break
        return memoryview(wholes)[:n], memoryview(types)[:n], memoryview(offsets)[:n]

    @cython.cfunc
    @cython.exceptval(-1)
    def _room_for_place(self) -> cython.int:
        n: cython.Py_ssize_t = self.range_total
        if n == self.range_start.shape[0]:
            self.range_start = _grown(self.range_start, n)
            self.range_end = _grown(self.range_end, n)
            self.range_record = _grown(self.range_record, n)
        return 0

    def name_of(self, offset: int) -> Any:
        """(class and value of the string, class and value of the reference that leads on, unit) of an entry's name.

        Follows DW_AT_abstract_origin and DW_AT_specification within the section up to a linkage name, else to a plain
        name. The second pair is not zero where the next entry is in another file.
        """
        self.follow(offset)
        return self.value_class, self.value, self.next_class, self.next_value, self.name_unit

    @cython.locals(
        records="const unsigned int[::1]",
        kinds="const unsigned char[::1]",
        origins="const unsigned long long[::1]",
        numbers="unsigned int[::1]",
        i="Py_ssize_t",
    )
    def number_names(
        self, which: Any, kind: Any, origin: Any, names: Any, known: dict[int, int], first: int
    ) -> tuple[list[int], list[int]]:
        """Give records ``which`` (I) the numbers of their names, as :meth:`name_of` finds them, in ``names`` (I).

        ``kind`` and ``origin`` are columns of :meth:`functions`; ``known`` are the numbers of names by their offset in
        `.debug_str`. Returns the offsets of new names, numbered from ``first`` on, and the records whose names need
        more than this section and that one.
        """
        records, kinds, origins, numbers = which, kind, origin, names
        new: list[int] = []
        left: list[int] = []
        for i in range(records.shape[0]):
            if kinds[records[i]] != REF_ALT:
                self.follow(origins[records[i]])
                if self.next_class == 0 and self.value_class == STRP:
                    number = known.get(self.value)
                    if number is None:
                        number = known[self.value] = first + len(new)
                        new.append(self.value)
                    numbers[records[i]] = number
                    continue
            left.append(records[i])
        return new, left


@cython.final
@cython.cclass
class Entry:
    """One entry: the space and unit it is in, its offset, its tag, whether children follow, the offset behind it.

    Its attributes, by their DW_AT numbers, are read when they are asked for. ``depth`` counts from where the entry was
    looked for.
    """

    space = cython.declare(object, visibility="readonly")
    info: Info
    unit = cython.declare(cython.Py_ssize_t, visibility="readonly")
    offset = cython.declare(cython.Py_ssize_t, visibility="readonly")
    behind = cython.declare(cython.Py_ssize_t, visibility="readonly")
    depth = cython.declare(cython.Py_ssize_t, visibility="readonly")
    tag = cython.declare(cython.int, visibility="readonly")
    has_children = cython.declare(cython.bint, visibility="readonly")
    abbreviation: cython.Py_ssize_t
    first: cython.Py_ssize_t

    @cython.cfunc
    @cython.exceptval(-1)
    def find(self, attribute: cython.int) -> cython.int:
        """Make the value of an attribute the one that the section read last; 0 for none."""
        info = self.info
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t = self.abbreviation
        if decl < 0:
            return 0
        info.enter(self.unit)
        info.at = self.first
        info.end = info.unit_end[self.unit]
        for i in range(info.decl_spec[decl], info.decl_spec[decl] + info.decl_count[decl]):
            if info.spec_attribute[i] == attribute:
                info.read(info.spec_form[i], info.spec_constant[i])
                return info.value_class
            if info.spec_size[i] != 255:
                info.at += info.spec_size[i]
            else:
                info.skip(info.spec_form[i])
        return 0

    def kind(self, attribute: cython.int) -> int:
        """The class of an attribute's value (:class:`undwarf.dwarf.constants.ValueClass`); 0 for none."""
        return self.find(attribute)

    def value(self, attribute: cython.int) -> int:
        """The number an attribute is, whatever its class; 0 for none."""
        return self.info.value if self.find(attribute) else 0

    def size(self, attribute: cython.int) -> int:
        """Bytes of a constant or a block; 0 for others."""
        return self.info.value_size if self.find(attribute) else 0

    def string(self, attribute: cython.int) -> str:
        """An attribute that is a string; empty where there is none."""
        found: str
        kind: cython.int = self.find(attribute)
        if kind == STRP:
            known: str | None = self.info.known_strings.get(self.info.value)
            if known is not None:
                return known
        elif kind == STRING:
            start: cython.Py_ssize_t = cython.cast("Py_ssize_t", self.info.value)
            size: cython.Py_ssize_t = cython.cast("Py_ssize_t", self.info.value_size)
            found = _text(self.info.data, start, start + min(size, MAX_STRING))
            return found
        elif kind < STRING or kind > STRP_ALT:
            return ""
        found = self.space.file.string(kind, self.info.value, self.unit, self.space.data)
        return found

    def number(self, attribute: cython.int) -> "int | None":
        """An attribute that is a constant, as it was written (signed where the form says so); None for none."""
        kind: cython.int = self.find(attribute)
        if kind == UNSIGNED:
            return self.info.value
        return cython.cast(cython.longlong, self.info.value) if kind == SIGNED else None

    def flag(self, attribute: cython.int) -> bool:
        """An attribute that is a flag."""
        return self.find(attribute) != 0 and self.info.value != 0

    def block(self, attribute: cython.int) -> "memoryview | None":
        """The bytes of an attribute that is a block or an expression."""
        if self.find(attribute) != BLOCK:
            return None
        found: memoryview = self.space.data[self.info.value : self.info.value + self.info.value_size]
        return found

    def target(self, attribute: cython.int) -> int:
        """The offset that an attribute refers to in the same section; -1 without it, -2 where it says something else.

        What is beyond any section becomes one offset that is.
        """
        kind: cython.int = self.find(attribute)
        found: cython.longlong = -1
        if kind == REF:
            found = cython.cast(cython.longlong, min(self.info.value, FAR))
        elif kind:
            found = -2
        return found

    def size_of_type(self) -> int:
        """Bytes of a value of the type that DW_AT_type refers to; -1 where that takes more than a look at it."""
        found: cython.longlong = -1
        if self.find(0x49) == REF:
            found = self.info.size_at(self.info.value)
        return found

    def reference(self, attribute: cython.int) -> "Entry | None":
        """The entry that an attribute refers to, in whichever file it is."""
        kind: cython.int = self.find(attribute)
        unit: cython.Py_ssize_t
        found: Entry | None = None
        if kind == REF:
            unit = self.info.find_unit(self.info.value)
            if unit >= 0:
                found = self.info.entry_at(unit, self.info.value, self.space)
        elif kind in (REF_ALT, REF_SIG8):
            found = self.space.elsewhere(kind, self.info.value)
        return found


@cython.cfunc
def _entry(
    info: Info,
    space: Any,
    unit: cython.Py_ssize_t,
    offset: cython.Py_ssize_t,
    decl: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    behind: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
) -> Any:
    """An entry that was found to be whole; ``decl`` is -1 for a null entry."""
    made: Entry = Entry.__new__(Entry)
    made.space = space
    made.info = info
    made.unit = unit
    made.offset = offset
    made.behind = behind
    made.depth = depth
    made.abbreviation = decl
    made.first = first
    if decl >= 0:
        made.tag = info.decl_tag[decl]
        made.has_children = info.decl_children[decl] != 0
    return made


@cython.final
@cython.cclass
class Text:
    """A section of strings. What is not UTF-8 is kept recognisable; of a string MAX_STRING bytes are looked at."""

    data = cython.declare("const unsigned char[::1]")

    def __init__(self, data: Any) -> None:
        self.data = data

    def at(self, offset: int) -> str:
        """The string that begins at an offset; empty outside of the section."""
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.data.shape[0]
        if offset < 0 or offset >= last:
            return ""
        start = offset
        if last - start > MAX_STRING:
            last = start + MAX_STRING
        end = start
        while end < last and self.data[end] != 0:
            end += 1
        found: str = _text(self.data, start, end)
        return found


@cython.cfunc
@cython.locals(view="const unsigned char[::1]", base="const char *")
def _text(view: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Any:
    """Bytes of a section as a string; what is not UTF-8 is kept recognisable."""
    if start < 0 or end <= start or end > view.shape[0]:
        return ""
    # Just checked: all of it is inside.
    base = cython.cast("const char *", cython.address(view[start]))
    return base[: end - start].decode("utf-8", "backslashreplace")


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _mixed(mixed: cython.ulonglong, number: cython.ulonglong) -> cython.ulonglong:
    """A number made of two, 0 never (but by a chance of one in 2**64)."""
    mixed = (mixed ^ number) * SPREAD
    return mixed ^ (mixed >> 29)


def _copied(column: Any, used: int) -> "memoryview[int]":
    """What is in use of a column, in memory of its own."""
    return longer(column, used, used)


def _grown(column: Any, used: int) -> Any:
    """The column with twice the room."""
    return longer(column, used, 2 * len(column))


def _grown_to(column: Any, used: int, size: int) -> Any:
    """The column with room for ``size`` entries at least."""
    wanted = len(column)
    while wanted < size:
        wanted *= 2
    return longer(column, used, wanted)


@cython.locals(
    view="const unsigned char[::1]",
    at="Py_ssize_t",
    end="Py_ssize_t",
    size="Py_ssize_t",
    most="Py_ssize_t",
    left="Py_ssize_t",
)
def strings_at(data: Any, offsets: list[int], room: int = 1 << 28) -> list[str]:
    """The strings that begin at offsets of a section of strings; what is not UTF-8 is kept recognisable.

    When they take ``room`` bytes together, each further one is cut to 256: names that all end where one long one ends
    could fill any memory.
    """
    view = data
    left = room
    most = MAX_STRING
    found = []
    size = view.shape[0]
    for offset in offsets:
        if offset >= size:
            found.append("")
            continue
        at = offset
        end = at
        while end < size and view[end] != 0 and end - at < most:
            end += 1
        left -= end - at
        if left < 0:
            most = 256
        found.append(bytes(data[at:end]).decode("utf-8", "backslashreplace"))
    return found
