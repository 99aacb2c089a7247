"""Stores that are no folder: objects in memory, and an S3 server."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from tests.support.fleets import READING, RECORDINGS, files_of, rows, take, write_host

from undwarf.errors import UndwarfError, UsageError
from undwarf.fleet.compaction import compact
from undwarf.fleet.database import Database
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.frame_lookup import look_up
from undwarf.fleet.ingest import Reading, chunks, given, incoming, ingest_all
from undwarf.fleet.store import Store, StoreUnavailable
from undwarf.fleet.stored_profile import stored_profile

HERE = LocalWorkers(0)


def test_a_store_in_memory_is_that_of_a_folder(tmp_path: Path) -> None:
    memory, folder = Store("memory://fleet/profiles"), Store(str(tmp_path / "store"))
    paths = [*RECORDINGS, write_host(tmp_path / "one.data", "one")]
    for store in (memory, folder):
        take(store, paths, size=3)
        compact(store, HERE, grace=0)
    assert files_of(memory) == files_of(folder)
    assert rows(memory, "SELECT sum(period), count(*) FROM samples") == rows(
        folder, "SELECT sum(period), count(*) FROM samples"
    )
    ((total,),) = rows(folder, "SELECT count(*) FROM samples")
    for store in (memory, folder):
        database = Database(store)
        names = stored_profile(database).profile.functions.name
        database.lock()
        assert database.connection.execute("SELECT count(*) FROM samples").fetchall() == [(total,)]
        with pytest.raises(UsageError, match="cannot be run"):
            database.result("SELECT * FROM read_csv('/etc/passwd')")
        database.close()
        assert "count_word" in names


SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket on an S3 server of this machine."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        for _try in range(100):
            try:
                urllib.request.urlopen(urllib.request.Request(f"{endpoint}/profiles", method="PUT"), timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        fsspec.config.conf["s3"] = {"endpoint_url": endpoint}
        try:
            yield "s3://profiles/fleet"
        finally:
            del fsspec.config.conf["s3"]
            server.kill()


def test_a_store_on_s3(bucket: str, tmp_path: Path) -> None:
    store, folder = Store(bucket), Store(str(tmp_path / "store"))
    paths = [write_host(tmp_path / f"{number}.data", f"host-{number}") for number in range(3)]
    store.write("incoming/2026-11-28/a/1.data", Path(paths[0]).read_bytes())
    store.write(
        "incoming/2026-11-28/a/1.data.json", json.dumps({"labels": {"service": "web", "host": "host-0"}}).encode()
    )
    os.utime(paths[1], (1_795_824_001, 1_795_824_001))
    for one in (store, folder):
        ingest_all(chunks(one, given(paths[1:], {"service": "web"}), READING, 1), HERE)
        look_up(one, HERE, READING)
        compact(one, HERE, grace=0)
    assert {path for path in files_of(store) if not path.startswith("incoming")} == set(files_of(folder))
    assert [one.samples for one in ingest_all(chunks(store, incoming(store), Reading()), HERE)] == [50]
    assert not store.found("incoming")
    compact(store, HERE, grace=0)
    assert rows(store, "SELECT host, count(*) FROM samples GROUP BY host ORDER BY host") == [
        ("host-0", 50),
        ("host-1", 50),
        ("host-2", 50),
    ]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr("undwarf.fleet.store._PAUSES", (0.001, 0.001))
    return Store("memory://elsewhere")


class Refusing:
    """Raises errors in turn, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "here"


class NoCredentials(Exception):
    """As of botocore."""


@pytest.mark.parametrize(
    ("errors", "expected", "asked"),
    [
        ([ConnectionError("reset"), ValueError("of some library")], "here", 3),
        ([ConnectionError("reset")] * 3, "memory://elsewhere is away: ConnectionError: reset", 3),
        ([PermissionError("no")] * 3, "memory://elsewhere refuses: PermissionError: no", 1),
        ([NoCredentials("none")] * 3, "memory://elsewhere refuses: NoCredentials: none", 1),
        ([FileNotFoundError("gone")], "gone", 1),
        ([UsageError("wrong")], "wrong", 1),
    ],
)
def test_who_is_away_is_asked_again(errors: list[Exception], expected: str, asked: int, elsewhere: Store) -> None:
    question = Refusing(*errors)
    try:
        answer = elsewhere.asked(question)
    except (UndwarfError, FileNotFoundError) as error:
        answer = str(error)
    assert (answer, question.asked) == (expected, asked)


def test_a_server_that_is_gone_ends_the_work_and_sets_nothing_aside(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("undwarf.fleet.store._PAUSES", (0.001,))
    store, folder = Store(bucket), Store(str(tmp_path / "store"))
    for one in (store, folder):
        one.write("incoming/2026-11-28/a/1.data", b"PERFILE2")
        one.write("incoming/2026-11-28/a/1.data.json", b"{}")
    work = chunks(store, incoming(store), Reading(), 1)
    fsspec.config.conf["s3"] = {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {"max_attempts": 0}}}
    gone = Store(bucket)
    with pytest.raises(StoreUnavailable, match="is away"):
        ingest_all([work[0]._replace(store=gone)] * 3, HERE)
    assert len(store.found("incoming")) == 2
    assert not store.found("aside")
