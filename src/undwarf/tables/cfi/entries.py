# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The frame description entries (FDE) of a section of call frame information, by function.

Sources: DWARF 5, 6.4.1 and 7.24; LSB Core generic, 10.6 (`.eh_frame`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES
from cython.cimports.undwarf.tables.cfi.entry_kinds import EntryKind, ScanEnd
from cython.cimports.undwarf.tables.cfi.instructions import SET_LOC
from cython.cimports.undwarf.tables.little_endian import number

from undwarf.column import longer, zeros
from undwarf.tables.address_ranges import disjoint
from undwarf.tables.cfi.fde_reader import FdeReader


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(base="const unsigned char *")
def _signed(base: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A signed 32-bit number; the caller has checked that it is inside of the data."""
    value: cython.ulonglong = number(base, at, 4)
    if value >> 31:
        value |= ALL_ONES << 32
    return value


@cython.final
@cython.cclass
class Entries:
    """The entries of one section that describe functions; arguments as of
    :class:`undwarf.tables.cfi.fde_reader.FdeReader`.

    ``total`` entries were found. ``dropped`` counts empty functions and those outside of ``code``, which linkers leave
    where they discard code; ``damaged`` counts entries that cannot be read.

    :meth:`scan` and :meth:`take` read entries; :meth:`arrange` then makes columns of disjoint ranges sorted by address:
    ``starts`` and ``ends`` (Q), and ``entry`` (I), the entry of each. :meth:`index` takes functions from a search table
    instead (``indexed``): only ``starts`` and ``ends``, one range an entry, which is read when it is looked up.
    """

    starts: Any
    ends: Any
    entry: Any
    fde_starts: Any
    fde_ends: Any

    def __init__(
        self,
        data: memoryview,
        address: int,
        *,
        debug: bool,
        word: int,
        code: Iterable[tuple[int, int]],
        max_entries: int,
    ) -> None:
        self.reader = FdeReader(data, address, debug=debug, word=word, code=code)
        self.total = self.damaged = self.dropped = self.at = 0
        self.indexed = False
        self.max_entries = min(max_entries, 0xFFFFFFF)
        self.fde_starts, self.fde_ends = zeros("Q", 0), zeros("Q", 0)
        self._programs, self._program_ends, self._cies = zeros("I", 0), zeros("I", 0), zeros("I", 0)

    @property
    def address(self) -> int:
        """The section's ELF virtual address."""
        return int(self.reader.address)

    @property
    def origins(self) -> memoryview:
        """First address of each entry's function (Q), by entry."""
        return memoryview(self.fde_starts)

    # -- reading ------------------------------------------------------------------------------------------------

    def scan(self, past_zero: bool) -> int:
        """Read entries from where the last scan stopped, which is then in ``at``: to the end, to a zero word (unless
        ``past_zero``), to damage that hides where the next entry is, or to the limit. Gives a ScanEnd."""
        through: cython.bint = past_zero
        if self.at == 0:
            # Compilers' entries take 45 to 60 bytes each.
            self._reserve(min(self.reader.size // 40 + 64, 1 << 18))
        return int(self.scan_entries(through))

    def take(self, offsets: Iterable[int]) -> None:
        """Read the function entries at these offsets, which `.eh_frame_hdr` names."""
        at: cython.Py_ssize_t
        for offset in offsets:
            if 0 <= offset <= self.reader.size - 4:
                at = offset
                if self.reader.read(at) < 0:
                    self.damaged += 1
                elif self.reader.kind != EntryKind.OTHER and not self.add():
                    return

    @cython.locals(
        table="const unsigned char[::1]",
        starts="unsigned long long[::1]",
        ends="unsigned long long[::1]",
        offsets="unsigned int[::1]",
        base="const unsigned char *",
        i=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        start=cython.ulonglong,
        before=cython.ulonglong,
        offset=cython.ulonglong,
        origin=cython.ulonglong,
        limit=cython.ulonglong,
        last=cython.ulonglong,
        gaps=cython.Py_ssize_t,
    )
    def index(self, table: memoryview, first: int, count: int, address: int) -> bool:
        """Take the functions from a search table of ``count`` pairs of 32-bit numbers at ``table[first]``, relative to
        the table's ``address``. A function then ends where the next one starts or the code ends, until its entry is
        read. False if the table is not sorted or points outside of the section, so that it cannot be trusted."""
        at = first
        n = count
        origin = address
        size: cython.Py_ssize_t = self.reader.size
        if n <= 0 or at < 0 or at > len(table) or n > (len(table) - at) // 8 or n > self.max_entries or size < 4:
            return False
        last = cython.cast(cython.ulonglong, size) - 4
        base = cython.address(table[0])
        starts = zeros("Q", n + 1)
        ends = zeros("Q", n)
        offsets = zeros("I", n)
        n = 0
        before = 0
        gaps = 0
        for i in range(count):
            start = origin + _signed(base, at + 8 * i)
            offset = origin + _signed(base, at + 8 * i + 4) - self.reader.address
            if (i and start <= before) or offset > last:
                return False
            before = start
            limit = self.reader.clip(start, ALL_ONES)
            if limit == 0:
                self.dropped += 1
                continue
            starts[n] = start
            ends[n] = limit
            offsets[n] = cython.cast(cython.uint, offset)
            if n and ends[n - 1] > start:
                ends[n - 1] = start
            elif n and ends[n - 1] < start:
                gaps += 1
            n += 1
        if n and gaps == 0:
            # One column for both: a library may have 60,000 functions.
            starts[n] = ends[n - 1]
            ends = starts[1:]
        self.starts = memoryview(starts)[:n]
        self.ends = memoryview(ends)[:n]
        self.fde_starts = starts
        self.fde_ends = ends
        self._offsets = offsets
        self.total = n
        self.indexed = True
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load(self, entry: cython.Py_ssize_t) -> cython.int:
        """Load an entry into ``reader.fde``; 0 if it is damaged or does not start where the search table has it."""
        if self.indexed:
            if self.reader.read(self._offsets[entry]) < 0 or self.reader.kind != EntryKind.FUNCTION:
                return 0
            return 1 if self.reader.fde.start == self.fde_starts[entry] else 0
        self.reader.fde.start = self.fde_starts[entry]
        self.reader.fde.end = self.fde_ends[entry]
        self.reader.fde.program = self._programs[entry]
        self.reader.fde.program_end = self._program_ends[entry]
        self.reader.fde.cie = self._cies[entry]
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def scan_entries(self, past_zero: cython.bint) -> cython.int:
        """As :meth:`scan`."""
        at: cython.Py_ssize_t = self.at
        after: cython.Py_ssize_t
        while self.reader.size - at >= 4:
            if number(self.reader.base, at, 4) == 0:
                if not past_zero:
                    self.at = at + 4
                    return ScanEnd.ZERO
                at += 4
                continue
            after = self.reader.read(at)
            if after < 0:
                self.at = at
                self.damaged += 1
                return ScanEnd.DAMAGE
            if self.reader.kind != EntryKind.OTHER and not self.add():
                self.at = at
                return ScanEnd.FULL
            at = after
        self.at = at
        return ScanEnd.END

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def add(self) -> cython.int:
        """Count the entry that was read last, and add a function's to the columns; 0 when the limit is reached."""
        if self.reader.kind == EntryKind.DAMAGED:
            self.damaged += 1
            return 1
        if self.reader.kind == EntryKind.NO_CODE:
            self.dropped += 1
            return 1
        if self.total >= self.max_entries:
            return 0
        if self.total >= self.fde_starts.shape[0]:
            with cython.gil:
                self._reserve(2 * self.total + 64)
        self.fde_starts[self.total] = self.reader.fde.start
        self.fde_ends[self.total] = self.reader.fde.end
        self._programs[self.total] = cython.cast(cython.uint, self.reader.fde.program)
        self._program_ends[self.total] = cython.cast(cython.uint, self.reader.fde.program_end)
        self._cies[self.total] = cython.cast(cython.uint, self.reader.fde.cie)
        self.total += 1
        return 1

    def _reserve(self, capacity: cython.Py_ssize_t) -> None:
        self.fde_starts = longer(self.fde_starts, self.total, capacity)
        self.fde_ends = longer(self.fde_ends, self.total, capacity)
        self._programs = longer(self._programs, self.total, capacity)
        self._program_ends = longer(self._program_ends, self.total, capacity)
        self._cies = longer(self._cies, self.total, capacity)

    # -- GHC's lengths ------------------------------------------------------------------------------------------

    def short_cies(self) -> set[int]:
        """The CIEs of functions with rows past their stated end (GHC 9 states the length of a function's first block),
        and those with the same instructions: not all functions have such rows, but all lengths are too short. Only of
        `.debug_frame`, and of programs that begin by setting a location."""
        found: set[int] = set()
        entry: cython.Py_ssize_t
        program: cython.Py_ssize_t
        word: cython.Py_ssize_t = self.reader.word
        for entry in range(self.total if self.reader.debug else 0):
            program = self._programs[entry]
            if (
                program + 1 + word <= cython.cast(cython.Py_ssize_t, self._program_ends[entry])
                and self.reader.base[program] == SET_LOC
                and number(self.reader.base, program + 1, self.reader.word) >= self.fde_ends[entry]
            ):
                found.add(self._cies[entry])
        return self.reader.same_program(found) if found else found

    def lengthen(self, cies: set[int], symbols: list[int]) -> None:
        """Extend the functions of some CIEs to the next function or symbol; ``symbols`` are addresses, ascending."""
        entry: cython.Py_ssize_t
        origins = sorted(self.fde_starts[: self.total])
        for entry in range(self.total):
            if self._cies[entry] not in cies:
                continue
            start, end = self.fde_starts[entry], self.fde_ends[entry]
            at, place = bisect_right(origins, start), bisect_left(symbols, end)
            # Code after the last symbol may belong to anything.
            if place < len(symbols):
                limit = min(symbols[place], origins[at] if at < len(origins) else symbols[place])
                self.fde_ends[entry] = max(self.reader.clip(start, limit), end)

    def arrange(self) -> None:
        """Compute ``starts``, ``ends`` and ``entry`` of the entries that were read."""
        self.starts, self.ends, self.entry = disjoint(self.fde_starts[: self.total], self.fde_ends[: self.total])
