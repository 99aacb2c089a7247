# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Ring buffers of perf events: the complete records up to a point in time, without copying them.

The first page of the mapping has the kernel's position (``data_head``) at byte 1024, the reader's (``data_tail``) at
1032, and offset and size of the data at 1040 and 1048 (``struct perf_event_mmap_page`` in
``include/uapi/linux/perf_event.h``). Both positions only grow; the kernel does not write between tail and head.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.posix.time import CLOCK_MONOTONIC, clock_gettime, nanosleep, timespec
from cython.cimports.undwarf.integer_constants import ALL_ONES, GOLDEN_RATIO
from cython.cimports.undwarf.perfdata.record_types import RecordType

from undwarf.column import doubled, zeros
from undwarf.profile.grouping import halves

HEAD = cython.declare(cython.Py_ssize_t, 1024)
TAIL = cython.declare(cython.Py_ssize_t, 1032)
DATA_OFFSET = cython.declare(cython.Py_ssize_t, 1040)
DATA_SIZE = cython.declare(cython.Py_ssize_t, 1048)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(pages="unsigned char[::1]")
def word_of(pages: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A word of a mapping, which the kernel may change at any time."""
    value: cython.ulonglong = 0
    memcpy(cython.address(value), cython.address(pages[at]), 8)
    return value


@cython.cfunc
@cython.locals(pages="unsigned char[::1]")
def data_of(pages: Any) -> tuple[int, int]:
    """Offset and size of a mapping's data. Raises ValueError if they are not in the mapping, or not aligned."""
    start: cython.ulonglong = word_of(pages, DATA_OFFSET)
    size: cython.ulonglong = word_of(pages, DATA_SIZE)
    if not start:
        # Kernels before 4.1 do not state them: all but the first page.
        start, size = 4096, pages.shape[0] - 4096
    total: cython.ulonglong = pages.shape[0]
    if start > total or size > total - start or size < 8 or size & (size - 1):
        raise ValueError("not a ring buffer of perf events")
    return start, size


@cython.final
@cython.cclass
class Ring:
    """One mapped buffer.

    ``in_sample`` is the offset of the time in a sample, ``from_end`` that in other records, from their end. ``broken``:
    a record had an impossible size, and everything after it was dropped.
    """

    pages = cython.declare("unsigned char[::1]")
    start: cython.Py_ssize_t
    size: cython.ulonglong
    tail: cython.ulonglong
    in_sample: cython.Py_ssize_t
    from_end: cython.Py_ssize_t
    joined = cython.declare("unsigned char[::1]")
    broken = cython.declare(cython.bint, visibility="readonly")
    samples = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, mapping: Any, in_sample: int, from_end: int) -> None:
        self.pages = mapping
        self.start, self.size = data_of(self.pages)
        self.tail = word_of(self.pages, TAIL)
        self.in_sample = in_sample
        self.from_end = from_end
        self.joined = zeros("B", 1 << 16)
        self.broken = False
        self.samples = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def word(self, position: cython.ulonglong) -> cython.ulonglong:
        """The word at a position; records are aligned, so words never straddle the end."""
        return word_of(self.pages, self.start + cython.cast(cython.Py_ssize_t, position & (self.size - 1)))

    @property
    def filled(self) -> float:
        """The share of the buffer that is in use, from 0 to 1: data that is not given back to the kernel yet."""
        used: cython.ulonglong = word_of(self.pages, HEAD) - word_of(self.pages, TAIL)
        return used / self.size

    @cython.cfunc
    def pieces(self, begin: cython.ulonglong, end: cython.ulonglong) -> list[Any]:
        """Views of the data between two positions, in two parts if it goes on at the start of the buffer."""
        first: cython.Py_ssize_t = self.start + cython.cast(cython.Py_ssize_t, begin & (self.size - 1))
        length: cython.Py_ssize_t = end - begin
        left: cython.Py_ssize_t = self.start + cython.cast(cython.Py_ssize_t, self.size) - first
        pages = memoryview(self.pages)
        if length > left:
            return [pages[first : first + left], pages[self.start : self.start + length - left]]
        return [pages[first : first + length]] if length else []

    def take(self, until: int) -> list[Any]:
        """Views of the records up to the first one later than ``until`` (ns), in order; each holds complete records.

        A record that continues at the start of the buffer is copied. The views are valid until ``done``.
        """
        limit: cython.ulonglong = until
        head: cython.ulonglong = word_of(self.pages, HEAD)
        at: cython.ulonglong = self.tail
        header: cython.ulonglong
        length: cython.ulonglong
        time: cython.ulonglong
        place: cython.ulonglong
        # Start and end of a record that straddles the end of the buffer.
        split: cython.ulonglong = ALL_ONES
        split_end: cython.ulonglong = 0
        used: cython.Py_ssize_t = 0
        views: list[Any]
        if head - at > self.size:
            # The kernel never writes this; its current position is the only one that may be right.
            self.broken = True
            self.tail = head
            return []
        with cython.nogil:
            while head - at >= 8:
                header = self.word(at)
                length = header >> 48
                if length < 8 or length > head - at:
                    self.broken = True
                    break
                if cython.cast(cython.uint, header) == RecordType.SAMPLE:
                    place = cython.cast(cython.ulonglong, self.in_sample)
                else:
                    place = length - cython.cast(cython.ulonglong, self.from_end)
                if place >= 8 and place + 8 <= length:
                    time = self.word(at + place)
                    if time > limit and time != ALL_ONES:
                        break
                self.samples += cython.cast(cython.uint, header) == RecordType.SAMPLE
                if length > self.size - (at & (self.size - 1)):
                    split = at
                    split_end = at + length
                at += length
        if split == ALL_ONES:
            views = self.pieces(self.tail, at)
        else:
            for piece in self.pieces(split, split_end):
                memoryview(self.joined)[used : used + len(piece)] = piece
                used += len(piece)
            views = self.pieces(self.tail, split)
            views.append(memoryview(self.joined)[:used])
            views += self.pieces(split_end, at)
        self.tail = head if self.broken else at
        return views

    def done(self) -> None:
        """Give the space of the taken records back to the kernel."""
        tail: cython.ulonglong = self.tail
        memcpy(cython.address(self.pages[TAIL]), cython.address(tail), 8)

    def close(self) -> None:
        """Release the mapping."""
        self.pages = zeros("B", 4096)
        self.tail = 0


