# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Matches samples in the kernel with their user chains, which were deferred to the return to user mode.

Such a sample's chain ends in a marker and a cookie; a CALLCHAIN_DEFERRED record of the same thread with that cookie
has the addresses. All samples of one stay in the kernel have the same cookie, and a thread has one outstanding cookie
at a time: a record with another one shows that a record was lost. Cookies are compared together with the thread, since
they are unique only while outstanding. Source: ``kernel/unwind/deferred.c`` and ``evlist__deliver_deferred_callchain``
in ``tools/perf/util/session.c``.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import CONTEXT_USER_DEFERRED
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind

from undwarf.column import absent, zeros


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(-1)
@cython.locals(view="const unsigned char[::1]")
def _inside(view: Any, at: cython.Py_ssize_t, words: cython.ulonglong) -> cython.bint:
    """Whether the view has that many words from ``at`` on."""
    return 0 <= at <= view.shape[0] and words <= cython.cast(cython.ulonglong, view.shape[0] - at) >> 3


@cython.locals(
    view="const unsigned char[::1]",
    positions="const unsigned long long[::1]",
    chain_at="const unsigned short[::1]",
    found="unsigned long long[::1]",
    marked="unsigned char[::1]",
    words=cython.p_ulonglong,
)
def read_cookies(view: Any, base: int, first: int, last: int, samples: Any, cookies: Any, waiting: Any) -> None:
    """Set ``cookies`` ('Q') and ``waiting`` ('B') of the samples ``first`` to ``last - 1`` whose chains end in a
    cookie; their records are in ``view`` (stream position ``base``)."""
    positions = samples.position
    chain_at = samples.callchain_at
    found = cookies
    marked = waiting
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    begin: cython.Py_ssize_t = first
    end: cython.Py_ssize_t = last
    start: cython.ulonglong = base
    count: cython.ulonglong
    with cython.nogil:
        for i in range(begin, end):
            if not chain_at[i] or positions[i] < start:
                continue
            at = cython.cast(cython.Py_ssize_t, positions[i] - start) + chain_at[i]
            if not _inside(view, at, 1):
                continue
            count = cython.cast(cython.p_ulonglong, cython.address(view[at]))[0]
            if count < 2 or not _inside(view, at + 8, count):
                continue
            # Both words are in the view, as was just checked.
            words = cython.cast(
                cython.p_ulonglong, cython.address(view[at + 8 * cython.cast(cython.Py_ssize_t, count - 1)])
            )
            if words[0] == CONTEXT_USER_DEFERRED:
                found[i] = words[1]
                marked[i] = 1


@cython.locals(
    view="const unsigned char[::1]",
    target="unsigned long long[::1]",
    words=cython.p_ulonglong,
)
def read_chain(view: Any, at: int, count: int, addresses: Any, place: int) -> None:
    """Copy ``count`` words at byte ``at`` of the view to ``addresses`` from ``place`` on; zeros where it is shorter."""
    target = addresses
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = count
    source: cython.Py_ssize_t = at
    to: cython.Py_ssize_t = place
    if n <= 0 or not _inside(view, source, cython.cast(cython.ulonglong, n)):
        return
    words = cython.cast(cython.p_ulonglong, cython.address(view[source]))
    with cython.nogil:
        for i in range(n):
            target[to + i] = words[i]


