"""Names from a jitdump that grows."""

from pathlib import Path

import pytest
from tests.support.jitdump_builder import CODE, Dump

from undwarf.agent.jit_names import lines_of
from undwarf.agent.jitdump_names import JitDumpNames

SIZE = len(CODE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jit-7.dump"


def names_in(path: Path) -> JitDumpNames:
    return JitDumpNames(7, str(path), path.stat().st_ino)


def test_functions_are_found_by_addresses_in_them(path: Path) -> None:
    path.write_bytes(Dump().load(0x1000, b"one").load(0x2000, b"two").build())
    found = names_in(path).functions([0x1000, 0x1000 + SIZE - 1, 0x1000 + SIZE, 0x2001])
    assert found == {
        0x1000: (0x1000, SIZE, "one"), 0x1000 + SIZE - 1: (0x1000, SIZE, "one"), 0x2001: (0x2000, SIZE, "two"),
    }  # fmt: skip  # a table


def test_what_is_added_later_is_found_and_what_was_read_is_not_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(Dump().load(0x1000, b"one").build())
    names = names_in(path)
    assert list(names.functions([0x1000, 0x3000])) == [0x1000]
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(Dump().load(0x3000, b"three").build()[40:])
    read = []
    real = __import__("os").pread
    monkeypatch.setattr("os.pread", lambda fd, count, at: read.append(at) or real(fd, count, at))
    assert names.functions([0x3000]) == {0x3000: (0x3000, SIZE, "three")}
    assert min(read) >= size


def test_of_functions_at_one_address_the_last_counts(path: Path) -> None:
    path.write_bytes(Dump().load(0x1000, b"old").load(0x1000, b"new").build())
    assert names_in(path).functions([0x1004])[0x1004][2] == "new"


def test_moved_code_keeps_its_name(path: Path) -> None:
    path.write_bytes(Dump().load(0x1000, b"one").move(0x1000, 0x8000, 0).build())
    assert names_in(path).functions([0x8004]) == {0x8004: (0x8000, SIZE, "one")}


def test_a_record_that_is_being_written_waits(path: Path) -> None:
    whole = Dump().load(0x1000, b"one").load(0x2000, b"two").build()
    path.write_bytes(whole[:-3])
    names = names_in(path)
    assert list(names.functions([0x1000, 0x2000])) == [0x1000]
    path.write_bytes(whole)
    assert list(names.functions([0x1000, 0x2000])) == [0x1000, 0x2000]


def test_another_file_and_no_dump_give_nothing(path: Path) -> None:
    path.write_bytes(b"not a dump" * 20)
    assert names_in(path).functions([0x1000]) == {}
    assert JitDumpNames(7, str(path), path.stat().st_ino + 1).functions([0x1000]) == {}


def test_a_name_is_one_line() -> None:
    assert lines_of([(0x1000, 32, "one\ntwo")]) == "1000 20 one?two\n"
