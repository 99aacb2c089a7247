"""Rebuilds ELF files from the memory of a process that maps them, if the files themselves are gone.

Loaded segments have the unwind information and the dynamic symbols. Section headers are not loaded, so new ones are
written for the dynamic symbols. Source: gABI chapters 4 and 5 (program loading, dynamic section).
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from undwarf.elf import ElfFile
from undwarf.elf.headers import PT_DYNAMIC, SHT_DYNSYM, SHT_STRTAB
from undwarf.errors import ElfError

HEAD = 1 << 16
"""Bytes at the start of a mapped file in which its build-id is searched."""
MAX_BYTES = 256 << 20
"""Bytes of one file that are read from memory."""
MAX_SYMBOLS = 1 << 20

_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 4, 5, 6, 10
_SYMBOL = 24


class Range(NamedTuple):
    """A mapped part of a file: addresses, offset in the file, and whether it is readable and not writable."""

    start: int
    end: int
    offset: int
    constant: bool


def same_head(elf: ElfFile, read: Callable[[int, int], bytes], ranges: Sequence[Range]) -> bool:
    """Whether ELF header and program headers of a file equal those in memory; True if they are not mapped."""
    for part in ranges:
        if part.offset == 0:
            size = 64 + 56 * min(len(elf.segments), 64)
            head = read(part.start, part.start + min(size, part.end - part.start))
            return head == elf.data[: len(head)]
    return True


def remains(read: Callable[[int, int], bytes], ranges: Sequence[Range], name: str) -> ElfFile | None:
    """The file rebuilt from its readable, not writable mappings; None if that is no usable ELF file.

    ``read(start, end)`` gives memory from ``start`` on, to ``end`` at most.
    """
    parts = [part for part in ranges if part.constant and part.offset + part.end - part.start <= MAX_BYTES]
    first = next((part for part in parts if part.offset == 0), None)
    if first is None:
        return None
    image = bytearray()
    for part in parts:
        data = read(part.start, part.end)
        if len(image) < part.offset + len(data):
            image.extend(bytes(part.offset + len(data) - len(image)))
        image[part.offset : part.offset + len(data)] = data
    if len(image) < 64 or image[:5] != b"\x7fELF\2" or image[5] != 1:
        return None
    # Section headers are not in a loaded segment.
    image[40:48] = bytes(8)
    image[58:64] = struct.pack("<HHH", 64, 0, 0)
    try:
        elf = ElfFile.from_bytes(bytes(image), name)
        return _with_symbols(elf, image, read, first.start) or elf
    except (ElfError, struct.error):
        return None


def _with_symbols(elf: ElfFile, image: bytearray, read: Callable[[int, int], bytes], start: int) -> ElfFile | None:
    """The file with section headers for its dynamic symbols; None if it has none."""
    if not elf.loads:
        return None
    bias = start - elf.loads[0].address + elf.loads[0].offset
    dynamic = next((part for part in elf.segments if part.type == PT_DYNAMIC), None)
    if dynamic is None:
        return None
    at = dynamic.address + bias
    data = read(at, at + min(dynamic.memory_size, 1 << 16))
    entries = dict(struct.iter_unpack("<QQ", data[: len(data) & ~15]))

    def offset(tag: int) -> int | None:
        # Some loaders put run-time addresses into the dynamic section.
        value = entries.get(tag, 0)
        return elf.offset_of_address(value - bias if bias and value >= bias else value) if value else None

    symbols, strings, size = offset(_DT_SYMTAB), offset(_DT_STRTAB), entries.get(_DT_STRSZ, 0)
    if symbols is None or strings is None or strings + size > len(image):
        return None
    count = (strings - symbols) // _SYMBOL if strings > symbols else 0
    table = offset(_DT_HASH)
    if table is not None and table + 8 <= len(image):
        (count,) = struct.unpack_from("<I", image, table + 4)
    count = min(count, (len(image) - symbols) // _SYMBOL, MAX_SYMBOLS)
    if count <= 1:
        return None
    names = b"\0.dynsym\0.dynstr\0.shstrtab\0"
    names_at = len(image)
    image += names
    image += bytes(-len(image) % 8)
    headers_at = len(image)
    base = elf.loads[0].address
    image += bytes(64)
    image += struct.pack("<IIQQQQIIQQ", 1, SHT_DYNSYM, 2, base + symbols, symbols, _SYMBOL * count, 2, 1, 8, _SYMBOL)
    image += struct.pack("<IIQQQQIIQQ", 9, SHT_STRTAB, 2, base + strings, strings, size, 0, 0, 1, 0)
    image += struct.pack("<IIQQQQIIQQ", 17, SHT_STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0)
    image[40:48] = struct.pack("<Q", headers_at)
    image[58:64] = struct.pack("<HHH", 64, 4, 3)
    return ElfFile.from_bytes(bytes(image), elf.path)


def build_id_of(head: bytes) -> bytes:
    """The build-id in the first bytes of a mapped ELF file; empty if there is none."""
    try:
        return ElfFile.from_bytes(head).build_id
    except ElfError:
        return b""
