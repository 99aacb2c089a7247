"""Puts just-in-time compiled code where it was when: the code of jitdump files becomes mappings of the side band.

A process that writes a dump maps its first page executably, which marks it in the recording. From there on each piece
of code is a mapping of the dump from its offset in the file, so that a sample finds the code of its own time, moved and
overwritten code included, and names, lines and unwind rules are looked up by that offset. ``perf inject --jit`` does
the same with an ELF file for each function (tools/perf/util/jitdump.c).

The runtime maps anonymous memory and changes its protection under code that is there already, which the kernel records
as mappings. These do not end code: what the dump, or an executable anonymous mapping, has covered stays.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.images import ImageKind, ImageStore
from undwarf.images.image_kind import kind_of_name
from undwarf.perfdata import PerfData, Records
from undwarf.profile.synthetic_mmaps import EXEC, MMAP, READ, USER, WRITE, AddedRows

if TYPE_CHECKING:
    from undwarf.images.jitdump import JitDump, Placement

CLOCK_MONOTONIC = 1

NEAR = 60 * 10**9
"""ns by which the marker and the first code of one run may differ, where both tell the same clock."""


class Cover:
    """A set of addresses as disjoint, sorted ranges."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Take a range in."""
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def remove(self, start: int, end: int) -> None:
        """Leave a range out."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first >= last:
            return
        kept = [(self._starts[first], start)] if self._starts[first] < start else []
        kept += [(end, self._ends[last - 1])] if self._ends[last - 1] > end else []
        self._starts[first:last] = [one for one, _ in kept]
        self._ends[first:last] = [one for _, one in kept]

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that are not in the set."""
        found = []
        number = bisect_right(self._ends, start)
        while start < end and number < len(self._starts) and self._starts[number] < end:
            if self._starts[number] > start:
                found.append((start, self._starts[number]))
            start = self._ends[number]
            number += 1
        if start < end:
            found.append((start, end))
        return found


def with_jit_code(data: PerfData, records: Records, store: ImageStore) -> Records:
    """The records with the code of all jitdump files they mark; the same object if there is none."""
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
            data.defects.add("jitdump of an unknown clock", dump.path, detail="code that replaced other code wins")
        _place(side, rows_of[pid], anonymous, row, dump, shift, lengths, added)
    if not added.rows:
        return records
    return replace(records, sideband=added.merged(side, lengths))


def _markers(records: Records) -> dict[tuple[int, int], int]:
    """The row of the last mapping of each dump, by (process, name)."""
    names = {i for i, name in enumerate(records.names) if kind_of_name(name) is ImageKind.JITDUMP}
    if not names:
        return {}
    side = records.sideband
    return {
        (side.pid[row], name): row
        for row, name in enumerate(side.name)
        if name in names and side.kind[row] == MMAP and side.pid[row] > 0
    }


def _rows_of(records: Records, pids: set[int]) -> dict[int, list[int]]:
    """The rows of user mappings of each of these processes, in time order."""
    side = records.sideband
    found: dict[int, list[int]] = {pid: [] for pid in pids}
    for row, pid in enumerate(side.pid):
        if pid in found and side.kind[row] == MMAP and side.misc[row] & 7 == USER:
            found[pid].append(row)
    return found


def _clock(dump: "JitDump", marked: int, records: Records, exact: bool) -> int | None:
    """What to add to a dump's times to get those of the recording; None where that is unknown.

    ``marked`` is the time when the dump was mapped, 0 if perf came later. Most runtimes take the header's time just
    then; V8 has the time of day there, so that its first code has to do, which comes some ms later.
    """
    first = dump.first_time
    if dump.ticks:
        return None
    if exact and (not marked or abs(first - marked) < NEAR):
        return 0
    if marked:
        begun = dump.created if 0 <= first - dump.created < NEAR else first
        return marked - begun
    # perf's own clock and the monotonic one both count from boot, and differ little.
    last = dump.placements[-1].time
    return 0 if first <= records.last_time + NEAR and last + NEAR >= records.first_time else None


def _place(
    side: Any,
    rows: Sequence[int],
    anonymous: list[bool],
    marker: int,
    dump: "JitDump",
    shift: int | None,
    lengths: "memoryview[int]",
    added: AddedRows,
) -> None:
    """Adds one process's code, and takes out of its anonymous mappings what is covered by then."""
    pid, name, identity = side.pid[marker], side.name[marker], side.identity[marker]
    cover = Cover()
    waiting = iter(_timed(dump, side.time[marker], shift))
    coming = next(waiting, None)

    def until(time: int) -> None:
        nonlocal coming
        while coming is not None and coming[0] <= time:
            when, one = coming
            if one.left >= 0:
                added.rows.append((when, pid, one.left, one.size, 0, WRITE, name, identity))
            added.rows.append((when, pid, one.address, one.size, one.offset, EXEC | READ, name, identity))
            cover.add(one.address, one.address + one.size)
            coming = next(waiting, None)

    mmaps = side.mmaps
    for row in rows:
        start, length = mmaps.start[row], lengths[row]
        end = min(start + length, 1 << 64)
        until(side.time[row] - 1)
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
    until(1 << 64)


def _timed(dump: "JitDump", marked: int, shift: int | None) -> "list[tuple[int, Placement]]":
    """The dump's placements by time of the recording; without a known clock, all when the dump was mapped."""
    if shift is None:
        return [(marked, one) for one in dump.placements]
    top = (1 << 64) - 1
    found = [(min(max(one.time + shift, 0), top), one) for one in dump.placements]
    # Threads write records in the order of their lock, not quite that of their times.
    found.sort(key=lambda one: one[0])
    return found
