"""A profile of what a store holds, for the same views that show recordings.

DuckDB adds up the samples with the same stack, event and thread name, so that a profile of a day has as many entries as
there are such sums, each with the number of its samples; times and ids are in it only where they are asked for.
"""

import itertools
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from undwarf.api import Profile
from undwarf.column import absent, zeros
from undwarf.errors import NothingUsable, UnreadableInput
from undwarf.fleet.columns import column_of, words
from undwarf.fleet.database import Database
from undwarf.fleet.kernels.stack_lists import chosen_lists, hashes_at, numbered, tree_of_lists
from undwarf.fleet.merging import lists
from undwarf.fleet.recording_tables import provenances
from undwarf.ordering import ascending, take
from undwarf.profile.build import expanded
from undwarf.profile.grouping import look_up
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    SampleColumns,
    StackColumns,
)
from undwarf.profile.stack_order import distinct
from undwarf.symbols.inlines import Inlines
from undwarf.symbols.resolver import UNKNOWN
from undwarf.unwind.stop_reason import StopReason

IDS = ("pid", "tid", "cpu")
"""Columns that sums are made by only where they are asked for."""
_STOPS = {one.name: int(one) for one in StopReason}
_NO_STACK = bytes(16)
_SUMS = """
SELECT coalesce(stack, '{none}'::BLOB) AS stack, coalesce(comm, '') AS comm, event, coalesce(stop, '') AS stop,
       coalesce(stop_image, ''::BLOB) AS stop_image{ids}, sum(period)::BIGINT AS period, count(*) AS samples
FROM samples{join} GROUP BY ALL
"""
_PARTS = """
CREATE OR REPLACE TEMP TABLE parts AS
SELECT {key} AS key, (row_number() OVER (ORDER BY {key}) - 1) % {count} AS part FROM samples GROUP BY {key}
"""
_FRAMES = """
SELECT used.number, any_value(f.image) AS image, any_value(f.code_offset) AS code_offset,
       any_value(f.is_return) AS is_return, any_value(f.provenance) AS provenance
FROM used JOIN frames AS f ON used.id = f.id GROUP BY used.number
"""
_NAMES = """
SELECT used.number, arg_min(struct_pack(name := name, start := start, unnamed := unnamed, inlined := inlined),
                            (unnamed, -len(inlined), name, start)) AS symbol
FROM used JOIN symbols ON symbols.frame = used.id GROUP BY used.number
"""
_NAMED = """
SELECT coalesce(f.image, ''::BLOB) AS image, greatest(coalesce(f.code_offset, 0), 0) AS code_offset,
       coalesce(f.is_return, false)::UTINYINT AS is_return, coalesce(f.provenance, '') AS provenance,
       coalesce(s.symbol.name, '{unknown}') AS name, greatest(coalesce(s.symbol.start, 0), 0) AS start,
       coalesce(s.symbol.unnamed, true)::UTINYINT AS unnamed, coalesce(s.symbol.inlined, []) AS inlined
FROM used LEFT JOIN ({frames}) AS f ON used.number = f.number LEFT JOIN ({names}) AS s ON used.number = s.number
ORDER BY used.number
"""


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


def stored_profile(
    database: Database,
    *,
    ids: Sequence[str] = (),
    inline: bool = True,
    lines: bool = False,
    ordered: bool = False,
    parts: int = 0,
) -> Stored:
    """The profile of a database's samples. ``ids``: those of :data:`IDS` that are columns. ``ordered``: its
    entries have the same order each time. ``parts``: how many parts the hosts are put into, of one host the recordings;
    an entry is then of one part. Raises NothingUsable without samples, UnreadableInput for a damaged store."""
    wanted = "".join(f", coalesce({name}, -1) AS {name}" for name in IDS if name in ids)
    join = ""
    if parts:
        (hosts,) = database.arrow("SELECT count(DISTINCT host) AS hosts FROM samples")["hosts"].to_pylist()
        key = "host" if hosts > 1 else "recording"
        database.arrow(_PARTS.format(key=key, count=parts))
        wanted += ", parts.part::INTEGER AS part"
        join = f" JOIN parts ON samples.{key} = parts.key"
    query = _SUMS.format(ids=wanted, join=join, none="\\x00" * len(_NO_STACK))
    sums = database.arrow(query + (" ORDER BY ALL" if ordered else ""))
    if not sums.num_rows:
        address = database.store.address
        raise NothingUsable(f"no sample of {address} is in the span", "", "undwarf fleet query shows what is there")
    about = _about(database)
    stack_of, starts, flat, frame_words = _stacks(database, words(sums["stack"], "samples"))
    parent, frame, nodes = tree_of_lists(starts, flat)
    frames, functions, images, inlines = _frames(database, frame_words)
    stacks = StackColumns(parent, frame)
    innermost = nodes
    if inline or lines:
        frames, functions, stacks, node_of = expanded(frames, functions, stacks, inlines, inline)
        innermost = take(node_of, nodes) if len(nodes) else nodes
        if not lines:
            frames.file = frames.line = None
    events, groups = _events(about)
    samples, comms = _samples(sums, look_up(stack_of, innermost), [event.name for event in events], images)
    profile = Profile(
        samples,
        stacks,
        frames,
        functions,
        list(images.values()),
        comms,
        events,
        files=inlines.files,
        unwind_order=tuple(about[0]["unwind_order"] or ())
        if len({str(row["unwind_order"]) for row in about}) == 1
        else (),
        stitched=all(row["stitched"] for row in about),
        recorder="undwarf" if all(row["recorder"] == "undwarf" for row in about) else "perf",
    )
    return Stored(
        profile,
        sum(row["lost"] or 0 for row in about),
        max((row["stack_dump"] or 0 for row in about), default=0),
        groups,
        len(about),
        len({row["host"] for row in about}),
        column_of(sums["part"], "i") if parts else zeros("i", len(samples)),
    )


