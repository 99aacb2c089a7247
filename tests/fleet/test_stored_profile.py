"""Reports of a store are those of its recordings."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.fleets import BUILD_ID, READING, RECORDINGS, SHIPPED, rows, take, write_host

from undwarf import Event, Mapping, PerfDataWriter
from undwarf.api import open_recording
from undwarf.errors import NothingUsable, UnreadableInput
from undwarf.fleet.compaction import compact
from undwarf.fleet.database import Database
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.frame_lookup import look_up
from undwarf.fleet.span import Span, parse
from undwarf.fleet.store import Store
from undwarf.fleet.stored_profile import Stored, stored_profile
from undwarf.fleet.symbols import MissingImage, missing
from undwarf.limits import DEFAULT
from undwarf.outputs import report, report_json
from undwarf.profile.model import Profile
from undwarf.serve.page_parts import Described, PageParts
from undwarf.views.report import compute_report


def stored(store: Store, span: Span | None = None, **options: bool) -> Stored:
    database = Database(store, span)
    try:
        return stored_profile(database, ids=("pid", "tid", "cpu"), **options)
    finally:
        database.close()


def unnamed(store: Store) -> list[MissingImage]:
    with closing(Database(store)) as database:
        return missing(database)


def texts(profile: Profile, keys: tuple[str, ...], dump: int, groups: tuple[tuple[int, ...], ...]) -> str:
    """The whole report, in words and as JSON, with both trees."""
    sink = io.StringIO()
    for graph in ("caller", "callee"):
        options = report.ReportOptions(keys, graph=graph, percent_limit=0, tree_limit=0, show_samples=True)
        found = compute_report(profile, keys, graph=graph, min_share=0, groups=groups, dump=dump)
        report.write(found, sink, options)
        report_json.write(found, sink, options)
    return sink.getvalue()


def groups_of(opened: object) -> tuple[tuple[int, ...], ...]:
    header = opened.header  # type: ignore[attr-defined]
    return tuple(tuple(range(leader, leader + members)) for _name, leader, members in header.groups if members > 1)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: Path(path).stem)
@pytest.mark.parametrize("keys", [("comm", "dso", "sym"), ("pid", "tid", "cpu", "event", "sym", "srcline")])
def test_the_report_of_one_recording_is_the_same(path: str, keys: tuple[str, ...], tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert not any(one.problem for one in take(store, [path]))
    lines = "srcline" in keys
    with open_recording(
        path, format="perf.data", symfs=READING.symfs, kallsyms=READING.kallsyms, cache=False
    ) as opened:
        expected = texts(opened.profile(lines=lines), keys, opened.stack_dump, groups_of(opened))
        lost = opened.records.lost
    found = stored(store, lines=lines)
    assert texts(found.profile, keys, found.stack_dump, found.groups) == expected
    assert found.lost == lost
    assert len(expected) > 500


def several_events(path: Path) -> str:
    """A recording of a group of events and one without call chains, in the kernel alone and beyond the stack's end."""
    events = [Event("cpu-clock"), Event("task-clock"), Event("page-faults")]
    with path.open("wb") as sink, PerfDataWriter(sink, events, hostname="one", osrelease="6.1") as writer:
        writer.comm(7, 7, "server")
        writer.mapping(7, Mapping(0x400000, 0x500000, 0, "/srv/server", build_id=BUILD_ID))
        kernel = 0xFFFFFFFF81000000
        writer.mapping(-1, Mapping(kernel, kernel + 0x1000000, kernel, "[kernel.kallsyms]_text"))
        for number in range(60):
            call = 0x400100 + 16 * (number % 3)
            time = 10**9 + 1000 * number
            writer.sample(call, 7, 7, time, event=number % 3, period=1 + number, callchain=[call, 0x400800])
            writer.sample(kernel + number, 7, 8, time, event=1, period=5, kernel_callchain=[kernel + number])
            writer.sample(0x90000000, 9, 9, time, event=2, period=0, callchain=[])
    return str(path)


def cut_short(path: Path) -> str:
    """A recording of which the end is missing."""
    path.write_bytes((SHIPPED / "requests.data").read_bytes()[:60_000])
    return str(path)


def damaged(path: Path) -> str:
    """A recording with wrong bytes."""
    contents = bytearray((SHIPPED / "requests.data").read_bytes())
    for at in range(20_000, len(contents), 7001):
        contents[at] ^= 0x55
    path.write_bytes(contents)
    return str(path)


