"""The search table of `.eh_frame`, used to find `.eh_frame` without section headers, and functions past damage.

Source: LSB Core generic, 10.6.2. The table is only believed where entries confirm it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from undwarf.elf import ElfFile
from undwarf.tables.cfi.pointers import OMITTED, Malformed, read_pointer

_PT_GNU_EH_FRAME = 0x6474E550
_PAIR = 8
"""Bytes of an entry of the usual table: where a function starts, and its entry in `.eh_frame`."""


class EhFrameHeader(NamedTuple):
    """The header: the address of `.eh_frame` (0 if omitted) and how many functions the search table has."""

    eh_frame: int
    functions: int
    data: memoryview
    address: int
    word: int
    encoding: int
    table: int

    @property
    def is_usual(self) -> bool:
        """Whether the table is the one that all linkers write: pairs of 32-bit numbers that count from the header."""
        return self.encoding == 0x3B

    def entries(self) -> Iterator[int]:
        """The addresses of the function entries in the table's order, as far as it can be read."""
        at, end = self.table, len(self.data)
        for _ in range(self.functions):
            try:
                _, at = self._pointer(at, end)
                entry, at = self._pointer(at, end)
            except Malformed:
                return
            yield entry

    def start_of(self, address: int) -> int | None:
        """The start of the last function that starts at an address or before; None if there is none, or for an unusual
        table."""
        if not self.is_usual:
            return None

        def start(entry: int) -> int:
            at = self.table + _PAIR * entry
            return self.address + int.from_bytes(self.data[at : at + 4], "little", signed=True)

        count = min(self.functions, (len(self.data) - self.table) // _PAIR)
        found = bisect_right(range(count), address, key=start)
        return start(found - 1) if found else None

    def _pointer(self, at: int, end: int) -> tuple[int, int]:
        return read_pointer(
            self.data, at, end, self.encoding, address=self.address, word=self.word, data_base=self.address
        )


def find_header(elf: ElfFile) -> EhFrameHeader | None:
    """The header that the program headers point to; None if there is none that can be read."""
    for segment in elf.segments:
        if segment.type != _PT_GNU_EH_FRAME:
            continue
        data = elf.read(segment.address, segment.file_size, writable=True)
        if data is None or len(data) < 4 or data[0] != 1:
            continue
        word = 8 if elf.is_64 else 4
        try:
            return _read(data, segment.address, word)
        except Malformed:
            continue
    return None


def _read(data: memoryview, address: int, word: int) -> EhFrameHeader:
    end = len(data)
    at, eh_frame, count = 4, 0, 0
    if data[1] != OMITTED:
        eh_frame, at = read_pointer(data, at, end, data[1], address=address, word=word, data_base=address)
    if data[2] != OMITTED and data[3] != OMITTED:
        count, at = read_pointer(data, at, end, data[2], address=address, word=word, data_base=address)
        # Two fields of at least one byte each.
        count = min(count, (end - at) // 2)
    return EhFrameHeader(eh_frame, count, data, address, word, data[3], at)
