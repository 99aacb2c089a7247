# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Ring buffers of perf events: the complete records up to a point in time, without copying them.

The first page of the mapping has the kernel's place (``data_head``) at byte 1024 and ours (``data_tail``) at 1032, and
where the data lies at 1040 and 1048 (``struct perf_event_mmap_page`` in ``include/uapi/linux/perf_event.h``). Both only
grow; the kernel writes behind its place as far as ours allows, so what lies between them stays as it is.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.posix.time import CLOCK_MONOTONIC, clock_gettime, nanosleep, timespec
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.perfdata.record_types import RecordType

from undwarf.column import zeros

HEAD = cython.declare(cython.Py_ssize_t, 1024)
TAIL = cython.declare(cython.Py_ssize_t, 1032)
DATA_OFFSET = cython.declare(cython.Py_ssize_t, 1040)
DATA_SIZE = cython.declare(cython.Py_ssize_t, 1048)
FOREVER = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


@cython.final
@cython.cclass
class Ring:
    """One mapped buffer.

    ``in_sample`` is where a sample has its time, ``from_end`` how far before the end the other records have theirs.
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
        self.start = self.field(DATA_OFFSET)
        self.size = self.field(DATA_SIZE)
        if self.start == 0:
            # Kernels before 4.1 do not say; then it is the second page, and all the rest.
            self.start = 4096
            self.size = self.pages.shape[0] - 4096
        if (
            self.start < 0
            or self.size > cython.cast(cython.ulonglong, self.pages.shape[0] - self.start)
            or not self.size
        ):
            raise ValueError("not a ring buffer of perf events")
        self.tail = self.field(TAIL)
        self.in_sample = in_sample
        self.from_end = from_end
        self.joined = zeros("B", 1 << 16)
        self.broken = False
        self.samples = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def field(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """A word of the first page, which the kernel may change at any time."""
        value: cython.ulonglong = 0
        memcpy(cython.address(value), cython.address(self.pages[at]), 8)
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def word(self, position: cython.ulonglong) -> cython.ulonglong:
        """The word at a position; words never straddle the end."""
        value: cython.ulonglong = 0
        at: cython.Py_ssize_t = self.start + cython.cast(cython.Py_ssize_t, position & (self.size - 1))
        memcpy(cython.address(value), cython.address(self.pages[at]), 8)
        return value

    @property
    def filled(self) -> int:
        """Bytes that wait to be read."""
        waiting: cython.ulonglong = self.field(HEAD) - self.tail
        return waiting

    def take(self, until: int) -> list[Any]:
        """Views of the records up to the first one later than ``until`` (ns), in order; each holds whole records.

        A record that goes on at the beginning of the buffer is copied. The views are good until ``done``.
        """
        limit: cython.ulonglong = until
        head: cython.ulonglong = self.field(HEAD)
        at: cython.ulonglong = self.tail
        header: cython.ulonglong
        length: cython.ulonglong
        time: cython.ulonglong
        first: cython.Py_ssize_t
        place: cython.ulonglong
        left: cython.ulonglong
        # Where a record straddles the end of the buffer.
        split: cython.ulonglong = FOREVER
        behind: cython.ulonglong = 0
        views: list[Any] = []
        if head - at > self.size:
            # Not what the kernel does; whatever happened, only its place is still to be trusted.
            self.broken = True
            self.tail = head
            return views
        with cython.nogil:
            while head - at >= 8:
                header = self.word(at)
                length = header >> 48
                if length < 8 or length > head - at:
                    self.broken = True
                    head = at
                    break
                if cython.cast(cython.uint, header & NOTHING) == RecordType.SAMPLE:
                    place = cython.cast(cython.ulonglong, self.in_sample)
                else:
                    place = length - cython.cast(cython.ulonglong, self.from_end)
                if place >= 8 and place + 8 <= length:
                    time = self.word(at + place)
                    if time > limit and time != FOREVER:
                        break
                self.samples += cython.cast(cython.uint, header & NOTHING) == RecordType.SAMPLE
                left = self.size - (at & (self.size - 1))
                if length > left:
                    split = at
                    behind = at + length
                at += length
        if self.broken:
            # The rest cannot be told apart any more.
            behind = behind if split != FOREVER else 0
        whole = memoryview(self.pages)
        if split != FOREVER:
            first = self.start + cython.cast(cython.Py_ssize_t, self.tail & (self.size - 1))
            if split > self.tail:
                views.append(whole[first : first + (split - self.tail)])
            left = self.size - (split & (self.size - 1))
            length = behind - split
            first = self.start + cython.cast(cython.Py_ssize_t, split & (self.size - 1))
            self.joined[:left] = self.pages[first : first + left]
            self.joined[left:length] = self.pages[self.start : self.start + (length - left)]
            views.append(memoryview(self.joined)[:length])
            if at > behind:
                first = self.start + cython.cast(cython.Py_ssize_t, behind & (self.size - 1))
                views.append(whole[first : first + (at - behind)])
        elif at > self.tail:
            first = self.start + cython.cast(cython.Py_ssize_t, self.tail & (self.size - 1))
            left = self.size - (self.tail & (self.size - 1))
            if at - self.tail > left:
                # A record ends just where the buffer does.
                views.append(whole[first : first + left])
                views.append(whole[self.start : self.start + (at - self.tail - left)])
            else:
                views.append(whole[first : first + (at - self.tail)])
        self.tail = self.field(HEAD) if self.broken else at
        return views

    def done(self) -> None:
        """Give the space of what was taken back to the kernel."""
        tail: cython.ulonglong = self.tail
        memcpy(cython.address(self.pages[TAIL]), cython.address(tail), 8)

    def close(self) -> None:
        """Let go of the mapping."""
        self.pages = zeros("B", 4096)
        self.tail = 0


@cython.final
@cython.cclass
class Relay:
    """Moves what comes into a small buffer of the kernel's on into a large one, laid out alike, that anybody may have.

    ``kernel`` and ``large`` are the two mappings; a :class:`Ring` reads the large one, up to the records of the moment
    ``seen`` (ns of the monotonic clock). A thread of its own has to ``run`` it, which needs no GIL.
    """

    source = cython.declare("unsigned char[::1]")
    sink = cython.declare("unsigned char[::1]")
    start: cython.Py_ssize_t
    size: cython.ulonglong
    room: cython.ulonglong
    tail: cython.ulonglong
    head: cython.ulonglong
    broken = cython.declare(cython.bint, visibility="readonly")
    seen = cython.declare(cython.ulonglong, visibility="readonly")
    over: cython.bint

    def __init__(self, kernel: Any, large: Any) -> None:
        offset: cython.ulonglong = 4096
        self.source = kernel
        self.sink = large
        self.size = 0
        self.start = cython.cast(cython.Py_ssize_t, word_of(self.source, DATA_OFFSET))
        if self.start:
            self.size = word_of(self.source, DATA_SIZE)
        else:
            # Kernels before 4.1 do not say.
            self.start = 4096
            self.size = self.source.shape[0] - 4096
        self.room = self.sink.shape[0] - 4096
        if (
            self.start < 0
            or self.size > cython.cast(cython.ulonglong, self.source.shape[0] - self.start)
            or not self.size
            or self.size & (self.size - 1)
            or self.room & (self.room - 1)
        ):
            raise ValueError("not a ring buffer of perf events")
        memcpy(cython.address(self.sink[DATA_OFFSET]), cython.address(offset), 8)
        memcpy(cython.address(self.sink[DATA_SIZE]), cython.address(self.room), 8)
        self.tail = word_of(self.source, TAIL)
        self.head = 0
        self.broken = False
        self.seen = 0
        self.over = False

    def run(self, pause: int) -> None:
        """Move what comes, every ``pause`` ns, until it is stopped."""
        time = cython.declare(timespec)
        time.tv_sec = 0
        time.tv_nsec = pause
        with cython.nogil:
            while not self.over:
                self.pass_on()
                nanosleep(cython.address(time), cython.NULL)

    def stop(self) -> None:
        """Let ``run`` end."""
        self.over = True

    def move(self) -> None:
        """Take everything that is there, when nobody runs it."""
        with cython.nogil:
            self.pass_on()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def pass_on(self) -> cython.int:
        """Take everything that is there. Without room in the large buffer it stays; what then does not fit into the
        small one is lost, and counted by the kernel."""
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
            # Not what the kernel does; whatever happened, only its place is still to be trusted.
            self.broken = True
            self.tail = head
            count = 0
        if count <= self.room - (self.head - word_of(self.sink, TAIL)):
            while count:
                at = self.start + cython.cast(cython.Py_ssize_t, self.tail & (self.size - 1))
                to = 4096 + cython.cast(cython.Py_ssize_t, self.head & (self.room - 1))
                piece = count
                if self.size - (self.tail & (self.size - 1)) < piece:
                    piece = self.size - (self.tail & (self.size - 1))
                if self.room - (self.head & (self.room - 1)) < piece:
                    piece = self.room - (self.head & (self.room - 1))
                # Both ends lie inside: the places are reduced by the sizes, which were checked.
                memcpy(cython.address(self.sink[to]), cython.address(self.source[at]), piece)
                self.tail += piece
                self.head += piece
                count -= piece
            # What was written before its end is told: records are only seen whole.
            memcpy(cython.address(self.sink[HEAD]), cython.address(self.head), 8)
            memcpy(cython.address(self.source[TAIL]), cython.address(self.tail), 8)
        self.seen = cython.cast(cython.ulonglong, now.tv_sec) * 1_000_000_000 + cython.cast(
            cython.ulonglong, now.tv_nsec
        )
        return 0

    def close(self) -> None:
        """Let go of both mappings."""
        self.source = zeros("B", 4096)
        self.sink = zeros("B", 4096)
        self.tail = self.head = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(pages="unsigned char[::1]")
def word_of(pages: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A word of a buffer's first page, which the other side may change at any time."""
    value: cython.ulonglong = 0
    memcpy(cython.address(value), cython.address(pages[at]), 8)
    return value


