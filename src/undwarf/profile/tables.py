"""A profile's columns as the tables that :mod:`undwarf.profile.table_descriptions` describes."""

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from undwarf.arrow.as_table import AsTable
from undwarf.arrow.bitmaps import where
from undwarf.arrow.stream import Array
from undwarf.arrow.table import Table, TableDescription, booleans, dictionary, integers, missing
from undwarf.column import SIZES, Typecode, zeros
from undwarf.ordering import ascending, take
from undwarf.profile.grouping import look_up, rows_among, rows_from, subtree_sums, sums, widen
from undwarf.profile.labels import dso
from undwarf.profile.stack_order import StackFrames, depth_first, distinct
from undwarf.profile.table_descriptions import (
    EVENTS,
    FRAMES,
    FUNCTIONS,
    IMAGES,
    PROCESSES,
    SAMPLES,
    STACK_FRAMES,
    STACK_WEIGHTS,
    STACKS,
)
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import WHOLE, StopReason

if TYPE_CHECKING:
    from undwarf.profile.model import EventInfo, ImageInfo, Profile
    from undwarf.profile.processes import Process

Arrays = Mapping[str, Array]
ROWS = 1 << 20
"""Rows of a batch of stack_frames, the one table that is not in memory."""
NONE = 0xFFFFFFFF
_POSITIVE = (1 << 31) - 1
_STOPS = [next((stop.name for stop in StopReason if stop == number), "") for number in range(max(StopReason) + 1)]
_PROVENANCES = [
    next((one.name for one in Provenance if one == number), f"[{number}]") for number in range(max(Provenance) + 1)
]
_SET = memoryview(bytes([0] + [1] * 255))
_CLEAR = memoryview(bytes([1] + [0] * 255))
_WHOLE = memoryview(bytes(number in WHOLE for number in range(256)))
_UNKNOWN = (StopReason.NONE, StopReason.NO_DUMP, StopReason.UNSTATED)
_UNWOUND = memoryview(bytes(number not in _UNKNOWN for number in range(256)))


def table(profile: "Profile", name: str) -> Table:
    """The table of a profile with this name. Raises KeyError."""
    description, arrays = _TABLES[name]
    return Table(description, lambda: arrays(profile))


def named(profile: "Profile", name: str) -> Table:
    """The table of a profile with this name, as :func:`table`, or that of its images, events or processes."""
    if name in _TABLES:
        return table(profile, name)
    rows: AsTable = getattr(profile, name)
    return rows.as_table()


def table_of(description: TableDescription, arrays: Callable[[], Arrays]) -> Table:
    """A table of one batch, computed when it is asked for."""
    return Table(description, lambda: _one_batch(description, arrays()))


def _one_batch(description: TableDescription, arrays: Arrays) -> Iterator[Sequence[Array]]:
    yield [arrays[column.name] for column in description.columns]


def names(indices: memoryview, texts: Sequence[str]) -> Array:
    """A column of names by indices of texts, of any typecode; empty texts, and indices beyond them, are null."""
    distinct_texts = list(dict.fromkeys(filter(None, texts)))
    indices = widen(indices)
    if len(distinct_texts) < len(texts):
        indices = look_up(indices, _numbered(texts, distinct_texts))
    return dictionary(indices, distinct_texts)


def _numbered(keys: Sequence[Hashable], distinct_keys: Sequence[Hashable]) -> memoryview:
    """The number (I) of each key among the distinct ones; NONE for others."""
    numbers = {key: number for number, key in enumerate(distinct_keys)}
    return memoryview(array("I", map(numbers.get, keys, repeat(NONE))))


def references(column: memoryview) -> Array:
    """A column of another table's numbers (I); NONE is null."""
    return integers(column, 0, NONE - 1)


def positive(column: memoryview | None, count: int) -> Array:
    """A column of typecode Q in which 0 stands for null; None: all are null."""
    return integers(column, 1) if column is not None else missing("uint64", count)


def _names_of_frames(profile: "Profile", frames: memoryview) -> dict[str, Array]:
    """Functions and files of frames, by number (I)."""
    return {
        "name": names(look_up(frames, profile.frames.function), profile.functions.name),
        "dso": names(look_up(frames, profile.frames.image), dsos(profile)),
    }


