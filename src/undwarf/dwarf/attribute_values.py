# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Values of entries' attributes, read or stepped over; roots of units.

Sources: DWARF 5, 7.5.6 (forms); GCC's wiki on DebugFission for the forms and attributes that DWARF 4 uses in split
files; the GNU forms of dwz; LLVM's Dwarf.def and AsmPrinter for functions whose address is an indexed one and a
distance (-minimize-addr-in-v5).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, operations
from cython.cimports.undwarf.dwarf.fixed import fixed
from cython.cimports.undwarf.dwarf.root_places import Root
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

from undwarf.column import zeros
from undwarf.dwarf.abbreviations import Abbreviations

ROOT = cython.declare(cython.Py_ssize_t, 16)
"""Places kept of each unit's root, as undwarf.dwarf.constants.Root has them."""

_SHORTEST = cython.declare(cython.ulonglong, 8)
"""Bytes of an expression for an indexed address and a distance, at least."""
_DISTANCE = cython.declare(cython.Py_ssize_t, 6)
"""Bytes that it has behind the index."""

# Places of a root's attributes; 255 for those that are not kept.
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


@cython.cclass
class Values(Abbreviations):
    """Units whose attributes are read: the value read last is of class ``value_class``, a number ``value``; blocks and
    strings are ``value_size`` bytes at that offset."""

    def __init__(self, data: Any, abbrevs: Any, *, big: bool = False, types: bool = False) -> None:
        super().__init__(data, abbrevs, big=big, types=types)
        self.root_of = memoryview(bytes(_ROOT_OF))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip(self, form: cython.int) -> cython.int:
        """Step over a value whose size varies. An unknown form puts ``at`` past the end."""
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
            n = self.size_of(form)
            if n == forms.SIZE_VARIES:
                return self.skip(form)
            self.at += n
            return 0
        size = self.block_size(form)
        if self.at > self.end or size > cython.cast(cython.ulonglong, self.end - self.at):
            self.at = self.end + 1
        else:
            self.at += cython.cast("Py_ssize_t", size)
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def named_form(self) -> cython.int:
        """The form that a value of DW_FORM_indirect begins with; one that it may not have puts ``at`` past the end. It
        may not be indirect again, so that this ends."""
        form: cython.int = cython.cast(cython.int, self.uleb() & 0xFFFF)
        if form == forms.INDIRECT or form == forms.IMPLICIT_CONST:
            self.at = self.end + 1
            form = forms.FLAG_PRESENT
        return form

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def block_size(self, form: cython.int) -> cython.ulonglong:
        """The bytes of a block, which begin at ``at`` then. A form that is none puts ``at`` past the end."""
        size: cython.ulonglong = 0
        n: cython.int
        if form == forms.EXPRLOC or form == forms.BLOCK:
            return self.uleb()
        n = 1 if form == forms.BLOCK1 else 2 if form == forms.BLOCK2 else 4 if form == forms.BLOCK4 else 0
        if n == 0:
            self.at = self.end + 1
            return 0
        size = fixed(self.data, self.at, n, self.big)
        self.at += n
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read(self, form: cython.int, n: cython.int, constant: cython.longlong) -> cython.int:
        """Read a value of ``n`` bytes (SIZE_VARIES where these differ) at ``at`` into ``value_class``, ``value`` and
        ``value_size``; class 0 for an unknown form."""
        start: cython.Py_ssize_t
        unit_at: cython.ulonglong = self.unit_offset[self.unit]
        self.value_class = 0
        self.value = 0
        self.value_size = 0
        if form == forms.INDIRECT:
            form = self.named_form()
            if self.at > self.end:
                return 0
            n = self.size_of(form)
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
            self.value = fixed(self.data, start, n, self.big)
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
            self.value = self.sleb()
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
            self.value |= fixed(self.data, self.at, 4, self.big) << 32
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
            self.skip(form)
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
    def take(self, i: cython.Py_ssize_t) -> cython.int:
        """Read the value of an attribute, by its place among those of all abbreviations."""
        self.read(self.spec_form[i], self.spec_size[i], self.spec_constant[i])
        if self.value_class == BLOCK and self.spec_attribute[i] == attributes.LOW_PC:
            self._computed_address()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _computed_address(self) -> cython.int:
        """Of a block that was read as an address, which adds a distance to an indexed one (DW_OP_addrx, const4u, plus):
        class ADDRX, the index with the distance above its 32 bits."""
        start: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.value)
        behind: cython.Py_ssize_t = self.at
        index: cython.ulonglong
        if self.value_size < _SHORTEST or self.data[start] != operations.ADDRX:
            return 0
        self.at = start + 1
        index = self.uleb()
        if (
            behind - self.at == _DISTANCE
            and self.data[self.at] == operations.CONST4U
            and self.data[behind - 1] == operations.PLUS
            and index >> 32 == 0
        ):
            self.value = index | fixed(self.data, self.at + 1, 4, self.big) << 32
            self.value_class = ADDRX
        self.at = behind
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step(self, i: cython.Py_ssize_t) -> cython.int:
        """Step over the value of an attribute."""
        if self.spec_size[i] != forms.SIZE_VARIES:
            self.at += self.spec_size[i]
            return 0
        return self.skip(self.spec_form[i])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pass_over(self, decl: cython.Py_ssize_t) -> cython.int:
        """Step over all values of an entry."""
        i: cython.Py_ssize_t
        if self.decl_fixed[decl] >= 0:
            self.at += self.decl_fixed[decl]
        else:
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                if self.spec_size[i] != forms.SIZE_VARIES:
                    # Most attributes: not worth a call.
                    self.at += self.spec_size[i]
                else:
                    self.skip(self.spec_form[i])
        return 0

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
        classes: Any = zeros("B", ROOT * self.count)
        values: Any = zeros("Q", ROOT * self.count)
        class_view = classes
        value_view = values
        for unit in range(self.count):
            self.enter(unit)
            self.at = self.unit_first[unit]
            self.end = self.unit_end[unit]
            decl = self.head()
            if decl < 0:
                self.damaged += 1
                continue
            value_view[ROOT * unit + Root.TAG] = self.decl_tag[decl]
            value_view[ROOT * unit + Root.CHILDREN] = self.decl_children[decl]
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                self.take(i)
                if self.at > self.end:
                    self.damaged += 1
                    break
                attribute = self.spec_attribute[i]
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
                if place < ROOT:
                    class_view[ROOT * unit + place] = cython.cast("unsigned char", self.value_class)
                    value_view[ROOT * unit + place] = self.value
            if self.unit_kind[unit] == UnitKind.SKELETON or self.unit_kind[unit] == UnitKind.SPLIT_COMPILE:
                class_view[ROOT * unit + Root.DWO_ID] = UNSIGNED
                value_view[ROOT * unit + Root.DWO_ID] = self.unit_signature[unit]
        return memoryview(classes), memoryview(values)
