# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Abbreviation tables as columns: the tag and attributes of DIEs, and how many bytes their values take.

Source: DWARF 5, 7.5.3 (abbreviations), 7.5.6 (forms); DWARF 4, 7.5; GCC's wiki on DebugFission and dwz for GNU forms.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, tags
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.reader_constants import SKIP_IN_C, AttributeRole, DieKind

from undwarf.column import doubled, with_room, zeros
from undwarf.dwarf.forms import SIZES

MAX_ATTRIBUTES = cython.declare(cython.Py_ssize_t, 256)
"""Maximum attributes of an abbreviation; the largest that compilers write have about 40. Without a limit, DIEs whose
values take no bytes could have any number of attributes."""
SPARSE = cython.declare(cython.ulonglong, 256)
"""How far codes may exceed eight times the length of their table; compilers number them densely."""

_ROLES = bytearray(256)
for _attribute, _role in (
    (attributes.NAME, AttributeRole.IS_NAME),
    (attributes.LINKAGE_NAME, AttributeRole.IS_NAME),
    (attributes.DECLARATION, AttributeRole.IS_NAME),
    (attributes.SPECIFICATION, AttributeRole.IS_NAME),
    (attributes.ABSTRACT_ORIGIN, AttributeRole.IS_NAME),
    (attributes.LOCATION, AttributeRole.IS_LOCATION),
    (attributes.TYPE, AttributeRole.IS_TYPE),
    (attributes.DECL_LINE, AttributeRole.IS_IDENTITY),
    (attributes.DECL_COLUMN, AttributeRole.IS_IDENTITY),
    (attributes.BYTE_SIZE, AttributeRole.IS_IDENTITY),
):
    _ROLES[_attribute] = _role


