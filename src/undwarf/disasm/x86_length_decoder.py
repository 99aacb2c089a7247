# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Splits x86-64 code into instructions and their fields (Intel SDM volume 2, chapter 2 and appendix A).

The fields other than displacement and immediate are a key. The full decoder (:mod:`undwarf.disasm.x86_decoding`), which
is much slower, is called once for each key; its result is a template that is completed by displacement and immediate.
"""

from array import array
from typing import Any

import cython
from cython.cimports.undwarf.disasm import x86_encoding as encoding
from cython.cimports.undwarf.disasm.template_layout import ROW_FLOW, ROW_WORDS, TARGETED
from cython.cimports.undwarf.disasm.x86_encoding import CALLED, JUMPED, MAX_LENGTH, RETURNED, REX_W, TAKEN
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, LOW_HALF

from undwarf.column import longer, zeros
from undwarf.disasm.instruction import as_signed
from undwarf.disasm.x86_encoding import PREFIXES, immediate_kinds, one_byte_map, two_byte_map

NO_TEMPLATE = cython.declare(cython.longlong, -1)
"""In place of a template's index: each instruction of this key must be decoded on its own."""
LITERAL = cython.declare(cython.uint, 0x100)
"""Marks an immediate in a key of an opcode whose other immediates are not in keys."""


