"""What a store holds: recordings once, in files that DuckDB and polars read."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import duckdb
import polars
import pytest
from tests.support.fleets import RECORDINGS, SHIPPED, files_of, rows, take, write_host

from undwarf import Event, Mapping, PerfDataWriter
from undwarf.errors import UndwarfError, UnreadableInput, UsageError
from undwarf.fleet.compaction import compact
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.ingest import Reading, chunks, incoming, ingest_all
from undwarf.fleet.labels import of_cgroup
from undwarf.fleet.layout import TABLES, Partition, partition_of, schema
from undwarf.fleet.store import Commit, Contents, DataFile, Store
from undwarf.limits import DEFAULT

DOCS = Path(__file__).parents[2] / "docs"
HERE = LocalWorkers(0)
SAMPLES = "SELECT count(*), sum(period) FROM samples"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def hosts(folder: Path, count: int = 4) -> list[str]:
    return [write_host(folder / f"{number}.data", f"host-{number}") for number in range(count)]


def test_a_recording_counts_once(store: Store, tmp_path: Path) -> None:
    path = write_host(tmp_path / "one.data", "one")
    copy = tmp_path / "two.data"
    copy.write_bytes(Path(path).read_bytes())
    (first,) = take(store, [path])
    assert first.samples == 50
    assert [one.known for one in take(store, [path, str(copy)])] == [True, True]
    assert rows(store, SAMPLES) == [(50, 50_000)]


def test_one_that_two_processes_take_at_once_counts_once(store: Store, tmp_path: Path) -> None:
    paths = hosts(tmp_path, 3)
    for other, part in (("a", paths[:2]), ("b", paths[1:])):
        take(Store(str(tmp_path / other)), part)
        for path, contents in files_of(Store(str(tmp_path / other))).items():
            store.write(path, contents)
    assert rows(store, SAMPLES) == [(150, 150_000)]
    assert rows(store, "SELECT count(*) FROM recordings") == [(3,)]
    compact(store, HERE, grace=0)
    assert rows(store, SAMPLES) == [(150, 150_000)]


def test_stacks_of_hosts_are_the_same_rows(store: Store, tmp_path: Path) -> None:
    take(store, hosts(tmp_path), size=1)
    assert len(store.contents().files("samples")) == 4
    assert rows(store, "SELECT count(*), count(DISTINCT id) FROM stacks") == [(3, 3)]
    assert rows(store, "SELECT host, count(*) FROM samples GROUP BY host ORDER BY host") == [
        (f"host-{number}", 50) for number in range(4)
    ]


@pytest.mark.parametrize(("size", "limit", "files"), [(1, 2 << 20, 8), (3, 2 << 20, 8), (2, 500, 13)])
def test_compaction_makes_the_same_files_however_recordings_came(
    size: int, limit: int, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("undwarf.fleet.compaction.ROWS", limit)
    paths = [*hosts(tmp_path, 5), *(shutil.copy(path, tmp_path) for path in RECORDINGS)]
    for path in paths:
        # The day of the one that has a clock of its own.
        os.utime(path, (1_795_900_000, 1_795_900_000))
    one, other = Store(str(tmp_path / "one")), Store(str(tmp_path / "other"))
    take(one, paths)
    for path in reversed(paths):
        take(other, [path], size=size)
    for store in (one, other):
        compact(store, HERE, grace=0)
    assert files_of(one) == files_of(other)
    assert len(files_of(one)) == files


def test_compaction_of_many_samples_makes_files_of_some_hosts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(store, hosts(tmp_path, 8), size=2)
    before = rows(store, "SELECT * FROM samples ORDER BY ALL")
    monkeypatch.setattr("undwarf.fleet.compaction.ROWS", 100)
    compact(store, HERE, grace=0)
    assert len(store.contents().files("samples")) > 1
    assert rows(store, "SELECT * FROM samples ORDER BY ALL") == before
    assert not compact(store, HERE, grace=0).removed


def test_files_that_are_replaced_stay_for_readers(store: Store, tmp_path: Path) -> None:
    take(store, hosts(tmp_path), size=1)
    before = store.contents()
    compact(store, HERE, grace=3600)
    assert all(store.read(file.path) for files in before.partitions.values() for file in files)
    assert compact(store, HERE, grace=0).removed > 8
    assert {path for path in store.found("") if not path.startswith("commits/")} == store.contents().listed


def test_what_no_commit_lists_is_not_there(store: Store, tmp_path: Path) -> None:
    take(store, hosts(tmp_path, 1))
    before = rows(store, SAMPLES)
    for path in store.found("commits"):
        store.remove([path])
    with pytest.raises(UndwarfError, match="has no recordings"):
        rows(store, SAMPLES)
    take(store, hosts(tmp_path, 1))
    assert rows(store, SAMPLES) == before


def test_days_are_partitions(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "one.data"
    write_host(path, "one", samples=100)
    midnight = 1_795_824_000
    os.utime(path, (midnight + 0.05, midnight + 0.05))
    take(store, [str(path)], service="a/b=c")
    assert rows(store, "SELECT day::VARCHAR, service, count(*) FROM samples GROUP BY ALL ORDER BY ALL") == [
        ("2026-11-27", "a/b=c", 50),
        ("2026-11-28", "a/b=c", 50),
    ]
    compact(store, HERE, grace=0, first_day="2026-11-28")
    assert rows(store, SAMPLES) == [(50, 50_000)]


def test_duckdb_reads_the_files_without_pyarrow(store: Store, tmp_path: Path) -> None:
    take(store, [*hosts(tmp_path), str(SHIPPED / "words.data")], service="web")
    compact(store, HERE, grace=0)
    program = f"""
