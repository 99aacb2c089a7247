# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The structure of x86-64 instructions (Intel SDM volume 2, chapter 2 and appendix A): where each begins, its parts.

What an instruction does is not decided here. Its parts but for displacement and immediate make a key; the decoder
(:mod:`undwarf.disasm.x86_decoding`) is asked once for each key, and what it says is patched with the numbers.
"""

from typing import Any

import cython

from undwarf.buffers import zeros

BAD = cython.declare(cython.longlong, -1)
"""A template's number: the decoder must be asked for each instruction of this key."""

# What follows an opcode: bits of a class.
MODRM = cython.declare(cython.int, 1)
IMM8 = cython.declare(cython.int, 2)
IMMZ = cython.declare(cython.int, 4)
"""Two bytes with an operand size prefix, else four."""
IMM16 = cython.declare(cython.int, 8)
IMMV = cython.declare(cython.int, 16)
"""As IMMZ, but eight bytes with REX.W."""
REL8 = cython.declare(cython.int, 32)
REL32 = cython.declare(cython.int, 64)
TEST = cython.declare(cython.int, 128)
"""An immediate follows where the register field is 0 or 1."""
ODD = cython.declare(cython.int, 256)
"""Left to the decoder, one by one."""

TARGETED = cython.declare(cython.int, 16)
"""Bit of the column of flows: there is a target."""
ROW_WORDS = cython.declare(cython.Py_ssize_t, 16)
"""Words of a template, the first of which is its flow (:mod:`undwarf.disasm.templates`)."""

NUMBER = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
RELATIVE = 1 << 18
"""Bit of an instruction's parts: its displacement is relative to the instruction pointer."""

SIGNED_NUMBER, UNSIGNED_BYTE, SHIFT_COUNT = 1, 2, 3
"""What an immediate is: a number that may be any other, with sign or, of one byte, without; by how much is shifted,
some, but not all; else part of the key."""
LITERAL = cython.declare(cython.uint, 0x100)
"""With an immediate that is part of the key where others are not."""


def _numbers() -> list[int]:
    """For opcodes of one byte, what their immediate of one byte is."""
    found = [0] * 256
    for opcode in (0x6A, 0x6B, 0x83):
        found[opcode] = SIGNED_NUMBER
    for opcode in (0x04, 0x0C, 0x14, 0x1C, 0x24, 0x2C, 0x34, 0x3C, 0x80, 0xA8, *range(0xB0, 0xB8), 0xC6, 0xF6):
        found[opcode] = UNSIGNED_BYTE
    found[0xC0] = found[0xC1] = SHIFT_COUNT
    return found


def _one_byte() -> list[int]:
    found = [0] * 256
    for high in range(0, 0x40, 8):
        for low, what in enumerate((1, 1, 1, 1, 2, 4, 256, 256)):
            found[high + low] = what
    one = {
        0x63: 1, 0x68: 4, 0x69: 5, 0x6A: 2, 0x6B: 3, 0x80: 3, 0x81: 5, 0x82: 256, 0x83: 3, 0x8F: 1 | 256, 0x9A: 256,
        0xA8: 2, 0xA9: 4, 0xC0: 3, 0xC1: 3, 0xC2: 8, 0xC4: 256, 0xC5: 256, 0xC6: 3, 0xC7: 5, 0xC8: 256, 0xCA: 8,
        0xCD: 2, 0xCE: 256, 0xD4: 256, 0xD5: 256, 0xD6: 256, 0xE8: 64, 0xE9: 64, 0xEA: 256, 0xEB: 32, 0xF6: 1 | 2 | 128,
        0xF7: 1 | 4 | 128, 0xFE: 1, 0xFF: 1, 0x60: 256, 0x61: 256, 0x62: 256, 0x0F: 256,
    }  # fmt: skip
    for opcode in (*range(0xA0, 0xA4), 0xF0, 0xF2, 0xF3, 0x66, 0x67, 0x64, 0x65, 0x26, 0x2E, 0x36, 0x3E):
        found[opcode] = 256
    for opcode in (*range(0x84, 0x8F), *range(0xD0, 0xD4), *range(0xD8, 0xE0)):
        found[opcode] = 1
    for opcode in (*range(0x70, 0x80), *range(0xE0, 0xE4)):
        found[opcode] = 32
    for opcode in (*range(0xB0, 0xB8), *range(0xE4, 0xE8)):
        found[opcode] = 2
    for opcode in range(0xB8, 0xC0):
        found[opcode] = 16
    for opcode, what in one.items():
        found[opcode] = what
    return found