def dsos(profile: "Profile") -> list[str]:
    """The files as in reports, by image."""
    return [dso(image) for image in profile.images]


def _samples(profile: "Profile") -> Iterator[Sequence[Array]]:
    columns = profile.samples.columns
    count = len(columns)
    stop = columns.stop
    return _one_batch(
        SAMPLES,
        {
            "id": integers(ascending(count)),
            "time": integers(columns.time, 1),
            "pid": integers(columns.pid, 0, _POSITIVE),
            "tid": integers(columns.tid, 0, _POSITIVE),
            "comm": names(columns.comm, profile.comms),
            "cpu": integers(columns.cpu, 0, _POSITIVE),
            "event": names(columns.event, [event.name for event in profile.events]),
            "period": integers(columns.period),
            "stack": references(columns.stack),
            **_names_of_frames(profile, look_up(columns.stack, profile.stacks.frame)),
            "whole": booleans(where(stop, _WHOLE), count, where(stop, _UNWOUND)),
            "stop": names(stop, _STOPS),
            "stop_dso": names(columns.stop_image, dsos(profile)),
            "ip": positive(columns.ip, count),
            "addr": positive(columns.addr, count),
            "weight": integers(columns.weight) if columns.weight is not None else missing("uint64", count),
            "data_src": positive(columns.data_src, count),
            "phys_addr": positive(columns.phys_addr, count),
            "data_page_size": positive(columns.data_page_size, count),
            "code_page_size": positive(columns.code_page_size, count),
            "cgroup": positive(columns.cgroup, count),
        },
    )


def _tree(profile: "Profile") -> tuple[memoryview, memoryview, memoryview, memoryview]:
    """The stacks depth first (stack_order.depth_first)."""
    stacks, functions = profile.stacks, profile.functions
    # Functions count as the same by name and file: an inlined one has a number for each function it is inlined into.
    files = dict(enumerate(dsos(profile)))
    keys = list(zip(functions.name, map(files.get, functions.image), strict=True))
    distinct_keys = list(dict.fromkeys(keys))
    same = look_up(profile.frames.function, _numbered(keys, distinct_keys))
    return depth_first(stacks.parent, look_up(stacks.frame, same), len(distinct_keys))


def _stacks(profile: "Profile") -> Iterator[Sequence[Array]]:
    stacks = profile.stacks
    count = len(stacks)
    depth, first, last, recursive = _tree(profile)
    return _one_batch(
        STACKS,
        {
            "id": integers(ascending(count)),
            "parent": references(stacks.parent),
            "frame": integers(stacks.frame),
            "depth": integers(depth),
            "first": integers(first),
            "last": integers(last),
            "recursive": booleans(where(recursive, _SET), count),
            **_names_of_frames(profile, stacks.frame),
        },
    )


def _stack_frames(profile: "Profile") -> Iterator[Sequence[Array]]:
    stacks = profile.stacks
    used = distinct(profile.samples.columns.stack, len(stacks))
    walk = StackFrames(stacks.parent, stacks.frame, used)
    while len((rows := walk.following(ROWS))[0]):
        yield [integers(column) for column in rows]


def _stack_weights(profile: "Profile") -> Iterator[Sequence[Array]]:
    columns, parents = profile.samples.columns, profile.stacks.parent
    count = len(parents)
    recursive = _tree(profile)[3]
    sampled = sorted(set(columns.event))
    for event in sampled:
        flags = zeros("B", 1 << 16)
        flags[event] = 1
        rows = rows_among(columns.event, flags)
        nodes = take(columns.stack, rows)
        own, own_samples = sums(nodes, take(columns.period, rows), count), sums(nodes, None, count)
        total_samples = subtree_sums(parents, own_samples)
        used = rows_from(total_samples, 1)
        yield from _one_batch(
            STACK_WEIGHTS,
            {
                "stack": integers(used),
                "event": names(zeros("I", len(used)), [profile.events[event].name]),
                **_names_of_frames(profile, take(profile.stacks.frame, used)),
                "recursive": booleans(where(take(recursive, used), _SET), len(used)),
                "self": integers(take(own, used)),
                "total": integers(take(subtree_sums(parents, own), used)),
                "self_samples": integers(take(own_samples, used)),
                "total_samples": integers(take(total_samples, used)),
            },
        )


