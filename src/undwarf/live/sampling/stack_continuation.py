"""Continues stacks that are deeper than their dump in the running process's memory, if that is provably unchanged.

Frames of callers do not change until the callee returns. Whether it has returned cannot be seen afterwards: a program
that returns and calls again leaves the same return address in the same slot, below other callers. So a hardware
breakpoint watches the slot of one return address for writes, and the memory above it is read once. Calls write the
slot: a later sample whose chain has this slot is in the same call if it was not written since, and the memory that was
read has its callers. Two slots are watched, because the dumps of deeper stacks end earlier; and the first address after
the dump that the walk wants to read, which is the return address or a saved register of the frame in which the dump
ends: a frame of 100 KB and more stays while its calls write all slots below it.
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

READ_BYTES = 1 << 16
"""Bytes of a process's memory that are read first, and the least that is read further."""
MAX_STACK_BYTES = 8 << 20
"""Limit of the bytes that are read of one stack: Linux's default stack size (`ulimit -s`). A lower limit for all stacks
lowers it to a quarter of that."""
MAX_WATCHED = 64
"""Threads that are watched at a time, and processes whose memory is kept open."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.02, 2.56
"""Seconds until a thread whose slots were written is watched again: at first, and at most."""
MISSES_BEFORE_REPLACING = 8
"""Consecutive samples without a watched slot in their chain before other slots are chosen."""
MATCHING_RETURNS = 5
"""Different return addresses, the outermost of a dump (all if it has fewer), that must be in the same slots elsewhere
to infer that the callers above are the same too; recursion repeats a return address, which proves less. Of stacks
inferred in compilers with dumps of 16 and 32 KB (``bench/deeper_than_dump.py``), 0.3 % were wrong with one, 0.1 % with
three, 1 of 5,600 with five."""
NEIGHBOUR_DUMPS = 32
"""Dumps of a thread before and after a sample that are searched."""
READS_PER_THREAD = 4
"""Reads of a thread's memory that are kept."""
MAX_KEPT_BYTES = 64 << 20
"""Bytes of memory read in earlier rounds that are kept, of all threads together: those watched, and of others as much
again."""
_HW_BREAKPOINT_W = 2


@dataclass(slots=True)
class Watch:
    """A watched slot of a thread's stack, its value, and whether it was never written.

    ``ran``: for how long the thread had run (ns) when the watch was read last, at the time ``looked``.
    """

    descriptor: int
    slot: int
    value: int
    intact: bool = True
    ran: int = 0
    looked: int = 0

    def look(self, moment: int, now: int) -> bool:
        """Whether the slot was never written up to ``now``. The thread ran at ``moment``. Once false, always false."""
        if self.intact:
            try:
                count, enabled, running = struct.unpack("=3Q", os.read(self.descriptor, 24))
            except (OSError, struct.error):
                count, enabled, running = 1, 0, 0
            # Writes are missed while the breakpoint is not scheduled (running < enabled). If this thread ran but the
            # watched one did not, it is another thread with the same number.
            self.intact = count == 0 and enabled == running and (enabled > self.ran or moment <= self.looked)
            self.ran, self.looked = enabled, now
        return self.intact

    def close(self) -> None:
        """Remove the breakpoint."""
        with suppress(OSError):
            os.close(self.descriptor)


@dataclass(slots=True)
class Deep:
    """A thread with a deep stack: its watches, and the memory from ``start`` on, read at the time ``read``."""

    pid: int
    watches: list[Watch]
    start: int = 0
    block: bytes = b""
    read: int = 0
    seen: int = -1
    missed: int = 0


@dataclass(slots=True)
class Scheduler:
    """A frame of Haskell's scheduler: the watch of its return address, memory from below its frame on, and the time at
    which that was read."""

    watch: Watch
    block: bytes
    read: int


@dataclass(slots=True)
class Read:
    """A process's memory from ``start`` on, at some time.

    ``open``: just read from the process, so that more may be read. ``root``: no walk in it has failed to reach a root.
    """

    pid: int
    start: int
    block: bytes | memoryview
    open: bool = False
    root: bool = True

    def holds(self, slots: Any, values: Any) -> bool:
        """Whether the outermost return addresses are in their slots, :data:`MATCHING_RETURNS` different ones or all."""
        different: set[int] = set()
        for i in range(len(slots) - 1, -1, -1):
            at = slots[i] - self.start
            if at < 0 or int.from_bytes(self.block[at : at + 8], "little") != values[i]:
                return False
            different.add(values[i])
            if len(different) == MATCHING_RETURNS:
                return True
        return len(slots) < MATCHING_RETURNS


