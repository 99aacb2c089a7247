"""A profile of what a store holds, for the same views that show recordings.

DuckDB adds up the samples with the same stack, event and thread name, so that a profile of a day has as many entries as
there are such sums, each with the number of its samples; times and ids are in it only where they are asked for.

Samples are grouped by DuckDB's hash of their stack's id, of 64 bits, and by that of their texts: two columns of
integers take half the time of the five columns themselves. If two stacks or two combinations of texts have the same
hash, which is looked at, another hash is taken.
"""

import itertools
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from undwarf.arrow.columns_of_stream import Column
from undwarf.arrow.stream import Array, Field, stream
from undwarf.column import absent, zeros
from undwarf.errors import NothingUsable, UnreadableInput
from undwarf.fleet.database import Database
from undwarf.fleet.kernels.result_columns import (
    numbered_functions,
    numbered_texts,
    places,
    starts_and_counts,
    whole_numbers,
)
from undwarf.fleet.kernels.stack_lists import chosen_lists, hashes_at, numbered, tree_of_lists
from undwarf.ordering import ascending, take
from undwarf.perfdata.event_precision import EventStops
from undwarf.profile.grouping import look_up
from undwarf.profile.inlined_frames import expanded
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.profile.stack_order import distinct
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

IDS = ("pid", "tid", "cpu")
"""Columns that sums are made by only where they are asked for."""
DETAILS = {"data_src": "data_source", "weight": "latency", "data_page_size": "data_page_size"}
"""Columns of a profile that few recordings have, by those of the store: sums are made by them where they are asked for,
and if some sample has them."""
_STOPS = {one.name: int(one) for one in StopReason}
_PROVENANCES = {one.name: int(one) for one in Provenance}
_HASHES = ("hash({})", "hash({}, 1)", "hash({}, 2)")
"""Hashes of SQL, of which the next one is taken if two keys have the same one."""
_TEXTS = "comm, event, stop, stop_image"
_SUMS = """
SELECT {stack} AS stack, {texts} AS texts{ids}, sum(period)::BIGINT AS period, count(*)::UBIGINT AS samples
FROM samples{join} GROUP BY ALL
"""
_KINDS = """
SELECT {texts} AS texts, coalesce(comm, '') AS comm, event, coalesce(stop, '') AS stop, stop_image::UUID AS stop_image
FROM samples GROUP BY ALL ORDER BY ALL
"""
_STACKS = "SELECT {stack} AS stack, id::UUID AS id, frames::UUID[] AS frames FROM stacks"
_PARTS = """
CREATE OR REPLACE TEMP TABLE parts AS
SELECT {key} AS key, (row_number() OVER (ORDER BY {key}) - 1) % {count} AS part FROM samples GROUP BY {key}
"""
_FRAMES = """
SELECT any_value(image)::UUID AS image, greatest(coalesce(any_value(code_offset), 0), 0)::UBIGINT AS code_offset,
       coalesce(any_value(is_return), false)::UTINYINT AS is_return, coalesce(any_value(provenance), '') AS provenance
FROM used LEFT JOIN frames USING (id) GROUP BY number ORDER BY number
"""
_NAMES = f"""
SELECT coalesce(name, '{UNKNOWN}') AS name, greatest(coalesce(start, 0), 0)::UBIGINT AS start,
       coalesce(unnamed, true)::UTINYINT AS unnamed, inlined
FROM used LEFT JOIN symbols ON symbols.frame = used.id{{best}} ORDER BY number
"""
_BEST = """
QUALIFY row_number() OVER (PARTITION BY number ORDER BY unnamed, -len(inlined), name, start) = 1
"""
_CHOSEN = """
CREATE OR REPLACE TEMP TABLE chosen AS
SELECT id, host, lost, stack_dump, stitched, recorder, unwind_order, events FROM recordings
SEMI JOIN (SELECT DISTINCT recording FROM samples) AS s ON recordings.id = s.recording
"""
_ABOUT = """
SELECT count(*), count(DISTINCT host), coalesce(sum(greatest(lost, 0)), 0), coalesce(max(stack_dump), 0),
       bool_and(coalesce(stitched, false)), bool_and(coalesce(recorder = 'undwarf', false)),
       count(DISTINCT unwind_order), any_value(unwind_order)
FROM chosen
"""
_EVENTS = "SELECT events FROM chosen GROUP BY events ORDER BY min(id) LIMIT {most}"
_IMAGES = """
SELECT any_value(name) AS name, id::UUID AS id, any_value(path) AS path, any_value(build_id) AS build_id,
       any_value(kind) AS kind, min(problem) AS problem
FROM images GROUP BY ALL ORDER BY name, id LIMIT {most}
"""
_MOST_EVENT_LISTS = 10_000
"""Different lists of events that recordings may have."""


