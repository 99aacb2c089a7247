"""The profile's tables, as Arrow consumers take them."""

import gc
import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest
from tests.support.profiles import S, make_profile
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

import undwarf
from undwarf.arrow.stream import Array, Field, stream
from undwarf.column import zeros
from undwarf.ordering import ascending
from undwarf.profile.stack_order import depth_first
from undwarf.profile.table_descriptions import FIELDS, PROFILE_TABLES, TYPES
from undwarf.profile.tables import ROWS
from undwarf.unwind.stop_reason import StopReason

SHIPPED = Path(__file__).parent.parent.parent / "examples" / "recording"
LIST = """
struct node { long key; struct node *next; };
__attribute__((noinline)) long sum(struct node *n) { long s = 0; for (; n; n = n->next) s += n->key; return s; }
int main(int argc, char **argv) { return sum((struct node *)argv); }
"""
NAMES = [description.name for description in PROFILE_TABLES]


@pytest.fixture(scope="module")
def profile() -> Iterator[undwarf.Profile]:
    with undwarf.open(SHIPPED / "words.data", symfs=SHIPPED) as recording:
        yield recording.profile(runtime=True)


def rows_of(table: Any) -> list[dict[str, Any]]:
    return pyarrow.table(table).to_pylist()


def selected(held: Any) -> list[tuple[Any, ...]]:
    """All rows as DuckDB reads them, which finds the table by its variable's name."""
    return duckdb.sql("SELECT * FROM held").fetchall()


CONSUMERS: dict[str, Callable[[Any], int]] = {
    "pyarrow": lambda table: pyarrow.table(table).num_rows,
    "polars": lambda table: len(polars.DataFrame(table)),
    "pandas": lambda table: len(pandas.DataFrame.from_arrow(table)),
    "duckdb": lambda table: len(selected(table)),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_consumer_takes_all_rows_of_a_table(profile: undwarf.Profile, name: str, consumer: str) -> None:
    table = getattr(profile, name)
    count = len(list(table.as_table().rows()))
    assert count > 0
    assert CONSUMERS[consumer](table) == count


@pytest.mark.parametrize("name", NAMES)
def test_all_consumers_read_the_same_values(profile: undwarf.Profile, name: str) -> None:
    table = getattr(profile, name)
    rows = list(table.as_table().rows())
    assert [tuple(row.values()) for row in rows_of(table)] == rows
    assert polars.DataFrame(table).rows() == rows
    assert selected(table) == rows
    frame = pandas.DataFrame.from_arrow(table)
    assert frame.astype(object).where(frame.notna(), None).values.tolist() == [list(row) for row in rows]


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_the_described_names_and_types(profile: undwarf.Profile, name: str) -> None:
    description = next(one for one in PROFILE_TABLES if one.name == name)
    found = pyarrow.table(getattr(profile, name)).schema
    words = {"name": "dictionary<values=large_string, indices=int32, ordered=0>"}
    assert {one.name: str(one.type) for one in found} == {
        column.name: words.get(column.type, column.type) for column in description.columns
    }


@pytest.mark.parametrize("column", ["time", "period", "pid", "cpu", "stack", "ip", "addr"])
def test_a_column_of_samples_is_not_copied(profile: undwarf.Profile, column: str) -> None:
    import numpy

    native = numpy.asarray(getattr(profile.samples.columns, column))
    taken = pyarrow.table(profile.samples)[column].chunk(0)
    assert taken.buffers()[1].address == native.__array_interface__["data"][0]


def test_samples_are_those_of_the_objects(profile: undwarf.Profile) -> None:
    for row, sample in zip(rows_of(profile.samples), profile.samples, strict=True):
        assert (row["time"], row["tid"], row["period"], row["comm"], row["name"]) == (
            sample.time, sample.tid, sample.period, sample.comm, sample.stack[0].name,
        )  # fmt: skip  # a table


def test_stack_frames_are_those_of_the_objects(profile: undwarf.Profile) -> None:
    frames = rows_of(profile.frames)
    found: dict[int, list[tuple[str, int]]] = {}
    for row in rows_of(profile.stack_frames):
        stack = found.setdefault(row["stack"], [])
        assert row["depth"] == len(stack)
        stack.append((frames[row["frame"]]["name"], frames[row["frame"]]["address"]))
    nodes = set(profile.samples.stack)
    assert found == {node: [(frame.name, frame.address.lookup) for frame in profile.stack(node)] for node in nodes}


def test_positions_of_stacks_nest_as_the_tree_does(profile: undwarf.Profile) -> None:
    stacks = rows_of(profile.stacks)
    assert sorted(row["first"] for row in stacks) == list(range(len(stacks)))
    below = Counter[int]()
    for row in stacks:
        node = row["id"]
        while node is not None:
            below[node] += 1
            node = stacks[node]["parent"]
    assert all(row["last"] - row["first"] + 1 == below[row["id"]] for row in stacks)
    assert all(stacks[row["parent"]]["first"] < row["first"] for row in stacks if row["depth"])


def test_weights_of_stacks_are_sums_over_the_samples_of_an_event() -> None:
    samples = [S("f@app g@app", 3), S("f@app g@app", 4), S("f@app", 5), S("f@app", 100, event=1)]
    profile = make_profile(samples, events=("cycles", "faults"))
    rows = rows_of(profile.stack_weights)
    columns = ("event", "name", "self", "total", "self_samples", "total_samples")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("cycles", "f", 5, 12, 1, 3),
        ("cycles", "g", 7, 7, 2, 2),
        ("faults", "f", 100, 100, 1, 1),
    ]


