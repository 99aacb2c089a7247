"""Stores that somebody else has written to: nothing outside of them is read or written, and errors are clear."""

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.fleets import files_of, rows, take, write_host

from undwarf.errors import UndwarfError, UnreadableInput
from undwarf.fleet.columns import parquet
from undwarf.fleet.compaction import compact
from undwarf.fleet.confined_folder import ConfinedFolder
from undwarf.fleet.database import Database
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.ingest import Reading, chunks, incoming, ingest_all
from undwarf.fleet.layout import TABLES, Partition, schema
from undwarf.fleet.merging import merged, read_table
from undwarf.fleet.store import Store
from undwarf.limits import DEFAULT

HERE = LocalWorkers(0)
NAME = "0" * 32
COMMIT = f"commits/{NAME}.json"
SAMPLES = f"samples/day=2026-11-28/service=web/{NAME}.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def filled(store: Store, folder: Path, hosts: int = 1) -> Store:
    take(store, [write_host(folder / f"{number}.data", f"host-{number}") for number in range(hosts)], size=1)
    return store


def commit(path: object = SAMPLES, number: object = 1, size: object = 1) -> bytes:
    files = [{"path": path, "rows": number, "size": size}]
    return json.dumps({"format": "undwarf-fleet", "version": 1, "files": files, "replaces": []}).encode()


def test_links_among_shipped_recordings_are_not_read(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"do not tell")
    folder = Path(store.root) / "incoming" / "2026-11-28" / "host"
    folder.mkdir(parents=True)
    (folder / "one.data").symlink_to(secret)
    (folder / "one.data.json").write_text("{}")
    write_host(folder / "two.data", "two")
    (folder / "two.data.json").symlink_to(secret)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_host(elsewhere / "three.data", "three")
    (elsewhere / "three.data.json").write_text("{}")
    (folder / "more").symlink_to(elsewhere)
    # It is neither read nor copied to where it is set aside.
    (taken,) = ingest_all(chunks(store, incoming(store), Reading()), HERE)
    assert taken.path.endswith("one.data")
    assert "link" in taken.problem
    assert secret.read_bytes() == b"do not tell"
    assert b"do not tell" not in b"".join(files_of(store).values())
    assert len(os.listdir(elsewhere)) == 2


@pytest.mark.parametrize("folder", ["commits", "samples", "samples/day=2026-11-28", "incoming"])
def test_folders_that_are_links_are_not_written_through(folder: str, store: Store, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = Path(store.root) / folder
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    path = next(path for path in (COMMIT, SAMPLES, "incoming/2026-11-28/a/b.data") if path.startswith(folder))
    with pytest.raises(UnreadableInput, match="link"):
        store.write(path, b"contents")
    with pytest.raises(UnreadableInput, match="link"):
        store.remove([path])
    assert not store.found(folder.split("/")[0])
    assert not os.listdir(elsewhere)


def test_the_folder_of_a_store_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    store = filled(Store(str(tmp_path / "link")), tmp_path)
    assert rows(store, "SELECT count(*) FROM samples") == [(50,)]


@pytest.mark.parametrize("made", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo, os.mkdir])
def test_what_is_no_file_is_an_error_at_once(made: Callable[[Path], None], store: Store, tmp_path: Path) -> None:
    filled(store, tmp_path, 2)
    path = store.contents().files("samples")[0].path
    os.unlink(store.full(path))
    made(Path(store.full(path)))
    started = time.monotonic()
    with pytest.raises(UndwarfError):
        Database(store)
    with pytest.raises(UndwarfError):
        compact(store, HERE, grace=0)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "a/../../secret", "./a", "a//b", "", ".", "..", "a/.", "a/..", "file:///etc/x"]
)
def test_paths_do_not_leave_their_folder(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"do not tell")
    (tmp_path / "folder").mkdir()
    folder = ConfinedFolder(str(tmp_path / "folder"))
    for ask in (lambda: folder.open(path), lambda: folder.remove(path), lambda: folder.write(path, b"")):
        with pytest.raises((UnreadableInput, FileNotFoundError, FileExistsError)):
            ask()
            raise FileExistsError  # it was written, as a file of that name
    assert (tmp_path / "secret").read_bytes() == b"do not tell"
    assert sorted(os.listdir(tmp_path)) == ["folder", "secret"]


@pytest.mark.parametrize(
    "text",
    [
        commit(number=float("inf")),
        commit(number=float("nan")),
        commit(number=-1),
        commit(number=1 << 62),
        commit(size=-1),
        commit(number=None),
        commit().replace(b'"rows": 1', b'"rows": ' + b"9" * 10_000),
        commit("file:///etc/passwd"),
        commit(f"file://{SAMPLES}"),
        commit(f"s3://other/{SAMPLES}"),
        commit(SAMPLES.replace("web", "\ud800")),
        commit(SAMPLES.replace("web", "%ED%A0%80")),
        commit(SAMPLES.replace("web", "a\x00b")),
        commit(SAMPLES.replace("web", "a\nb")),
        commit(SAMPLES.replace("2026", "\u0662\u0660\u0662\u0666")),
        commit(SAMPLES.replace("/", "\\")),
        commit([SAMPLES]),
        commit() + b"x",
        commit().replace(b"web", b"w\xffb"),
        commit().replace(b'"replaces": []', b'"replaces": 5'),
    ],
)
def test_a_hostile_commit_is_an_error(text: bytes, store: Store) -> None:
    store.write(COMMIT, text)
    with pytest.raises(UnreadableInput):
        store.contents()


