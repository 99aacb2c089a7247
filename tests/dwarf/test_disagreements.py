"""Where other readers of DWARF differ among themselves: we say what is written there."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf.dwarf.line_lookup import DebugLines
from undwarf.elf import ElfFile
from undwarf.symbols.address_lookup import Addresses
from undwarf.symbols.elf_symbols import symbols_of_elf

from .test_lines import column

Rows = list[tuple[int, int, str]]


def ranges_of(lines: DebugLines, *, inlined: bool) -> Rows:
    """(start, end, name) of the functions that are inlined, or of those that are not."""
    found: Rows = []
    for unit in range(lines.file.info.units.count):
        file, number = lines.source_of(unit)
        functions = file.info.functions.of_unit(number)
        for start, end, of in zip(functions["start"], functions["end"], functions["of"], strict=True):
            if bool(functions["inlined"][of]) == inlined:
                name = file.info.functions.name_of(functions["origin"][of])
                found.append((start, end, file.string(name[0], name[1], name[4])))
    return found


@pytest.mark.parametrize("name", ["gcc", "gcc-dwarf4", "clang", "g++", "rust"])
def test_inlined_function_is_named_from_its_first_address_to_its_last(build: Callable[[str], Path], name: str) -> None:
    # GNU addr2line names what is inlined by the symbol around it where it is asked for the first address.
    lines = DebugLines.open(ElfFile.open(build(name)))
    assert lines is not None
    rows = [row for row in ranges_of(lines, inlined=True) if row[2]]
    rows = rows[:: max(1, len(rows) // 500)]
    assert len(rows) > 3
    for k in (0, 1):
        wanted = [row[0] if k == 0 else row[1] - 1 for row in rows]
        found = lines.inline_chains(column(wanted))
        for i, row in enumerate(rows):
            assert row[2] in {entry[0] for entry in found.chain(i)[:-1]}


@pytest.mark.parametrize("name", ["gcc", "clang", "g++"])
def test_padding_behind_a_function_is_in_no_function(build: Callable[[str], Path], name: str) -> None:
    # Others name the function before it, some with all that is inlined at its end.
    lines = DebugLines.open(ElfFile.open(build(name)))
    assert lines is not None
    whole = ranges_of(lines, inlined=False)
    starts = {start for start, _, _ in whole}
    behind = [end for _, end, _ in whole if end % 16 and not any(start <= end < stop for start, stop, _ in whole)]
    assert starts and behind
    found = lines.inline_chains(column(behind))
    for i in range(len(behind)):
        chain = found.chain(i)
        assert len(chain) <= 1 and not any(entry[0] for entry in chain)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_of_symbols_at_one_address_the_compiler_s_name_is_taken(tmp_path: Path, compiler: str) -> None:
    # Constructors have two names; readers that go by symbols take either.
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "a.cpp"
    source.write_text(
        "struct S { int a; S(int); ~S(); }; S::S(int x) : a(x + 1) {} S::~S() { a = 0; }\n"
        "int main(int c, char **) { S s(c); return s.a; }\n"
    )
    program = tmp_path / "program"
    subprocess.run([compiler, "-O1", "-g", source, "-o", program], check=True)
    elf = ElfFile.open(program)
    table, lines = symbols_of_elf(elf), DebugLines.open(elf)
    assert table is not None and lines is not None
    for name in (b"_ZN1SC1Ei", b"_ZN1SC2Ei", b"_ZN1SD1Ev", b"_ZN1SD2Ev"):
        address = table.address_of_name(name)
        assert address
        (entry,) = lines.inline_chains(column([address])).chain(0)
        found = Addresses(str(program)).locate(column([address]))
        symbol = found.symbols[found.symbol_of[0]]
        assert symbol in ("_ZN1SC1Ei", "_ZN1SC2Ei", "_ZN1SD1Ev", "_ZN1SD2Ev")
        if entry[0] in ("_ZN1SC1Ei", "_ZN1SC2Ei", "_ZN1SD1Ev", "_ZN1SD2Ev"):
            assert symbol == entry[0]
