"""Tables written as SFrame: what is read back is what was there."""

import os
import random
import shutil
import struct
import subprocess
from array import array
from pathlib import Path

import fuzz_tables
import mutate
import pytest
from tests.support.elf_builder import Elf, Section, Segment, program
from tests.support.tables.sframe_builder import AARCH64, AARCH64_BIG, AMD64, FP, MACHINES, S390X, SP, Function, SFrame
from tests.support.tables.sframe_compare import compare

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.writer import NewSection, file_of_sections, with_sections
from undwarf.errors import ElfError, NothingUsable, UsageError
from undwarf.tables.from_sframe import source_of_section
from undwarf.tables.model import NO_RULE, UnwindTable
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.writers import write

MASK, SIGNAL = 16, 128
Rows = list[tuple[int, int, str, dict[str, str], bool, bool, bool]]


def table_of(data: bytes, address: int, abi: int) -> UnwindTable:
    rules, defects = RuleSet(), Defects()
    order = "big" if abi in (AARCH64_BIG, S390X) else "little"
    source = source_of_section(
        memoryview(data), address, machine=MACHINES[abi], byte_order=order, rules=rules, defects=defects
    )
    assert not list(defects)
    return UnwindTable(rules, [lambda: source], MACHINES[abi])


def words(table: UnwindTable) -> Rows:
    return [
        (start, end, rule.cfa, rule.registers, rule.signal, rule.outermost, rule.signed)
        for start, end, rule in table
        if rule is not None
    ]


def elf_of(abi: int) -> ElfFile:
    """A file of the machine; only its headers matter."""
    made = Elf(machine=MACHINES[abi], big=abi in (AARCH64_BIG, S390X))
    return ElfFile.from_bytes(made.build())


def again(table: UnwindTable, abi: int, version: str, address: int = 0x3000) -> Rows:
    made = write("sframe", table, elf_of(abi), version)
    (section,) = made.sections
    data = section.place({".sframe": address})
    assert len(data) == section.size
    return words(table_of(data, address, abi))


def control(register: int, deref: bool = False) -> int:
    return register << 3 | deref << 1 | 1


USUAL = {
    AMD64: [(0, SP, (8,)), (1, SP, (16, -16)), (4, FP, (16, -16)), (300, SP, (100_000, -16)), (900, SP, ())],
    AARCH64: [(0, SP, (0,)), (4, SP | 128, (32, -32, -24)), (8, FP, (32, -32, -24)), (900, SP, (0, -8))],
    AARCH64_BIG: [(0, SP, (0,)), (4, SP | 128, (32, -32, -24)), (8, FP, (320, -32, -24)), (900, SP, ())],
    S390X: [(0, SP, (0,)), (6, SP, (12, -48, -72)), (10, FP, (12, 0, -72)), (20, SP, (-3,))],
}


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("abi", USUAL)
def test_usual_rows_come_back(abi: int, version: str) -> None:
    functions = [
        Function(0x1000, 1000, USUAL[abi], width=4, word=4),
        Function(0x2000, 24, USUAL[abi][:2], width=1, word=4),
        Function(0x3000, 1 << 20, [USUAL[abi][0], (1 << 19, *USUAL[abi][1][1:])], width=4, word=4),
    ]
    table = table_of(SFrame(abi=abi, functions=functions).build(), 0x2000, abi)
    expected = words(table)
    assert len(expected) == len(USUAL[abi]) + 4
    assert again(table, abi, version) == expected


def test_flexible_rows_come_back() -> None:
    rows = [
        (0, 0, (control(7), 8)),
        (1, 0, (control(10), 0)),
        (2, 0, (control(6, True), -16, 0, control(6, True), 0)),
        (3, 0, (control(7), 16, 2, -16)),
        (4, 0, (control(7), 16, control(2), 0, 2, -24)),
        (5, 0, (control(16), 16)),
    ]
    table = table_of(SFrame(functions=[Function(0x1000, 9, rows, kind=1)]).build(), 0x2000, AMD64)
    assert len(words(table)) == 6
    assert again(table, AMD64, "3") == words(table)
    # Version 2 has none of these but the first.
    made = write("sframe", table, elf_of(AMD64), "2")
    assert (made.functions, made.rows) == (1, 1)
    assert made.left_out == {"register": 4, "indirect call frame address": 1}
    assert again(table, AMD64, "2") == words(table)[:1]


