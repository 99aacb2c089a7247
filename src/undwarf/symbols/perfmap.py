"""Functions of just-in-time compiled code, from the ``/tmp/perf-PID.map`` that the runtime writes."""

import heapq
import os
from collections.abc import Iterator
from contextlib import suppress

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.images import Finder
from undwarf.images.container_files import inner_pid
from undwarf.images.symfs_paths import confined
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.kernel_symbols import read_text
from undwarf.symbols.symbol_table import UNTIL_LINE, SymbolTable
from undwarf.symbols.text_symbols import read_perf_map


def map_path(pid: int) -> str:
    """The path of a process's map; perf shows this as the dso of the code."""
    return f"/tmp/perf-{pid}.map"


def read_map(finder: Finder, pid: int, limits: Limits = DEFAULT, defects: Defects | None = None) -> SymbolTable | None:
    """The map of a process; None without a trusted one. Of overlapping lines the later one counts."""
    text, path = _text(finder, pid, limits, defects)
    table, bad = table_of_map(text, limits)
    if bad and defects is not None:
        defects.add("bad line in a perf map", path, bad)
    return table


def has_map(finder: Finder, pid: int) -> bool:
    """Whether a process has a map that may be read."""
    return any(os.path.isfile(path) for path, _ in _places(finder, pid))


def state_of_map(finder: Finder, pid: int) -> tuple[int, int, int] | None:
    """Inode, size and time of a process's map, which change when it is written to; None without one."""
    for path, _ in _places(finder, pid):
        with suppress(OSError, ValueError):
            status = os.stat(path)
            return status.st_ino, status.st_size, status.st_mtime_ns
    return None


def places_in_map(finder: Finder, pid: int, prefix: bytes, size: int, limits: Limits = DEFAULT) -> list[int]:
    """Where a process's map has code of this size whose name begins with ``prefix``, ascending."""
    text, _ = _text(finder, pid, limits, None)
    values, sizes, names, *_ = read_perf_map(text, limits.symbols)
    found = zip(values, sizes, names, strict=True)
    return sorted({value for value, length, at in found if length == size and text.startswith(prefix, at)})


def _text(finder: Finder, pid: int, limits: Limits, defects: Defects | None) -> tuple[bytes, str]:
    """The text of a process's map, empty without a trusted one, and its path.

    Anyone may write to /tmp: as in perf, only a map of this user, or root's, is read. A process in a container that
    still runs has it in its own /tmp, named after its number there; it may belong to the process's user.
    """
    if pid in finder.perf_maps:
        return finder.perf_maps[pid], map_path(pid)
    for path, owners in _places(finder, pid):
        try:
            owner = os.stat(path).st_uid
            if owners and owner not in owners:
                if defects is not None:
                    defects.add("perf map of another user", path)
                continue
            return read_text(path, limits.text_map_bytes), path
        except (OSError, ValueError):
            continue
    return b"", ""


def _places(finder: Finder, pid: int) -> Iterator[tuple[str, set[int]]]:
    """Paths where a map may be, each with the users it may belong to (empty for any)."""
    own = {0, os.geteuid()}
    path = finder.path_of(map_path(pid))
    if path is not None:
        yield path, set() if finder.symfs else own
    if finder.symfs or finder.containers is None or pid <= 0:
        return
    inner = inner_pid(pid)
    with suppress(OSError):
        user = os.stat(f"/proc/{pid}").st_uid
        inside = confined(f"/proc/{pid}/root", map_path(inner))
        if inside is not None and (inner != pid or not os.path.samefile(f"/proc/{pid}/root", "/")):
            yield inside, own | {user}


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
