# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Finds the user chain of each sample that was taken without one, to be recorded on the way back to user mode.

Such a sample's chain ends in a marker and a cookie; a CALLCHAIN_DEFERRED record of the same thread with that cookie
has the addresses. All samples of one stay in the kernel have the same cookie, and a thread has only one that waits: a
record with another cookie says that the record in between was lost. Cookies are compared together with the thread,
since they are only unique while they wait. Source: ``kernel/unwind/deferred.c`` and
``evlist__deliver_deferred_callchain`` in ``tools/perf/util/session.c``.
"""

import os
from typing import Any

import cython

from undwarf.buffers import zeros

NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
CONTEXT_USER_DEFERRED = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFD80)
KIND_EXIT = cython.declare(cython.int, 4)
KIND_DEFERRED = cython.declare(cython.int, 12)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(-1)
@cython.locals(view="const unsigned char[::1]")
def _inside(view: Any, at: cython.Py_ssize_t, words: cython.ulonglong) -> cython.bint:
    """Whether that many words from ``at`` on lie in the view."""
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
    cookie; their records lie in ``view`` (stream position ``base``)."""
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
            # Both words lie inside, as was just checked.
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


@cython.locals(
    waits="const unsigned char[::1]",
    keys="const unsigned long long[::1]",
    times="const unsigned long long[::1]",
    positions="const unsigned long long[::1]",
    tids="const int[::1]",
    numbers="const unsigned int[::1]",
    kinds="const unsigned char[::1]",
    side_times="const unsigned long long[::1]",
    side_positions="const unsigned long long[::1]",
    side_tids="const int[::1]",
    side_cookies="const unsigned long long[::1]",
    chain_of="unsigned int[::1]",
    following="unsigned int[::1]",
    threads="int[::1]",
    heads="unsigned int[::1]",
    used="unsigned char[::1]",
    gone="unsigned char[::1]",
    last="unsigned long long[::1]",
)
def match(samples: Any, order: Any, cookies: Any, waiting: Any, sideband: Any) -> "tuple[memoryview, dict[str, int]]":
    """(the side-band entry with each sample's chain, 0xffffffff for none ('I'), what became of samples and records).

    The counts: ``merged`` samples; ``superseded`` ones, whose record never came though a later one of their thread
    did; ``exited`` and ``open`` ones, whose thread or the recording ended before; ``duplicate`` records of a chain
    that was already there, and ``unclaimed`` ones that no sample waits for.
    """
    waits = waiting
    keys = cookies
    times = samples.time
    positions = samples.position
    tids = samples.tid
    numbers = order
    kinds = sideband.kind
    side_times = sideband.time
    side_positions = sideband.position
    side_tids = sideband.tid
    side_cookies = sideband.a
    n: cython.Py_ssize_t = times.shape[0]
    events: cython.Py_ssize_t = kinds.shape[0]
    result = zeros("I", n)
    chain_of = result
    following = zeros("I", n)
    expected: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(n):
        chain_of[i] = NOTHING
        expected += waits[i]
    for i in range(events):
        expected += kinds[i] == KIND_DEFERRED or kinds[i] == KIND_EXIT
    bits: cython.int = 4
    while (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * expected:
        bits += 1
    threads = zeros("i", 1 << bits)
    heads = zeros("I", 1 << bits)
    used = zeros("B", 1 << bits)
    gone = zeros("B", 1 << bits)
    last = zeros("Q", 1 << bits)
    mask: cython.ulonglong = (1 << bits) - 1
    # Random and odd: threads cannot be numbered so that all meet in one slot.
    factor: cython.ulonglong = int.from_bytes(os.urandom(8), "little") | 1
    shift: cython.int = 64 - bits
    slot: cython.ulonglong
    tid: cython.int
    s: cython.uint
    place: cython.Py_ssize_t = 0
    event: cython.Py_ssize_t = 0
    is_sample: cython.bint
    met: cython.bint
    merged: cython.Py_ssize_t = 0
    superseded: cython.Py_ssize_t = 0
    exited: cython.Py_ssize_t = 0
    left: cython.Py_ssize_t = 0
    duplicate: cython.Py_ssize_t = 0
    unclaimed: cython.Py_ssize_t = 0
    with cython.nogil:
        while place < n or event < events:
            if place < n and not waits[numbers[place]]:
                place += 1
                continue
            if event < events and kinds[event] != KIND_DEFERRED and kinds[event] != KIND_EXIT:
                event += 1
                continue
            if place >= n and event >= events:
                break
            is_sample = event >= events
            if place < n and event < events:
                s = numbers[place]
                is_sample = times[s] < side_times[event] or (
                    times[s] == side_times[event] and positions[s] < side_positions[event]
                )
            tid = tids[numbers[place]] if is_sample else side_tids[event]
            slot = (cython.cast(cython.ulonglong, cython.cast(cython.uint, tid)) * factor) >> shift & mask
            while used[slot] and threads[slot] != tid:
                slot = (slot + 1) & mask
            if not used[slot]:
                used[slot] = 1
                threads[slot] = tid
                heads[slot] = NOTHING
            if is_sample:
                s = numbers[place]
                following[s] = heads[slot]
                heads[slot] = s
                gone[slot] = 0
                place += 1
                continue
            if kinds[event] == KIND_EXIT:
                gone[slot] = 1
                event += 1
                continue
            met = False
            s = heads[slot]
            while s != NOTHING:
                if keys[s] == side_cookies[event]:
                    chain_of[s] = cython.cast(cython.uint, event)
                    merged += 1
                    met = True
                else:
                    superseded += 1
                s = following[s]
            if not met:
                if last[slot] == side_cookies[event] and side_cookies[event] != 0:
                    duplicate += 1
                else:
                    unclaimed += 1
            last[slot] = side_cookies[event]
            heads[slot] = NOTHING
            event += 1
        for i in range(cython.cast(cython.Py_ssize_t, mask) + 1):
            if used[i]:
                s = heads[i]
                while s != NOTHING:
                    if gone[i]:
                        exited += 1
                    else:
                        left += 1
                    s = following[s]
    return result, {
        "merged": merged,
        "superseded": superseded,
        "exited": exited,
        "open": left,
        "duplicate": duplicate,
        "unclaimed": unclaimed,
    }
