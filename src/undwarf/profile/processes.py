"""The processes of a recording: parents, names, threads, when they started and ended."""

from typing import NamedTuple

from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.grouping import Pairs, widen


class Process(NamedTuple):
    """One process, or all that had this pid one after the other.

    ``parent`` is None unless its fork was recorded; ``comm`` is the last name of its main thread, or of a thread that
    was sampled, empty if unknown. ``threads`` were sampled or described by records. ``start`` and ``end`` are in ns,
    None if the fork or the end of its main thread was not recorded.
    """

    pid: int
    parent: int | None
    comm: str
    threads: int
    start: int | None
    end: int | None


_KINDS = (SidebandKind.COMM, SidebandKind.FORK, SidebandKind.EXIT)


def processes_of(records: Records) -> list[Process]:
    """The processes that are sampled or described by records, by pid."""
    threads: dict[int, set[int]] = {}
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    samples, side = records.samples, records.sideband
    pairs = Pairs()
    pairs.column(widen(samples.pid), widen(samples.tid))
    for pid, tid in zip(_signed(pairs.high()), _signed(pairs.low()), strict=True):
        threads.setdefault(pid, set()).add(tid)
    of_parents = side.forks.parent_pid
    for row, kind in enumerate(side.kind):
        if kind not in _KINDS:
            continue
        pid, tid = side.pid[row], side.tid[row]
        threads.setdefault(pid, set()).add(tid)
        if kind == SidebandKind.COMM:
            if tid == pid or pid not in names:
                names[pid] = records.names[side.name[row]].decode("utf-8", "replace")
        elif kind == SidebandKind.FORK:
            parent = of_parents[row]
            if tid == pid and parent != pid:
                parents[pid] = parent
                # perf writes forks of before the recording with time 0.
                if side.time[row]:
                    starts.setdefault(pid, side.time[row])
                if pid not in names and parent in names:
                    names[pid] = names[parent]
        elif tid == pid:
            ends[pid] = side.time[row]
    return [
        Process(
            pid,
            parents.get(pid),
            names.get(pid, "swapper" if pid == 0 else ""),
            len(threads[pid]),
            starts.get(pid),
            ends.get(pid) or None,
        )
        for pid in sorted(threads)
        if pid >= 0
    ]


def _signed(column: memoryview) -> memoryview:
    return column.cast("B").cast("i") if len(column) else column
