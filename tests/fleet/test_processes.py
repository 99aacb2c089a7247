"""Processes that run functions: what they give, and what is left of them when somebody dies."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from undwarf.errors import UndwarfError, UsageError
from undwarf.fleet.processes import Died, Processes


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes(2)
    yield made
    made.end()


def together(folder: str) -> int:
    """This process's id, once there are two."""
    (Path(folder) / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    return os.getpid()


def killed(_number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failing(why: str) -> None:
    raise UsageError("it fails", why)


class Awkward(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def awkward() -> None:
    raise Awkward(1, 2)


def open_file() -> object:
    return tempfile.TemporaryFile()


def own_file() -> str:
    return tempfile.mkdtemp()


def lasting(path: str) -> None:
    Path(path).write_text(tempfile.mkdtemp())
    time.sleep(60)


def test_functions_run_in_other_processes_at_once(processes: Processes, tmp_path: Path) -> None:
    both = [processes.submit(together, str(tmp_path)) for _ in range(2)]
    found = {one.result() for one in both}
    assert len(found) == 2
    assert os.getpid() not in found


def test_an_error_comes_back_with_all_it_says(processes: Processes) -> None:
    with pytest.raises(UsageError) as error:
        processes.submit(failing, "of this").result()
    assert (error.value.what, error.value.why) == ("it fails", "of this")


def test_an_error_that_cannot_be_made_again_comes_back_as_text(processes: Processes) -> None:
    with pytest.raises(UndwarfError, match="Awkward: 1 and 2"):
        processes.submit(awkward).result()
    with pytest.raises(TypeError, match="pickle"):
        processes.submit(open_file).result()


def test_who_dies_takes_nothing_else_along(processes: Processes) -> None:
    dead, alive = processes.submit(killed, 1), [processes.submit(abs, -number) for number in range(9)]
    with pytest.raises(Died, match="status -9"):
        dead.result()
    assert [one.result() for one in alive] == list(range(9))


def test_temporary_files_go_with_their_process() -> None:
    processes = Processes(1)
    path = processes.submit(own_file).result()
    assert os.path.isdir(path)
    processes.end()
    assert not os.path.exists(path)


def test_the_end_does_not_wait_for_what_runs(tmp_path: Path) -> None:
    processes = Processes(1)
    running, waiting = processes.submit(lasting, str(tmp_path / "begun")), processes.submit(abs, 1)
    while not (tmp_path / "begun").exists() or not (tmp_path / "begun").read_text():
        time.sleep(0.01)
    started = time.monotonic()
    processes.end()
    assert time.monotonic() - started < 30
    assert isinstance(running.exception(), Died)
    assert waiting.cancelled()
    assert not os.path.exists((tmp_path / "begun").read_text())


def test_the_kernel_takes_such_a_process_first(processes: Processes) -> None:
    here = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(processes.submit(Path("/proc/self/oom_score_adj").read_text).result()) == max(500, here)