@cython.final
@cython.cclass
class Relay:
    """Moves the records of a small kernel buffer into a large buffer of ordinary memory with the same layout.

    ``kernel`` and ``large`` are the two mappings; a :class:`Ring` reads the large one. It has all records up to
    ``seen`` (ns of the monotonic clock). A thread of its own has to ``run`` it, without the GIL.
    """

    source = cython.declare("unsigned char[::1]")
    sink = cython.declare("unsigned char[::1]")
    start: cython.Py_ssize_t
    size: cython.ulonglong
    large_size: cython.ulonglong
    tail: cython.ulonglong
    head: cython.ulonglong
    broken = cython.declare(cython.bint, visibility="readonly")
    seen = cython.declare(cython.ulonglong, visibility="readonly")
    over: cython.bint

    def __init__(self, kernel: Any, large: Any) -> None:
        self.source = kernel
        self.sink = large
        self.start, self.size = data_of(self.source)
        _start, self.large_size = data_of(self.sink)
        self.tail = word_of(self.source, TAIL)
        self.head = 0
        self.broken = False
        self.seen = 0
        self.over = False

    def run(self, pause: int) -> None:
        """Move records every ``pause`` ns until :meth:`stop`."""
        time = cython.declare(timespec)
        time.tv_sec = 0
        time.tv_nsec = pause
        with cython.nogil:
            while not self.over:
                self.copy()
                nanosleep(cython.address(time), cython.NULL)

    def stop(self) -> None:
        """Make ``run`` return."""
        self.over = True

    def move(self) -> None:
        """Move the records once; not while ``run`` runs."""
        with cython.nogil:
            self.copy()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def copy(self) -> cython.int:
        """Move the records. If the large buffer is full they stay, and the kernel counts what it cannot write."""
        now = cython.declare(timespec)
        head: cython.ulonglong
        count: cython.ulonglong
        piece: cython.ulonglong
        at: cython.Py_ssize_t
        to: cython.Py_ssize_t
        clock_gettime(CLOCK_MONOTONIC, cython.address(now))
        head = word_of(self.source, HEAD)
        count = head - self.tail
        if count > self.size:
            # The kernel never writes this; its current position is the only one that may be right.
            self.broken = True
            self.tail = head
            count = 0
        if count <= self.large_size - (self.head - word_of(self.sink, TAIL)):
            while count:
                at = self.start + cython.cast(cython.Py_ssize_t, self.tail & (self.size - 1))
                to = 4096 + cython.cast(cython.Py_ssize_t, self.head & (self.large_size - 1))
                piece = count
                if self.size - (self.tail & (self.size - 1)) < piece:
                    piece = self.size - (self.tail & (self.size - 1))
                if self.large_size - (self.head & (self.large_size - 1)) < piece:
                    piece = self.large_size - (self.head & (self.large_size - 1))
                # In bounds: positions are reduced modulo the sizes, which were checked.
                memcpy(cython.address(self.sink[to]), cython.address(self.source[at]), piece)
                self.tail += piece
                self.head += piece
                count -= piece
            # The head is written after the data, so that readers see complete records only.
            memcpy(cython.address(self.sink[HEAD]), cython.address(self.head), 8)
            memcpy(cython.address(self.source[TAIL]), cython.address(self.tail), 8)
        self.seen = cython.cast(cython.ulonglong, now.tv_sec) * 1_000_000_000 + cython.cast(
            cython.ulonglong, now.tv_nsec
        )
        return 0

    def close(self) -> None:
        """Release both mappings."""
        self.source = zeros("B", 4096)
        self.sink = zeros("B", 4096)
        self.tail = self.head = 0