def test_a_signal_trampoline_is_stated() -> None:
    """glibc's `__restore_rt`: all registers come from the context on the stack, the stack pointer as well."""
    rules = RuleSet()
    registers = {16: (5, 168, 7), 6: (5, 120, 7), 7: (5, 160, 7), 3: (5, 128, 7)}
    number = rules.add((2, 7, 160, 0), registers, column=16, source=1, signal=True)
    other = rules.add((2, 7, 160, 0), {**registers, 7: (5, 152, 7)}, column=16, source=1, signal=True)

    table = rows_of(rules, 0x1000, 0x1010, {0x1000: number, 0x1009: other})
    ((start, end, cfa, found, signal, _, _),) = again(table, AMD64, "3")
    assert (start, end, cfa, signal) == (0x1000, 0x1009, "*(rsp+160)", True)
    assert (found["ra"], found["rbp"]) == ("*(rsp+168)", "*(rsp+120)")
    assert write("sframe", table, elf_of(AMD64)).left_out == {"stack pointer": 1}


def test_flexible_rows_of_s390x_come_back() -> None:
    rows = [
        (0, 0, (control(15), 0)),
        (6, 0, (control(15), 4, control(16), 0, control(20), 0)),
        (9, 0, (control(11), 2)),
    ]
    table = table_of(SFrame(abi=S390X, functions=[Function(0x1000, 20, rows, kind=1)]).build(), 0x2000, S390X)
    assert [row[3].get("ra") for row in words(table)] == [None, "f0", None]
    assert again(table, S390X, "3") == words(table)
    # Version 2 has odd numbers for registers.
    assert again(table, S390X, "2") == words(table)


def test_repeated_blocks_come_back() -> None:
    rows = [(0, SP, (8,)), (11, SP, (16,))]
    functions = [Function(0x1010, 64, rows, MASK, block=16), Function(0x2000, 16, [(0, SP, (8,))], MASK, block=8)]
    table = table_of(SFrame(functions=functions).build(), 0x2000, AMD64)
    assert again(table, AMD64, "3") == words(table)
    data = write("sframe", table, elf_of(AMD64)).sections[0].place({".sframe": 0})
    assert struct.unpack_from("<I", data, 12) == (3,), "rows of one block"


def test_signal_frames_come_back_in_version_3_only() -> None:
    functions = [Function(0x1000, 9, [(0, SP, (8,))], SIGNAL), Function(0x1010, 9, [(0, SP, (8,))])]
    table = table_of(SFrame(functions=functions).build(), 0x2000, AMD64)
    assert [row[4] for row in again(table, AMD64, "3")] == [True, False]
    assert [row[4] for row in again(table, AMD64, "2")] == [False, False]


def test_rows_that_say_the_same_become_one() -> None:
    functions = [Function(0x1000, 9, [(0, SP, (8,)), (1, SP, (16, -16))])]
    table = table_of(SFrame(functions=functions).build(), 0x2000, AMD64)
    assert write("sframe", table, elf_of(AMD64)).rows == 2
    signed = [(0, SP, (0,)), (4, SP | 128, (0,))]
    table = table_of(SFrame(abi=AARCH64, functions=[Function(0x1000, 9, signed)]).build(), 0x2000, AARCH64)
    assert write("sframe", table, elf_of(AARCH64)).rows == 2


def test_more_rows_than_a_function_may_have() -> None:
    rows = [(i, SP, (8 + (i & 1),)) for i in range(40_000)]
    functions = [Function(0x100000 * i, 40_000, rows, width=2) for i in (1, 2)]
    rules = RuleSet()
    sources = [
        source_of_section(
            memoryview(SFrame(functions=[one]).build()), 0x2000, machine=62, byte_order="little", rules=rules
        )
        for one in functions
    ]
    table = UnwindTable(rules, [lambda: sources[0], lambda: sources[1]], 62)
    table.complete()
    made = write("sframe", table, elf_of(AMD64))
    assert (made.functions, made.rows) == (2, 80_000)
    data = made.sections[0].place({".sframe": 0})
    assert [row[:3] for row in words(table_of(data, 0, AMD64))] == [row[:3] for row in words(table)]


def test_code_too_far_away_for_version_2() -> None:
    table = table_of(SFrame(functions=[Function(0x1000, 9, [(0, SP, (8,))])]).build(), 0x2000, AMD64)
    assert again(table, AMD64, "3", 1 << 40) == words(table)
    with pytest.raises(NothingUsable):
        again(table, AMD64, "2", 1 << 40)


