"""What happened beside the samples: lost records, throttled events, and when threads ran, from context switches."""

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from undwarf.column import zeros
from undwarf.perfdata import EventAttr, PerfData, Records
from undwarf.perfdata.abi import MISC_SWITCH_OUT
from undwarf.perfdata.features import Features
from undwarf.perfdata.sample_fields import SampleField
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.views.page.names import Threads
from undwarf.views.page.row_times import RowTimes

MOST_MARKS = 2000
"""Marks of one kind; more are added up in spans of time."""
MOST_RUNS = 300_000
"""Spans in which threads ran; the shortest further ones are left out."""
_NO_CPU = 0xFFFF
_SCHED_SWITCH = "sched:sched_switch"
_OF_ALL_CPUS = frozenset({"-a", "--all-cpus"})
"""Options of perf record. perf sched record has -a among the words of its command line."""
_HEADER = 8


class Recording(Protocol):
    """The parts of an opened recording that are read."""

    @property
    def data(self) -> PerfData: ...
    @property
    def events(self) -> list[EventAttr]: ...
    @property
    def records(self) -> Records: ...
    @property
    def header(self) -> Features: ...


def marks_of(records: Records, times: RowTimes) -> list[dict[str, Any]]:
    """Lost samples and throttled events, in order of time, in the unit of rows."""
    side = records.sideband
    kinds = bytes(side.kind)
    found: list[dict[str, Any]] = []
    if times.unit is None:
        return found
    for kind, name in ((SidebandKind.LOST, "lost"), (SidebandKind.THROTTLE, "throttled")):
        if kind not in kinds:
            continue
        rows = [row for row, one in enumerate(kinds) if one == kind]
        counts: dict[int, int] = {}
        span = max(1, times.of(times.end or 0) // MOST_MARKS) if len(rows) > MOST_MARKS else 1
        for row in rows:
            # A filter that drops samples on purpose loses nothing.
            lost = side.first[row] if kind == SidebandKind.LOST else 1
            if kind == SidebandKind.LOST and side.fourth[row]:
                continue
            time = times.of(side.time[row]) // span * span
            counts[time] = counts.get(time, 0) + lost
        text = "records lost: the buffer was full" if name == "lost" else "sampling was paused: too many interrupts"
        found += [{"time": time, "kind": name, "count": count, "text": text} for time, count in counts.items()]
    found.sort(key=lambda mark: mark["time"])
    return found


class Runs(NamedTuple):
    """Spans in which a thread ran on a CPU, by start: ``columns`` as a page has them; ``left_out`` shorter ones."""

    columns: dict[str, memoryview]
    left_out: int


_Span = tuple[int, int, int, int]
"""Start, end, thread, CPU."""


def runs_of(recording: Recording, threads: Threads, times: RowTimes) -> Runs | None:
    """When threads of sampled processes ran, from PERF_RECORD_SWITCH or, of all CPUs, from the samples of
    ``sched:sched_switch``; None if context switches were not recorded.

    Threads without samples are added to ``threads``. A run that began before the recording begins with it, one without
    an end ends with it.
    """
    if times.unit is None:
        return None
    known = _Known(threads)
    spans = _of_records(recording, known, times)
    if spans is None:
        spans = _of_samples(recording, known, times)
    if spans is None:
        return None
    left_out = max(0, len(spans) - MOST_RUNS)
    if left_out:
        spans.sort(key=lambda span: span[0] - span[1])
        del spans[MOST_RUNS:]
    spans.sort()
    starts, ends, owners = (zeros("I", len(spans)) for _column in range(3))
    places = zeros("H", len(spans))
    for k, (start, end, thread, cpu) in enumerate(spans):
        starts[k], ends[k], owners[k], places[k] = start, end, thread, cpu
    return Runs({"run_thread": owners, "run_cpu": places, "run_start": starts, "run_end": ends}, left_out)


class _Known:
    """The threads of a page by their ids; others of the same processes are added."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads.threads
        self._processes = {one["pid"]: k for k, one in enumerate(threads.processes)}
        # Of a thread with several names the last one.
        self._numbers = {
            (threads.processes[one["process"]]["pid"], one["tid"]): k for k, one in enumerate(threads.threads)
        }

    def number(self, pid: int, tid: int) -> int | None:
        """The number of a thread; None for the idle task, and processes that have no samples."""
        if not pid or pid not in self._processes:
            return None
        number = self._numbers.setdefault((pid, tid), len(self._threads))
        if number == len(self._threads):
            self._threads.append({"tid": tid, "process": self._processes[pid], "name": None, "idle": False})
        return number


def _of_records(recording: Recording, known: _Known, times: RowTimes) -> list[_Span] | None:
    """From PERF_RECORD_SWITCH; None without any."""
    side = recording.records.sideband
    kinds = bytes(side.kind)
    if SidebandKind.SWITCH not in kinds:
        return None
    since: dict[int, int | None] = {}
    last = times.of(times.end or 0)
    spans: list[_Span] = []
    # A thread that ends has no record of its last switch.
    rows = [row for row, kind in enumerate(kinds) if kind in (SidebandKind.SWITCH, SidebandKind.EXIT)]
    cpus = _cpus(recording, [row for row in rows if kinds[row] == SidebandKind.SWITCH])
    cpu_of: dict[int, int] = {}
    for row in rows:
        thread = known.number(side.pid[row], side.tid[row])
        if thread is None:
            continue
        time = times.of(side.time[row])
        if side.misc[row] & MISC_SWITCH_OUT or kinds[row] == SidebandKind.EXIT:
            start = since.get(thread, 0 if kinds[row] == SidebandKind.SWITCH else None)
            if start is not None and time > start:
                spans.append((start, time, thread, cpus.get(row, cpu_of.get(thread, _NO_CPU))))
            since[thread] = None
        else:
            since[thread] = time
            cpu_of[thread] = cpus.get(row, _NO_CPU)
    for thread, begun in since.items():
        if begun is not None and begun < last:
            spans.append((begun, last, thread, cpu_of[thread]))
    return spans


def _of_samples(recording: Recording, known: _Known, times: RowTimes) -> list[_Span] | None:
    """From the samples of ``sched:sched_switch``, taken in the thread that leaves the CPU: it ran there since the last
    switch. None without any, and if other threads' switches may be missing."""
    numbers = {k for k, event in enumerate(recording.events) if event.name.startswith(_SCHED_SWITCH)}
    if not numbers or not _OF_ALL_CPUS.intersection(recording.header.cmdline or ()):
        return None
    records = recording.records
    samples, order = records.samples, records.sample_order
    since: dict[int, int] = {}
    spans: list[_Span] = []
    for row in order:
        if samples.event[row] not in numbers:
            continue
        cpu, time = samples.cpu[row], times.of(samples.time[row])
        thread = known.number(samples.pid[row], samples.tid[row])
        start = since.get(cpu, 0)
        if thread is not None and time > start and 0 <= cpu < _NO_CPU:
            spans.append((start, time, thread, cpu))
        since[cpu] = time
    return spans


def _cpus(recording: Recording, rows: list[int]) -> Mapping[int, int]:
    """The CPU of each record (by its row), from the fields at its end (``struct sample_id``); without those that do not
    fit."""
    kinds = {event.sample_type & (SampleField.CPU | SampleField.IDENTIFIER) for event in recording.events}
    if (
        len(kinds) != 1
        or not next(iter(kinds)) & SampleField.CPU
        or not all(event.sample_id_all for event in recording.events)
        or recording.data.byte_order != sys.byteorder
        or len(rows) > 2 * MOST_RUNS
    ):
        return {}
    behind = 16 if next(iter(kinds)) & SampleField.IDENTIFIER else 8
    found: dict[int, int] = {}
    position_of = recording.records.sideband.position
    for row in rows:
        position = position_of[row]
        with recording.data.window(position, _HEADER) as header:
            size = int.from_bytes(header[6:8], sys.byteorder)
        if size < _HEADER + behind:
            continue
        with recording.data.window(position + size - behind, 4) as field:
            cpu = int.from_bytes(field[:4], sys.byteorder)
        if cpu < _NO_CPU:
            found[row] = cpu
    return found
