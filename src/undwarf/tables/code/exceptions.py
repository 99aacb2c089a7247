"""Landing pads of calls that throw exceptions, from the language-specific data of `.eh_frame` entries.

Sources: LSB Core generic, 10.6 (augmentations ``L`` and ``P``); the Itanium C++ ABI's exception handling tables, as
gcc/except.cc writes them.
"""

from collections.abc import Iterator

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.cfi.cie import Cie, read_cie
from undwarf.tables.cfi.entry_kinds import RESERVED_LENGTH
from undwarf.tables.cfi.pointers import OMITTED, Malformed, read_leb, read_number, read_pointer

__all__ = ["LandingPads"]


class LandingPads:
    """Landing pads by function. ``entries`` has the address of each function's `.eh_frame` entry, by the function's
    start; without it all entries are read once. Damaged entries are left out."""

    def __init__(self, elf: ElfFile, limits: Limits, entries: "dict[int, int] | None" = None) -> None:
        self._elf = elf
        self._limits = limits
        self._entries = entries or None
        section = elf.section(".eh_frame")
        self._data = elf.section_data(section) if section is not None else None
        self._address = section.address if section is not None else 0
        self._cies: dict[int, Cie | None] = {}

    def of(self, start: int) -> list[tuple[int, int, int]]:
        """(first, end, target) of the ranges of a function's calls that may throw."""
        if self._data is None:
            return []
        if self._entries is None:
            self._entries = {}
            for at in self._all():
                found = self._entry(at)
                if found is not None:
                    self._entries[found[0]] = self._address + at
        at = self._entries.get(start, 0) - self._address
        found = self._entry(at) if 0 <= at < len(self._data) else None
        if found is None or found[0] != start or not found[1]:
            return []
        try:
            return _call_sites(self._elf, found[1], start, self._limits)
        except Malformed:
            return []

    def _all(self) -> Iterator[int]:
        data = self._data
        at = count = 0
        while data is not None and at + 8 <= len(data) and count < self._limits.fdes:
            count += 1
            length = int.from_bytes(data[at : at + 4], "little")
            if length == 0 or length >= RESERVED_LENGTH:
                return
            yield at
            at += 4 + length

    def _entry(self, at: int) -> tuple[int, int] | None:
        """(start, table) of the entry there; the table 0 where it has none."""
        data = self._data
        if data is None or at + 8 > len(data):
            return None
        begin = at + 4
        end = begin + int.from_bytes(data[at:begin], "little")
        back = int.from_bytes(data[begin : begin + 4], "little")
        if not 0 < back <= begin or end > len(data):
            return None
        offset = begin - back
        if offset not in self._cies:
            self._cies[offset] = read_cie(data, offset, address=self._address, debug=False, word=8)
        cie = self._cies[offset]
        if cie is None or cie.table_encoding == OMITTED:
            return None
        try:
            return _entry(data, begin + 4, end, cie, self._address)
        except Malformed:
            return None


def _entry(data: memoryview, at: int, end: int, cie: Cie, address: int) -> tuple[int, int]:
    """(start, table) of an entry; the table 0 where it has none."""
    start, at = read_pointer(data, at, end, cie.encoding, address=address, word=8)
    _, at = read_pointer(data, at, end, cie.encoding & 15, address=address, word=8)
    _, at = read_leb(data, at, end)
    table, _ = read_pointer(data, at, end, cie.table_encoding, address=address, word=8)
    return start, table


def _call_sites(elf: ElfFile, table: int, start: int, limits: Limits) -> list[tuple[int, int, int]]:
    """The call sites of one function's table."""
    data: memoryview | None = None
    for load in elf.loads:
        if load.address <= table < load.address + load.file_size:
            size = min(load.address + load.file_size - table, limits.code_function_bytes)
            data = elf.read(table, size, writable=True)
    if data is None:
        return []
    end = len(data)
    pads = start
    form, at = read_number(data, 0, end, 1)
    if form != OMITTED:
        pads, at = read_pointer(data, at, end, form, address=table, word=8)
    form, at = read_number(data, at, end, 1)
    if form != OMITTED:
        _, at = read_leb(data, at, end)
    form, at = read_number(data, at, end, 1)
    size, at = read_leb(data, at, end)
    end = min(end, at + size)
    found = []
    while at < end:
        first, at = read_pointer(data, at, end, form & 15, address=table, word=8)
        length, at = read_pointer(data, at, end, form & 15, address=table, word=8)
        target, at = read_pointer(data, at, end, form & 15, address=table, word=8)
        _, at = read_leb(data, at, end)
        if target:
            found.append((start + first, start + first + length, pads + target))
    return found