@pytest.mark.parametrize("make", [several_events, cut_short, damaged])
@pytest.mark.parametrize("keys", [("comm", "dso", "sym"), ("pid", "tid", "cpu", "event", "sym", "srcline")])
def test_the_report_of_an_unusual_recording_is_the_same(
    make: Callable[[Path], str], keys: tuple[str, ...], tmp_path: Path
) -> None:
    test_the_report_of_one_recording_is_the_same(make(tmp_path / "one.data"), keys, tmp_path / "store")


def test_without_inlined_functions_too(tmp_path: Path) -> None:
    path = str(SHIPPED / "words.data")
    store = Store(str(tmp_path))
    take(store, [path])
    with open_recording(path, format="perf.data", symfs=READING.symfs, cache=False) as opened:
        expected = texts(opened.profile(inline=False), ("sym",), opened.stack_dump, ())
    assert texts(stored(store, inline=False).profile, ("sym",), opened.stack_dump, ()) == expected


def test_a_flame_graph_is_the_same_each_time_and_counts_samples(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    take(store, RECORDINGS)
    pages = []
    for _run in range(2):
        parts = PageParts(Described("fleet", 0), stored(store, ordered=True).profile, "fleet")
        pages.append(parts.for_file(types=False)["profile"])
    assert pages[0] == pages[1]
    assert [(sum(parts.page.part.columns["row_count"]),)] == rows(store, "SELECT count(*) FROM samples")


def weights_of_stacks(profile: Profile) -> dict[tuple[object, ...], list[int]]:
    """What the page of a flame graph shows: by names of frames, thread and event, samples and weight."""
    part = PageParts(Described("one", 0), profile, "one").page.part
    columns, values = part.columns, part.values
    found: dict[tuple[object, ...], list[int]] = {}
    counts = columns["row_count"] if len(columns["row_count"]) else [1] * len(columns["row_node"])
    rows = zip(*(columns[f"row_{name}"] for name in ("node", "thread", "event", "weight")), counts, strict=True)
    for node, thread, event, weight, count in rows:
        path = []
        while node < len(columns["node_parent"]):
            frame = columns["node_frame"][node]
            image = values["images"][columns["frame_image"][frame]]["path"]
            path.append((values["functions"][columns["frame_function"][frame]], image))
            node = columns["node_parent"][node]
        key = (*path, values["threads"][thread]["name"], values["events"][event]["name"])
        sums = found.setdefault(key, [0, 0])
        sums[0] += count
        sums[1] += weight
    return found


@pytest.mark.parametrize("name", ["requests", "particles"])
def test_a_flame_graph_has_the_stacks_of_the_recording(name: str, tmp_path: Path) -> None:
    path = str(SHIPPED / f"{name}.data")
    store = Store(str(tmp_path))
    take(store, [path])
    with open_recording(path, symfs=READING.symfs, kallsyms=READING.kallsyms, cache=False) as opened:
        expected = weights_of_stacks(opened.profile())
    assert weights_of_stacks(stored(store).profile) == expected
    assert len(expected) > 1


def test_a_day_has_the_samples_of_recordings_that_began_the_day_before(tmp_path: Path) -> None:
    path = write_host(tmp_path / "one.data", "one", samples=100)
    midnight = 1_795_824_000
    os.utime(path, (midnight + 0.05, midnight + 0.05))
    store = Store(str(tmp_path / "store"))
    take(store, [path], team="red")
    for text in ("2026-11-27", "2026-11-28", "2026-11-28,team=red"):
        found = stored(store, parse(text))
        assert (found.profile.samples.columns.total, found.recordings) == (50, 1)


def test_recordings_are_added_up(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / f"{n}.data", f"host-{n}", samples=30 * n) for n in (1, 2, 3)], size=1)
    for _state in ("many files", "compacted"):
        found = stored(store)
        assert (found.profile.samples.columns.total, found.recordings, found.hosts) == (180, 3, 3)
        assert sum(found.profile.samples.columns.period) == 180_000
        compact(store, LocalWorkers(0), grace=0)


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("host=host-1", 30),
        ("host=host-1|host-3", 120),
        ("host=host-?", 180),
        ("service=web", 180),
        ("service=w*,team=red", 180),
        ("2026-11-28", 180),
        ("2026-11-28T00:00:00.995..2026-11-28T00:00:01,host=host-3", 5),
        ("..2026-11-27", 0),
        ("team=blue", 0),
        ("host=[h]ost-1", 0),
        ("host=host-1' OR true --", 0),
    ],
)
def test_a_span_chooses_samples(text: str, samples: int, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    paths = [write_host(tmp_path / f"{n}.data", f"host-{n}", samples=30 * n) for n in (1, 2, 3)]
    for path in paths:
        os.utime(path, (1_795_824_001, 1_795_824_001))
    take(store, paths, service="web", team="red")
    if samples:
        assert stored(store, parse(text)).profile.samples.columns.total == samples
    else:
        with pytest.raises(NothingUsable, match="is in the span"):
            stored(store, parse(text))


def test_files_that_are_missing_are_listed_and_can_be_given_later(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    take(store, [str(SHIPPED / "words.data")], names=False)
    assert "demo/words" in {image.name.partition("/")[2] for image in unnamed(store)}
    assert "count_word" not in stored(store).profile.functions.name
    found = look_up(store, LocalWorkers(0), READING._replace(symfs=None), [str(SHIPPED / "demo" / "words")])
    assert found.named > 0
    assert "count_word" in stored(store).profile.functions.name
    assert "/demo/words" not in {image.name for image in unnamed(store)}
    assert not look_up(store, LocalWorkers(0), READING._replace(symfs=None), [str(SHIPPED / "demo" / "words")]).named


def test_frames_of_missing_files_are_unknown(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "one.data", "one")])
    (image,) = unnamed(store)
    assert (image.name, image.build_id, len(image.frames)) == ("/srv/server", BUILD_ID, 5)
    assert stored(store).profile.functions.name == ["[unknown]"]


