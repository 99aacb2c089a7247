"""OpenTelemetry profiles: a profile for each event, with stacks, inlined functions, lines, threads and times.

Source: https://github.com/open-telemetry/opentelemetry-proto, profiles/v1development/profiles.proto (ProfilesData), and
the names of attributes in https://opentelemetry.io/docs/specs/semconv/registry/attributes/. Messages are written by
ourselves, those of samples and stacks by kernels (see undwarf.outputs.export.wire).
"""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from undwarf.ordering import group, take
from undwarf.outputs.export.code_names import code_names, function_files, image_of
from undwarf.outputs.export.wire import fixed64, message, number, packed, text, varint
from undwarf.outputs.kernels.local_tables import LocalNumbers
from undwarf.outputs.kernels.stack_messages import StackMessages
from undwarf.outputs.kernels.timed_samples import TimedSamples, shifted
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs
from undwarf.profile.labels import is_kernel, kind_of
from undwarf.profile.model import NONE, Column, ImageInfo

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportEvent, ExportTables

_RESOURCES, _DICTIONARY = 1, 2
_MAPPING, _LOCATION, _FUNCTION, _LINK, _STRING, _ATTRIBUTE, _STACK = range(1, 8)
_UNITS = {"ns": "nanoseconds", "samples": "1"}
_THREAD = {"name": "thread.name", "pid": "process.pid", "tid": "thread.id"}
"""The attribute that has each property of a thread."""


class _Strings:
    """The string table: strings by first use; the first one is empty."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __call__(self, value: str) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


class _Attributes:
    """The attribute table: attributes by first use; the first one is empty."""

    def __init__(self, strings: _Strings) -> None:
        self._strings = strings
        self.numbers = {b"": 0}

    def __call__(self, key: str, value: str | int) -> int:
        # AnyValue: a string (field 1), or an integer (field 3), which is written although 0 is its default.
        encoded = text(1, value) if isinstance(value, str) else varint(3 << 3) + varint(value)
        entry = number(1, self._strings(key)) + message(2, encoded)
        return self.numbers.setdefault(entry, len(self.numbers))


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write a ProfilesData message."""
    strings = _Strings()
    attributes = _Attributes(strings)
    labels = [
        packed(
            2,
            [
                attributes(_THREAD[key], printable(value) if isinstance(value, str) else value)
                for key, value in thread.known.items()
            ],
        )
        for thread in tables.threads
    ]
    stack, nodes = LocalNumbers(len(tables.profile.stacks)).local(tables.profile.samples.columns.stack)
    samples = [_samples(tables, event, origin, labels, stack) for event in tables.events]
    profiles = [_profile(tables, event, origin, strings) for event in tables.events]
    # The sizes of messages stand before them: those of samples are counted first, and written then.
    sizes = [len(about) + sum(map(len, _pieces(make()))) for about, make in zip(profiles, samples, strict=True)]
    scope = message(1, text(1, "undwarf"))
    heads = [varint(2 << 3 | 2) + varint(size) for size in sizes]
    scopes = len(scope) + sum(sizes) + sum(map(len, heads))
    outer = message(1, *_resource(origin)) + varint(2 << 3 | 2) + varint(scopes)
    sink.write(varint(_RESOURCES << 3 | 2) + varint(len(outer) + scopes) + outer + scope)
    for head, about, make in zip(heads, profiles, samples, strict=True):
        sink.write(head + about)
        for piece in _pieces(make()):
            sink.write(piece)
    code = _code(tables, strings, attributes)
    code += b"".join(message(_ATTRIBUTE, entry) for entry in attributes.numbers) + message(_LINK)
    code += b"".join(text(_STRING, value) for value in strings.numbers) + message(_STACK)
    size = len(code) + sum(map(len, _pieces(_stacks(tables, nodes))))
    sink.write(varint(_DICTIONARY << 3 | 2) + varint(size) + code)
    for piece in _pieces(_stacks(tables, nodes)):
        sink.write(piece)
    lost = ["on which CPU each sample was taken"]
    return lost if origin.start else ["when each sample was taken: the recording has no wall-clock time", *lost]


def _pieces(messages: StackMessages | TimedSamples) -> Iterator[memoryview]:
    """All that a kernel writes; each piece is overwritten by the next one."""
    while len(piece := messages.fill()):
        yield piece


