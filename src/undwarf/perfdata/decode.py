# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""One pass over record bytes: splits them, decodes samples and side-band records into columns.

The caller hands in windows of the record stream (native byte order, nothing compressed). Of a sample only the
header, the sizes and the small fields are touched, never the stack bytes: on a recording of gigabytes the page
faults are the cost. Field order: ``perf_output_sample`` and ``perf_event__output_id_sample`` in
``kernel/events/core.c``.
"""

import os
from typing import Any

import cython
from cython.cimports.libc.string import memchr, memcmp, memcpy

from undwarf.buffers import zeros

# What scan() stopped for.
MORE = 0  # the record at ``at`` is not wholly inside the window (or the window is used up)
RARE = 1  # the record at ``at`` is for Python; skip it with ``at += size``
GROW = 2  # columns are full; never leaves scan()
BROKEN = 3  # the record at ``at`` claims a size below 8: nothing after it can be found
FULL = 4  # the limit on entries is reached

EVENT_WORDS = 16
KNOWN_TYPES = 128
OTHER_TYPES = 64

_STRIDE = cython.declare(cython.Py_ssize_t, 16)

# Columns of 64-bit words, samples first, then side band.
SAMPLE_WORDS = (
    "position", "time", "ip", "period", "addr", "weight", "data_src", "transaction", "phys_addr", "cgroup",
    "data_page_size", "code_page_size", "id", "stream_id",
)  # fmt: skip
SAMPLE_INTS = ("pid", "tid", "cpu")
SAMPLE_SHORTS = (
    "event", "misc", "callchain_at", "regs_at", "stack_at", "read_at", "raw_at", "branch_at", "regs_intr_at"
)  # fmt: skip
WORD_COLUMNS = cython.declare(cython.Py_ssize_t, 14)
SHORT_COLUMNS = cython.declare(cython.Py_ssize_t, 9)
SIDE_WORDS = ("time", "position", "a", "b", "c")
SIDE_INTS = ("pid", "tid")
SIDE_UNSIGNED = ("d", "name", "identity")


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(data="const unsigned char *")
def _u64(data: Any, size: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.ulonglong:
    """The u64 at ``at`` of ``size`` bytes, 0 outside. Records may be unaligned behind an odd-sized one."""
    if at < 0 or at > size - 8:
        return 0
    found: cython.ulonglong = cython.cast("unsigned long long *", data + at)[0]
    return found


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(data="const unsigned char *")
def _u32(data: Any, size: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.uint:
    if at < 0 or at > size - 4:
        return 0
    found: cython.uint = cython.cast("unsigned int *", data + at)[0]
    return found


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(data="const unsigned char *")
def _u16(data: Any, size: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.uint:
    if at < 0 or at > size - 2:
        return 0
    found: cython.uint = cython.cast("unsigned short *", data + at)[0]
    return found


def _longer(column: Any, columns: int, used: int, capacity: int, wanted: int) -> Any:
    """Columns side by side in one buffer, moved to a longer one. A column not in the mask ``wanted`` was never
    written: it is not copied, so that its memory stays untouched and costs nothing."""
    old = memoryview(column)
    before = len(old) // columns
    code: Any = old.format
    new = zeros(code, columns * capacity)
    for i in range(columns):
        if wanted >> i & 1:
            new[i * capacity : i * capacity + used] = old[i * before : i * before + used]
    return new


@cython.final
@cython.cclass
class Interner:
    """Byte strings numbered in order of first appearance; number 0 is the empty one."""

    _slots = cython.declare("unsigned int[::1]")
    _hashes = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _arena = cython.declare("unsigned char[::1]")
    count: cython.Py_ssize_t
    _used: cython.Py_ssize_t
    _seed: cython.ulonglong

    def __init__(self) -> None:
        # Seeded, so that a file cannot be made whose names all meet in one slot.
        self._seed = int.from_bytes(os.urandom(8), "little") | 1
        self._slots = zeros("I", 1024)
        self._hashes = zeros("Q", 512)
        self._ends = zeros("Q", 512)
        self._arena = zeros("B", 1 << 17)
        self.count = 1
        self._used = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _tight(self) -> cython.bint:
        """Whether one more record's strings might not fit."""
        full: cython.bint = self.count + 2 > self._hashes.shape[0]
        return full or self._used + 65536 > self._arena.shape[0]

    @cython.cfunc
    @cython.locals(slots="unsigned int[::1]")
    def _grow(self) -> cython.int:
        """Make room for one more record's strings."""
        if self._used + 65536 > self._arena.shape[0]:
            self._arena = _longer(self._arena, 1, self._used, 2 * self._arena.shape[0], 1)
        if self.count + 2 > self._hashes.shape[0]:
            size: cython.Py_ssize_t = 2 * self._hashes.shape[0]
            self._hashes = _longer(self._hashes, 1, self.count, size, 1)
            self._ends = _longer(self._ends, 1, self.count, size, 1)
            slots = zeros("I", 2 * size)
            mask: cython.ulonglong = 2 * size - 1
            at: cython.ulonglong
            i: cython.Py_ssize_t
            for i in range(1, self.count):
                at = self._hashes[i] & mask
                while slots[at] != 0:
                    at = (at + 1) & mask
                slots[at] = cython.cast(cython.uint, i)
            self._slots = slots
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(text="const unsigned char *")
    def _add(self, text: Any, length: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The number of ``length`` bytes at ``text``. There must be room, see ``_tight``."""
        i: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t
        number: cython.Py_ssize_t
        mixed: cython.ulonglong = self._seed ^ cython.cast(cython.ulonglong, length)
        factor: cython.ulonglong = self._seed | 1
        word: cython.ulonglong
        if length == 0:
            return 0
        while i < length:
            word = 0
            if length - i >= 8:
                word = cython.cast("unsigned long long *", text + i)[0]
            else:
                memcpy(cython.address(word), text + i, length - i)
            mixed = (mixed ^ word) * factor
            mixed ^= mixed >> 29
            i += 8
        mixed *= cython.cast(cython.ulonglong, 0x9E3779B97F4A7C15)
        mixed ^= mixed >> 32
        mask: cython.ulonglong = self._slots.shape[0] - 1
        at: cython.ulonglong = mixed & mask
        while self._slots[at] != 0:
            number = self._slots[at]
            if self._hashes[number] == mixed:
                start = cython.cast(cython.Py_ssize_t, self._ends[number - 1])
                if (
                    cython.cast(cython.Py_ssize_t, self._ends[number]) - start == length
                    and memcmp(cython.address(self._arena[start]), text, length) == 0
                ):
                    return number
            at = (at + 1) & mask
        number = self.count
        # The last byte first: it proves to the bounds check that all of them fit.
        self._arena[self._used + length - 1] = 0
        memcpy(cython.address(self._arena[self._used]), text, length)
        self._used += length
        self._hashes[number] = mixed
        self._ends[number] = self._used
        self._slots[at] = cython.cast(cython.uint, number)
        self.count += 1
        return number

    def entries(self, first: int = 0) -> list[bytes]:
        """The strings by number, from ``first`` on."""
        begin: cython.Py_ssize_t = max(first - 1, 0)
        if first >= self.count:
            return []
        base = int(self._ends[begin])
        data = bytes(self._arena[base : self._used])
        ends = [int(self._ends[i]) - base for i in range(begin, self.count)]
        found = [data[ends[i - 1] : ends[i]] for i in range(1, len(ends))]
        return found if first > 0 else [b"", *found]


@cython.final
@cython.cclass
class Decoder:
    """Columns that grow while windows of the record stream are scanned."""

    _events = cython.declare("unsigned long long[::1]")
    _event_count: cython.Py_ssize_t
    _single: cython.bint
    _timed: cython.bint
    _places = cython.declare("unsigned long long[::1]")
    _ids = cython.declare("unsigned long long[::1]")
    _owners = cython.declare("unsigned int[::1]")
    _id_factor: cython.ulonglong
    _id_shift: cython.int
    _last_id: cython.ulonglong
    _last_owner: cython.int

    _q = cython.declare("unsigned long long[::1]")
    _i = cython.declare("int[::1]")
    _h = cython.declare("unsigned short[::1]")
    _capacity: cython.Py_ssize_t
    _wanted_words: cython.uint
    _wanted_shorts: cython.uint
    samples = cython.declare(cython.Py_ssize_t, visibility="readonly")

    _sq = cython.declare("unsigned long long[::1]")
    _si = cython.declare("int[::1]")
    _su = cython.declare("unsigned int[::1]")
    _sh = cython.declare("unsigned short[::1]")
    _sb = cython.declare("unsigned char[::1]")
    _side_capacity: cython.Py_ssize_t
    sideband = cython.declare(cython.Py_ssize_t, visibility="readonly")

    _names: Interner
    _identities: Interner
    _scratch = cython.declare("unsigned char[::1]")
    _counts = cython.declare("unsigned long long[::1]")
    _others = cython.declare("unsigned long long[::1]")
    _max_samples: cython.Py_ssize_t
    _keep_switches: cython.bint

    # Counters read with samples: the value of (id, thread) that the last sample had.
    _splits: cython.bint
    _room: cython.Py_ssize_t
    _read_ids = cython.declare("unsigned long long[::1]")
    _read_threads = cython.declare("unsigned int[::1]")
    _read_values = cython.declare("unsigned long long[::1]")
    _read_count: cython.Py_ssize_t

    _next_flush: cython.ulonglong
    _newest: cython.ulonglong
    _flushed: cython.ulonglong

    at = cython.declare(cython.Py_ssize_t, visibility="public")
    lost = cython.declare(cython.ulonglong, visibility="readonly")
    unordered = cython.declare(cython.Py_ssize_t, visibility="readonly")
    bad_samples = cython.declare(cython.Py_ssize_t, visibility="readonly")
    unknown_ids = cython.declare(cython.Py_ssize_t, visibility="readonly")
    bad_stacks = cython.declare(cython.Py_ssize_t, visibility="readonly")
    bad_records = cython.declare(cython.Py_ssize_t, visibility="readonly")
    no_event = cython.declare(cython.Py_ssize_t, visibility="readonly")
    first_bad = cython.declare(cython.longlong, visibility="readonly")

    def __init__(self, max_samples: int, keep_switches: bool) -> None:
        self._events = zeros("Q", 0)
        self._event_count = 0
        self._timed = False
        self._single = False
        self._places = zeros("Q", 0)
        self._ids = zeros("Q", 0)
        self._owners = zeros("I", 0)
        self._capacity = min(4096, max_samples)
        self._q = zeros("Q", len(SAMPLE_WORDS) * self._capacity)
        self._i = zeros("i", len(SAMPLE_INTS) * self._capacity)
        self._h = zeros("H", len(SAMPLE_SHORTS) * self._capacity)
        self._wanted_words = 15
        self._wanted_shorts = 3
        self.samples = 0
        self._side_capacity = min(1024, max_samples)
        self._sq = zeros("Q", len(SIDE_WORDS) * self._side_capacity)
        self._si = zeros("i", len(SIDE_INTS) * self._side_capacity)
        self._su = zeros("I", len(SIDE_UNSIGNED) * self._side_capacity)
        self._sh = zeros("H", self._side_capacity)
        self._sb = zeros("B", self._side_capacity)
        self.sideband = 0
        self._names = Interner()
        self._identities = Interner()
        self._scratch = zeros("B", 32)
        self._counts = zeros("Q", KNOWN_TYPES)
        self._others = zeros("Q", 2 * OTHER_TYPES + 1)
        self._splits = False
        self._room = 1
        self._read_ids = zeros("Q", 64)
        self._read_threads = zeros("I", 64)
        self._read_values = zeros("Q", 64)
        self._read_count = 0
        self._max_samples = max_samples
        self._keep_switches = keep_switches
        self.at = 0
        self.lost = 0
        self.unordered = self.bad_samples = self.unknown_ids = 0
        self.bad_stacks = self.bad_records = self.no_event = 0
        self.first_bad = -1
        self.new_segment()

    @cython.locals(words="unsigned long long[::1]", shorts="unsigned short[::1]")
    def restart(self) -> None:
        """Forget samples and side band, for those who take them round by round; names, identities and counts stay."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        words = self._q
        shorts = self._h
        # Not every record writes all columns.
        for k in range(len(SAMPLE_WORDS)):
            if (self._wanted_words >> k) & 1:
                for i in range(self.samples):
                    words[k * self._capacity + i] = 0
        for k in range(len(SAMPLE_SHORTS)):
            if (self._wanted_shorts >> k) & 1:
                for i in range(self.samples):
                    shorts[k * self._capacity + i] = 0
        self.samples = 0
        self.sideband = 0

    def new_segment(self) -> None:
        """Rounds start anew: another file of a directory is another writer."""
        self._next_flush = 0
        self._newest = 0
        self._flushed = 0

    @cython.locals(ids="const unsigned long long[::1]", owners="const unsigned int[::1]")
    def set_events(self, table: Any, places: Any, ids: Any, owners: Any, wanted_words: int, wanted_shorts: int) -> None:
        """Say how samples of each event look, and which event an id means.

        ``table``: EVENT_WORDS words ('Q') an event, see ``events.decoder_table``. ``places``: the distinct
        offsets ('Q') of the id in a sample. ``ids`` ('Q') and their event numbers ``owners`` ('I').
        ``wanted_words`` and ``wanted_shorts``: bit masks of the SAMPLE_WORDS and SAMPLE_SHORTS that get written.
        """
        self._wanted_words |= wanted_words
        self._wanted_shorts |= wanted_shorts
        self._events = table
        self._event_count = self._events.shape[0] // _STRIDE
        self._single = self._event_count == 1
        self._timed = False
        row: cython.Py_ssize_t
        for row in range(0, self._event_count * _STRIDE, _STRIDE):
            if self._events[row] & 4:
                self._timed = True
            if self._events[row] & 0x10 and self._events[row + 1] & 4:
                self._splits = True
        self._places = places
        n: cython.Py_ssize_t = ids.shape[0]
        bits: cython.int = 4
        while (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * n + 2:
            bits += 1
        self._ids = zeros("Q", 1 << bits)
        self._owners = zeros("I", 1 << bits)
        # A random odd factor: ids cannot be chosen to meet in one slot.
        self._id_factor = int.from_bytes(os.urandom(8), "little") | 1
        self._id_shift = 64 - bits
        self._last_id = 0
        self._last_owner = 0
        mask: cython.ulonglong = (1 << bits) - 1
        at: cython.ulonglong
        i: cython.Py_ssize_t
        for i in range(n):
            at = (ids[i] * self._id_factor) >> self._id_shift
            while self._owners[at] != 0 and self._ids[at] != ids[i]:
                at = (at + 1) & mask
            if self._owners[at] == 0:
                self._ids[at] = ids[i]
                self._owners[at] = owners[i] + 1

    def expect(self, samples: int, sideband: int) -> None:
        """Make room for that many samples and entries of the side band in all, so that columns grow once and not by
        doubling. Some more, since it is a guess: what is not written to costs nothing, moving to longer columns does.
        """
        wanted: cython.Py_ssize_t = min(samples, self._max_samples)
        if wanted > self._capacity:
            self._grow_samples(min(wanted + wanted // 3, self._max_samples))
        wanted = min(sideband, self._max_samples)
        if wanted > self._side_capacity:
            self._grow_sideband(min(wanted + wanted // 3, self._max_samples))

    @cython.cfunc
    def _grow_samples(self, capacity: cython.Py_ssize_t) -> cython.int:
        self._q = _longer(self._q, len(SAMPLE_WORDS), self.samples, capacity, self._wanted_words)
        self._i = _longer(self._i, len(SAMPLE_INTS), self.samples, capacity, 7)
        self._h = _longer(self._h, len(SAMPLE_SHORTS), self.samples, capacity, self._wanted_shorts)
        self._capacity = capacity
        return 0

    @cython.cfunc
    def _grow_sideband(self, capacity: cython.Py_ssize_t) -> cython.int:
        self._sq = _longer(self._sq, len(SIDE_WORDS), self.sideband, capacity, 31)
        self._si = _longer(self._si, len(SIDE_INTS), self.sideband, capacity, 3)
        self._su = _longer(self._su, len(SIDE_UNSIGNED), self.sideband, capacity, 7)
        self._sh = _longer(self._sh, 1, self.sideband, capacity, 1)
        self._sb = _longer(self._sb, 1, self.sideband, capacity, 1)
        self._side_capacity = capacity
        return 0

    @cython.locals(view="const unsigned char[::1]")
    def scan(self, view: Any, position: int) -> int:
        """Decode the records of ``view`` from byte ``self.at`` on, ``position`` being the stream offset of byte 0.

        Afterwards ``self.at`` is the record that stopped the scan, for which the answer says why (MORE, RARE,
        BROKEN, FULL). It may lie behind the window when bytes outside of records were skipped.
        """
        size: cython.Py_ssize_t = view.shape[0]
        base: cython.longlong = position
        status: cython.int = GROW
        if size == 0:
            return MORE
        while True:
            with cython.nogil:
                status = self._scan(cython.address(view[0]), size, base)
            if status != GROW:
                return status
            if self.samples >= self._max_samples or self.sideband >= self._max_samples:
                return FULL
            if self.samples + self._room > self._capacity:
                if self._capacity >= self._max_samples:
                    return FULL
                self._grow_samples(min(2 * self._capacity, self._max_samples))
            if self.sideband >= self._side_capacity:
                self._grow_sideband(min(2 * self._side_capacity, self._max_samples))
            self._names._grow()
            self._identities._grow()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _scan(self, data: Any, size: cython.Py_ssize_t, base: cython.longlong) -> cython.int:
        at: cython.Py_ssize_t = self.at
        end: cython.Py_ssize_t
        kind: cython.uint
        misc: cython.uint
        length: cython.Py_ssize_t
        extra: cython.ulonglong
        done: cython.int
        while True:
            self.at = at
            if at > size - 8:
                return 0
            kind = _u32(data, size, at)
            misc = _u16(data, size, at + 4)
            length = _u16(data, size, at + 6)
            if length < 8:
                return 3
            if length > size - at:
                return 0
            # Each counter that is read with a sample may become one: an id and a value are 16 bytes.
            self._room = 1 if not self._splits or kind != 9 else (length >> 4) + 1
            if (
                self.samples + self._room > self._capacity
                or self.sideband >= self._side_capacity
                or self._names._tight()
                or self._identities._tight()
            ):
                return 2
            end = at + length
            if kind == 9:
                self._counts[9] += 1
                done = self._sample(data, size, at, end, misc, base)
                if done > 0:
                    self.bad_samples += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif 0 < kind <= 22:
                self._count(kind)
                done = self._side_record(data, size, at, end, kind, misc, base)
                if done > 0:
                    self.bad_records += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif kind == 68:
                self._counts[68] += 1
                self._flushed = self._next_flush
                self._next_flush = self._newest
            elif kind == 71:
                # The trace bytes follow the record and are not part of its size.
                self._counts[71] += 1
                extra = _u64(data, size, at + 8) if length >= 16 else 0
                if extra > cython.cast(cython.ulonglong, 1) << 62:
                    return 3
                end += cython.cast(cython.Py_ssize_t, extra)
            elif kind in (64, 66, 67, 78, 80, 81, 83):
                self._count(kind)
                return 1
            else:
                self._count(kind)
            at = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _count(self, kind: cython.uint) -> cython.int:
        i: cython.Py_ssize_t
        if kind < 128:
            self._counts[kind] += 1
            return 0
        for i in range(64):
            if self._others[2 * i + 1] == 0:
                self._others[2 * i] = kind
            if self._others[2 * i] == kind:
                self._others[2 * i + 1] += 1
                return 0
        self._others[128] += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _owner(self, identifier: cython.ulonglong) -> cython.int:
        """The event number + 1 of an id; 0 for an unknown one. Id 0 is the first event's."""
        if identifier == 0:
            return 1
        if identifier == self._last_id:
            return self._last_owner
        mask: cython.ulonglong = self._ids.shape[0] - 1
        at: cython.ulonglong = (identifier * self._id_factor) >> self._id_shift
        while self._owners[at] != 0:
            if self._ids[at] == identifier:
                self._last_id = identifier
                self._last_owner = cython.cast(cython.int, self._owners[at])
                return self._last_owner
            at = (at + 1) & mask
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _effective(self, time: cython.ulonglong) -> cython.ulonglong:
        """When a record counts as delivered: its time; without one, what the last round had flushed."""
        if time == 0 or ~time == 0:
            return self._flushed
        if time > self._newest:
            self._newest = time
        if time < self._flushed:
            self.unordered += 1
        return time

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _sample_event(self, data: Any, end: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.int:
        """The event number + 1 of the sample at ``at``; 0 when its id is unknown."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        owner: cython.int
        if self._single:
            return 1
        if self._places.shape[0] == 0:
            return 1 if self._event_count > 0 else 0
        # Events of one recording agree on the place; where they do not, an id only counts at its event's own.
        for i in range(self._places.shape[0]):
            place = cython.cast(cython.Py_ssize_t, self._places[i])
            if at + place + 8 > end:
                continue
            owner = self._owner(_u64(data, end, at + place))
            if owner > 0 and cython.cast(cython.Py_ssize_t, self._events[(owner - 1) * _STRIDE + 8]) == place:
                return owner
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _sample(
        self,
        data: Any,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        misc: cython.uint,
        base: cython.longlong,
    ) -> cython.int:
        """Decode one sample; 1 when its fields do not fit in the record."""
        owner: cython.int = 0
        done: cython.int
        if self._event_count > 0:
            owner = self._sample_event(data, end, at)
        if owner == 0:
            self.unknown_ids += 1
            return 0
        # A branch stack without branches may or may not carry its hw_idx word: whichever fills the record.
        done = self._fields(data, at, end, misc, base, owner - 1, False)
        if done == 2:
            done = self._fields(data, at, end, misc, base, owner - 1, True)
        return done

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _fields(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        misc: cython.uint,
        base: cython.longlong,
        event: cython.Py_ssize_t,
        bare_branches: cython.bint,
    ) -> cython.int:
        """0: one more sample; 1: does not fit; 2: try again with ``bare_branches``."""
        row: cython.Py_ssize_t = event * _STRIDE
        kind: cython.ulonglong = self._events[row]
        n: cython.Py_ssize_t = self.samples
        cap: cython.Py_ssize_t = self._capacity
        p: cython.Py_ssize_t = at + 8
        count: cython.ulonglong
        words: cython.ulonglong
        identifier: cython.ulonglong = 0
        stream: cython.ulonglong = 0
        ip: cython.ulonglong = 0
        time: cython.ulonglong = 0
        addr: cython.ulonglong = 0
        pid: cython.int = -1
        tid: cython.int = -1
        cpu: cython.int = -1
        period: cython.ulonglong = self._events[row + 5]
        callchain_at: cython.Py_ssize_t = 0
        regs_at: cython.Py_ssize_t = 0
        stack_at: cython.Py_ssize_t = 0
        read_at: cython.Py_ssize_t = 0
        raw_at: cython.Py_ssize_t = 0
        branch_at: cython.Py_ssize_t = 0
        intr_at: cython.Py_ssize_t = 0
        rest_at: cython.Py_ssize_t = 0
        retry: cython.bint = False
        bad_stack: cython.bint = False
        # Reads past ``end`` give 0, so words of fixed size are checked once, by ``p > end`` below; only what is
        # used as a count must be known to lie inside first.
        if kind & 0x10000:
            identifier = _u64(data, end, p)
            p += 8
        if kind & 1:
            ip = _u64(data, end, p)
            p += 8
        if kind & 2:
            pid = cython.cast(cython.int, _u32(data, end, p))
            tid = cython.cast(cython.int, _u32(data, end, p + 4))
            p += 8
        if kind & 4:
            time = _u64(data, end, p)
            p += 8
        if kind & 8:
            addr = _u64(data, end, p)
            p += 8
        if kind & 0x40:
            identifier = _u64(data, end, p)
            p += 8
        if kind & 0x200:
            stream = _u64(data, end, p)
            p += 8
        if kind & 0x80:
            cpu = cython.cast(cython.int, _u32(data, end, p))
            p += 8
        if kind & 0x100:
            period = _u64(data, end, p)
            p += 8
        if kind & 0x10:
            read_at = p - at
            if self._events[row + 1] & 8:
                if p + 8 > end:
                    return 1
                count = _u64(data, end, p)
                words = self._events[row + 10]  # of each value
                if count > cython.cast(cython.ulonglong, end - p) >> 3:
                    return 1
                p += cython.cast(cython.Py_ssize_t, 8 + 8 * self._events[row + 9] + 8 * words * count)
            else:
                p += cython.cast(cython.Py_ssize_t, 8 * (self._events[row + 9] + self._events[row + 10]))
        if kind & 0x20:
            callchain_at = p - at
            if p + 8 > end:
                return 1
            count = _u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8) >> 3:
                return 1
            p += 8 + 8 * cython.cast(cython.Py_ssize_t, count)
        if kind & 0x400:
            raw_at = p - at
            if p + 4 > end:
                return 1
            p += 4 + cython.cast(cython.Py_ssize_t, _u32(data, end, p))
        if kind & 0x800:
            branch_at = p - at
            if p + 8 > end:
                return 1
            count = _u64(data, end, p)
            words = 4 if self._events[row + 4] & 0x80000 else 3
            if count > cython.cast(cython.ulonglong, end - p - 8) >> 3:
                return 1
            p += cython.cast(cython.Py_ssize_t, 8 + 8 * words * count)
            if self._events[row + 4] & 0x20000:
                if count != 0:
                    p += 8
                elif not bare_branches:
                    p += 8
                    retry = True
        if kind & 0x1000:
            regs_at = p - at
            if p + 8 > end:
                return 2 if retry else 1
            if _u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + 2])
            p += 8
        if kind & 0x2000:
            stack_at = p - at
            if p + 8 > end:
                return 2 if retry else 1
            count = _u64(data, end, p)
            p += 8
            if count != 0:
                if p + 8 > end or count > cython.cast(cython.ulonglong, end - p - 8):
                    return 2 if retry else 1
                p += cython.cast(cython.Py_ssize_t, count)
                bad_stack = _u64(data, end, p) > count
                p += 8
        rest_at = p
        if kind & 0x1004000:
            p += 8
        if kind & 0x8000:
            p += 8
        if kind & 0x20000:
            p += 8
        if kind & 0x40000:
            intr_at = p - at
            if p + 8 > end:
                return 2 if retry else 1
            if _u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + 3])
            p += 8
        words = p
        if kind & 0x80000:
            p += 8
        if kind & 0x200000:
            p += 8
        if kind & 0x400000:
            p += 8
        if kind & 0x800000:
            p += 8
        if kind & 0x100000:
            if p + 8 > end:
                return 2 if retry else 1
            count = _u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8):
                return 2 if retry else 1
            p += 8 + cython.cast(cython.Py_ssize_t, count)
        if retry and p != end:
            return 2
        if p > end:
            return 1

        self._q[n] = base + at
        time = self._effective(time)
        self._q[cap + n] = time
        self._q[2 * cap + n] = ip
        self._q[3 * cap + n] = period
        self._i[n] = pid
        self._i[cap + n] = tid
        self._i[2 * cap + n] = cpu
        self._h[cap + n] = cython.cast(cython.ushort, misc)
        # Columns are zero from the start: those the event has no field for are not even touched.
        if event != 0:
            self._h[n] = cython.cast(cython.ushort, event)
        if kind & 0x20:
            self._h[2 * cap + n] = cython.cast(cython.ushort, callchain_at)
        if kind & 0x1000:
            self._h[3 * cap + n] = cython.cast(cython.ushort, regs_at)
        if kind & 0x2000:
            self._h[4 * cap + n] = cython.cast(cython.ushort, stack_at)
            if bad_stack:
                self.bad_stacks += 1
        if kind & 0x10:
            self._h[5 * cap + n] = cython.cast(cython.ushort, read_at)
        if kind & 0x400:
            self._h[6 * cap + n] = cython.cast(cython.ushort, raw_at)
        if kind & 0x800:
            self._h[7 * cap + n] = cython.cast(cython.ushort, branch_at)
        if kind & 0x40000:
            self._h[8 * cap + n] = cython.cast(cython.ushort, intr_at)
        if kind & 8:
            self._q[4 * cap + n] = addr
        if kind & 0x10040:
            self._q[12 * cap + n] = identifier
        if kind & 0x200:
            self._q[13 * cap + n] = stream
        if kind & 0x1004000:
            self._q[5 * cap + n] = _u64(data, end, rest_at)
            rest_at += 8
        if kind & 0x8000:
            self._q[6 * cap + n] = _u64(data, end, rest_at)
            rest_at += 8
        if kind & 0x20000:
            self._q[7 * cap + n] = _u64(data, end, rest_at)
        if kind & 0xE80000:
            rest_at = cython.cast(cython.Py_ssize_t, words)
            if kind & 0x80000:
                self._q[8 * cap + n] = _u64(data, end, rest_at)
                rest_at += 8
            if kind & 0x200000:
                self._q[9 * cap + n] = _u64(data, end, rest_at)
                rest_at += 8
            if kind & 0x400000:
                self._q[10 * cap + n] = _u64(data, end, rest_at)
                rest_at += 8
            if kind & 0x800000:
                self._q[11 * cap + n] = _u64(data, end, rest_at)
        self.samples = n + 1
        if kind & 0x10 and self._events[row + 1] & 4:
            self._split(data, end, at + read_at, row, n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _split(
        self, data: Any, end: cython.Py_ssize_t, read: cython.Py_ssize_t, row: cython.Py_ssize_t, n: cython.Py_ssize_t
    ) -> cython.int:
        """Make of sample ``n``, the last one, a sample for each counter that was read with it and has counted since it
        was last read, with what it counted as the period: what perf makes of it (tools/perf/util/session.c,
        deliver_sample_group). ``read`` is where the counters begin.
        """
        form: cython.ulonglong = self._events[row + 1]
        values: cython.Py_ssize_t = 1
        step: cython.Py_ssize_t = 8 * cython.cast(cython.Py_ssize_t, self._events[row + 10])
        p: cython.Py_ssize_t = read
        cap: cython.Py_ssize_t = self._capacity
        tid: cython.int = self._i[cap + n]
        thread: cython.uint = cython.cast(cython.uint, tid) if self._events[row + 12] else 0
        identifier: cython.ulonglong
        period: cython.ulonglong
        made: cython.Py_ssize_t = n
        owner: cython.int
        _k: cython.Py_ssize_t
        if form & 8:
            values = cython.cast(cython.Py_ssize_t, _u64(data, end, p))
            p += 8 + 8 * cython.cast(cython.Py_ssize_t, self._events[row + 9])
            # A group has each event once.
            if values > self._event_count:
                values = self._event_count
            if values > (self._room - 1):
                values = self._room - 1
        else:
            # The times stand between the value and its id.
            step = 8 * cython.cast(cython.Py_ssize_t, self._events[row + 9])
        for _k in range(values):
            identifier = _u64(data, end, p + 8 if form & 8 else p + 8 + step)
            owner = self._owner(identifier) if identifier != 0 else 0
            if owner > 0:
                period = self._counted(identifier, thread, _u64(data, end, p))
                if period != 0:
                    if made != n:
                        self._copy_row(n, made)
                    self._q[3 * cap + made] = period
                    self._h[made] = cython.cast(cython.ushort, owner - 1)
                    self._q[12 * cap + made] = identifier
                    if self._events[(owner - 1) * _STRIDE + 2] != self._events[row + 2]:
                        # Its event does not say the registers of this sample.
                        self._h[3 * cap + made] = 0
                    made += 1
            else:
                self.unknown_ids += 1
            p += step
        if made == n:
            self._clear_row(n)
        self.samples = made
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _copy_row(self, source: cython.Py_ssize_t, target: cython.Py_ssize_t) -> cython.int:
        """Let a sample be like another one."""
        cap: cython.Py_ssize_t = self._capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._wanted_words >> k) & 1:
                self._q[k * cap + target] = self._q[k * cap + source]
        for k in range(3):
            self._i[k * cap + target] = self._i[k * cap + source]
        for k in range(SHORT_COLUMNS):
            if (self._wanted_shorts >> k) & 1:
                self._h[k * cap + target] = self._h[k * cap + source]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _clear_row(self, row: cython.Py_ssize_t) -> cython.int:
        """Take back what was written of a sample: others need not write all columns."""
        cap: cython.Py_ssize_t = self._capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._wanted_words >> k) & 1:
                self._q[k * cap + row] = 0
        for k in range(SHORT_COLUMNS):
            if (self._wanted_shorts >> k) & 1:
                self._h[k * cap + row] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _read_slot(self, identifier: cython.ulonglong, thread: cython.uint) -> cython.Py_ssize_t:
        """Where a counter's last value is, or belongs: the slot is free if its id is 0."""
        mask: cython.ulonglong = self._read_ids.shape[0] - 1
        at: cython.ulonglong = ((identifier + thread * self._id_factor) * self._id_factor) >> 20 & mask
        while self._read_ids[at] != 0 and not (self._read_ids[at] == identifier and self._read_threads[at] == thread):
            at = (at + 1) & mask
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _counted(self, identifier: cython.ulonglong, thread: cython.uint, value: cython.ulonglong) -> cython.ulonglong:
        """What a counter has counted since it was last read."""
        at: cython.Py_ssize_t
        before: cython.ulonglong
        if 2 * (self._read_count + 1) > self._read_ids.shape[0]:
            with cython.gil:
                self._grow_reads()
        at = self._read_slot(identifier, thread)
        if self._read_ids[at] == 0:
            self._read_ids[at] = identifier
            self._read_threads[at] = thread
            self._read_count += 1
        before = self._read_values[at]
        self._read_values[at] = value
        return value - before

    @cython.cfunc
    @cython.locals(
        ids="unsigned long long[::1]", threads="unsigned int[::1]", values="unsigned long long[::1]", at="Py_ssize_t"
    )
    def _grow_reads(self) -> cython.int:
        """Double the table of counters."""
        ids = self._read_ids
        threads = self._read_threads
        values = self._read_values
        size: cython.Py_ssize_t = ids.shape[0]
        self._read_ids = zeros("Q", 2 * size)
        self._read_threads = zeros("I", 2 * size)
        self._read_values = zeros("Q", 2 * size)
        i: cython.Py_ssize_t
        for i in range(size):
            if ids[i] != 0:
                at = self._read_slot(ids[i], threads[i])
                self._read_ids[at] = ids[i]
                self._read_threads[at] = threads[i]
                self._read_values[at] = values[i]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", found="const unsigned char *")
    def _side_record(
        self,
        data: Any,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.uint,
        misc: cython.uint,
        base: cython.longlong,
    ) -> cython.int:
        """Decode one record of the kernel that is no sample; 1 when it is damaged."""
        row: cython.Py_ssize_t = 0
        owner: cython.int = 1
        place: cython.Py_ssize_t
        tail: cython.Py_ssize_t = end
        flags: cython.ulonglong = 0
        time: cython.ulonglong = 0
        pid: cython.int = -1
        tid: cython.int = -1
        a: cython.ulonglong = 0
        b: cython.ulonglong = 0
        c: cython.ulonglong = 0
        d: cython.uint = 0
        entry: cython.int = 0
        least: cython.Py_ssize_t
        name_at: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        name: cython.Py_ssize_t = 0
        identity: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        cap: cython.Py_ssize_t
        with_trailer: cython.bint = False
        any_byte: cython.bint = False

        if self._event_count > 0 and self._events[6]:
            # All events agree on the distance of the id from the end.
            if not self._single and self._events[11]:
                place = end - cython.cast(cython.Py_ssize_t, self._events[11])
                if place >= at + 8:
                    owner = self._owner(_u64(data, end, place))
                    if owner == 0:
                        self.no_event += 1
                        owner = 1
            row = (owner - 1) * _STRIDE
            tail = end - cython.cast(cython.Py_ssize_t, self._events[row + 7])
            with_trailer = tail < end

        # What the record must hold before its trailer.
        if kind == 1 or kind == 5 or kind == 6:
            least = 32
        elif kind == 10:
            least = 72
        elif kind == 4 or kind == 7:
            least = 32
        elif kind == 2 or kind == 17 or kind == 18 or kind == 16 or kind == 20 or kind == 22:
            least = 24
        elif kind == 11:
            least = 32
        elif kind == 3 or kind == 12 or kind == 13 or kind == 15 or kind == 19 or kind == 21:
            least = 16
        else:
            least = 8
        if kind == 1:
            least = 40
        if tail - at < least:
            return 1

        if with_trailer:
            flags = self._events[row]
            place = tail
            if flags & 2:
                pid = cython.cast(cython.int, _u32(data, end, place))
                tid = cython.cast(cython.int, _u32(data, end, place + 4))
                place += 8
            if flags & 4:
                time = _u64(data, end, place)

        if kind == 1 or kind == 10:
            entry = 1
            pid = cython.cast(cython.int, _u32(data, end, at + 8))
            tid = cython.cast(cython.int, _u32(data, end, at + 12))
            a = _u64(data, end, at + 16)
            b = _u64(data, end, at + 24)
            c = _u64(data, end, at + 32)
            if kind == 1:
                name_at = at + 40
                d = 3 if misc & 0x2000 else 4
            else:
                name_at = at + 72
                d = _u32(data, end, at + 64)
                memcpy(cython.address(self._scratch[1]), data + at + 40, 24)
                stop = data[at + 40]
                # While somebody else records with build-ids the kernel may set the bit in records that have none: it
                # fills the header for one event after the other (perf_event_mmap_output). No build-id is that long.
                if misc & 0x4000 and stop <= 20:
                    self._scratch[0] = 1
                    for i in range(2, 5):
                        self._scratch[i] = 0
                    for i in range(stop, 20):
                        self._scratch[i + 5] = 0
                    any_byte = stop != 0
                else:
                    self._scratch[0] = 2
                    any_byte = (_u64(data, end, at + 40) | _u64(data, end, at + 48) | _u64(data, end, at + 56)) != 0
                if any_byte:
                    identity = self._identities._add(cython.address(self._scratch[0]), 25)
        elif kind == 3:
            entry = 2
            pid = cython.cast(cython.int, _u32(data, end, at + 8))
            tid = cython.cast(cython.int, _u32(data, end, at + 12))
            name_at = at + 16
        elif kind == 7 or kind == 4:
            entry = 3 if kind == 7 else 4
            pid = cython.cast(cython.int, _u32(data, end, at + 8))
            a = _u32(data, end, at + 12)
            tid = cython.cast(cython.int, _u32(data, end, at + 16))
            b = _u32(data, end, at + 20)
            # Beside samples without times, only the place in the file says what came first.
            if time == 0 and self._timed:
                time = _u64(data, end, at + 24)
        elif kind == 2 or kind == 13:
            entry = 11
            if kind == 2:
                b = _u64(data, end, at + 8)
                a = _u64(data, end, at + 16)
            else:
                a = _u64(data, end, at + 8)
                c = 1
                d = 1 if misc & 0x8000 else 0
            if d == 0:
                self.lost = self.lost + a if self.lost + a >= a else ~cython.cast(cython.ulonglong, 0)
        elif kind == 17:
            entry = 5
            a = _u64(data, end, at + 8)
            b = _u32(data, end, at + 16)
            c = _u16(data, end, at + 20)
            d = _u16(data, end, at + 22)
            name_at = at + 24
        elif kind == 20:
            entry = 6
            a = _u64(data, end, at + 8)
            b = _u16(data, end, at + 16)
            c = _u16(data, end, at + 18)
            if b + c > cython.cast(cython.ulonglong, tail - at - 20):
                return 1
        elif kind == 18:
            entry = 7
            c = _u16(data, end, at + 8)
            d = _u16(data, end, at + 10)
            a = _u32(data, end, at + 12)
            b = _u64(data, end, at + 16)
        elif kind == 19:
            entry = 8
            a = _u64(data, end, at + 8)
            name_at = at + 16
        elif kind == 16:
            entry = 9
            pid = cython.cast(cython.int, _u32(data, end, at + 8))
            tid = cython.cast(cython.int, _u32(data, end, at + 12))
            a = _u64(data, end, at + 16)
            if a > cython.cast(cython.ulonglong, tail - at - 24) >> 4:
                return 1
        elif kind == 22:
            entry = 12
            a = _u64(data, end, at + 8)
            b = _u64(data, end, at + 16)
            if b > cython.cast(cython.ulonglong, tail - at - 24) >> 3:
                return 1
        elif kind == 11:
            entry = 13
            a = _u64(data, end, at + 8)
            b = _u64(data, end, at + 16)
            d = _u32(data, end, at + 24)
        elif kind == 12:
            entry = 14
            pid = cython.cast(cython.int, _u32(data, end, at + 8))
            tid = cython.cast(cython.int, _u32(data, end, at + 12))
        elif kind == 21:
            entry = 15
            a = _u64(data, end, at + 8)
        elif kind == 5 or kind == 6:
            entry = 16 if kind == 5 else 17
            if time == 0 and self._timed:
                time = _u64(data, end, at + 8)
            a = _u64(data, end, at + 16)
            b = _u64(data, end, at + 24)
        elif (kind == 14 or kind == 15) and self._keep_switches:
            entry = 10
            if kind == 15:
                a = _u32(data, end, at + 8)
                b = _u32(data, end, at + 12)
                c = 1

        if not with_trailer and time == 0 and not (self._event_count > 0 and self._events[6]):
            # Without trailers the place in the file is all there is: after the newest sample before it.
            time = self._newest
        if entry == 0:
            self._effective(time)
            return 0
        if name_at != 0:
            if name_at >= tail:
                return 1
            found = cython.cast("const unsigned char *", memchr(data + name_at, 0, tail - name_at))
            if not found:
                return 1
            stop = found - data
            name = self._names._add(data + name_at, stop - name_at)
        n = self.sideband
        cap = self._side_capacity
        self._sb[n] = cython.cast(cython.uchar, entry)
        self._sh[n] = cython.cast(cython.ushort, misc)
        self._sq[n] = self._effective(time)
        self._sq[cap + n] = base + at
        self._sq[2 * cap + n] = a
        self._sq[3 * cap + n] = b
        self._sq[4 * cap + n] = c
        self._si[n] = pid
        self._si[cap + n] = tid
        self._su[n] = d
        self._su[cap + n] = cython.cast(cython.uint, name)
        self._su[2 * cap + n] = cython.cast(cython.uint, identity)
        self.sideband = n + 1
        return 0

    def sample_columns(self) -> dict[str, "memoryview[int]"]:
        """Sample columns by name, in stream order."""
        n = self.samples
        found = {}
        for names, block in ((SAMPLE_WORDS, self._q), (SAMPLE_INTS, self._i), (SAMPLE_SHORTS, self._h)):
            whole = memoryview(block)
            for number, name in enumerate(names):
                found[name] = whole[number * self._capacity : number * self._capacity + n]
        return found

    def side_columns(self) -> dict[str, "memoryview[int]"]:
        """Side-band columns by name, in stream order."""
        n = self.sideband
        found = {"kind": memoryview(self._sb)[:n], "misc": memoryview(self._sh)[:n]}
        for names, block in ((SIDE_WORDS, self._sq), (SIDE_INTS, self._si), (SIDE_UNSIGNED, self._su)):
            whole = memoryview(block)
            for number, name in enumerate(names):
                found[name] = whole[number * self._side_capacity : number * self._side_capacity + n]
        return found

    def names(self, first: int = 0) -> list[bytes]:
        """Names by number, from number ``first`` on; number 0 is the empty one."""
        return self._names.entries(first)

    def identities(self, first: int = 0) -> list[bytes]:
        """Keys of file identities by number, from ``first`` on: b"\\1" and the build-id part, or b"\\2" and device and
        inode."""
        return self._identities.entries(first)

    def counts(self) -> dict[int, int]:
        """Records by type number; 2**32 for types beyond the first OTHER_TYPES unknown ones."""
        found = {kind: self._counts[kind] for kind in range(KNOWN_TYPES) if self._counts[kind]}
        for i in range(OTHER_TYPES):
            if self._others[2 * i + 1]:
                found[self._others[2 * i]] = self._others[2 * i + 1]
        if self._others[2 * OTHER_TYPES]:
            found[1 << 32] = self._others[2 * OTHER_TYPES]
        return found

    @cython.locals(counts="unsigned long long[::1]")
    def events_used(self) -> list[int]:
        """Samples of each event."""
        n: cython.Py_ssize_t
        used = zeros("Q", self._event_count + 1)
        counts = used
        if self._event_count == 1:
            return [self.samples]
        with cython.nogil:
            for n in range(self.samples):
                counts[self._h[n]] += 1
        return list(used[: self._event_count])
