# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Abbreviations of the entries of units, kept as columns: what an entry has, and how far its values reach.

Source: DWARF 5, 7.5.3 (abbreviations), 7.5.6 (forms); DWARF 4, 7.5; GCC's wiki on DebugFission and dwz for GNU forms.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, tags

from undwarf.column import doubled, with_room, zeros
from undwarf.dwarf.forms import SIZES
from undwarf.dwarf.units import Units

NULL_ENTRY = cython.declare(cython.Py_ssize_t, -2)
NONE = cython.declare(cython.uint, 0xFFFFFFFF)
MAX_ATTRIBUTES = cython.declare(cython.Py_ssize_t, 256)
"""Attributes of one abbreviation; the largest that compilers write have some forty. Entries that take no room at all
could have more, each time they occur."""
OF_MEMBERS = cython.declare(cython.uint, 0x80000000)
"""Set in ``decl_leap`` of structures, unions and classes: their children say nothing of types' members only in C."""
FUNCTIONS = cython.declare(cython.int, 1)
TYPES = cython.declare(cython.int, 2)
NAMES = cython.declare(cython.int, 4)
VARIABLES = cython.declare(cython.int, 8)
INLINED = cython.declare(cython.int, 16)
"""What entries are (``decl_declares``): functions; types but typedefs; these and namespaces; variables that may have
one place all the time or be declared only; functions that are inlined."""
SPARSE = cython.declare(cython.ulonglong, 256)
"""How far the codes of an abbreviation table may go beyond eight for each entry; they are dense."""

# Which attributes say what an entry declares, as NAMING and its like in undwarf.dwarf.unit_index tell them apart.
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


