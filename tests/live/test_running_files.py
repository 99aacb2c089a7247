"""Files of running processes by path and inode, here and in containers."""

import os
import shutil
from pathlib import Path

import pytest

from undwarf.images.container_files import Containers
from undwarf.images.finder import Finder
from undwarf.live.running_files import RunningFiles

PATH = "/usr/bin/program"


def place(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with this process and two in containers, each with a program of its own at the same path."""
    for name, namespace in (("self", "mnt:[1]"), ("7", "mnt:[1]"), ("8", "mnt:[2]"), ("9", "mnt:[3]")):
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "ns" / "mnt").symlink_to(namespace)
    for name in ("8", "9"):
        (tmp_path / name / "root" / "usr" / "bin").mkdir(parents=True)
        shutil.copy(shutil.which("true") or "/bin/true", f"{tmp_path}/{name}/root{PATH}")
    return tmp_path


def test_a_file_in_a_container_is_found_by_its_inode(proc: Path) -> None:
    files = RunningFiles(Containers(lambda: [7, 8, 9], str(proc)))
    wanted = Path(f"{proc}/9/root{PATH}")
    found = files.file(PATH, b"", place(wanted))
    assert found is not None
    assert found.path == str(wanted)
    assert files.root() == f"{proc}/9/root"


def test_a_file_here_has_no_root(proc: Path) -> None:
    files = RunningFiles(Containers(lambda: [7, 8, 9], str(proc)))
    true = Path(shutil.which("true") or "/bin/true").resolve()
    assert files.file(str(true), b"", place(true)) is not None
    assert files.root() == ""


def test_another_file_at_the_path_is_not_used(tmp_path: Path) -> None:
    finder = Finder()
    finder.mapped = RunningFiles(Containers(list, str(tmp_path)))
    true = Path(shutil.which("true") or "/bin/true").resolve()
    major, minor, inode = place(true)
    assert finder.binary(str(true), b"", (major, minor, inode))[0] is not None
    found, why = finder.binary(str(true), b"", (major, minor, inode + 1))
    assert found is None
    assert "not the one that was mapped" in why


def test_containers_that_start_later_are_found(proc: Path) -> None:
    pids = [7, 8]
    files = RunningFiles(Containers(lambda: pids, str(proc), lasts=0.0))
    wanted = Path(f"{proc}/9/root{PATH}")
    assert files.file(PATH, b"", place(wanted)) is None
    pids.append(9)
    assert files.file(PATH, b"", place(wanted)) is not None
