"""Chains of inlined functions and source lines, beside what other readers of DWARF say of the same addresses."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf.column import zeros
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT

from .conftest import PROGRAMS

Chain = list[tuple[str, str, int]]
READERS = {
    "llvm-symbolizer": ["llvm-symbolizer", "--no-demangle", "-a", "-i", "--output-style=GNU", "-f", "-e"],
    "addr2line": ["addr2line", "-a", "-f", "-i", "-e"],
    "eu-addr2line": ["eu-addr2line", "-a", "-f", "-i", "-e"],
}


def column(addresses: list[int]) -> memoryview:
    made = zeros("Q", len(addresses))
    for i, address in enumerate(addresses):
        made[i] = address
    return made


def chains(program: Path, addresses: list[int]) -> list[Chain]:
    lines = DebugLines.open(ElfFile.open(program))
    assert lines is not None
    found = lines.inline_chains(column(addresses))
    return [
        [(name, os.path.normpath(file) if file else "", line) for name, file, line, _column in found.chain(i)]
        for i in range(len(addresses))
    ]


def theirs(command: list[str], program: Path, addresses: list[int]) -> list[Chain]:
    text = "\n".join(map(hex, addresses)) + "\n"
    done = subprocess.run([*command, program], input=text, capture_output=True, text=True)
    found: list[Chain] = []
    if "DWARF error" in done.stderr:
        # addr2line 2.40 and 2.44 take some offsets of gcc 14's 64-bit DWARF for larger ones, and go on.
        return found
    name = ""
    for line in filter(None, done.stdout.split("\n")):
        if line.startswith("0x"):
            found.append([])
            name = ""
        elif not name:
            name = line.partition(" inlined at ")[0]
        else:
            file, _, number = line.partition(" (")[0].rpartition(":")
            if command[0] == "eu-addr2line" and not file.startswith(("/", "?")):
                file, _, number = file.rpartition(":")
            if command[0] == "eu-addr2line" and file.count(":"):
                # file:line:column
                file, _, number = file.rpartition(":")
            # Where there is no DWARF they tell the file that the symbol table names, without a line.
            if not file.startswith("?") and ((number.isdigit() and int(number)) or "/" in file):
                place = (name if name != "??" else "", os.path.normpath(file), int(number) if number.isdigit() else 0)
                found[-1].append(place)
            name = ""
    return found


def alike(ours: Chain, other: Chain) -> bool:
    """Whether two chains are the same, but for the last name: others take that from the symbol table."""
    if [entry[1:] for entry in ours] != [entry[1:] for entry in other]:
        return False
    return all(mine[0] == its[0] or not its[0] for mine, its in zip(ours[:-1], other[:-1], strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_chains_are_those_of_another_reader(build: Callable[[str], Path], name: str) -> None:
    program = build(name)
    readers = [command for command in READERS.values() if shutil.which(command[0])]
    if not readers:
        pytest.skip("no other reader of DWARF is installed")
    code = next(section for section in ElfFile.open(program).sections if section.name == ".text")
    draw = random.Random(7)
    addresses = sorted(draw.randrange(code.address, code.address + code.size) for _ in range(300))
    ours = chains(program, addresses)
    given = [theirs(command, program, addresses) for command in readers[:2]]
    answers = [answer for answer in given if len(answer) == len(addresses)]
    if not answers:
        pytest.skip("no other reader that is installed understands it")
    apart = sum(not alike(*two) for two in zip(answers[0], answers[-1], strict=True))
    if shutil.which("llvm-symbolizer") is None and (len(answers) < len(given) or apart > len(addresses) // 10):
        # GNU's and elfutils' leave out functions that are inlined at the beginning of others, as clang 21 says it.
        pytest.skip("the readers that are installed do not agree with each other")
    wrong = [
        (hex(address), mine, [answer[i] for answer in answers])
        for i, (address, mine) in enumerate(zip(addresses, ours, strict=True))
        if alike(answers[0][i], answers[-1][i]) and not alike(mine, answers[0][i])
    ]
    assert len(wrong) <= len(addresses) // 200, wrong[:3]
    assert sum(map(bool, ours)) > 50


def test_inlined_function_is_told_with_the_line_of_its_call(build: Callable[[str], Path]) -> None:
    program = build("gcc")
    source = (program.parent / "a.c").read_text().splitlines()
    code = next(section for section in ElfFile.open(program).sections if section.name == ".text")
    found = chains(program, list(range(code.address, code.address + code.size)))
    deep = [chain for chain in found if [entry[0] for entry in chain] == ["square", "cube", "work"]]
    assert deep
    for chain in deep:
        # Compilers charge parts of an inlined function to its first line or its body; here these are one.
        assert "square(int x)" in source[chain[0][2] - 1]
        assert "cube(int x)" in source[chain[1][2] - 1]
        assert "cube(i)" in source[chain[2][2] - 1]


def test_addresses_come_in_any_order_and_keep_it(build: Callable[[str], Path]) -> None:
    program = build("gcc")
    code = next(section for section in ElfFile.open(program).sections if section.name == ".text")
    addresses = list(range(code.address, code.address + code.size, 3))
    mixed = addresses[:]
    random.Random(1).shuffle(mixed)
    known = dict(zip(addresses, chains(program, addresses), strict=True))
    assert chains(program, mixed) == [known[address] for address in mixed]


def test_address_without_code_has_no_chain(build: Callable[[str], Path]) -> None:
    assert chains(build("gcc"), [0, 1, 0x7FFFFFFFFFFF, (1 << 64) - 1]) == [[], [], [], []]


def test_program_without_debugging_information(tmp_path: Path, build: Callable[[str], Path]) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, build("gcc")], check=True)
    assert DebugLines.open(ElfFile.open(stripped)) is None


def test_separate_debug_file_is_read_with_the_program_s_addresses(tmp_path: Path, build: Callable[[str], Path]) -> None:
    program = build("g++")
    subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "debug"], check=True)
    subprocess.run(["strip", "-o", tmp_path / "stripped", program], check=True)
    elf = ElfFile.open(program)
    code = next(section for section in elf.sections if section.name == ".text")
    addresses = list(range(code.address, code.address + code.size, 37))
    lines = DebugLines.open(ElfFile.open(tmp_path / "stripped"), ElfFile.open(tmp_path / "debug"))
    assert lines is not None
    apart = lines.inline_chains(column(addresses))
    assert [[entry[:3] for entry in apart.chain(i)] for i in range(len(addresses))] == [
        [(name, file, line) for name, file, line, _ in chain] for chain in _raw(elf, addresses)
    ]


def _raw(elf: ElfFile, addresses: list[int]) -> list[list[tuple[str, str, int, int]]]:
    lines = DebugLines.open(elf)
    assert lines is not None
    found = lines.inline_chains(column(addresses))
    return [found.chain(i) for i in range(len(addresses))]


def test_little_memory_gives_the_same_answers(build: Callable[[str], Path]) -> None:
    elf = ElfFile.open(build("rust"))
    code = next(section for section in elf.sections if section.name == ".text")
    addresses = list(range(code.address, code.address + code.size, 997))
    small = DebugLines.open(elf, limits=DEFAULT._replace(dwarf_bytes=1))
    assert small is not None
    found = small.inline_chains(column(addresses))
    assert [found.chain(i) for i in range(len(addresses))] == _raw(elf, addresses)
    assert len(small._kept) == 1  # private: a cache is not seen but for its size


@pytest.mark.parametrize("seed", range(4))
def test_damage_gives_answers_or_none_but_no_error(build: Callable[[str], Path], seed: int) -> None:
    data = bytearray(build("gcc").read_bytes())
    elf = ElfFile.from_bytes(bytes(data))
    draw = random.Random(seed)
    parts = [section for section in elf.sections if section.name.startswith(".debug_")]
    code = next(section for section in elf.sections if section.name == ".text")
    addresses = column(list(range(code.address, code.address + code.size, 5)))
    for _ in range(150):
        broken = bytearray(data)
        for _change in range(draw.choice((1, 3, 30))):
            section = draw.choice(parts)
            broken[section.offset + draw.randrange(section.size)] = draw.choice(
                (0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256))
            )
        lines = DebugLines.open(ElfFile.from_bytes(bytes(broken)))
        if lines is not None:
            found = lines.inline_chains(addresses)
            assert len(found.first) == len(addresses) + 1