import sys
sys.modules["pyarrow"] = None
import duckdb
found = {{}}
for table in {TABLES!r}:
    files = "{store.root}/" + table + "/**/*.parquet"
    if table != "types":
        found[table] = duckdb.sql(f"SELECT count(*) FROM read_parquet('{{files}}')").fetchall()[0][0]
print(found)
root = "{store.root}"
print(duckdb.sql(f'''
SELECT s.service, count(*) FROM read_parquet('{{root}}/samples/*/*/*.parquet') AS s
JOIN read_parquet('{{root}}/stacks/*/*/*.parquet') AS t ON s.stack = t.id
JOIN read_parquet('{{root}}/frames/*/*/*.parquet') AS f ON t.frames[-1] = f.id
WHERE f.code_offset = 256 AND host LIKE 'host-%' GROUP BY ALL''').fetchall())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert {"recordings": 5, "samples": 1327}.items() <= json.loads(first.replace("'", '"')).items()
    assert len(json.loads(first.replace("'", '"'))) == 6
    assert second == "[('web', 68)]"


def test_duckdb_runs_the_sql_of_the_documents_without_pyarrow(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "profiles"))
    take(store, [*hosts(tmp_path), str(SHIPPED / "words.data")], service="web")
    text = (DOCS / "reference" / "fleet-layout.md").read_text() + (DOCS / "how-to" / "fleet.md").read_text()
    # What asks for undwarf's own functions runs in `undwarf fleet query`.
    blocks = [one for one in re.findall(r"```(?:sql|python)\n(.*?)```", text, re.DOTALL) if "accesses()" not in one]
    program = "import sys; sys.modules['pyarrow'] = None; import duckdb; found = []\n"
    for block in blocks:
        for query in re.findall(r'duckdb.sql\(\s*"(.*?)"\s*\)', block, re.DOTALL) or [block]:
            program += f"found.append(duckdb.sql({query!r}))\nprint(found[-1] and found[-1].fetchall())\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[('web', 1327)]", "[('web', 1327)]"]


@pytest.mark.parametrize("table", TABLES)
def test_polars_reads_the_values_that_duckdb_reads(table: str, store: Store, tmp_path: Path) -> None:
    take(store, [*hosts(tmp_path, 2), *RECORDINGS], service="web", team="red")
    for file in store.contents().files(table):
        path = store.full(file.path)
        plain = partial(_plain, maps={"labels", "damage"}.intersection(schema(table).names))
        ours = [plain(row) for row in polars.read_parquet(path, hive_partitioning=False).iter_rows(named=True)]
        found = duckdb.sql(f"FROM read_parquet('{path}', hive_partitioning = false)")
        theirs = [plain(dict(zip(found.columns, row, strict=True))) for row in found.fetchall()]
        assert ours == theirs
        assert len(ours) == file.rows > 0


def _plain(row: dict[str, object], maps: set[str]) -> dict[str, object]:
    """A row in which maps are dictionaries: polars has them as lists of entries."""
    return {
        name: {one["key"]: one["value"] for one in value} if name in maps and isinstance(value, list) else value
        for name, value in row.items()
    }


def test_polars_reads_the_files(store: Store, tmp_path: Path) -> None:
    take(store, hosts(tmp_path), service="web")
    compact(store, HERE, grace=0)
    for table in TABLES:
        for file in store.contents().files(table):
            found = polars.read_parquet(store.full(file.path), hive_partitioning=False)
            assert found.columns == schema(table).names
            assert len(found) == file.rows
    samples = polars.scan_parquet(f"{store.root}/samples/**/*.parquet", hive_partitioning=True)
    stacks = polars.scan_parquet(f"{store.root}/stacks/**/*.parquet", hive_partitioning=True)
    weights = samples.group_by("stack", "service").agg(polars.len().alias("samples"))
    joined = weights.join(stacks, left_on="stack", right_on="id").collect()
    assert sorted(joined["samples"]) == [64, 68, 68]
    assert set(joined["service"]) == {"web"}
    assert set(joined["frames"].list.len()) == {3}


