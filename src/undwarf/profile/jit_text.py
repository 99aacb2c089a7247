"""Puts code whose unwind information was given at run time where it ran: anonymous mappings become images of their own.

An address of such an image is the one it ran at.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from undwarf.defects import Defects
from undwarf.images import ImageKind
from undwarf.images.image_kind import kind_of_name
from undwarf.perfdata import Records
from undwarf.profile.synthetic_mmaps import EXEC, MMAP, USER, AddedRows

if TYPE_CHECKING:
    from undwarf.tables.sframe.jit_ranges import TextRanges


def image_name(pid: int) -> bytes:
    """What the image of a process's given code is called; like other memory without a file, its frames are named by
    the map that just-in-time compilers write."""
    return b"//anon given by %d" % pid


def with_given_text(records: Records, given: "Mapping[int, TextRanges]", defects: Defects) -> Records:
    """The records with the given code of each process, wherever executable memory without a file is mapped there; the
    same object if there is none. What else is mapped in its place keeps its own image."""
    wanted = {pid: ranges for pid, ranges in given.items() if len(ranges)}
    if not wanted:
        return records
    side = records.sideband
    starts, lengths, _, protections = side.mmaps
    names = list(records.names)
    numbers = {}
    for pid in wanted:
        numbers[pid] = len(names)
        names.append(image_name(pid))
    added = AddedRows()
    anonymous = [kind_of_name(name) is ImageKind.ANON for name in records.names]
    met: set[tuple[int, int]] = set()
    for row, pid in enumerate(side.pid):
        if pid not in wanted or side.kind[row] != MMAP or side.misc[row] & 7 != USER or not protections[row] & EXEC:
            continue
        if not anonymous[side.name[row]]:
            continue
        start, end = starts[row], starts[row] + lengths[row]
        for low, high in wanted[pid]:
            first, last = max(low, start), min(high, end)
            if first < last:
                met.add((pid, low))
                added.rows.append((side.time[row], pid, first, last - first, first, protections[row], numbers[pid], 0))
    for pid, ranges in wanted.items():
        missing = sum((pid, low) not in met for low, _ in ranges)
        if missing:
            defects.add("given code is nowhere mapped", f"process {pid}", missing)
    return replace(records, sideband=added.merged(side, lengths), names=names) if added.rows else records
