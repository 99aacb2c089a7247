# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads the attributes of DIEs: abbreviation codes and values of all forms.

Sources: DWARF 5, 7.5.6 (forms); GCC's wiki on DebugFission for the forms and attributes that DWARF 4 uses in split
files; the GNU forms of dwz; LLVM's Dwarf.def and AsmPrinter for functions whose address is an indexed address plus an
offset (-minimize-addr-in-v5).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, operations
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.reader_constants import NULL_ENTRY
from cython.cimports.undwarf.dwarf.root_die_columns import ROOT_COLUMNS, Root
from cython.cimports.undwarf.dwarf.unit_kinds import UnitKind
from cython.cimports.undwarf.dwarf.value_classes import (
    ADDRESS,
    ADDRX,
    BLOCK,
    DATA16,
    FLAG,
    LINE_STRP,
    LOCLISTX,
    REF,
    REF_ALT,
    REF_SIG8,
    RNGLISTX,
    SEC_OFFSET,
    SIGNED,
    STRING,
    STRP,
    STRP_ALT,
    STRX,
    UNSIGNED,
)
from cython.cimports.undwarf.elf.integers import integer_at
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import absent, zeros
from undwarf.dwarf.abbreviations import AbbreviationTables
from undwarf.dwarf.units import UnitTable

_SHORTEST = cython.declare(cython.ulonglong, 8)
"""Minimum size of an expression that adds an offset to an indexed address."""
_DISTANCE = cython.declare(cython.Py_ssize_t, 6)
"""Bytes of that expression after the index: DW_OP_const4u with its operand, DW_OP_plus."""

# The column of each attribute of a root DIE; 255 for those without one.
_ROOT_OF = bytearray(b"\xff" * 0x80)
for _attribute, _place in (
    (attributes.NAME, Root.NAME),
    (attributes.COMP_DIR, Root.COMP_DIR),
    (attributes.STMT_LIST, Root.STMT_LIST),
    (attributes.LOW_PC, Root.LOW_PC),
    (attributes.HIGH_PC, Root.HIGH_PC),
    (attributes.RANGES, Root.RANGES),
    (attributes.LANGUAGE, Root.LANGUAGE),
    (attributes.DWO_NAME, Root.DWO_NAME),
    (attributes.STR_OFFSETS_BASE, Root.STR_OFFSETS_BASE),
    (attributes.ADDR_BASE, Root.ADDR_BASE),
    (attributes.RNGLISTS_BASE, Root.RNGLISTS_BASE),
):
    _ROOT_OF[_attribute] = _place