def _frames(profile: "Profile") -> Iterator[Sequence[Array]]:
    frames = profile.frames
    count = len(frames)
    return _one_batch(
        FRAMES,
        {
            "id": integers(ascending(count)),
            "function": integers(frames.function),
            **_names_of_frames(profile, ascending(count)),
            "image": references(frames.image),
            "address": integers(frames.address) if profile.origin is None else missing("uint64", count),
            "runtime": integers(frames.runtime) if frames.runtime is not None else missing("uint64", count),
            "provenance": names(frames.provenance, _PROVENANCES),
            "inline_depth": integers(frames.inline_depth),
            "file": names(frames.file, profile.files) if frames.file is not None else missing("name", count),
            "line": integers(frames.line, 1) if frames.line is not None else missing("uint32", count),
        },
    )


def _functions(profile: "Profile") -> Iterator[Sequence[Array]]:
    functions = profile.functions
    count = len(functions)
    return _one_batch(
        FUNCTIONS,
        {
            "id": integers(ascending(count)),
            "name": names(ascending(count), functions.name),
            "dso": names(functions.image, dsos(profile)),
            "image": references(functions.image),
            "address": integers(functions.address, 1),
            "named": booleans(where(functions.unnamed, _CLEAR), count),
        },
    )


def images_table(images: "Sequence[ImageInfo]") -> Table:
    """The table of images."""
    count = len(images)
    return table_of(
        IMAGES,
        lambda: {
            "id": integers(ascending(count)),
            "name": texts_of([image.name for image in images]),
            "dso": texts_of([dso(image) for image in images]),
            "path": texts_of([image.path for image in images]),
            "build_id": texts_of([image.build_id for image in images]),
            "kind": texts_of([image.kind for image in images]),
            "problem": texts_of([image.problem for image in images]),
        },
    )


def events_table(events: "Sequence[EventInfo]") -> Table:
    """The table of events."""
    return table_of(
        EVENTS,
        lambda: {
            "id": integers(ascending(len(events))),
            "name": texts_of([event.name for event in events]),
            "packed": truths([event.packed for event in events]),
            "unit": texts_of([event.unit for event in events]),
            "chains": truths([event.chains for event in events]),
        },
    )


def processes_table(processes: "Sequence[Process]") -> Table:
    """The table of processes."""
    return table_of(
        PROCESSES,
        lambda: {
            "pid": optional("i", [process.pid for process in processes]),
            "parent": optional("i", [process.parent for process in processes]),
            "comm": texts_of([process.comm for process in processes]),
            "threads": optional("I", [len(process.threads) for process in processes]),
            "start": optional("q", [process.start for process in processes]),
            "end": optional("q", [process.end for process in processes]),
        },
    )


def texts_of(texts: Sequence[str]) -> Array:
    """A column of texts; empty ones are null."""
    return names(ascending(len(texts)), texts)


def truths(values: Sequence[bool]) -> Array:
    """A column of truth values."""
    return booleans(where(memoryview(bytes(values)), _SET), len(values))


def optional(typecode: Typecode, values: Sequence[int | None]) -> Array:
    """A column of integers of this typecode, cut to its range; None is null."""
    size = 8 * SIZES[typecode]
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if typecode.islower() else (0, (1 << size) - 1)
    column = zeros(typecode, len(values))
    for index, value in enumerate(values):
        column[index] = min(max(value or 0, low), high)
    known = bytes(value is not None for value in values)
    nulls = known.count(0)
    return Array(len(values), (where(memoryview(known), _SET) if nulls else None, column), nulls)


_TABLES: "dict[str, tuple[TableDescription, Callable[[Profile], Iterator[Sequence[Array]]]]]" = {
    "samples": (SAMPLES, _samples),
    "stacks": (STACKS, _stacks),
    "stack_frames": (STACK_FRAMES, _stack_frames),
    "stack_weights": (STACK_WEIGHTS, _stack_weights),
    "frames": (FRAMES, _frames),
    "functions": (FUNCTIONS, _functions),
}