def _about(database: Database) -> list[dict[str, Any]]:
    """The recordings whose samples are chosen."""
    rows: list[dict[str, Any]] = database.arrow(
        "SELECT host, lost, stack_dump, stitched, recorder, unwind_order, events FROM recordings "
        "SEMI JOIN (SELECT DISTINCT recording FROM samples) AS s ON recordings.id = s.recording ORDER BY recordings.id"
    ).to_pylist()
    if not rows:
        raise UnreadableInput(f"{database.store.address} is damaged", "samples are of no recording")
    return rows


def _events(about: list[dict[str, Any]]) -> tuple[list[EventInfo], tuple[tuple[int, ...], ...]]:
    """(the events of all recordings by name, in their order; the groups by number)."""
    found: dict[str, EventInfo] = {}
    groups: dict[tuple[str, ...], None] = {}
    for row in about:
        members: dict[int, list[str]] = {}
        for event in row["events"] or ():
            name = event["name"] or ""
            known = found.setdefault(
                name, EventInfo(name, bool(event["packed"]), bool(event["chains"]), event["unit"] or "")
            )
            if event["chains"] and not known.chains:
                found[name] = known._replace(chains=True)
            if event["group"] is not None:
                members.setdefault(event["group"], []).append(name)
        groups.update((tuple(names), None) for names in members.values())
    numbers = {name: number for number, name in enumerate(found)}
    return list(found.values()), tuple(tuple(numbers[name] for name in names) for names in groups)


def _stacks(database: Database, sampled: memoryview) -> tuple[memoryview, memoryview, memoryview, memoryview]:
    """(the list (I) of each of the sampled stacks, given as hashes, NONE for none; where the lists start (i); the frame
    (I) of each entry; the hashes of the frames)."""
    database.check_values("stacks")
    rows = database.arrow("SELECT id, frames FROM stacks")
    ids = words(rows["id"], "stacks")
    starts, frame_words = lists(rows["frames"], database.store.limits)
    count = len(ids) // 2
    every = zeros("Q", len(ids) + len(sampled))
    every[: len(ids)], every[len(ids) :] = ids, sampled
    number, first = numbered(every)
    number_of = number[count:]
    used = distinct(number_of, len(first))
    # A stack that is not there has its first row among the samples.
    there = array("I", [row for row in take(first, used) if row < count])
    missing = [row for row in take(first, used) if row >= count]
    for row in missing:
        if bytes(every[2 * row : 2 * row + 2]) != _NO_STACK:
            raise UnreadableInput("the store is damaged", "samples are of stacks that are not there")
    list_of = absent("I", len(first))
    for place, row in enumerate(there):
        list_of[number[row]] = place
    frame, first_of_frame = numbered(frame_words)
    begins, flat = chosen_lists(starts, frame, memoryview(there))
    used_frames = distinct(flat, len(first_of_frame))
    place_of = absent("I", len(first_of_frame))
    for place, one in enumerate(used_frames):
        place_of[one] = place
    return (
        look_up(number_of, list_of),
        begins,
        look_up(flat, place_of),
        hashes_at(frame_words, take(first_of_frame, used_frames)),
    )