@cython.cclass
class Abbreviations(Units):
    """Units with the abbreviations of the one at hand; ``width`` of an offset and ``address`` size are each unit's own.

    Entries with one abbreviation are a *declaration*: a row of the columns ``decl_*``, whose attributes are rows of the
    columns ``spec_*``, ``decl_count`` of them from ``decl_spec`` on.
    """

    def __init__(self, data: Any, abbrevs: Any, *, big: bool = False, types: bool = False) -> None:
        super().__init__(data, big=big, types=types)
        self.abbrevs = abbrevs
        self.tables: dict[Any, int] = {}
        self.sizes = memoryview(SIZES)
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
        self.decl_declares = zeros("B", entries)
        self.codes = zeros("Q", 256)
        self.decl_total = 0
        self.spec_attribute = zeros("H", room)
        self.spec_form = zeros("H", room)
        self.spec_size = zeros("B", room)
        self.spec_told = zeros("B", room)
        self.spec_constant = zeros("q", room)
        self.spec_total = 0
        self.unit_table = zeros("I", self.count)
        for unit in range(self.count):
            self.unit_table[unit] = NONE

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
                number = self.tables[key] = self._read_table(self.unit_abbrev[unit])
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

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def size_of(self, form: cython.int) -> cython.int:
        """Bytes of a form in the unit at hand, SIZE_VARIES where its values differ."""
        size: cython.int = forms.SIZE_VARIES
        if 0 <= form <= forms.ADDRX4:
            size = self.sizes[form]
        elif form == forms.GNU_REF_ALT or form == forms.GNU_STRP_ALT:
            size = forms.SIZE_OF_OFFSET
        if size == forms.SIZE_OF_OFFSET:
            return self.width
        if size == forms.SIZE_OF_ADDRESS:
            return self.address
        if size == forms.SIZE_OF_REFERENCE:
            return self.address if self.version == 2 else self.width
        return size

    # -- reading a table ----------------------------------------------------------------------------------------

    @cython.final
    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(kept="const unsigned char[::1]")
    def _read_table(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """Read an abbreviation table for units of the width and address size at hand; its number."""
        kept_at: cython.Py_ssize_t = self.at
        kept_end: cython.Py_ssize_t = self.end
        first: cython.Py_ssize_t = self.decl_total
        start: cython.Py_ssize_t
        highest: cython.ulonglong
        kept = self.data
        # The LEB128 readers work on ``data``.
        self.data = self.abbrevs
        self.end = self.abbrevs.shape[0]
        self.at = (
            self.end + 1 if offset > cython.cast(cython.ulonglong, self.end) else cython.cast("Py_ssize_t", offset)
        )
        start = self.at
        if self.table_bytes > 4 * cython.cast("unsigned long long", self.end) + 65536:
            # Tables do not overlap, but that one serves units of several shapes: this is damage.
            self.damaged += 1
            self.at = self.end + 1
        highest = self._read_declarations()
        if self.at > start:
            self.table_bytes += cython.cast("unsigned long long", self.at - start)
        self.data = kept
        self.at = kept_at
        self.end = kept_end
        return self._map_codes(first, highest)

    @cython.final
    @cython.cfunc
    @cython.exceptval(0)
    def _read_declarations(self) -> cython.ulonglong:
        """Read the table at ``at`` to its end; ``codes`` are those of its declarations. The highest of them."""
        code: cython.ulonglong
        tag: cython.ulonglong
        known: cython.Py_ssize_t = 0
        highest: cython.ulonglong = 0
        while self.at < self.end:
            code = self.uleb()
            if code == 0:
                break
            tag = self.uleb()
            if self.at >= self.end:
                self.damaged += 1
                break
            self._read_declaration(tag)
            if known == len(self.codes):
                self.codes = doubled(self.codes, known)
            self.codes[known] = code
            known += 1
            highest = max(highest, code)
        return highest

    @cython.final
    @cython.cfunc
    @cython.exceptval(-1)
    @cython.boundscheck(False)
    def _read_declaration(self, tag: cython.ulonglong) -> cython.int:
        """Read one declaration from behind its tag on, which the table does not end with."""
        # Rows are there: room was made for this one, and an attribute's is looked at when it was written.
        n: cython.Py_ssize_t = self.decl_total
        i: cython.Py_ssize_t
        # Arrays, enumerations, types of functions; calls.
        leaf: cython.bint = (
            tag == tags.ARRAY_TYPE
            or tag == tags.ENUMERATION_TYPE
            or tag == tags.SUBROUTINE_TYPE
            or tag == tags.CALL_SITE
            or tag == tags.GNU_CALL_SITE
        )
        holds: cython.bint = tag == tags.STRUCTURE_TYPE or tag == tags.UNION_TYPE or tag == tags.CLASS_TYPE
        attribute: cython.int
        form: cython.int
        size: cython.int
        total: cython.int = 0
        leap: cython.uint = 0
        placed: cython.bint = False
        if n == len(self.decl_tag):
            self._room_for_decl()
        self.decl_tag[n] = cython.cast("unsigned short", tag if tag < 0x10000 else 0)
        self.decl_children[n] = self.data[self.at]
        self.at += 1
        self.decl_spec[n] = cython.cast("unsigned int", self.spec_total)
        while self._read_attribute(n):
            i = self.spec_total - 1
            attribute = self.spec_attribute[i]
            form = self.spec_form[i]
            size = self.spec_size[i]
            if attribute == attributes.SIBLING:
                if (leaf or holds) and forms.REF1 <= form <= forms.REF8 and 0 <= total < 1 << 16:
                    leap = total << 4 | size
                    if holds:
                        leap |= OF_MEMBERS
            elif attribute == attributes.DECLARATION or (
                attribute == attributes.LOCATION
                and form != forms.SEC_OFFSET
                and form != forms.LOCLISTX
                and form != forms.DATA4
                and form != forms.DATA8
            ):
                placed = True
            if size == forms.SIZE_VARIES or total < 0:
                total = -1
            else:
                total += size
        self.decl_count[n] = cython.cast("unsigned int", self.spec_total - self.decl_spec[n])
        self.decl_fixed[n] = total
        self.decl_leap[n] = leap
        if tag == tags.SUBPROGRAM:
            self.decl_declares[n] = FUNCTIONS
        elif tag == tags.VARIABLE:
            self.decl_declares[n] = VARIABLES if placed else 0
        elif tag == tags.INLINED_SUBROUTINE:
            self.decl_declares[n] = INLINED
        elif holds or tag == tags.INTERFACE_TYPE or tag == tags.ENUMERATION_TYPE:
            self.decl_declares[n] = TYPES
        elif tag == tags.NAMESPACE or tag == tags.TYPEDEF:
            self.decl_declares[n] = NAMES
        self.decl_total += 1
        return 0

    @cython.final
    @cython.cfunc
    @cython.exceptval(-1)
    @cython.boundscheck(False)
    def _read_attribute(self, decl: cython.Py_ssize_t) -> cython.int:
        """Read the next attribute of a declaration, which has a row; 0 where it has no more."""
        # Bytes are looked at before the table's end only, rows when room was made for them.
        at: cython.Py_ssize_t = self.at
        i: cython.Py_ssize_t = self.spec_total
        attribute: cython.ulonglong
        form: cython.ulonglong
        if at + 1 < self.end and self.data[at] < 0x80 and self.data[at + 1] < 0x80:
            # Nearly all are of one byte.
            attribute = self.data[at]
            form = self.data[at + 1]
            self.at = at + 2
        else:
            attribute = self.uleb()
            form = self.uleb()
        if self.at > self.end or (attribute == 0 and form == 0):
            return 0
        if i - cython.cast("Py_ssize_t", self.decl_spec[decl]) >= MAX_ATTRIBUTES:
            self.damaged += 1
            self.at = self.end + 1
            return 0
        if attribute >= 0x10000:
            attribute = 0
        if form >= 0x10000:
            form = 0
        if i == len(self.spec_form):
            self._room_for_spec()
        self.spec_attribute[i] = cython.cast("unsigned short", attribute)
        self.spec_form[i] = cython.cast("unsigned short", form)
        self.spec_size[i] = cython.cast("unsigned char", self.size_of(cython.cast(cython.int, form)))
        self.spec_told[i] = self.told_by[attribute] if attribute < 256 else attribute == attributes.MIPS_LINKAGE_NAME
        self.spec_constant[i] = cython.cast("long long", self.sleb()) if form == forms.IMPLICIT_CONST else 0
        self.spec_total += 1
        return 1

    @cython.final
    @cython.cfunc
    @cython.exceptval(-1)
    def _map_codes(self, first: cython.Py_ssize_t, highest: cython.ulonglong) -> cython.Py_ssize_t:
        """Make the declarations from ``first`` on, which have ``codes``, a table; its number."""
        i: cython.Py_ssize_t
        known: cython.Py_ssize_t = self.decl_total - first
        start: cython.Py_ssize_t = self.code_total
        end: cython.Py_ssize_t
        code: cython.ulonglong
        # Codes are dense in all that compilers write; those far beyond the number of entries are damage.
        if highest > 8 * cython.cast(cython.ulonglong, known) + SPARSE:
            self.damaged += 1
            highest = 8 * cython.cast(cython.ulonglong, known) + SPARSE
        end = start + cython.cast("Py_ssize_t", highest) + 1
        if end > len(self.code_map):
            self.code_map = with_room(self.code_map, start, end)
        for i in range(known):
            # The first of two entries with one code counts.
            code = self.codes[i]
            if code <= highest and self.code_map[start + cython.cast("Py_ssize_t", code)] == 0:
                self.code_map[start + cython.cast("Py_ssize_t", code)] = cython.cast("unsigned int", first + i + 1)
        self.code_total = end
        i = self.table_total
        if i == len(self.map_first):
            self.map_first = doubled(self.map_first, i)
            self.map_size = doubled(self.map_size, i)
        self.map_first[i] = cython.cast("unsigned int", start)
        self.map_size[i] = cython.cast("unsigned int", highest + 1)
        self.table_total += 1
        return i

    @cython.final
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
        self.decl_declares = doubled(self.decl_declares, n)
        return 0

    @cython.final
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

    # -- entries ------------------------------------------------------------------------------------------------

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