@cython.final
@cython.cclass
class Weights:
    """Samples summed by (stack node, thread name, event), for those who show them and do not keep them."""

    keys = cython.declare("unsigned long long[::1]")
    thirds = cython.declare("unsigned int[::1]")
    slots = cython.declare("unsigned int[::1]")
    sums = cython.declare("unsigned long long[::1]")
    counts = cython.declare("unsigned int[::1]")
    stops = cython.declare("unsigned char[::1]")
    used = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.used = 0
        self.keys = zeros("Q", 1024)
        self.thirds = zeros("I", 1024)
        self.sums = zeros("Q", 1024)
        self.counts = zeros("I", 1024)
        self.stops = zeros("B", 1024)
        self.slots = zeros("I", 4096)

    @cython.locals(new_q="unsigned long long[::1]", new_i="unsigned int[::1]", new_b="unsigned char[::1]")
    def _grow(self) -> None:
        count: cython.Py_ssize_t = self.keys.shape[0]
        i: cython.Py_ssize_t
        mask: cython.ulonglong = 8 * count - 1
        at: cython.ulonglong
        new_q = zeros("Q", 2 * count)
        new_q[:count] = self.keys
        self.keys = new_q
        new_q = zeros("Q", 2 * count)
        new_q[:count] = self.sums
        self.sums = new_q
        new_i = zeros("I", 2 * count)
        new_i[:count] = self.thirds
        self.thirds = new_i
        new_i = zeros("I", 2 * count)
        new_i[:count] = self.counts
        self.counts = new_i
        new_b = zeros("B", 2 * count)
        new_b[:count] = self.stops
        self.stops = new_b
        new_i = zeros("I", 8 * count)
        for i in range(self.used):
            at = self.place(self.keys[i], self.thirds[i]) & mask
            while new_i[at]:
                at = (at + 1) & mask
            new_i[at] = cython.cast(cython.uint, i + 1)
        self.slots = new_i

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def place(self, key: cython.ulonglong, third: cython.uint) -> cython.ulonglong:
        mixed: cython.ulonglong = (key ^ (key >> 31) ^ (cython.cast(cython.ulonglong, third) << 17)) * GOLDEN_RATIO
        return mixed >> 20

    @cython.locals(
        nodes="const unsigned int[::1]",
        comms="const unsigned int[::1]",
        events="const unsigned short[::1]",
        periods="const unsigned long long[::1]",
        stop_reasons="const unsigned char[::1]",
        selected="const unsigned char[::1]",
    )
    def add(self, nodes: Any, comms: Any, events: Any, periods: Any, stop_reasons: Any, selected: Any) -> None:
        """Add samples: columns of stack node, name, event, period, stop reason, and whether they count."""
        i: cython.Py_ssize_t
        found: cython.Py_ssize_t
        key: cython.ulonglong
        third: cython.uint
        at: cython.ulonglong
        mask: cython.ulonglong
        with cython.nogil:
            for i in range(nodes.shape[0]):
                if not selected[i]:
                    continue
                key = cython.cast(cython.ulonglong, nodes[i]) << 32 | comms[i]
                third = cython.cast(cython.uint, events[i])
                if self.used >= self.keys.shape[0]:
                    with cython.gil:
                        self._grow()
                mask = cython.cast(cython.ulonglong, self.slots.shape[0]) - 1
                at = self.place(key, third) & mask
                while self.slots[at]:
                    found = cython.cast(cython.Py_ssize_t, self.slots[at]) - 1
                    if self.keys[found] == key and self.thirds[found] == third:
                        break
                    at = (at + 1) & mask
                if not self.slots[at]:
                    found = self.used
                    self.used += 1
                    self.slots[at] = cython.cast(cython.uint, found + 1)
                    self.keys[found] = key
                    self.thirds[found] = third
                found = cython.cast(cython.Py_ssize_t, self.slots[at]) - 1
                self.sums[found] += periods[i]
                self.counts[found] += 1
                self.stops[found] = stop_reasons[i]

    @cython.locals(node="unsigned int[::1]", comm="unsigned int[::1]", i=cython.Py_ssize_t)
    def columns(self) -> dict[str, memoryview]:
        """``node`` and ``comm`` (I), ``event`` (I), ``weight`` (Q), ``count`` (I) and ``stop`` (B), one entry a sum."""
        nodes = zeros("I", self.used)
        comms = zeros("I", self.used)
        node = nodes
        comm = comms
        for i in range(self.used):
            node[i] = cython.cast(cython.uint, self.keys[i] >> 32)
            comm[i] = cython.cast(cython.uint, self.keys[i] & NOTHING)
        return {
            "node": nodes,
            "comm": comms,
            "event": memoryview(self.thirds)[: self.used],
            "weight": memoryview(self.sums)[: self.used],
            "count": memoryview(self.counts)[: self.used],
            "stop": memoryview(self.stops)[: self.used],
        }
