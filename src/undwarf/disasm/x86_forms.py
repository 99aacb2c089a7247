# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Instruction forms: x86-64 instructions that differ only in registers, scale and size of displacement.

The full decoder decodes one instruction of each form, with chosen registers ("own" ones) in all register fields; its
template is copied for the others with their registers in place of the chosen ones. Where the copy would differ from
what the decoder gives, the instruction itself is decoded: operands that are the same register or an implicit operand,
%ah to %bh, fields that encode other kinds of registers or a part of the opcode.
"""

from array import array
from typing import Any

import cython
from cython.cimports.undwarf.disasm import x86_encoding as encoding
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_BASE,
    OPERAND_INDEX,
    OPERAND_SCALE,
    OPERAND_WORDS,
    ROW_DESTINATION,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_READ,
    ROW_READS,
    ROW_READS_HIGH,
    ROW_RIGHT,
    ROW_WORDS,
    ROW_WRITES,
    ROW_WRITES_HIGH,
)
from cython.cimports.undwarf.disasm.x86_encoding import FIELD_BASE as BASE
from cython.cimports.undwarf.disasm.x86_encoding import FIELD_INDEX as INDEX
from cython.cimports.undwarf.disasm.x86_encoding import FIELD_REG as REG
from cython.cimports.undwarf.disasm.x86_encoding import FIELD_RM as RM
from cython.cimports.undwarf.disasm.x86_encoding import FIELD_VVVV as VVVV
from cython.cimports.undwarf.disasm.x86_encoding import (
    FIRST_VECTOR,
    MAX_LENGTH,
    OWN_BASE,
    OWN_INDEX,
    OWN_REG,
    OWN_RM,
    OWN_VVVV,
)
from cython.cimports.undwarf.integer_constants import ALL_ONES

from undwarf.column import longer, zeros
from undwarf.disasm.x86_encoding import PREFIXES

FIELDS = cython.declare(cython.Py_ssize_t, 5)
DWARF_NUMBERS = (0, 2, 1, 3, 7, 6, 4, 5)
"""DWARF numbers of the first eight registers, in the order of their encoding."""

# Addressing modes of the ModRM operand: a register, or memory at %rip, at a base, ...
BY_REGISTER = cython.declare(cython.uint, 0)
BY_IP = cython.declare(cython.uint, 1)
BY_BASE = cython.declare(cython.uint, 2)
BY_BOTH = cython.declare(cython.uint, 3)
BY_INDEX = cython.declare(cython.uint, 4)
BY_NOTHING = cython.declare(cython.uint, 5)

NONE = cython.declare(cython.longlong, -1)
BATCH = cython.declare(cython.Py_ssize_t, 64)
"""Templates, or operands of templates, that are reserved in the table at a time."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _form_key(
    shape: cython.ulonglong, small: cython.ulonglong, fields: cython.uint, reg: cython.uint, vvvv: cython.uint
) -> cython.ulonglong:
    """The key of a form: its shape, an immediate that is part of the operation, fields that encode no register."""
    key: cython.ulonglong = shape | small << 27
    if not fields & REG:
        key |= cython.cast(cython.ulonglong, reg | 16) << 36
    if not fields & VVVV:
        key |= cython.cast(cython.ulonglong, vvvv | 16) << 41
    return key


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _bit(register: cython.longlong) -> cython.ulonglong:
    if register < 0:
        return 0
    return cython.cast(cython.ulonglong, 1) << register if register < 64 else ALL_ONES


