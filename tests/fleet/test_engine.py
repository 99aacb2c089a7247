"""Workers that die, clients that die: the store is as if nothing had happened."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.dask_cluster import TESTS, cluster, wait_until
from tests.support.fleets import READING, RECORDINGS, files_of, take, write_host

from undwarf.errors import UndwarfError, UsageError
from undwarf.fleet.compaction import compact
from undwarf.fleet.engine import ATTEMPTS, DaskWorkers, LocalWorkers, Lost, Outcome, Workers, run, workers
from undwarf.fleet.frame_lookup import look_up
from undwarf.fleet.ingest import Chunk, Taken, chunks, given, incoming, ingest_all, ingest_chunk
from undwarf.fleet.store import Store


def squared(number: int) -> int:
    return number * number


def deadly(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def deadly_once(path: str) -> str:
    """Kills its worker unless the file is there, which it makes before."""
    if not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def failing(number: int) -> int:
    raise ValueError(f"no {number}")


def values(outcomes: "list[Outcome[int, int]]") -> list[object]:
    return [outcome.made if outcome.error is None else type(outcome.error) for outcome in outcomes]


@pytest.mark.parametrize("count", [0, 2])
def test_results_are_in_the_order_of_inputs(count: int) -> None:
    with workers(count) as here:
        assert values(run(squared, range(7), here)) == [0, 1, 4, 9, 16, 25, 36]
        assert values(run(failing, [1], here)) == [ValueError]


def test_an_input_that_kills_workers_is_lost_and_the_others_are_not() -> None:
    with workers(2) as here:
        assert values(run(deadly, range(6), here)) == [0, 1, 2, Lost, 4, 5]


def test_a_worker_that_dies_once_does_not_matter(tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(2)]
    with workers(1) as here:
        assert [outcome.made for outcome in run(deadly_once, paths, here)] == paths


def killing(chunk: Chunk) -> list[Taken]:
    """Takes a chunk, and kills the worker at a recording of that name."""
    if any("deadly" in source.path for source in chunk.sources):
        os.kill(os.getpid(), signal.SIGKILL)
    return ingest_chunk(chunk)


def test_a_recording_that_kills_workers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "store"))
    paths = [write_host(tmp_path / f"{name}.data", name) for name in ("one", "deadly", "two")]
    monkeypatch.setattr("undwarf.fleet.ingest.ingest_chunk", killing)
    with workers(1) as here:
        taken = ingest_all(chunks(store, given(paths, {}), READING), here)
    assert [(Path(one.path).stem, one.samples, bool(one.problem)) for one in taken] == [
        ("deadly", 0, True),
        ("one", 50, False),
        ("two", 50, False),
    ]


def recordings(folder: Path) -> list[str]:
    return [*RECORDINGS, *(write_host(folder / f"{number}.data", f"host-{number}") for number in range(5))]


def finished(store: Store, paths: list[str], where: Workers) -> dict[str, bytes]:
    """The files of a store after all recordings are taken, named and compacted."""
    ingest_all(chunks(store, given(paths, {}), READING, 2), where)
    look_up(store, where, READING)
    compact(store, where, grace=0)
    return files_of(store)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, bytes]]:
    """Recordings, and the files of a store of them."""
    folder = tmp_path_factory.mktemp("undisturbed")
    paths = recordings(folder)
    store = Store(str(folder / "store"))
    take(store, paths)
    compact(store, LocalWorkers(0), grace=0)
    return paths, files_of(store)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_store_is_the_same_however_many_workers(
    count: int, tmp_path: Path, undisturbed: tuple[list[str], dict[str, bytes]]
) -> None:
    paths, expected = undisturbed
    with workers(count) as here:
        assert finished(Store(str(tmp_path)), paths, here) == expected


CLIENT = """
import sys
from tests.support.dask_cluster import TESTS, cluster, wait_until
from tests.support.fleets import READING
from undwarf.fleet.engine import workers
from undwarf.fleet.ingest import chunks, given, ingest_all
from undwarf.fleet.store import Store
if __name__ == "__main__":
    _self, address, *paths = sys.argv
    with workers(2) as here:
        print("started", flush=True)
        ingest_all(chunks(Store(address), given(paths, {}), READING, 1), here)