def test_samples_without_their_stacks_are_an_error(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "one.data", "one")])
    contents = store.contents()
    store.commit(
        [file for where, files in contents.partitions.items() if where.table != "stacks" for file in files],
        [commit.name for commit in contents.commits],
    )
    with pytest.raises(UnreadableInput, match="stacks that are not there"):
        stored(store)


def test_what_is_read_at_once_is_bounded(tmp_path: Path) -> None:
    paths = [write_host(tmp_path / f"{n}.data", f"host-{n}") for n in range(2)]
    take(Store(str(tmp_path / "store")), paths, size=1)
    few = Store(str(tmp_path / "store"), DEFAULT._replace(store_values=10))
    with pytest.raises(UnreadableInput, match="stacks and symbols have more than 10 values"):
        stored(few)
    with pytest.raises(UnreadableInput, match="has more than 10 values"):
        compact(few, LocalWorkers(0), grace=0)
    with pytest.raises(UnreadableInput, match="more than 2"):
        stored(Store(str(tmp_path / "store"), DEFAULT._replace(store_depth=2)))


def test_files_with_other_columns_are_an_error(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "one.data", "one")])
    (stacks,), (frames,) = store.contents().files("stacks"), store.contents().files("frames")
    store.write(stacks.path, store.read(frames.path))
    with pytest.raises(UnreadableInput, match="cannot read"):
        stored(store)


def test_files_that_are_no_parquet_are_an_error(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "one.data", "one")])
    for file in store.contents().files("stacks"):
        store.write(file.path, b"PAR1" + bytes(40) + b"PAR1")
    with pytest.raises(UnreadableInput, match="cannot read"):
        stored(store)


def test_stacks_with_the_same_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    take(store, RECORDINGS)
    keys = ("comm", "sym")
    expected = texts(stored(store).profile, keys, 0, ())
    monkeypatch.setattr("undwarf.fleet.stored_profile._HASHES", ("hash({}) % 1000", "hash({}, 5)"))
    assert texts(stored(store).profile, keys, 0, ()) == expected
    monkeypatch.setattr("undwarf.fleet.stored_profile._HASHES", ("hash({}) % 1000",))
    with pytest.raises(UnreadableInput, match="the same hash"):
        stored(store)


def test_a_report_imports_no_library_but_duckdb(tmp_path: Path) -> None:
    take(Store(str(tmp_path)), [str(SHIPPED / "words.data")])
    program = (
        "import sys; from undwarf.cli.main import run; run(['fleet', 'report', sys.argv[1]]);"
        "print(*{'pyarrow', 'numpy', 'fsspec', 'polars', 'dask'}.intersection(sys.modules), 'and no more')"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "and no more"
