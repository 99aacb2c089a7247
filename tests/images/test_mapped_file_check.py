"""Files that are no longer what was mapped, where no build-id says so."""

import os
from pathlib import Path

import pytest
from tests.support.elf_builder import Elf, Section

from undwarf.defects import Defects
from undwarf.images import Finder
from undwarf.images.mapped_file_check import PAGE, Extents, Recorded

Place = tuple[int, int, int]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(Elf([Section(".text", b"\xc3" * 64)]).build())
    return path


def place_of(path: Path) -> Place:
    status = path.stat()
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino


def found(program: Path, place: Place, recorded: Recorded) -> tuple[bool, str, list[str]]:
    """Whether the file is taken, the problem, and the kinds of defects."""
    finder = Finder(defects=Defects())
    finder.recorded = recorded
    elf, problem = finder.binary(str(program), b"", place)
    return elf is not None, problem, [defect.kind for defect in finder.defects]


def no_extents() -> Extents:
    return {}


def later(program: Path) -> float:
    return program.stat().st_mtime + 10


def test_a_file_that_nothing_contradicts_is_taken(program: Path) -> None:
    assert found(program, place_of(program), Recorded(later(program), True, no_extents)) == (True, "", [])


def test_another_inode_on_the_same_device_is_another_file(program: Path) -> None:
    place = place_of(program)
    place = (*place[:2], place[2] + 1)
    taken, problem, defects = found(program, place, Recorded(later(program), True, no_extents))
    assert not taken
    assert "by its inode" in problem
    assert defects == ["file replaced after the recording"]


def test_inodes_of_another_device_are_not_compared(program: Path) -> None:
    major, minor, inode = place_of(program)
    assert found(program, (major, minor + 1, inode + 1), Recorded(later(program), True, no_extents))[0]


@pytest.mark.parametrize("place", [(0, 0, 0), None], ids=["none-recorded", "no-record"])
def test_a_mapping_without_inode_proves_nothing(program: Path, place: Place) -> None:
    assert found(program, place, Recorded(later(program), True, no_extents))[0]


def test_a_file_written_after_the_recording_is_not_taken(program: Path) -> None:
    taken, problem, _ = found(program, place_of(program), Recorded(later(program) - 20, True, no_extents))
    assert not taken
    assert "changed after the recording" in problem


def test_inodes_and_times_of_another_machine_are_not_compared(program: Path) -> None:
    major, minor, inode = place_of(program)
    assert found(program, (major, minor, inode + 1), Recorded(later(program) - 20, False, no_extents))[0]


@pytest.mark.parametrize(("more", "taken"), [(PAGE - 1, True), (PAGE, False)])
def test_a_file_smaller_than_its_mapped_code_is_not_taken(program: Path, more: int, taken: bool) -> None:
    place = place_of(program)

    def extents() -> Extents:
        return {(str(program), place): program.stat().st_size + more}

    assert found(program, place, Recorded(None, False, extents))[0] == taken


def test_files_under_symfs_are_the_user_s_choice(program: Path) -> None:
    finder = Finder(symfs=str(program.parent))
    finder.recorded = Recorded(later(program) - 20, True, no_extents)
    assert finder.binary("/program", b"", place_of(program))[0] is not None
