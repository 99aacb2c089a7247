"""Stacks deeper than their dump, followed in the running process's memory where it is proven to be what it was.

Frames of callers do not change while what they called has not returned. Whether it has cannot be seen afterwards: a
program that returns and calls again leaves the same return address at the same place, below other callers. So a
hardware breakpoint watches one return address of a thread for being written, and what lies above is read once. A
later sample whose chain passes that place still has the same call in progress if nobody wrote there since, for
calling writes it; then what was read are its callers. Two places are watched, since stacks that are deeper still have
dumps that end sooner.
"""

import ctypes
import os
import struct
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from undwarf.buffers import zeros
from undwarf.errors import UndwarfError
from undwarf.lazy_dataclasses import dataclass
from undwarf.live import perf_event as pe

BLOCK = 1 << 16
"""Bytes of a process's memory that are read at first, and the steps in which more are."""
LARGEST_BLOCK = 8 << 20
"""Bytes read of one stack: their usual limit."""
MOST_WATCHED = 64
"""Threads that are watched at a time, and processes whose memory is kept open."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 2.56
"""Seconds until a thread whose place was written to is watched again, at first and at most."""
PATIENCE = 8
"""Samples in a row that pass no watched place before others are looked for."""
_WRITTEN = 2
"""HW_BREAKPOINT_W"""


@dataclass(slots=True)
class Watch:
    """A place of a thread's stack that is watched: the return address there, and whether it was never written.

    ``ran``: how long the thread had run (ns) when it was last ``looked`` at.
    """

    descriptor: int
    slot: int
    value: int
    intact: bool = True
    ran: int = 0
    looked: int = 0

    def look(self, moment: int, now: int) -> bool:
        """Whether nobody wrote there up to now; false once, false for ever. The thread ran at ``moment``."""
        if self.intact:
            try:
                count, enabled, running = struct.unpack("=3Q", os.read(self.descriptor, 24))
            except (OSError, struct.error):
                count, enabled, running = 1, 0, 0
            # Where the breakpoint could not be set all the time nothing is known; a thread that ran, while that of the
            # watch did not, is another one of the same number.
            self.intact = count == 0 and enabled == running and (enabled > self.ran or moment <= self.looked)
            self.ran, self.looked = enabled, now
        return self.intact

    def close(self) -> None:
        """Watch no more."""
        with suppress(OSError):
            os.close(self.descriptor)


@dataclass(slots=True)
class Deep:
    """A thread with a deep stack: what is watched, and what was read above that (from ``start``, until ``read``)."""

    pid: int
    watches: list[Watch]
    start: int = 0
    block: bytes = b""
    read: int = 0
    seen: int = -1
    missed: int = 0


@dataclass(slots=True)
class Scheduler:
    """A scheduler of Haskell: the watch of its return address, memory from below its frame on, and when that was
    read."""

    watch: Watch
    block: bytes
    read: int


def watch(tid: int, slot: int) -> int:
    """The descriptor of a breakpoint for writing that a thread's user code does at an address. Raises OSError.

    The first write switches it off, so that it costs a running program next to nothing.
    """
    event = replace(
        pe.breakpoint_event(slot, 8, _WRITTEN),
        sample_period=1,
        read_format=pe.FORMAT_TIMES,
        flags=pe.DISABLED | pe.EXCLUDE_KERNEL | pe.EXCLUDE_HV,
    )
    descriptor = pe.open_event(event, tid, -1)
    try:
        pe.refresh(descriptor, 1)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def breakpoints_work() -> bool:
    """Whether a write that was watched for is told: some virtual machines set breakpoints that never fire."""
    memory = ctypes.create_string_buffer(32)
    slot = (ctypes.addressof(memory) + 15) & ~15
    try:
        one = Watch(watch(threading.get_native_id(), slot), slot, 0)
    except (OSError, UndwarfError):
        return False
    try:
        before = one.look(1, 2)
        ctypes.memset(slot, 1, 8)
        return before and not one.look(1, 2)
    finally:
        one.close()


class DeepStacks:
    """Gives the walk the memory behind a sample's dump, or nothing.

    ``pids``, ``tids`` and ``times`` are columns of the samples at hand. ``trial``: what was given last is not proven
    for this sample; it is walked to learn how far up the root is, and the result does not count.
    """

    def __init__(
        self, now: Callable[[], int] = time.monotonic_ns, open_watch: Callable[[int, int], int] = watch
    ) -> None:
        self.pids: Any = zeros("i", 0)
        self.tids: Any = zeros("i", 0)
        self.times: Any = zeros("Q", 0)
        self.trial = False
        self._now = now
        self._watch = open_watch
        self._works: bool | None = None if open_watch is watch else True
        self._threads: OrderedDict[int, Deep] = OrderedDict()
        self._pauses: dict[int, tuple[float, int]] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        self._schedulers: OrderedDict[tuple[int, int, int], Scheduler] = OrderedDict()
        self._tried: tuple[tuple[int, int, int], bytes] = (0, 0, 0), b""
        self._round = 0
        self._trying = 0

    def next_round(self, samples: Any) -> None:
        """The columns of the next samples."""
        self.pids, self.tids, self.times = samples.pid, samples.tid, samples.time
        self._round += 1

    def beyond(self, sample: int, slots: Any, values: Any, low: int, high: int) -> tuple[int, bytes] | None:
        """Memory that holds what lies behind the dump of a sample, from ``low`` to ``high``: its start and its bytes.

        ``slots`` are the places in the dump where the chain's return addresses are, going up, ``values`` what they are.
        """
        self.trial = False
        tid = self.tids[sample]
        deep = self._threads.get(tid)
        if deep is not None and deep.pid == self.pids[sample]:
            if self._known(deep, self.times[sample], slots, values):
                self._threads.move_to_end(tid)
                self._pauses.pop(tid, None)
                deep.missed = 0
                return deep.start, deep.block
            # One older than what was read, or so deep that its dump ends before what is watched: the next may do.
            deep.missed += self.times[sample] > deep.read
            if deep.missed < PATIENCE and any(one.intact for one in deep.watches):
                return None
        self._drop(tid)
        return self._begin(tid, self.pids[sample], slots, values, low, high)

    def more(self, address: int) -> bytes | None:
        """During a trial: all memory so far and on to behind ``address``."""
        deep = self._threads.get(self._trying)
        if not self.trial or deep is None or not deep.start <= address < deep.start + LARGEST_BLOCK:
            return None
        end = deep.start + len(deep.block)
        added = self._read(deep.pid, end, max(BLOCK, address + 8 - end, len(deep.block)))
        deep.block += added
        return deep.block if address + 8 <= deep.start + len(deep.block) else None

    def scheduler(self, sample: int, start: int) -> bytes | None:
        """Memory from ``start`` on, the end of the frame between Haskell code and the scheduler that runs it. It is
        proven where that scheduler's own return address was not written since; else it is a trial, or None."""
        self.trial = False
        key = self.pids[sample], self.tids[sample], start
        one = self._schedulers.get(key)
        if one is not None:
            if one.watch.look(self.times[sample], self._now()):
                return one.block if self.times[sample] > one.read else None
            self._schedulers.pop(key).watch.close()
        if self._works is None:
            self._works = breakpoints_work()
        clock = self._now() / 1e9
        last, tries = self._pauses.get(key[1], (0.0, 0))
        if not self._works or key[1] <= 0 or clock < last:
            return None
        if len(self._pauses) > 64 * MOST_WATCHED:
            self._pauses.clear()
        self._pauses[key[1]] = (clock + FIRST_PAUSE, tries)
        block = self._read(key[0], start, BLOCK)
        if not block:
            return None
        self._tried = key, block
        self.trial = True
        return block

    def tried_scheduler(self, root: bool, slot: int, value: int) -> None:
        """A trial of a scheduler is over, which has its return address ``value`` at ``slot``."""
        self.trial = False
        (pid, tid, start), block = self._tried
        at = slot - start
        if not root or not 0 <= at <= len(block) - 8:
            return
        try:
            watch = Watch(self._watch(tid, slot), slot, value)
        except OSError:
            return
        # What lies below may be of another call meanwhile.
        block = block[:at] + self._read(pid, slot, BLOCK)
        if int.from_bytes(block[at : at + 8], "little") != value or not watch.look(0, self._now()):
            watch.close()
            return
        self._schedulers[pid, tid, start] = Scheduler(watch, block, self._now())
        if len(self._schedulers) > MOST_WATCHED:
            self._schedulers.popitem(last=False)[1].watch.close()

    def tried(self, root: bool) -> None:
        """A trial is over; without ``root`` nothing is to be found there."""
        deep = self._threads.get(self._trying)
        self.trial = False
        if deep is None:
            return
        now = self._now()
        intact = [one for one in deep.watches if one.look(0, now)]
        if not root or not intact:
            self._drop(self._trying)
            return
        # What was read up to now stands for samples from now on.
        deep.read = now

    def close(self) -> None:
        """Watch nobody."""
        for tid in list(self._threads):
            self._drop(tid)
        while self._schedulers:
            self._schedulers.popitem()[1].watch.close()
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _known(self, deep: Deep, moment: int, slots: Any, values: Any) -> bool:
        """Whether a sample of that moment passes a place that was not written since before its callers were read."""
        if moment <= deep.read or not deep.read:
            return False
        if deep.seen != self._round:
            deep.seen = self._round
            now = self._now()
            for one in deep.watches:
                one.look(moment, now)
        for one in deep.watches:
            at = bisect_left(slots, one.slot)
            if one.intact and at < len(slots) and slots[at] == one.slot and values[at] == one.value:
                return True
        return False

    def _begin(self, tid: int, pid: int, slots: Any, values: Any, low: int, high: int) -> tuple[int, bytes] | None:
        """Watch a thread, and read what lies above."""
        if self._works is None:
            self._works = breakpoints_work()
        if not self._works:
            return None
        clock = self._now() / 1e9
        last, tries = self._pauses.get(tid, (0.0, 0))
        if tid <= 0 or clock < last or not len(slots):
            return None
        if len(self._pauses) > 64 * MOST_WATCHED:
            self._pauses.clear()
        self._pauses[tid] = (clock + FIRST_PAUSE, tries)
        # What others use of the same process may be a stack that threads hand to each other.
        for one in self._threads.values():
            if one.pid == pid and one.start < high and low < one.start + len(one.block):
                return None
        # The more often in vain, the nearer to the end of the dump, where calls last longer; one frame may fill it.
        middle = bisect_left(slots, high - ((high - low) >> min(1 + tries, 6)))
        middle = min(middle, len(slots) - 1)
        start = slots[middle]
        memory = self._read(pid, start, high - start + BLOCK)
        places = self._places(slots, values, middle, start, memory)
        if not places:
            return None
        self._pauses[tid] = (clock + min(LONGEST_PAUSE, FIRST_PAUSE * 2**tries), min(tries + 1, 8))
        watches = []
        for slot, value in places:
            with suppress(OSError):
                watches.append(Watch(self._watch(tid, slot), slot, value))
        if not watches:
            return None
        deep = Deep(pid, watches, min(one.slot for one in watches))
        self._threads[tid] = deep
        while len(self._threads) > MOST_WATCHED:
            self._drop(next(iter(self._threads)))
        # Only now it is watched.
        deep.block = self._read(pid, deep.start, high - deep.start + BLOCK)
        for place in watches:
            at = place.slot - deep.start
            place.intact = int.from_bytes(deep.block[at : at + 8], "little") == place.value
        if not any(place.intact for place in watches):
            self._drop(tid)
            return None
        self._trying, self.trial = tid, True
        return deep.start, deep.block

    def _places(self, slots: Any, values: Any, middle: int, start: int, memory: bytes) -> list[tuple[int, int]]:
        """The first and the last return address from number ``middle`` on that are still where they were."""
        found: list[tuple[int, int]] = []
        for numbers in (range(middle, len(slots)), range(len(slots) - 1, middle - 1, -1)):
            for i in numbers:
                at = slots[i] - start
                if slots[i] & 7 == 0 and int.from_bytes(memory[at : at + 8], "little") == values[i]:
                    if (slots[i], values[i]) not in found:
                        found.append((slots[i], values[i]))
                    break
        return found

    def _drop(self, tid: int) -> None:
        deep = self._threads.pop(tid, None)
        if deep is not None:
            for one in deep.watches:
                one.close()

    def _read(self, pid: int, start: int, size: int) -> bytes:
        """The process's memory from ``start`` on, ``size`` bytes at most."""
        return self._read_once(pid, start, size) or self._read_once(pid, start, size)

    def _read_once(self, pid: int, start: int, size: int) -> bytes:
        file = self._open.get(pid)
        if file is None:
            try:
                file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return b""
            self._open[pid] = file
            if len(self._open) > MOST_WATCHED:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(pid)
        try:
            data = os.pread(file, size, start)
        except (OSError, OverflowError):
            data = b""
        if not data:
            # After an exec the old program's memory stays behind the descriptor, empty.
            os.close(self._open.pop(pid))
        return data