class Stored(NamedTuple):
    """A profile of a store, and what a report says of the recordings beside it: lost samples, the largest stack dump in
    bytes, groups of events by number, damage by kind."""

    profile: Profile
    lost: int
    stack_dump: int
    groups: tuple[tuple[int, ...], ...]
    recordings: int
    hosts: int
    part: memoryview
    """The part (i) of each of the profile's entries; all 0 if none were asked for."""
    frame_ids: memoryview
    """The hashes (Q, two words each) of the profile's frames; of inlined functions that of the frame with the code."""
    stops: EventStops
    """Where the samples of the profile's events stop, by number; an event that differs between recordings is late."""


class _About(NamedTuple):
    """What the recordings have in common: see :class:`Stored`."""

    recordings: int
    hosts: int
    lost: int
    stack_dump: int
    stitched: bool
    recorder: str
    unwind_order: tuple[str, ...]
    events: list[EventInfo]
    groups: tuple[tuple[int, ...], ...]
    stops: EventStops


class _Inlined(NamedTuple):
    """As :class:`undwarf.symbols.inlines.Inlines`."""

    columns: dict[str, memoryview]
    names: list[str]
    files: list[str]


class _Sums(NamedTuple):
    """The sums: their columns, the list of frames (I) of each; columns of texts, and the row (I) of these of each."""

    columns: dict[str, Column]
    stack: memoryview
    texts: dict[str, Column]
    of_texts: memoryview


def stored_profile(
    database: Database,
    *,
    ids: Sequence[str] = (),
    inline: bool = True,
    lines: bool = False,
    ordered: bool = False,
    parts: int = 0,
    details: bool = False,
) -> Stored:
    """The profile of a database's samples. ``ids``: those of :data:`IDS` that are columns; ``details``: with the
    columns of :data:`DETAILS`. ``ordered``: its entries have the same order each time. ``parts``: how many parts the
    hosts are put into, of one host the recordings; an entry is then of one part. Raises NothingUsable without samples,
    UnreadableInput for a damaged store."""
    wanted = "".join(f", coalesce({name}, -1)::INTEGER AS {name}" for name in IDS if name in ids)
    if details:
        counts = ", ".join(f"count({column}) > 0" for column in DETAILS.values())
        (some,) = database.rows(f"SELECT {counts} FROM samples")
        present = itertools.compress(DETAILS.items(), some)
        wanted += "".join(f", coalesce({column}, 0) AS {name}" for name, column in present)
    join = ""
    if parts:
        ((hosts,),) = database.rows("SELECT count(DISTINCT host) FROM samples")
        key = "host" if hosts > 1 else "recording"
        database.rows(_PARTS.format(key=key, count=parts))
        wanted += ", parts.part::INTEGER AS part"
        join = f" JOIN parts ON samples.{key} = parts.key"
    database.check_values("stacks", "symbols")
    sums, frame_words, (starts, flat) = _sums(database, wanted, join, ordered)
    about = _about(database)
    parent, frame, nodes = tree_of_lists(starts, flat)
    images, image_words = _images(database)
    frames, functions, inlines = _frames(database, frame_words, image_words)
    stacks = StackColumns(parent, frame)
    innermost = nodes
    if inline or lines:
        frames, functions, stacks, node_of, source = expanded(frames, functions, stacks, inlines, inline)
        frame_words = hashes_at(frame_words, source)
        innermost = take(node_of, nodes) if len(nodes) else nodes
        if not lines:
            frames.file = frames.line = None
    samples, comms = _samples(sums, innermost, [event.name for event in about.events], image_words)
    profile = Profile(
        samples,
        stacks,
        frames,
        functions,
        images,
        comms,
        about.events,
        files=inlines.files,
        unwind_order=about.unwind_order,
        stitched=about.stitched,
        recorder=about.recorder,
    )
    return Stored(
        profile,
        about.lost,
        about.stack_dump,
        about.groups,
        about.recordings,
        about.hosts,
        sums.columns["part"].values if parts else zeros("i", len(samples)),
        frame_words,
        about.stops,
    )


