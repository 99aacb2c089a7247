# constants of kernels: the build writes the .pxd beside this file
"""The fixed structures of ELF files: file header, program headers, section headers; and their numbers.

Source: System V ABI, gABI chapters 4 and 5. The four layouts (32 or 64 bits, little or big endian) differ
only in their :class:`Layout`.
"""

import struct
from typing import NamedTuple

PT_LOAD = 1
PT_DYNAMIC = 2
PT_INTERP = 3
PT_NOTE = 4
PF_X = 1
PF_W = 2
PF_R = 4
SHT_NULL = 0
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_PROGBITS = 1
SHT_SYMTAB = 2
SHT_STRTAB = 3
SHT_RELA = 4
SHT_NOTE = 7
SHT_NOBITS = 8
SHT_REL = 9
SHT_DYNSYM = 11
SHT_SYMTAB_SHNDX = 18
SHF_WRITE = 1
SHF_ALLOC = 2
SHF_EXECINSTR = 4
SHF_COMPRESSED = 0x800
ET_REL = 1
ET_EXEC = 2
ET_DYN = 3
ET_CORE = 4
EM_NONE = 0
EM_386 = 3
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_S390 = 22
EM_ARM = 40
EM_X86_64 = 62
EM_AARCH64 = 183
EM_RISCV = 243
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
EM_LOONGARCH = 258
PN_XNUM = 0xFFFF
SHN_LORESERVE = 0xFF00
SHN_COMMON = 0xFFF2
SHN_XINDEX = 0xFFFF
STT_NOTYPE = 0
STT_OBJECT = 1
STT_FUNC = 2
STT_GNU_IFUNC = 10
STB_GLOBAL = 1
STB_WEAK = 2
STV_INTERNAL = 1
STV_HIDDEN = 2

MAGIC = b"\x7fELF"
NOT_ELF = "not an ELF file"
"""Error text for files without the magic number."""


class Segment(NamedTuple):
    """One program header; all numbers in bytes."""

    type: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    align: int


class Section(NamedTuple):
    """One section header; all numbers in bytes, ``name`` without its NUL."""

    index: int  # type: ignore[assignment]  # the field, not tuple.index
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class Layout(NamedTuple):
    """The layout of structures for one class (32 or 64 bits) and byte order."""

    is_64: bool
    mark: str
    """``<`` or ``>``, as :mod:`struct` writes byte orders."""
    header: struct.Struct
    """type, machine, version, entry, phoff, shoff, flags, ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
    starts at byte 16."""
    segment: struct.Struct
    section: struct.Struct
    compression: struct.Struct
    """type, (64 bits: reserved,) size, align."""


def _layout(is_64: bool, mark: str) -> Layout:
    word = "Q" if is_64 else "I"
    return Layout(
        is_64,
        mark,
        struct.Struct(f"{mark}HHI{word * 3}IHHHHHH"),
        struct.Struct(mark + ("IIQQQQQQ" if is_64 else "IIIIIIII")),
        struct.Struct(f"{mark}II{word * 4}II{word * 2}"),
        struct.Struct(mark + ("IIQQ" if is_64 else "III")),
    )


LAYOUTS = {(kind, order): _layout(kind == 2, mark) for kind in (1, 2) for order, mark in ((1, "<"), (2, ">"))}
"""By (EI_CLASS, EI_DATA)."""


def segment_from_words(words: tuple[int, ...], is_64: bool) -> Segment:
    """A program header from its unpacked words: the flags stand second in 64-bit files, seventh in 32-bit ones."""
    if is_64:
        return Segment._make(words)
    kind, offset, address, physical, file_size, memory_size, flags, align = words
    return Segment(kind, flags, offset, address, physical, file_size, memory_size, align)
