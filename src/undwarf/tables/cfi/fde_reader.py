# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads one frame description entry (FDE): its function, the offset of its program, and its CIE.

Sources: DWARF 5, 6.4.1 and 7.24; LSB Core generic, 10.6 (`.eh_frame`).
"""

from collections.abc import Iterable
from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES
from cython.cimports.undwarf.tables.little_endian import number
from cython.cimports.undwarf.tables.rule_format import CIE_WORDS

from undwarf.column import zeros
from undwarf.tables.cfi.cie import read_cie
from undwarf.tables.cfi.pointers import Malformed, read_leb, read_pointer

NEAR = cython.declare(cython.Py_ssize_t, 256)
"""Slots of the cache from a CIE's offset to its number; neighbours differ in a handful of CIEs."""

WIDE = cython.declare(cython.ulonglong, 0xFFFFFFFF)
"""The length that announces a 64-bit length; as an id in `.debug_frame` it marks a CIE."""
RESERVED = cython.declare(cython.ulonglong, 0xFFFFFFF0)

# Bits of a CIE's flags, above its pointer encoding.
USABLE = cython.declare(cython.ulonglong, 0x100)
SIGNAL = cython.declare(cython.ulonglong, 0x200)
AUGMENTED = cython.declare(cython.ulonglong, 0x400)
WIDE_ID = cython.declare(cython.ulonglong, 0x800)