def _frames(
    database: Database, wanted: memoryview
) -> tuple[FrameColumns, FunctionTable, dict[bytes, ImageInfo], Inlines]:
    """(the frames with these hashes in their order, their functions, images by hash, inlined functions and lines)."""
    import pyarrow as pa

    count = len(wanted) // 2
    ids = pa.Array.from_buffers(pa.binary(16), count, [None, pa.py_buffer(wanted)]).cast(pa.binary())
    number = pa.Array.from_buffers(pa.uint32(), count, [None, pa.py_buffer(ascending(count))])
    database.connection.register("used", pa.Table.from_arrays([number, ids], ["number", "id"]))
    rows = database.arrow(_NAMED.format(unknown=UNKNOWN, frames=_FRAMES, names=_NAMES))
    database.connection.unregister("used")
    images = _images(database)
    kinds = {name: kind for kind, name in enumerate(provenances())}
    number_of = {image: place for place, image in enumerate(images)}
    image = _coded(rows["image"], number_of, NONE)
    name_of, names = _texts(rows["name"])
    start, unnamed = column_of(rows["start"], "Q"), column_of(rows["unnamed"], "B")
    functions: dict[tuple[int, int, int, int], int] = {}
    function = memoryview(
        array(
            "I", [functions.setdefault(key, len(functions)) for key in zip(name_of, image, start, unnamed, strict=True)]
        )
    )
    table = FunctionTable(
        [names[key[0]] for key in functions],
        memoryview(array("I", [key[1] for key in functions])),
        memoryview(array("Q", [key[2] for key in functions])),
        memoryview(bytes(key[3] for key in functions)),
    )
    frames = FrameColumns(
        image,
        column_of(rows["code_offset"], "Q"),
        memoryview(bytes(_coded(rows["provenance"], kinds, 0).tolist())),
        function,
        None,
        zeros("B", count),
        is_return=column_of(rows["is_return"], "B"),
    )
    return frames, table, images, _inlines(rows["inlined"], count)


def _inlines(column: Any, count: int) -> Inlines:
    """The inlined functions and lines of frames, of a column of lists."""
    import pyarrow as pa

    column = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    offsets = column_of(column.offsets, "i")
    first = offsets[0] if count else 0
    entries = column.flatten()
    starts = memoryview(array("I", [offset - first for offset in offsets[:-1]]))
    counts = memoryview(array("I", [end - begin for begin, end in itertools.pairwise(offsets)]))
    name_of, names = _texts(entries.field("name"))
    file_of, files = _texts(entries.field("file"))
    lines = entries.field("line")
    line_of = memoryview(array("I", [max(line or 0, 0) for line in lines.to_pylist()]))
    columns = {"start": starts, "count": counts, "name": name_of, "file": file_of, "line": line_of}
    return Inlines(columns, names, files)


def _texts(column: Any) -> tuple[memoryview, list[str]]:
    """(the number (I) of each text, NONE for null; the distinct texts)."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    coded = column.dictionary_encode()
    found = coded.indices
    if found.null_count:
        numbers = memoryview(array("I", [NONE if one is None else one for one in found.to_pylist()]))
    else:
        numbers = column_of(found, "I")
    return numbers, coded.dictionary.to_pylist()


def _coded(column: Any, codes: "dict[Any, int]", otherwise: int) -> memoryview:
    """The code (I) of each text or hash."""
    numbers, values = _texts(column)
    table = memoryview(array("I", [codes.get(value, otherwise) for value in values]))
    found: memoryview = look_up(numbers, table)
    return found


def _images(database: Database) -> dict[bytes, ImageInfo]:
    """The images by hash; one that has a problem on some hosts has none if others have its file."""
    rows = database.arrow(
        "SELECT id, any_value(name) AS name, any_value(path) AS path, any_value(build_id) AS build_id, "
        "any_value(kind) AS kind, min(problem) AS problem FROM images GROUP BY id ORDER BY name, id"
    ).to_pylist()
    return {
        row["id"]: ImageInfo(
            row["name"] or "", row["path"] or "", row["build_id"] or "", row["kind"] or "unknown", row["problem"] or ""
        )
        for row in rows
    }


def _samples(
    sums: Any, stack: memoryview, events: list[str], images: dict[bytes, ImageInfo]
) -> tuple[SampleColumns, list[str]]:
    """(columns with an entry a sum, the names of threads)."""
    count = sums.num_rows
    comm_of, comms = _texts(sums["comm"])
    known = [text for text in comms if text]
    comm = look_up(comm_of, memoryview(array("I", [known.index(text) if text else NONE for text in comms])))
    event = _coded(sums["event"], {name: number for number, name in enumerate(events)}, NONE)
    if NONE in set(event):
        raise UnreadableInput("the store is damaged", "samples are of events that are not there")
    stop = _coded(sums["stop"], _STOPS, StopReason.UNSTATED)
    nothing = absent("I", count).cast("B").cast("i")
    ids = {name: column_of(sums[name], "i") if name in sums.column_names else nothing for name in IDS}
    period = column_of(sums["period"], "q")
    if count and min(period) < 0:
        raise UnreadableInput("the store is damaged", "samples have weights below 0")
    columns = SampleColumns(
        time=zeros("Q", count),
        pid=ids["pid"],
        tid=ids["tid"],
        cpu=ids["cpu"],
        event=memoryview(array("H", event.tolist())),
        period=period.cast("B").cast("Q"),
        comm=comm,
        stack=stack,
        stop=memoryview(bytes(stop.tolist())),
        stop_image=_coded(sums["stop_image"], {image: number for number, image in enumerate(images)}, NONE),
        ip=zeros("Q", count),
        count=column_of(sums["samples"], "Q"),
    )
    return columns, known
