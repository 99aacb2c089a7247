"""A profile of what a store holds, for the same views that show recordings.

DuckDB adds up the samples with the same stack, event and thread name, so that a profile of a day has as many entries as
there are such sums, each with the number of its samples; times and ids are in it only where they are asked for.
"""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from undwarf.api import Profile
from undwarf.column import absent, zeros
from undwarf.errors import NothingUsable, UnreadableInput
from undwarf.fleet.columns import arrow
from undwarf.fleet.database import Database
from undwarf.fleet.kernels.stack_lists import numbered, tree_of_lists
from undwarf.fleet.merging import lists
from undwarf.fleet.recording_tables import provenances
from undwarf.ordering import take
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
from undwarf.symbols.inlines import Inlines
from undwarf.symbols.resolver import UNKNOWN
from undwarf.unwind.stop_reason import StopReason

IDS = ("pid", "tid", "cpu")
"""Columns that sums are made by only where they are asked for."""
_STOPS = {one.name: int(one) for one in StopReason}
_SUMS = """
SELECT stack, comm, event, stop, stop_image{ids}, sum(period)::BIGINT AS period, count(*) AS samples
FROM samples GROUP BY ALL
"""
_STACKS = "SELECT id, any_value(frames) AS frames FROM stacks SEMI JOIN sums ON stacks.id = sums.stack GROUP BY id"
_FRAMES = """
SELECT f.id, any_value(f.image) AS image, any_value(f.code_offset) AS code_offset,
       any_value(f.is_return) AS is_return, any_value(f.provenance) AS provenance
FROM frames AS f GROUP BY f.id
"""
_NAMES = """
SELECT frame, arg_min(struct_pack(name := name, start := start, unnamed := unnamed, inlined := inlined),
                      (unnamed, -len(inlined), name, start)) AS symbol
FROM symbols SEMI JOIN used ON symbols.frame = used.id GROUP BY frame
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
    unnamed_images: int = 0


def stored_profile(database: Database, *, ids: Sequence[str] = (), inline: bool = True, lines: bool = False) -> Stored:
    """The profile of a database's samples. ``ids``: those of :data:`IDS` that are columns. Raises NothingUsable without
    samples, UnreadableInput for a damaged store."""
    query = _SUMS.format(ids="".join(f", {name}" for name in IDS if name in ids))
    database.connection.execute("DROP TABLE IF EXISTS sums")
    database.arrow(f"CREATE TEMP TABLE sums AS {query}")
    sums = database.arrow("FROM sums ORDER BY ALL")
    if not sums.num_rows:
        raise NothingUsable(
            f"no sample of {database.store.address} is in the span", "", "undwarf fleet query shows what is there"
        )
    about = _about(database)
    stack_rows = database.arrow(_STACKS)
    starts, frame_words = lists(stack_rows["frames"])
    number, first = numbered(frame_words)
    parent, frame, nodes = tree_of_lists(starts, number)
    frames, functions, images, inlines = _frames(database, _rows_of(frame_words, first))
    stacks = StackColumns(parent, frame)
    innermost = nodes
    if inline or lines:
        frames, functions, stacks, node_of = expanded(frames, functions, stacks, inlines, inline)
        innermost = take(node_of, nodes) if len(nodes) else nodes
        if not lines:
            frames.file = frames.line = None
    events, groups = _events(about)
    samples, comms = _samples(sums, stack_rows["id"], innermost, [event.name for event in events], images)
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


def _rows_of(hashes: memoryview, rows: memoryview) -> memoryview:
    """The hashes (Q, two words each) of some rows (I)."""
    found = zeros("Q", 2 * len(rows))
    for i, row in enumerate(rows):
        found[2 * i], found[2 * i + 1] = hashes[2 * row], hashes[2 * row + 1]
    return found


def _frames(
    database: Database, wanted: memoryview
) -> tuple[FrameColumns, FunctionTable, dict[bytes, ImageInfo], Inlines]:
    """(the frames with these hashes in their order, their functions, images by hash, inlined functions and lines)."""
    pa = arrow()
    count = len(wanted) // 2
    used = pa.table({"id": pa.Array.from_buffers(pa.binary(16), count, [None, pa.py_buffer(wanted)]).cast(pa.binary())})
    database.connection.register("used", used)
    rows = database.arrow(
        f"SELECT used.id, f.* EXCLUDE id, s.symbol FROM used "
        f"LEFT JOIN ({_FRAMES}) AS f ON used.id = f.id LEFT JOIN ({_NAMES}) AS s ON used.id = s.frame"
    )
    database.connection.unregister("used")
    if rows.num_rows != count:
        raise UnreadableInput(f"{database.store.address} is damaged", "frames are there more than once")
    order = {row: number for number, row in enumerate(_each(wanted))}
    images = _images(database)
    number_of = {image: number for number, image in enumerate(images)}
    kinds = {name: number for number, name in enumerate(provenances())}
    image, offset, provenance = absent("I", count), zeros("Q", count), zeros("B", count)
    is_return, function = zeros("B", count), zeros("I", count)
    functions: dict[tuple[str, int, int, bool], int] = {}
    starts, counts = zeros("I", count), zeros("I", count)
    names: dict[str, int] = {}
    files: dict[str, int] = {}
    name_of, file_of, line_of = array("I"), array("I"), array("I")
    columns = [rows[name].to_pylist() for name in ("id", "image", "code_offset", "is_return", "provenance", "symbol")]
    for id_, image_id, code_offset, returns, kind, symbol in zip(*columns, strict=True):
        i = order[id_]
        number = number_of.get(image_id, NONE) if image_id is not None else NONE
        image[i] = number
        offset[i] = max(code_offset or 0, 0)
        provenance[i] = kinds.get(kind or "", 0)
        is_return[i] = bool(returns)
        if symbol is None or symbol["name"] is None:
            key = (UNKNOWN, number, 0, True)
        else:
            key = (symbol["name"], number, max(symbol["start"] or 0, 0), bool(symbol["unnamed"]))
        function[i] = functions.setdefault(key, len(functions))
        starts[i] = len(name_of)
        for entry in (symbol["inlined"] or ()) if symbol is not None else ():
            if entry is None:
                continue
            name_of.append(names.setdefault(entry["name"], len(names)) if entry["name"] is not None else NONE)
            file_of.append(files.setdefault(entry["file"], len(files)) if entry["file"] is not None else NONE)
            line_of.append(min(max(entry["line"] or 0, 0), NONE))
        counts[i] = len(name_of) - starts[i]
    table = FunctionTable(
        [key[0] for key in functions],
        memoryview(array("I", [key[1] for key in functions])),
        memoryview(array("Q", [key[2] for key in functions])),
        memoryview(bytes(key[3] for key in functions)),
    )
    inlined = {
        "start": starts,
        "count": counts,
        "name": memoryview(name_of),
        "file": memoryview(file_of),
        "line": memoryview(line_of),
    }
    frames = FrameColumns(image, offset, provenance, function, None, zeros("B", count), is_return=is_return)
    return frames, table, images, Inlines(inlined, list(names), list(files))


def _each(hashes: memoryview) -> list[bytes]:
    text = bytes(hashes.cast("B"))
    return [text[at : at + 16] for at in range(0, len(text), 16)]


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
    sums: Any, stack_ids: Any, innermost: memoryview, events: list[str], images: dict[bytes, ImageInfo]
) -> tuple[SampleColumns, list[str]]:
    """(columns with an entry a sum, the names of threads)."""
    pa = arrow()
    count = sums.num_rows

    def index(column: Any, values: Any) -> memoryview:
        found = pa.compute.fill_null(
            pa.compute.index_in(column.combine_chunks(), value_set=values).cast(pa.uint32()), NONE
        )
        return _column(found, "I")

    comms = [text for text in pa.compute.unique(sums["comm"]).to_pylist() if text is not None]
    stack = index(sums["stack"], stack_ids.combine_chunks())
    event = index(sums["event"], pa.array(events, pa.string()))
    if NONE in event or stack.tolist().count(NONE) != sums["stack"].null_count:
        raise UnreadableInput("the store is damaged", "samples are of stacks or events that are not there")
    numbers = zeros("H", count)
    for i, number in enumerate(event):
        numbers[i] = number
    stop = zeros("B", count)
    for i, text in enumerate(sums["stop"].to_pylist()):
        stop[i] = _STOPS.get(text or "", StopReason.UNSTATED)
    nothing = absent("I", count).cast("B").cast("i")
    ids = {
        name: _column(pa.compute.fill_null(sums[name], -1).combine_chunks(), "i")
        if name in sums.column_names
        else nothing
        for name in IDS
    }
    columns = SampleColumns(
        time=zeros("Q", count),
        pid=ids["pid"],
        tid=ids["tid"],
        cpu=ids["cpu"],
        event=numbers,
        period=_column(pa.compute.max_element_wise(sums["period"], 0).combine_chunks(), "Q"),
        comm=index(sums["comm"], pa.array(comms, pa.string())),
        stack=look_up(stack, innermost),
        stop=stop,
        stop_image=index(sums["stop_image"], pa.array(list(images), pa.binary())),
        ip=zeros("Q", count),
        count=_column(sums["samples"].combine_chunks(), "Q"),
    )
    return columns, comms


def _column(values: Any, typecode: Any) -> memoryview:
    """A column of an Arrow array of numbers without nulls."""
    pa = arrow()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if not len(values):
        return zeros(typecode, 0)
    size = values.type.bit_width // 8
    data = memoryview(values.buffers()[1]).cast("B")
    return data[size * values.offset : size * (values.offset + len(values))].cast(typecode)
