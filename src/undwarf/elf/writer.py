"""Writes sections to ELF files: a file with nothing else, or a copy of a file with the sections added and loaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from undwarf.elf.file import ElfFile
from undwarf.elf.headers import LAYOUTS, Section, Segment
from undwarf.errors import ElfError

_PAGE = 0x1000
_MOST_PAGE = 0x200000
"""No page is larger; a file whose segments ask for more is not followed."""
_PT_LOAD = 1
_PT_PHDR = 6
_PF_R = 4
_SHT_STRTAB = 3


@dataclass(slots=True)
class NewSection:
    """A section to be written: ``place(addresses)`` gives its ``size`` bytes once the addresses of all new sections
    are known, by name. ``segment`` is the type of a program header that is to point to it, 0 for none."""

    name: str
    type: int
    flags: int
    align: int
    size: int
    place: "Callable[[dict[str, int]], bytes]"
    segment: int = 0
    link: str = ""
    """The name of another new section that this one refers to."""


def file_of_sections(elf: ElfFile, sections: Sequence[NewSection]) -> bytes:
    """An ELF file of the same machine with only these sections, at their addresses in :func:`with_sections`."""
    layout = _Layout(elf, sections)
    made = _Headers(elf)
    at = made.header_size
    placed = []
    for section, address in zip(sections, layout.section_addresses, strict=True):
        at = _up(at, max(section.align, 1))
        placed.append((section, address, at))
        at += section.size
    body = bytearray(at)
    for section, _, offset in placed:
        body[offset : offset + section.size] = _bytes_of(section, layout.addresses)
    return made.finish(body, [], placed, 0, 0)


def with_sections(elf: ElfFile, sections: Sequence[NewSection]) -> bytes:
    """A copy of a linked file with these sections appended, loaded, and referenced by program headers.

    They replace sections of the same names. Raises ElfError for a file without segments.
    """
    if not any(segment.type == _PT_LOAD for segment in elf.segments):
        raise ElfError(f"{elf.path} has no segments that are loaded", "a section cannot be added to it")
    layout = _Layout(elf, sections)
    made = _Headers(elf)
    body = bytearray(elf.data)
    body.extend(bytes(layout.offset - len(body)))
    body.extend(bytes(layout.size))
    placed = []
    for section, address in zip(sections, layout.section_addresses, strict=True):
        offset = layout.offset + address - layout.address
        body[offset : offset + section.size] = _bytes_of(section, layout.addresses)
        placed.append((section, address, offset))
    segments = layout.segments()
    table = b"".join(made.segment_bytes(segment) for segment in segments)
    body[layout.offset : layout.offset + len(table)] = table
    return made.finish(body, elf.sections, placed, layout.offset, len(segments))


def _bytes_of(section: NewSection, addresses: dict[str, int]) -> bytes:
    data = section.place(addresses)
    if len(data) != section.size:
        raise AssertionError(f"{section.name} has {len(data)} bytes, not {section.size}")
    return data


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


class _Layout:
    """The addresses of new sections: on separate pages after the last segment, starting with a new program header
    table, which must be in a loaded segment."""

    def __init__(self, elf: ElfFile, sections: Sequence[NewSection]) -> None:
        self._elf = elf
        self._sections = sections
        loads = [segment for segment in elf.segments if segment.type == _PT_LOAD]
        page = min(max([_PAGE, *(segment.align for segment in loads)]), _MOST_PAGE)
        self.page = page
        wanted = {section.segment for section in sections if section.segment}
        self._kept = [segment for segment in elf.segments if segment.type not in wanted]
        count = len(self._kept) + 1 + sum(1 for section in sections if section.segment)
        stride = LAYOUTS[2 if elf.is_64 else 1, 1 if elf.byte_order == "little" else 2].segment.size
        self.address = _up(max([0, *(load.address + load.memory_size for load in loads)]), page)
        self.offset = _up(len(elf.data), page)
        at = self.address + count * stride
        self.section_addresses = []
        for section in sections:
            at = _up(at, max(section.align, 1))
            self.section_addresses.append(at)
            at += section.size
        self.size = at - self.address
        if max(at, self.offset + self.size) >= 1 << (63 if elf.is_64 else 31):
            raise ElfError(f"{elf.path} leaves no addresses free", "its segments reach to the end of memory")
        self._table_size = count * stride
        self.addresses = {
            section.name: address for section, address in zip(sections, self.section_addresses, strict=True)
        }

    def segments(self) -> list[Segment]:
        """The program headers of a copy; loaded ones in ascending order."""
        found = []
        last = max(i for i, segment in enumerate(self._kept) if segment.type == _PT_LOAD)
        address, offset = self.address, self.offset
        for i, segment in enumerate(self._kept):
            if segment.type == _PT_PHDR:
                size = self._table_size
                segment = segment._replace(
                    offset=offset, address=address, physical=address, file_size=size, memory_size=size
                )
            found.append(segment)
            if i == last:
                found.append(Segment(_PT_LOAD, _PF_R, offset, address, address, self.size, self.size, self.page))
        for section, place in zip(self._sections, self.section_addresses, strict=True):
            if section.segment:
                where = offset + place - address
                found.append(
                    Segment(section.segment, _PF_R, where, place, place, section.size, section.size, section.align)
                )
        return found


class _Headers:
    """Headers of a file of the same class, byte order and machine."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._layout = LAYOUTS[2 if elf.is_64 else 1, 1 if elf.byte_order == "little" else 2]
        self.header_size = 16 + self._layout.header.size

    def segment_bytes(self, segment: Segment) -> bytes:
        """A program header."""
        words = tuple(segment)
        if not self._elf.is_64:
            kind, flags, *rest = words
            offset, address, physical, file_size, memory_size, align = rest
            words = (kind, offset, address, physical, file_size, memory_size, flags, align)
        return self._layout.segment.pack(*words)

    def finish(
        self,
        body: bytearray,
        kept: "Sequence[Section]",
        placed: "list[tuple[NewSection, int, int]]",
        segments_at: int,
        segments: int,
    ) -> bytes:
        """The file: ``body`` with section names, section headers and the file header put in."""
        names = bytearray(b"\0")

        def name_of(name: str) -> int:
            at = len(names)
            names.extend(name.encode("utf-8", "surrogateescape") + b"\0")
            return at if name else 0

        # Symbols refer to sections by index, so existing indices do not change.
        rows: list[tuple[int, ...]] = [(name_of(section.name), *section[2:]) for section in kept] or [(0,) * 10]
        numbers = {section.name: number for number, section in enumerate(kept)}
        for section, address, offset in placed:
            link = numbers.get(section.link, 0)
            row = (section.type, section.flags, address, offset, section.size, link, 0, section.align, 0)
            number = numbers.get(section.name)
            if number is not None:
                rows[number] = (rows[number][0], *row)
            else:
                numbers[section.name] = len(rows)
                rows.append((name_of(section.name), *row))
        strings = numbers.get(".shstrtab", len(rows))
        name = rows[strings][0] if strings < len(rows) else name_of(".shstrtab")
        rows[strings : strings + 1] = [(name, _SHT_STRTAB, 0, 0, len(body), len(names), 0, 0, 1, 0)]
        body += names
        body.extend(bytes(-len(body) % 8))
        sections_at = len(body)
        for words in rows:
            body += self._layout.section.pack(*words)
        self._file_header(body, segments_at, segments, sections_at, len(rows), strings)
        return bytes(body)

    def _file_header(
        self, body: bytearray, segments_at: int, segments: int, sections_at: int, sections: int, strings: int
    ) -> None:
        elf, layout = self._elf, self._layout
        if max(segments, sections) >= 0xFF00:
            raise ElfError(f"{elf.path} has too many sections", "one more does not fit")
        ident = bytes(elf.data[:16])
        words = list(layout.header.unpack_from(elf.data, 16))
        words[4], words[5] = segments_at, sections_at
        words[7] = self.header_size
        words[8], words[9] = layout.segment.size if segments else 0, segments
        words[10:13] = layout.section.size, sections, strings
        body[: self.header_size] = ident + layout.header.pack(*words)
