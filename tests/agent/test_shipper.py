"""Shipping: order, a store that is away, and damage."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.agent.conftest import Hands, finish_one

from undwarf.agent.metrics import Metrics
from undwarf.agent.remote_store import RemoteStore
from undwarf.agent.shipper import MOST_WAIT_S, Shipper, name_in_store
from undwarf.agent.spool import Spool
from undwarf.agent.store import FolderStore, open_store


class Away:
    """A store that takes files only if it is ``there``."""

    pause = 0.0

    def __init__(self, root: Path) -> None:
        self.there = True
        self.names: list[str] = []
        self._root = FolderStore(root)

    def put(self, name: str, source: Path) -> None:
        if not self.there:
            raise ConnectionError("connection refused")
        self._root.put(name, source)
        self.names.append(name)

    def check(self) -> None:
        pass

    def rest(self) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path) -> Away:
    return Away(tmp_path / "store")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def shipper(spool: Spool, store: Away, hands: Hands, said: list[str]) -> Shipper:
    return Shipper(spool, lambda: store, Metrics(), hands.clock, said.append)


def test_a_recording_comes_before_its_description(shipper: Shipper, spool: Spool, store: Away) -> None:
    first, second = finish_one(spool), finish_one(spool)
    assert shipper.ship_all() == 0
    place = "incoming/2025-11-28/h"
    assert store.names == [f"{place}/{name}.{extension}" for name in (first, second) for extension in ("data", "json")]
    assert len(spool) == 0


def test_a_shipped_recording_is_the_same_bytes(shipper: Shipper, spool: Spool, tmp_path: Path) -> None:
    name = finish_one(spool)
    before = [path.read_bytes() for path in spool.files(name)]
    shipper.ship_all()
    shipped = tmp_path / "store" / "incoming" / "2025-11-28" / "h"
    assert [(shipped / f"{name}.{extension}").read_bytes() for extension in ("data", "json")] == before


def test_nothing_is_lost_while_the_store_is_away(shipper: Shipper, spool: Spool, store: Away, said: list[str]) -> None:
    store.there = False
    names = [finish_one(spool) for _ in range(5)]
    assert shipper.ship_all() > 0
    assert len(spool) == 5
    store.there = True
    assert shipper.ship_all() == 0
    assert [name.rpartition("/")[2].removesuffix(".data") for name in store.names if name.endswith(".data")] == names
    assert ["away" in said[0], "back" in said[1], len(said)] == [True, True, 2]


def test_waits_double_up_to_a_limit(shipper: Shipper, spool: Spool, store: Away) -> None:
    store.there = False
    finish_one(spool)
    waits = [shipper.ship_all() for _ in range(12)]
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == MOST_WAIT_S


def test_waits_are_not_the_same_everywhere(shipper: Shipper, spool: Spool, store: Away, hands: Hands) -> None:
    store.there, hands.jitter = False, 1.0
    finish_one(spool)
    assert [shipper.ship_all() for _ in range(3)] == [0.5, 1, 2]


def test_a_damaged_recording_is_counted_and_not_shipped(shipper: Shipper, spool: Spool, store: Away) -> None:
    damaged, good = finish_one(spool), finish_one(spool)
    spool.files(damaged)[0].write_bytes(b"?")
    shipper.ship_all()
    assert [damaged in name for name in store.names] == [False, False]
    assert good in store.names[0]
    assert (shipper._metrics.dropped, shipper._metrics.shipped) == (1, 1)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"labels": 1}'])
def test_a_damaged_description_is_counted(shipper: Shipper, spool: Spool, text: str) -> None:
    spool.files(finish_one(spool))[1].write_text(text)
    assert shipper.ship_all() == 0
    assert shipper._metrics.dropped == 1


@pytest.mark.parametrize("host", ["../../etc", "/etc", "a/../b", "..", ""])
def test_a_host_stays_below_incoming(host: str) -> None:
    *folders, name = name_in_store(host, "2025-11-28", "n").split("/")
    assert folders[:2] == ["incoming", "2025-11-28"]
    assert len(folders) == 3
    assert not folders[2].startswith(".")
    assert name == "n"


def test_a_store_may_be_any_address_of_fsspec(spool: Spool, hands: Hands, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    name = finish_one(spool)
    remote = RemoteStore(f"local://{tmp_path}/fleet")
    shipper = Shipper(spool, lambda: remote, Metrics(), hands.clock, print)
    assert shipper.ship_all() == 0
    remote.rest()
    (found,) = (tmp_path / "fleet").glob("incoming/*/*/*.json")
    about = json.loads(found.read_bytes())
    assert about["recording"] == f"{name}.data"
    assert found.with_suffix(".data").stat().st_size == about["bytes"]


def test_libraries_of_object_stores_are_in_a_process_that_ends(spool: Spool, hands: Hands, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    remote = open_store(f"local://{tmp_path}/fleet")
    assert isinstance(remote, RemoteStore)
    finish_one(spool)
    Shipper(spool, lambda: remote, Metrics(), hands.clock, print).ship_all()
    process = remote._process
    assert process is not None
    assert process.poll() is None
    assert str(tmp_path) not in Path(f"/proc/{process.pid}/cmdline").read_text()
    remote.rest()
    assert process.returncode == 0


def test_the_process_of_a_shipment_may_be_killed(spool: Spool, hands: Hands, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    remote = RemoteStore(f"local://{tmp_path}/fleet")
    shipper = Shipper(spool, lambda: remote, Metrics(), hands.clock, print)
    finish_one(spool)
    shipper.ship_all()
    finish_one(spool)
    assert remote._process is not None
    remote._process.kill()
    remote._process.wait()
    assert shipper.ship_all() > 0
    assert shipper.ship_all() == 0
    assert len(spool) == 0
    remote.rest()


SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def s3_server(port: int) -> Iterator[int]:
    """An S3 server on this machine with an empty bucket: its port."""
    command = [sys.executable, "-c", SERVER, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            urllib.request.urlopen(
                urllib.request.Request(f"http://127.0.0.1:{port}/profiles", method="PUT"), timeout=10
            ).close()
            yield port
        finally:
            server.kill()


def test_nothing_is_lost_while_an_s3_server_is_away(
    spool: Spool, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("moto")
    pytest.importorskip("s3fs")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    remote = RemoteStore("s3://profiles/fleet")
    metrics = Metrics()
    shipper = Shipper(spool, lambda: remote, metrics, hands.clock, print)
    with s3_server(0) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        finish_one(spool)
        assert shipper.ship_all() == 0
        remote.rest()
    names = [finish_one(spool) for _ in range(3)]
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert shipper.ship_all() > 0
    remote.rest()
    assert len(spool) == 3
    with s3_server(port):
        assert shipper.ship_all() == 0
        remote.rest()
        listing = urllib.request.urlopen(f"http://127.0.0.1:{port}/profiles", timeout=10).read().decode()
    assert sorted(re.findall(r"<Key>fleet/incoming/[^<]*/([^</]+)\.json</Key>", listing)) == names
    assert (metrics.shipped, metrics.dropped, len(spool)) == (4, 0, 0)


def test_the_collector_gets_each_recording_once(spool: Spool, store: Away, hands: Hands, said: list[str]) -> None:
    sent: list[str] = []
    shipper = Shipper(spool, lambda: store, Metrics(), hands.clock, said.append, lambda _spool, name: sent.append(name))
    store.there = False
    name = finish_one(spool)
    shipper.ship_all()
    shipper.ship_all()
    assert sent == [name]
