"""Files that are kept from run to run are written to our own directory, wherever somebody lets its name point."""

import os
from pathlib import Path

import pytest

from undwarf.disk_cache import DiskCache, own_directory

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
SOMEBODY = 12345


def files(directory: Path) -> DiskCache:
    return DiskCache(directory, ".kept", 1000)


def test_a_directory_is_made_with_those_it_is_in(tmp_path: Path) -> None:
    kept = files(tmp_path / "a" / "b" / "c")
    assert kept.write("x.kept", b"data")
    assert bytes(kept.read("x.kept") or b"") == b"data"
    assert (tmp_path / "a" / "b" / "c").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def linked(tmp_path: Path) -> tuple[DiskCache, Path]:
    """The cache's directory is a link to another one with a file that looks like ours."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.kept").write_bytes(b"planted")
    (other / ".x.kept.1.2").write_bytes(b"draft")
    os.utime(other / ".x.kept.1.2", (0, 0))
    (tmp_path / "cache").symlink_to(other)
    return files(tmp_path / "cache"), other


def test_a_directory_that_is_a_link_is_not_written_to(linked: tuple[DiskCache, Path]) -> None:
    kept, other = linked
    assert not kept.write("y.kept", b"data")
    assert {path.name for path in other.iterdir()} == {"x.kept", ".x.kept.1.2"}


def test_a_directory_that_is_a_link_is_not_read(linked: tuple[DiskCache, Path]) -> None:
    assert linked[0].read("x.kept") is None
    assert (linked[0].files(), linked[0].usage()) == ([], (0, 0))


def test_nothing_is_removed_from_where_a_link_points(linked: tuple[DiskCache, Path]) -> None:
    kept, other = linked
    kept.limit = 0
    before = (other / "x.kept").stat().st_mtime
    kept.touch("x.kept")
    assert (kept.trim(), kept.clear()) == (0, 0)
    assert {path.name for path in other.iterdir()} == {"x.kept", ".x.kept.1.2"}
    assert (other / "x.kept").stat().st_mtime == before


@as_root
def test_a_directory_of_another_user_is_neither_read_nor_written_to(tmp_path: Path) -> None:
    kept = files(tmp_path / "cache")
    assert kept.write("x.kept", b"data")
    os.chown(kept.directory, SOMEBODY, SOMEBODY)
    assert kept.read("x.kept") is None
    assert not kept.write("y.kept", b"data")


@as_root
def test_a_file_of_another_user_is_not_believed(tmp_path: Path) -> None:
    kept = files(tmp_path / "cache")
    assert kept.write("x.kept", b"data")
    os.chown(kept.directory / "x.kept", SOMEBODY, SOMEBODY)
    assert kept.read("x.kept") is None


def test_a_file_that_is_a_link_is_replaced(tmp_path: Path) -> None:
    kept = files(tmp_path / "cache")
    assert kept.write("x.kept", b"data")
    (tmp_path / "other").write_bytes(b"theirs")
    (kept.directory / "y.kept").symlink_to(tmp_path / "other")
    assert kept.read("y.kept") is None
    assert kept.write("y.kept", b"ours")
    assert (tmp_path / "other").read_bytes() == b"theirs"
    assert bytes(kept.read("y.kept") or b"") == b"ours"


def test_files_used_least_recently_are_removed(tmp_path: Path) -> None:
    kept = files(tmp_path / "cache")
    for number in range(3):
        assert kept.write(f"{number}.kept", bytes(400))
        os.utime(kept.directory / f"{number}.kept", (number, number))
    assert kept.trim() == 1
    assert kept.usage() == (2, 800)
    assert kept.clear() == 2


def test_a_link_of_our_own_may_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with own_directory(tmp_path / "link", link=True) as handle:
        assert os.fstat(handle).st_ino == (tmp_path / "there").stat().st_ino
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"), own_directory(tmp_path / "link"):
        pass


@as_root
def test_a_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    os.chown(tmp_path / "link", SOMEBODY, SOMEBODY, follow_symlinks=False)
    with pytest.raises(PermissionError), own_directory(tmp_path / "link", link=True):
        pass
