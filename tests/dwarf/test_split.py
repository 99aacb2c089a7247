"""Debugging information apart from its binary: `.dwo` files and packages of them, found by their ids."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.dwarf.split_dwarf import Package
from undwarf.dwarf.value_classes import ValueClass
from undwarf.elf import ElfFile
from undwarf.images import Finder
from undwarf.types.sources.dwarf_entries import SIGNATURE, TYPE, Spaces, tags_of

from .conftest import CPP_SOURCE

SECOND_SOURCE = r"""
#include <vector>
static inline int triple(int x) { return 3 * x; }
__attribute__((noinline)) int second(const std::vector<int> &v) {
  int s = 0;
  for (int x : v) s += triple(x) ^ s;
  return s;
}
"""
CASES = {
    "gcc-4": ("g++ -gdwarf-4", "dwp"),
    "gcc-5": ("g++ -gdwarf-5", "llvm-dwp"),
    "gcc-4-types": ("g++ -gdwarf-4 -fdebug-types-section", "dwp"),
    "gcc-5-types": ("g++ -gdwarf-5 -fdebug-types-section", "llvm-dwp"),
    "clang-5-types": ("clang++ -gdwarf-5 -fdebug-types-section", "llvm-dwp"),
    "clang-4": ("clang++ -gdwarf-4", "dwp"),
    "clang-5": ("clang++ -gdwarf-5", "llvm-dwp"),
}
Chain = list[tuple[str, str, int, int]]


@pytest.fixture(scope="module", params=CASES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `program` and its `.dwo` files, and `whole`, the same code with all in one file."""
    compiler, packer = CASES[request.param]
    command = compiler.split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    place: Path = tmp_path_factory.mktemp(request.param)
    (place / "b.cpp").write_text(CPP_SOURCE.replace("int main", "int second(const std::vector<int> &);\nint main"))
    (place / "c.cpp").write_text(SECOND_SOURCE)
    for kind, options in (("program", ["-gsplit-dwarf"]), ("whole", [])):
        for source in ("b", "c"):
            made = f"{source}.o" if kind == "program" else f"{source}-whole.o"
            subprocess.run([*command, "-O2", *options, "-c", f"{source}.cpp", "-o", made], cwd=place, check=True)
        objects = ["b.o", "c.o"] if kind == "program" else ["b-whole.o", "c-whole.o"]
        subprocess.run([command[0], *objects, "-o", kind], cwd=place, check=True)
    (place / "packer").write_text(packer)
    return place


def open_lines(program: Path, defects: Defects | None = None) -> DebugLines:
    elf = ElfFile.open(program)
    finder = Finder()

    def find(name: str, directory: str, _identity: int) -> Iterator[ElfFile]:
        return finder.split_files(name, directory, elf)

    lines = DebugLines.open(elf, find_split=find, defects=defects)
    assert lines is not None
    return lines


def addresses_of(program: Path) -> memoryview:
    code = next(section for section in ElfFile.open(program).sections if section.name == ".text")
    made = zeros("Q", len(range(0, code.size, 3)))
    for i in range(len(made)):
        made[i] = code.address + 3 * i
    return made


def chains(lines: DebugLines, addresses: memoryview) -> list[Chain]:
    found = lines.inline_chains(addresses)
    return [found.chain(i) for i in range(len(addresses))]