def test_of_a_key_that_is_there_twice_the_last_counts(store: Store) -> None:
    store.write(COMMIT, commit().replace(b'"path"', b'"path": "../x", "path"'))
    assert [file.path for file in store.contents().files("samples")] == [SAMPLES]
    store.write(COMMIT, commit().replace(b'"rows"', b'"path": "../x", "rows"'))
    with pytest.raises(UnreadableInput):
        store.contents()


def test_a_commit_of_a_gigabyte_is_not_read(store: Store) -> None:
    store.write(COMMIT, b"{")
    os.truncate(store.full(COMMIT), 1 << 30)
    with pytest.raises(UnreadableInput, match="more than"):
        store.contents()


def test_work_is_divided_by_rows_that_are_there(store: Store, tmp_path: Path) -> None:
    filled(store, tmp_path)
    path = next(path for path in store.found("commits") if b"samples/" in store.read(path))
    document = json.loads(store.read(path))
    for file in document["files"]:
        if file["path"].startswith("samples"):
            file["rows"] = DEFAULT.store_values
    store.remove([path])
    store.write(COMMIT, json.dumps(document).encode())
    with pytest.raises(UnreadableInput, match="rows, not"):
        compact(store, HERE, grace=0)


def written(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(rows, sink)
    return bytes(sink.getvalue())


IDS = pa.array([b"a" * 16], pa.binary(16))


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"PAR1" + bytes(100),
        b"PAR1" + bytes(100) + (1 << 31).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\x9c" * 200 + (200).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\x19\xfc" * 100 + (200).to_bytes(4, "little") + b"PAR1",
        written(pa.table({"id": IDS})),
        written(pa.Table.from_arrays([IDS, IDS], ["id", "id"])),
        written(pa.table({"id": IDS, "frames": [1]})),
        written(pa.table({"id": [5], "frames": pa.array([[b"a" * 16]], pa.list_(pa.binary(16)))})),
        written(pa.table({"id": IDS, "frames": pa.array([[b"short"]], pa.list_(pa.binary()))})),
        written(pa.table({"id": IDS, "frames": pa.array([[[b"a" * 16]]], pa.list_(pa.list_(pa.binary(16))))})),
    ],
)
def test_a_hostile_file_is_an_error(contents: bytes) -> None:
    with pytest.raises(UnreadableInput, match="the store is damaged"):
        read_table("stacks", contents)


def test_few_bytes_with_many_values_are_not_unpacked() -> None:
    limits = DEFAULT._replace(store_values=1 << 16)
    frames = pa.ListArray.from_arrays([0, 1 << 20], pa.repeat(pa.scalar(b"a" * 16, pa.binary(16)), 1 << 20))
    contents = parquet("stacks", pa.table({"id": IDS, "frames": frames}, schema("stacks")))
    assert len(contents) < 3000
    assert read_table("stacks", contents).num_rows == 1
    with pytest.raises(UnreadableInput, match="more than 65,536 values"):
        read_table("stacks", contents, limits)


def test_a_footer_is_bounded() -> None:
    contents = written(pa.table({"id": IDS}))
    with pytest.raises(UnreadableInput, match="footer has more than 100 bytes"):
        read_table("stacks", contents, DEFAULT._replace(store_footer_bytes=100))


def test_what_is_in_a_file_is_not_unpickled(tmp_path: Path) -> None:
    """Old versions of pyarrow made types of pickles in a file's metadata."""
    marker = tmp_path / "unpickled"
    pickled = b"cos\nsystem\n(S'touch " + str(marker).encode() + b"'\ntR."
    field = pa.field("id", pa.binary(16), metadata={
        "ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickled,
    })  # fmt: skip  # a table
    frames = pa.field("frames", pa.list_(pa.field("element", pa.binary(16))))
    contents = written(pa.table([IDS, pa.array([[b"a" * 16]], frames.type)], schema=pa.schema([field, frames])))
    assert b"ARROW:schema" in contents
    assert read_table("stacks", contents).num_rows == 1
    assert not marker.exists()


def test_texts_that_are_no_utf_8_are_an_error(store: Store, tmp_path: Path) -> None:
    filled(store, tmp_path)
    rows_ = read_table("images", store.read(store.contents().files("images")[0].path))
    bad = pa.array([b"\xff\xfe"] * len(rows_), pa.binary()).view(pa.string())
    contents = parquet("images", rows_.set_column(1, "name", bad))
    file = store.put(Partition("images", "2026-11-28", "web"), contents, len(rows_))
    store.commit([file])
    database = Database(store)
    with pytest.raises(UnreadableInput):
        database.arrow("SELECT name FROM images")
    database.close()


def test_damage_anywhere_in_a_file_is_an_error_or_harmless(store: Store, tmp_path: Path) -> None:
    filled(store, tmp_path)
    contents = {table: store.read(file.path) for table in TABLES for file in store.contents().files(table)}
    refused = 0
    for seed in range(200):
        chance = random.Random(seed)
        name = chance.choice(sorted(contents))
        data = bytearray(contents[name])
        start = len(data) - chance.randrange(1, min(len(data), 2500))
        for _change in range(chance.randrange(1, 6)):
            data[(start + chance.randrange(-8, 8)) % len(data)] = chance.randrange(256)
        try:
            parquet(name, merged(name, [read_table(name, bytes(data))]))
        except UnreadableInput:
            refused += 1
    assert refused > 50


def test_a_store_is_the_same_folder_for_workers_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, arguments = Store("store").__reduce__()
    monkeypatch.chdir("/")
    assert make(*arguments).root == str(tmp_path / "store")
