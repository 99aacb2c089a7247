"""Debugging information of files that are not linked: relocated as a linker would, sections of one name joined."""

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf.dwarf.apply_relocations import apply_relocations, symbol_values
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.dwarf.relocations import operations_of
from undwarf.dwarf.sections import DwarfFile
from undwarf.elf import ElfFile
from undwarf.elf.section_layout import section_addresses
from undwarf.symbols.elf_symbols import symbols_of_elf

from .conftest import C_SOURCE, CPP_SOURCE
from .test_lines import column

Chain = list[tuple[str, str, int, int]]
NO_HEADERS = """
static inline int square(int x) { return x * x + 1; }
__attribute__((noinline)) int cube(int x) { int r = square(x); for (int i = 0; i < x; i++) r += square(i); return r; }
__attribute__((section(".text.far"))) int far(int x) { return cube(x) + square(x); }
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[[str, str], Path]:
    def make(command: str, source: str) -> Path:
        words = command.split()
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        text = tmp_path / ("a.cpp" if "++" in words[0] else "a.c")
        text.write_text(source)
        out = tmp_path / "a.o"
        done = subprocess.run([*words, "-c", text, "-o", out], cwd=tmp_path, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{command}: {done.stderr[:200]}")
        return out

    return make


def chains_by_function(path: Path) -> dict[str, list[Chain]]:
    """The chains of all addresses of each function, by its symbol."""
    elf = ElfFile.open(path)
    table = symbols_of_elf(elf)
    lines = DebugLines.open(elf)
    assert table is not None and lines is not None
    starts, ends = table.ranges()
    found = {}
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        chains = lines.inline_chains(column(list(range(start, end))))
        name = table.names_at(number)[0].decode()
        found[name] = [chains.chain(i) for i in range(end - start)]
    return found


@pytest.mark.parametrize(
    "command",
    [
        "gcc -O2 -g",
        "gcc -O2 -gdwarf-4",
        "gcc -O2 -g -ffunction-sections",
        "gcc -O2 -g -gz=zlib",
        "clang -O2 -g",
        "clang -O2 -g -ffunction-sections",
        "aarch64-linux-gnu-gcc -O2 -g",
        "clang --target=riscv64-linux-gnu -mrelax -O2 -g",
        "clang --target=s390x-linux-gnu -O2 -g",
        "clang --target=powerpc64le-linux-gnu -O2 -g",
        # Relocations without addends of their own (REL).
        "gcc -m32 -O2 -g",
        "clang --target=armv7-linux-gnueabihf -O2 -g",
    ],
)
def test_each_function_lies_where_its_section_does(compiled: Callable[[str, str], Path], command: str) -> None:
    found = chains_by_function(compiled(command, NO_HEADERS))
    assert {"cube", "far"} <= found.keys()
    for name in ("cube", "far"):
        chains = [chain for chain in found[name] if chain]
        assert chains and {chain[-1][0] for chain in chains} == {name}
        assert {chain[-1][1].rpartition("/")[2] for chain in chains} == {"a.c"}
        assert {chain[-1][2] for chain in chains} <= ({3} if name == "cube" else {4}) | {0}
    inlined = {tuple(entry[0] for entry in chain) for chain in found["far"]}
    assert ("square", "far") in inlined


@pytest.mark.parametrize("options", ["-O2 -g", "-O2 -gdwarf-4 -fdebug-types-section", "-O2 -g -fdebug-types-section"])
def test_object_says_what_the_program_made_of_it_says(
    compiled: Callable[[str, str], Path], tmp_path: Path, options: str
) -> None:
    made = compiled(f"g++ {options}", CPP_SOURCE)
    subprocess.run(["g++", made, "-o", tmp_path / "program"], check=True)
    apart, linked = chains_by_function(made), chains_by_function(tmp_path / "program")
    names = [name for name in apart if "sort" in name or name == "main"]
    assert len(names) >= 3
    for name in names:
        assert apart[name] == linked[name]


def test_sections_of_one_name_are_joined_and_type_units_found(compiled: Callable[[str, str], Path]) -> None:
    path = compiled("g++ -O2 -gdwarf-4 -fdebug-types-section", CPP_SOURCE)
    elf = ElfFile.open(path)
    alone = [section for section in elf.sections if section.name == ".debug_types"]
    file = DwarfFile(elf)
    assert len(alone) > 5
    assert len(file.section("debug_types")) == sum(section.size for section in alone)
    assert file.types.units.count == len(alone)


def test_code_is_laid_out_in_the_file_s_order_before_data(compiled: Callable[[str, str], Path]) -> None:
    elf = ElfFile.open(compiled("gcc -O2 -g -ffunction-sections", C_SOURCE))
    places = section_addresses(elf)
    loaded = [section for section in elf.sections if section.flags & 2 and section.size]
    code = [section for section in loaded if section.flags & 4]
    assert len(code) > 3
    reached = 0
    for section in code:
        assert reached <= places[section.index] < reached + max(section.align, 1)
        reached = places[section.index] + section.size
    assert all(places[section.index] >= reached for section in loaded if section not in code)


def rela(*entries: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("<QQq", at, symbol << 32 | kind, addend) for at, kind, symbol, addend in entries)


def patched(data: bytes, machine: int, relocations: bytes, values: list[int], base: int = 0) -> tuple[bytes, int]:
    out = bytearray(data)
    left = apply_relocations(
        out, relocations, column(values), operations_of(machine), wide=True, big=False, addends=True, base=base
    )
    return bytes(out), left


def test_relocation_past_the_end_or_unknown_is_left_and_counted() -> None:
    entries = rela((6, 1, 0, 5), (1 << 63, 10, 0, 5), (0, 250, 0, 5), (0, 10, 7, 5), (0, 10, 0, 5))
    assert patched(bytes(8), 62, entries, [0x100]) == (struct.pack("<II", 0x105, 0), 4)


def test_relative_relocation_counts_from_its_own_place() -> None:
    assert patched(bytes(8), 62, rela((4, 2, 0, 0)), [0x1000], base=0x100)[0] == struct.pack("<II", 0, 0x1000 - 0x104)


def test_added_and_subtracted_symbols_give_their_distance() -> None:
    entries = rela((0, 35, 0, 4), (0, 39, 1, 0), (4, 56, 0, 0), (4, 39, 1, 0))
    assert patched(bytes(8), 243, entries, [0x2010, 0x2000])[0] == struct.pack("<II", 0x14, 0x10)


def test_number_of_variable_length_keeps_its_length() -> None:
    entries = rela((0, 60, 0, 0), (0, 61, 1, 0))
    assert patched(b"\x80\x80\x00\xff", 243, entries, [0x2085, 0x2000])[0] == b"\x85\x81\x00\xff"
    # Without an end it goes no further than the bytes do.
    assert patched(b"\x80\x80", 243, rela((0, 60, 0, 0)), [1 << 40])[0] == b"\x80\x80"


def test_symbols_count_from_their_sections_and_common_ones_from_nothing() -> None:
    rows = [(0, 0), (1, 0x10), (0xFFF2, 32), (0xFFF1, 7), (0xFFFF, 1), (9, 5)]
    table = b"".join(struct.pack("<IBBHQQ", 0, 0, 0, section, value, 0) for section, value in rows)
    extended = struct.pack("<6I", 0, 0, 0, 0, 2, 0)
    bases = column([0, 0x1000, 0x2000])
    values = symbol_values(table + b"cut", bases, extended, wide=True, big=False)
    assert values.tolist() == [0, 0x1010, 0, 7, 0x2001, 5]


def test_tables_of_every_machine_name_sizes_that_exist() -> None:
    for machine in (3, 21, 22, 40, 62, 183, 243, 258):
        for entry in operations_of(machine):
            assert entry >> 4 <= 9 and entry & 15 in (0, 1, 2, 4, 8)
    assert len(operations_of(8)) == 0
