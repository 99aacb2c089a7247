"""A gzipped trace for Perfetto: samples of threads over time, with call stacks, inlined functions and lines.

Source: https://github.com/google/perfetto/blob/main/protos/perfetto/trace. Its messages are written by ourselves, those
of samples and stacks by kernels (see undwarf.outputs.export.wire).
"""

from array import array
from typing import TYPE_CHECKING, BinaryIO

from undwarf.outputs.export.code_names import code_names, image_of
from undwarf.outputs.export.gzip_file import compressed
from undwarf.outputs.export.wire import message, number, text
from undwarf.outputs.kernels.local_tables import LocalNumbers
from undwarf.outputs.kernels.perfetto_packets import Callstacks, SamplePackets, running_totals
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import look_up, widen, without_none
from undwarf.profile.labels import is_kernel
from undwarf.profile.model import NONE, Column, Profile

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables

_PACKET = 1
_PROCESS_TREE, _SEQUENCE, _INTERNED, _FLAGS, _DEFAULTS = 2, 10, 12, 13, 59
_FUNCTIONS, _FRAMES, _BUILD_IDS, _PATHS, _SOURCES, _MAPPINGS = 5, 6, 16, 17, 18, 19
_CLEARED, _NEEDS = 1, 2
_KERNEL_MODE, _USER_MODE = 1, 2
_COUNTERS = {
    "cpu-clock": 1, "page-faults": 2, "task-clock": 3, "context-switches": 4, "cpu-migrations": 5, "minor-faults": 6,
    "major-faults": 7, "cycles": 10, "instructions": 11, "cache-references": 12, "cache-misses": 13, "branches": 14,
    "branch-misses": 15, "bus-cycles": 16, "ref-cycles": 19,
}  # fmt: skip  # a table
"""PerfEvents.Counter of perf's names."""
_PIECE = 1 << 18


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the trace."""
    profile = tables.profile
    columns = profile.samples.columns
    stack, nodes = LocalNumbers(len(profile.stacks)).local(columns.stack)
    with compressed(sink) as file:
        file.write(_packet(number(_FLAGS, _CLEARED), _defaults(tables, origin)))
        file.write(_packet(message(_PROCESS_TREE, *_processes(tables))))
        _write_code(tables, file)
        stacks = Callstacks(profile.stacks.parent, profile.stacks.frame)
        at = 0
        while at < len(nodes):
            interned, at = stacks.fill(nodes, at)
            file.write(_packet(number(_FLAGS, _NEEDS), message(_INTERNED, interned)))
        cpu = widen(columns.cpu)
        packets = SamplePackets(
            columns.time,
            (cpu, widen(columns.pid), widen(columns.tid)),
            stack,
            _modes(profile),
            # Viewers add samples without a CPU to the counter of the first.
            running_totals(without_none(cpu, 0), tables.weights),
        )
        while len(piece := packets.fill()):
            file.write(piece)
    renamed = len(tables.threads) - len({(thread.pid, thread.tid) for thread in tables.threads})
    lost = [f"earlier names of threads that changed theirs ({renamed:,})"] if renamed else []
    return [*lost, "which functions are inlined: they are frames like others"]


def _packet(*fields: bytes) -> bytes:
    return message(_PACKET, number(_SEQUENCE, 1), *fields)


def _defaults(tables: "ExportTables", origin: "Origin") -> bytes:
    """The counter that samples have values of: that of their event."""
    first = tables.events[0] if tables.events else None
    if first is None:
        return b""
    interval = origin.intervals[first.number] if first.number < len(origin.intervals) else 0
    name = " + ".join(printable(event.name) for event in tables.events)
    base = number(2, round(1e9 / interval)) if interval else number(1, max(first.total // first.samples, 1))
    base += number(4, _COUNTERS.get(first.name.partition(":")[0], 0)) + text(10, name)
    return message(_DEFAULTS, message(12, message(1, base)))


def _processes(tables: "ExportTables") -> list[bytes]:
    """Processes and threads with their last names."""
    names = {(thread.pid, thread.tid): printable(thread.name) for thread in tables.threads}
    processes = tables.process_names
    return [
        *(message(1, _pid(1, pid), text(3, printable(name)), number(9, 1)) for pid, name in processes.items()),
        *(message(2, _pid(1, tid), text(2, name), _pid(3, pid)) for (pid, tid), name in names.items()),
    ]


def _pid(field: int, pid: int) -> bytes:
    return number(field, pid & 0xFFFFFFFF)


def _write_code(tables: "ExportTables", file: BinaryIO) -> None:
    """Intern names, mappings and frames. Ids are numbers plus 1."""
    profile, names = tables.profile, code_names(tables)
    frames = profile.frames
    parts = [_string(_FUNCTIONS, one, name) for one, name in enumerate(names.functions)]
    parts += [_string(_SOURCES, one, name) for one, name in enumerate(names.files[:-1])]
    parts += [_string(_PATHS, one, name.removeprefix("/")) for one, name in enumerate(names.images)]
    for image, info in enumerate(profile.images):
        parts.append(message(_BUILD_IDS, number(1, image + 1), message(2, _build_id(info.build_id))))
        parts.append(message(_MAPPINGS, number(1, image + 1), number(2, image + 1), number(7, image + 1)))
    unknown = len(profile.images)
    parts.append(message(_MAPPINGS, number(1, unknown + 1), number(7, unknown + 1)))
    size = sum(map(len, parts))
    for frame, (function, address) in enumerate(zip(tables.function, frames.address, strict=True)):
        source = b""
        if frames.file is not None and frames.line is not None and (of := frames.file[frame]) != NONE:
            source = number(5, of + 1) + number(6, frames.line[frame])
        ids = number(1, frame + 1) + number(2, function + 1) + number(3, image_of(profile, frame) + 1)
        parts.append(message(_FRAMES, ids, number(4, address), source))
        size += len(parts[-1])
        if size > _PIECE:
            file.write(_packet(number(_FLAGS, _NEEDS), message(_INTERNED, *parts)))
            parts, size = [], 0
    file.write(_packet(number(_FLAGS, _NEEDS), message(_INTERNED, *parts)))


def _string(field: int, index: int, name: str) -> bytes:
    return message(field, number(1, index + 1), text(2, name))


def _build_id(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""


def _modes(profile: Profile) -> Column:
    """Whether each sample was taken in the kernel (B)."""
    kernel = [*map(is_kernel, profile.images)]
    image = look_up(look_up(profile.samples.columns.stack, profile.stacks.frame), profile.frames.image)
    modes = {number: _KERNEL_MODE if of_kernel else _USER_MODE for number, of_kernel in enumerate(kernel)}
    return memoryview(array("B", [modes.get(one, _USER_MODE) for one in image]))
