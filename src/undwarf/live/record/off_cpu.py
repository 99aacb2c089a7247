# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Off-CPU time of threads: from the sample at the switch out to the record of the switch in.

A thread is switched out inside the kernel, where the software event "context-switches" samples it; a SWITCH record has
the time at which it runs again, on whatever CPU. The difference, in ns, is the weight of the sample.
"""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.abi import MISC_SWITCH_OUT
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind

from undwarf.column import doubled, zeros
from undwarf.ordering import take


@cython.final
@cython.cclass
class Blocked:
    """Threads that are off the CPU, and the waits that have ended since the last :meth:`take`.

    Waits of less than ``least`` ns are left out and counted in ``short``. Stacks are nodes of one
    :class:`undwarf.unwind.stacks.Stacks`; when it is reset, :meth:`forget` the waiting threads.
    """

    columns: dict[str, Any]
    # Two of these columns: when a wait began or, once it is over, ended; and how long it was.
    time = cython.declare("unsigned long long[::1]")
    period = cython.declare("unsigned long long[::1]")
    # Rows of the waiting threads by tid, of waits that are over, and those that may be reused.
    rows: dict[int, int]
    over: list[int]
    free: list[int]
    used: cython.Py_ssize_t
    least: cython.ulonglong
    short = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, least: int = 0) -> None:
        self.least = least
        self.short = 0
        codes: dict[str, Any] = {"time": "Q", "period": "Q", "ip": "Q", "stack": "I", "comm": "I", "stop": "B"}
        codes |= {"misc": "H", "pid": "i", "tid": "i", "cpu": "i"}
        self.columns = {name: zeros(code, 1024) for name, code in codes.items()}
        self.time, self.period = self.columns["time"], self.columns["period"]
        self.forget()

    def forget(self) -> None:
        """Drop the waiting threads, and waits that were not taken."""
        self.rows, self.over, self.free = {}, [], []
        self.used = 0

    @property
    def waiting(self) -> int:
        """Number of threads that are off the CPU."""
        return len(self.rows)

    @property
    def ended(self) -> int:
        """Number of waits that :meth:`take` will give."""
        return len(self.over)

    @cython.cfunc
    @cython.exceptval(-1)
    def end(self, tid: cython.int, time: cython.ulonglong) -> cython.int:
        """A thread is on a CPU again; with time 0 its wait does not count."""
        entry = self.rows.pop(tid, None)
        row: cython.Py_ssize_t
        if entry is None:
            return 0
        row = entry
        if time < self.time[row]:
            self.free.append(entry)
        elif time - self.time[row] < self.least:
            self.short += 1
            self.free.append(entry)
        else:
            self.period[row] = time - self.time[row]
            self.time[row] = time
            self.over.append(entry)
        return 0

    @cython.locals(
        times="const unsigned long long[::1]",
        ips="const unsigned long long[::1]",
        events="const unsigned short[::1]",
        miscs="const unsigned short[::1]",
        pids="const int[::1]",
        thread_ids="const int[::1]",
        cpus="const int[::1]",
        by_time="const unsigned int[::1]",
        sample_nodes="const unsigned int[::1]",
        sample_stops="const unsigned char[::1]",
        sample_comms="const unsigned int[::1]",
        kinds="const unsigned char[::1]",
        side_miscs="const unsigned short[::1]",
        side_times="const unsigned long long[::1]",
        side_tids="const int[::1]",
        ip="unsigned long long[::1]",
        stack="unsigned int[::1]",
        stop="unsigned char[::1]",
        misc="unsigned short[::1]",
        comm="unsigned int[::1]",
        pid="int[::1]",
        tid="int[::1]",
        cpu="int[::1]",
    )
    def run(self, samples: Any, order: Any, sideband: Any, event: int, nodes: Any, stops: Any, comms: Any) -> None:
        """Replay the samples of ``event`` and the switches of a round in order of time.

        ``order``: sample numbers by time. ``nodes``, ``stops`` and ``comms``: stack node, stop reason and thread name
        of each sample.
        """
        times, ips, events, miscs = samples.time, samples.ip, samples.event, samples.misc
        pids, thread_ids, cpus = samples.pid, samples.tid, samples.cpu
        by_time, sample_nodes, sample_stops, sample_comms = order, nodes, stops, comms
        kinds, side_miscs, side_times, side_tids = sideband.kind, sideband.misc, sideband.time, sideband.tid
        wanted: cython.uint = event
        k: cython.Py_ssize_t
        s: cython.Py_ssize_t
        row: cython.Py_ssize_t
        side: cython.Py_ssize_t = 0
        columns = self.columns
        while self.used + by_time.shape[0] > self.time.shape[0]:
            for name in columns:
                columns[name] = doubled(columns[name], self.used)
            self.time, self.period = columns["time"], columns["period"]
        ip, misc, pid, tid, cpu = columns["ip"], columns["misc"], columns["pid"], columns["tid"], columns["cpu"]
        stack, stop, comm = columns["stack"], columns["stop"], columns["comm"]
        for k in range(by_time.shape[0] + 1):
            s = by_time[k] if k < by_time.shape[0] else -1
            while side < kinds.shape[0] and (s < 0 or side_times[side] < times[s]):
                if kinds[side] == SidebandKind.SWITCH and not side_miscs[side] & MISC_SWITCH_OUT:
                    self.end(side_tids[side], side_times[side])
                elif kinds[side] == SidebandKind.EXIT:
                    self.end(side_tids[side], 0)
                side += 1
            if s < 0 or events[s] != wanted or thread_ids[s] <= 0:
                continue
            # If the record of its return was lost, two waits must not become a long one.
            self.end(thread_ids[s], 0)
            if self.free:
                row = self.free.pop()
            else:
                row = self.used
                self.used += 1
            self.rows[thread_ids[s]] = row
            self.time[row], ip[row], misc[row] = times[s], ips[s], miscs[s]
            stack[row], stop[row], comm[row] = sample_nodes[s], sample_stops[s], sample_comms[s]
            pid[row], tid[row], cpu[row] = pids[s], thread_ids[s], cpus[s]

    def finish(self, time: int) -> None:
        """End the waits of all threads at ``time`` (ns)."""
        for tid in list(self.rows):
            self.end(tid, time)

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

    def take(self) -> dict[str, memoryview]:
        """Columns of the waits that have ended, as :class:`undwarf.unwind.sample_writer.Emitter` takes them.

        ``time`` is the end of the wait; they are in this order, since perf wants records in order.
        """
        rows = zeros("I", len(self.over))
        for i, row in enumerate(self.over):
            rows[i] = row
        self.free += self.over
        self.over = []
        return {name: take(column, rows) for name, column in self.columns.items()}
