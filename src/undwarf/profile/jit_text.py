"""Code with unwind information from the API (``Recording.add_text``): the parts of anonymous mappings that it covers
become mappings of an image per process, whose addresses are run-time addresses.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from undwarf.defects import Defects
from undwarf.images import ImageKind
from undwarf.images.image_kind import kind_of_name
from undwarf.perfdata import Records
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.synthetic_mmaps import EXEC, USER, AddedRows

if TYPE_CHECKING:
    from undwarf.tables.sframe.jit_ranges import TextRanges


def image_name(pid: int) -> bytes:
    """The name of the image of a process's given code. As in other anonymous memory, frames are named by perf maps."""
    return b"//anon given by %d" % pid


def with_given_text(records: Records, given: "Mapping[int, TextRanges]", defects: Defects) -> Records:
    """The records with the given code of each process, within its executable anonymous mappings; the same object if
    there is none. Files mapped at these addresses keep their own images."""
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
        if (
            pid not in wanted
            or side.kind[row] != SidebandKind.MMAP
            or side.misc[row] & 7 != USER
            or not protections[row] & EXEC
        ):
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
            defects.add("given code is not in an anonymous mapping", f"process {pid}", missing)
    return replace(records, sideband=added.merged(side, lengths), names=names) if added.rows else records
