"""The fixed structures of an ELF file: file header, program headers, section headers.

Source: System V ABI, gABI chapters 4 and 5. The four layouts (32 or 64 bits, little or big endian) differ
only in their :class:`Layout`.
"""

import struct
from typing import Final, NamedTuple

PT_LOAD: Final = 1
PT_DYNAMIC: Final = 2
PT_INTERP: Final = 3
PT_NOTE: Final = 4
PF_X: Final = 1
PF_W: Final = 2
PF_R: Final = 4
SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_DYNSYM: Final = 11
SHT_SYMTAB_SHNDX: Final = 18
SHF_WRITE: Final = 1
SHF_ALLOC: Final = 2
SHF_EXECINSTR: Final = 4
SHF_COMPRESSED: Final = 0x800
ET_REL: Final = 1
ET_EXEC: Final = 2
ET_DYN: Final = 3
ET_CORE: Final = 4
EM_NONE: Final = 0
EM_386: Final = 3
EM_S390: Final = 22
EM_ARM: Final = 40
EM_X86_64: Final = 62
EM_AARCH64: Final = 183
EM_RISCV: Final = 243
EM_LOONGARCH: Final = 258
PN_XNUM: Final = 0xFFFF
SHN_XINDEX: Final = 0xFFFF

MAGIC: Final = b"\x7fELF"
NOT_ELF: Final = "not an ELF file"
"""Why a file without it cannot be read as one."""


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
    """How one class (32 or 64 bits) and byte order lays its structures out."""

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


LAYOUTS: Final = {(kind, order): _layout(kind == 2, mark) for kind in (1, 2) for order, mark in ((1, "<"), (2, ">"))}
"""By the bytes EI_CLASS and EI_DATA."""


def segment_from_words(words: tuple[int, ...], is_64: bool) -> Segment:
    """A program header from its unpacked words: the flags stand second in 64-bit files, seventh in 32-bit ones."""
    if is_64:
        return Segment._make(words)
    kind, offset, address, physical, file_size, memory_size, flags, align = words
    return Segment(kind, flags, offset, address, physical, file_size, memory_size, align)
