"""Makes small ELF files from tuples, of either class and byte order."""

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

SHF_COMPRESSED = 0x800


class Section(NamedTuple):
    """One section; ``link`` may be the name of another one."""

    name: str
    data: bytes = b""
    type: int = 1
    flags: int = 0
    address: int = 0
    link: "int | str" = 0
    info: int = 0
    align: int = 1
    entry_size: int = 0
    size: int | None = None  # of a section without bytes


class Segment(NamedTuple):
    """One program header; ``of`` names the section whose place in the file it takes."""

    type: int
    flags: int
    address: int
    of: str = ""
    offset: int = 0
    file_size: int = 0
    memory_size: int | None = None
    align: int = 4096


class Symbol(NamedTuple):
    """One symbol; ``section`` is a section's name, or a number."""

    name: str
    value: int
    size: int = 0
    type: int = 2
    binding: int = 1
    section: "int | str" = ".text"
    other: int = 0


@dataclass
class Elf:
    """An ELF file to be; :meth:`build` gives its bytes."""

    sections: list[Section] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    is_64: bool = True
    big: bool = False
    machine: int = 62
    kind: int = 3
    entry: int = 0
    extended: bool = False  # counts in section header 0, as with more than 65,279 sections

    @property
    def mark(self) -> str:
        return ">" if self.big else "<"

    def note(self, kind: int, descriptor: bytes, owner: bytes = b"GNU\0", pad: int = 4) -> bytes:
        """The bytes of one note."""
        head = struct.pack(f"{self.mark}III", len(owner), len(descriptor), kind) + owner
        head += b"\0" * (-len(head) % pad)
        return head + descriptor + b"\0" * (-len(descriptor) % pad)

    def compressed(self, kind: int, packed: bytes, size: int) -> bytes:
        """A compression header and what follows it."""
        words = (kind, 0, size, 1) if self.is_64 else (kind, size, 1)
        return struct.pack(self.mark + ("IIQQ" if self.is_64 else "III"), *words) + packed

    def symbol_table(self, symbols: list[Symbol]) -> tuple[bytes, bytes]:
        """(.symtab, .strtab) bytes; sections are numbered as in ``sections`` from 1 on."""
        numbers = {section.name: i + 1 for i, section in enumerate(self.sections)}
        strings = b"\0"
        table = b"\0" * (24 if self.is_64 else 16)
        for symbol in symbols:
            name = len(strings) if symbol.name else 0
            strings += symbol.name.encode() + b"\0" if symbol.name else b""
            section = symbol.section if isinstance(symbol.section, int) else numbers[symbol.section]
            info = symbol.binding << 4 | symbol.type
            if self.is_64:
                table += struct.pack(f"{self.mark}IBBHQQ", name, info, symbol.other, section, symbol.value, symbol.size)
            else:
                table += struct.pack(f"{self.mark}IIIBBH", name, symbol.value, symbol.size, info, symbol.other, section)
        return table, strings

    def add_symbols(self, symbols: list[Symbol], dynamic: bool = False) -> "Elf":
        """Appends a symbol table and its strings."""
        table, strings = self.symbol_table(symbols)
        names = (".dynsym", ".dynstr") if dynamic else (".symtab", ".strtab")
        entry = 24 if self.is_64 else 16
        self.sections.append(Section(names[0], table, 11 if dynamic else 2, 0, 0, names[1], 1, 8, entry))
        self.sections.append(Section(names[1], strings, 3))
        return self

    def build(self) -> bytes:
        """The file: header, program headers, sections' bytes, section headers."""
        mark, is_64 = self.mark, self.is_64
        header_size, segment_size, section_size = (64, 56, 64) if is_64 else (52, 32, 40)
        names = b"\0"
        name_at = []
        for section in (*self.sections, Section(".shstrtab")):
            name_at.append(len(names))
            names += section.name.encode() + b"\0"
        all_sections = [*self.sections, Section(".shstrtab", names, 3)]
        body = b""
        at = header_size + segment_size * len(self.segments)
        offsets = {}
        placed = []
        for section in all_sections:
            body += b"\0" * (-(at + len(body)) % max(section.align, 1))
            offsets.setdefault(section.name, at + len(body))
            placed.append(at + len(body))
            body += section.data
        sizes = {section.name: len(section.data) for section in all_sections}
        numbers = {section.name: i + 1 for i, section in enumerate(all_sections)}
        sections_at = at + len(body)
        count = len(all_sections) + 1
        rows = [
            (
                0, 0, 0, 0, 0,
                count if self.extended else 0,
                count - 1 if self.extended else 0,
                len(self.segments) if self.extended else 0,
                0, 0,
            )
        ]  # fmt: skip  # a table
        for i, section in enumerate(all_sections):
            link = section.link if isinstance(section.link, int) else numbers[section.link]
            size = len(section.data) if section.size is None else section.size
            rows.append(
                (
                    name_at[i], section.type, section.flags, section.address, placed[i], size, link,
                    section.info, section.align, section.entry_size,
                )
            )  # fmt: skip  # rows of fields
        word = "Q" if is_64 else "I"
        table = b"".join(struct.pack(f"{mark}II{word * 4}II{word * 2}", *row) for row in rows)
        segments = b""
        for segment in self.segments:
            offset = offsets[segment.of] if segment.of else segment.offset
            file_size = segment.file_size or (sizes[segment.of] if segment.of else 0)
            memory = file_size if segment.memory_size is None else segment.memory_size
            words = (offset, segment.address, segment.address, file_size, memory)
            if is_64:
                segments += struct.pack(f"{mark}IIQQQQQQ", segment.type, segment.flags, *words, segment.align)
            else:
                segments += struct.pack(f"{mark}IIIIIIII", segment.type, *words, segment.flags, segment.align)
        ident = b"\x7fELF" + bytes([2 if is_64 else 1, 2 if self.big else 1, 1]) + b"\0" * 9
        head = struct.pack(
            f"{mark}HHI{word * 3}IHHHHHH", self.kind, self.machine, 1, self.entry,
            header_size if self.segments else 0, sections_at, 0, header_size, segment_size,
            0xFFFF if self.extended else len(self.segments), section_size,
            0 if self.extended else count, 0xFFFF if self.extended else count - 1,
        )  # fmt: skip  # rows of fields
        return ident + head + segments + body + table


BUILD_ID = bytes(range(20))


def program(build_id: bytes = BUILD_ID, symbols: "list[Symbol] | None" = None, **options: object) -> Elf:
    """A file with code at 0x1000, read-only data at 0x2000, a build-id, and maybe symbols."""
    elf = Elf(**options)
    elf.sections = [
        Section(".text", bytes(range(256)), 1, 6, 0x1000, align=16),
        Section(".rodata", b"read-only data!!", 1, 2, 0x2000, align=16),
        Section(".data", b"written", 1, 3, 0x3000, align=16),
        Section(".bss", b"", 8, 3, 0x4000, size=64),
    ]
    elf.segments = [
        Segment(1, 5, 0x1000, ".text"),
        Segment(1, 4, 0x2000, ".rodata"),
        Segment(1, 6, 0x3000, ".data", memory_size=0x100),
    ]
    if build_id:
        elf.sections.append(Section(".note.gnu.build-id", elf.note(3, build_id), 7, 2, 0x500, align=4))
        elf.segments.append(Segment(4, 4, 0x500, ".note.gnu.build-id", align=4))
    if symbols:
        elf.add_symbols(symbols)
    return elf
