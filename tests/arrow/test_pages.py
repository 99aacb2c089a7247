"""docs/reference/tables.md has the tables as they are, and every query of docs/how-to/queries.md runs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.commands import recording
from tests.support.perfdata.build import CALLCHAIN, IDENTIFIER, PLAIN, Attr, Build
from tests.support.perfdata.writing import event
from tests.support.profiles import S, make_profile
from tests.support.table_page import page
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

import undwarf
from undwarf.perfdata import feature_writer as encode
from undwarf.perfdata.features import Feature
from undwarf.profile.model import Profile
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.sql.database import Database

ROOT = Path(__file__).parent.parent.parent
SHIPPED = ROOT / "examples" / "recording"
PAGE = (ROOT / "docs" / "how-to" / "queries.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
LIST = """
struct node { long key; struct node *next; };
__attribute__((noinline)) long sum(struct node *n) { long s = 0; for (; n; n = n->next) s += n->key; return s; }
int main(int argc, char **argv) { return sum((struct node *)argv); }
"""
USER, KERNEL = (1 << 64) - 512, (1 << 64) - 128


class Source(NamedTuple):
    """A recording for queries, opened before."""

    name: str
    profile: Profile
    data_types: list[undwarf.DataTypes]


def two_threads() -> bytes:
    """Two threads: cpu-clock every 10 ms on CPUs 0 and 1, page faults of both, a wait of 3 ms of one."""
    build = Build()
    attrs = [
        Attr(sample_type=PLAIN | CALLCHAIN | IDENTIFIER, config=config, ids=[number])
        for number, config in ((1, 0), (2, 2), (3, 10))
    ]
    names = ("cpu-clock", "page-faults", "offcpu-time")
    described = [event(name, tuple(attr.ids), config=attr.config) for name, attr in zip(names, attrs, strict=True)]
    records = [
        build.task(attrs[0], 7, pid=10, ppid=5, tid=10, ptid=5, time=1_000_000),
        build.comm(attrs[0], b"serve", pid=10, tid=10, time=1_000_001, ident=1),
        build.comm(attrs[0], b"work", pid=10, tid=11, time=1_000_002, ident=1),
        build.mmap2(attrs[0], b"/nowhere/prog", time=1_000_003, ident=1),
    ]
    for number in range(20):
        chain = (USER, 0x400010 + 16 * (number % 2), 0x400100)
        records.append(
            build.sample(
                attrs[0], ip=chain[1], tid=10 + number % 2, time=2_000_000 + 10_000_000 * number, cpu=number // 2 % 2,
                period=10_000_000, ident=1, chain=chain,
            )
        )  # fmt: skip  # rows of fields
    for tid, ident, period in ((11, 2, 7), (10, 2, 1), (10, 3, 3_000_000)):
        chain = (USER, 0x400010, 0x400100)
        of_event = attrs[ident - 1]
        records.append(
            build.sample(of_event, ip=chain[1], tid=tid, time=250_000_000, period=period, ident=ident, chain=chain)
        )
    records.append(build.task(attrs[0], 4, pid=10, ppid=5, tid=10, ptid=5, time=2_001_000_000))
    return build.file(attrs, records, {Feature.EVENT_DESC: encode.event_desc(described)})


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Source]]:
    folder = tmp_path_factory.mktemp("queries")
    binary = build(folder, LIST, "list.c", "-O1")
    key, following = (place(binary, "sum", "struct node", member, "r") for member in ("key", "next"))
    typed = memory_recording(folder, binary, [{"ip": one} for one in (key, following, key)])
    (folder / "threads.data").write_bytes(two_threads())
    found = {}
    for name, path in (("words", SHIPPED / "words.data"), ("threads", folder / "threads.data"), ("list", typed)):
        with undwarf.open(path, symfs=SHIPPED if name == "words" else None) as recording:
            found[name] = Source(name, recording.profile(), [recording.data_types(event=0)])
    stops = [S("main@app f@app", stop=StopReason.TRUNCATED, stop_image="app"), S("f@app", stop=StopReason.ROOT)]
    found["cut"] = Source("cut", make_profile(stops), [])
    yield found


def answer(query: str, *sources: Source) -> list[tuple[Any, ...]]:
    return list(Database(query, sources).result().rows)


def query_with(text: str) -> str:
    (found,) = [query for query in QUERIES if text in query]
    return found


def test_the_page_has_at_least_twenty_questions() -> None:
    assert len(QUERIES) == PAGE.count("```sql") >= 20


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_the_page_finds_something(query: str, sources: dict[str, Source]) -> None:
    found = [answer(query, source) for source in sources.values()]
    assert any(found)


def test_tables_page_is_that_of_the_descriptions(request: pytest.FixtureRequest) -> None:
    path = ROOT / "docs" / "reference" / "tables.md"
    if request.config.getoption("--refresh"):
        path.write_text(page())
    assert path.read_text() == page(), "pytest --refresh writes the page anew"


def test_page_faults_by_function_and_thread(sources: dict[str, Source]) -> None:
    found = answer(query_with("page-faults%"), sources["threads"])
    assert [(comm, tid, faults) for comm, tid, _name, faults in found] == [("work", 11, 7), ("serve", 10, 1)]


def test_waits_by_thread(sources: dict[str, Source]) -> None:
    found = answer(query_with("offcpu-time"), sources["threads"])
    assert [(comm, waits, ms, longest) for comm, _tid, _name, waits, ms, longest in found] == [("serve", 1, 3.0, 3.0)]


def test_samples_per_second_of_a_thread(sources: dict[str, Source]) -> None:
    found = {(tid, event): rate for _comm, tid, event, rate in answer(query_with("per_second"), sources["threads"])}
    # Ten samples in the 180 ms between the first and the last one.
    assert found[10, "cpu-clock"] == pytest.approx(10 / 0.18)


def test_cpus_of_threads(sources: dict[str, Source]) -> None:
    assert [(tid, cpus) for _comm, tid, cpus in answer(query_with("DISTINCT cpu"), sources["threads"])] == [
        (10, 2),
        (11, 2),
    ]


def test_lifetimes_of_processes(sources: dict[str, Source]) -> None:
    assert answer(query_with("FROM processes"), sources["threads"]) == [(10, "serve", 5, 2, 2.0)]


def test_why_stacks_end(sources: dict[str, Source]) -> None:
    assert answer(query_with("NOT whole"), sources["cut"]) == [("TRUNCATED", "/opt/app/bin/app", 1)]


def test_share_of_whole_stacks_by_file(sources: dict[str, Source]) -> None:
    assert answer(query_with("whole_percent"), sources["words"]) == [("/demo/words", 1127, 100.0)]


def test_share_of_stacks_with_a_function(sources: dict[str, Source]) -> None:
    profile = sources["words"].profile
    count = sum("count_word" in [frame.name for frame in sample.stack] for sample in profile.samples)
    ((_event, share),) = answer(query_with("'count_word'"), sources["words"])
    assert share == pytest.approx(count / len(profile.samples), rel=0.01)


def test_a_recursive_function_by_its_times_in_a_stack(sources: dict[str, Source]) -> None:
    deepest = max(
        [frame.name for frame in sample.stack].count("merge_sort") for sample in sources["words"].profile.samples
    )
    assert answer(query_with("HAVING max(times)"), sources["words"]) == [("merge_sort", deepest)]


def test_members_of_a_type(sources: dict[str, Source]) -> None:
    assert answer(query_with("'struct node'"), sources["list"]) == [(0, "key", 2, 0), (8, "next", 1, 0)]


def test_two_recordings_side_by_side(sources: dict[str, Source]) -> None:
    old, new = sources["threads"], sources["words"]
    found = {name: (before, after) for name, _dso, before, after in answer(query_with("AS before"), old, new)}
    before, after = found["compare"]
    assert before is None
    assert after == pytest.approx(100 * 297 / 1127, abs=0.5)


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "perf.data").write_bytes(recording())
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    # The answers of DuckDB, polars, pandas and pyarrow.
    assert all(text in done.stdout for text in ("count_star()", "shape: (1, 2)", "Name: period", "total: [[15,15]]"))