@cython.final
@cython.cclass
class AbbreviationTables:
    """The tables of `.debug_abbrev`, each read once, on demand.

    An abbreviation is a row of the columns ``tag`` to ``kind``; its attributes are the rows ``first`` up to ``end`` of
    the columns ``attribute`` to ``constant``. Damage is counted in ``damaged`` and ends the reading of a table.
    """

    def __init__(self, data: Any) -> None:
        self.damaged = 0
        self.data = data
        self.tables: dict[Any, int] = {}
        self.form_sizes = memoryview(SIZES)
        self.roles = memoryview(bytes(_ROLES))
        # Sized for what compilers write: growing step by step would take twice the memory.
        entries = max(256, len(data) // 12)
        attribute_rows = max(1024, 2 * len(data) // 5)
        self.map_first = zeros("I", 16)
        self.map_size = zeros("I", 16)
        self.table_total = 0
        self.table_bytes = 0
        self.code_map = zeros("I", max(1024, entries))
        self.code_total = 0
        self.tag = zeros("H", entries)
        self.has_children = zeros("B", entries)
        self.first = zeros("I", entries)
        self.end = zeros("I", entries)
        self.fixed_size = zeros("i", entries)
        self.sibling = zeros("I", entries)
        self.kind = zeros("B", entries)
        self.total = 0
        self.attribute = zeros("H", attribute_rows)
        self.form = zeros("H", attribute_rows)
        self.size = zeros("B", attribute_rows)
        self.role = zeros("B", attribute_rows)
        self.constant = zeros("q", attribute_rows)
        self.attribute_total = 0
        self.at = 0
        self.codes = zeros("Q", 256)

    @cython.cfunc
    @cython.exceptval(-1)
    def table(
        self, offset: cython.ulonglong, offset_size: cython.int, address_size: cython.int, version: cython.int
    ) -> cython.Py_ssize_t:
        """The index of the table at an offset, for units of these sizes and this DWARF version."""
        key = (offset, offset_size, address_size, version == 2)
        number = self.tables.get(key)
        if number is None:
            self.offset_size = offset_size
            self.address_size = address_size
            self.version = version
            number = self.tables[key] = self._read_table(offset)
        return number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def size_of(
        self, form: cython.int, offset_size: cython.int, address_size: cython.int, version: cython.int
    ) -> cython.int:
        """Bytes of a form in units of these sizes and this version; SIZE_VARIES if that depends on the value."""
        size: cython.int = forms.SIZE_VARIES
        if 0 <= form <= forms.ADDRX4:
            size = self.form_sizes[form]
        elif form == forms.GNU_REF_ALT or form == forms.GNU_STRP_ALT:
            size = forms.SIZE_OF_OFFSET
        if size == forms.SIZE_OF_OFFSET:
            return offset_size
        if size == forms.SIZE_OF_ADDRESS:
            return address_size
        if size == forms.SIZE_OF_REFERENCE:
            return address_size if version == 2 else offset_size
        return size

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_table(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """Read the table at an offset; returns its index."""
        size: cython.Py_ssize_t = self.data.shape[0]
        first: cython.Py_ssize_t = self.total
        start: cython.Py_ssize_t = size + 1
        highest: cython.ulonglong
        if offset <= cython.cast(cython.ulonglong, size):
            start = cython.cast("Py_ssize_t", offset)
        self.at = start
        if self.table_bytes > 4 * cython.cast("unsigned long long", size) + 65536:
            # Tables do not overlap, except that one may serve units of different sizes: this is damage.
            self.damaged += 1
            self.at = size + 1
        highest = self._read_abbreviations()
        if self.at > start:
            self.table_bytes += cython.cast("unsigned long long", self.at - start)
        return self._map_codes(first, highest)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _leb(self, signed: cython.bint) -> cython.ulonglong:
        """The LEB128 number at ``at``, which ends up after it, or past the section's end where it is not whole."""
        return leb128(self.data, cython.address(self.at), self.data.shape[0], signed)

    @cython.cfunc
    @cython.exceptval(0)
    def _read_abbreviations(self) -> cython.ulonglong:
        """Read abbreviations from ``at`` to the end of their table; their codes go to ``codes``. The highest code."""
        code: cython.ulonglong
        tag: cython.ulonglong
        known: cython.Py_ssize_t = 0
        highest: cython.ulonglong = 0
        while self.at < self.data.shape[0]:
            code = self._leb(False)
            if code == 0:
                break
            tag = self._leb(False)
            if self.at >= self.data.shape[0]:
                self.damaged += 1
                break
            self._read_abbreviation(tag)
            if known == len(self.codes):
                self.codes = doubled(self.codes, known)
            self.codes[known] = code
            known += 1
            highest = max(highest, code)
        return highest

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.boundscheck(False)
    def _read_abbreviation(self, tag: cython.ulonglong) -> cython.int:
        """Read an abbreviation from after its tag; at least one byte follows."""
        # Rows are in bounds: this one was allocated, and attributes are only looked at once they are written.
        n: cython.Py_ssize_t = self.total
        i: cython.Py_ssize_t
        # Arrays, enumerations, types of functions; calls.
        leaf: cython.bint = (
            tag == tags.ARRAY_TYPE
            or tag == tags.ENUMERATION_TYPE
            or tag == tags.SUBROUTINE_TYPE
            or tag == tags.CALL_SITE
            or tag == tags.GNU_CALL_SITE
        )
        aggregate: cython.bint = tag == tags.STRUCTURE_TYPE or tag == tags.UNION_TYPE or tag == tags.CLASS_TYPE
        attribute: cython.int
        form: cython.int
        size: cython.int
        total: cython.int = 0
        sibling: cython.uint = 0
        addressed: cython.bint = False
        if n == len(self.tag):
            self._grow_abbreviations()
        self.tag[n] = cython.cast("unsigned short", tag if tag < 0x10000 else 0)
        self.has_children[n] = self.data[self.at]
        self.at += 1
        self.first[n] = cython.cast("unsigned int", self.attribute_total)
        while self._read_attribute(n):
            i = self.attribute_total - 1
            attribute = self.attribute[i]
            form = self.form[i]
            size = self.size[i]
            if attribute == attributes.SIBLING:
                if (leaf or aggregate) and forms.REF1 <= form <= forms.REF8 and 0 <= total < 1 << 16:
                    sibling = total << 4 | size
                    if aggregate:
                        sibling |= SKIP_IN_C
            elif attribute == attributes.DECLARATION or (
                attribute == attributes.LOCATION
                and form != forms.SEC_OFFSET
                and form != forms.LOCLISTX
                and form != forms.DATA4
                and form != forms.DATA8
            ):
                addressed = True
            if size == forms.SIZE_VARIES or total < 0:
                total = -1
            else:
                total += size
        self.end[n] = cython.cast("unsigned int", self.attribute_total)
        self.fixed_size[n] = total
        self.sibling[n] = sibling
        if tag == tags.SUBPROGRAM:
            self.kind[n] = DieKind.FUNCTION
        elif tag == tags.VARIABLE:
            self.kind[n] = DieKind.VARIABLE if addressed else 0
        elif tag == tags.INLINED_SUBROUTINE:
            self.kind[n] = DieKind.INLINED
        elif aggregate or tag == tags.INTERFACE_TYPE or tag == tags.ENUMERATION_TYPE:
            self.kind[n] = DieKind.TYPE
        elif tag == tags.NAMESPACE or tag == tags.TYPEDEF:
            self.kind[n] = DieKind.SCOPE
        self.total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.boundscheck(False)
    def _read_attribute(self, abbreviation: cython.Py_ssize_t) -> cython.int:
        """Read the next attribute of an abbreviation, whose row is allocated; 0 where there are no more."""
        # Bytes are read before the section's end only, rows written once they are allocated.
        at: cython.Py_ssize_t = self.at
        i: cython.Py_ssize_t = self.attribute_total
        attribute: cython.ulonglong
        form: cython.ulonglong
        if at + 1 < self.data.shape[0] and self.data[at] < 0x80 and self.data[at + 1] < 0x80:
            # Nearly all are of one byte.
            attribute = self.data[at]
            form = self.data[at + 1]
            self.at = at + 2
        else:
            attribute = self._leb(False)
            form = self._leb(False)
        if self.at > self.data.shape[0] or (attribute == 0 and form == 0):
            return 0
        if i - cython.cast("Py_ssize_t", self.first[abbreviation]) >= MAX_ATTRIBUTES:
            self.damaged += 1
            self.at = self.data.shape[0] + 1
            return 0
        if attribute >= 0x10000:
            attribute = 0
        if form >= 0x10000:
            form = 0
        if i == len(self.form):
            self._grow_attributes()
        self.attribute[i] = cython.cast("unsigned short", attribute)
        self.form[i] = cython.cast("unsigned short", form)
        self.size[i] = cython.cast(
            "unsigned char",
            self.size_of(cython.cast(cython.int, form), self.offset_size, self.address_size, self.version),
        )
        self.role[i] = self.roles[attribute] if attribute < 256 else attribute == attributes.MIPS_LINKAGE_NAME
        self.constant[i] = cython.cast("long long", self._leb(True)) if form == forms.IMPLICIT_CONST else 0
        self.attribute_total += 1
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _map_codes(self, first: cython.Py_ssize_t, highest: cython.ulonglong) -> cython.Py_ssize_t:
        """Make a table of the abbreviations from ``first`` on, whose codes are in ``codes``; its number."""
        i: cython.Py_ssize_t
        known: cython.Py_ssize_t = self.total - first
        start: cython.Py_ssize_t = self.code_total
        end: cython.Py_ssize_t
        code: cython.ulonglong
        # Compilers number codes densely; those far beyond the number of abbreviations are damage.
        if highest > 8 * cython.cast(cython.ulonglong, known) + SPARSE:
            self.damaged += 1
            highest = 8 * cython.cast(cython.ulonglong, known) + SPARSE
        end = start + cython.cast("Py_ssize_t", highest) + 1
        if end > len(self.code_map):
            self.code_map = with_room(self.code_map, start, end)
        for i in range(known):
            # Of two abbreviations with one code the first counts.
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

    @cython.cfunc
    @cython.exceptval(-1)
    def _grow_abbreviations(self) -> cython.int:
        n: cython.Py_ssize_t = self.total
        self.tag = doubled(self.tag, n)
        self.has_children = doubled(self.has_children, n)
        self.first = doubled(self.first, n)
        self.end = doubled(self.end, n)
        self.fixed_size = doubled(self.fixed_size, n)
        self.sibling = doubled(self.sibling, n)
        self.kind = doubled(self.kind, n)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _grow_attributes(self) -> cython.int:
        n: cython.Py_ssize_t = self.attribute_total
        self.attribute = doubled(self.attribute, n)
        self.form = doubled(self.form, n)
        self.size = doubled(self.size, n)
        self.role = doubled(self.role, n)
        self.constant = doubled(self.constant, n)
        return 0
