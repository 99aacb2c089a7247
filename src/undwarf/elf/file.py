"""One ELF file: cheap to open, parsed at first use; damaged parts are counted and left out."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from undwarf.defects import Defects
from undwarf.elf import notes
from undwarf.elf.compression import (
    ELFCOMPRESS_ZLIB,
    ZDEBUG_HEADER,
    CompressionError,
    TooLarge,
    check_size,
    max_unpacked_size,
    unpack,
    unpack_xz,
    zdebug_size,
)
from undwarf.elf.headers import (
    ET_DYN,
    LAYOUTS,
    MAGIC,
    NOT_ELF,
    PF_R,
    PF_W,
    PF_X,
    PN_XNUM,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_XINDEX,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    Layout,
    Section,
    Segment,
    segment_from_words,
)
from undwarf.elf.safe_open import map_regular_file
from undwarf.errors import ElfError
from undwarf.limits import DEFAULT, Limits
from undwarf.mapped_files import MappedFile

if TYPE_CHECKING:
    from undwarf.elf.background_inflate import DeferredBytes

MAX_NAME = 4096
"""Maximum bytes of a section's or linked file's name."""

MAX_NAMES = 64 << 20
"""Maximum bytes of all section names."""


def _is_compressed(section: Section) -> bool:
    return bool(section.flags & SHF_COMPRESSED) or section.name.startswith(".zdebug_")


class ElfFile:
    """An ELF file of any class and byte order (gABI); headers are checked against the file's real size.

    ``data`` are the file's bytes. ``kind`` is the ET_* number, ``machine`` the EM_* number. Damage that leaves
    the rest usable (a section past the end, a corrupt compressed section) is counted in ``defects`` and the
    part is treated as absent. Raises :class:`undwarf.errors.ElfError` if nothing can be read.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_buffer",
        "_deferred",
        "_layout",
        "_section_bytes",
        "_table",
        "_unpacked_sizes",
        "byte_order",
        "data",
        "defects",
        "entry",
        "is_64",
        "kind",
        "limits",
        "machine",
        "path",
        "segments",
    )

    def __init__(
        self,
        buffer: "mmap.mmap | bytes",
        path: str = "",
        *,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        """From the bytes of a file; use :meth:`open` or :meth:`from_bytes`."""
        ident = buffer[:16]
        layout = LAYOUTS.get((ident[4], ident[5])) if len(ident) == 16 and ident[:4] == MAGIC else None
        if layout is None:
            raise ElfError(f"cannot read {path or 'these bytes'}", NOT_ELF)
        if len(buffer) < 16 + layout.header.size:
            raise ElfError(f"cannot read {path or 'these bytes'}", "the ELF header is cut short")
        self.path = path
        self.limits = limits
        self.defects = Defects() if defects is None else defects
        self.is_64 = layout.is_64
        self.byte_order: Literal["little", "big"] = "little" if layout.mark == "<" else "big"
        self.data = memoryview(buffer)
        self._buffer = buffer
        self._layout: Layout = layout
        self._section_bytes: dict[int, memoryview | None] = {}
        self._deferred: dict[int, DeferredBytes] = {}
        self._unpacked_sizes: dict[int, int] = {}
        (
            self.kind,
            self.machine,
            _version,
            self.entry,
            segments_at,
            sections_at,
            _flags,
            _header_size,
            segment_size,
            segment_count,
            section_size,
            section_count,
            names_index,
        ) = layout.header.unpack_from(buffer, 16)
        self._table = (sections_at, section_size, section_count, names_index)
        if segment_count == PN_XNUM:
            first = self._first_section_words()
            segment_count = first[7] if first else 0
        self.segments: tuple[Segment, ...] = self._read_segments(segments_at, segment_size, segment_count)

    @classmethod
    def open(
        cls, path: "str | os.PathLike[str]", *, limits: Limits = DEFAULT, defects: Defects | None = None
    ) -> "ElfFile":
        """Maps a file. Only regular files are opened."""
        name = os.fspath(path)
        return cls(map_regular_file(name), name, limits=limits, defects=defects)

    @classmethod
    def from_bytes(
        cls,
        data: "bytes | bytearray | memoryview",
        name: str = "",
        *,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> "ElfFile":
        """An ELF file in memory (the vdso, an unpacked .gnu_debugdata)."""
        return cls(data if isinstance(data, bytes) else bytes(data), name, limits=limits, defects=defects)

    def __repr__(self) -> str:
        return f"<ElfFile {self.path!r} {'64' if self.is_64 else '32'} bits machine {self.machine}>"

    # Tables ------------------------------------------------------------------------------------------------

    def _bounded_count(self, what: str, at: int, stride: int, count: int) -> int:
        """Number of a table's entries inside the file and the limits; cutting it is counted as a defect."""
        if not count:
            return 0
        room = (len(self._buffer) - at) // stride if at < len(self._buffer) else 0
        bound = min(count, room, self.limits.elf_headers)
        if bound < count:
            self.defects.add(f"{what} headers cut short", self.path, count - bound)
        return bound

    def _read_segments(self, at: int, stride: int, count: int) -> tuple[Segment, ...]:
        layout = self._layout.segment
        if count and stride < layout.size:
            self.defects.add("bad program header size", self.path, detail=str(stride))
            return ()
        count = self._bounded_count("program", at, stride, count)
        is_64 = self.is_64
        if stride == layout.size:
            rows = layout.iter_unpack(self._buffer[at : at + count * stride])
            found = map(Segment._make, rows) if is_64 else (segment_from_words(words, is_64) for words in rows)
        else:
            unpack_from = layout.unpack_from
            found = (segment_from_words(unpack_from(self._buffer, at + i * stride), is_64) for i in range(count))
        return tuple(one for one in found if self._ends_below_2_64(one))

    def _ends_below_2_64(self, segment: Segment) -> bool:
        """Whether the end addresses of a segment fit into 64 bits; if not, that is counted as a defect."""
        largest = max(segment.file_size, segment.memory_size)
        if max(segment.offset, segment.address) + largest <= 1 << 64:
            return True
        self.defects.add("segment past the end of the address space", self.path)
        return False

    def _first_section_words(self) -> tuple[int, ...] | None:
        """Section header 0, which holds the counts that do not fit in the ELF header (gABI, "e_shnum")."""
        at, stride, _count, _names = self._table
        layout = self._layout.section
        if not at or stride < layout.size or at > len(self._buffer) - layout.size:
            return None
        return layout.unpack_from(self._buffer, at)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All section headers in file order, entry 0 (always empty) included."""
        at, stride, count, names_index = self._table
        first = self._first_section_words()
        if first is None:
            if at and count:
                self.defects.add("section headers cut short", self.path, count)
            return ()
        if count == 0:
            count = first[5]
        if names_index == SHN_XINDEX:
            names_index = first[6]
        count = self._bounded_count("section", at, stride, count)
        layout = self._layout.section
        if stride == layout.size:
            rows = list(layout.iter_unpack(self._buffer[at : at + count * stride]))
        else:
            rows = [layout.unpack_from(self._buffer, at + i * stride) for i in range(count)]
        names = b""
        if names_index < len(rows):
            words = rows[names_index]
            if words[1] != SHT_NOBITS and words[5] <= len(self._buffer) - min(words[4], len(self._buffer)):
                names = self._buffer[words[4] : words[4] + min(words[5], MAX_NAMES)]
        found = []
        for index, words in enumerate(rows):
            start = words[0]
            end = names.find(b"\0", start, start + MAX_NAME) if start < len(names) else -1
            name = names[start:end].decode("utf-8", "backslashreplace") if end >= 0 else ""
            found.append(Section(index, name, *words[1:]))
        return tuple(found)

    @cached_property
    def _by_name(self) -> dict[str, Section]:
        found: dict[str, Section] = {}
        for section in self.sections:
            if section.type != SHT_NULL:
                found.setdefault(section.name, section)
        return found

    def section(self, name: str) -> Section | None:
        """The first section of this name; ``.debug_x`` also finds an old compressed ``.zdebug_x``."""
        found = self._by_name.get(name)
        if found is None and name.startswith(".debug_"):
            found = self._by_name.get(".z" + name[1:])
        return found

    def section_data(self, section: "Section | str") -> memoryview | None:
        """A section's bytes, decompressed and cached.

        None if the section is absent, has no bytes in the file, or is damaged (which is counted once).
        """
        wanted = self.section(section) if isinstance(section, str) else section
        if wanted is None:
            return None
        try:
            return self._section_bytes[wanted.index]
        except KeyError:
            data = self._section_bytes[wanted.index] = self._read_section(wanted)
            return data

    def defer(self, name: str) -> "DeferredBytes | None":
        """A section's bytes, for another thread to inflate; None if it is absent, not compressed, or already read."""
        wanted = self.section(name)
        if wanted is None or wanted.index in self._section_bytes or wanted.index in self._deferred:
            return None
        if not _is_compressed(wanted):
            return None
        from undwarf.elf.background_inflate import DeferredBytes

        deferred = self._deferred[wanted.index] = DeferredBytes(lambda: self._unpacked(wanted))
        return deferred

    def section_size(self, name: str) -> int:
        """Size of a section in bytes, uncompressed as its header claims; 0 if it is absent or damaged."""
        wanted = self.section(name)
        if wanted is None or not _is_compressed(wanted):
            return wanted.size if wanted is not None else 0
        try:
            return self._announced(wanted)[1]
        except CompressionError:
            return 0

    def _read_section(self, section: Section) -> memoryview | None:
        if section.type in (SHT_NOBITS, SHT_NULL):
            return None
        size = len(self._buffer)
        if section.offset > size or section.size > size - section.offset:
            self.defects.add("section past the end of the file", self.path, detail=section.name)
            return None
        if not _is_compressed(section):
            return self._packed(section)
        deferred = self._deferred.pop(section.index, None)
        early = deferred.data() if deferred is not None else None
        try:
            return memoryview(self._unpacked(section) if early is None else early)
        except CompressionError as error:
            kind = "compressed section too large" if isinstance(error, TooLarge) else "corrupt compressed section"
            self.defects.add(kind, self.path, detail=f"{section.name}: {error}")
            return None

    def _packed(self, section: Section) -> memoryview:
        return self.data[section.offset : section.offset + section.size]

    def _unpacked(self, section: Section) -> bytes:
        """The bytes of a compressed section; raises CompressionError."""
        kind, size, header = self._announced(section)
        check_size(size, len(self._packed(section)) - header, self.limits)
        with self._within_limit(section.index, size):
            return unpack(kind, self._packed(section)[header:], size, self.limits)

    @contextmanager
    def _within_limit(self, number: int, size: int) -> Iterator[None]:
        """Account for a section that unpacks to ``size`` bytes; raises TooLarge if the sum so far exceeds the limit."""
        others = sum(other for index, other in self._unpacked_sizes.items() if index != number)
        most = max_unpacked_size(len(self._buffer), self.limits)
        if others + size > most:
            raise TooLarge(f"{size:,} bytes, {others + size:,} in all, where {most:,} are the limit of such a file")
        self._unpacked_sizes[number] = size
        try:
            yield
        except CompressionError:
            del self._unpacked_sizes[number]
            raise

    def _announced(self, section: Section) -> tuple[int, int, int]:
        """(ELFCOMPRESS number, uncompressed size, header size) of a compressed section; raises CompressionError."""
        data = self._packed(section)
        if not section.flags & SHF_COMPRESSED:
            return ELFCOMPRESS_ZLIB, zdebug_size(data), ZDEBUG_HEADER
        layout = self._layout.compression
        if len(data) < layout.size:
            raise CompressionError("no compression header")
        words = layout.unpack_from(data)
        return words[0], words[-2], layout.size

    # Identity ----------------------------------------------------------------------------------------------

    @cached_property
    def build_id(self) -> bytes:
        """The GNU build-id from note segments, else note sections; empty if there is none."""
        size = len(self._buffer)
        for segment in self.segments:
            if segment.type == PT_NOTE and segment.offset < size:
                data = self.data[segment.offset : segment.offset + segment.file_size]
                found = notes.build_id(data, self.byte_order, segment.align)
                if found:
                    return found
        for section in self.sections:
            if section.type == SHT_NOTE and section.offset < size:
                data = self.data[section.offset : section.offset + section.size]
                found = notes.build_id(data, self.byte_order, section.align)
                if found:
                    return found
        return b""

    @cached_property
    def debug_link(self) -> tuple[str, int] | None:
        """(file name, CRC-32 of that file) from ``.gnu_debuglink``; the name is untrusted."""
        data = self.section_data(".gnu_debuglink")
        if data is None or len(data) > MAX_NAME + 8:
            return None
        raw = bytes(data)
        end = raw.find(b"\0")
        at = (end + 4) & ~3
        if end <= 0 or len(raw) - at < 4:
            return None
        return os.fsdecode(raw[:end]), int.from_bytes(raw[at : at + 4], self.byte_order)

    @cached_property
    def alt_link(self) -> tuple[str, bytes] | None:
        """(file name, build-id) of the file that dwz moved common parts to; the name is untrusted.

        From ``.gnu_debugaltlink``, else ``.debug_sup`` (DWARF 5, 7.3.6).
        """
        data = self.section_data(".gnu_debugaltlink")
        if data is None:
            return self._supplementary
        if len(data) > MAX_NAME + 64:
            return None
        raw = bytes(data)
        end = raw.find(b"\0")
        return (os.fsdecode(raw[:end]), raw[end + 1 :]) if end > 0 else None

    @property
    def _supplementary(self) -> tuple[str, bytes] | None:
        data = self.section_data(".debug_sup")
        if data is None or not 5 < len(data) <= MAX_NAME + 80:
            return None
        raw = bytes(data)
        end = raw.find(b"\0", 3)
        # A half word with the version, a byte that is 1 in the supplementary file itself, the name, and a checksum
        # whose length is less than 128 for any hash in use.
        if int.from_bytes(raw[:2], self.byte_order) != 5 or raw[2] or end <= 3 or end + 1 >= len(raw):
            return None
        size = raw[end + 1]
        return (os.fsdecode(raw[3:end]), raw[end + 2 : end + 2 + size]) if 0 < size <= len(raw) - end - 2 else None

    @cached_property
    def mini_debug(self) -> "ElfFile | None":
        """The ELF file packed in ``.gnu_debugdata`` (MiniDebugInfo: a .symtab of functions)."""
        data = self.section_data(".gnu_debugdata")
        if data is None:
            return None
        name = f"{self.path}[.gnu_debugdata]"
        try:
            unpacked = unpack_xz(data, self.limits, max_unpacked_size(len(self._buffer), self.limits))
            return ElfFile(unpacked, name, limits=self.limits, defects=self.defects)
        except (CompressionError, ElfError) as error:
            self.defects.add("corrupt .gnu_debugdata", self.path, detail=str(error))
            return None

    # Addresses ---------------------------------------------------------------------------------------------

    @cached_property
    def loads(self) -> tuple[Segment, ...]:
        """The loaded segments.

        An ELF file that `perf inject --jit` made of a function may have no program headers: its loaded sections
        then count, which are mapped as they lie in the file (tools/perf/util/genelf.c).
        """
        found = tuple(segment for segment in self.segments if segment.type == PT_LOAD)
        if found or self.kind != ET_DYN:
            return found
        return tuple(
            Segment(
                PT_LOAD,
                PF_R | (PF_X if one.flags & SHF_EXECINSTR else 0) | (PF_W if one.flags & SHF_WRITE else 0),
                one.offset,
                one.address,
                one.address,
                one.size,
                one.size,
                one.align,
            )
            for one in self.sections
            if one.flags & SHF_ALLOC and one.type not in (SHT_NOBITS, SHT_NULL)
        )

    def address_of_offset(self, file_offset: int) -> int | None:
        """The ELF virtual address at a file offset, by the PT_LOAD that contains it; None outside of all."""
        for segment in self.loads:
            if segment.offset <= file_offset < segment.offset + segment.file_size:
                return file_offset - segment.offset + segment.address
        return None

    def offset_of_address(self, address: int) -> int | None:
        """The file offset of an ELF virtual address; None if no PT_LOAD has file bytes for it."""
        for segment in self.loads:
            if segment.address <= address < segment.address + segment.file_size:
                return address - segment.address + segment.offset
        return None

    @property
    def was_cut(self) -> bool:
        """Whether the file was truncated while it was read, so that its bytes must not be cached."""
        return isinstance(self._buffer, MappedFile) and self._buffer.was_cut

    def release(self, *, unpacked: bool = True) -> None:
        """Release the pages that were read, and decompressed sections unless ``unpacked`` is False.

        To be called after reading whole sections, so that large files do not add up in memory. Later uses read, and
        decompress, again.
        """
        if unpacked:
            self._section_bytes.clear()
        if isinstance(self._buffer, mmap.mmap):
            self._buffer.madvise(mmap.MADV_DONTNEED)

    def forget_sections(self) -> None:
        """Drop the section headers, 16 KB of a usual library, until they are needed again."""
        for name in ("sections", "_by_name"):
            self.__dict__.pop(name, None)

    def read(self, address: int, size: int, *, writable: bool = False) -> memoryview | None:
        """``size`` bytes as loaded at an ELF virtual address, where the file backs all of them.

        Only from segments that are not writable at run time, unless ``writable`` is set.
        """
        for segment in self.loads:
            within = address - segment.address
            if 0 <= within < segment.file_size and (writable or not segment.flags & PF_W):
                start = segment.offset + within
                if size > segment.file_size - within or size > len(self._buffer) - start or size < 0:
                    return None
                return self.data[start : start + size]
        return None