def _sums(
    database: Database, wanted: str, join: str, ordered: bool
) -> tuple[_Sums, memoryview, tuple[memoryview, memoryview]]:
    """(the sums, whose stacks are numbers of lists; the hashes of the frames; where the lists start (i) and the frame
    (I) of each of their entries)."""
    for function in _HASHES:
        stack, texts = function.format("{}"), function.format(_TEXTS)
        # It takes half as long as the sums, and one processor.
        lists = database.started(_STACKS.format(stack=stack.format("id")))
        query = _SUMS.format(stack=stack.format("stack"), texts=texts, ids=wanted, join=join)
        columns = database.columns(query + (" ORDER BY ALL" if ordered else ""))
        of_kind = database.columns(_KINDS.format(texts=texts))
        ((nothing,),) = database.rows(f"SELECT {stack.format('NULL::BLOB')}")
        stacks = lists()
        if not columns["stack"].length:
            raise NothingUsable(
                f"no sample of {database.store.address} is in the span", "", "undwarf fleet query shows what is there"
            )
        kind, told_apart, _none = places(columns["texts"].values, of_kind["texts"].values)
        _number, first = numbered(_all(stacks["id"], "stacks"))
        # The last key is that of samples without a stack.
        keys = [*take(stacks["stack"].values, first).tolist(), nothing]
        place, distinct_stacks, missing = places(columns["stack"].values, memoryview(array("Q", keys)))
        if told_apart and distinct_stacks:
            break
    else:
        raise UnreadableInput("the store is damaged", "different stacks have the same hash")
    used = distinct(place, len(keys))
    if len(used) and used[-1] == len(keys) - 1:
        used = used[:-1]
    if missing:
        raise UnreadableInput("the store is damaged", "samples are of stacks that are not there")
    list_of = absent("I", len(keys))
    for number, one in enumerate(used):
        list_of[one] = number
    frame_words = _lists(database, stacks["frames"])
    frame, first_of_frame = numbered(frame_words)
    begins, flat = chosen_lists(stacks["frames"].starts, frame, take(first, used))
    used_frames = distinct(flat, len(first_of_frame))
    place_of = absent("I", len(first_of_frame))
    for number, one in enumerate(used_frames):
        place_of[one] = number
    sums = _Sums(columns, look_up(place, list_of), of_kind, kind)
    return sums, hashes_at(frame_words, take(first_of_frame, used_frames)), (begins, look_up(flat, place_of))


def _all(column: Column, what: str) -> memoryview:
    """The values of a column without nulls. Raises UnreadableInput if it has some."""
    if column.nulls is not None:
        raise UnreadableInput("the store is damaged", f"a value of {what} is missing")
    return column.values


def _lists(database: Database, column: Column) -> memoryview:
    """The hashes (Q, two words each) of all entries of the stacks' lists. Raises UnreadableInput for lists that no
    stack has: empty, null or too long."""
    _start, _count, least, most = starts_and_counts(column.starts)
    depth = database.store.limits.store_depth
    if column.nulls is not None or not 0 < least <= most <= depth:
        raise UnreadableInput("the store is damaged", f"a stack has no frames, or more than {depth:,}")
    return _all(column.entries, "stacks")


