# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Time that threads spend off the CPU: from the sample at the switch out to the record of the switch in.

A thread is switched out inside the kernel, where the software event "context-switches" samples it; a SWITCH record has
the time at which it runs again, on whatever CPU. The difference is the sample's weight, in ns.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.perfdata.abi import MISC_SWITCH_OUT
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind

from undwarf.column import zeros


@cython.final
@cython.cclass
class Blocked:
    """Threads that are off the CPU, and the samples that came of those that are back.

    ``least`` is the shortest time, in ns, that makes a sample. Stacks are nodes of one
    :class:`undwarf.unwind.stacks.Stacks`; when that is renewed, ``forget`` what waits.
    """

    # An open hash by thread: tid + 1 (0: free, 0xffffffff: free again).
    tids = cython.declare("unsigned int[::1]")
    rows = cython.declare("unsigned int[::1]")
    filled: cython.Py_ssize_t
    # Rows: what is known of a thread that is away.
    q = cython.declare("unsigned long long[::1]")
    i = cython.declare("unsigned int[::1]")
    free = cython.declare("unsigned int[::1]")
    free_count: cython.Py_ssize_t
    row_count: cython.Py_ssize_t
    # What came of those that are back.
    out_q = cython.declare("unsigned long long[::1]")
    out_i = cython.declare("unsigned int[::1]")
    made = cython.declare(cython.Py_ssize_t, visibility="readonly")
    least: cython.ulonglong
    short = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, least: int = 0) -> None:
        self.least = least
        self.short = 0
        self.out_q = zeros("Q", 4 * 1024)
        self.out_i = zeros("I", 8 * 1024)
        self.made = 0
        self.forget()

    def forget(self) -> None:
        """Know of no thread that is away."""
        self.tids = zeros("I", 4096)
        self.rows = zeros("I", 4096)
        self.q = zeros("Q", 4 * 1024)
        self.i = zeros("I", 8 * 1024)
        self.free = zeros("I", 1024)
        self.filled = 0
        self.free_count = 0
        self.row_count = 0

    @property
    def away(self) -> int:
        """Threads that are off the CPU."""
        return self.row_count - self.free_count

    @cython.locals(
        new_q="unsigned long long[::1]", new_i="unsigned int[::1]", tids="unsigned int[::1]", rows="unsigned int[::1]"
    )
    def _grow(self) -> None:
        """Room for one more thread, and for its sample."""
        n: cython.Py_ssize_t = self.free.shape[0]
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t
        if self.row_count >= n:
            new_q = zeros("Q", 8 * n)
            new_q[: 4 * n] = self.q
            self.q = new_q
            new_i = zeros("I", 16 * n)
            new_i[: 8 * n] = self.i
            self.i = new_i
            new_i = zeros("I", 2 * n)
            new_i[:n] = self.free
            self.free = new_i
        if 2 * self.filled >= self.tids.shape[0]:
            tids = self.tids
            rows = self.rows
            n = tids.shape[0]
            if 4 * (self.row_count - self.free_count) > n:
                n *= 2
            self.tids = zeros("I", n)
            self.rows = zeros("I", n)
            self.filled = 0
            for k in range(tids.shape[0]):
                if tids[k] and tids[k] != NOTHING:
                    at = self.slot(tids[k])
                    self.tids[at] = tids[k]
                    self.rows[at] = rows[k]
                    self.filled += 1

    @cython.locals(new_q="unsigned long long[::1]", new_i="unsigned int[::1]")
    def _grow_out(self) -> None:
        n: cython.Py_ssize_t = self.out_q.shape[0]
        new_q = zeros("Q", 2 * n)
        new_q[:n] = self.out_q
        self.out_q = new_q
        n = self.out_i.shape[0]
        new_i = zeros("I", 2 * n)
        new_i[:n] = self.out_i
        self.out_i = new_i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def slot(self, key: cython.uint) -> cython.Py_ssize_t:
        """The slot of a thread, or the free one where it belongs."""
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.tids.shape[0]) - 1
        at: cython.ulonglong = (cython.cast(cython.ulonglong, key) * GOLDEN_RATIO) >> 20 & mask
        while self.tids[at] and self.tids[at] != key:
            at = (at + 1) & mask
        return cython.cast(cython.Py_ssize_t, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def back(self, key: cython.uint, time: cython.ulonglong, counts: cython.bint) -> cython.int:
        """A thread is on a CPU again, or gone for good (then it does not count)."""
        at: cython.Py_ssize_t = self.slot(key)
        row: cython.Py_ssize_t
        k: cython.Py_ssize_t
        if not self.tids[at]:
            return 0
        row = self.rows[at]
        self.tids[at] = NOTHING
        self.free[self.free_count] = cython.cast(cython.uint, row)
        self.free_count += 1
        if not counts or time < self.q[4 * row]:
            return 0
        if time - self.q[4 * row] < self.least:
            self.short += 1
            return 0
        if 4 * (self.made + 1) > self.out_q.shape[0]:
            with cython.gil:
                self._grow_out()
        self.out_q[4 * self.made] = time
        self.out_q[4 * self.made + 2] = self.q[4 * row + 2]
        self.out_q[4 * self.made + 1] = time - self.q[4 * row]
        for k in range(8):
            self.out_i[8 * self.made + k] = self.i[8 * row + k]
        self.made += 1
        return 0

    @cython.locals(
        times="const unsigned long long[::1]",
        ips="const unsigned long long[::1]",
        events="const unsigned short[::1]",
        miscs="const unsigned short[::1]",
        pids="const int[::1]",
        thread_ids="const int[::1]",
        cpus="const int[::1]",
        order="const unsigned int[::1]",
        nodes="const unsigned int[::1]",
        stops="const unsigned char[::1]",
        comms="const unsigned int[::1]",
        kinds="const unsigned char[::1]",
        side_miscs="const unsigned short[::1]",
        side_times="const unsigned long long[::1]",
        side_tids="const int[::1]",
    )
    def run(
        self,
        samples: Any,
        order: Any,
        sideband: Any,
        event: int,
        nodes: Any,
        stops: Any,
        comms: Any,
        side_tids: Any,
    ) -> None:
        """Pass the samples of ``event`` and the switches in time order.

        ``order``: sample numbers by time. ``nodes``, ``stops`` and ``comms``: stack node, stop reason and thread name
        of each sample. ``side_tids``: the thread of each side-band record.
        """
        times = samples.time
        ips = samples.ip
        events = samples.event
        miscs = samples.misc
        pids = samples.pid
        thread_ids = samples.tid
        cpus = samples.cpu
        kinds = sideband.kind
        side_miscs = sideband.misc
        side_times = sideband.time
        number: cython.uint = event
        k: cython.Py_ssize_t
        s: cython.Py_ssize_t
        side: cython.Py_ssize_t = 0
        sides: cython.Py_ssize_t = kinds.shape[0]
        at: cython.Py_ssize_t
        row: cython.Py_ssize_t
        key: cython.uint
        with cython.nogil:
            for k in range(order.shape[0] + 1):
                s = order[k] if k < order.shape[0] else -1
                while side < sides and (s < 0 or side_times[side] < times[s]):
                    key = cython.cast(cython.uint, side_tids[side]) + 1
                    if kinds[side] == SidebandKind.SWITCH and not side_miscs[side] & MISC_SWITCH_OUT:
                        self.back(key, side_times[side], True)
                    elif kinds[side] == SidebandKind.EXIT:
                        self.back(key, side_times[side], False)
                    side += 1
                if s < 0 or events[s] != number or thread_ids[s] <= 0:
                    continue
                if self.row_count >= self.free.shape[0] or 2 * self.filled >= self.tids.shape[0]:
                    with cython.gil:
                        self._grow()
                key = cython.cast(cython.uint, thread_ids[s]) + 1
                # A return that was lost must not make one long absence out of two.
                self.back(key, times[s], False)
                at = self.slot(key)
                if self.free_count:
                    self.free_count -= 1
                    row = self.free[self.free_count]
                else:
                    row = self.row_count
                    self.row_count += 1
                self.tids[at] = key
                self.rows[at] = cython.cast(cython.uint, row)
                self.filled += 1
                self.q[4 * row] = times[s]
                self.q[4 * row + 2] = ips[s]
                self.i[8 * row] = nodes[s]
                self.i[8 * row + 1] = stops[s]
                self.i[8 * row + 2] = cython.cast(cython.uint, pids[s])
                self.i[8 * row + 3] = cython.cast(cython.uint, thread_ids[s])
                self.i[8 * row + 4] = cython.cast(cython.uint, cpus[s])
                self.i[8 * row + 5] = cython.cast(cython.uint, miscs[s])
                self.i[8 * row + 6] = comms[s]

    def finish(self, time: int) -> None:
        """Let all threads that are away count as being back at ``time`` (ns)."""
        k: cython.Py_ssize_t
        for k in range(self.tids.shape[0]):
            if self.tids[k] and self.tids[k] != NOTHING:
                self.back(self.tids[k], time, True)

    @cython.locals(numbers="const unsigned short[::1]", chosen="unsigned char[::1]", i=cython.Py_ssize_t)
    def without(self, events: Any, event: int) -> memoryview:
        """B by sample: 0 for those of ``event``, else 1."""
        unwanted: cython.uint = event
        numbers = events
        column = zeros("B", len(events))
        chosen = column
        for i in range(numbers.shape[0]):
            chosen[i] = numbers[i] != unwanted
        return column

    @cython.locals(
        time="unsigned long long[::1]",
        period="unsigned long long[::1]",
        ip="unsigned long long[::1]",
        node="unsigned int[::1]",
        stop="unsigned char[::1]",
        misc="unsigned short[::1]",
        comm="unsigned int[::1]",
        ints="unsigned int[::1]",
    )
    def take(self) -> dict[str, memoryview]:
        """Columns of what came of threads that are back, as :class:`undwarf.unwind.sample_writer.Emitter` takes them.

        ``time`` is when they were back: in this order they come, and perf wants records in order.
        """
        n: cython.Py_ssize_t = self.made
        k: cython.Py_ssize_t
        words = [zeros("Q", n) for _ in range(3)]
        time = words[0]
        period = words[1]
        ip = words[2]
        stacks = zeros("I", n)
        node = stacks
        reasons = zeros("B", n)
        stop = reasons
        modes = zeros("H", n)
        misc = modes
        names = zeros("I", n)
        comm = names
        numbers = zeros("I", 3 * n)
        ints = numbers
        for k in range(n):
            time[k] = self.out_q[4 * k]
            period[k] = self.out_q[4 * k + 1]
            ip[k] = self.out_q[4 * k + 2]
            node[k] = self.out_i[8 * k]
            stop[k] = cython.cast(cython.uchar, self.out_i[8 * k + 1])
            ints[k] = self.out_i[8 * k + 2]
            ints[n + k] = self.out_i[8 * k + 3]
            ints[2 * n + k] = self.out_i[8 * k + 4]
            misc[k] = cython.cast(cython.ushort, self.out_i[8 * k + 5])
            comm[k] = self.out_i[8 * k + 6]
        self.made = 0
        signed = numbers.cast("B").cast("i") if n else zeros("i", 0)
        return {
            "time": words[0],
            "period": words[1],
            "ip": words[2],
            "pid": signed[:n],
            "tid": signed[n : 2 * n],
            "cpu": signed[2 * n : 3 * n],
            "stack": stacks,
            "stop": reasons,
            "misc": modes,
            "comm": names,
        }