@cython.final
@cython.cclass
class AttributeReader:
    """A position in a section of DIEs, and the last value read.

    The value read last is ``value`` of class ``value_class``; blocks and strings are ``value_size`` bytes at the offset
    ``value``. Whatever does not fit in the unit moves ``at`` past ``end``, where nothing more is read.
    """

    def __init__(self, data: Any, units: UnitTable, abbreviations: AbbreviationTables, *, big: bool = False) -> None:
        self.data = data
        self.units = units
        self.abbreviations = abbreviations
        self.big = big
        self.damaged = 0
        self.at = self.end = 0
        self.tables = absent("I", units.count)
        self.root_of = memoryview(bytes(_ROOT_OF))

    @cython.cfunc
    @cython.exceptval(-1)
    def enter(self, unit: cython.Py_ssize_t) -> cython.int:
        """Switch to a unit; reading starts at ``at``, which the caller sets."""
        if self.tables[unit] == NOTHING:
            self.tables[unit] = cython.cast(
                "unsigned int",
                self.abbreviations.table(
                    self.units.abbreviations[unit],
                    self.units.offset_size[unit],
                    self.units.address_size[unit],
                    self.units.version[unit],
                ),
            )
        self.enter_again(unit)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def enter_again(self, unit: cython.Py_ssize_t) -> cython.int:
        """As :meth:`enter`, of a unit whose abbreviations have been read."""
        self.unit = unit
        self.offset_size = self.units.offset_size[unit]
        self.address_size = self.units.address_size[unit]
        self.version = self.units.version[unit]
        self.codes_at = self.abbreviations.map_first[self.tables[unit]]
        self.codes_end = self.abbreviations.map_size[self.tables[unit]]
        self.end = cython.cast("Py_ssize_t", self.units.end[unit])
        return 0

    @cython.cfunc
    @cython.exceptval(-4)
    def seek(self, offset: cython.ulonglong) -> cython.Py_ssize_t:
        """The abbreviation of the DIE at an offset of the section, whose values are read next; negative for none."""
        unit: cython.Py_ssize_t = self.units.find(offset)
        if unit < 0:
            return -1
        self.enter(unit)
        self.at = cython.cast("Py_ssize_t", offset)
        return self.read_code()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_code(self) -> cython.Py_ssize_t:
        """The abbreviation of the DIE at ``at``, which moves to its first value: -1 for a code that the unit's table
        does not have, NULL_ENTRY for the end of a list of siblings."""
        number: cython.Py_ssize_t = 0
        code: cython.ulonglong = 0
        if self.at < self.end:
            code = self.data[self.at]
        if 0 < code < 0x80:
            # Most codes are of one byte: not worth a call.
            self.at += 1
        else:
            code = self.uleb()
        if code == 0:
            return NULL_ENTRY
        if code < self.codes_end:
            number = self.abbreviations.code_map[self.codes_at + cython.cast("Py_ssize_t", code)]
        return number - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def uleb(self) -> cython.ulonglong:
        """The unsigned LEB128 number at ``at``, which moves past the unit's end where there is none."""
        return leb128(self.data, cython.address(self.at), self.end, False)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip_form(self, form: cython.int) -> cython.int:
        """Step over a value whose size varies. An unknown form moves ``at`` past the end."""
        size: cython.ulonglong
        n: cython.int = 0
        if (
            form == forms.SDATA
            or form == forms.UDATA
            or form == forms.REF_UDATA
            or form == forms.STRX
            or form == forms.ADDRX
            or form == forms.LOCLISTX
            or form == forms.RNGLISTX
            or form == forms.GNU_ADDR_INDEX
            or form == forms.GNU_STR_INDEX
        ):
            self.uleb()
            return 0
        if form == forms.LLVM_ADDRX_OFFSET:
            self.uleb()
            self.at += 4
            return 0
        if form == forms.STRING:
            while self.at < self.end and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
            return 0
        if form == forms.INDIRECT:
            form = self.named_form()
            n = self.abbreviations.size_of(form, self.offset_size, self.address_size, self.version)
            if n == forms.SIZE_VARIES:
                return self.skip_form(form)
            self.at += n
            return 0
        size = self.block_size(form)
        if self.at > self.end or size > cython.cast(cython.ulonglong, self.end - self.at):
            self.at = self.end + 1
        else:
            self.at += cython.cast("Py_ssize_t", size)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def named_form(self) -> cython.int:
        """The form that a value of DW_FORM_indirect begins with; one that it may not have moves ``at`` past the
        end. It may not be indirect again, so that this ends."""
        form: cython.int = cython.cast(cython.int, self.uleb() & 0xFFFF)
        if form == forms.INDIRECT or form == forms.IMPLICIT_CONST:
            self.at = self.end + 1
            form = forms.FLAG_PRESENT
        return form

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def block_size(self, form: cython.int) -> cython.ulonglong:
        """The size of a block, whose bytes begin at ``at`` then. The form of no block moves ``at`` past the end."""
        size: cython.ulonglong = 0
        n: cython.int
        if form == forms.EXPRLOC or form == forms.BLOCK:
            return self.uleb()
        n = 1 if form == forms.BLOCK1 else 2 if form == forms.BLOCK2 else 4 if form == forms.BLOCK4 else 0
        if n == 0:
            self.at = self.end + 1
            return 0
        size = integer_at(self.data, self.at, n, self.big)
        self.at += n
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_form(self, form: cython.int, n: cython.int, constant: cython.longlong) -> cython.int:
        """Read a value of ``n`` bytes (SIZE_VARIES: as many as its form says) at ``at`` into ``value_class``,
        ``value`` and ``value_size``; class 0 for an unknown form."""
        start: cython.Py_ssize_t
        unit_at: cython.ulonglong = self.units.offset[self.unit]
        self.value_class = 0
        self.value = 0
        self.value_size = 0
        if form == forms.INDIRECT:
            form = self.named_form()
            if self.at > self.end:
                return 0
            n = self.abbreviations.size_of(form, self.offset_size, self.address_size, self.version)
        if form == forms.IMPLICIT_CONST:
            self.value_class = SIGNED
            self.value = cython.cast(cython.ulonglong, constant)
            return 0
        if form == forms.FLAG_PRESENT:
            self.value_class = FLAG
            self.value = 1
            return 0
        if n != forms.SIZE_VARIES:
            if n > self.end - self.at:
                self.at = self.end + 1
                return 0
            start = self.at
            self.at += n
            if form == forms.DATA16:
                self.value_class = DATA16
                self.value = start
                self.value_size = 16
                return 0
            self.value = integer_at(self.data, start, n, self.big)
            if form == forms.ADDR:
                self.value_class = ADDRESS
            elif form == forms.DATA1 or form == forms.DATA2 or form == forms.DATA4 or form == forms.DATA8:
                self.value_class = UNSIGNED
                self.value_size = n
            elif form == forms.FLAG:
                self.value_class = FLAG
            elif form == forms.STRP:
                self.value_class = STRP
            elif form == forms.LINE_STRP:
                self.value_class = LINE_STRP
            elif forms.REF1 <= form <= forms.REF8:
                self.value_class = REF
                self.value += unit_at
            elif form == forms.REF_ADDR:
                self.value_class = REF
            elif form == forms.SEC_OFFSET:
                self.value_class = SEC_OFFSET
            elif form == forms.REF_SUP4 or form == forms.REF_SUP8 or form == forms.GNU_REF_ALT:
                self.value_class = REF_ALT
            elif form == forms.STRP_SUP or form == forms.GNU_STRP_ALT:
                self.value_class = STRP_ALT
            elif form == forms.REF_SIG8:
                self.value_class = REF_SIG8
            elif forms.STRX1 <= form <= forms.STRX4:
                self.value_class = STRX
            elif forms.ADDRX1 <= form <= forms.ADDRX4:
                self.value_class = ADDRX
            return 0
        if form == forms.SDATA:
            self.value = leb128(self.data, cython.address(self.at), self.end, True)
            self.value_class = SIGNED
        elif form == forms.UDATA:
            self.value = self.uleb()
            self.value_class = UNSIGNED
        elif form == forms.REF_UDATA:
            self.value = self.uleb() + unit_at
            self.value_class = REF
        elif form == forms.STRX or form == forms.GNU_STR_INDEX:
            self.value = self.uleb()
            self.value_class = STRX
        elif form == forms.ADDRX or form == forms.GNU_ADDR_INDEX:
            self.value = self.uleb()
            self.value_class = ADDRX
        elif form == forms.LLVM_ADDRX_OFFSET:
            self.value = self.uleb()
            if self.end - self.at < 4:
                self.at = self.end + 1
                return 0
            self.value |= integer_at(self.data, self.at, 4, self.big) << 32
            self.at += 4
            self.value_class = ADDRX
        elif form == forms.LOCLISTX:
            self.value = self.uleb()
            self.value_class = LOCLISTX
        elif form == forms.RNGLISTX:
            self.value = self.uleb()
            self.value_class = RNGLISTX
        elif form == forms.STRING:
            self.value = self.at
            self.value_class = STRING
            self.skip_form(form)
            self.value_size = self.at - 1 - self.value
        else:
            self.value_size = self.block_size(form)
            if self.at > self.end or self.value_size > cython.cast(cython.ulonglong, self.end - self.at):
                self.at = self.end + 1
                return 0
            self.value = self.at
            self.value_class = BLOCK
            self.at += cython.cast("Py_ssize_t", self.value_size)
        if self.at > self.end:
            self.value_class = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read(self, i: cython.Py_ssize_t) -> cython.int:
        """Read the value of an attribute, by its row in the abbreviations."""
        self.read_form(self.abbreviations.form[i], self.abbreviations.size[i], self.abbreviations.constant[i])
        if self.value_class == BLOCK and self.abbreviations.attribute[i] == attributes.LOW_PC:
            self._computed_address()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _computed_address(self) -> cython.int:
        """Replace a block that adds a distance to an indexed address (DW_OP_addrx, const4u, plus) by a value of class
        ADDRX: the index, with the distance above its 32 bits."""
        start: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.value)
        after: cython.Py_ssize_t = self.at
        index: cython.ulonglong
        if self.value_size < _SHORTEST or self.data[start] != operations.ADDRX:
            return 0
        self.at = start + 1
        index = self.uleb()
        if (
            after - self.at == _DISTANCE
            and self.data[self.at] == operations.CONST4U
            and self.data[after - 1] == operations.PLUS
            and index >> 32 == 0
        ):
            self.value = index | integer_at(self.data, self.at + 1, 4, self.big) << 32
            self.value_class = ADDRX
        self.at = after
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip(self, i: cython.Py_ssize_t) -> cython.int:
        """Step over the value of an attribute, by its row in the abbreviations."""
        if self.abbreviations.size[i] != forms.SIZE_VARIES:
            self.at += self.abbreviations.size[i]
            return 0
        return self.skip_form(self.abbreviations.form[i])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip_all(self, abbreviation: cython.Py_ssize_t) -> cython.int:
        """Step over all values of a DIE."""
        i: cython.Py_ssize_t
        if self.abbreviations.fixed_size[abbreviation] >= 0:
            self.at += self.abbreviations.fixed_size[abbreviation]
        else:
            for i in range(self.abbreviations.first[abbreviation], self.abbreviations.end[abbreviation]):
                if self.abbreviations.size[i] != forms.SIZE_VARIES:
                    # Most attributes: not worth a call.
                    self.at += self.abbreviations.size[i]
                else:
                    self.skip_form(self.abbreviations.form[i])
        return 0

    @cython.locals(class_view="unsigned char[::1]", value_view="unsigned long long[::1]")
    def roots(self) -> tuple[memoryview, memoryview]:
        """(classes B, values Q) of all units' root DIEs, ``ROOT_COLUMNS`` columns (:class:`Root`) each; absent ones
        have class 0. Root.TAG and Root.CHILDREN are the tag and whether there are children."""
        unit: cython.Py_ssize_t
        i: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        place: cython.Py_ssize_t
        attribute: cython.int
        classes: Any = zeros("B", ROOT_COLUMNS * self.units.count)
        values: Any = zeros("Q", ROOT_COLUMNS * self.units.count)
        class_view = classes
        value_view = values
        for unit in range(self.units.count):
            self.enter(unit)
            self.at = self.units.first[unit]
            self.end = self.units.end[unit]
            abbreviation = self.read_code()
            if abbreviation < 0:
                self.damaged += 1
                continue
            value_view[ROOT_COLUMNS * unit + Root.TAG] = self.abbreviations.tag[abbreviation]
            value_view[ROOT_COLUMNS * unit + Root.CHILDREN] = self.abbreviations.has_children[abbreviation]
            for i in range(self.abbreviations.first[abbreviation], self.abbreviations.end[abbreviation]):
                self.read(i)
                if self.at > self.end:
                    self.damaged += 1
                    break
                attribute = self.abbreviations.attribute[i]
                if attribute < 0x80:
                    place = self.root_of[attribute]
                elif attribute == attributes.LOCLISTS_BASE:
                    place = Root.LOCLISTS_BASE
                elif attribute == attributes.GNU_DWO_NAME:
                    place = Root.DWO_NAME
                elif attribute == attributes.GNU_DWO_ID:
                    place = Root.DWO_ID
                elif attribute == attributes.GNU_RANGES_BASE:
                    place = Root.GNU_RANGES_BASE
                elif attribute == attributes.GNU_ADDR_BASE:
                    place = Root.ADDR_BASE
                else:
                    place = 255
                if place < ROOT_COLUMNS:
                    class_view[ROOT_COLUMNS * unit + place] = cython.cast("unsigned char", self.value_class)
                    value_view[ROOT_COLUMNS * unit + place] = self.value
            if self.units.kind[unit] == UnitKind.SKELETON or self.units.kind[unit] == UnitKind.SPLIT_COMPILE:
                class_view[ROOT_COLUMNS * unit + Root.DWO_ID] = UNSIGNED
                value_view[ROOT_COLUMNS * unit + Root.DWO_ID] = self.units.signature[unit]
        return memoryview(classes), memoryview(values)
