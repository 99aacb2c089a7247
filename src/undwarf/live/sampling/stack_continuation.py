"""Continues stacks that are deeper than their dump in the running process's memory, where that is provably unchanged.

Frames of callers do not change while what they called has not returned. Whether it has cannot be seen afterwards: a
program that returns and calls again leaves the same return address at the same place, below other callers. So a
hardware breakpoint watches one return address of a thread for being written, and what lies above is read once. A
later sample whose chain passes that place still has the same call in progress if nobody wrote there since, for
calling writes it; then what was read are its callers. Two places are watched, since stacks that are deeper still have
dumps that end sooner; and the first place behind the dump that the walk wants to read, where the frame that the dump
ends in has its return address or a register that it saved: frames of 100 KB and more call others all the time, which
writes to all places below, and themselves stay.
"""

import ctypes
import os
import struct
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from undwarf.column import zeros
from undwarf.errors import UndwarfError
from undwarf.live import perf_event as pe
from undwarf.live.sampling.round_dumps import RoundDumps

BLOCK = 1 << 16
"""Bytes of a process's memory that are read at first, and the steps in which more are."""
LARGEST_BLOCK = 8 << 20
"""Bytes read of one stack: their usual limit."""
MOST_WATCHED = 64
"""Threads that are watched at a time, and processes whose memory is kept open."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 2.56
"""Seconds until a thread whose place was written to is watched again, at first and at most."""
MISSES_BEFORE_REPLACING = 8
"""Samples in a row that pass no watched place before others are looked for."""
ALIKE = 5
"""Different return addresses, the outermost of a dump (all where it has fewer), that must be in their places elsewhere
to infer that what is above is the same too; where a function calls itself, one place is as good as another. Of stacks
that were inferred of compilers with dumps of 16 and 32 KB (``bench/deeper_than_dump.py``), 0.3 % were false with one,
0.1 % with three, 1 of 5,600 with five."""
DUMPS = 32
"""Samples of a thread before one and behind it whose dumps are looked into."""
READS = 4
"""Times that memory of a thread was read of which it is kept."""
MOST_KEPT = 64 << 20
"""Bytes of memory that are kept of earlier rounds, of all threads together."""
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


@dataclass(slots=True)
class Read:
    """A process's memory as it once was, from ``start`` on.

    ``open``: more may be read, as it was just now; ``root``: no walk there has failed to come to a root.
    """

    pid: int
    start: int
    block: bytes | memoryview
    open: bool = False
    root: bool = True

    def holds(self, slots: Any, values: Any) -> bool:
        """Whether the outermost of these return addresses are in their places, as many as show that it is this call."""
        different: set[int] = set()
        for i in range(len(slots) - 1, -1, -1):
            at = slots[i] - self.start
            if at < 0 or int.from_bytes(self.block[at : at + 8], "little") != values[i]:
                return False
            different.add(values[i])
            if len(different) == ALIKE:
                return True
        return len(slots) < ALIKE


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
    for this sample; it is walked to learn how far up the root is, and the result does not count as proven. ``alike``:
    the outermost return addresses of the dump were in their places when that was read, so that it may be inferred from.
    """

    def __init__(
        self,
        now: Callable[[], int] = time.monotonic_ns,
        open_watch: Callable[[int, int], int] = watch,
        *,
        infer: bool = True,
    ) -> None:
        self.pids: Any = zeros("i", 0)
        self.tids: Any = zeros("i", 0)
        self.times: Any = zeros("Q", 0)
        self.trial = False
        self.alike = False
        self._infer = infer
        self._now = now
        self._watch = open_watch
        self._works: bool | None = None if open_watch is watch else True
        self._threads: OrderedDict[int, Deep] = OrderedDict()
        self._pauses: dict[int, tuple[float, int]] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        self._schedulers: OrderedDict[tuple[int, int, int], Scheduler] = OrderedDict()
        self._tried_scheduler: tuple[tuple[int, int, int], bytes] = (0, 0, 0), b""
        self._round = 0
        self._sample = 0
        self._tried_tid = 0
        self._tried: Deep | Read | None = None
        self._kept: OrderedDict[int, list[Read]] = OrderedDict()
        self._fresh: set[int] = set()
        self._dumps: RoundDumps | None = None

    def next_round(self, samples: Any, dumps: RoundDumps | None = None) -> None:
        """The columns of the next samples, and their dumps."""
        self._dumps = dumps
        self.pids, self.tids, self.times = samples.pid, samples.tid, samples.time
        self._round += 1
        self._fresh.clear()
        while sum(len(read.block) for reads in self._kept.values() for read in reads) > MOST_KEPT:
            self._kept.popitem(last=False)

    def beyond(
        self, sample: int, slots: Any, values: Any, low: int, high: int, wanted: int
    ) -> tuple[int, bytes | memoryview] | None:
        """Memory that holds what lies behind the dump of a sample, from ``low`` to ``high``: its start and its bytes.

        ``slots`` are the places in the dump where the chain's return addresses are, going up, ``values`` what they are.
        ``wanted`` is where the walk wants to read first.
        """
        self.trial = self.alike = False
        found: tuple[int, bytes | memoryview] | None = self._proven_or_tried(sample, slots, values, low, high, wanted)
        if not self._infer or (found is not None and not self.trial):
            return found
        if found is not None and Read(0, *found).holds(slots, values):
            self.alike = True
            return found
        if found is not None:
            # What begins to be watched is tried before all others.
            return found
        self._sample = sample
        for read in self._reads(sample, slots, values, high):
            if read.root and read.holds(slots, values):
                self._tried, self.trial, self.alike = read, True, True
                return read.start, read.block
        return None

    def _proven_or_tried(
        self, sample: int, slots: Any, values: Any, low: int, high: int, wanted: int
    ) -> tuple[int, bytes] | None:
        """Memory that is proven for a sample, or that will be for later ones."""
        tid = self.tids[sample]
        deep = self._threads.get(tid)
        if deep is not None and deep.pid == self.pids[sample]:
            if self._known(deep, self.times[sample], slots, values, wanted):
                self._threads.move_to_end(tid)
                self._pauses.pop(tid, None)
                deep.missed = 0
                return deep.start, deep.block
            # One older than what was read, or so deep that its dump ends before what is watched: the next may do.
            deep.missed += self.times[sample] > deep.read
            if deep.missed < MISSES_BEFORE_REPLACING and any(one.intact for one in deep.watches):
                return None
        self._drop(tid)
        return self._begin(tid, self.pids[sample], slots, values, low, high, wanted)

    def more(self, address: int, slots: Any, values: Any) -> bytes | memoryview | None:
        """During a trial: all memory so far and on to behind ``address``. ``slots`` and ``values`` are of the chain so
        far."""
        deep = self._tried
        if not self.trial or deep is None:
            return None
        if isinstance(deep, Read) and not deep.open:
            # That ends too: others may agree with it there.
            end = deep.start + len(deep.block)
            for read in self._reads(self._sample, slots, values, end):
                if read.start + len(read.block) >= address + 8 and read.holds(slots, values):
                    joined = bytes(deep.block) + bytes(read.block[end - read.start :])
                    self._tried = Read(deep.pid, deep.start, joined, read.open)
                    return joined
            return None
        if not deep.start <= address < deep.start + LARGEST_BLOCK:
            return None
        end = deep.start + len(deep.block)
        added = self._read(deep.pid, end, max(BLOCK, address + 8 - end, len(deep.block)))
        deep.block = bytes(deep.block) + added
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
        self._tried_scheduler = key, block
        self.trial = True
        return block

    def tried_scheduler(self, root: bool, slot: int, value: int) -> None:
        """A trial of a scheduler is over, which has its return address ``value`` at ``slot``."""
        self.trial = False
        (pid, tid, start), block = self._tried_scheduler
        at = slot - start
        if not root or not 0 <= at <= len(block) - 8:
            return
        try:
            watch = Watch(self._watch(tid, slot), slot, value)
        except OSError:
            return
        # The frames below may belong to another call by now.
        block = block[:at] + self._read(pid, slot, BLOCK)
        if int.from_bytes(block[at : at + 8], "little") != value or not watch.look(0, self._now()):
            watch.close()
            return
        self._schedulers[pid, tid, start] = Scheduler(watch, block, self._now())
        if len(self._schedulers) > MOST_WATCHED:
            self._schedulers.popitem(last=False)[1].watch.close()

    def tried(self, root: bool) -> None:
        """A trial is over; without ``root`` nothing is to be found there."""
        deep = self._tried
        self.trial = False
        if isinstance(deep, Read):
            deep.root = root
        if not isinstance(deep, Deep):
            return
        now = self._now()
        intact = [one for one in deep.watches if one.look(0, now)]
        if not root or not intact:
            self._drop(self._tried_tid)
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

    def _known(self, deep: Deep, moment: int, slots: Any, values: Any, wanted: int) -> bool:
        """Whether a sample of that moment passes a place that was not written since before its callers were read."""
        if moment <= deep.read or not deep.read:
            return False
        if deep.seen != self._round:
            deep.seen = self._round
            now = self._now()
            for one in deep.watches:
                one.look(moment, now)
        for one in deep.watches:
            if one.intact and one.slot == wanted:
                return True
            at = bisect_left(slots, one.slot)
            if one.intact and at < len(slots) and slots[at] == one.slot and values[at] == one.value:
                return True
        return False

    def _begin(
        self, tid: int, pid: int, slots: Any, values: Any, low: int, high: int, wanted: int
    ) -> tuple[int, bytes] | None:
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
        if high <= wanted < high + LARGEST_BLOCK and wanted & 7 == 0:
            places.append((wanted, 0))
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
        deep.block = self._read(pid, deep.start, max(high, min(wanted, high + LARGEST_BLOCK)) - deep.start + BLOCK)
        for place in watches:
            at = place.slot - deep.start
            if place.slot >= high:
                place.value = int.from_bytes(deep.block[at : at + 8], "little")
            place.intact = int.from_bytes(deep.block[at : at + 8], "little") == place.value
        if not any(place.intact for place in watches):
            self._drop(tid)
            return None
        self._tried_tid, self._tried, self.trial = tid, deep, True
        return deep.start, deep.block

    def _reads(self, sample: int, slots: Any, values: Any, high: int) -> Iterator[Read]:
        """Memory of a thread behind a sample's dump: from the dumps nearest to it, as it is now, and as it was read in
        earlier rounds, the newest first."""
        tid, pid = self.tids[sample], self.pids[sample]
        for dumps in self._dumps.near(sample, DUMPS) if self._dumps is not None else ():
            for start, block in dumps:
                end = start + len(block)
                if end < slots[-1] + 8:
                    # It tells nothing of that place.
                    continue
                read = Read(pid, start, block)
                if not read.holds(slots[-1:], values[-1:]):
                    # That call had not begun, or it was over.
                    break
                if end > high:
                    yield read
        reads = self._kept.setdefault(tid, [])
        if reads and reads[0].pid != pid:
            reads.clear()
        if tid not in self._fresh:
            self._fresh.add(tid)
            self._kept.move_to_end(tid)
            start = slots[bisect_left(slots, high - BLOCK, hi=len(slots) - 1)]
            for read in reads:
                read.open = False
            reads.insert(0, Read(pid, start, self._read(pid, start, high - start + BLOCK), True))
            del reads[READS:]
        yield from reads

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