def rows_of(rules: RuleSet, start: int, end: int, numbers: dict[int, int]) -> UnwindTable:
    """A table of one function: {address: rule}."""

    class One:
        indexed = False
        starts, ends = memoryview(array("Q", [start])), memoryview(array("Q", [end]))

        def rows(self, _piece: int, _start: int, _end: int) -> tuple[memoryview, memoryview]:
            return memoryview(array("Q", numbers)), memoryview(array("I", numbers.values()))

        def compile_all(self) -> int:
            return len(numbers)

    return UnwindTable(rules, [One], 62)


def test_more_code_than_a_function_may_have() -> None:
    rules = RuleSet()
    number = rules.add((1, 7, 8, 0), {16: (2, -8, 0)}, column=16, source=1)
    lazy = rules.add((3, 7, 8, 11), {16: (2, -8, 0)}, column=16, source=1)
    for rule, reason in ((number, "too much code"), (lazy, "expression")):
        most = rows_of(rules, 0x1000, 0x1000 + (1 << 32), {0x1000: rule})
        made = write("sframe", most, elf_of(AMD64))
        assert (made.sections, made.left_out) == ([], {reason: 1})
    assert write("sframe", rows_of(rules, 0x1000, 0xFFF + (1 << 32), {0x1000: number}), elf_of(AMD64)).functions == 1


def test_code_at_the_end_of_memory() -> None:
    rules = RuleSet()
    number = rules.add((1, 7, 8, 0), {16: (2, -8, 0)}, column=16, source=1)
    start = (1 << 64) - 0x100
    ((low, high, *_),) = again(rows_of(rules, start, start + 0x10, {start: number}), AMD64, "3")
    assert (low, high) == (start, start + 0x10)


def test_holes_part_a_function() -> None:
    rules = RuleSet()
    number = rules.add((1, 7, 8, 0), {16: (2, -8, 0)}, column=16, source=1)
    table = rows_of(rules, 0x1000, 0x1040, {0x1000: number, 0x1010: NO_RULE, 0x1020: number})
    assert [row[:2] for row in again(table, AMD64, "3")] == [(0x1000, 0x1010), (0x1020, 0x1040)]


def test_a_file_whose_segments_leave_no_room() -> None:
    for is_64, last in ((True, 1 << 63), (False, 1 << 31)):
        made = Elf(sections=[Section(".text", b"code")], segments=[Segment(1, 5, last - 16, ".text")], is_64=is_64)
        with pytest.raises(ElfError, match="free"):
            with_sections(ElfFile.from_bytes(made.build()), [new()])


def test_machines_without_sframe_have_nothing_written() -> None:
    table = table_of(SFrame(functions=[Function(0x1000, 9, [(0, SP, (8,))])]).build(), 0x2000, AMD64)
    assert write("sframe", table, ElfFile.from_bytes(Elf(machine=243).build())).sections == []
    with pytest.raises(UsageError):
        write("sframe", table, elf_of(AMD64), "1")


# -- ELF files that carry sections -------------------------------------------------------------------------------


def new(name: str = ".new", data: bytes = b"what is new", segment: int = 0x6474E554, align: int = 8) -> NewSection:
    return NewSection(name, 1, 2, align, len(data), lambda found: data, segment)


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("big", [True, False])
def test_a_copy_carries_new_sections_in_a_segment(is_64: bool, big: bool) -> None:
    elf = ElfFile.from_bytes(program(is_64=is_64, big=big).build())
    copy = ElfFile.from_bytes(with_sections(elf, [new(), new(".more", b"more", 0, 64)]))
    section = copy.section(".new")
    assert section is not None
    assert copy.section_data(".new") == b"what is new"
    assert copy.read(section.address, 11) == b"what is new"
    more = copy.section(".more")
    assert more is not None
    assert (more.address % 64, copy.section_data(".more")) == (0, b"more")
    assert [one.address for one in copy.segments if one.type == 0x6474E554] == [section.address]
    for old in elf.sections[1:]:
        if old.name != ".shstrtab":
            assert copy.sections[old.index] == old
    assert copy.build_id == elf.build_id
    loads = [one.address for one in copy.segments if one.type == 1]
    assert loads == sorted(loads)
    assert not list(copy.defects)


def test_a_section_of_the_same_name_gives_way() -> None:
    elf = ElfFile.from_bytes(with_sections(ElfFile.from_bytes(program().build()), [new()]))
    copy = ElfFile.from_bytes(with_sections(elf, [new(data=b"newer")]))
    assert copy.section_data(".new") == b"newer"
    assert [one.name for one in copy.sections] == [one.name for one in elf.sections]
    assert sum(one.type == 0x6474E554 for one in copy.segments) == 1