def pack(place: Path) -> Path:
    """A folder with the program and its package, without the `.dwo` files."""
    packer = (place / "packer").read_text()
    if shutil.which(packer) is None:
        pytest.skip(f"{packer} is not installed")
    apart = place / "packed"
    if not apart.exists():
        apart.mkdir()
        shutil.copy(place / "program", apart / "program")
        command = [packer, "-e", "program", "-o", "packed/program.dwp"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        if done.returncode or not (apart / "program.dwp").exists():
            pytest.skip(f"{packer}: {done.stderr[:200]}")
    return apart


def test_split_units_say_the_same_as_whole_ones(folder: Path) -> None:
    addresses = addresses_of(folder / "program")
    whole = chains(open_lines(folder / "whole"), addresses)
    defects = Defects()
    assert chains(open_lines(folder / "program", defects), addresses) == whole
    assert not list(defects)
    assert max(map(len, whole)) > 3


def test_package_says_the_same_as_the_files_in_it(folder: Path, tmp_path: Path) -> None:
    apart = pack(folder)
    shutil.copytree(apart, tmp_path / "moved")
    hidden = [path.rename(path.with_suffix(".hidden")) for path in folder.glob("*.dwo")]
    try:
        addresses = addresses_of(folder / "program")
        lines = open_lines(tmp_path / "moved" / "program")
        packed = chains(lines, addresses)
        lines.release()
        again = chains(lines, addresses)
    finally:
        for path in hidden:
            path.rename(path.with_suffix(".dwo"))
    assert packed == chains(open_lines(folder / "whole"), addresses)
    assert again == packed


def test_types_in_a_package_are_found_by_their_signatures(folder: Path) -> None:
    apart = pack(folder)
    elf = ElfFile.open(apart / "program")
    package = ElfFile.open(apart / "program.dwp")
    index = package.section_data(".debug_tu_index")
    if index is None or not int.from_bytes(index[8:12], "little"):
        pytest.skip("the package has no types of their own")
    lines = DebugLines.open(elf, find_split=lambda *_: [package])
    assert lines is not None
    spaces = Spaces(lines.file)
    wanted = []
    for unit in range(lines.file.info.units.count):
        file, number = lines.source_of(unit)
        space = spaces.of(file)
        root = space.root(number)
        assert root is not None
        for child in space.children(root, tags_of(*range(1, 0x40))):
            wanted += [(child, one) for one in (SIGNATURE, TYPE) if child.kind(one) == ValueClass.REF_SIG8]
    assert wanted
    for child, attribute in wanted:
        found = child.reference(attribute)
        assert found is not None and found.tag in (0x02, 0x04, 0x13, 0x17)
    assert spaces.signature(0x1234, space) is None


def test_file_of_another_build_is_not_used(folder: Path) -> None:
    for path in folder.glob("*c.dwo"):
        kept = path.read_bytes()
        other = next(other for other in folder.glob("*b.dwo"))
        path.write_bytes(other.read_bytes())
        try:
            defects = Defects()
            program = folder / "program"
            found = [chain for chain in chains(open_lines(program, defects), addresses_of(program)) if chain]
        finally:
            path.write_bytes(kept)
        assert [defect.kind for defect in defects] == ["split debugging information not found"]
        names = {entry[0] for chain in found for entry in chain}
        assert "main" in names and not any("second" in name for name in names)
        # Skeletons keep their line tables.
        assert any(entry[1].endswith("c.cpp") for chain in found for entry in chain)


def test_damaged_package_is_no_error(folder: Path, tmp_path: Path) -> None:
    apart = pack(folder)
    data = (apart / "program.dwp").read_bytes()
    elf = ElfFile.from_bytes(data)
    parts = [section for section in elf.sections if section.name.startswith(".debug_") and section.size]
    index = next(section for section in parts if section.name == ".debug_cu_index")
    addresses = addresses_of(folder / "program")
    program = ElfFile.open(folder / "program")
    draw = random.Random(5)
    for number in range(60):
        broken = bytearray(data)
        for _ in range(draw.choice((1, 4))):
            section = index if number % 2 else draw.choice(parts)
            broken[section.offset + draw.randrange(section.size)] = draw.choice((0, 1, 0x80, 0xFF))
        lines = DebugLines.open(program, find_split=partial(_package, bytes(broken)))
        assert lines is not None
        assert len(lines.inline_chains(addresses).first) == len(addresses) + 1


def _package(data: bytes, *_asked: object) -> list[ElfFile]:
    return [ElfFile.from_bytes(data, "x.dwp")]


def _index(version: int, rows: dict[int, list[tuple[int, int]]], columns: list[int], slots: int) -> bytes:
    """A package's index, as DWARF 5, 7.3.5.3 lays it out."""
    keys, numbers = [0] * slots, [0] * slots
    for number, identity in enumerate(rows, 1):
        slot = identity & (slots - 1)
        while numbers[slot]:
            slot = (slot + ((identity >> 32) & (slots - 1) | 1)) & (slots - 1)
        keys[slot], numbers[slot] = identity, number
    words = [version, len(columns), len(rows), slots]
    words += [word for key in keys for word in (key & 0xFFFFFFFF, key >> 32)] + numbers + columns
    words += [part[0] for row in rows.values() for part in row] + [part[1] for row in rows.values() for part in row]
    return b"".join(word.to_bytes(4, "little") for word in words)


class _Bytes:
    """What a package needs of an ELF file."""

    path = ""
    byte_order = "little"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def section_data(self, _name: str) -> memoryview:
        return memoryview(self.data)


def test_index_finds_every_unit_among_those_that_collide() -> None:
    draw = random.Random(3)
    rows = {draw.getrandbits(60) << 4 | 5: [(10 * n, n), (7 * n, 2 * n)] for n in range(100)}
    for version, second in ((2, "debug_loc"), (5, "debug_loclists")):
        package = Package(_Bytes(_index(version, rows, [1, 5], 128)))
        for n, identity in enumerate(rows):
            assert package.parts(identity) == {"debug_info": (10 * n, n), second: (7 * n, 2 * n)}
        assert package.parts(1) is None


def test_full_index_without_the_unit_ends_the_search() -> None:
    rows = {8 * n + 1: [(n, n)] for n in range(16)}
    package = Package(_Bytes(_index(5, rows, [1], 16)))
    assert package.parts(3) is None


@pytest.mark.parametrize("change", [(0, 3), (4, 0xFFFFFFFF), (8, 0xFFFFFFFF), (12, 0xFFFFFFFF), (12, 3)])
def test_index_that_cannot_be_is_empty(change: tuple[int, int]) -> None:
    data = bytearray(_index(5, {1: [(0, 4)]}, [1], 2))
    data[change[0] : change[0] + 4] = change[1].to_bytes(4, "little")
    assert Package(_Bytes(bytes(data))).parts(1) is None
