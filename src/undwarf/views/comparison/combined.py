"""The recordings of both sides as one profile, in which matched functions are one function."""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from undwarf.column import absent, zeros
from undwarf.ordering import ascending, sort_order, take
from undwarf.profile.grouping import look_up, widen
from undwarf.profile.labels import is_kernel, short_dso
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Origin,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.views.comparison.compare import events_by_base
from undwarf.views.comparison.model import Comparison, FunctionPair, Recorded
from undwarf.views.comparison.quantities import Measured
from undwarf.views.comparison.tables import name_of
from undwarf.views.event_units import kind_of_event
from undwarf.views.kernels.page_columns import since
from undwarf.views.page.row_times import start_of
from undwarf.views.sample_selection import Selection, Weight

_SAMPLE_COLUMNS = ("pid", "tid", "cpu", "stop")
_FRAME_COLUMNS = ("address", "provenance", "inline_depth")


class Combined(NamedTuple):
    """``profile`` has the samples of the events that all recordings have, in order of time, each recording from its own
    start on; its functions are numbered as those of the comparison, its events as the comparison's. ``recording`` (I):
    of each sample, those of before first; ``own`` (I): its number there. ``work``: for each event the units of work of
    each recording."""

    profile: Profile
    recording: memoryview
    own: memoryview
    work: list[list[float]]


def combine(comparison: Comparison, weight: Weight = "period") -> Combined:
    """Combine the recordings of a comparison, which was made with this ``weight``."""
    recordings = [*comparison.before, *comparison.after]
    numbers = [*comparison.functions.before, *comparison.functions.after]
    images = _Images(comparison, recordings)
    comms, files = _Texts(), _Texts()
    pieces: dict[str, list[Any]] = {}
    frames: dict[str, list[Any]] = {}
    stacks: dict[str, list[Any]] = {"parent": [], "frame": []}
    work: list[list[float]] = [[] for _event in comparison.events]
    placed = [sum(len(one.profile.stacks) for one in recordings), sum(len(one.profile.frames) for one in recordings)]
    node_numbers, frame_numbers = (ascending(count) for count in placed)
    nodes = first_frame = 0
    of_sums = any(one.profile.samples.columns.count is not None for one in recordings)
    for at, (recorded, of_function) in enumerate(zip(recordings, numbers, strict=True)):
        profile = recorded.profile
        of_node = node_numbers[nodes : nodes + len(profile.stacks)]
        of_frame = frame_numbers[first_frame : first_frame + len(profile.frames)]
        nodes, first_frame = nodes + len(of_node), first_frame + len(of_frame)
        stacks["parent"].append(look_up(profile.stacks.parent, of_node))
        stacks["frame"].append(look_up(profile.stacks.frame, of_frame))
        _add_frames(frames, profile, of_function, images.tables[at], files)
        known = events_by_base(profile)
        for number, event in enumerate(comparison.events):
            chosen = known[kind_of_event(event.name).base][0]
            selection = Selection(profile, chosen, weight)
            work[number].append(Measured(recorded, chosen, weight, comparison.normalization).work)
            columns = profile.samples.columns
            found = {
                **{name: selection.chosen(getattr(columns, name)) for name in _SAMPLE_COLUMNS},
                "time": selection.chosen(since(columns.time, start_of(columns.time))),
                "ip": selection.chosen(columns.ip),
                "period": selection.weights,
                "event": _filled("B", len(selection), number),
                "recording": _filled("I", len(selection), at),
                "own": selection.chosen(ascending(len(profile.samples))),
                "stack": look_up(selection.stacks, of_node),
                "comm": look_up(selection.chosen(columns.comm), comms.table(profile.comms)),
                "stop_image": look_up(selection.chosen(columns.stop_image), images.tables[at]),
            }
            if of_sums:
                found["count"] = selection.counts if selection.counts is not None else _filled("Q", len(selection), 1)
            for name, column in found.items():
                pieces.setdefault(name, []).append(column)
    joined = {name: _joined(columns) for name, columns in pieces.items()}
    order = sort_order(joined["time"])
    ordered = {name: take(column, order) for name, column in joined.items()}
    recording, own = ordered.pop("recording"), ordered.pop("own")
    profile = Profile(
        SampleColumns(**ordered),
        StackColumns(**{name: _joined(columns) for name, columns in stacks.items()}),
        FrameColumns(runtime=None, **{name: _joined(columns) for name, columns in frames.items()}),
        _functions(comparison.functions.pairs, recordings, numbers, images),
        images.rows,
        comms.texts,
        [EventInfo(event.name, unit=event.unit) for event in comparison.events],
        files=files.texts,
        origin=_origin(recordings),
    )
    return Combined(profile, recording, own, work)