def test_a_function_is_recursive_below_itself_in_one_file() -> None:
    profile = make_profile([S("f@app g@app f@app f@libc g@app"), S("g@app")])
    found = [(row["name"], row["dso"], row["recursive"]) for row in rows_of(profile.stacks)]
    assert found == [
        ("f", "/opt/app/bin/app", False),
        ("g", "/opt/app/bin/app", False),
        ("f", "/opt/app/bin/app", True),
        ("f", "/lib/libc.so.6", False),
        ("g", "/opt/app/bin/app", True),
        ("g", "/opt/app/bin/app", False),
    ]


def test_missing_values_are_null() -> None:
    sample = S("f@app", comm=None, pid=-1, tid=-1, cpu=-1, time=0, stop=StopReason.NONE)
    row = rows_of(make_profile([sample]).samples)[0]
    missing = ("time", "pid", "tid", "comm", "cpu", "whole", "stop_dso", "ip", "addr", "weight", "cgroup")
    assert {name: row[name] for name in missing} == dict.fromkeys(missing)
    assert row["name"] == "f"


@pytest.mark.parametrize("samples", [[], [S("f@app")] * 3])
def test_addresses_of_buffers_are_aligned(samples: list[S]) -> None:
    table = pyarrow.table(make_profile(samples).samples)
    for column in table.columns:
        for chunk in column.chunks:
            parts = [chunk.indices, chunk.dictionary] if isinstance(chunk, pyarrow.DictionaryArray) else [chunk]
            buffers = [buffer for part in parts for buffer in part.buffers()[:2] if buffer is not None]
            assert all(buffer.address % 8 == 0 for buffer in buffers)


def test_a_column_without_names_has_a_dictionary_all_the_same() -> None:
    files = pyarrow.table(make_profile([S("f@app")]).frames)["file"].chunk(0)
    assert files.to_pylist() == [None]
    assert len(files.dictionary) == 1


def test_names_that_are_null_have_an_index_that_exists() -> None:
    samples = make_profile([S("f@app", comm=None), S("f@app", comm="a"), S("f@app", comm="b")]).samples
    column = pyarrow.table(samples)["comm"].chunk(0)
    assert memoryview(column.buffers()[1]).cast("i").tolist()[:3] == [0, 0, 1]
    assert polars.DataFrame(samples)["comm"].to_list() == [None, "a", "b"]


def test_samples_without_frames_have_null_names() -> None:
    row = rows_of(make_profile([S(""), S("f@app")]).samples)[0]
    assert (row["stack"], row["name"], row["dso"]) == (None, None, None)


@pytest.mark.parametrize(
    ("stop", "whole"),
    [
        (StopReason.ROOT, True),
        (StopReason.FIBER_ROOT, True),
        (StopReason.TRUNCATED, False),
        (StopReason.NONE, None),
        (StopReason.NO_DUMP, None),
    ],
)
def test_whole_is_whether_the_root_is_reached(stop: StopReason, whole: bool | None) -> None:
    row = rows_of(make_profile([S("f@app", stop=stop)]).samples)[0]
    assert (row["stop"], row["whole"]) == (stop.name, whole)


def test_names_of_two_events_may_be_equal() -> None:
    samples = make_profile([S("f@app"), S("f@app", event=1)], events=("cycles", "cycles")).samples
    assert pyarrow.table(samples)["event"].to_pylist() == ["cycles", "cycles"]
    assert pandas.DataFrame.from_arrow(samples)["event"].tolist() == ["cycles", "cycles"]


def test_names_that_are_no_unicode_are_escaped() -> None:
    samples = make_profile([S("f@app", comm="a\udc80b")]).samples
    assert pyarrow.table(samples)["comm"].to_pylist() == ["a\\udc80b"]


def test_an_empty_profile_has_empty_tables() -> None:
    profile = make_profile([])
    counts = {name: pyarrow.table(getattr(profile, name)).num_rows for name in NAMES}
    # One event is described, though it has no samples.
    assert counts == {**dict.fromkeys(NAMES, 0), "events": 1}
    assert len(polars.DataFrame(profile.samples)) == 0