def _two_bytes() -> list[int]:
    found = [256] * 256
    for first, end in (
        (0x10, 0x20),
        (0x28, 0x30),
        (0x40, 0x70),
        (0x74, 0x77),
        (0x7C, 0x80),
        (0x90, 0xA0),
        (0xD0, 0x100),
    ):
        found[first:end] = [1] * (end - first)
    for opcode in (
        0x05,
        0x06,
        0x08,
        0x09,
        0x0B,
        *range(0x30, 0x36),
        0x77,
        0xA0,
        0xA1,
        0xA2,
        0xA8,
        0xA9,
        *range(0xC8, 0xD0),
    ):
        found[opcode] = 0
    for opcode in (0x00, 0x01, 0x02, 0x03, 0x0D, 0xA3, 0xA5, 0xAB, *range(0xAD, 0xB8), *range(0xBB, 0xC2), 0xC3, 0xC7):
        found[opcode] = 1
    for opcode in (0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6):
        found[opcode] = 3
    for opcode in range(0x80, 0x90):
        found[opcode] = 64
    found[0xB8] = 1
    return found


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
    rows = cython.declare("const long long[::1]")
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
        self.rows = table.rows
        self.learn = learn
        self.ask = ask
        self.known = 0
        self.places = zeros("Q", 1 << 14)
        self.one = zeros("i", 256)
        self.two = zeros("i", 256)
        self.number_of = zeros("i", 256)
        for opcode, what in enumerate(_one_byte()):
            self.one[opcode] = what
        for opcode, what in enumerate(_two_bytes()):
            self.two[opcode] = what
        for opcode, what in enumerate(_numbers()):
            self.number_of[opcode] = what
        self._make_room(4096)

    @cython.cfunc
    def _make_room(self, size: cython.Py_ssize_t) -> None:
        self.room = (
            zeros("I", size), zeros("B", size), zeros("I", size), zeros("q", size), zeros("q", size), zeros("q", size),
            zeros("B", size),
        )  # fmt: skip
        self.offsets, self.lengths, self.numbers = self.room[:3]
        self.displacements, self.immediates, self.targets, self.flows = self.room[3:]

    @cython.locals(
        data="const unsigned char[::1]",
        offsets="unsigned int[::1]",
        lengths="unsigned char[::1]",
        numbers="unsigned int[::1]",
        displacements="long long[::1]",
        immediates="long long[::1]",
        targets="long long[::1]",
        flows="unsigned char[::1]",
        at=cython.Py_ssize_t,
        size=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
        key=cython.ulonglong,
        here=cython.ulonglong,
        byte=cython.uint,
        prefixes=cython.uint,
        rex=cython.uint,
        vex=cython.uint,
        space=cython.uint,
        opcode=cython.uint,
        modrm=cython.uint,
        sib=cython.uint,
        what=cython.int,
        displacement_at=cython.Py_ssize_t,
        displacement_size=cython.int,
        immediate_at=cython.Py_ssize_t,
        immediate_size=cython.int,
        small=cython.uint,
        kind=cython.int,
        rip=cython.bint,
        relative=cython.int,
        number=cython.longlong,
        place=cython.Py_ssize_t,
        flow=cython.ulonglong,
        parts=cython.longlong,
        displacement=cython.longlong,
        immediate=cython.longlong,
    )
    def split(self, code: bytes, address: cython.ulonglong) -> "tuple[Any, ...]":
        """(offset I, length B, template I, displacement q, immediate q, target q, flow B) of each instruction.

        Displacements relative to the instruction pointer are addresses.
        """
        data = code
        size = len(code)
        if size > self.offsets.shape[0]:
            self._make_room(2 * size)
        offsets, lengths, numbers = self.offsets, self.lengths, self.numbers
        displacements, immediates, targets, flows = self.displacements, self.immediates, self.targets, self.flows
        self.rows = self.table.rows
        count = 0
        at = 0
        while at < size:
            i = at
            prefixes = rex = vex = space = opcode = modrm = sib = small = 0
            rip = False
            what = 0
            displacement_at = displacement_size = immediate_at = immediate_size = relative = 0
            # Legacy prefixes, then REX directly before the opcode.
            while i < size and i - at < 14:
                byte = data[i]
                if byte == 0x66:
                    prefixes |= 1
                elif byte == 0xF2:
                    prefixes |= 2
                elif byte == 0xF3:
                    prefixes |= 4
                elif byte == 0xF0:
                    prefixes |= 8
                elif byte == 0x64:
                    prefixes |= 16
                elif byte == 0x65:
                    prefixes |= 32
                elif byte == 0x2E or byte == 0x36 or byte == 0x3E or byte == 0x26:
                    prefixes |= 64
                elif byte == 0x67:
                    what = 256
                else:
                    break
                i += 1
            if (prefixes & 6) == 6 or (prefixes & 48) == 48 or ((prefixes & 64) and (prefixes & 48)):
                what = 256
            if i < size and (data[i] & 0xF0) == 0x40:
                rex = data[i]
                i += 1
            if i >= size:
                what = 256
            if not what:
                opcode = data[i]
                i += 1
                if opcode == 0x0F:
                    if i < size:
                        opcode = data[i]
                        i += 1
                        space = 1
                        if opcode == 0x38 or opcode == 0x3A:
                            space = 2 if opcode == 0x38 else 3
                            what = 1 if space == 2 else 3
                            if i < size:
                                opcode = data[i]
                                i += 1
                            else:
                                what = 256
                        else:
                            what = self.two[opcode]
                    else:
                        what = 256
                elif opcode == 0xC5 or opcode == 0xC4:
                    if rex or (prefixes & 15) or i + 2 >= size:
                        what = 256
                    else:
                        if opcode == 0xC5:
                            vex = data[i] | 0x10000
                            space = 1
                            i += 1
                        else:
                            vex = data[i] | (cython.cast(cython.uint, data[i + 1]) << 8)
                            space = data[i] & 31
                            i += 2
                        # Maps above the third are not those of these opcodes.
                        space = space | 4 if space < 4 else 0
                        opcode = data[i] if i < size else 0
                        i += 1
                        if space == 5:
                            what = 0 if opcode == 0x77 else self.two[opcode]
                            what = 256 if what & (REL32 | ODD) else what
                        elif space == 6:
                            what = MODRM
                        elif space == 7:
                            what = MODRM | IMM8
                        else:
                            what = 256
                else:
                    what = self.one[opcode]
                    if what & IMMV:
                        if rex & 8:
                            immediate_size = 8
                            what = 0
                        else:
                            what = IMMZ
            if what & MODRM and not what & ODD:
                if i >= size:
                    what = 256
                else:
                    modrm = data[i]
                    i += 1
                    if space == 0 and opcode == 0xC7 and modrm == 0xF8:
                        what = 256
                    if modrm < 0xC0:
                        if modrm & 7 == 4:
                            if i < size:
                                sib = data[i]
                            else:
                                what = 256
                            i += 1
                        if modrm < 0x40:
                            if modrm & 7 == 5:
                                rip = True
                                displacement_size = 4
                            elif modrm & 7 == 4 and sib & 7 == 5:
                                displacement_size = 4
                        elif modrm < 0x80:
                            displacement_size = 1
                        else:
                            displacement_size = 4
                    displacement_at = i
                    i += displacement_size
                    if what & TEST and modrm & 0x30:
                        what &= ~(IMM8 | IMMZ)
            if not what & ODD:
                if what & IMM8:
                    immediate_size = 1
                elif what & IMMZ:
                    immediate_size = 2 if prefixes & 1 and not rex & 8 else 4
                elif what & IMM16:
                    immediate_size = 2
                elif what & REL8:
                    relative = 1
                elif what & REL32:
                    relative = 4
                    if prefixes & 1:
                        what = ODD
                immediate_at = i
                i += immediate_size + relative
                if i > size or i - at > 15:
                    what = ODD
            number = BAD
            flow = 0
            if not what & ODD:
                kind = SIGNED_NUMBER if immediate_size else 0
                if immediate_size == 1:
                    kind = self.number_of[opcode] if not space else 0
                    if not kind:
                        small = data[immediate_at]
                    elif kind == SHIFT_COUNT and not (
                        modrm & 0x20 and 0 < data[immediate_at] < (64 if rex & 8 else 32)
                    ):
                        # Rotations, some through the carry, and shifts by nothing are things of their own.
                        kind = 0
                        small = data[immediate_at] | LITERAL
                key = (
                    cython.cast(cython.ulonglong, prefixes)
                    | cython.cast(cython.ulonglong, rex | vex) << 8
                    | cython.cast(cython.ulonglong, space) << 25
                    | cython.cast(cython.ulonglong, opcode) << 28
                    | cython.cast(cython.ulonglong, modrm) << 36
                    | cython.cast(cython.ulonglong, sib) << 44
                    | cython.cast(cython.ulonglong, small) << 52
                )
                place = self._place(key)
                if not self.places[place + 1]:
                    # What is not there has no place in the instruction either.
                    parts = kind << 16
                    if displacement_size:
                        parts |= (displacement_at - at) | displacement_size << 4
                    if immediate_size:
                        parts |= (immediate_at - at) << 8 | immediate_size << 12
                    if rip:
                        parts |= 1 << 18
                    if what & MODRM:
                        parts |= 1 << 19
                    number = self.learn(key, code, at, i, parts)
                    self.rows = self.table.rows
                    flow = self.rows[number * ROW_WORDS] if number != BAD else 0
                    self._remember(key, cython.cast(cython.ulonglong, number + 2) | flow << 32)
                else:
                    flow = self.places[place + 1] >> 32
                    number = cython.cast(cython.longlong, self.places[place + 1] & NUMBER) - 2
            if number == BAD:
                length, of, displaced, immediate_value, target = self.ask(at)
                offsets[count] = at
                lengths[count] = length
                numbers[count] = of
                displacements[count] = displaced
                immediates[count] = immediate_value
                self.rows = self.table.rows
                flows[count] = self.rows[numbers[count] * ROW_WORDS]
                targets[count] = 0
                if target is not None:
                    targets[count] = _wrapped(target)
                    flows[count] |= TARGETED
                count += 1
                at += length
                continue
            offsets[count] = at
            lengths[count] = i - at
            numbers[count] = number
            flows[count] = flow
            displacement = immediate = 0
            if displacement_size == 1:
                displacement = data[displacement_at]
                if displacement > 127:
                    displacement -= 256
            elif displacement_size == 4:
                displacement = _word(data, displacement_at)
            if rip:
                displacement = cython.cast(
                    cython.longlong,
                    address + cython.cast(cython.ulonglong, i) + cython.cast(cython.ulonglong, displacement),
                )
            displacements[count] = displacement
            if immediate_size == 1:
                if kind:
                    immediate = data[immediate_at]
                    if kind == SIGNED_NUMBER and immediate > 127:
                        immediate -= 256
            elif immediate_size == 4:
                immediate = _word(data, immediate_at)
            elif immediate_size == 2:
                immediate = data[immediate_at] | (cython.cast(cython.longlong, data[immediate_at + 1]) << 8)
                if immediate & 0x8000:
                    immediate -= 0x10000
            elif immediate_size == 8:
                immediate = cython.cast(
                    cython.longlong,
                    cython.cast(cython.ulonglong, _word(data, immediate_at)) & LOW_HALF
                    | cython.cast(cython.ulonglong, _word(data, immediate_at + 4)) << 32,
                )
            immediates[count] = immediate
            targets[count] = 0
            if relative:
                immediate = data[i - 1] if relative == 1 else _word(data, i - 4)
                if relative == 1 and immediate > 127:
                    immediate -= 256
                targets[count] = cython.cast(
                    cython.longlong,
                    address + cython.cast(cython.ulonglong, i) + cython.cast(cython.ulonglong, immediate),
                )
                flows[count] |= TARGETED
            count += 1
            at = i
        return self._found(count)

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
        )  # fmt: skip
        for k in range(7):
            columns[k][:] = self.room[k][:count]
        found: tuple[Any, ...] = columns
        return found


LOW_HALF = cython.declare(cython.ulonglong, 0xFFFFFFFF)


def _wrapped(value: Any) -> Any:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.locals(data="const unsigned char[::1]", value=cython.uint)
def _word(data: Any, at: cython.Py_ssize_t) -> cython.longlong:
    """Four bytes with sign; the caller has made sure that they are there."""
    value = (
        data[at]
        | cython.cast(cython.uint, data[at + 1]) << 8
        | cython.cast(cython.uint, data[at + 2]) << 16
        | cython.cast(cython.uint, data[at + 3]) << 24
    )
    return cython.cast(cython.longlong, cython.cast(cython.int, value))