class _Texts:
    """Distinct texts, numbered when they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    def table(self, texts: Sequence[str]) -> memoryview:
        """The number (I) of each of these texts."""
        found = zeros("I", max(1, len(texts)))
        for at, text in enumerate(texts):
            found[at] = self._numbers.setdefault(text, len(self._numbers))
        return found


class _Images:
    """The images of both sides: those that a comparison takes as one are one, as it is after. ``tables`` (I): the
    number of each image of each recording."""

    def __init__(self, comparison: Comparison, recordings: Sequence[Recorded]) -> None:
        names = dict(comparison.files)
        self.rows: list[ImageInfo] = []
        self.numbers: dict[tuple[str, bool], int] = {}
        tables: dict[int, memoryview] = {}
        first = len(comparison.before)
        for at in (*range(first, len(recordings)), *range(first)):
            table = tables[at] = zeros("I", max(1, len(recordings[at].profile.images)))
            for image, info in enumerate(recordings[at].profile.images):
                name = short_dso(info)
                key = names.get(name, name) if at < first else name, is_kernel(info)
                number = self.numbers.setdefault(key, len(self.rows))
                if number == len(self.rows):
                    self.rows.append(info)
                table[image] = number
        self.tables = [tables[at] for at in range(len(recordings))]


def _add_frames(
    frames: dict[str, list[Any]], profile: Profile, of_function: memoryview, of_image: memoryview, files: _Texts
) -> None:
    columns, count = profile.frames, len(profile.frames)
    found = {name: getattr(columns, name) for name in _FRAME_COLUMNS}
    found["function"] = look_up(columns.function, of_function)
    found["image"] = look_up(columns.image, of_image)
    known = columns.file is not None and columns.line is not None
    found["file"] = look_up(columns.file, files.table(profile.files)) if known else absent("I", count)
    found["line"] = widen(columns.line) if known else zeros("I", count)
    found["is_return"] = columns.is_return if columns.is_return is not None else zeros("B", count)
    for name, column in found.items():
        frames.setdefault(name, []).append(column)


def _functions(
    pairs: Sequence[FunctionPair], recordings: Sequence[Recorded], numbers: Sequence[memoryview], images: _Images
) -> FunctionTable:
    """The functions by common number, each with the place that it has after, if it is there."""
    image, address, unnamed = absent("I", len(pairs)), zeros("Q", len(pairs)), zeros("B", len(pairs))
    known = bytearray(len(pairs))
    for at in range(len(recordings) - 1, -1, -1):
        functions = recordings[at].profile.functions
        for own, number in enumerate(numbers[at]):
            if known[number]:
                continue
            known[number] = 1
            if functions.image[own] != NONE:
                image[number] = images.tables[at][functions.image[own]]
            address[number], unnamed[number] = functions.address[own], functions.unnamed[own]
    return FunctionTable(names_of(pairs, image), image, address, unnamed)


def names_of(pairs: Sequence[FunctionPair], images: Sequence[int]) -> list[str]:
    """The names of functions in these images, no two alike in one: code without symbols may have the same name on both
    sides and be no pair."""
    names: list[str] = []
    taken: set[tuple[str, int]] = set()
    for number, (pair, image) in enumerate(zip(pairs, images, strict=True)):
        name = name_of(pair)
        if (name, image) in taken:
            name = f"{name} ({'after' if pair.after is not None else 'before'}, {number})"
        taken.add((name, image))
        names.append(name)
    return names


def _origin(recordings: Sequence[Recorded]) -> Origin | None:
    """What all of these profiles have, if one is of another tool."""
    origins = [one.profile.origin for one in recordings if one.profile.origin is not None]
    if not origins:
        return None
    fields = frozenset.intersection(*(one.fields for one in origins))
    formats = dict.fromkeys(one.format for one in origins)
    return Origin(" and ".join(formats), fields, any(one.sums for one in origins))


def _filled(typecode: str, count: int, value: int) -> memoryview:
    return memoryview(array(typecode, [value]) * count)


def _joined(columns: Sequence[memoryview]) -> memoryview:
    """Columns one after the other, with the type that they have, else as typecode I."""
    if len({column.format for column in columns}) > 1:
        columns = [widen(column) for column in columns]
    code: Any = columns[0].format
    result = zeros(code, sum(map(len, columns)))
    at = 0
    for column in columns:
        result[at : at + len(column)] = column
        at += len(column)
    return result