def test_a_damaged_recording_does_not_keep_the_others_out(store: Store, tmp_path: Path) -> None:
    bad = tmp_path / "bad.data"
    bad.write_bytes(b"PERFILE2" + bytes(100))
    taken = take(store, [str(bad), *hosts(tmp_path, 2)])
    assert [bool(one.problem) for one in taken] == [False, False, True]
    assert rows(store, SAMPLES) == [(100, 100_000)]


def ship(store: Store, path: str, name: str, **about: object) -> None:
    store.write(f"incoming/2026-11-28/web-1/{name}.data", Path(path).read_bytes())
    store.write(f"incoming/2026-11-28/web-1/{name}.json", json.dumps(about).encode())


def test_shipped_recordings_are_taken_and_removed(store: Store, tmp_path: Path) -> None:
    one, two = hosts(tmp_path, 2)
    labels = {"host": "web-1", "service": "web", "team": "red"}
    groups = {"cgroups": [{"path": "/a", "pod": "web-abc", "pod_uid": "1"}], "processes": {"7": 0}}
    ship(store, one, "one", version=1, recording="one.data", labels=labels, start="2026-11-28T10:00:00Z", **groups)
    store.write("incoming/2026-11-28/web-1/two.data", Path(two).read_bytes())
    assert [one.samples for one in ingest_all(chunks(store, incoming(store), Reading()), HERE)] == [50]
    assert list(store.found("incoming")) == ["incoming/2026-11-28/web-1/two.data"]
    assert rows(store, "SELECT DISTINCT service, host, pod, min(time)::VARCHAR FROM samples GROUP BY ALL") == [
        ("web", "web-1", "web-abc", "2026-11-28 10:00:00")
    ]
    assert rows(store, "SELECT labels['team'] FROM recordings") == [("red",)]
    ship(store, one, "one", labels=labels)
    assert [one.known for one in ingest_all(chunks(store, incoming(store), Reading()), HERE)] == [True]


@pytest.mark.parametrize("left", [(), (".json",)])
def test_who_died_while_removing_shipped_recordings_has_taken_them(
    left: tuple[str, ...], store: Store, tmp_path: Path
) -> None:
    (path,) = hosts(tmp_path, 1)
    ship(store, path, "one")
    work = chunks(store, incoming(store), Reading())
    ingest_all(work, HERE)
    for ending in left:
        store.write(f"incoming/2026-11-28/web-1/one{ending}", b"{}")
        assert incoming(store)
    # A worker that died after its commit has its work done again by another one.
    assert [(one.known, one.problem) for one in ingest_all(work, HERE)] == [(True, "")]
    assert not store.found("incoming")
    assert not store.found("aside")