def _about(database: Database) -> _About:
    """What the recordings whose samples are chosen have in common."""
    database.rows(_CHOSEN)
    ((count, hosts, lost, dump, stitched, own, orders, order),) = database.rows(_ABOUT)
    if not count:
        why = "samples are of no recording, or of one that began more than a day before the span"
        raise UnreadableInput(f"cannot read {database.store.address}", why, "begin the span where the recording began")
    lists = database.rows(_EVENTS.format(most=_MOST_EVENT_LISTS + 1))
    if len(lists) > _MOST_EVENT_LISTS:
        why = f"its recordings have more than {_MOST_EVENT_LISTS:,} lists of events"
        raise UnreadableInput(f"cannot read {database.store.address}", why, "choose fewer with --span")
    events, groups, stops = _events([events for (events,) in lists])
    return _About(
        count,
        hosts,
        int(lost),
        dump,
        bool(stitched),
        "undwarf" if own else "perf",
        tuple(one or "" for one in order or ()) if orders == 1 else (),
        events,
        groups,
        stops,
    )


def _events(
    lists: list[list[dict[str, Any]] | None],
) -> tuple[list[EventInfo], tuple[tuple[int, ...], ...], EventStops]:
    """(the events of all lists by name, in their order; the groups by number; where the events' samples stop)."""
    precisions: dict[str, set[str]] = {}
    found: dict[str, EventInfo] = {}
    groups: dict[tuple[str, ...], None] = {}
    for events in lists:
        members: dict[int, list[str]] = {}
        for event in events or ():
            name = event["name"] or ""
            known = found.setdefault(
                name, EventInfo(name, bool(event["packed"]), bool(event["chains"]), event["unit"] or "")
            )
            precisions.setdefault(name, set()).add(event["precision"] or "late")
            if event["chains"] and not known.chains:
                found[name] = known._replace(chains=True)
            if event["group"] is not None:
                members.setdefault(event["group"], []).append(name)
        groups.update((tuple(names), None) for names in members.values())
    numbers = {name: number for number, name in enumerate(found)}
    after, at = (
        frozenset(numbers[name] for name, those in precisions.items() if those == {one}) for one in ("after", "at")
    )
    grouped = tuple(tuple(numbers[name] for name in names) for names in groups)
    return list(found.values()), grouped, EventStops(after, at, frozenset())


def _frames(
    database: Database, wanted: memoryview, image_words: memoryview
) -> tuple[FrameColumns, FunctionTable, _Inlined]:
    """(the frames with these hashes in their order, their functions, inlined functions and lines)."""
    count = len(wanted) // 2
    database.connection.register("used", _Used(wanted))
    many = len(database.contents.files("symbols")) > 1
    frames = database.columns(_FRAMES)
    symbols = database.columns(_NAMES.format(best=_BEST if many else ""))
    database.connection.unregister("used")
    if not frames["image"].length == symbols["name"].length == count:
        raise UnreadableInput("the store is damaged", "a frame is named twice in a file")
    image, _distinct, _missing = places(frames["image"].values, image_words, 2, frames["image"].nulls)
    name_of, names = _texts(symbols["name"])
    start, unnamed = symbols["start"].values, symbols["unnamed"].values
    function, first = numbered_functions(name_of, image, start, unnamed)
    table = FunctionTable(
        [names[number] for number in take(name_of, first)], take(image, first), take(start, first), take(unnamed, first)
    )
    columns = FrameColumns(
        image,
        frames["code_offset"].values,
        memoryview(bytes(_coded(frames["provenance"], _PROVENANCES, 0).tolist())),
        function,
        None,
        zeros("B", count),
        is_return=frames["is_return"].values,
    )
    return columns, table, _inlines(database, symbols["inlined"])