def test_a_file_of_sections_alone() -> None:
    elf = ElfFile.from_bytes(program().build())
    alone = ElfFile.from_bytes(file_of_sections(elf, [new()]))
    assert [one.name for one in alone.sections] == ["", ".new", ".shstrtab"]
    assert (alone.section_data(".new"), alone.machine, alone.segments) == (b"what is new", elf.machine, ())


def test_a_file_without_segments_carries_nothing() -> None:
    with pytest.raises(ElfError):
        with_sections(ElfFile.from_bytes(Elf(sections=[Section(".text", b"code")]).build()), [new()])


def test_a_file_without_section_headers_carries_sections() -> None:
    made = Elf(sections=[Section(".text", b"code", address=0x1000)], segments=[Segment(1, 5, 0x1000, ".text")])
    data = bytearray(made.build())
    data[40:48] = bytes(8)
    data[60:64] = bytes(4)
    copy = ElfFile.from_bytes(with_sections(ElfFile.from_bytes(bytes(data)), [new()]))
    assert [one.name for one in copy.sections] == ["", ".new", ".shstrtab"]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files(seed: int) -> None:
    chance = random.Random(seed)
    start = fuzz_tables.seeds()
    for _ in range(30):
        fuzz_tables.one_input(mutate.mutated(chance.choice(start), chance))


# -- programs ----------------------------------------------------------------------------------------------------

CODE = """
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int leaf(int n, char *p) {
    double x[4] __attribute__((aligned(64))); memset(x, n, sizeof x);
    char *q = __builtin_alloca(n + 1); memset(q, 1, n); return p[0] + x[1] + q[1];
}
__attribute__((noinline)) int dynamic(int n) { char *p = __builtin_alloca(n + 9); memset(p, n, n); return leaf(n, p); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int c, char **v) { int a[] = {3, c, 2}; (void)v; qsort(a, 3, 4, cmp); return dynamic(c + 40) + a[0] - 42; }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None or os.uname().machine != "x86_64":
        pytest.skip("no gcc for x86-64")
    directory = tmp_path_factory.mktemp("writer")
    (directory / "p.c").write_text(CODE)
    subprocess.run(["gcc", "-O2", "-o", "p", "p.c"], cwd=directory, check=True)
    return directory / "p"


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("pie", ["-pie", "-no-pie"])
def test_a_copy_of_a_program_runs(compiled: Path, tmp_path: Path, pie: str, static: bool) -> None:
    program = tmp_path / "p"
    options = ["-static"] if static and pie == "-no-pie" else ["-static-pie"] if static else [pie]
    command = ["gcc", "-O2", *options, "-o", str(program), str(compiled.with_suffix(".c"))]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"gcc cannot link {options}")
    elf = ElfFile.open(program)
    made = write("sframe", UnwindTable.from_elf(elf), elf)
    copy = tmp_path / "copy"
    copy.write_bytes(with_sections(elf, made.sections))
    copy.chmod(0o755)
    statuses = [subprocess.run([one], check=False).returncode for one in (program, copy)]
    assert statuses[0] == statuses[1] >= 0


@pytest.mark.parametrize("version", ["2", "3"])
def test_what_is_converted_says_what_the_source_says(compiled: Path, version: str) -> None:
    elf = ElfFile.open(compiled)
    cfi = UnwindTable.from_elf(elf)
    cfi.complete()
    made = write("sframe", cfi, elf, version)
    copy = ElfFile.from_bytes(with_sections(elf, made.sections))
    table = UnwindTable.from_elf(copy, "sframe")
    table.complete()
    described = 0
    for start, end, rule in cfi:
        for pc in range(start, end):
            other = table.rule_at(pc)
            if other is None:
                assert version == "2"
                continue
            assert rule is not None
            assert other.return_address == rule.return_address
            assert other.outermost or (other.cfa, other.registers.get("rbp")) == (rule.cfa, rule.registers.get("rbp"))
            described += 1
    missing = sum(end - start for start, end, _ in cfi) - described
    assert (missing == 0) == (version == "3")
    if version == "3":
        assert not made.left_out


@pytest.mark.parametrize("version", ["2", "3"])
def test_readelf_reads_what_is_written(compiled: Path, tmp_path: Path, version: str) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    elf = ElfFile.open(compiled)
    made = write("sframe", UnwindTable.from_elf(elf), elf, version)
    (tmp_path / "copy").write_bytes(with_sections(elf, made.sections))
    found = compare("readelf", tmp_path / "copy")
    if not found.rows:
        pytest.skip("readelf does not print this version")
    assert (found.rows, found.differences) == (made.rows, [])