def _resource(origin: "Origin") -> list[bytes]:
    """What was recorded, as attributes (KeyValue)."""
    named = (
        ("host.name", origin.host),
        ("host.arch", origin.arch),
        ("os.type", "linux"),
        ("os.version", origin.os),
        ("process.command_line", origin.command),
    )
    return [message(1, text(1, key), message(2, text(1, printable(value)))) for key, value in named if value]


def _profile(tables: "ExportTables", event: "ExportEvent", origin: "Origin", strings: _Strings) -> bytes:
    """An event's profile without its samples."""
    times = tables.profile.samples.columns.time
    kind = number(1, strings(printable(event.name))) + number(2, strings(_UNITS.get(event.unit, event.unit)))
    interval = origin.intervals[event.number] if event.number < len(origin.intervals) else 0
    period = message(5, kind) + number(6, interval) if interval and event.unit == "ns" else b""
    identity = f"{origin!r} {event!r} {min(times, default=0)}"
    return (
        message(1, kind)
        + fixed64(3, origin.start)
        + number(4, max(times, default=0) - min(times, default=0))
        + period
        + message(7, blake2b(identity.encode("utf-8", "backslashreplace"), digest_size=16).digest())
    )


def _samples(
    tables: "ExportTables", event: "ExportEvent", origin: "Origin", labels: list[bytes], stack: Column
) -> Callable[[], TimedSamples]:
    """What writes the samples of an event: one for each distinct pair of stack and thread, with their times."""
    columns = tables.profile.samples.columns
    rows = tables.rows(event)
    pairs = Pairs()
    column = pairs.column(take(tables.thread, rows), take(stack, rows))
    groups = group(column, len(pairs))
    first = min(columns.time, default=0)
    times = shifted(take(columns.time, rows), origin.start - first) if origin.start else None
    # Stack 0 is the one without locations.
    at = memoryview(array("I", [0 if one == NONE else one + 1 for one in pairs.low()]))
    ends = memoryview(array("I", accumulate(map(len, labels), initial=0)))
    weights = take(tables.weights, rows)
    return lambda: TimedSamples(groups, at, pairs.high(), b"".join(labels), ends, weights, times)


def _stacks(tables: "ExportTables", nodes: Column) -> StackMessages:
    """Writes the stack table, but for its first entry."""
    stacks = tables.profile.stacks
    location = memoryview(array("I", [one if one == NONE else one + 1 for one in tables.location]))
    none, ends = memoryview(array("I", [0]) * len(nodes)), memoryview(array("I", [0, 0]))
    return StackMessages(_STACK << 3 | 2, (stacks.parent, stacks.frame, location), nodes, none, b"", ends)


def _code(tables: "ExportTables", strings: _Strings, attributes: _Attributes) -> bytes:
    """The tables of mappings, functions and locations, each with an empty first entry."""
    profile = tables.profile
    names, functions = code_names(tables), function_files(tables)
    parts = [message(_MAPPING), message(_FUNCTION), message(_LOCATION)]
    for name, image in zip(names.images, [*profile.images, None], strict=True):
        build_id = printable(image.build_id) if image is not None else ""
        known = packed(5, (attributes("process.executable.build_id.gnu", build_id),)) if build_id else b""
        parts.append(message(_MAPPING, number(4, strings(name)), known))
    parts += [
        message(_FUNCTION, number(1, strings(names.functions[function])), number(3, strings(names.files[file])))
        for function, file in zip(functions.function, functions.file, strict=True)
    ]
    kinds = [packed(4, (attributes("profile.frame.type", _frame_type(image)),)) for image in profile.images]
    kinds.append(b"")
    lines, of_frame = profile.frames.line, functions.of_frame
    location: list[bytes] = []
    for frame, (place, address) in enumerate(zip(tables.location, profile.frames.address, strict=True)):
        if place != NONE:
            if location:
                parts.append(message(_LOCATION, *location))
            at = image_of(profile, frame)
            location = [number(1, at + 1), number(2, address), kinds[at]]
        location.append(message(3, number(1, of_frame[frame] + 1), number(2, lines[frame] if lines is not None else 0)))
    if location:
        parts.append(message(_LOCATION, *location))
    return b"".join(parts)


def _frame_type(image: ImageInfo) -> str:
    if is_kernel(image):
        return "kernel"
    return "native" if kind_of(image) in ("FILE", "VDSO") else "unknown"