@cython.cclass
class EntryReader:
    """Reads single entries of one section.

    ``data`` are its bytes and ``address`` its ELF virtual address, ``debug`` tells `.debug_frame` from `.eh_frame`,
    ``word`` is the target's address size, ``code`` the executable ranges as (start, end).

    What was read last is in ``kind`` (1 a function, 2 damage, 3 a function without code, 0 anything else), ``origin``
    and ``limit`` (the function's range), ``begin`` and ``stop`` (where its program lies in the section) and ``cie``
    (a number). ``cie_words`` (Q) has eight words a CIE: offset, code and data alignment, column, flags, begin and end
    of its instructions, unused.
    """

    near_target: Any
    near_cie: Any

    def __init__(
        self, data: memoryview, address: int, *, debug: bool, word: int, code: Iterable[tuple[int, int]]
    ) -> None:
        i: cython.Py_ssize_t
        # Offsets are kept in 32 bits; an empty section gets a byte, so that there is an address to point to.
        self.section = data[:0xFFFFFFFF] if len(data) else memoryview(b"\0")
        self.data = self.section
        self.base = cython.address(self.data[0])
        self.size = len(self.data) if len(data) else 0
        self.address = address
        self.debug = debug
        self.word = word
        self.mask = WIDE if word == 4 else ALL_ONES
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
        self._cie_words = zeros("Q", CIE_WORDS * 16)
        self._cie_numbers: dict[int, int] = {}
        self.cie_count = self.code_at = 0
        for i in range(NEAR):
            self.near_target[i] = -1

    @property
    def cie_words(self) -> memoryview:
        """Eight words for each CIE."""
        return memoryview(self._cie_words)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_entry(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the entry at an offset; where it ends, -2 if that is unknown. ``kind`` is then 1 for a function, 2 for
        damage, 3 for a function without code, 0 for anything else."""
        base = cython.declare("const unsigned char *", self.base)
        length: cython.ulonglong = number(base, at, 4)
        mark: cython.ulonglong
        target: cython.Py_ssize_t
        end: cython.Py_ssize_t
        cie: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        flags: cython.ulonglong
        start: cython.ulonglong
        limit: cython.ulonglong
        id_at: cython.Py_ssize_t
        id_size: cython.int = 4
        wide: cython.bint = False
        self.kind = 0
        at += 4
        if length == WIDE:
            if self.size - at < 8:
                return -2
            length = number(base, at, 8)
            at += 8
            wide = True
            if self.debug:
                id_size = 8
        elif length >= RESERVED:
            return -2
        if length > cython.cast(cython.ulonglong, self.size - at):
            return -2
        end = at + cython.cast(cython.Py_ssize_t, length)
        if end - at < id_size:
            if length:
                self.kind = 2
            return end
        id_at = at
        mark = number(base, at, id_size)
        at += id_size
        if self.debug:
            if mark == (ALL_ONES if wide else WIDE):
                return end
            target = -1 if mark >= cython.cast(cython.ulonglong, self.size) else cython.cast(cython.Py_ssize_t, mark)
        else:
            if mark == 0:
                return end
            target = id_at - cython.cast(cython.Py_ssize_t, mark)
        if target < 0:
            self.kind = 2
            return end
        slot = (target >> 2) & (NEAR - 1)
        if self.near_target[slot] == target:
            cie = self.near_cie[slot]
        else:
            with cython.gil:
                cie = self._cie(target)
            self.near_target[slot] = target
            self.near_cie[slot] = cie
        flags = self._cie_words[CIE_WORDS * cie + 4]
        if not flags & USABLE:
            self.kind = 2
            return end
        if wide and flags & WIDE_ID:
            at += 4
        at = self.read_range(at, end, cython.cast(cython.int, flags & 0x7F))
        if at < 0:
            self.kind = 2
            return end
        start = self.slow_start
        limit = self.slow_limit
        if flags & AUGMENTED:
            if at < end and base[at] < 0x80:
                length = base[at]
                at += 1
            else:
                with cython.gil:
                    at = self._slow_leb(at, end)
                length = self.slow_value
            if at < 0 or length > cython.cast(cython.ulonglong, end - at):
                self.kind = 2
                return end
            at += cython.cast(cython.Py_ssize_t, length)
        self.origin = start
        self.limit = self.clip(start, limit)
        self.begin = at
        self.stop = end
        self.cie = cie
        self.kind = 3 if self.limit == 0 else 1
        return end

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def read_range(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, encoding: cython.int) -> cython.Py_ssize_t:
        """Read where a function starts and how long it is, into ``slow_start`` and ``slow_limit``; where that ends, -2
        if it cannot be read."""
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
        if size == 0 or encoding & 0x70 == 0x50:
            with cython.gil:
                return self._slow_range(at, end, encoding)
        if end - at < 2 * size:
            return -2
        start = number(self.base, at, size)
        length = number(self.base, at + size, size)
        if start:
            if form & 8 and size < 8 and start >> (8 * size - 1):
                start |= ALL_ONES << (8 * size)
            if encoding & 0x10:
                start += self.address + cython.cast(cython.ulonglong, at)
            start &= self.mask
        self.slow_start = start
        self.slow_limit = start + length
        if self.slow_limit < start:
            self.slow_limit = start
        return at + 2 * size

    def _slow_range(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, encoding: cython.int) -> cython.Py_ssize_t:
        try:
            start, after = read_pointer(self.section, at, end, encoding, address=self.address, word=self.word)
            length, after = read_pointer(self.section, after, end, encoding & 7, address=0, word=self.word)
        except Malformed:
            return -2
        self.slow_start = start
        self.slow_limit = min(start + length, 0xFFFFFFFFFFFFFFFF)
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
    def clip(self, start: cython.ulonglong, limit: cython.ulonglong) -> cython.ulonglong:
        """The end of a function that starts in code, cut to where the code ends; 0 if it does not or is empty."""
        low: cython.Py_ssize_t = self.code_at
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        if limit <= start or len(self._code_starts) == 0:
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
            self.code_at = low
        if limit > self._code_ends[low]:
            limit = self._code_ends[low]
        return limit

    @cython.locals(old="unsigned long long[::1]", new="unsigned long long[::1]")
    def _cie(self, target: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The number of the CIE at an offset, which is read at its first use; unusable ones get a number too."""
        known = self._cie_numbers.get(target)
        if known is not None:
            return known
        at: cython.Py_ssize_t = CIE_WORDS * self.cie_count
        if at + CIE_WORDS > len(self._cie_words):
            old = self._cie_words
            new = zeros("Q", 2 * at)
            new[:at] = old
            self._cie_words = new
        number: cython.Py_ssize_t = self.cie_count
        self._cie_numbers[target] = number
        self.cie_count = number + 1
        cie = read_cie(self.section, target, address=self.address, debug=self.debug, word=self.word)
        self._cie_words[at] = target
        if cie is not None:
            self._cie_words[at + 1] = cie.code_align
            self._cie_words[at + 2] = cie.data_align & 0xFFFFFFFFFFFFFFFF
            self._cie_words[at + 3] = cie.column
            self._cie_words[at + 4] = (
                cie.encoding
                | USABLE
                | (SIGNAL if cie.signal else 0)
                | (AUGMENTED if cie.augmented else 0)
                | (WIDE_ID if cie.wide_id else 0)
            )
            self._cie_words[at + 5] = cie.begin
            self._cie_words[at + 6] = cie.end
        return number