@cython.final
@cython.cclass
class Weights:
    """Samples summed by (stack node, thread name, event)."""

    keys = cython.declare("unsigned long long[::1]")
    events = cython.declare("unsigned short[::1]")
    slots = cython.declare("unsigned int[::1]")
    sums = cython.declare("unsigned long long[::1]")
    counts = cython.declare("unsigned int[::1]")
    stops = cython.declare("unsigned char[::1]")
    used = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop all sums."""
        self.used = 0
        self.keys = zeros("Q", 1024)
        self.events = zeros("H", 1024)
        self.sums = zeros("Q", 1024)
        self.counts = zeros("I", 1024)
        self.stops = zeros("B", 1024)
        self.slots = zeros("I", 4096)

    def _grow(self) -> None:
        i: cython.Py_ssize_t
        self.keys = doubled(self.keys, self.used)
        self.events = doubled(self.events, self.used)
        self.sums = doubled(self.sums, self.used)
        self.counts = doubled(self.counts, self.used)
        self.stops = doubled(self.stops, self.used)
        self.slots = zeros("I", 4 * self.keys.shape[0])
        for i in range(self.used):
            self.slots[self.slot(self.keys[i], self.events[i])] = cython.cast(cython.uint, i + 1)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def slot(self, key: cython.ulonglong, event: cython.ushort) -> cython.Py_ssize_t:
        """The slot of a sum, which has its number + 1, or the free slot for it, which has 0."""
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.slots.shape[0]) - 1
        at: cython.ulonglong = (key ^ (key >> 31) ^ (cython.cast(cython.ulonglong, event) << 17)) * GOLDEN_RATIO >> 20
        at &= mask
        while self.slots[at] and (self.keys[self.slots[at] - 1] != key or self.events[self.slots[at] - 1] != event):
            at = (at + 1) & mask
        return cython.cast(cython.Py_ssize_t, at)

    @cython.locals(
        nodes="const unsigned int[::1]",
        comms="const unsigned int[::1]",
        events="const unsigned short[::1]",
        periods="const unsigned long long[::1]",
        stop_reasons="const unsigned char[::1]",
        selected="const unsigned char[::1]",
    )
    def add(self, nodes: Any, comms: Any, events: Any, periods: Any, stop_reasons: Any, selected: Any) -> None:
        """Add the selected samples: columns of stack node, thread name, event, period, stop reason and selection."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        number: cython.Py_ssize_t
        key: cython.ulonglong
        with cython.nogil:
            for i in range(nodes.shape[0]):
                if not selected[i]:
                    continue
                key = cython.cast(cython.ulonglong, nodes[i]) << 32 | comms[i]
                if self.used >= self.keys.shape[0]:
                    with cython.gil:
                        self._grow()
                at = self.slot(key, events[i])
                if not self.slots[at]:
                    self.keys[self.used] = key
                    self.events[self.used] = events[i]
                    self.used += 1
                    self.slots[at] = cython.cast(cython.uint, self.used)
                number = cython.cast(cython.Py_ssize_t, self.slots[at]) - 1
                self.sums[number] += periods[i]
                self.counts[number] += 1
                self.stops[number] = stop_reasons[i]

    def columns(self) -> dict[str, memoryview]:
        """``node`` and ``comm`` (I), ``event`` (H), ``weight`` (Q), ``count`` (I), ``stop`` (B); one entry per sum."""
        node, comm = halves(memoryview(self.keys)[: self.used])
        return {
            "node": node,
            "comm": comm,
            "event": memoryview(self.events)[: self.used],
            "weight": memoryview(self.sums)[: self.used],
            "count": memoryview(self.counts)[: self.used],
            "stop": memoryview(self.stops)[: self.used],
        }
