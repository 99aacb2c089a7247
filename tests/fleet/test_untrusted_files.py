"""Files of a store that somebody else has written: a clear error, or a report without what it may not print."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.fleets import SHIPPED, name_frames, take, write_host

from undwarf.errors import UnreadableInput
from undwarf.fleet.database import Database
from undwarf.fleet.layout import Partition
from undwarf.fleet.merging import read_table
from undwarf.fleet.store import Store
from undwarf.fleet.stored_profile import Stored, stored_profile
from undwarf.limits import DEFAULT
from undwarf.outputs import report, report_json
from undwarf.serve.page_parts import Described, PageParts
from undwarf.views.report import compute_report

Rows = list[dict[str, Any]]
ENTRY = pa.struct({"name": pa.string(), "file": pa.string(), "line": pa.int32()}.items())
BAD = "\x1b[2J<b>\x07\u202e\n"
HASH = pa.binary(16)
LONG = {"name": "f", "file": "", "line": 1}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of two recordings, one of them with source lines."""
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "one.data", "one"), str(SHIPPED / "words.data")])
    name_frames(store)
    return store


def alter(store: Store, table: str, change: Callable[[Rows], None], types: dict[str, pa.DataType]) -> None:
    """Change the rows of a table, whose columns get other types."""
    contents = store.contents()
    changed, files = [], []
    for where, listed in contents.partitions.items():
        for file in listed:
            if where.table != table:
                files.append(file)
                continue
            rows = read_table(table, store.read(file.path))
            schema = rows.schema
            for name, kind in types.items():
                schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
            entries = rows.to_pylist()
            change(entries)
            sink = pa.BufferOutputStream()
            pa.parquet.write_table(pa.Table.from_pylist(entries, schema=schema), sink, store_schema=False)
            changed.append(store.put(where, memoryview(sink.getvalue()).tobytes(), len(entries)))
    assert changed
    store.commit([*files, *changed], [commit.name for commit in contents.commits])


def put(column: str, value: Any) -> Callable[[Rows], None]:
    """Sets a column of all rows."""

    def change(rows: Rows) -> None:
        for row in rows:
            row[column] = value

    return change


def read(store: Store) -> Stored:
    database = Database(store)
    try:
        return stored_profile(database, ids=("pid", "tid", "cpu"), lines=True, ordered=True)
    finally:
        database.close()