def watch(tid: int, slot: int) -> int:
    """The descriptor of a breakpoint on user-mode writes of a thread to an address. Raises OSError.

    The first write disables it, so that it costs a running program next to nothing.
    """
    event = replace(
        pe.breakpoint_event(slot, 8, _HW_BREAKPOINT_W),
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
    """Whether a write to a watched slot is reported: in some virtual machines breakpoints never fire."""
    memory = ctypes.create_string_buffer(32)
    slot = (ctypes.addressof(memory) + 15) & ~15
    try:
        own = Watch(watch(threading.get_native_id(), slot), slot, 0)
    except (OSError, UndwarfError):
        return False
    try:
        before = own.look(1, 2)
        ctypes.memset(slot, 1, 8)
        return before and not own.look(1, 2)
    finally:
        own.close()


class DeepStacks:
    """Gives the walk the memory beyond a sample's dump, if it is proven or may be inferred.

    ``pids``, ``tids`` and ``times`` are columns of the round's samples. ``trial``: the memory given last is not proven
    for this sample; it is walked to find out whether a root is reached, and the result does not count as proven.
    ``alike``: the outermost return addresses of the dump are in their slots there, so callers may be inferred from it.
    """

    def __init__(
        self,
        now: Callable[[], int] = time.monotonic_ns,
        open_watch: Callable[[int, int], int] = watch,
        *,
        infer: bool = True,
        most_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self.pids: Any = zeros("i", 0)
        self.tids: Any = zeros("i", 0)
        self.times: Any = zeros("Q", 0)
        self.trial = False
        self.alike = False
        self._infer = infer
        self._most_bytes = most_bytes
        self._longest = min(MAX_STACK_BYTES, most_bytes // 4)
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
        """Start a round with these samples and their dumps."""
        self._dumps = dumps
        self.pids, self.tids, self.times = samples.pid, samples.tid, samples.time
        self._round += 1
        self._fresh.clear()
        while sum(len(read.block) for reads in self._kept.values() for read in reads) > self._most_bytes:
            self._kept.popitem(last=False)
        while sum(len(deep.block) for deep in self._threads.values()) > self._most_bytes:
            self._drop(next(iter(self._threads)))

    def beyond(
        self, sample: int, slots: Any, values: Any, low: int, high: int, wanted: int
    ) -> tuple[int, bytes | memoryview] | None:
        """(start, bytes) of memory that continues the dump of a sample, which is from ``low`` to ``high``; or None.

        ``slots`` are the addresses of the chain's return addresses in the dump, ascending, ``values`` the return
        addresses. ``wanted`` is the first address that the walk wants to read.
        """
        self.trial = self.alike = False
        found: tuple[int, bytes | memoryview] | None = self._proven_or_tried(sample, slots, values, low, high, wanted)
        if not self._infer or (found is not None and not self.trial):
            return found
        if found is not None and Read(0, *found).holds(slots, values):
            self.alike = True
            return found
        if found is not None:
            # The trial of a new watch has precedence over inference.
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
        """Memory that is proven for the sample, or, as a trial, memory that a new watch will prove for later ones."""
        tid = self.tids[sample]
        deep = self._threads.get(tid)
        if deep is not None and deep.pid == self.pids[sample]:
            if self._known(deep, self.times[sample], slots, values, wanted):
                self._threads.move_to_end(tid)
                self._pauses.pop(tid, None)
                deep.missed = 0
                return deep.start, deep.block
            # Too early, or so deep that the dump ends below the watched slots: keep the watches for the next samples.
            deep.missed += self.times[sample] > deep.read
            if deep.missed < MISSES_BEFORE_REPLACING and any(slot.intact for slot in deep.watches):
                return None
        self._drop(tid)
        return self._begin(tid, self.pids[sample], slots, values, low, high, wanted)

    def more(self, address: int, slots: Any, values: Any) -> bytes | memoryview | None:
        """During a trial: the memory given before, extended beyond ``address``; None if that is impossible. ``slots``
        and ``values`` are those of the chain so far."""
        deep = self._tried
        if not self.trial or deep is None:
            return None
        if isinstance(deep, Read) and not deep.open:
            # Memory of another time that has the same return addresses may continue it.
            end = deep.start + len(deep.block)
            for read in self._reads(self._sample, slots, values, end):
                if read.start + len(read.block) >= address + 8 and read.holds(slots, values):
                    joined = bytes(deep.block) + bytes(read.block[end - read.start :])
                    self._tried = Read(deep.pid, deep.start, joined, read.open)
                    return joined
            return None
        if not deep.start <= address < deep.start + self._longest:
            return None
        end = deep.start + len(deep.block)
        added = self._read(deep.pid, end, max(READ_BYTES, address + 8 - end, len(deep.block)))
        deep.block = bytes(deep.block) + added
        return deep.block if address + 8 <= deep.start + len(deep.block) else None

    def scheduler(self, sample: int, start: int) -> bytes | None:
        """Memory from ``start`` on, the end of the frame between Haskell code and its scheduler. It is proven if the
        scheduler's own return address was not written since it was read; else it is a trial, or None."""
        self.trial = False
        key = self.pids[sample], self.tids[sample], start
        known = self._schedulers.get(key)
        if known is not None:
            if known.watch.look(self.times[sample], self._now()):
                return known.block if self.times[sample] > known.read else None
            self._schedulers.pop(key).watch.close()
        if self._next_watch(key[1]) is None:
            return None
        block = self._read(key[0], start, READ_BYTES)
        if not block:
            return None
        self._tried_scheduler = key, block
        self.trial = True
        return block

    def tried_scheduler(self, root: bool, slot: int, value: int) -> None:
        """Ends the trial of a scheduler: whether a root was reached, and its return address ``value`` at ``slot``."""
        self.trial = False
        (pid, tid, start), block = self._tried_scheduler
        at = slot - start
        if not root or not 0 <= at <= len(block) - 8:
            return
        try:
            watch = Watch(self._watch(tid, slot), slot, value)
        except OSError:
            return
        # Frames may have changed before the watch was set.
        block = block[:at] + self._read(pid, slot, READ_BYTES)
        if int.from_bytes(block[at : at + 8], "little") != value or not watch.look(0, self._now()):
            watch.close()
            return
        self._schedulers[pid, tid, start] = Scheduler(watch, block, self._now())
        if len(self._schedulers) > MAX_WATCHED:
            self._schedulers.popitem(last=False)[1].watch.close()

    def tried(self, root: bool) -> None:
        """Ends a trial; without ``root`` the memory is useless."""
        deep = self._tried
        self.trial = False
        if isinstance(deep, Read):
            deep.root = root
        if not isinstance(deep, Deep):
            return
        now = self._now()
        intact = [slot for slot in deep.watches if slot.look(0, now)]
        if not root or not intact:
            self._drop(self._tried_tid)
            return
        # The memory holds for samples from now on.
        deep.read = now

    def close(self) -> None:
        """Remove all breakpoints and close the memory of processes."""
        for tid in list(self._threads):
            self._drop(tid)
        while self._schedulers:
            self._schedulers.popitem()[1].watch.close()
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _known(self, deep: Deep, moment: int, slots: Any, values: Any, wanted: int) -> bool:
        """Whether the chain of a sample at ``moment`` has a slot that was not written since its callers were read."""
        if moment <= deep.read or not deep.read:
            return False
        if deep.seen != self._round:
            deep.seen = self._round
            now = self._now()
            for place in deep.watches:
                place.look(moment, now)
        for place in deep.watches:
            if place.intact and place.slot == wanted:
                return True
            at = bisect_left(slots, place.slot)
            if place.intact and at < len(slots) and slots[at] == place.slot and values[at] == place.value:
                return True
        return False

    def _next_watch(self, tid: int) -> int | None:
        """How often the thread was watched in vain, if it may be watched now; else None. Starts its next pause."""
        if self._works is None:
            self._works = breakpoints_work()
        clock = self._now() / 1e9
        until, tries = self._pauses.get(tid, (0.0, 0))
        if not self._works or tid <= 0 or clock < until:
            return None
        if len(self._pauses) > 64 * MAX_WATCHED:
            self._pauses.clear()
        self._pauses[tid] = (clock + FIRST_PAUSE_S, tries)
        return tries

    def _begin(
        self, tid: int, pid: int, slots: Any, values: Any, low: int, high: int, wanted: int
    ) -> tuple[int, bytes] | None:
        """Watch slots of a thread and read the memory above them."""
        tries = self._next_watch(tid) if len(slots) else None
        if tries is None:
            return None
        # Threads of a process that use the same addresses may pass a stack around (coroutines).
        for other in self._threads.values():
            if other.pid == pid and other.start < high and low < other.start + len(other.block):
                return None
        # The more watches were in vain, the nearer to the end of the dump, where calls last longer. A single frame may
        # fill the dump.
        middle = bisect_left(slots, high - ((high - low) >> min(1 + tries, 6)))
        middle = min(middle, len(slots) - 1)
        start = slots[middle]
        memory = self._read(pid, start, high - start + READ_BYTES)
        places = self._places(slots, values, middle, start, memory)
        if high <= wanted < high + self._longest and wanted & 7 == 0:
            places.append((wanted, 0))
        if not places:
            return None
        pause = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2**tries)
        self._pauses[tid] = (self._now() / 1e9 + pause, min(tries + 1, 8))
        watches = []
        for slot, value in places:
            with suppress(OSError):
                watches.append(Watch(self._watch(tid, slot), slot, value))
        if not watches:
            return None
        deep = Deep(pid, watches, min(place.slot for place in watches))
        self._threads[tid] = deep
        while len(self._threads) > MAX_WATCHED:
            self._drop(next(iter(self._threads)))
        # Read again, now that the slots are watched.
        end = max(high, min(wanted, high + self._longest)) + READ_BYTES
        deep.block = self._read(pid, deep.start, end - deep.start)
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
        """Memory of the sample's thread beyond its dump: the nearest dumps, the process's memory as it is now, and as
        it was read in earlier rounds, newest first."""
        tid, pid = self.tids[sample], self.pids[sample]
        for dumps in self._dumps.near(sample, NEIGHBOUR_DUMPS) if self._dumps is not None else ():
            for start, block in dumps:
                end = start + len(block)
                if end < slots[-1] + 8:
                    # It does not reach the outermost return address.
                    continue
                read = Read(pid, start, block)
                if not read.holds(slots[-1:], values[-1:]):
                    # Taken before that call, or after its return.
                    break
                if end > high:
                    yield read
        reads = self._kept.setdefault(tid, [])
        if reads and reads[0].pid != pid:
            reads.clear()
        if tid not in self._fresh:
            self._fresh.add(tid)
            self._kept.move_to_end(tid)
            start = slots[bisect_left(slots, high - READ_BYTES, hi=len(slots) - 1)]
            for read in reads:
                read.open = False
            reads.insert(0, Read(pid, start, self._read(pid, start, high - start + READ_BYTES), True))
            del reads[READS_PER_THREAD:]
        yield from reads

    def _places(self, slots: Any, values: Any, middle: int, start: int, memory: bytes) -> list[tuple[int, int]]:
        """(slot, value) of the first and the last return address from number ``middle`` on that are still in place."""
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
            for place in deep.watches:
                place.close()

    def _read(self, pid: int, start: int, size: int) -> bytes:
        """The process's memory from ``start`` on, ``size`` bytes at most; empty if it cannot be read."""
        # Twice: after an exec the first attempt closes the old program's memory.
        return self._read_once(pid, start, size) or self._read_once(pid, start, size)

    def _read_once(self, pid: int, start: int, size: int) -> bytes:
        file = self._open.get(pid)
        if file is None:
            try:
                file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return b""
            self._open[pid] = file
            if len(self._open) > MAX_WATCHED:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(pid)
        try:
            data = os.pread(file, size, start)
        except (OSError, OverflowError):
            data = b""
        if not data:
            # After an exec the descriptor still belongs to the old program's memory, which is empty.
            os.close(self._open.pop(pid))
        return data
