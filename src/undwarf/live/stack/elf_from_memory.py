"""ELF files rebuilt from the memory of a process that maps them, where the files themselves are gone.

Loaded segments hold the unwind information and the dynamic symbols. Section headers are not loaded, so those of the
dynamic symbols are written anew. Source: gABI chapters 4 and 5 (program loading, dynamic section).
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from undwarf.elf import ElfFile
from undwarf.elf.headers import PT_DYNAMIC, SHT_DYNSYM, SHT_STRTAB
from undwarf.errors import ElfError

HEAD = 1 << 16
"""Bytes of a mapped file in which its build-id is looked for."""
MAX_BYTES = 256 << 20
"""Bytes of one file that are read back."""
MAX_SYMBOLS = 1 << 20

_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 4, 5, 6, 10
_SYMBOL = 24


class Range(NamedTuple):
    """A mapped part of a file: addresses, the offset in the file, and whether it may be read and is never written."""

    start: int
    end: int
    offset: int
    constant: bool


def same_head(elf: ElfFile, read: Callable[[int, int], bytes], ranges: Sequence[Range]) -> bool:
    """Whether a file begins as what is mapped: ELF header and program headers; True where memory cannot tell."""
    for part in ranges:
        if part.offset == 0:
            size = 64 + 56 * min(len(elf.segments), 64)
            head = read(part.start, part.start + min(size, part.end - part.start))
            return head == elf.data[: len(head)]
    return True


def remains(read: Callable[[int, int], bytes], ranges: Sequence[Range], name: str) -> ElfFile | None:
    """The file as far as it is mapped and never written; None where that is no usable ELF file.

    ``read(start, end)`` gives memory from ``start`` on, to ``end`` at most.
    """
    parts = [part for part in ranges if part.constant and part.offset + part.end - part.start <= MAX_BYTES]
    first = next((part for part in parts if part.offset == 0), None)
    if first is None:
        return None
    made = bytearray()
    for part in parts:
        data = read(part.start, part.end)
        if len(made) < part.offset + len(data):
            made.extend(bytes(part.offset + len(data) - len(made)))
        made[part.offset : part.offset + len(data)] = data
    if len(made) < 64 or made[:5] != b"\x7fELF\2" or made[5] != 1:
        return None
    # Section headers lie behind what is loaded.
    made[40:48] = bytes(8)
    made[58:64] = struct.pack("<HHH", 64, 0, 0)
    try:
        elf = ElfFile.from_bytes(bytes(made), name)
        return _with_symbols(elf, made, read, first.start) or elf
    except (ElfError, struct.error):
        return None


def _with_symbols(elf: ElfFile, made: bytearray, read: Callable[[int, int], bytes], start: int) -> ElfFile | None:
    """The same with section headers for its dynamic symbols; None where it has none."""
    if not elf.loads:
        return None
    bias = start - elf.loads[0].address + elf.loads[0].offset
    dynamic = next((part for part in elf.segments if part.type == PT_DYNAMIC), None)
    if dynamic is None:
        return None
    at = dynamic.address + bias
    data = read(at, at + min(dynamic.memory_size, 1 << 16))
    found = dict(struct.iter_unpack("<QQ", data[: len(data) & ~15]))

    def offset(tag: int) -> int | None:
        # The loader has put run-time addresses into the dynamic section, or left it as it was.
        value = found.get(tag, 0)
        place = elf.offset_of_address(value - bias if bias and value >= bias else value)
        return place if value else None

    symbols, strings, size = offset(_DT_SYMTAB), offset(_DT_STRTAB), found.get(_DT_STRSZ, 0)
    if symbols is None or strings is None or strings + size > len(made):
        return None
    count = (strings - symbols) // _SYMBOL if strings > symbols else 0
    table = offset(_DT_HASH)
    if table is not None and table + 8 <= len(made):
        (count,) = struct.unpack_from("<I", made, table + 4)
    count = min(count, (len(made) - symbols) // _SYMBOL, MAX_SYMBOLS)
    if count <= 1:
        return None
    names = b"\0.dynsym\0.dynstr\0.shstrtab\0"
    names_at = len(made)
    made += names
    made += bytes(-len(made) % 8)
    headers_at = len(made)
    base = elf.loads[0].address
    made += bytes(64)
    made += struct.pack("<IIQQQQIIQQ", 1, SHT_DYNSYM, 2, base + symbols, symbols, _SYMBOL * count, 2, 1, 8, _SYMBOL)
    made += struct.pack("<IIQQQQIIQQ", 9, SHT_STRTAB, 2, base + strings, strings, size, 0, 0, 1, 0)
    made += struct.pack("<IIQQQQIIQQ", 17, SHT_STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0)
    made[40:48] = struct.pack("<Q", headers_at)
    made[58:64] = struct.pack("<HHH", 64, 4, 3)
    return ElfFile.from_bytes(bytes(made), elf.path)


def build_id_of(head: bytes) -> bytes:
    """The build-id in the first bytes of a mapped ELF file; empty where there is none."""
    try:
        return ElfFile.from_bytes(head).build_id
    except ElfError:
        return b""
