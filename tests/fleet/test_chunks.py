"""Chunks of recordings: how they are made, and what they find out about themselves and their machine."""

from pathlib import Path

import pytest
from tests.support.fleets import take, write_host

from undwarf.errors import UndwarfError
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.ingest import Reading, Source, chunks, incoming, ingest_all
from undwarf.fleet.known_recordings import _ids as known_ids
from undwarf.fleet.store import Store

HERE = LocalWorkers(0)


def test_a_full_disk_is_no_fault_of_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "store"))
    store.write("incoming/2026-11-28/a/1.data", b"PERFILE2")
    store.write("incoming/2026-11-28/a/1.data.json", b"{}")
    monkeypatch.setattr(Store, "copy", lambda _store, _path, _target: Path("/dev/full").write_bytes(b"x"))
    with pytest.raises(UndwarfError, match="cannot take recordings: No space left"):
        ingest_all(chunks(store, incoming(store), Reading()), HERE)
    assert len(store.found("incoming")) == 2


def test_ids_of_recordings_that_are_kept_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.known_recordings._KEPT", 3)
    paths = [write_host(tmp_path / f"{number}.data", f"host-{number}") for number in range(4)]
    for name in ("one", "two"):
        take(Store(str(tmp_path / name)), paths, size=1, names=False)
        assert not [one for one in take(Store(str(tmp_path / name)), paths, names=False) if not one.known]
    assert len(known_ids) == 4


@pytest.mark.parametrize(
    ("count", "size", "expected"), [(1, 9, 1), (10, 9, 10), (100, 9, 17), (1000, 9, 32), (100, 1 << 28, 100)]
)
def test_few_recordings_are_work_for_several_workers(count: int, size: int, expected: int) -> None:
    sources = [Source(f"{number:04}", size) for number in range(count)]
    made = chunks(Store("memory://elsewhere"), sources, Reading())
    assert len(made) == expected
    assert [source for chunk in made for source in chunk.sources] == sources