def test_images_and_events_still_are_sequences(profile: undwarf.Profile) -> None:
    assert profile.events[0].name == "task-clock:u"
    assert [image.name for image in profile.images][:1] == ["/demo/words"]
    assert profile.images[0] in profile.images
    assert profile.images == list(profile.images)
    assert len(profile.images[1:]) == len(profile.images) - 1


def test_a_derived_profile_has_tables_of_its_own_names(profile: undwarf.Profile) -> None:
    few = profile.derived(samples=profile.samples.columns.rows(ascending(3)))
    assert pyarrow.table(few.samples).num_rows == 3
    assert few.frames.profile is few
    assert profile.frames.profile is profile


def test_processes_are_those_of_the_records(profile: undwarf.Profile) -> None:
    process = profile.processes[0]
    assert (process.comm, process.parent, process.start) == ("words", None, None)
    assert process.threads == {process.pid: "words"}
    assert process.pid == profile.samples[0].pid
    assert process.end is not None
    assert process.end > max(profile.samples.time)


def test_data_types_are_tables(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O1")
    key, following = (place(binary, "sum", "struct node", member, "r") for member in ("key", "next"))
    data = memory_recording(tmp_path, binary, [{"ip": one} for one in (key, following, key)])
    with undwarf.open(data) as recording:
        found = recording.data_types(weight="samples")
    types, fields = rows_of(found.types), rows_of(found.fields)
    assert [(row["name"], row["size"], row["weight"]) for row in types] == [("struct node", 16, 3)]
    assert {(row["type"], row["offset"], row["name"], row["weight"]) for row in fields} == {
        (0, 0, "key", 2),
        (0, 8, "next", 1),
    }
    assert list(types[0]) == [column.name for column in TYPES.columns]
    assert list(fields[0]) == [column.name for column in FIELDS.columns]


def test_columns_outlive_the_profile() -> None:
    taken = pyarrow.table(make_profile([S("f@app", time=1234)]).samples)
    gc.collect()
    assert taken["time"].to_pylist() == [1234]


def test_a_column_of_its_own_frees_its_memory() -> None:
    samples = make_profile([S("f@app")]).samples
    pyarrow.table(samples)
    before = len(gc.get_objects())
    for _round in range(50):
        pyarrow.table(samples)
        polars.DataFrame(samples)
    gc.collect()
    assert len(gc.get_objects()) < before + 50


def test_what_fails_in_a_stream_is_the_consumers_error() -> None:
    def batches() -> Iterator[list[Array]]:
        yield [Array(1, (None, zeros("I", 1)))]
        raise ValueError("no more memory for rows")

    class Broken:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return stream([Field("id", "I")], batches())

    with pytest.raises(OSError, match="ValueError: no more memory for rows"):
        pyarrow.table(Broken())


def test_columns_of_different_lengths_are_no_batch() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            columns = [Array(length, (None, zeros("I", length))) for length in (1, 2)]
            return stream([Field("a", "I"), Field("b", "I")], iter([columns]))

    with pytest.raises(OSError, match="differ in length"):
        pyarrow.table(Broken())


def test_a_stream_that_nobody_reads_is_freed() -> None:
    samples = make_profile([S("f@app")]).samples
    capsules = [samples.__arrow_c_stream__() for _round in range(10)] + [samples.__arrow_c_schema__()]
    del capsules
    assert pyarrow.table(samples).num_rows == 1


def test_long_tables_come_in_batches(monkeypatch: pytest.MonkeyPatch, profile: undwarf.Profile) -> None:
    from undwarf.profile import tables

    assert ROWS > 1000
    monkeypatch.setattr(tables, "ROWS", 1000)
    table = pyarrow.table(profile.stack_frames)
    assert table["stack"].num_chunks == -(-table.num_rows // 1000) > 1


def test_importing_undwarf_imports_no_consumer() -> None:
    code = """
import sys
import undwarf
with undwarf.open(sys.argv[1], symfs=sys.argv[2]) as recording:
    recording.profile().samples.__arrow_c_stream__()
print([name for name in ("duckdb", "polars", "pyarrow", "nanoarrow", "numpy", "pandas") if name in sys.modules])
"""
    arguments = [sys.executable, "-c", code, str(SHIPPED / "words.data"), str(SHIPPED)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_nodes_without_a_function_are_not_recursive() -> None:
    none = 0xFFFFFFFF
    parents, functions = (memoryview(array("I", column)) for column in ([none, 0, 1, 2], [0, none, none, 0]))
    depth, first, last, recursive = depth_first(parents, functions, 1)
    assert (list(depth), list(first), list(last)) == ([0, 1, 2, 3], [0, 1, 2, 3], [3, 3, 3, 3])
    assert list(recursive) == [0, 0, 0, 1]