@cython.final
@cython.cclass
class _Threads:
    """Samples that wait for their chains, by thread: a hash table (open addressing) of threads, each with a linked list
    of samples, the newest first."""

    keys = cython.declare("const unsigned long long[::1]")
    found = cython.declare("unsigned int[::1]")
    following = cython.declare("unsigned int[::1]")
    threads = cython.declare("int[::1]")
    heads = cython.declare("unsigned int[::1]")
    used = cython.declare("unsigned char[::1]")
    gone = cython.declare("unsigned char[::1]")
    last = cython.declare("unsigned long long[::1]")
    factor: cython.ulonglong
    shift: cython.int
    merged: cython.Py_ssize_t
    superseded: cython.Py_ssize_t
    exited: cython.Py_ssize_t
    left: cython.Py_ssize_t
    duplicate: cython.Py_ssize_t
    unclaimed: cython.Py_ssize_t

    def __init__(self, cookies: Any, chain_of: Any, max_threads: int) -> None:
        """``cookies`` and ``chain_of``, which is filled, are by sample; ``max_threads``: there are no more."""
        bits = 4
        while 1 << bits < 2 * max_threads:
            bits += 1
        self.keys = cookies
        self.found = chain_of
        self.following = zeros("I", len(chain_of))
        self.threads = zeros("i", 1 << bits)
        self.heads = zeros("I", 1 << bits)
        self.used = zeros("B", 1 << bits)
        self.gone = zeros("B", 1 << bits)
        self.last = zeros("Q", 1 << bits)
        # Random and odd, so that no choice of thread numbers has all of them in one slot.
        self.factor = int.from_bytes(os.urandom(8), "little") | 1
        self.shift = 64 - bits
        self.merged = self.superseded = self.exited = self.left = self.duplicate = self.unclaimed = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def slot(self, tid: cython.int) -> cython.Py_ssize_t:
        """The slot of a thread, a free one if it is new."""
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.used.shape[0] - 1)
        at: cython.ulonglong
        at = (cython.cast(cython.ulonglong, cython.cast(cython.uint, tid)) * self.factor) >> self.shift & mask
        while self.used[at] and self.threads[at] != tid:
            at = (at + 1) & mask
        if not self.used[at]:
            self.used[at] = 1
            self.threads[at] = tid
            self.heads[at] = NOTHING
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def wait(self, tid: cython.int, sample: cython.uint) -> cython.int:
        """Add a sample that waits for its chain."""
        at: cython.Py_ssize_t = self.slot(tid)
        self.following[sample] = self.heads[at]
        self.heads[at] = sample
        self.gone[at] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def leave(self, tid: cython.int) -> cython.int:
        """Note that a thread has ended."""
        self.gone[self.slot(tid)] = 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def deliver(self, tid: cython.int, cookie: cython.ulonglong, event: cython.uint) -> cython.int:
        """Give a chain, the side-band entry ``event``, to the waiting samples of its thread that have its cookie; the
        chains of the others were lost."""
        at: cython.Py_ssize_t = self.slot(tid)
        sample: cython.uint = self.heads[at]
        claimed: cython.bint = False
        while sample != NOTHING:
            if self.keys[sample] == cookie:
                self.found[sample] = event
                self.merged += 1
                claimed = True
            else:
                self.superseded += 1
            sample = self.following[sample]
        if not claimed:
            if self.last[at] == cookie and cookie != 0:
                self.duplicate += 1
            else:
                self.unclaimed += 1
        self.last[at] = cookie
        self.heads[at] = NOTHING
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def count_waiting(self) -> cython.int:
        """Count the samples whose chains never arrived."""
        at: cython.Py_ssize_t
        sample: cython.uint
        for at in range(self.used.shape[0]):
            sample = self.heads[at] if self.used[at] else NOTHING
            while sample != NOTHING:
                if self.gone[at]:
                    self.exited += 1
                else:
                    self.left += 1
                sample = self.following[sample]
        return 0


@cython.locals(
    waits="const unsigned char[::1]",
    times="const unsigned long long[::1]",
    positions="const unsigned long long[::1]",
    tids="const int[::1]",
    numbers="const unsigned int[::1]",
    kinds="const unsigned char[::1]",
    side_times="const unsigned long long[::1]",
    side_positions="const unsigned long long[::1]",
    side_tids="const int[::1]",
    side_cookies="const unsigned long long[::1]",
    threads=_Threads,
)
def match(samples: Any, order: Any, cookies: Any, waiting: Any, sideband: Any) -> "tuple[memoryview, dict[str, int]]":
    """(the side-band entry with each sample's chain, 0xffffffff for none ('I'), counts of samples and records).

    ``merged`` samples have their chain. Those without: ``superseded``, whose record never arrived though a later one of
    their thread did; ``exited`` and ``open``, whose thread or the recording ended before. Records: ``duplicate``, of a
    chain that had arrived already, and ``unclaimed``, which no sample waits for.
    """
    waits = waiting
    times = samples.time
    positions = samples.position
    tids = samples.tid
    numbers = order
    kinds = sideband.kind
    side_times = sideband.time
    side_positions = sideband.position
    side_tids = sideband.tid
    side_cookies = sideband.deferred_chains.cookie
    n: cython.Py_ssize_t = times.shape[0]
    events: cython.Py_ssize_t = kinds.shape[0]
    result = absent("I", n)
    max_threads: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(n):
        max_threads += waits[i]
    for i in range(events):
        max_threads += kinds[i] == SidebandKind.DEFERRED or kinds[i] == SidebandKind.EXIT
    threads = _Threads(cookies, result, max_threads)
    sample: cython.uint
    first: cython.bint
    place: cython.Py_ssize_t = 0
    event: cython.Py_ssize_t = 0
    with cython.nogil:
        while place < n or event < events:
            if place < n and not waits[numbers[place]]:
                place += 1
                continue
            if event < events and kinds[event] != SidebandKind.DEFERRED and kinds[event] != SidebandKind.EXIT:
                event += 1
                continue
            first = event >= events
            if place < n and event < events:
                sample = numbers[place]
                first = times[sample] < side_times[event] or (
                    times[sample] == side_times[event] and positions[sample] < side_positions[event]
                )
            if first:
                threads.wait(tids[numbers[place]], numbers[place])
                place += 1
                continue
            if kinds[event] == SidebandKind.EXIT:
                threads.leave(side_tids[event])
            else:
                threads.deliver(side_tids[event], side_cookies[event], cython.cast(cython.uint, event))
            event += 1
        threads.count_waiting()
    return result, {
        "merged": threads.merged,
        "superseded": threads.superseded,
        "exited": threads.exited,
        "open": threads.left,
        "duplicate": threads.duplicate,
        "unclaimed": threads.unclaimed,
    }
