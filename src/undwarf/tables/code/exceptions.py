"""Landing pads: where exceptions that a call throws arrive, by the tables that `.eh_frame` entries point to.

Sources: LSB Core generic, 10.6 (augmentations ``L`` and ``P``); the Itanium C++ ABI's exception handling tables, as
gcc/except.cc writes them.
"""

from collections.abc import Iterator

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.cfi.pointers import ALIGNED, OMITTED, Malformed, read_leb, read_number, read_pointer

__all__ = ["LandingPads"]


class LandingPads:
    """Landing pads by function. ``entries``: where the `.eh_frame` entry of each function is, by the function's start;
    where that is not known all entries are read once. What is damaged is left out."""

    def __init__(self, elf: ElfFile, limits: Limits, entries: "dict[int, int] | None" = None) -> None:
        self._elf = elf
        self._limits = limits
        self._entries = entries or None
        section = elf.section(".eh_frame")
        self._data = elf.section_data(section) if section is not None else None
        self._address = section.address if section is not None else 0
        self._forms: dict[int, tuple[int, int] | None] = {}

    def of(self, start: int) -> list[tuple[int, int, int]]:
        """(first, behind, target) of stretches of a function's code whose calls may throw."""
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
            if length == 0 or length >= 0xFFFFFFF0:
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
        if not back or end > len(data):
            return None
        cie = begin - back
        if cie not in self._forms:
            self._forms[cie] = _forms(data, cie, self._address)
        form = self._forms[cie]
        try:
            return _entry(data, begin + 4, end, form, self._address) if form is not None else None
        except Malformed:
            return None


def _forms(data: memoryview, cie: int, address: int) -> tuple[int, int] | None:
    """How the entries of a CIE write their function and their table; None where they have no table."""
    if cie < 0 or cie + 12 > len(data):
        return None
    end = min(cie + 4 + int.from_bytes(data[cie : cie + 4], "little"), len(data))
    text = bytes(data[cie + 9 : min(cie + 29, end)]).split(b"\0")[0]
    if not text.startswith(b"z") or b"L" not in text:
        return None
    try:
        at = cie + 9 + len(text) + 1
        _, at = read_leb(data, at, end)
        _, at = read_leb(data, at, end, signed=True)
        _, at = read_leb(data, at, end)
        _, at = read_leb(data, at, end)
        function = 0
        table = OMITTED
        for letter in text[1:].decode("latin-1"):
            if letter == "R":
                function, at = read_number(data, at, end, 1)
            elif letter == "L":
                table, at = read_number(data, at, end, 1)
            elif letter == "P":
                form, at = read_number(data, at, end, 1)
                if form != OMITTED:
                    kept = form & 0x70 if form & 0x70 == ALIGNED else 0
                    _, at = read_pointer(data, at, end, form & 15 | kept, address=address, word=8)
            elif letter != "S":
                return None
        return (function, table) if table != OMITTED else None
    except Malformed:
        return None


def _entry(data: memoryview, at: int, end: int, form: tuple[int, int], address: int) -> tuple[int, int]:
    """(start, table) of an entry; the table 0 where it has none."""
    start, at = read_pointer(data, at, end, form[0], address=address, word=8)
    _, at = read_pointer(data, at, end, form[0] & 15, address=address, word=8)
    _, at = read_leb(data, at, end)
    table, _ = read_pointer(data, at, end, form[1], address=address, word=8)
    return start, table


def _call_sites(elf: ElfFile, table: int, start: int, limits: Limits) -> list[tuple[int, int, int]]:
    """What one function's table says."""
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
