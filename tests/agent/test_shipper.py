"""Shipping: order, a store that is away, and damage."""

import json
from pathlib import Path

import pytest
from tests.agent.conftest import Hands, finish_one

from undwarf.agent.metrics import Metrics
from undwarf.agent.shipper import MOST_WAIT_S, Shipper, name_in_store
from undwarf.agent.spool import Spool
from undwarf.agent.store import FolderStore, open_store


class Away:
    """A store that takes files only if it is ``there``."""

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


def test_a_store_may_be_any_address_of_fsspec(spool: Spool, hands: Hands) -> None:
    fsspec = pytest.importorskip("fsspec")
    name = finish_one(spool)
    shipper = Shipper(spool, lambda: open_store("memory://fleet"), Metrics(), hands.clock, print)
    assert shipper.ship_all() == 0
    memory = fsspec.filesystem("memory")
    (found,) = memory.glob("/fleet/incoming/*/*/*.json")
    about = json.loads(memory.cat_file(found))
    assert about["recording"] == f"{name}.data"
    assert memory.size(found.replace(".json", ".data")) == about["bytes"]


def test_the_collector_gets_each_recording_once(spool: Spool, store: Away, hands: Hands, said: list[str]) -> None:
    sent: list[str] = []
    shipper = Shipper(spool, lambda: store, Metrics(), hands.clock, said.append, lambda _spool, name: sent.append(name))
    store.there = False
    name = finish_one(spool)
    shipper.ship_all()
    shipper.ship_all()
    assert sent == [name]
