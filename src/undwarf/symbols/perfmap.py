"""The functions of a just-in-time compiler, from the ``/tmp/perf-PID.map`` it writes while it runs."""

import heapq
import os

from undwarf.buffers import zeros
from undwarf.diagnostics import Defects
from undwarf.images import Finder
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.kernel import read_text
from undwarf.symbols.table import UNTIL_LINE, SymbolTable
from undwarf.symbols.text import read_perf_map


def map_path(pid: int) -> str:
    """Where a process writes its map; perf shows this as the dso of the code."""
    return f"/tmp/perf-{pid}.map"


def read_map(finder: Finder, pid: int, limits: Limits = DEFAULT, defects: Defects | None = None) -> SymbolTable | None:
    """The map of a process; None where there is none that can be trusted.

    Anyone may write to /tmp: as in perf, only a map of this user, or root's, is read. Later lines override earlier
    ones where they overlap.
    """
    path = finder.path_of(map_path(pid))
    if path is None:
        return None
    try:
        owner = os.stat(path).st_uid  # noqa: PTH116
        if not finder.symfs and owner not in (0, os.geteuid()):
            if defects is not None:
                defects.add("perf map of another user", path)
            return None
        text = read_text(path, limits.text_map_bytes)
    except (OSError, ValueError):
        return None
    table, bad = table_of_map(text, limits)
    if bad and defects is not None:
        defects.add("bad line in a perf map", path, bad)
    return table


def table_of_map(text: bytes, limits: Limits = DEFAULT) -> tuple[SymbolTable | None, int]:
    """(the symbols of a perf map's text, how many lines are bad)."""
    values, sizes, names, count, bad = read_perf_map(text, limits.symbols)
    if not count:
        return None, bad
    if _overlap(values, sizes):
        values, sizes, names = _later_wins(values, sizes, names)
    count = len(values)
    table = SymbolTable(values, sizes, zeros("Q", count), names, zeros("B", count), None, [text], UNTIL_LINE)
    return table, bad


def _overlap(values: "memoryview[int]", sizes: "memoryview[int]") -> bool:
    end = 0
    for start, size in sorted(zip(values.tolist(), sizes.tolist(), strict=True)):
        if start < end:
            return True
        end = start + size
    return False


def _later_wins(
    values: "memoryview[int]", sizes: "memoryview[int]", names: "memoryview[int]"
) -> "tuple[memoryview[int], memoryview[int], memoryview[int]]":
    """Cuts overlapping ranges so that each address belongs to the last line that covers it."""
    starts, lengths = values.tolist(), sizes.tolist()
    order = sorted(range(len(starts)), key=starts.__getitem__)
    pieces: list[tuple[int, int, int]] = []
    covering: list[tuple[int, int]] = []  # (-line, end), the latest line first
    at = 0
    for k in range(len(order) + 1):
        until = starts[order[k]] if k < len(order) else 1 << 64
        while covering and at < until:
            line, end = covering[0]
            if end <= at:
                heapq.heappop(covering)
                continue
            stop = min(end, until)
            if pieces and pieces[-1][2] == -line and pieces[-1][1] == at:
                pieces[-1] = (pieces[-1][0], stop, -line)
            else:
                pieces.append((at, stop, -line))
            at = stop
        at = until
        if k < len(order):
            heapq.heappush(covering, (-order[k], starts[order[k]] + lengths[order[k]]))
    cut = zeros("Q", len(pieces)), zeros("Q", len(pieces)), zeros("Q", len(pieces))
    for i, (start, stop, line) in enumerate(pieces):
        cut[0][i], cut[1][i], cut[2][i] = start, stop - start, names[line]
    return cut