@cython.final
@cython.cclass
class LengthDecoder:
    """Splits code into instructions.

    ``table`` holds the templates. ``new_template(key, code, begin, end, parts)`` gives the index of the template for a
    new key, or -1; for ``parts`` see :meth:`_parts`. ``decode(at)`` decodes one instruction: (length, template,
    displacement, immediate, target or None).
    """

    table: Any
    new_template: Any
    decode: Any
    # A hash table of templates, two words a slot: the key; the template's index + 2 (0: the slot is free), with its
    # flow in the upper half.
    slots = cython.declare("unsigned long long[::1]")
    used: cython.Py_ssize_t
    one_byte = cython.declare("int[::1]")
    two_byte = cython.declare("int[::1]")
    immediate_kind = cython.declare("int[::1]")
    prefix_of = cython.declare("int[::1]")
    rows = cython.declare("const long long[::1]")
    rows_seen: Any
    # The code, the start of the current instruction in it, and the next byte to read. `seen`: the code as an object, if
    # :meth:`flow_at` has set it.
    code = cython.declare("const unsigned char[::1]")
    seen: Any
    begin: cython.Py_ssize_t
    at: cython.Py_ssize_t
    # The current instruction's fields; `follows` is what follows its opcode, `kind` that of its immediate.
    prefixes: cython.uint
    rex: cython.uint
    vex: cython.uint
    opcode_map: cython.uint
    opcode: cython.uint
    follows: cython.uint
    modrm: cython.uint
    sib: cython.uint
    displacement_at: cython.Py_ssize_t
    displacement_size: cython.int
    immediate_at: cython.Py_ssize_t
    immediate_size: cython.int
    relative_size: cython.int
    rip: cython.bint
    kind: cython.int
    # Buffers for the columns of the result; `buffers` are the same as Python objects.
    buffers = cython.declare(tuple)
    offsets = cython.declare("unsigned int[::1]")
    lengths = cython.declare("unsigned char[::1]")
    templates = cython.declare("unsigned int[::1]")
    displacements = cython.declare("long long[::1]")
    immediates = cython.declare("long long[::1]")
    targets = cython.declare("long long[::1]")
    flows = cython.declare("unsigned char[::1]")

    def __init__(self, table: Any, new_template: Any, decode: Any) -> None:
        self.table = table
        self.rows_seen = self.seen = None
        self._refresh()
        self.new_template = new_template
        self.decode = decode
        self.used = 0
        self.slots = zeros("Q", 1 << 14)
        self.one_byte = array("i", one_byte_map())
        self.two_byte = array("i", two_byte_map())
        self.immediate_kind = array("i", immediate_kinds())
        self.prefix_of = zeros("i", 256)
        for byte, prefix in PREFIXES.items():
            self.prefix_of[byte] = prefix
        self._allocate(4096)

    @cython.cfunc
    def _allocate(self, size: cython.Py_ssize_t) -> None:
        self.buffers = (
            zeros("I", size), zeros("B", size), zeros("I", size), zeros("q", size), zeros("q", size), zeros("q", size),
            zeros("B", size),
        )  # fmt: skip
        self.offsets, self.lengths, self.templates = self.buffers[:3]
        self.displacements, self.immediates, self.targets, self.flows = self.buffers[3:]

    @cython.cfunc
    def _refresh(self) -> None:
        """Take over the table's rows after it may have grown."""
        if self.rows_seen is not self.table.rows:
            self.rows = self.rows_seen = self.table.rows

    def split(self, code: bytes, address: cython.ulonglong) -> "tuple[Any, ...]":
        """(offset I, length B, template I, displacement q, immediate q, target q, flow B) of each instruction.

        Displacements relative to the instruction pointer are addresses.
        """
        size: cython.Py_ssize_t = len(code)
        count: cython.Py_ssize_t = 0
        if size > self.offsets.shape[0]:
            self._allocate(2 * size)
        self.code, self.seen = code, None
        self._refresh()
        self.at = 0
        while self.at < size:
            self.begin = self.at
            if not (self._read(size) and self._find(code, count)):
                self._append_decoded(count)
            else:
                self._append_numbers(address, count)
            count += 1
        return self._columns(count)

    @cython.locals(slot=cython.Py_ssize_t, key=cython.ulonglong, flow=cython.longlong)
    def flow_at(self, code: Any, at: cython.Py_ssize_t) -> int:
        """The flow of the instruction at an offset, in the lowest 4 bits; then in 4 bits the size of the displacement
        that it ends with, from the next instruction to its target; then its length. At the end of the code it may be
        incomplete.

        Here ``new_template(bytes)`` gives the flow of an instruction, -1 if that is not one, ``decode(at)`` the result
        for one that the full decoder has to read.
        """
        if self.seen is not code:
            self.code = self.seen = code
        self.begin = self.at = at
        if self._read(self.code.shape[0]):
            key = self._key()
            slot = self._slot(key)
            if not self.slots[slot + 1]:
                flow = self.new_template(bytes(code[at : self.at]))
                self._insert(key, cython.cast(cython.ulonglong, flow + 2))
                slot = self._slot(key)
            flow = cython.cast(cython.longlong, self.slots[slot + 1]) - 2
            if flow != NO_TEMPLATE:
                return flow | self.relative_size << 4 | (self.at - at) << 8
        found: int = self.decode(at)
        return found

    @cython.locals(
        kinds="unsigned char[::1]",
        sources="unsigned long long[::1]",
        targets="unsigned long long[::1]",
        bad="const unsigned char[::1]",
        size=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
        kind=cython.int,
        target=cython.ulonglong,
        decoded=cython.ulonglong,
    )
    def sweep(
        self, code: Any, address: cython.ulonglong, low: cython.ulonglong, high: cython.ulonglong, invalid: bytes
    ) -> "tuple[Any, Any, Any]":
        """(kind B, source Q, target Q) of each reference whose target is in [``low``, ``high``).

        Here ``decode(at)`` gives (length, kind, target) of one instruction, kind 0 for no reference. ``invalid`` has by
        first byte the length of invalid instructions, 0 if further bytes decide.
        """
        capacity: cython.Py_ssize_t = 1 << 12
        kinds, sources, targets = zeros("B", capacity), zeros("Q", capacity), zeros("Q", capacity)
        self.code, self.seen = code, None
        bad = invalid
        size = self.code.shape[0]
        count = 0
        self.at = 0
        while self.at < size:
            self.begin = self.at
            if self._read(size):
                kind = self._reference()
                if kind == 0:
                    continue
                target = self._reference_target(address, kind)
            elif self.code[self.begin] == 0x62 and self._skip_evex(size):
                continue
            elif bad[self.code[self.begin]]:
                self.at = self.begin + bad[self.code[self.begin]]
                continue
            else:
                length, kind, decoded = self.decode(self.begin)
                self.at = self.begin + max(1, length)
                target = decoded
            if kind == 0 or target < low or target >= high:
                continue
            if count == capacity:
                capacity *= 2
                kinds, sources = longer(kinds, count, capacity), longer(sources, count, capacity)
                targets = longer(targets, count, capacity)
            kinds[count] = kind
            sources[count] = address + cython.cast(cython.ulonglong, self.begin)
            targets[count] = target
            count += 1
        self.code = b""
        return memoryview(kinds)[:count], memoryview(sources)[:count], memoryview(targets)[:count]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _reference(self) -> cython.int:
        """The kind of the current instruction's reference, 0 for none. A `lea` relative to %rip and a `mov` of a 32-bit
        constant may take the address of a function."""
        if self.relative_size:
            return CALLED if self.opcode_map == encoding.ONE_BYTE and self.opcode == 0xE8 else JUMPED
        if self.opcode_map != encoding.ONE_BYTE:
            return 0
        if self.rip:
            return TAKEN if self.opcode == 0x8D and self.rex & REX_W else 0
        if self.opcode == 0xC3 or self.opcode == 0xC2:
            return RETURNED
        if self.immediate_size != 4:
            return 0
        if self.opcode & 0xF8 == 0xB8:
            return TAKEN
        return TAKEN if self.opcode == 0xC7 and not self.modrm & 0x38 and self.rex & REX_W else 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _reference_target(self, address: cython.ulonglong, kind: cython.int) -> cython.ulonglong:
        """The address that the current instruction refers to."""
        after: cython.ulonglong = address + cython.cast(cython.ulonglong, self.at)
        if kind == RETURNED:
            return after
        if kind != TAKEN:
            return after + cython.cast(cython.ulonglong, self._number(self.immediate_at, self.relative_size))
        if self.rip:
            return after + cython.cast(cython.ulonglong, self._number(self.displacement_at, 4))
        value: cython.ulonglong = cython.cast(cython.ulonglong, self._number(self.immediate_at, 4))
        return value if self.opcode == 0xC7 else value & LOW_HALF

    @cython.cfunc
    @cython.exceptval(-1)
    def _skip_evex(self, size: cython.Py_ssize_t) -> cython.int:
        """Skip an AVX-512 instruction, none of which refers to code; 0 if the full decoder is needed."""
        at: cython.Py_ssize_t = self.begin + 1
        if at + 4 >= size or self.code[at] & 0x08 or not self.code[at + 1] & 0x04:
            return 0
        space: cython.uint = self.code[at] & 7
        if not encoding.TWO_BYTES <= space <= encoding.MAP_3A:
            return 0
        self.rex = self.prefixes = 0
        self.sib = self.modrm = 0
        self.displacement_size = self.immediate_size = self.relative_size = 0
        self.rip = False
        self.opcode_map = encoding.VECTOR | space
        self.opcode = self.code[at + 3]
        self.at = at + 4
        self.follows = encoding.MODRM
        if space == encoding.MAP_3A:
            self.follows |= encoding.IMM8
        elif space == encoding.TWO_BYTES:
            self.follows = self.two_byte[self.opcode]
        if self.follows & (encoding.REL32 | encoding.ODD) or not self.follows & encoding.MODRM:
            return 0
        return self._read_operand(size) and self._skip_immediate(size)

    # -- the fields of an instruction ---------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read(self, size: cython.Py_ssize_t) -> cython.int:
        """Read the current instruction to its end; 0 if the full decoder is needed."""
        self.sib = self.modrm = 0
        self.displacement_size = self.immediate_size = self.relative_size = 0
        self.rip = False
        if not (self._read_prefixes(size) and self._read_opcode(size)):
            return 0
        if self.follows & encoding.MODRM and not self._read_operand(size):
            return 0
        return self._skip_immediate(size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_prefixes(self, size: cython.Py_ssize_t) -> cython.int:
        """Read legacy prefixes and REX; 0 if the full decoder is needed, or at the end of the code."""
        prefixes: cython.uint = 0
        prefix: cython.uint
        at: cython.Py_ssize_t = self.at
        self.rex = 0
        while at < size and at - self.begin < MAX_LENGTH - 1:
            prefix = self.prefix_of[self.code[at]]
            if not prefix:
                break
            prefixes |= prefix
            at += 1
        if at < size and (self.code[at] & 0xF0) == 0x40:
            self.rex = self.code[at]
            at += 1
        self.at = at
        self.prefixes = prefixes
        if not prefixes:
            return at < size
        # Of several prefixes of one group one counts; the full decoder knows which.
        if (prefixes & (encoding.REPNE | encoding.REP)) == encoding.REPNE | encoding.REP:
            return 0
        if (prefixes & (encoding.FS | encoding.GS)) == encoding.FS | encoding.GS:
            return 0
        if prefixes & encoding.OTHER_SEGMENT and prefixes & (encoding.FS | encoding.GS):
            return 0
        return not prefixes & encoding.ADDRESS_SIZE and at < size

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_opcode(self, size: cython.Py_ssize_t) -> cython.int:
        """Read the opcode and the bytes that select its map; 0 if the full decoder is needed."""
        byte: cython.uint = self.code[self.at]
        self.at += 1
        self.opcode_map = encoding.ONE_BYTE
        self.vex = 0
        if byte == 0x0F:
            return self._read_second_byte(size)
        if byte == 0xC5 or byte == 0xC4:
            return self._read_vex(size, byte == 0xC5)
        self.opcode = byte
        self.follows = self.one_byte[byte]
        if self.follows & encoding.IMMV:
            self.follows = encoding.IMMZ
            if self.rex & REX_W:
                self.follows = 0
                self.immediate_size = 8
        return not self.follows & encoding.ODD

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_second_byte(self, size: cython.Py_ssize_t) -> cython.int:
        """Read the opcode after 0x0F, 0x0F38 or 0x0F3A."""
        if self.at >= size:
            return 0
        self.opcode = self.code[self.at]
        self.at += 1
        if self.opcode != 0x38 and self.opcode != 0x3A:
            self.opcode_map = encoding.TWO_BYTES
            self.follows = self.two_byte[self.opcode]
            return not self.follows & encoding.ODD
        self.opcode_map = encoding.MAP_38 if self.opcode == 0x38 else encoding.MAP_3A
        self.follows = encoding.MODRM if self.opcode_map == encoding.MAP_38 else encoding.MODRM | encoding.IMM8
        if self.at >= size:
            return 0
        self.opcode = self.code[self.at]
        self.at += 1
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_vex(self, size: cython.Py_ssize_t, short: cython.bint) -> cython.int:
        """Read a VEX prefix, of two bytes (``short``) or three, and the opcode after it."""
        shadowed: cython.uint = encoding.OPERAND_SIZE | encoding.REPNE | encoding.REP | encoding.LOCK
        if self.rex or self.prefixes & shadowed or self.at + 2 >= size:
            return 0
        if short:
            self.vex = self.code[self.at] | 0x10000
            self.opcode_map = encoding.VECTOR | encoding.TWO_BYTES
            self.at += 1
        else:
            self.vex = self.code[self.at] | cython.cast(cython.uint, self.code[self.at + 1]) << 8
            self.opcode_map = self.code[self.at] & 31
            if not encoding.TWO_BYTES <= self.opcode_map <= encoding.MAP_3A:
                # Other maps.
                return 0
            self.opcode_map |= encoding.VECTOR
            self.at += 2
        self.opcode = self.code[self.at]
        self.at += 1
        self.follows = encoding.MODRM
        if self.opcode_map == encoding.VECTOR | encoding.MAP_3A:
            self.follows |= encoding.IMM8
        elif self.opcode_map == encoding.VECTOR | encoding.TWO_BYTES:
            self.follows = self.two_byte[self.opcode]
        return not self.follows & (encoding.REL32 | encoding.ODD)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_operand(self, size: cython.Py_ssize_t) -> cython.int:
        """Read ModRM and SIB, and skip the displacement."""
        modrm: cython.uint
        if self.at >= size:
            return 0
        modrm = self.modrm = self.code[self.at]
        self.at += 1
        if self.opcode_map == encoding.ONE_BYTE and self.opcode == 0xC7 and modrm == 0xF8:
            # XBEGIN: its immediate is a branch displacement.
            return 0
        if modrm < 0xC0:
            if modrm & 7 == 4:
                if self.at >= size:
                    return 0
                self.sib = self.code[self.at]
                self.at += 1
            if modrm >= 0x80:
                self.displacement_size = 4
            elif modrm >= 0x40:
                self.displacement_size = 1
            elif modrm & 7 == 5:
                self.rip = True
                self.displacement_size = 4
            elif modrm & 7 == 4 and self.sib & 7 == 5:
                self.displacement_size = 4
        self.displacement_at = self.at
        self.at += self.displacement_size
        if self.follows & encoding.TEST and modrm & 0x30:
            self.follows &= ~(encoding.IMM8 | encoding.IMMZ)
        return 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _skip_immediate(self, size: cython.Py_ssize_t) -> cython.int:
        """Skip the immediate or the branch displacement; 0 if the instruction is not complete, or too long."""
        follows: cython.uint = self.follows
        if follows & encoding.IMM8:
            self.immediate_size = 1
        elif follows & encoding.IMMZ:
            self.immediate_size = 2 if self.prefixes & encoding.OPERAND_SIZE and not self.rex & REX_W else 4
        elif follows & encoding.IMM16:
            self.immediate_size = 2
        elif follows & encoding.REL8:
            self.relative_size = 1
        elif follows & encoding.REL32:
            if self.prefixes & encoding.OPERAND_SIZE:
                return 0
            self.relative_size = 4
        self.immediate_at = self.at
        self.at += self.immediate_size + self.relative_size
        return self.at <= size and self.at - self.begin <= MAX_LENGTH

    # -- templates ----------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _find(self, code: Any, count: cython.Py_ssize_t) -> cython.int:
        """Set template and flow of the current instruction in row ``count``; 0 if it has no template."""
        template: cython.longlong
        flow: cython.ulonglong
        key: cython.ulonglong = self._key()
        slot: cython.Py_ssize_t = self._slot(key)
        if self.slots[slot + 1]:
            flow = self.slots[slot + 1] >> 32
            template = cython.cast(cython.longlong, self.slots[slot + 1] & LOW_HALF) - 2
        else:
            template = self.new_template(key, code, self.begin, self.at, self._parts())
            self._refresh()
            flow = self.rows[template * ROW_WORDS + ROW_FLOW] if template != NO_TEMPLATE else 0
            self._insert(key, cython.cast(cython.ulonglong, template + 2) | flow << 32)
        if template == NO_TEMPLATE:
            return 0
        self.templates[count] = template
        self.flows[count] = flow
        return 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _key(self) -> cython.ulonglong:
        """All fields of the current instruction but displacement and immediate; sets ``kind``."""
        small: cython.uint = 0
        immediate: cython.uint
        self.kind = encoding.SIGNED_NUMBER if self.immediate_size else 0
        if self.immediate_size == 1:
            immediate = self.code[self.immediate_at]
            self.kind = self.immediate_kind[self.opcode] if self.opcode_map == encoding.ONE_BYTE else 0
            if not self.kind:
                small = immediate
            elif self.kind == encoding.SHIFT_COUNT and not (
                self.modrm & 0x20 and 0 < immediate < (64 if self.rex & REX_W else 32)
            ):
                # Rotations, and shifts by 0 or by the width, have other effects.
                self.kind = 0
                small = immediate | LITERAL
        return (
            cython.cast(cython.ulonglong, self.prefixes)
            | cython.cast(cython.ulonglong, self.rex | self.vex) << 8
            | cython.cast(cython.ulonglong, self.opcode_map) << 25
            | cython.cast(cython.ulonglong, self.opcode) << 28
            | cython.cast(cython.ulonglong, self.modrm) << 36
            | cython.cast(cython.ulonglong, self.sib) << 44
            | cython.cast(cython.ulonglong, small) << 52
        )

    @cython.cfunc
    @cython.exceptval(check=False)
    def _parts(self) -> cython.longlong:
        """The layout of the current instruction, from the lowest bit: offset (4 bits) and size (4) of the displacement,
        those of the immediate (4, 4), the kind of the immediate (2), RELATIVE, OPERAND. Absent fields are 0."""
        parts: cython.longlong = self.kind << 16
        if self.displacement_size:
            parts |= (self.displacement_at - self.begin) | self.displacement_size << 4
        if self.immediate_size:
            parts |= (self.immediate_at - self.begin) << 8 | self.immediate_size << 12
        if self.rip:
            parts |= encoding.RELATIVE
        if self.follows & encoding.MODRM:
            parts |= encoding.OPERAND
        return parts

    # -- the result ---------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def _append_decoded(self, count: cython.Py_ssize_t) -> cython.int:
        """Fill row ``count`` by the full decoder, and skip the instruction."""
        length, template, displacement, immediate, target = self.decode(self.begin)
        self.offsets[count] = self.begin
        self.lengths[count] = length
        self.templates[count] = template
        self.displacements[count] = displacement
        self.immediates[count] = immediate
        self._refresh()
        self.flows[count] = self.rows[self.templates[count] * ROW_WORDS + ROW_FLOW]
        self.targets[count] = 0
        if target is not None:
            self.targets[count] = as_signed(target)
            self.flows[count] |= TARGETED
        self.at = self.begin + self.lengths[count]
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _append_numbers(self, address: cython.ulonglong, count: cython.Py_ssize_t) -> cython.int:
        """Fill row ``count``, but template and flow, from the current instruction."""
        after: cython.ulonglong = address + cython.cast(cython.ulonglong, self.at)
        displacement: cython.ulonglong = 0
        immediate: cython.longlong = 0
        self.offsets[count] = self.begin
        self.lengths[count] = self.at - self.begin
        if self.displacement_size:
            displacement = self._number(self.displacement_at, self.displacement_size)
            if self.rip:
                displacement += after
        self.displacements[count] = cython.cast(cython.longlong, displacement)
        if self.kind:
            if self.kind == encoding.SIGNED_NUMBER:
                immediate = self._number(self.immediate_at, self.immediate_size)
            else:
                immediate = self.code[self.immediate_at]
        self.immediates[count] = immediate
        self.targets[count] = 0
        if self.relative_size:
            self.targets[count] = cython.cast(
                cython.longlong,
                after + cython.cast(cython.ulonglong, self._number(self.immediate_at, self.relative_size)),
            )
            self.flows[count] |= TARGETED
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _number(self, at: cython.Py_ssize_t, size: cython.int) -> cython.longlong:
        """The signed integer of 1, 2, 4 or 8 bytes at an offset of the code."""
        value: cython.ulonglong = 0
        k: cython.int = size
        while k > 0:
            k -= 1
            value = value << 8 | self.code[at + k]
        return cython.cast(cython.longlong, value << (64 - 8 * size)) >> (64 - 8 * size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _slot(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """The slot of a key, or the free one for it."""
        end: cython.Py_ssize_t = self.slots.shape[0]
        slot: cython.Py_ssize_t = 2 * ((key * GOLDEN_RATIO) >> 40) & (end - 1)
        while self.slots[slot + 1] and self.slots[slot] != key:
            slot = slot + 2 if slot + 2 < end else 0
        return slot

    @cython.cfunc
    @cython.exceptval(-1)
    def _insert(self, key: cython.ulonglong, template: cython.ulonglong) -> cython.int:
        if 4 * self.used >= self.slots.shape[0]:
            self._grow(4 * self.slots.shape[0])
        slot: cython.Py_ssize_t = self._slot(key)
        self.slots[slot] = key
        self.slots[slot + 1] = template
        self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(before="unsigned long long[::1]", slot=cython.Py_ssize_t)
    def _grow(self, size: cython.Py_ssize_t) -> cython.int:
        """Move to ``size`` words of slots, a power of two."""
        before = self.slots
        self.slots = zeros("Q", size)
        self.used = 0
        for slot in range(0, before.shape[0], 2):
            if before[slot + 1]:
                self._insert(before[slot], before[slot + 1])
        return 0

    @cython.cfunc
    def _columns(self, count: cython.Py_ssize_t) -> "tuple[Any, ...]":
        """The columns, as parts of one block of memory."""
        memory: Any = memoryview(bytearray(34 * count))
        words: Any = memory[: 24 * count].cast("q")
        halves: Any = memory[24 * count : 32 * count].cast("I")
        columns: Any = (
            halves[:count], memory[32 * count : 33 * count], halves[count:], words[:count], words[count : 2 * count],
            words[2 * count :], memory[33 * count :],
        )  # fmt: skip
        for k in range(7):
            columns[k][:] = self.buffers[k][:count]
        result: tuple[Any, ...] = columns
        return result