class _Used:
    """The hashes of the frames that are asked for, with their numbers, as a table that DuckDB reads."""

    def __init__(self, words: memoryview) -> None:
        self.words = words

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The capsule of a stream."""
        count = len(self.words) // 2
        arrays = [Array(count, (None, ascending(count))), Array(count, (None, self.words))]
        return stream([Field("number", "I"), Field("id", "w:16")], iter([arrays]))


def _inlines(database: Database, column: Column) -> _Inlined:
    """The inlined functions and lines of frames, of a column of lists."""
    starts, counts, _least, most = starts_and_counts(column.starts)
    depth = database.store.limits.store_depth
    if most > depth:
        raise UnreadableInput("the store is damaged", f"more than {depth:,} functions are inlined at one place")
    entries = column.entries.children
    name_of, names = _texts(entries["name"])
    file_of, files = _texts(entries["file"])
    line_of = whole_numbers(entries["line"].values, entries["line"].nulls)
    columns = {"start": starts, "count": counts, "name": name_of, "file": file_of, "line": line_of}
    return _Inlined(columns, names, files)


def _texts(column: Column) -> tuple[memoryview, list[str]]:
    """(the number (I) of each text, NONE for null; the distinct texts)."""
    number, first = numbered_texts(column.values, column.starts, column.nulls)
    data, starts = column.values, column.starts
    return number, [str(data[starts[row] : starts[row + 1]], "utf-8", "replace") for row in first]


def _coded(column: Column, codes: "dict[str, int]", otherwise: int) -> memoryview:
    """The code (I) of each text."""
    numbers, texts = _texts(column)
    table = memoryview(array("I", [codes.get(text, otherwise) for text in texts]))
    found: memoryview = look_up(numbers, table)
    return found


def _images(database: Database) -> tuple[list[ImageInfo], memoryview]:
    """(the images, their hashes (Q, two words each)); one that has a problem on some hosts has none if others have its
    file."""
    most = database.store.limits.store_images
    columns = database.columns(_IMAGES.format(most=most + 1))
    if columns["id"].length > most:
        why = f"it has more than {most:,} images"
        raise UnreadableInput(f"cannot read {database.store.address}", why, "choose fewer days with --span")
    texts = []
    for name in ImageInfo._fields:
        number_of, names = _texts(columns[name])
        texts.append([names[number] if number != NONE else "" for number in number_of])
    images = [
        ImageInfo(name, path, build_id, kind or "unknown", problem)
        for name, path, build_id, kind, problem in zip(*texts, strict=True)
    ]
    return images, _all(columns["id"], "images")


def _samples(
    sums: _Sums, innermost: memoryview, events: list[str], image_words: memoryview
) -> tuple[SampleColumns, list[str]]:
    """(columns with an entry a sum, the names of threads)."""
    comm_of, comms = _texts(sums.texts["comm"])
    known = [text for text in comms if text]
    place = {text: number for number, text in enumerate(known)}
    comm = look_up(comm_of, memoryview(array("I", [place.get(text, NONE) for text in comms])))
    event = _coded(sums.texts["event"], {name: number for number, name in enumerate(events)}, NONE)
    if NONE in set(event):
        raise UnreadableInput("the store is damaged", "samples are of events that are not there")
    stop = _coded(sums.texts["stop"], _STOPS, StopReason.UNSTATED)
    in_image = sums.texts["stop_image"]
    stop_image, _distinct, _missing = places(in_image.values, image_words, 2, in_image.nulls)
    of, count = sums.of_texts, len(sums.stack)
    nothing = absent("i", count)
    ids = {name: sums.columns[name].values if name in sums.columns else nothing for name in IDS}
    period = _all(sums.columns["period"], "samples")
    if min(period) < 0:
        raise UnreadableInput("the store is damaged", "samples have weights below 0")
    columns = SampleColumns(
        time=zeros("Q", count),
        pid=ids["pid"],
        tid=ids["tid"],
        cpu=ids["cpu"],
        event=take(memoryview(array("H", event.tolist())), of),
        period=period.cast("B").cast("Q"),
        comm=take(comm, of),
        stack=look_up(sums.stack, innermost),
        stop=take(memoryview(bytes(stop.tolist())), of),
        stop_image=take(stop_image, of),
        ip=zeros("Q", count),
        count=sums.columns["samples"].values,
        **{name: sums.columns[name].values.cast("B").cast("Q") for name in DETAILS if name in sums.columns},
    )
    return columns, known
