"""A gzipped profile for pprof: stacks with the weights of all events, inlined functions, lines, and threads as labels.

Source: https://github.com/google/pprof/blob/main/proto/profile.proto. Its messages are written by ourselves, those of
samples by a kernel (see undwarf.outputs.export.wire).
"""

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from undwarf.ordering import take
from undwarf.outputs.export.code_names import code_names, function_files, image_of
from undwarf.outputs.export.gzip_file import compressed
from undwarf.outputs.export.wire import message, number, packed, text
from undwarf.outputs.kernels.stack_messages import StackMessages, interleaved
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs, look_up, sums
from undwarf.profile.labels import is_kernel
from undwarf.profile.model import NONE

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportEvent, ExportTables

_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME, _DURATION, _PERIOD_TYPE, _COMMENT, _DEFAULT_TYPE = 9, 10, 11, 13, 14
_EVERYWHERE = (1 << 64) - 1
"""The end of a mapping of the whole address space: its addresses are then those of the file (internal/elfexec)."""
_UNITS = {"ns": "nanoseconds", "samples": "count"}


class _Strings:
    """The string table: strings by first use; the first one is empty."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __call__(self, value: str) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the profile: values are the number of samples, if they can be counted, then the weight of each event."""
    strings = _Strings()
    with compressed(sink) as file:
        types = [("samples", "count")] if _counted(tables) else []
        types += [(printable(event.name), _unit(event)) for event in tables.events]
        kinds = [number(1, strings(name)) + number(2, strings(unit)) for name, unit in types]
        file.write(b"".join(message(_SAMPLE_TYPE, kind) for kind in kinds))
        _write_samples(tables, strings, file)
        _write_code(tables, strings, file)
        times = tables.profile.samples.columns.time
        file.write(
            number(_TIME, origin.start)
            + number(_DURATION, max(times, default=0) - min(times, default=0))
            + b"".join(message(_PERIOD_TYPE, kind) for kind in kinds[-len(tables.events) :][:1])
            + packed(_COMMENT, map(strings, origin.comments()))
            + b"".join(number(_DEFAULT_TYPE, strings(name)) for name, _unit in types[-len(tables.events) :][:1])
        )
        file.write(b"".join(text(_STRING, value) for value in strings.numbers))
    return ["when each sample was taken, and on which CPU"]


def _counted(tables: "ExportTables") -> bool:
    """Whether there are single samples, which can be counted."""
    origin = tables.profile.origin
    return origin is None or not origin.sums


def _unit(event: "ExportEvent") -> str:
    return _UNITS.get(event.unit, "count")


def _write_samples(tables: "ExportTables", strings: _Strings, file: BinaryIO) -> None:
    """One sample for each distinct pair of stack and thread."""
    columns = tables.profile.samples.columns
    pairs = Pairs()
    group = pairs.column(tables.thread, columns.stack)
    values = [sums(group, None, len(pairs))] if _counted(tables) else []
    for event in tables.events:
        if len(tables.events) == 1:
            values.append(sums(group, tables.weights, len(pairs)))
            continue
        rows = tables.rows(event)
        values.append(sums(take(group, rows), take(tables.weights, rows), len(pairs)))
    keys = {"name": strings("thread"), "pid": strings("pid"), "tid": strings("tid")}
    labels = [
        b"".join(
            message(
                3,
                number(1, keys[key]),
                number(2, strings(printable(value))) if isinstance(value, str) else number(3, value),
            )
            for key, value in thread.known.items()
        )
        for thread in tables.threads
    ]
    messages = StackMessages(
        _SAMPLE << 3 | 2,
        (tables.profile.stacks.parent, tables.profile.stacks.frame, _numbered(tables)),
        pairs.low(),
        pairs.high(),
        b"".join(labels),
        memoryview(array("I", accumulate(map(len, labels), initial=0))),
        interleaved(values, len(pairs)),
        len(values),
    )
    while len(piece := messages.fill()):
        file.write(piece)


def _numbered(tables: "ExportTables") -> memoryview:
    """The id of each frame's location: ids start at 1."""
    return memoryview(array("I", [one if one == NONE else one + 1 for one in tables.location]))


def _main_first(tables: "ExportTables") -> list[int]:
    """The mappings with sampled code; first, as the main program, the file in which most samples were taken."""
    profile = tables.profile
    frame = look_up(profile.samples.columns.stack, profile.stacks.frame)
    image = look_up(frame, profile.frames.image)
    counts = [*sums(image, None, len(profile.images)), 0]
    files = [number for number, one in enumerate(profile.images) if not is_kernel(one)]
    main = max(files, key=counts.__getitem__, default=0)
    with_code = {len(counts) - 1 if number == NONE else number for number in profile.frames.image}
    return sorted(with_code, key=lambda number: (number != main, number))


def _write_code(tables: "ExportTables", strings: _Strings, file: BinaryIO) -> None:
    """Mappings, functions and locations."""
    profile = tables.profile
    names, functions = code_names(tables), function_files(tables)
    ids = [*(strings(printable(image.build_id)) for image in profile.images), 0]
    parts = [
        message(
            _MAPPING,
            number(1, image + 1)
            + number(3, _EVERYWHERE)
            + number(5, strings(names.images[image]))
            + number(6, ids[image]),
            b"\x38\x01\x40\x01\x48\x01\x50\x01",
        )
        for image in _main_first(tables)
    ]
    parts += [
        # A system name that differs keeps pprof from stripping arguments and template arguments from the name.
        message(
            _FUNCTION, number(1, at), number(2, strings(names.functions[function])), number(4, strings(names.files[of]))
        )
        for at, (function, of) in enumerate(zip(functions.function, functions.file, strict=True), 1)
    ]
    file.write(b"".join(parts))
    lines = profile.frames.line
    of_frame = functions.of_frame
    parts = []
    location = b""
    for frame, (place, address) in enumerate(zip(tables.location, profile.frames.address, strict=True)):
        if place != NONE:
            if location:
                parts.append(message(_LOCATION, location))
            location = number(1, place + 1) + number(2, image_of(profile, frame) + 1) + number(3, address)
        location += message(4, number(1, of_frame[frame] + 1), number(2, lines[frame] if lines is not None else 0))
    if location:
        parts.append(message(_LOCATION, location))
    file.write(b"".join(parts))
