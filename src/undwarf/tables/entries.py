# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The entries of a section of call frame information: which functions it describes, and where their programs lie.

Sources: DWARF 5, 6.4.1 and 7.24; LSB Core generic, 10.6 (`.eh_frame`).
"""

from collections.abc import Iterable
from typing import Any

import cython

from undwarf.buffers import zeros
from undwarf.tables.cie import read_cie
from undwarf.tables.pointers import Malformed, read_leb, read_pointer
from undwarf.tables.ranges import disjoint

CIE_WORDS = cython.declare(cython.Py_ssize_t, 8)
NEAR = cython.declare(cython.Py_ssize_t, 256)
"""Slots of the cache from a CIE's offset to its number; neighbours differ in a handful of CIEs."""

ALL_ONES = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
WIDE = cython.declare(cython.ulonglong, 0xFFFFFFFF)
"""The length that announces a 64-bit length; as an id in `.debug_frame` it marks a CIE."""
RESERVED = cython.declare(cython.ulonglong, 0xFFFFFFF0)

# What the scan stopped for.
END = 0
ZERO = 1
DAMAGE = 2
FULL = 3

# Bits of a CIE's flags, above its pointer encoding.
USABLE = cython.declare(cython.ulonglong, 0x100)
SIGNAL = cython.declare(cython.ulonglong, 0x200)
AUGMENTED = cython.declare(cython.ulonglong, 0x400)
WIDE_ID = cython.declare(cython.ulonglong, 0x800)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(base="const unsigned char *")
def _number(base: Any, at: cython.Py_ssize_t, size: cython.int) -> cython.ulonglong:
    """A little-endian number; the caller has checked that it lies inside the data."""
    value: cython.ulonglong = 0
    i: cython.int
    if size == 4:
        # One load, which the compiler makes of it.
        value = (
            cython.cast(cython.uint, base[at])
            | cython.cast(cython.uint, base[at + 1]) << 8
            | cython.cast(cython.uint, base[at + 2]) << 16
            | cython.cast(cython.uint, base[at + 3]) << 24
        )
    else:
        for i in range(size):
            value |= cython.cast(cython.ulonglong, base[at + i]) << (8 * i)
    return value


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(base="const unsigned char *")
def _signed(base: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A signed 32-bit number; the caller has checked that it lies inside the data."""
    value: cython.ulonglong = _number(base, at, 4)
    if value >> 31:
        value |= ALL_ONES << 32
    return value


@cython.final
@cython.cclass
class Entries:
    """The functions of one section.

    ``data`` are its bytes and ``address`` its ELF virtual address, ``debug`` tells `.debug_frame` from `.eh_frame`,
    ``word`` is the target's address size, ``code`` the executable ranges as (start, end): functions outside them, which
    linkers leave behind when they discard code, are dropped. ``dropped`` counts those and empty ranges, ``damaged``
    entries that cannot be read.

    Columns of ``total`` entries in the order they were found: ``origins`` and ``limits`` (Q, the function's range),
    ``begins`` and ``stops`` (I, where its program lies in the section), ``cies`` (I). After :meth:`arrange`, columns of
    disjoint ranges sorted by address: ``starts`` and ``ends`` (Q) and ``entry`` (I), the entry they belong to.
    ``cie_words`` (Q) has eight words a CIE: offset, code and data alignment, column, flags, begin and end of its
    instructions, unused.

    :meth:`index` is the quick way instead of a scan: only ``starts`` and ``ends``, from a search table. Then
    :meth:`locate` reads one entry, into the words of ``found`` (Q): where its program begins and ends, its CIE, the
    address behind its function, how many CIEs are known.
    """

    data = cython.declare("const unsigned char[::1]")
    base = cython.declare("const unsigned char *")
    size = cython.declare(cython.Py_ssize_t, visibility="readonly")
    address = cython.declare(cython.ulonglong, visibility="readonly")
    word = cython.declare(cython.int, visibility="readonly")
    debug = cython.declare(cython.bint, visibility="readonly")
    mask: cython.ulonglong
    max_entries: cython.Py_ssize_t
    section = cython.declare(object, visibility="readonly")
    _starts = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _begins = cython.declare("unsigned int[::1]")
    _stops = cython.declare("unsigned int[::1]")
    _cies = cython.declare("unsigned int[::1]")
    _cie_words = cython.declare("unsigned long long[::1]")
    _cie_numbers: dict[int, int]
    _code_starts = cython.declare("unsigned long long[::1]")
    _code_ends = cython.declare("unsigned long long[::1]")
    starts = cython.declare(object, visibility="readonly")
    ends = cython.declare(object, visibility="readonly")
    entry = cython.declare(object, visibility="readonly")
    total = cython.declare(cython.Py_ssize_t, visibility="readonly")
    cie_count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    dropped = cython.declare(cython.Py_ssize_t, visibility="readonly")
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    at = cython.declare(cython.Py_ssize_t, visibility="readonly")
    indexed = cython.declare(cython.bint, visibility="readonly")
    _offsets = cython.declare("unsigned int[::1]")
    # the entry read last
    kind: cython.int
    origin: cython.ulonglong
    limit: cython.ulonglong
    begin: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    cie: cython.Py_ssize_t
    found = cython.declare(object, visibility="readonly")
    _found = cython.declare("unsigned long long[::1]")
    code_at: cython.Py_ssize_t
    near_target = cython.declare("Py_ssize_t[256]")
    near_cie = cython.declare("Py_ssize_t[256]")
    slow_value: cython.ulonglong

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
        i: cython.Py_ssize_t
        # Offsets are kept in 32 bits; an empty section gets a byte, so that there is an address to point to.
        self.section = data[:0xFFFFFFFF] if len(data) else memoryview(b"\0")
        self.data = self.section
        self.base = cython.address(self.data[0])
        self.size = self.data.shape[0] if len(data) else 0
        self.address = address
        self.debug = debug
        self.word = word
        self.mask = WIDE if word == 4 else ALL_ONES
        self.max_entries = min(max_entries, 0xFFFFFFF)
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
        self._make_room(0)
        self._cie_words = zeros("Q", CIE_WORDS * 16)
        self._cie_numbers = {}
        self.found = zeros("Q", 5)
        self._found = self.found
        for i in range(NEAR):
            self.near_target[i] = -1

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

    @property
    def cie_words(self) -> memoryview:
        """Eight words for each CIE."""
        return memoryview(self._cie_words)

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
            if _number(self.base, at, 4) == 0:
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
    @cython.exceptval(-1)
    def read_entry(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the entry at an offset; where it ends, -2 if that is unknown. ``kind`` is then 1 for a function, 2 for
        damage, 3 for a function without code, 0 for anything else."""
        base = cython.declare("const unsigned char *", self.base)
        length: cython.ulonglong = _number(base, at, 4)
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
            length = _number(base, at, 8)
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
        mark = _number(base, at, id_size)
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

    slow_start: cython.ulonglong
    slow_limit: cython.ulonglong

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
        start = _number(self.base, at, size)
        length = _number(self.base, at + size, size)
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
        if limit <= start or self._code_starts.shape[0] == 0:
            return 0
        if not (self._code_starts[low] <= start and start < self._code_ends[low]):
            low = 0
            high = self._code_starts.shape[0]
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
        if at + CIE_WORDS > self._cie_words.shape[0]:
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

    def arrange(self) -> None:
        """Make ``starts``, ``ends`` and ``entry`` of what was found."""
        self.starts, self.ends, self.entry = disjoint(self._starts[: self.total], self._ends[: self.total])
