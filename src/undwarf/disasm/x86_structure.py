# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The structure of x86-64 instructions (Intel SDM volume 2, chapter 2 and appendix A): where each begins, its parts.

What an instruction does is not decided here, but for the addresses that :meth:`Structure.sweep` looks for. Its parts,
but for displacement and immediate, make a key; the decoder (:mod:`undwarf.disasm.x86_decoding`) is asked once for each
key, and what it says is patched with the numbers.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm import x86_opcodes as opcodes

from undwarf.column import longer, zeros
from undwarf.disasm.x86_opcodes import PREFIXES, numbers, one_byte, two_bytes

BAD = cython.declare(cython.longlong, -1)
"""A template's number: the decoder must be asked for each instruction of this key."""

TARGETED = cython.declare(cython.int, 16)
"""Bit of the column of flows: there is a target."""
ROW_WORDS = cython.declare(cython.Py_ssize_t, 16)
"""Words of a template, the first of which is its flow (:mod:`undwarf.disasm.templates`)."""
LONGEST = cython.declare(cython.Py_ssize_t, 15)
"""Bytes of an instruction."""

NUMBER = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
LITERAL = cython.declare(cython.uint, 0x100)
"""With an immediate that is part of the key where others are not."""
REX_W = cython.declare(cython.uint, 8)

# Kinds of references, as in undwarf.disasm.x86_sweep.
CALLED = cython.declare(cython.int, 1)
JUMPED = cython.declare(cython.int, 2)
TAKEN = cython.declare(cython.int, 3)
RETURNED = cython.declare(cython.int, 4)


