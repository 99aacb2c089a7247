"""Adds just-in-time compiled code to the address spaces: the code in jitdump files becomes mappings of the side band.

A process that writes a jitdump maps its first page executably, which records the file's name (the marker). Each piece
of code is then mapped at its address and time, with its offset in the jitdump as file offset: a sample finds the code
of its own time, also if code was moved or overwritten, and names, lines and unwind rules are looked up by offset.
``perf inject --jit`` does the same with one ELF file per function (tools/perf/util/jitdump.c).

Runtimes map anonymous memory and change its protection under existing code, which the kernel records as mappings.
These do not replace code that the jitdump, or an earlier executable anonymous mapping, has placed there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.images import ImageKind, ImageStore
from undwarf.images.image_kind import kind_of_name
from undwarf.perfdata import PerfData, Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.synthetic_mmaps import EXEC, READ, USER, WRITE, AddedRows

if TYPE_CHECKING:
    from undwarf.images.jitdump import JitDump, Placement

CLOCK_MONOTONIC = 1

MAX_CLOCK_DIFFERENCE = 60 * 10**9
"""Largest difference (ns) of the times of marker and first code that counts as one clock."""


class Cover:
    """A set of addresses as disjoint, sorted ranges."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Add a range."""
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def remove(self, start: int, end: int) -> None:
        """Remove a range."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first >= last:
            return
        kept = [(self._starts[first], start)] if self._starts[first] < start else []
        kept += [(end, self._ends[last - 1])] if self._ends[last - 1] > end else []
        self._starts[first:last] = [low for low, _ in kept]
        self._ends[first:last] = [high for _, high in kept]

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that are not in the set."""
        gaps = []
        number = bisect_right(self._ends, start)
        while start < end and number < len(self._starts) and self._starts[number] < end:
            if self._starts[number] > start:
                gaps.append((start, self._starts[number]))
            start = self._ends[number]
            number += 1
        if start < end:
            gaps.append((start, end))
        return gaps


def with_jit_code(data: PerfData, records: Records, store: ImageStore) -> Records:
    """The records with the code of all jitdump files that they name; the same object if there are none."""
    markers = _markers(records)
    if not markers:
        return records
    added = AddedRows()
    side = records.sideband
    lengths = zeros("Q", len(side))
    lengths[:] = side.mmaps.length
    exact = all(event.clockid == CLOCK_MONOTONIC for event in data.events)
    rows_of = _rows_of(records, {pid for pid, _ in markers})
    anonymous = [kind_of_name(name) is ImageKind.ANON for name in records.names]
    for (pid, _), row in markers.items():
        dump = store.image((side.name[row], side.identity[row])).open_dump(pid)
        if dump is None or not dump.placements:
            continue
        shift = _clock(dump, side.time[row], records, exact)
        if shift is None:
            data.defects.add("jitdump of an unknown clock", dump.path, detail="the latest code at each address is used")
        _add_code(side, rows_of[pid], anonymous, row, dump, shift, lengths, added)
    if not added.rows:
        return records
    return replace(records, sideband=added.merged(side, lengths))


def _markers(records: Records) -> dict[tuple[int, int], int]:
    """The row of each jitdump's last mapping, by (process, number of its name)."""
    names = {i for i, name in enumerate(records.names) if kind_of_name(name) is ImageKind.JITDUMP}
    if not names:
        return {}
    side = records.sideband
    return {
        (side.pid[row], name): row
        for row, name in enumerate(side.name)
        if name in names and side.kind[row] == SidebandKind.MMAP and side.pid[row] > 0
    }


def _rows_of(records: Records, pids: set[int]) -> dict[int, list[int]]:
    """The rows of these processes' user mappings, in order of time."""
    side = records.sideband
    found: dict[int, list[int]] = {pid: [] for pid in pids}
    for row, pid in enumerate(side.pid):
        if pid in found and side.kind[row] == SidebandKind.MMAP and side.misc[row] & 7 == USER:
            found[pid].append(row)
    return found


def _clock(dump: "JitDump", marked: int, records: Records, exact: bool) -> int | None:
    """What to add to a jitdump's times to get times of the recording (ns); None if unknown.

    ``marked``: when the marker was mapped, 0 if that was before the recording. Most runtimes write the header at that
    time; V8's header has the time of day, so its first code is used, which comes some ms later.
    """
    first = dump.first_time
    if dump.ticks:
        return None
    if exact and (not marked or abs(first - marked) < MAX_CLOCK_DIFFERENCE):
        return 0
    if marked:
        started = dump.created if 0 <= first - dump.created < MAX_CLOCK_DIFFERENCE else first
        return marked - started
    # perf's own clock and the monotonic one both count from boot and differ little.
    last = dump.placements[-1].time
    near = first <= records.last_time + MAX_CLOCK_DIFFERENCE and last + MAX_CLOCK_DIFFERENCE >= records.first_time
    return 0 if near else None


def _add_code(
    side: Any,
    rows: Sequence[int],
    anonymous: list[bool],
    marker: int,
    dump: "JitDump",
    shift: int | None,
    lengths: "memoryview[int]",
    added: AddedRows,
) -> None:
    """Adds one process's code, and removes from its anonymous mappings what code has covered before."""
    pid, name, identity = side.pid[marker], side.name[marker], side.identity[marker]
    cover = Cover()
    placements = iter(_timed(dump, side.time[marker], shift))
    upcoming = next(placements, None)

    def add_until(time: int) -> None:
        nonlocal upcoming
        while upcoming is not None and upcoming[0] <= time:
            when, code = upcoming
            if code.left >= 0:
                added.rows.append((when, pid, code.left, code.size, 0, WRITE, name, identity))
            added.rows.append((when, pid, code.address, code.size, code.offset, EXEC | READ, name, identity))
            cover.add(code.address, code.address + code.size)
            upcoming = next(placements, None)

    mmaps = side.mmaps
    for row in rows:
        start, length = mmaps.start[row], lengths[row]
        end = min(start + length, 1 << 64)
        add_until(side.time[row] - 1)
        if not anonymous[side.name[row]]:
            cover.remove(start, end)
            continue
        parts = cover.missing(start, end)
        if parts != [(start, end)]:
            lengths[row] = 0
            for low, high in parts:
                offset = mmaps.page_offset[row] + low - start
                added.rows.append(
                    (side.time[row], pid, low, high - low, offset, mmaps.protection[row], side.name[row], 0)
                )
        if mmaps.protection[row] & EXEC:
            cover.add(start, end)
    add_until(1 << 64)


def _timed(dump: "JitDump", marked: int, shift: int | None) -> "list[tuple[int, Placement]]":
    """The jitdump's code with times of the recording; with an unknown clock, all at the time of the marker."""
    if shift is None:
        return [(marked, one) for one in dump.placements]
    top = (1 << 64) - 1
    timed = [(min(max(one.time + shift, 0), top), one) for one in dump.placements]
    # Threads take the time before the lock, so records are not quite in order of time.
    return sorted(timed, key=itemgetter(0))