def test_code_without_a_file_has_the_names_that_were_shipped(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "one.data"
    with path.open("wb") as sink, PerfDataWriter(sink, [Event("cpu-clock")], hostname="one", osrelease="6.1") as writer:
        writer.comm(7, 7, "java")
        writer.mapping(7, Mapping(0x700000, 0x800000, 0, "//anon"))
        writer.mapping(
            -1, Mapping(0xFFFFFFFF81000000, 0xFFFFFFFF82000000, 0xFFFFFFFF81000000, "[kernel.kallsyms]_text")
        )
        writer.sample(0xFFFFFFFF81000110, 7, 7, 1, kernel_callchain=[0xFFFFFFFF81000110], callchain=[0x700010])
    names = {"kallsyms": "ffffffff81000000 T _text\nffffffff81000100 T do_it\nffffffff81000200 T _etext\n"}
    ship(store, str(path), "one", perf_maps={"7": "700000 100 Compiled::run\n"}, **names)
    ingest_all(chunks(store, incoming(store), Reading(cache=False)), HERE)
    found = rows(store, "SELECT f.name, f.code_offset FROM frames AS f ORDER BY f.name")
    assert found == [("Compiled::run", 16), ("do_it", 16)]


@pytest.mark.parametrize(
    "text",
    [b"[]", b"{", b'{"labels": [1]}', b'{"start": "soon"}', b'{"cgroup_ids": {"1": 5}}', b'{"cgroups": [7]}',
     b'{"sha256": "x"}', b'{"labels": {"host": "a\\u001b"}}', b'{"perf_maps": 5}', b'{"processes": {"a": 0}}'],
)  # fmt: skip  # a list
def test_damaged_labels_set_a_recording_aside(text: bytes, store: Store, tmp_path: Path) -> None:
    (one,) = hosts(tmp_path, 1)
    ship(store, one, "one")
    store.write("incoming/2026-11-28/web-1/one.json", text)
    (taken,) = ingest_all(chunks(store, incoming(store), Reading()), HERE)
    assert "labels are damaged" in taken.problem
    assert "aside/2026-11-28/web-1/one.data" in store.found("aside")


@pytest.mark.parametrize(
    ("path", "container", "pod"),
    [
        (f"/system.slice/docker-{'a' * 64}.scope", "a" * 64, ""),
        (f"/docker/{'b' * 64}", "b" * 64, ""),
        (
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12345678_1234_1234_1234_123456789abc.slice/"
            f"cri-containerd-{'c' * 64}.scope",
            "c" * 64,
            "12345678-1234-1234-1234-123456789abc",
        ),
        (
            f"/kubepods/pod12345678-1234-1234-1234-123456789abc/{'d' * 64}",
            "d" * 64,
            "12345678-1234-1234-1234-123456789abc",
        ),
        ("/user.slice/user-1000.slice/session-2.scope", "", ""),
    ],
)
def test_containers_and_pods_are_read_from_control_groups(path: str, container: str, pod: str) -> None:
    assert of_cgroup(path) == (container, pod)


def test_shipped_recordings_that_cannot_be_read_are_set_aside(store: Store, tmp_path: Path) -> None:
    (one,) = hosts(tmp_path, 1)
    ship(store, one, "one", sha256="0" * 64)
    (taken,) = ingest_all(chunks(store, incoming(store), Reading()), HERE)
    assert "SHA-256" in taken.problem
    assert not store.found("incoming")
    aside = "aside/2026-11-28/web-1/one.data"
    assert store.read(aside) == Path(one).read_bytes()
    assert "SHA-256" in json.loads(store.read(aside + ".problem.json"))["problem"]


@pytest.mark.parametrize(
    "path",
    ["../x.parquet", "/etc/passwd", "samples/day=2026-11-28/service=../" + "0" * 32 + ".parquet", "samples/a.parquet",
     "symbols/day=2026-11-28/service=a/" + "0" * 32 + ".parquet", "others/" + "0" * 32 + ".parquet",
     "samples/day=2026-11-28/service=%2e%2e/" + "0" * 32 + ".parquet"],
)  # fmt: skip  # a list
def test_a_commit_names_files_of_the_store_only(store: Store, path: str) -> None:
    text = json.dumps({"format": "undwarf-fleet", "version": 1, "files": [[path, 1, 1]], "replaces": []})
    document = json.loads(text)
    document["files"] = [{"path": path, "rows": 1, "size": 1}]
    store.write("commits/" + "0" * 32 + ".json", json.dumps(document).encode())
    with pytest.raises(UnreadableInput, match="no name of a file"):
        store.contents()


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"format": "undwarf-fleet", "version": 2}', b"[" * 100_000])
def test_a_damaged_commit_is_an_error(store: Store, text: bytes) -> None:
    store.write("commits/" + "0" * 32 + ".json", text)
    with pytest.raises(UnreadableInput, match="cannot read"):
        store.contents()


def test_commits_are_bounded(tmp_path: Path) -> None:
    store = Store(str(tmp_path), DEFAULT._replace(store_commits=1, store_commit_bytes=200))
    for number in range(2):
        store.commit([DataFile(Partition("symbols").path(f"{number:032}"), 1, 1)])
    with pytest.raises(UnreadableInput, match="more than 1 commits"):
        store.contents()
    store = Store(str(tmp_path), DEFAULT._replace(store_commit_bytes=50))
    with pytest.raises(UnreadableInput, match="more than 50 bytes"):
        store.contents()


@pytest.mark.parametrize("service", ["web", "a/b", "..", "ü=%", "." * 5, "x" * 255])
def test_the_path_of_a_service_is_one_folder(service: str) -> None:
    partition = Partition("samples", "2026-11-28", service)
    path = partition.path("0" * 32)
    assert path.count("/") == 3
    assert ".." not in path.split("/")
    assert partition_of(path) == partition


def test_a_commit_replaces_others_at_once() -> None:
    files = [DataFile(Partition("symbols").path(f"{number:032}"), 1, 1) for number in range(3)]
    old = [Commit("a", (files[0],)), Commit("b", (files[1],))]
    assert Contents(old).files("symbols") == files[:2]
    assert Contents([*old, Commit("c", (files[2],), frozenset({"a", "b"}))]).files("symbols") == files[2:]


def test_stores_of_unknown_file_systems_are_an_error() -> None:
    with pytest.raises(UsageError, match="is no store"):
        Store("nowhere://bucket")