@cython.final
@cython.cclass
class Structure:
    """Splits code into instructions.

    ``table`` holds the templates. ``learn(key, code, begin, end, parts)`` gives the template's number for a new key, or
    -1; parts: from the lowest bit on the displacement's place in the instruction (4 bits) and size (4), those of the
    immediate (4, 4), what the immediate is (2), whether the displacement is relative to the instruction pointer (1),
    whether there is an operand of register or memory (1). ``ask(at)`` describes one instruction by itself: (length,
    template, displacement, immediate, target or None).
    """

    table: Any
    learn: Any
    ask: Any
    # Templates by key, two words each in the first free place from where the key says on: the key; the number of the
    # template and two (0: nothing is here), with its flow in the upper half.
    places = cython.declare("unsigned long long[::1]")
    known: cython.Py_ssize_t
    one = cython.declare("int[::1]")
    two = cython.declare("int[::1]")
    number_of = cython.declare("int[::1]")
    prefix_of = cython.declare("int[::1]")
    rows = cython.declare("const long long[::1]")
    rows_seen: Any
    # The code at hand; where an instruction begins in it, and what is read next.
    code = cython.declare("const unsigned char[::1]")
    begin: cython.Py_ssize_t
    at: cython.Py_ssize_t
    # The instruction's parts, as far as they are read; `what` follows its opcode, `kind` is what its immediate is.
    prefixes: cython.uint
    rex: cython.uint
    vex: cython.uint
    space: cython.uint
    opcode: cython.uint
    what: cython.uint
    modrm: cython.uint
    sib: cython.uint
    displacement_at: cython.Py_ssize_t
    displacement_size: cython.int
    immediate_at: cython.Py_ssize_t
    immediate_size: cython.int
    relative_size: cython.int
    rip: cython.bint
    kind: cython.int
    # What is found, before it is known how much that is; `room` are the same columns for Python.
    room = cython.declare(tuple)
    offsets = cython.declare("unsigned int[::1]")
    lengths = cython.declare("unsigned char[::1]")
    numbers = cython.declare("unsigned int[::1]")
    displacements = cython.declare("long long[::1]")
    immediates = cython.declare("long long[::1]")
    targets = cython.declare("long long[::1]")
    flows = cython.declare("unsigned char[::1]")

    def __init__(self, table: Any, learn: Any, ask: Any) -> None:
        self.table = table
        self.rows_seen = None
        self._see()
        self.learn = learn
        self.ask = ask
        self.known = 0
        self.places = zeros("Q", 1 << 14)
        self.one, self.two, self.number_of, self.prefix_of = (zeros("i", 256) for _ in range(4))
        for opcode, what in enumerate(one_byte()):
            self.one[opcode] = what
        for opcode, what in enumerate(two_bytes()):
            self.two[opcode] = what
        for opcode, what in enumerate(numbers()):
            self.number_of[opcode] = what
        for byte, prefix in PREFIXES.items():
            self.prefix_of[byte] = prefix
        self._make_room(4096)

    @cython.cfunc
    def _make_room(self, size: cython.Py_ssize_t) -> None:
        self.room = (
            zeros("I", size), zeros("B", size), zeros("I", size), zeros("q", size), zeros("q", size), zeros("q", size),
            zeros("B", size),
        )  # fmt: skip  # a table
        self.offsets, self.lengths, self.numbers = self.room[:3]
        self.displacements, self.immediates, self.targets, self.flows = self.room[3:]

    @cython.cfunc
    def _see(self) -> None:
        """Take the table's rows as they are now."""
        if self.rows_seen is not self.table.rows:
            self.rows = self.rows_seen = self.table.rows

    def split(self, code: bytes, address: cython.ulonglong) -> "tuple[Any, ...]":
        """(offset I, length B, template I, displacement q, immediate q, target q, flow B) of each instruction.

        Displacements relative to the instruction pointer are addresses.
        """
        size: cython.Py_ssize_t = len(code)
        count: cython.Py_ssize_t = 0
        if size > self.offsets.shape[0]:
            self._make_room(2 * size)
        self.code = code
        self._see()
        self.at = 0
        while self.at < size:
            self.begin = self.at
            if not (self._read(size) and self._find(code, count)):
                self._put_asked(count)
            else:
                self._put_numbers(address, count)
            count += 1
        return self._found(count)

    @cython.locals(
        kinds="unsigned char[::1]",
        sources="unsigned long long[::1]",
        targets="unsigned long long[::1]",
        bad="const unsigned char[::1]",
        size=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
        kind=cython.int,
        target=cython.ulonglong,
        asked=cython.ulonglong,
    )
    def sweep(
        self, code: Any, address: cython.ulonglong, low: cython.ulonglong, high: cython.ulonglong, invalid: bytes
    ) -> "tuple[Any, Any, Any]":
        """(kind B, from Q, to Q) of each call, jump and address of code, where it leads from ``low`` to below ``high``.
        Here ``ask(at)`` gives (length, kind, target) of one instruction, the kind 0 where it refers to nothing.
        ``invalid`` has for each byte how many bytes it makes an invalid instruction of, 0 where that is not all."""
        room: cython.Py_ssize_t = 1 << 12
        kinds, sources, targets = zeros("B", room), zeros("Q", room), zeros("Q", room)
        self.code = code
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
                target = self._referred(address, kind)
            elif self.code[self.begin] == 0x62 and self._pass_evex(size):
                continue
            elif bad[self.code[self.begin]]:
                self.at = self.begin + bad[self.code[self.begin]]
                continue
            else:
                length, kind, asked = self.ask(self.begin)
                self.at = self.begin + max(1, length)
                target = asked
            if kind == 0 or target < low or target >= high:
                continue
            if count == room:
                room *= 2
                kinds, sources = longer(kinds, count, room), longer(sources, count, room)
                targets = longer(targets, count, room)
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
        """How the instruction at hand refers to an address, 0 if it does not: `lea` of one that is relative to the
        instruction pointer, and `mov` of a constant of 32 bits, may name a function. A return
        refers to what is behind it."""
        if self.relative_size:
            return CALLED if self.space == opcodes.ONE_BYTE and self.opcode == 0xE8 else JUMPED
        if self.space != opcodes.ONE_BYTE:
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
    def _referred(self, address: cython.ulonglong, kind: cython.int) -> cython.ulonglong:
        """The address that the instruction at hand refers to."""
        behind: cython.ulonglong = address + cython.cast(cython.ulonglong, self.at)
        if kind == RETURNED:
            return behind
        if kind != TAKEN:
            return behind + cython.cast(cython.ulonglong, self._number(self.immediate_at, self.relative_size))
        if self.rip:
            return behind + cython.cast(cython.ulonglong, self._number(self.displacement_at, 4))
        value: cython.ulonglong = cython.cast(cython.ulonglong, self._number(self.immediate_at, 4))
        return value if self.opcode == 0xC7 else value & NUMBER

    @cython.cfunc
    @cython.exceptval(-1)
    def _pass_evex(self, size: cython.Py_ssize_t) -> cython.int:
        """Go past an AVX-512 instruction, none of which refers to code; 0 where that must be left to the decoder."""
        at: cython.Py_ssize_t = self.begin + 1
        if at + 4 >= size or self.code[at] & 0x08 or not self.code[at + 1] & 0x04:
            return 0
        space: cython.uint = self.code[at] & 7
        if not opcodes.TWO_BYTES <= space <= opcodes.MAP_3A:
            return 0
        self.rex = self.prefixes = 0
        self.sib = self.modrm = 0
        self.displacement_size = self.immediate_size = self.relative_size = 0
        self.rip = False
        self.space = opcodes.VECTOR | space
        self.opcode = self.code[at + 3]
        self.at = at + 4
        self.what = opcodes.MODRM
        if space == opcodes.MAP_3A:
            self.what |= opcodes.IMM8
        elif space == opcodes.TWO_BYTES:
            self.what = self.two[self.opcode]
        if self.what & (opcodes.REL32 | opcodes.ODD) or not self.what & opcodes.MODRM:
            return 0
        return self._read_operand(size) and self._pass_immediate(size)

    # -- the parts of an instruction ----------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read(self, size: cython.Py_ssize_t) -> cython.int:
        """Read the instruction at hand to its end; 0 where that must be left to the decoder."""
        self.sib = self.modrm = 0
        self.displacement_size = self.immediate_size = self.relative_size = 0
        self.rip = False
        if not (self._read_prefixes(size) and self._read_opcode(size)):
            return 0
        if self.what & opcodes.MODRM and not self._read_operand(size):
            return 0
        return self._pass_immediate(size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_prefixes(self, size: cython.Py_ssize_t) -> cython.int:
        """Legacy prefixes, then REX directly before the opcode, which is there."""
        prefixes: cython.uint = 0
        prefix: cython.uint
        at: cython.Py_ssize_t = self.at
        self.rex = 0
        while at < size and at - self.begin < LONGEST - 1:
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
        # Of several for one thing, one counts: which, the decoder knows.
        if (prefixes & (opcodes.REPNE | opcodes.REP)) == opcodes.REPNE | opcodes.REP:
            return 0
        if (prefixes & (opcodes.FS | opcodes.GS)) == opcodes.FS | opcodes.GS:
            return 0
        if prefixes & opcodes.OTHER_SEGMENT and prefixes & (opcodes.FS | opcodes.GS):
            return 0
        return not prefixes & opcodes.ADDRESS_SIZE and at < size

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_opcode(self, size: cython.Py_ssize_t) -> cython.int:
        """The opcode, with what says which opcodes are meant, and what follows it."""
        byte: cython.uint = self.code[self.at]
        self.at += 1
        self.space = opcodes.ONE_BYTE
        self.vex = 0
        if byte == 0x0F:
            return self._read_second_byte(size)
        if byte == 0xC5 or byte == 0xC4:
            return self._read_vex(size, byte == 0xC5)
        self.opcode = byte
        self.what = self.one[byte]
        if self.what & opcodes.IMMV:
            self.what = opcodes.IMMZ
            if self.rex & REX_W:
                self.what = 0
                self.immediate_size = 8
        return not self.what & opcodes.ODD

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_second_byte(self, size: cython.Py_ssize_t) -> cython.int:
        """The opcode behind 0x0F, 0x0F38 or 0x0F3A."""
        if self.at >= size:
            return 0
        self.opcode = self.code[self.at]
        self.at += 1
        if self.opcode != 0x38 and self.opcode != 0x3A:
            self.space = opcodes.TWO_BYTES
            self.what = self.two[self.opcode]
            return not self.what & opcodes.ODD
        self.space = opcodes.MAP_38 if self.opcode == 0x38 else opcodes.MAP_3A
        self.what = opcodes.MODRM if self.space == opcodes.MAP_38 else opcodes.MODRM | opcodes.IMM8
        if self.at >= size:
            return 0
        self.opcode = self.code[self.at]
        self.at += 1
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_vex(self, size: cython.Py_ssize_t, short: cython.bint) -> cython.int:
        """A VEX prefix, of two bytes or three, and the opcode behind it."""
        shadowed: cython.uint = opcodes.OPERAND_SIZE | opcodes.REPNE | opcodes.REP | opcodes.LOCK
        if self.rex or self.prefixes & shadowed or self.at + 2 >= size:
            return 0
        if short:
            self.vex = self.code[self.at] | 0x10000
            self.space = opcodes.VECTOR | opcodes.TWO_BYTES
            self.at += 1
        else:
            self.vex = self.code[self.at] | cython.cast(cython.uint, self.code[self.at + 1]) << 8
            self.space = self.code[self.at] & 31
            if not opcodes.TWO_BYTES <= self.space <= opcodes.MAP_3A:
                # Maps above the third are not those of these opcodes.
                return 0
            self.space |= opcodes.VECTOR
            self.at += 2
        self.opcode = self.code[self.at]
        self.at += 1
        self.what = opcodes.MODRM
        if self.space == opcodes.VECTOR | opcodes.MAP_3A:
            self.what |= opcodes.IMM8
        elif self.space == opcodes.VECTOR | opcodes.TWO_BYTES:
            self.what = self.two[self.opcode]
        return not self.what & (opcodes.REL32 | opcodes.ODD)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _read_operand(self, size: cython.Py_ssize_t) -> cython.int:
        """ModRM and SIB, and how long a displacement is."""
        modrm: cython.uint
        if self.at >= size:
            return 0
        modrm = self.modrm = self.code[self.at]
        self.at += 1
        if self.space == opcodes.ONE_BYTE and self.opcode == 0xC7 and modrm == 0xF8:
            # XBEGIN: what looks like its immediate is where it jumps to.
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
        if self.what & opcodes.TEST and modrm & 0x30:
            self.what &= ~(opcodes.IMM8 | opcodes.IMMZ)
        return 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _pass_immediate(self, size: cython.Py_ssize_t) -> cython.int:
        """How long the immediate is, or the distance to where a jump leads; then the instruction is at its end."""
        what: cython.uint = self.what
        if what & opcodes.IMM8:
            self.immediate_size = 1
        elif what & opcodes.IMMZ:
            self.immediate_size = 2 if self.prefixes & opcodes.OPERAND_SIZE and not self.rex & REX_W else 4
        elif what & opcodes.IMM16:
            self.immediate_size = 2
        elif what & opcodes.REL8:
            self.relative_size = 1
        elif what & opcodes.REL32:
            if self.prefixes & opcodes.OPERAND_SIZE:
                return 0
            self.relative_size = 4
        self.immediate_at = self.at
        self.at += self.immediate_size + self.relative_size
        return self.at <= size and self.at - self.begin <= LONGEST

    # -- its template -------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _find(self, code: Any, count: cython.Py_ssize_t) -> cython.int:
        """Put the template of the instruction at hand, and its flow, into row ``count``; 0 where there is none."""
        number: cython.longlong
        flow: cython.ulonglong
        key: cython.ulonglong = self._key()
        place: cython.Py_ssize_t = self._place(key)
        if self.places[place + 1]:
            flow = self.places[place + 1] >> 32
            number = cython.cast(cython.longlong, self.places[place + 1] & NUMBER) - 2
        else:
            number = self.learn(key, code, self.begin, self.at, self._parts())
            self._see()
            flow = self.rows[number * ROW_WORDS] if number != BAD else 0
            self._remember(key, cython.cast(cython.ulonglong, number + 2) | flow << 32)
        if number == BAD:
            return 0
        self.numbers[count] = number
        self.flows[count] = flow
        return 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _key(self) -> cython.ulonglong:
        """All parts of the instruction at hand that are no numbers; says what its immediate is."""
        small: cython.uint = 0
        immediate: cython.uint
        self.kind = opcodes.SIGNED_NUMBER if self.immediate_size else 0
        if self.immediate_size == 1:
            immediate = self.code[self.immediate_at]
            self.kind = self.number_of[self.opcode] if self.space == opcodes.ONE_BYTE else 0
            if not self.kind:
                small = immediate
            elif self.kind == opcodes.SHIFT_COUNT and not (
                self.modrm & 0x20 and 0 < immediate < (64 if self.rex & REX_W else 32)
            ):
                # Rotations, some through the carry, and shifts by nothing are things of their own.
                self.kind = 0
                small = immediate | LITERAL
        return (
            cython.cast(cython.ulonglong, self.prefixes)
            | cython.cast(cython.ulonglong, self.rex | self.vex) << 8
            | cython.cast(cython.ulonglong, self.space) << 25
            | cython.cast(cython.ulonglong, self.opcode) << 28
            | cython.cast(cython.ulonglong, self.modrm) << 36
            | cython.cast(cython.ulonglong, self.sib) << 44
            | cython.cast(cython.ulonglong, small) << 52
        )

    @cython.cfunc
    @cython.exceptval(check=False)
    def _parts(self) -> cython.longlong:
        """The word that says where the parts of the instruction at hand are. What is not there has no place either."""
        parts: cython.longlong = self.kind << 16
        if self.displacement_size:
            parts |= (self.displacement_at - self.begin) | self.displacement_size << 4
        if self.immediate_size:
            parts |= (self.immediate_at - self.begin) << 8 | self.immediate_size << 12
        if self.rip:
            parts |= opcodes.RELATIVE
        if self.what & opcodes.MODRM:
            parts |= opcodes.OPERAND
        return parts

    # -- rows of columns ----------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_asked(self, count: cython.Py_ssize_t) -> cython.int:
        """Fill row ``count`` with what the decoder says of the instruction at hand, and go on behind it."""
        length, number, displacement, immediate, target = self.ask(self.begin)
        self.offsets[count] = self.begin
        self.lengths[count] = length
        self.numbers[count] = number
        self.displacements[count] = displacement
        self.immediates[count] = immediate
        self._see()
        self.flows[count] = self.rows[self.numbers[count] * ROW_WORDS]
        self.targets[count] = 0
        if target is not None:
            self.targets[count] = _wrapped(target)
            self.flows[count] |= TARGETED
        self.at = self.begin + self.lengths[count]
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _put_numbers(self, address: cython.ulonglong, count: cython.Py_ssize_t) -> cython.int:
        """Put where the instruction at hand is and the numbers in it into row ``count``."""
        behind: cython.ulonglong = address + cython.cast(cython.ulonglong, self.at)
        displacement: cython.ulonglong = 0
        immediate: cython.longlong = 0
        self.offsets[count] = self.begin
        self.lengths[count] = self.at - self.begin
        if self.displacement_size:
            displacement = self._number(self.displacement_at, self.displacement_size)
            if self.rip:
                displacement += behind
        self.displacements[count] = cython.cast(cython.longlong, displacement)
        if self.kind:
            if self.kind == opcodes.SIGNED_NUMBER:
                immediate = self._number(self.immediate_at, self.immediate_size)
            else:
                immediate = self.code[self.immediate_at]
        self.immediates[count] = immediate
        self.targets[count] = 0
        if self.relative_size:
            self.targets[count] = cython.cast(
                cython.longlong,
                behind + cython.cast(cython.ulonglong, self._number(self.immediate_at, self.relative_size)),
            )
            self.flows[count] |= TARGETED
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _number(self, at: cython.Py_ssize_t, size: cython.int) -> cython.longlong:
        """The signed number of 1, 2, 4 or 8 bytes at a place of the code."""
        value: cython.ulonglong = 0
        k: cython.int = size
        while k > 0:
            k -= 1
            value = value << 8 | self.code[at + k]
        return cython.cast(cython.longlong, value << (64 - 8 * size)) >> (64 - 8 * size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _place(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """Where a key is, or would be."""
        end: cython.Py_ssize_t = self.places.shape[0]
        place: cython.Py_ssize_t = 2 * ((key * MULTIPLIER) >> 40) & (end - 1)
        while self.places[place + 1] and self.places[place] != key:
            place = place + 2 if place + 2 < end else 0
        return place

    @cython.cfunc
    @cython.exceptval(-1)
    def _remember(self, key: cython.ulonglong, template: cython.ulonglong) -> cython.int:
        if 4 * self.known >= self.places.shape[0]:
            self._widen(4 * self.places.shape[0])
        place: cython.Py_ssize_t = self._place(key)
        self.places[place] = key
        self.places[place + 1] = template
        self.known += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(before="unsigned long long[::1]", place=cython.Py_ssize_t)
    def _widen(self, size: cython.Py_ssize_t) -> cython.int:
        """More room for keys; ``size`` is a power of two."""
        before = self.places
        self.places = zeros("Q", size)
        self.known = 0
        for place in range(0, before.shape[0], 2):
            if before[place + 1]:
                self._remember(before[place], before[place + 1])
        return 0

    @cython.cfunc
    def _found(self, count: cython.Py_ssize_t) -> "tuple[Any, ...]":
        """The columns, as parts of one piece of memory."""
        memory: Any = memoryview(bytearray(34 * count))
        words: Any = memory[: 24 * count].cast("q")
        halves: Any = memory[24 * count : 32 * count].cast("I")
        columns: Any = (
            halves[:count], memory[32 * count : 33 * count], halves[count:], words[:count], words[count : 2 * count],
            words[2 * count :], memory[33 * count :],
        )  # fmt: skip  # a table
        for k in range(7):
            columns[k][:] = self.room[k][:count]
        found: tuple[Any, ...] = columns
        return found


def _wrapped(value: Any) -> Any:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value