def printed(stored: Stored) -> str:
    """All that a report and a page say of it."""
    sink = io.StringIO()
    keys = ("comm", "pid", "event", "dso", "sym", "srcline")
    for write in (report.write, report_json.write):
        found = compute_report(stored.profile, keys, min_share=0, groups=stored.groups, dump=stored.stack_dump)
        write(found, sink, report.ReportOptions(keys, percent_limit=0, tree_limit=0, lost=stored.lost))
    PageParts(Described("fleet", stored.stack_dump), stored.profile, "fleet").for_file(types=False)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("table", "change", "types", "why"),
    [
        ("stacks", put("frames", []), {}, "has no frames"),
        ("stacks", put("frames", None), {}, "has no frames"),
        ("stacks", put("frames", [None]), {}, "is missing"),
        ("stacks", put("id", None), {}, "is missing"),
        ("stacks", lambda rows: rows[0].update(frames=[bytes(16)] * 70_000), {}, "more than 65,536"),
        ("stacks", put("frames", [b"short"]), {"frames": pa.list_(pa.binary())}, "cannot read"),
        ("stacks", put("frames", ["x"]), {"frames": pa.list_(pa.string())}, "cannot read"),
        ("stacks", put("id", b"another stack..."), {}, "not there"),
        ("stacks", lambda rows: rows.clear(), {}, "not there"),
        ("samples", put("event", None), {}, "events that are not there"),
        ("samples", put("event", "other"), {}, "events that are not there"),
        ("samples", put("period", -1), {}, "below 0"),
        ("samples", put("period", None), {}, "is missing"),
        ("samples", put("period", (1 << 63) - 1), {}, "cannot read"),
        ("samples", put("period", "many"), {"period": pa.string()}, "cannot read"),
        ("samples", put("pid", 1 << 40), {"pid": pa.int64()}, "cannot read"),
        ("samples", put("stop_image", b"x"), {"stop_image": pa.binary()}, "cannot read"),
        ("samples", put("recording", None), {}, "of no recording"),
        ("recordings", put("events", None), {}, "events that are not there"),
        ("recordings", lambda rows: rows.clear(), {}, "of no recording"),
        ("frames", put("image", b"x"), {"image": pa.binary()}, "cannot read"),
        ("images", put("id", None), {}, "is missing"),
        ("symbols", lambda rows: rows[0].update(inlined=[LONG] * 70_000), {}, "more than 65,536"),
        ("symbols", lambda rows: rows.extend(rows[:]), {}, "named twice"),
    ],
)
def test_what_no_store_has_is_an_error(
    table: str, change: Callable[[Rows], None], types: dict[str, pa.DataType], why: str, store: Store
) -> None:
    alter(store, table, change, types)
    if why == "named twice":
        # Of several files, the best row counts.
        contents = store.contents()
        others = contents.files("symbols")[1:]
        store.commit(
            [file for listed in contents.partitions.values() for file in listed if file not in others],
            [commit.name for commit in contents.commits],
        )
    with pytest.raises(UnreadableInput, match=why):
        read(store)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("samples", put("comm", BAD)),
        ("samples", put("comm", None)),
        ("samples", put("host", None)),
        ("samples", put("time", None)),
        ("samples", put("stack", None)),
        ("samples", put("stop", "NEVER")),
        ("samples", put("stop_image", b"no such image...")),
        ("samples", put("pid", -7)),
        ("frames", lambda rows: rows.clear()),
        ("frames", put("image", None)),
        ("frames", put("image", b"no such image...")),
        ("frames", put("code_offset", -1)),
        ("frames", put("code_offset", None)),
        ("frames", put("is_return", None)),
        ("frames", put("provenance", "NEVER")),
        ("images", lambda rows: rows.clear()),
        ("images", put("name", BAD)),
        ("images", put("name", None)),
        ("images", put("kind", BAD)),
        ("images", put("problem", BAD)),
        ("symbols", put("name", BAD)),
        ("symbols", put("name", None)),
        ("symbols", put("start", -5)),
        ("symbols", put("unnamed", None)),
        ("symbols", put("inlined", None)),
        ("symbols", put("inlined", [{"name": BAD, "file": BAD, "line": -1}] * 2)),
        ("symbols", put("inlined", [None])),
        ("recordings", put("host", None)),
        ("recordings", put("lost", -1)),
        ("recordings", put("lost", (1 << 63) - 1)),
        ("recordings", put("stack_dump", None)),
        ("recordings", put("stitched", None)),
        ("recordings", put("unwind_order", [BAD, None])),
        ("recordings", lambda rows: rows.extend(rows[:])),
    ],
)
def test_the_rest_is_reported_without_what_a_terminal_would_do(
    table: str, change: Callable[[Rows], None], store: Store
) -> None:
    alter(store, table, change, {})
    stored = read(store)
    text = printed(stored)
    assert not {"\x1b", "\x07", "\u202e"}.intersection(text)
    assert stored.profile.samples.columns.total == 1177


def test_events_with_bad_names_are_escaped(store: Store) -> None:
    def rename(rows: Rows) -> None:
        for row in rows:
            row["events"] = [{**event, "name": BAD} for event in row["events"]]

    alter(store, "samples", put("event", BAD), {})
    alter(store, "recordings", rename, {})
    assert "\x1b" not in printed(read(store))


def test_bytes_that_are_no_text_are_replaced(store: Store) -> None:
    alter(store, "samples", put("comm", b"\xffa\x1b"), {"comm": pa.binary()})
    assert "\ufffda" in printed(read(store))


def test_images_are_bounded(store: Store) -> None:
    few = Store(store.address, DEFAULT._replace(store_images=1))
    with pytest.raises(UnreadableInput, match="more than 1 images"):
        read(few)


def test_a_stack_of_ten_million_frames_is_an_error(store: Store) -> None:
    count = 10_000_000
    rows = pa.table(
        {"id": pa.array([bytes(16)], HASH), "frames": pa.ListArray.from_arrays([0, count], pa.nulls(count, HASH))}
    )
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(rows, sink, store_schema=False)
    contents = memoryview(sink.getvalue()).tobytes()
    assert len(contents) < 100_000
    store.commit([store.put(Partition("stacks", "2026-11-28", "default"), contents, 1)])
    with pytest.raises(UnreadableInput, match="more than 65,536"):
        read(store)
    with pytest.raises(UnreadableInput, match="stacks and symbols have more than 1,000,000 values"):
        read(Store(store.address, DEFAULT._replace(store_values=1_000_000)))
