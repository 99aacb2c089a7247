"""Strings that units name by number, each with numbers of its own."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.dwarf.sections import DwarfFile
from undwarf.elf import ElfFile
from undwarf.types.sources.dwarf_entries import NAME, Spaces


@pytest.fixture
def file(tmp_path: Path) -> DwarfFile:
    if shutil.which("clang") is None:
        pytest.skip("no clang")
    for name in "ab":
        (tmp_path / f"{name}.c").write_text(
            f"int of_{name}; int {'main' if name == 'a' else 'f'}(void) {{ return 0; }}"
        )
    command = ["clang", "-gdwarf-5", "-o", tmp_path / "p", tmp_path / "a.c", tmp_path / "b.c"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this clang does not build it")
    elf = ElfFile.open(tmp_path / "p")
    if elf.section(".debug_str_offsets") is None:
        pytest.skip("this clang numbers no strings")
    return DwarfFile(elf)


def test_a_number_means_another_string_in_another_unit(file: DwarfFile) -> None:
    space = Spaces(file).main
    roots = [space.root(unit) for unit in range(space.info.units.count)]
    # What was read once is asked for again.
    for _time in range(2):
        assert [Path(one.string(NAME)).name for one in roots if one is not None] == ["a.c", "b.c"]


def test_a_string_that_is_not_there_is_empty_each_time(file: DwarfFile) -> None:
    for _time in range(2):
        assert [file.string(9, index, 0) for index in (1 << 20, 1 << 32, 1 << 63)] == ["", "", ""]
    names = [file.string(9, 1, unit) for unit in (0, 1)]
    assert len(set(names)) == 2
    assert [file.string(9, 1 << 32 | 1, 0), file.string(9, 1, 1)] == ["", names[1]]
