# constants of kernels: the build writes the .pxd beside this file
"""The encoding of x86-64 instructions: opcode maps (Intel SDM volume 2, appendix A), prefixes, kinds of immediates."""

MAX_LENGTH = 15
"""Bytes of an instruction."""
REX_W = 8

MODRM = 1
IMM8 = 2
IMMZ = 4
"""Two bytes with an operand size prefix, else four."""
IMM16 = 8
IMMV = 16
"""As IMMZ, but eight bytes with REX.W."""
REL8 = 32
REL32 = 64
TEST = 128
"""An immediate follows if the reg field of ModRM is 0 or 1."""
ODD = 256
"""Bits of what follows an opcode; ODD: only the full decoder can tell."""

ONE_BYTE = 0
TWO_BYTES = 1
MAP_38 = 2
MAP_3A = 3
"""Opcode maps: after 0x0F, 0x0F38 and 0x0F3A."""
VECTOR = 4
"""Bit of an opcode map that is selected by VEX."""

SIGNED_NUMBER = 1
"""Kind of an immediate: any signed integer."""
UNSIGNED_BYTE = 2
"""Kind of an immediate: an unsigned byte."""
SHIFT_COUNT = 3
"""Kind of an immediate: the count of some shifts."""

OPERAND_SIZE = 1
REPNE = 2
REP = 4
LOCK = 8
FS = 16
GS = 32
OTHER_SEGMENT = 64
"""Segments that 64-bit mode ignores."""
ADDRESS_SIZE = 128
"""Bits of prefixes, from OPERAND_SIZE on."""

RELATIVE = 0x40000
"""Bit of :meth:`LengthDecoder._parts`: the displacement is relative to the instruction pointer."""
OPERAND = 0x80000
"""Bit of the same: there is a ModRM operand."""

CALLED = 1
JUMPED = 2
"""With or without a condition."""
TAKEN = 3
"""By `lea`, or as a constant."""
RETURNED = 4
"""A near return; it refers to the address after it, where a function may start."""


FIELD_REG = 1
FIELD_VVVV = 2
FIELD_RM = 4
FIELD_BASE = 8
FIELD_INDEX = 16
"""Register fields of an instruction: ModRM.reg, VEX.vvvv, ModRM.rm, and base and index of a memory operand."""
OWN_REG = 9
OWN_VVVV = 8
OWN_RM = 10
OWN_BASE = 11
OWN_INDEX = 14
"""The registers in these fields of a form (:mod:`undwarf.disasm.x86_forms`). All are encoded alike in all fields: 4, 5,
12 and 13 have special meanings in memory operands, and below 8 are the implicit operands of instructions."""
FIRST_VECTOR = 17
"""DWARF number of %xmm0 (System V ABI)."""

PREFIXES = {
    0x66: OPERAND_SIZE, 0xF2: REPNE, 0xF3: REP, 0xF0: LOCK, 0x64: FS, 0x65: GS, 0x26: OTHER_SEGMENT,
    0x2E: OTHER_SEGMENT, 0x36: OTHER_SEGMENT, 0x3E: OTHER_SEGMENT, 0x67: ADDRESS_SIZE,
}  # fmt: skip  # a table


def immediate_kinds() -> list[int]:
    """The kind of the one-byte immediate of each one-byte opcode; 0 if it is part of the operation."""
    found = [0] * 256
    for opcode in (0x6A, 0x6B, 0x83):
        found[opcode] = SIGNED_NUMBER
    for opcode in (0x04, 0x0C, 0x14, 0x1C, 0x24, 0x2C, 0x34, 0x3C, 0x80, 0xA8, *range(0xB0, 0xB8), 0xC6, 0xF6):
        found[opcode] = UNSIGNED_BYTE
    found[0xC0] = found[0xC1] = SHIFT_COUNT
    return found


def one_byte_map() -> list[int]:
    """What follows each one-byte opcode; prefixes and opcodes that are invalid in 64-bit mode are ODD."""
    found = [ODD] * 256
    for group in range(0, 0x40, 8):
        found[group : group + 6] = [MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ]
    for opcode in (*range(0x50, 0x60), *range(0x6C, 0x70), *range(0x90, 0x9A), *range(0x9B, 0xA0)):
        found[opcode] = 0
    for opcode in (
        *range(0xA4, 0xA8),
        *range(0xAA, 0xB0),
        0xC3,
        0xC9,
        0xCB,
        0xCC,
        0xCF,
        0xD7,
        *range(0xEC, 0xF0),
        0xF1,
        0xF4,
        0xF5,
        *range(0xF8, 0xFE),
    ):
        found[opcode] = 0
    for opcode in (0x63, *range(0x84, 0x8F), *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xFE, 0xFF):
        found[opcode] = MODRM
    for opcode in (0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6):
        found[opcode] = MODRM | IMM8
    for opcode in (0x69, 0x81, 0xC7):
        found[opcode] = MODRM | IMMZ
    for opcode in (0x6A, 0xA8, *range(0xB0, 0xB8), 0xCD, *range(0xE4, 0xE8)):
        found[opcode] = IMM8
    found[0x68] = found[0xA9] = IMMZ
    found[0xB8:0xC0] = [IMMV] * 8
    found[0xC2] = found[0xCA] = IMM16
    for opcode in (*range(0x70, 0x80), *range(0xE0, 0xE4), 0xEB):
        found[opcode] = REL8
    found[0xE8] = found[0xE9] = REL32
    found[0xF6] = MODRM | IMM8 | TEST
    found[0xF7] = MODRM | IMMZ | TEST
    return found


def two_byte_map() -> list[int]:
    """What follows each opcode after 0x0F."""
    found = [ODD] * 256
    for opcode in (0x05, 0x06, 0x08, 0x09, 0x0B, *range(0x30, 0x36), 0x77, 0xA0, 0xA1, 0xA2, 0xA8, 0xA9):
        found[opcode] = 0
    found[0xC8:0xD0] = [0] * 8
    for opcode in (*range(0x00, 0x04), 0x0D, *range(0x10, 0x20), *range(0x28, 0x30), *range(0x40, 0x70)):
        found[opcode] = MODRM
    for opcode in (*range(0x74, 0x77), *range(0x7C, 0x80), *range(0x90, 0xA0), 0xA3, 0xA5, 0xAB):
        found[opcode] = MODRM
    for opcode in (*range(0xAD, 0xB9), *range(0xBB, 0xC2), 0xC3, 0xC7, *range(0xD0, 0x100)):
        found[opcode] = MODRM
    for opcode in (*range(0x70, 0x74), 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6):
        found[opcode] = MODRM | IMM8
    found[0x80:0x90] = [REL32] * 16
    return found