@cython.cclass
class Forms:
    """Templates for the keys of :class:`undwarf.disasm.x86_length_decoder.LengthDecoder`.

    ``exact(code, parts)`` adds the template of one instruction and returns its index, -1 if others with the same key
    need their own; parts as there. ``general(code, parts, fields)`` gives (index, fields with vector registers, fields
    with byte registers), or None if the fields do not all encode registers.
    """

    table: Any
    exact: Any
    general: Any
    # Optional register fields by shape; indices in the columns below by form, NONE without a template.
    shapes = cython.declare(dict)
    forms = cython.declare(dict)
    known: cython.int
    form_template = cython.declare("int[::1]")
    form_fixed = cython.declare("unsigned long long[::1]")
    form_vectors = cython.declare("unsigned char[::1]")
    form_narrow = cython.declare("unsigned char[::1]")
    rows_seen: Any
    operands_seen: Any
    rows = cython.declare("long long[::1]")
    operands = cython.declare("long long[::1]")
    # Reserved templates and operands.
    template_next: cython.Py_ssize_t
    template_end: cython.Py_ssize_t
    operand_next: cython.Py_ssize_t
    operand_end: cython.Py_ssize_t
    own = cython.declare("int[::1]")
    owns = cython.declare("int[::1]")
    general_number = cython.declare("int[::1]")
    registers = cython.declare("int[::1]")
    to = cython.declare("int[::1]")

    def __init__(self, table: Any, exact: Any, general: Any) -> None:
        self.table = table
        self.exact = exact
        self.general = general
        self.shapes = {}
        self.forms = {}
        self.known = 0
        self.form_template = zeros("i", 512)
        self.form_fixed = zeros("Q", 512)
        self.form_vectors = zeros("B", 512)
        self.form_narrow = zeros("B", 512)
        self.template_next = self.template_end = self.operand_next = self.operand_end = 0
        self.own = array("i", (OWN_REG, OWN_VVVV, OWN_RM, OWN_BASE, OWN_INDEX))
        self.owns, self.registers, self.to = (zeros("i", size) for size in (FIELDS, FIELDS, 64))
        self.general_number = array("i", DWARF_NUMBERS)
        self.refresh()

    def refresh(self) -> None:
        """Take over the table's rows after it may have grown."""
        self.rows = self.rows_seen = self.table.rows
        self.operands = self.operands_seen = self.table.operands

    def template(
        self,
        key: cython.ulonglong,
        code: bytes,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        parts: cython.longlong,
    ) -> Any:  # fmt: skip
        """The index of the template for an instruction's bytes and key; -1: each must be decoded on its own."""
        found: cython.longlong = -1
        if parts & encoding.OPERAND:
            found = self._of_form(key, code, begin, end, parts)
        return self.exact(code[begin:end], parts) if found < 0 else found

    @cython.cfunc
    @cython.exceptval(-2)
    def _of_form(
        self,
        key: cython.ulonglong,
        code: bytes,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        parts: cython.longlong,
    ) -> cython.longlong:  # fmt: skip
        """As :meth:`template`, from the instruction's form; NONE if that does not apply."""
        prefixes: cython.uint = key & 0xFF
        rex: cython.uint = (key >> 8) & 0x1FFFF
        space: cython.uint = (key >> 25) & 7
        opcode: cython.uint = (key >> 28) & 0xFF
        modrm: cython.uint = (key >> 36) & 0xFF
        sib: cython.uint = (key >> 44) & 0xFF
        small: cython.ulonglong = key >> 52
        high: cython.uint
        more: cython.uint
        vvvv: cython.uint = 0
        if space & encoding.VECTOR:
            if rex & 0x10000:
                more = rex & 0x7F
                high = 4 if not rex & 0x80 else 0
            else:
                more = (rex >> 8) & 0xFF
                high = (~rex >> 5) & 7 | (more >> 4) & 8
            vvvv = (~more >> 3) & 15
        else:
            high = rex & 15
            more = 0
        reg: cython.uint = (modrm >> 3) & 7 | (high & 4) << 1
        rm: cython.uint = modrm & 7 | (high & 1) << 3
        base: cython.uint = 0
        index: cython.uint = 0
        scale: cython.uint = 1
        kind: cython.uint
        fields: cython.uint
        if modrm >= 0xC0:
            kind = BY_REGISTER
            fields = RM
        elif parts & encoding.RELATIVE:
            kind = BY_IP
            fields = 0
        elif modrm & 7 != 4:
            kind = BY_BASE
            fields = BASE
            base = rm
        else:
            base = sib & 7 | (high & 1) << 3
            index = (sib >> 3) & 7 | (high & 2) << 2
            scale = 1 << (sib >> 6)
            kind = BY_BOTH
            fields = BASE | INDEX
            if index == 4:
                if scale != 1:
                    return NONE
                kind = BY_BASE
                fields = BASE
            if modrm < 0x40 and sib & 7 == 5:
                kind = BY_INDEX if kind == BY_BOTH else BY_NOTHING
                fields &= ~BASE

        # Which of the optional fields encode registers is found out once for each shape.
        shape: cython.ulonglong = (
            cython.cast(cython.ulonglong, prefixes)
            | cython.cast(cython.ulonglong, high & 8) << 5
            | cython.cast(cython.ulonglong, more & 7) << 9
            | cython.cast(cython.ulonglong, space) << 12
            | cython.cast(cython.ulonglong, opcode) << 16
            | cython.cast(cython.ulonglong, kind) << 24
        )
        known: Any = self.shapes.get(shape)
        found: Any
        optional: cython.uint
        number: cython.ulonglong
        form: cython.Py_ssize_t
        if known is None:
            optional = REG | VVVV if space & encoding.VECTOR else REG
            while optional:
                form = self._form(code[begin:end], space, high, more, opcode, kind, fields | optional, reg, vvvv, parts)
                if form >= 0:
                    self.forms[_form_key(shape, small, fields | optional, reg, vvvv)] = form
                    break
                optional -= 1
            self.shapes[shape] = known = optional
        fields |= cython.cast(cython.uint, known)
        if not fields:
            return NONE
        number = _form_key(shape, small, fields, reg, vvvv)
        found = self.forms.get(number)
        if found is None:
            found = self._form(code[begin:end], space, high, more, opcode, kind, fields, reg, vvvv, parts)
            self.forms[number] = found
        form = found
        if form < 0:
            return NONE
        self.registers[0] = reg
        self.registers[1] = vvvv
        self.registers[2] = rm
        self.registers[3] = base
        self.registers[4] = index
        return self._copied(form, fields, scale, rex != 0 or space & encoding.VECTOR != 0)

    @cython.cfunc
    @cython.exceptval(-2)
    def _form(
        self, code: bytes, space: cython.uint, high: cython.uint, more: cython.uint, opcode: cython.uint,
        kind: cython.uint, fields: cython.uint, reg: cython.uint, vvvv: cython.uint, parts: cython.longlong,
    ) -> cython.Py_ssize_t:  # fmt: skip
        """The index of a new form: `general` of an instruction with own registers in these fields; NONE for none."""
        if fields & REG:
            reg = OWN_REG
        elif reg >= 8:
            # It may be an own register.
            return NONE
        if fields & VVVV:
            vvvv = OWN_VVVV
        elif vvvv >= 8:
            return NONE
        at: cython.Py_ssize_t = 0
        made: Any = bytearray()
        while code[at] in PREFIXES:
            made.append(code[at])
            at += 1
        extended: cython.uint = (
            high & 8 | reg >> 3 << 2 | (2 if fields & INDEX else 0) | (1 if fields & (RM | BASE) else 0)
        )
        if space & encoding.VECTOR:
            made.append(0xC4)
            made.append((~extended & 7) << 5 | space & ~encoding.VECTOR)
            made.append((extended & 8) << 4 | (~vvvv & 15) << 3 | more & 7)
        else:
            made.append(0x40 | extended)
            if space:
                made.append(0x0F)
            if space > encoding.TWO_BYTES:
                made.append(0x38 if space == encoding.MAP_38 else 0x3A)
        made.append(opcode)
        middle: cython.uint = (reg & 7) << 3
        size: cython.Py_ssize_t = 4
        if kind == BY_REGISTER:
            made.append(0xC0 | middle | OWN_RM & 7)
            size = 0
        elif kind == BY_IP:
            made.append(middle | 5)
        elif kind == BY_BASE:
            made.append(0x80 | middle | OWN_BASE & 7)
        else:
            made.append((0x80 if kind == BY_BOTH else 0) | middle | 4)
            made.append((OWN_INDEX & 7 if fields & INDEX else 4) << 3 | (OWN_BASE & 7 if kind == BY_BOTH else 5))
        immediate_at: cython.Py_ssize_t = parts >> 8 & 15
        immediate_size: cython.Py_ssize_t = parts >> 12 & 15
        place: cython.Py_ssize_t = len(made)
        made += bytes(size) + code[immediate_at : immediate_at + immediate_size]
        if len(made) > MAX_LENGTH:
            return NONE
        parts = parts & ~0xFFF
        if size:
            parts |= place | size << 4
        if immediate_size:
            parts |= (place + size) << 8
        found: Any = self.general(bytes(made), parts, fields)
        self.refresh()
        if found is None:
            return NONE
        form: cython.Py_ssize_t = self.known
        if form == self.form_template.shape[0]:
            self.form_template = longer(self.form_template, form, 2 * form)
            self.form_fixed = longer(self.form_fixed, form, 2 * form)
            self.form_vectors = longer(self.form_vectors, form, 2 * form)
            self.form_narrow = longer(self.form_narrow, form, 2 * form)
        self.form_template[form], self.form_vectors[form], self.form_narrow[form] = found
        self.form_fixed[form] = self._implicit_registers(self.form_template[form], fields, self.form_vectors[form])
        self.known += 1
        return form

    @cython.cfunc
    @cython.locals(
        row=cython.Py_ssize_t, at=cython.Py_ssize_t, n=cython.Py_ssize_t, used=cython.ulonglong,
    )  # fmt: skip
    def _implicit_registers(
        self, template: cython.Py_ssize_t, fields: cython.uint, vectors: cython.uint
    ) -> cython.ulonglong:
        """The registers of a form's template that are not in its fields, as bits; all bits if some are above 63."""
        row = template * ROW_WORDS
        if self.rows[row + ROW_WRITES_HIGH] or self.rows[row + ROW_READS_HIGH]:
            return ALL_ONES
        used = cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES] | self.rows[row + ROW_READS])
        for n in (ROW_DESTINATION, ROW_LEFT, ROW_RIGHT):
            used |= _bit(self.rows[row + n])
        at = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            used |= _bit(self.operands[at + OPERAND_BASE]) | _bit(self.operands[at + OPERAND_INDEX])
            at += OPERAND_WORDS
        for n in range(FIELDS):
            if fields >> n & 1:
                used &= ~_bit(self.own[n] + (FIRST_VECTOR if vectors >> n & 1 else 0))
        return used

    @cython.cfunc
    @cython.exceptval(-2)
    def _copied(
        self, form: cython.Py_ssize_t, fields: cython.uint, scale: cython.uint, extended: cython.bint
    ) -> cython.longlong:
        """The index of a copy of a form's template with this instruction's registers; NONE if these need decoding."""
        template: cython.Py_ssize_t = self.form_template[form]
        fixed: cython.ulonglong = self.form_fixed[form]
        vectors: cython.uint = self.form_vectors[form]
        narrow: cython.uint = self.form_narrow[form]
        n: cython.Py_ssize_t
        m: cython.Py_ssize_t
        own: cython.ulonglong = 0
        word: cython.ulonglong
        left: cython.ulonglong
        which: cython.int
        register: cython.longlong
        # Without REX or VEX, byte registers 4 to 7 are %ah to %bh.
        if narrow & REG and not extended and self.registers[0] & 12 == 4:
            return NONE
        if narrow & RM and not extended and self.registers[2] & 12 == 4:
            return NONE
        for n in range(FIELDS):
            self.owns[n] = -1
            if not fields >> n & 1:
                self.registers[n] = -1
                continue
            which = self.own[n]
            if vectors >> n & 1:
                which += FIRST_VECTOR
                self.registers[n] += FIRST_VECTOR
            elif self.registers[n] < 8:
                self.registers[n] = self.general_number[self.registers[n]]
            if fixed >> self.registers[n] & 1:
                return NONE
            self.owns[n] = which
            self.to[which] = self.registers[n]
            own |= cython.cast(cython.ulonglong, 1) << which
        if fields & RM and (self.registers[2] == self.registers[0] or self.registers[2] == self.registers[1]):
            return NONE
        # Gathers need three different registers.
        if vectors & INDEX and self.registers[4] in (self.registers[0], self.registers[1]):
            return NONE
        if vectors & INDEX and self.registers[0] == self.registers[1]:
            return NONE
        row: cython.Py_ssize_t = template * ROW_WORDS
        count: cython.Py_ssize_t = self.rows[row + ROW_OPERANDS]
        number: cython.Py_ssize_t = self._new_template(count)
        made: cython.Py_ssize_t = number * ROW_WORDS
        for n in range(ROW_WORDS):
            self.rows[made + n] = self.rows[row + n]
        for n in (ROW_DESTINATION, ROW_LEFT, ROW_RIGHT, ROW_READ):
            self.rows[made + n] = self._mapped(self.rows[row + n], own)
        for n in (ROW_WRITES, ROW_READS):
            word = cython.cast(cython.ulonglong, self.rows[row + n])
            left = word & ~own
            for m in range(FIELDS):
                if self.owns[m] >= 0 and word >> self.owns[m] & 1:
                    left |= cython.cast(cython.ulonglong, 1) << self.registers[m]
            self.rows[made + n] = cython.cast(cython.longlong, left)
        at: cython.Py_ssize_t = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        to: cython.Py_ssize_t = self.operand_next * OPERAND_WORDS
        self.rows[made + ROW_OPERAND] = self.operand_next
        self.operand_next += count
        for _operand in range(count):
            for n in range(OPERAND_WORDS):
                self.operands[to + n] = self.operands[at + n]
            self.operands[to + OPERAND_BASE] = self._mapped(self.operands[at + OPERAND_BASE], own)
            register = self.operands[at + OPERAND_INDEX]
            self.operands[to + OPERAND_INDEX] = self._mapped(register, own)
            if fields & INDEX and register == self.owns[4]:
                self.operands[to + OPERAND_SCALE] = scale
            at += OPERAND_WORDS
            to += OPERAND_WORDS
        return number

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=True)
    def _mapped(self, register: cython.longlong, own: cython.ulonglong) -> cython.longlong:
        if 0 <= register < 64 and own >> register & 1:
            return cython.cast(cython.longlong, self.to[register])
        return register

    @cython.cfunc
    @cython.exceptval(-1)
    def _new_template(self, operands: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The index of a new template, with that many operands reserved from `operand_next` on."""
        if self.template_next == self.template_end:
            self.template_next = self.table.reserve(BATCH, 0)[0]
            self.template_end = self.template_next + BATCH
        if self.operand_end - self.operand_next < operands:
            self.operand_next = self.table.reserve(0, BATCH)[1]
            self.operand_end = self.operand_next + BATCH
        if self.table.rows is not self.rows_seen or self.table.operands is not self.operands_seen:
            self.refresh()
        self.template_next += 1
        return self.template_next - 1
