"""Makes ELF files with ORC sections from tuples."""

import struct

from tests.support.elf_builder import Elf, Section, Segment, Symbol

from undwarf.elf import ElfFile

TEXT = 0x401000
SLOTS = 0x500000
HEADER_3 = bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24")
HEADER_4 = bytes.fromhex("137c36ad7627c4dd55932176bb0ecdbd5041fc82")
HEADER_LOONGARCH = bytes.fromhex("d9f45aafc6d2a2889d601ec9e3fe1092dac249dc")


def value(flags: int, offset: int = 0, bp_offset: int = 0) -> int:
    """An x86 entry as a number: the flags are as in the file, register numbers and all."""
    return offset & 0xFFFF | (bp_offset & 0xFFFF) << 16 | flags << 32


def entry_bytes(entries: "list[int]", size: int = 6) -> bytes:
    return b"".join(one.to_bytes(size, "little") for one in entries)


def linked(
    rows: "list[tuple[int, int]]",
    *,
    header: bytes = HEADER_3,
    machine: int = 62,
    size: int = 6,
    text: int = TEXT,
    code: bytes = bytes(0x1000),
    slots: int = SLOTS,
) -> bytes:
    """A linked file; ``rows`` are (address, entry)."""
    elf = Elf(machine=machine, kind=2)
    distances = b"".join(struct.pack("<i", address - slots - 4 * i) for i, (address, _one) in enumerate(rows))
    elf.sections = [
        Section(".text", code, 1, 6, text, align=16),
        Section(".orc_unwind_ip", distances, 1, 2, slots, align=4),
        Section(".orc_unwind", entry_bytes([one for _address, one in rows], size), 1, 2, slots + 0x10000),
    ]
    if header:
        elf.sections.append(Section(".orc_header", header, 1, 2, slots + 0x20000))
    elf.segments = [Segment(1, 5, text, ".text"), Segment(1, 4, slots, ".orc_unwind_ip")]
    return elf.build()


def module(
    rows: "list[tuple[str, int, int]]",
    sections: "dict[str, int]",
    *,
    header: bytes = HEADER_3,
    kind: int = 2,
    machine: int = 62,
) -> bytes:
    """A file that is not linked; ``rows`` are (section, offset, entry), ``sections`` sizes of code."""
    elf = Elf(machine=machine, kind=1)
    elf.sections = [Section(name, bytes(size), 1, 6, 0, align=16) for name, size in sections.items()]
    names = list(sections)
    relocations = b"".join(
        struct.pack("<QQq", 4 * i, (names.index(name) + 1) << 32 | kind, offset)
        for i, (name, offset, _one) in enumerate(rows)
    )
    entries = entry_bytes([one for _name, _offset, one in rows], 8 if machine == 258 else 6)
    place = len(elf.sections) + 1
    elf.sections += [
        Section(".orc_unwind_ip", bytes(4 * len(rows)), 1, 2),
        Section(".orc_unwind", entries, 1, 2),
        Section(".rela.orc_unwind_ip", relocations, 4, 0x40, 0, ".symtab", place, 8, 24),
    ]
    if header:
        elf.sections.append(Section(".orc_header", header, 1, 2))
    symbols = [Symbol("", 0, 0, 3, 0, name) for name in names]
    functions = [Symbol(f"in_{name.strip('.').replace('.', '_')}", 0, sections[name], 2, 1, name) for name in names]
    elf.add_symbols(symbols + functions)
    return elf.build()


def file_of(data: bytes, name: str = "built") -> ElfFile:
    return ElfFile.from_bytes(data, name)
