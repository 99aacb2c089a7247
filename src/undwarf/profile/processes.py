"""The processes of a recording: parents, names, threads, when they started and ended."""

from dataclasses import dataclass, field

from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.grouping import Pairs, sums, widen


@dataclass(frozen=True, slots=True)
class Process:
    """A process of a recording, or all that had this number one after the other.

    ``comm`` is the last name of its main thread, else that of another one, empty if unknown; ``parent`` is None unless
    its fork was recorded. ``threads`` were sampled or described by records: names by number. ``samples`` is how many it
    has. ``start`` and ``end`` are in ns, None if the fork or the end of its main thread was not recorded.

    >>> recording.processes[10473].comm, recording.processes[10473].samples
    ('words', 1127)
    """

    pid: int
    comm: str
    parent: int | None = None
    threads: dict[int, str] = field(default_factory=dict)
    samples: int = 0
    start: int | None = None
    end: int | None = None


_KINDS = (SidebandKind.COMM, SidebandKind.FORK, SidebandKind.EXIT)


def processes_of(records: Records) -> list[Process]:
    """The processes that are sampled or described by records, by pid."""
    threads: dict[int, dict[int, str]] = {}
    parents: dict[int, int] = {}
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    side = records.sideband
    of_parents = side.forks.parent_pid
    for row, kind in enumerate(side.kind):
        if kind not in _KINDS:
            continue
        pid, tid = side.pid[row], side.tid[row]
        names = threads.setdefault(pid, {})
        if kind == SidebandKind.COMM:
            names[tid] = records.names[side.name[row]].decode("utf-8", "surrogateescape")
            continue
        parent = of_parents[row] if kind == SidebandKind.FORK else pid
        names.setdefault(tid, threads.get(parent, {}).get(parent, ""))
        if tid != pid:
            continue
        if kind == SidebandKind.EXIT:
            ends[pid] = side.time[row]
        elif parent != pid:
            parents[pid] = parent
            # perf writes forks of before the recording with time 0.
            if side.time[row]:
                starts.setdefault(pid, side.time[row])
    samples: dict[int, int] = {}
    for pid, tid, count in _sampled(records):
        names = threads.setdefault(pid, {})
        names.setdefault(tid, names.get(pid, ""))
        samples[pid] = samples.get(pid, 0) + count
    return [
        Process(
            pid,
            _name(pid, threads[pid]),
            parents.get(pid),
            threads[pid],
            samples.get(pid, 0),
            starts.get(pid),
            ends.get(pid) or None,
        )
        for pid in sorted(threads)
        if pid >= 0
    ]


def _name(pid: int, threads: dict[int, str]) -> str:
    return threads.get(pid) or next(filter(None, threads.values()), "swapper" if pid == 0 else "")


def _sampled(records: Records) -> list[tuple[int, int, int]]:
    """(pid, tid, number of samples) of each sampled thread, by pid and tid."""
    pairs = Pairs()
    thread = pairs.column(widen(records.samples.pid), widen(records.samples.tid))
    counts = sums(thread, None, len(pairs))
    return sorted(zip(_signed(pairs.high()), _signed(pairs.low()), counts, strict=True))


def _signed(column: memoryview) -> memoryview:
    return column.cast("B").cast("i") if len(column) else column
