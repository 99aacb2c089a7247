"""Files that appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from undwarf.outputs.atomic_file import whole_file


@pytest.fixture(params=["nameless", "named"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Also where the file system has no files without a name."""
    if request.param == "named":
        monkeypatch.setattr("undwarf.outputs.atomic_file._nameless", lambda _directory: -1)
    return str(request.param)


def test_what_is_killed_leaves_nothing(tmp_path: Path, way: str) -> None:
    with whole_file(tmp_path / "page.html") as sink:
        sink.write(b"new")
        sink.flush()
        found = [path.name for path in tmp_path.iterdir()]
        if way == "named" or found:
            assert [name[:9] for name in found] == [".undwarf-"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_replaced_file_has_the_permissions_of_a_new_one(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    before = os.umask(0o027)
    try:
        with whole_file(target) as sink:
            sink.write(b"new")
            assert target.read_bytes() == b"old"
    finally:
        os.umask(before)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError), whole_file(target) as sink:
        sink.write(b"new")
        raise RuntimeError
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_link_stays(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    with whole_file(link) as sink:
        sink.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_is_no_regular_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(pipe) as sink:
            sink.write(b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
