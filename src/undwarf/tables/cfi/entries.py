# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The entries (FDE) of a section of call frame information: the functions it describes, and their programs' offsets.

Sources: DWARF 5, 6.4.1 and 7.24; LSB Core generic, 10.6 (`.eh_frame`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES
from cython.cimports.undwarf.tables.little_endian import number
from cython.cimports.undwarf.tables.rule_format import CIE_WORDS

from undwarf.column import zeros
from undwarf.tables.address_ranges import disjoint
from undwarf.tables.cfi.fde_reader import EntryReader

SET_LOC = cython.declare(cython.int, 1)
"""DW_CFA_set_loc, with an address."""

# What the scan stopped for.
END = 0
ZERO = 1
DAMAGE = 2
FULL = 3


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(base="const unsigned char *")
def _signed(base: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A signed 32-bit number; the caller has checked that it lies inside the data."""
    value: cython.ulonglong = number(base, at, 4)
    if value >> 31:
        value |= ALL_ONES << 32
    return value


@cython.final
@cython.cclass
class Entries(EntryReader):
    """The functions of one section, of which :class:`EntryReader` says what it is.

    Functions outside of ``code``, which linkers leave behind when they discard code, are dropped. ``dropped`` counts
    those and empty ranges, ``damaged`` entries that cannot be read.

    Columns of ``total`` entries in the order they were found: ``origins`` and ``limits`` (Q, the function's range),
    ``begins`` and ``stops`` (I, where its program lies in the section), ``cies`` (I). After :meth:`arrange`, columns of
    disjoint ranges sorted by address: ``starts`` and ``ends`` (Q) and ``entry`` (I), the entry they belong to.

    :meth:`index` is the quick way instead of a scan: only ``starts`` and ``ends``, from a search table. Then
    :meth:`locate` reads one entry, into the words of ``found`` (Q): where its program begins and ends, its CIE, the
    address behind its function, how many CIEs are known.
    """

    max_entries: cython.Py_ssize_t
    _starts = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _begins = cython.declare("unsigned int[::1]")
    _stops = cython.declare("unsigned int[::1]")
    _cies = cython.declare("unsigned int[::1]")
    starts = cython.declare(object, visibility="readonly")
    ends = cython.declare(object, visibility="readonly")
    entry = cython.declare(object, visibility="readonly")
    total = cython.declare(cython.Py_ssize_t, visibility="readonly")
    dropped = cython.declare(cython.Py_ssize_t, visibility="readonly")
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    at = cython.declare(cython.Py_ssize_t, visibility="readonly")
    indexed = cython.declare(cython.bint, visibility="readonly")
    _offsets = cython.declare("unsigned int[::1]")
    found = cython.declare(object, visibility="readonly")
    _found = cython.declare("unsigned long long[::1]")

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
        super().__init__(data, address, debug=debug, word=word, code=code)
        self.max_entries = min(max_entries, 0xFFFFFFF)
        self._make_room(0)
        self.found = zeros("Q", 5)
        self._found = self.found

    # -- columns ------------------------------------------------------------------------------------------------

    @property
    def origins(self) -> memoryview:
        """First address of each entry's function."""
        return memoryview(self._starts)

    @property
    def limits(self) -> memoryview:
        """The address behind each entry's function."""
        return memoryview(self._ends)

    @property
    def begins(self) -> memoryview:
        """Where each entry's program begins in the section."""
        return memoryview(self._begins)

    @property
    def stops(self) -> memoryview:
        """Where each entry's program ends in the section."""
        return memoryview(self._stops)

    @property
    def cies(self) -> memoryview:
        """The number of each entry's CIE."""
        return memoryview(self._cies)

    # -- finding entries ----------------------------------------------------------------------------------------

    def scan(self, past_zero: bool) -> int:
        """Read entries from where the last scan stopped, to the end, to a zero word (unless ``past_zero``), or to
        damage that hides where the next entry is; ``at`` is then where that stands. Gives one of END, ZERO, DAMAGE and
        FULL (the limit on entries)."""
        through: cython.bint = past_zero
        if self.at == 0:
            # Compilers' entries take 45 to 60 bytes each.
            self._make_room(min(self.size // 40 + 64, 1 << 18))
        return int(self.scan_entries(through))

    def take(self, offsets: Iterable[int]) -> None:
        """Read the function entries at these offsets, which `.eh_frame_hdr` names."""
        at: cython.Py_ssize_t
        for offset in offsets:
            if 0 <= offset <= self.size - 4:
                at = offset
                if self.read_entry(at) < 0:
                    self.damaged += 1
                elif self.kind and not self.keep():
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
    )
    def index(self, table: memoryview, first: int, count: int, address: int) -> bool:
        """Take the functions from a search table of ``count`` pairs of 32-bit numbers at ``table[first]``, which count
        from the table's ``address``. A function then ends where the next one starts or the code ends, until its entry
        is read. False if the table is not in order or points outside, so that it cannot be trusted."""
        at = first
        n = count
        origin = address
        if n <= 0 or at < 0 or at > len(table) or n > (len(table) - at) // 8 or n > self.max_entries or self.size < 4:
            return False
        last = cython.cast(cython.ulonglong, self.size) - 4
        base = cython.address(table[0])
        starts = zeros("Q", n)
        ends = zeros("Q", n)
        offsets = zeros("I", n)
        n = 0
        before = 0
        for i in range(count):
            start = origin + _signed(base, at + 8 * i)
            offset = origin + _signed(base, at + 8 * i + 4) - self.address
            if (i and start <= before) or offset > last:
                return False
            before = start
            limit = self.clip(start, ALL_ONES)
            if limit == 0:
                self.dropped += 1
                continue
            starts[n] = start
            ends[n] = limit
            offsets[n] = cython.cast(cython.uint, offset)
            if n and ends[n - 1] > start:
                ends[n - 1] = start
            n += 1
        self.starts = memoryview(starts)[:n]
        self.ends = memoryview(ends)[:n]
        self._starts = starts
        self._ends = ends
        self._offsets = offsets
        self.total = n
        self.indexed = True
        return True

    def locate(self, entry: cython.Py_ssize_t) -> bool:
        """Read the entry of an indexed function; False if it is damaged or does not start where the table says."""
        if self.read_entry(self._offsets[entry]) < 0 or self.kind != 1 or self.origin != self._starts[entry]:
            return False
        self._found[0] = cython.cast(cython.ulonglong, self.begin)
        self._found[1] = cython.cast(cython.ulonglong, self.stop)
        self._found[2] = cython.cast(cython.ulonglong, self.cie)
        self._found[3] = self.limit
        self._found[4] = cython.cast(cython.ulonglong, self.cie_count)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def scan_entries(self, past_zero: cython.bint) -> cython.int:
        at: cython.Py_ssize_t = self.at
        after: cython.Py_ssize_t
        while self.size - at >= 4:
            if number(self.base, at, 4) == 0:
                if not past_zero:
                    self.at = at + 4
                    return 1
                at += 4
                continue
            after = self.read_entry(at)
            if after < 0:
                self.at = at
                self.damaged += 1
                return 2
            if self.kind and not self.keep():
                self.at = at
                return 3
            at = after
        self.at = at
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def keep(self) -> cython.int:
        """Count the entry read last, and if it is a function's add it to the columns; 0 when there is no room."""
        if self.kind == 2:
            self.damaged += 1
            return 1
        if self.kind == 3:
            self.dropped += 1
            return 1
        if self.total >= self.max_entries:
            return 0
        if self.total >= self._starts.shape[0]:
            with cython.gil:
                self._make_room(2 * self.total + 64)
        self._starts[self.total] = self.origin
        self._ends[self.total] = self.limit
        self._begins[self.total] = cython.cast(cython.uint, self.begin)
        self._stops[self.total] = cython.cast(cython.uint, self.stop)
        self._cies[self.total] = cython.cast(cython.uint, self.cie)
        self.total += 1
        return 1

    @cython.locals(
        old="unsigned long long[::1]",
        new="unsigned long long[::1]",
        old_i="unsigned int[::1]",
        new_i="unsigned int[::1]",
        used=cython.Py_ssize_t,
    )
    def _make_room(self, room: cython.Py_ssize_t) -> None:
        used = self.total
        new = zeros("Q", room)
        if used:
            old = self._starts
            new[:used] = old[:used]
        self._starts = new
        new = zeros("Q", room)
        if used:
            old = self._ends
            new[:used] = old[:used]
        self._ends = new
        new_i = zeros("I", room)
        if used:
            old_i = self._begins
            new_i[:used] = old_i[:used]
        self._begins = new_i
        new_i = zeros("I", room)
        if used:
            old_i = self._stops
            new_i[:used] = old_i[:used]
        self._stops = new_i
        new_i = zeros("I", room)
        if used:
            old_i = self._cies
            new_i[:used] = old_i[:used]
        self._cies = new_i

    def short_cies(self) -> set[int]:
        """The CIEs of functions whose rows go on behind their stated end (GHC 9 states the length of a function's first
        block), and those with the same instructions: not all functions have such rows, but all lengths are too short.
        Only of `.debug_frame`, and of programs that begin by setting a location."""
        found: set[int] = set()
        entry: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        for entry in range(self.total):
            begin = self._begins[entry]
            if (
                self.debug
                and begin + 1 + self.word <= cython.cast(cython.Py_ssize_t, self._stops[entry])
                and self.base[begin] == SET_LOC
                and number(self.base, begin + 1, self.word) >= self._ends[entry]
            ):
                found.add(self._cies[entry])
        instructions = [self._instructions(cie) for cie in range(self.cie_count)] if found else []
        alike = {instructions[cie] for cie in found}
        return {cie for cie, code in enumerate(instructions) if code in alike}

    def _instructions(self, cie: int) -> bytes:
        return bytes(self.section[self._cie_words[CIE_WORDS * cie + 5] : self._cie_words[CIE_WORDS * cie + 6]])

    def lengthen(self, cies: set[int], symbols: list[int]) -> None:
        """Let the functions of some CIEs go on to the next function or symbol; ``symbols`` are addresses, ascending."""
        entry: cython.Py_ssize_t
        origins = sorted(self._starts[: self.total])
        for entry in range(self.total):
            if self._cies[entry] not in cies:
                continue
            start, end = self._starts[entry], self._ends[entry]
            at, place = bisect_right(origins, start), bisect_left(symbols, end)
            # Behind the last symbol code may be anybody's.
            if place < len(symbols):
                limit = min(symbols[place], origins[at] if at < len(origins) else symbols[place])
                self._ends[entry] = max(self.clip(start, limit), end)

    def arrange(self) -> None:
        """Make ``starts``, ``ends`` and ``entry`` of what was found."""
        self.starts, self.ends, self.entry = disjoint(self._starts[: self.total], self._ends[: self.total])
