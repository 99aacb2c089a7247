# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads one frame description entry (FDE): its function, where its instructions are, and its CIE.

Sources: DWARF 5, 6.4.1 and 7.24; LSB Core generic, 10.6 (`.eh_frame`).
"""

from collections.abc import Iterable
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables.cfi.entry_kinds import RESERVED_LENGTH, WIDE_LENGTH, CieFlag, EntryKind
from cython.cimports.undwarf.tables.cfi.fde import CIE_WORDS, CiePointer, cie_at
from cython.cimports.undwarf.tables.cfi.pointers import ALIGNED, PC_RELATIVE
from cython.cimports.undwarf.tables.little_endian import number

from undwarf.column import doubled, zeros
from undwarf.tables.cfi.cie import read_cie
from undwarf.tables.cfi.pointers import Malformed, read_leb, read_pointer

CACHED = cython.declare(cython.Py_ssize_t, 256)
"""Slots of the cache of CIE numbers; neighbouring entries refer to a handful of CIEs."""


@cython.final
@cython.cclass
class FdeReader:
    """Reads single entries of a section.

    ``data`` are its bytes and ``address`` its ELF virtual address; ``debug``: it is `.debug_frame`, not `.eh_frame`;
    ``word`` is the target's address size; ``code`` are the executable ranges as (start, end).
    """

    fde: Any
    cached_offset: Any
    cached_cie: Any

    def __init__(
        self, data: memoryview, address: int, *, debug: bool, word: int, code: Iterable[tuple[int, int]]
    ) -> None:
        i: cython.Py_ssize_t
        # Offsets have 32 bits; an empty section gets a byte, so that there is an address to point to.
        self.section = data[:0xFFFFFFFF] if len(data) else memoryview(b"\0")
        self.data = self.section
        self.base = cython.address(self.data[0])
        self.size = len(self.data) if len(data) else 0
        self.address = address
        self.debug = debug
        self.word = word
        self.mask = NOTHING if word == 4 else ALL_ONES
        merged: list[tuple[int, int]] = []
        for start, end in sorted(code):
            if start < end:
                if merged and start <= merged[len(merged) - 1][1]:
                    begin, last = merged.pop()
                    merged.append((begin, max(last, end)))
                else:
                    merged.append((start, end))
        self._code_starts = zeros("Q", len(merged))
        self._code_ends = zeros("Q", len(merged))
        for i, (start, end) in enumerate(merged):
            self._code_starts[i] = start
            self._code_ends[i] = min(end, 0xFFFFFFFFFFFFFFFF)
        self.cies = zeros("Q", CIE_WORDS * 16)
        self._cie_numbers: dict[int, int] = {}
        self.last_code = 0
        for i in range(CACHED):
            self.cached_offset[i] = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the entry at an offset into ``kind`` and ``fde``; where it ends, -2 if that is unknown."""
        base = cython.declare("const unsigned char *", self.base)
        length: cython.ulonglong = number(base, at, 4)
        mark: cython.ulonglong
        target: cython.Py_ssize_t
        end: cython.Py_ssize_t
        cie: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        flags: cython.ulonglong
        id_at: cython.Py_ssize_t
        id_size: cython.int = 4
        wide: cython.bint = False
        self.kind = EntryKind.OTHER
        at += 4
        if length == WIDE_LENGTH:
            if self.size - at < 8:
                return -2
            length = number(base, at, 8)
            at += 8
            wide = True
            if self.debug:
                id_size = 8
        elif length >= RESERVED_LENGTH:
            return -2
        if length > cython.cast(cython.ulonglong, self.size - at):
            return -2
        end = at + cython.cast(cython.Py_ssize_t, length)
        if end - at < id_size:
            if length:
                self.kind = EntryKind.DAMAGED
            return end
        id_at = at
        mark = number(base, at, id_size)
        at += id_size
        if self.debug:
            if mark == (ALL_ONES if wide else WIDE_LENGTH):
                return end
            target = -1 if mark >= cython.cast(cython.ulonglong, self.size) else cython.cast(cython.Py_ssize_t, mark)
        else:
            if mark == 0:
                return end
            target = id_at - cython.cast(cython.Py_ssize_t, mark)
        self.kind = EntryKind.DAMAGED
        if target < 0:
            return end
        slot = (target >> 2) & (CACHED - 1)
        if self.cached_offset[slot] == target:
            cie = self.cached_cie[slot]
        else:
            with cython.gil:
                cie = self._cie(target)
            self.cached_offset[slot] = target
            self.cached_cie[slot] = cie
        flags = cie_at(self.cies, cie).flags
        if not flags & CieFlag.USABLE:
            return end
        if wide and flags & CieFlag.WIDE_IDS:
            at += 4
        at = self.read_range(at, end, cython.cast(cython.int, flags & 0x7F))
        if at < 0:
            return end
        if flags & CieFlag.AUGMENTED:
            if at < end and base[at] < 0x80:
                length = base[at]
                at += 1
            else:
                with cython.gil:
                    at = self._slow_leb(at, end)
                length = self.slow_value
            if at < 0 or length > cython.cast(cython.ulonglong, end - at):
                return end
            at += cython.cast(cython.Py_ssize_t, length)
        self.fde.end = self.clip(self.fde.start, self.fde.end)
        self.fde.program = at
        self.fde.program_end = end
        self.fde.cie = cie
        self.kind = EntryKind.NO_CODE if self.fde.end == 0 else EntryKind.FUNCTION
        return end

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def read_range(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, encoding: cython.int) -> cython.Py_ssize_t:
        """Read a function's range into ``fde.start`` and ``fde.end``; where that ends, -2 if it cannot be read."""
        size: cython.int
        form: cython.int = encoding & 15
        start: cython.ulonglong
        length: cython.ulonglong
        if form == 0 or form == 8:
            size = self.word
        elif form == 2 or form == 10:
            size = 2
        elif form == 3 or form == 11:
            size = 4
        elif form == 4 or form == 12:
            size = 8
        else:
            size = 0
        if size == 0 or encoding & 0x70 == ALIGNED:
            with cython.gil:
                return self._slow_range(at, end, encoding)
        if end - at < 2 * size:
            return -2
        start = number(self.base, at, size)
        length = number(self.base, at + size, size)
        if start:
            if form & 8 and size < 8 and start >> (8 * size - 1):
                start |= ALL_ONES << (8 * size)
            if encoding & PC_RELATIVE:
                start += self.address + cython.cast(cython.ulonglong, at)
            start &= self.mask
        self.fde.start = start
        self.fde.end = start + length
        if self.fde.end < start:
            self.fde.end = start
        return at + 2 * size

    def _slow_range(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, encoding: cython.int) -> cython.Py_ssize_t:
        try:
            start, after = read_pointer(self.section, at, end, encoding, address=self.address, word=self.word)
            length, after = read_pointer(self.section, after, end, encoding & 7, address=0, word=self.word)
        except Malformed:
            return -2
        self.fde.start = start
        self.fde.end = min(start + length, 0xFFFFFFFFFFFFFFFF)
        return after

    def _slow_leb(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        try:
            value, after = read_leb(self.section, at, end)
        except Malformed:
            return -2
        self.slow_value = value
        return after

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def clip(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.ulonglong:
        """The end of a function that starts in code, cut to where the code ends; 0 if it does not or is empty."""
        low: cython.Py_ssize_t = self.last_code
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        if end <= start or len(self._code_starts) == 0:
            return 0
        if not (self._code_starts[low] <= start and start < self._code_ends[low]):
            low = 0
            high = len(self._code_starts)
            while low < high:
                middle = (low + high) >> 1
                if self._code_starts[middle] <= start:
                    low = middle + 1
                else:
                    high = middle
            if low == 0 or start >= self._code_ends[low - 1]:
                return 0
            low -= 1
            self.last_code = low
        return min(end, self._code_ends[low])

    def _cie(self, offset: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The number of the CIE at an offset, which is read at its first use; unusable ones get a number too."""
        known = self._cie_numbers.get(offset)
        if known is not None:
            return known
        added: cython.Py_ssize_t = len(self._cie_numbers)
        if CIE_WORDS * (added + 1) > len(self.cies):
            self.cies = doubled(self.cies, CIE_WORDS * added)
        self._cie_numbers[offset] = added
        cie = read_cie(self.section, offset, address=self.address, debug=self.debug, word=self.word)
        if cie is not None:
            words: CiePointer = cie_at(self.cies, added)
            words.code_align = cie.code_align
            words.data_align = cie.data_align & 0xFFFFFFFFFFFFFFFF
            words.column = cie.column
            words.flags = (
                cie.encoding
                | CieFlag.USABLE
                | (CieFlag.SIGNAL_FRAMES if cie.signal else 0)
                | (CieFlag.AUGMENTED if cie.augmented else 0)
                | (CieFlag.WIDE_IDS if cie.wide_id else 0)
            )
            words.program = cie.begin
            words.program_end = cie.end
        return added

    def same_program(self, cies: set[int]) -> set[int]:
        """The CIEs with the same instructions as one of these."""
        programs = []
        i: cython.Py_ssize_t
        for i in range(len(self._cie_numbers)):
            words: CiePointer = cie_at(self.cies, i)
            programs.append(bytes(self.section[words.program : words.program_end]))
        wanted = {programs[cie] for cie in cies}
        return {cie for cie, program in enumerate(programs) if program in wanted}
