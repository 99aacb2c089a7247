"""Files that somebody cuts short while they are mapped cost what they have lost, not the process."""

import mmap
import os
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
from tests.support.elf_builder import SHF_COMPRESSED, Elf, Section, program

from undwarf.elf import ElfFile
from undwarf.mapped_files import MappedFile, cut_files, handle_truncation
from undwarf.perfdata.stream import Stream

SIZE = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"x" * SIZE)
    handle_truncation()
    cut_files()
    return path


def mapped(path: Path) -> MappedFile:
    with path.open("rb") as opened:
        return MappedFile.of(opened.fileno(), SIZE, str(path))


def test_what_is_cut_off_reads_as_zeros_and_the_rest_as_before(file: Path) -> None:
    view = memoryview(mapped(file))
    os.truncate(file, SIZE // 2)
    assert view[SIZE - 1] == 0
    assert bytes(view) == b"x" * (SIZE // 2) + bytes(SIZE // 2)
    assert cut_files() == [str(file)]


def test_a_file_that_was_cut_short_is_named_once(file: Path) -> None:
    one = mapped(file)
    os.truncate(file, 0)
    assert one[:10] == bytes(10)
    one.close()
    assert (cut_files(), cut_files()) == ([str(file)], [])


def test_a_file_that_nobody_cuts_short_is_not_named(file: Path) -> None:
    assert mapped(file)[-1:] == b"x"
    assert cut_files() == []


def test_compiled_code_without_the_gil_meets_zeros(file: Path) -> None:
    view = memoryview(mapped(file))
    os.truncate(file, 0)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(zlib.crc32(view))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [zlib.crc32(bytes(SIZE))] * 4


def test_places_of_closed_mappings_are_used_again(file: Path) -> None:
    numbers = set()
    for _ in range(100):
        with mapped(file) as one:
            numbers.add(one._number)  # private: the slot of the mapping is not seen from outside
    assert len(numbers) < 3


def test_a_view_keeps_a_closed_mapping_guarded(file: Path) -> None:
    one = mapped(file)
    view = memoryview(one)
    with pytest.raises(BufferError):
        one.close()
    os.truncate(file, 0)
    assert view[0] == 0


FOREIGN = """
import mmap, os, sys
from undwarf.mapped_files import MappedFile, handle_truncation
if sys.argv[2] == "handled":
    handle_truncation()
with open(sys.argv[1], "rb") as file:
    ours = MappedFile.of(file.fileno(), 1 << 20, "ours")
    theirs = mmap.mmap(file.fileno(), 1 << 20, prot=mmap.PROT_READ)
os.truncate(sys.argv[1], 0)
print(ours[0], flush=True)
print(theirs[0], flush=True)
"""


@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_a_fault_in_a_mapping_of_others_ends_the_process_as_before(file: Path, options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *options, "-c", FOREIGN, str(file), "handled"], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (-7, b"0\n")
    assert (b"Bus error" in done.stderr) == bool(options)


def test_without_the_handler_a_truncated_file_ends_the_process(file: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FOREIGN, str(file), "default"], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, b"")


def test_a_section_of_a_file_that_was_cut_short_is_zeros(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(Elf([Section(".data", b"y" * SIZE)]).build() + bytes(mmap.PAGESIZE))
    elf = ElfFile.open(path)
    section = elf.sections[1]
    os.truncate(path, mmap.PAGESIZE)
    data = elf.section_data(section)
    assert data is not None
    assert bytes(data[-100:]) == bytes(100)


def test_a_compressed_section_of_a_file_that_was_cut_short_is_damaged(tmp_path: Path) -> None:
    noise = os.urandom(SIZE)
    made = Elf()
    packed = made.compressed(1, zlib.compress(noise, 0), SIZE)
    made.sections.append(Section(".debug_info", packed, flags=SHF_COMPRESSED))
    path = tmp_path / "program"
    path.write_bytes(made.build())
    elf = ElfFile.open(path)
    assert elf.sections
    os.truncate(path, SIZE // 2)
    assert elf.section_data(".debug_info") is None
    assert [defect.kind for defect in elf.defects] == ["corrupt compressed section"]


def test_a_symbol_table_of_a_file_that_was_cut_short_does_not_end_us(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(program().build())
    elf = ElfFile.open(path)
    os.truncate(path, 0)
    assert bytes(elf.data) == bytes(len(elf.data))


def test_a_window_of_a_recording_that_was_cut_short_is_shorter(file: Path) -> None:
    with file.open("rb") as opened:
        stream = Stream([(opened.fileno(), 0, SIZE)], str(file))
        os.truncate(file, 100)
        with stream.window(0, SIZE) as view:
            assert len(view) == 100
        os.truncate(file, SIZE)
        with stream.window(0, SIZE) as view:
            os.truncate(file, 100)
            assert view[SIZE - 1] == 0
    assert cut_files() == [str(file)]