"""


def children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


@pytest.mark.parametrize("victim", ["client", "worker"])
@pytest.mark.parametrize("commits", [0, 3])
def test_kill_9_in_the_middle(
    victim: str, commits: int, tmp_path: Path, undisturbed: tuple[list[str], dict[str, bytes]]
) -> None:
    paths, expected = undisturbed
    store = Store(str(tmp_path / "store"))
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    environment = {**os.environ, "PYTHONPATH": TESTS}
    command = [sys.executable, str(program), store.address, *paths]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        client.stdout.readline()
        wait_until(lambda: len(store.found("commits")) >= commits and len(children(client.pid)) == 2, 60)
        found = children(client.pid)
        os.kill(client.pid if victim == "client" else found[0], signal.SIGKILL)
        status = client.wait(timeout=120)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found))
    assert status == (-signal.SIGKILL if victim == "client" else 0)
    assert finished(store, paths, LocalWorkers(0)) == expected


def test_dask_workers_make_the_same_store_though_one_is_killed(
    tmp_path: Path, undisturbed: tuple[list[str], dict[str, bytes]]
) -> None:
    paths, expected = undisturbed
    store = Store(str(tmp_path / "store"))
    killed = []

    with cluster(tmp_path, 2) as (address, processes), workers(dask=address) as there:

        def done(ready: int, _all: int) -> None:
            if not killed and ready >= 2:
                killed.append(processes[1].pid)
                processes[1].kill()

        taken = ingest_all(chunks(store, given(paths, {}), READING, 1), there, done)
        assert not [one for one in taken if one.problem]
        look_up(store, there, READING)
        compact(store, there, grace=0)
    assert killed
    assert files_of(store) == expected


def counted(chunk: Chunk) -> list[Taken]:
    """As :func:`killing`, and writes down how often."""
    for source in chunk.sources:
        if "deadly" in source.path:
            with open(f"{source.path}.deaths", "a") as file:
                file.write(".")
    return killing(chunk)


def test_a_recording_that_kills_is_set_aside_and_no_worker_of_dask_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(str(tmp_path / "store"))
    for name in ("one", "deadly", "two"):
        data = Path(write_host(tmp_path / f"{name}.data", name)).read_bytes()
        store.write(f"incoming/2026-11-28/{name}/1.data", data)
        store.write(f"incoming/2026-11-28/{name}/1.data.json", b"{}")
    monkeypatch.setattr("undwarf.fleet.ingest.ingest_chunk", counted)
    monkeypatch.chdir(tmp_path)
    os.makedirs("incoming/2026-11-28/deadly")
    with cluster(tmp_path, 2) as (address, processes), workers(dask=address) as there:
        taken = ingest_all(chunks(store, incoming(store), READING, 3), there)
        assert [process.poll() for process in processes] == [None] * 3
    assert [(one.path.split("/")[2], one.samples) for one in taken] == [("deadly", 0), ("one", 50), ("two", 50)]
    assert "workers died with it 3 times" in taken[0].problem
    assert (tmp_path / "incoming/2026-11-28/deadly/1.data.deaths").read_text() == "." * 2 * ATTEMPTS
    assert not store.found("incoming")
    assert "workers died" in json.loads(store.read("aside/2026-11-28/deadly/1.data.problem.json"))["problem"]


def test_the_end_of_the_scheduler_ends_the_command(tmp_path: Path) -> None:
    with (
        cluster(tmp_path, 1) as (address, processes),
        workers(dask=address) as there,
        pytest.raises(UndwarfError, match="the scheduler is gone"),
    ):
        run(time.sleep, [0, 600], there, lambda _ready, _all: processes[0].kill())


def test_a_scheduler_without_workers_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.engine._WORKERS", 0.1)
    with cluster(tmp_path, 0) as (address, _processes), pytest.raises(UsageError, match="has no workers"):
        DaskWorkers(address)


def may_hide_folders() -> bool:
    command = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and not subprocess.run(command, capture_output=True).returncode


@pytest.mark.skipif(not may_hide_folders(), reason="folders cannot be hidden from processes")
def test_only_workers_that_see_the_files_get_work(
    tmp_path: Path, undisturbed: tuple[list[str], dict[str, bytes]]
) -> None:
    shared = tmp_path / "shared"
    (shared / "recordings").mkdir(parents=True)
    store = Store(str(shared / "store"))
    paths = [shutil.copy2(path, shared / "recordings") for path in undisturbed[0]]
    work = chunks(store, given(paths, {}), READING, 1)
    with cluster(tmp_path, 1, blind=shared) as (address, processes), workers(dask=address) as there:
        assert isinstance(there, DaskWorkers)
        there._client.wait_for_workers(2)
        assert not [one for one in ingest_all(work, there) if one.problem]
        look_up(store, there, READING)
        compact(store, there, grace=0)
        assert files_of(store) == undisturbed[1]
        processes[1].kill()
        wait_until(lambda: len(there._client.nthreads()) == 1)
        with pytest.raises(UsageError, match=f"no worker sees {shared}"):
            compact(store, there, grace=0)
    assert not any(".draft-" in path for path in store.found(""))


def test_the_end_of_all_workers_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.engine._LOOK", 0.2)
    monkeypatch.setattr("undwarf.fleet.engine._GONE", 0.5)
    with (
        cluster(tmp_path, 1) as (address, processes),
        workers(dask=address) as there,
        pytest.raises(UndwarfError, match="all workers are gone"),
    ):
        run(time.sleep, [0, 600], there, lambda _ready, _all: processes[1].kill())
