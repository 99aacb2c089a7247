"""SFrame sections of every version, machine and byte order."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import fuzz_sframe
import mutate
import pytest
from tests.support.tables.sframe_builder import AARCH64, AARCH64_BIG, AMD64, FP, MACHINES, S390X, SP, Function, SFrame
from tests.support.tables.sframe_compare import compare

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.from_sframe import source_of_section
from undwarf.tables.model import NO_RULE, Rule, UnwindTable, describe
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.section_source import SectionSource
from undwarf.tables.sframe.header import read_header

MASK, SIGNAL, KEY_B = 16, 128, 32
PUSHED = [(0, SP, (8,)), (1, SP, (16, -16)), (4, FP, (16, -16)), (30, SP, (8, -16))]


class Read:
    """A section as the tables read it: its source, rules, and damage met."""

    def __init__(self, section: SFrame, data: bytes | None = None, code: bytes = b"", limits: Limits = DEFAULT) -> None:
        self.rules = RuleSet(limits)
        self.defects = Defects()
        self.machine = MACHINES[section.abi]

        def read(address: int, size: int) -> memoryview | None:
            return memoryview(code[:size]) if code else None

        self.source: SectionSource | None = source_of_section(
            memoryview(section.build() if data is None else data),
            section.address,
            machine=self.machine,
            byte_order=section.byte_order,
            rules=self.rules,
            code=[(0x1000, 0x2000)],
            read=read,
            limits=limits,
            defects=self.defects,
        )

    def rows(self) -> Iterator[tuple[int, Rule | None]]:
        if self.source is None:
            return
        for piece, (start, end) in enumerate(zip(self.source.starts, self.source.ends, strict=True)):
            for address, rule in zip(*self.source.rows(piece, start, end), strict=True):
                yield address, None if rule == NO_RULE else describe(self.rules, rule, self.machine)

    def words(self) -> list[tuple[int, str, str, str]]:
        """(address, call frame address, return address, frame pointer) of all rows; empty texts for a hole."""
        name = {62: "rbp", 183: "x29", 22: "r11"}[self.machine]
        return [
            (address, rule.cfa, rule.return_address, rule.registers.get(name, "same"))
            if rule
            else (address, "", "", "")
            for address, rule in self.rows()
        ]

    @property
    def damage(self) -> list[str]:
        if self.source is not None:
            for piece, (start, end) in enumerate(zip(self.source.starts, self.source.ends, strict=True)):
                self.source.rows(piece, start, end)
        return [defect.kind for defect in self.defects]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("word", [1, 2, 4])
def test_rows_of_a_usual_function(version: int, width: int, word: int) -> None:
    function = Function(0x1000, 31, PUSHED, width=width, word=word)
    assert Read(SFrame(version, functions=[function])).words() == [
        (0x1000, "rsp+8", "cfa-8", "same"),
        (0x1001, "rsp+16", "cfa-8", "cfa-16"),
        (0x1004, "rbp+16", "cfa-8", "cfa-16"),
        (0x101E, "rsp+8", "cfa-8", "cfa-16"),
    ]


def test_registers_that_are_not_followed_are_undefined() -> None:
    (_, rule), *_ = Read(SFrame(functions=[Function(0x1000, 9, [(0, SP, (8,))])])).rows()
    assert rule is not None
    assert rule.registers == {"ra": "cfa-8", **dict.fromkeys(("rbx", "r12", "r13", "r14", "r15"), "undefined")}
    assert rule.source == "sframe"


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("flags", [1, 5])
def test_starts_count_from_the_field_or_the_section(version: int, flags: int) -> None:
    functions = [Function(start, 8, [(0, SP, (8,))]) for start in (0x1000, 0x1100, 0x1200)]
    read = Read(SFrame(version, flags=flags, functions=functions, more=b"more"))
    assert [address for address, *_ in read.words()] == [0x1000, 0x1100, 0x1200]


@pytest.mark.parametrize("version", [1, 2])
def test_starts_that_count_from_the_field_without_saying_so(version: int) -> None:
    section = SFrame(version, flags=5, functions=[Function(0x1000 + 64 * i, 64, [(0, SP, (8,))]) for i in range(63)])
    data = bytearray(section.build())
    data[3] = 1
    # Relative to the section's start, one of them is before all code.
    assert [row[0] for row in Read(section, bytes(data)).words()] == [0x1000 + 64 * i for i in range(63)]


def test_unsorted_functions_are_found() -> None:
    functions = [Function(start, 8, [(0, SP, (size,))]) for start, size in ((0x1200, 8), (0x1000, 16), (0x1100, 24))]
    assert [row[:2] for row in Read(SFrame(flags=4, functions=functions)).words()] == [
        (0x1000, "rsp+16"),
        (0x1100, "rsp+24"),
        (0x1200, "rsp+8"),
    ]


@pytest.mark.parametrize(("abi", "sp", "fp"), [(AARCH64, "sp", "x29"), (AARCH64_BIG, "sp", "x29")])
def test_aarch64_keeps_the_return_address_in_its_register(abi: int, sp: str, fp: str) -> None:
    rows = [(0, SP, (0,)), (4, SP | 128, (32, -32, -24)), (8, FP | 128, (32, -32, -24)), (12, SP, (0, -8))]
    read = Read(SFrame(abi=abi, functions=[Function(0x1000, 40, rows, KEY_B)]))
    assert read.words() == [
        (0x1000, f"{sp}+0", "same", "same"),
        (0x1004, f"{sp}+32", "cfa-32", "cfa-24"),
        (0x1008, f"{fp}+32", "cfa-32", "cfa-24"),
        (0x100C, f"{sp}+0", "cfa-8", "same"),
    ]
    assert [rule.signed for _, rule in read.rows() if rule] == [False, True, True, False]


@pytest.mark.parametrize("version", [2, 3])
def test_s390x_scales_the_frame_address(version: int) -> None:
    rows = [(0, SP, (0,)), (6, SP, (12, -48, -72)), (10, FP, (12, 0, -72))]
    read = Read(SFrame(version, abi=S390X, functions=[Function(0x1000, 40, rows)]))
    assert read.words() == [
        (0x1000, "r15+160", "same", "same"),
        (0x1006, "r15+256", "cfa-48", "cfa-72"),
        (0x100A, "r11+256", "same", "cfa-72"),
    ]
    assert {rule.registers["r15"] for _, rule in read.rows() if rule} == {"val(cfa-160)"}


def test_s390x_version_2_names_registers_by_odd_offsets() -> None:
    rows = [(0, SP, (0, 2 * 16 + 1, 2 * 20 + 1)), (8, SP, (0, 3, 2 * 99 + 1))]
    read = Read(SFrame(2, abi=S390X, functions=[Function(0x1000, 8, rows[:1])]))
    assert read.words() == [(0x1000, "r15+160", "f0", "f1")]
    assert Read(SFrame(2, abi=S390X, functions=[Function(0x1000, 9, rows, word=2)])).damage == [
        "damaged SFrame function"
    ]
    assert Read(SFrame(3, abi=S390X, functions=[Function(0x1000, 8, rows[:1])])).words()[0][2] == "cfa+33"


def control(register: int, deref: bool = False) -> int:
    return register << 3 | deref << 1 | 1


def test_flexible_rows() -> None:
    rows = [
        (0, 0, (control(7), 8)),
        (1, 0, (control(10), 0)),
        (2, 0, (control(6, True), -16, 0, control(6, True), 0)),
        (3, 0, (control(7), 16, 2, -16)),
        (4, 0, (control(7), 16, control(2), 0, 0 << 3 | 2, -24)),
        (5, 0, (control(7), 16, control(2), 5, 0 << 3 | 0, 0)),
    ]
    functions = [Function(0x1000, 9, rows[:5], kind=1), Function(0x1010, 9, [(0, 0, rows[5][2][:4])], kind=1)]
    read = Read(SFrame(functions=functions))
    assert read.words() == [
        (0x1000, "rsp+8", "cfa-8", "same"),
        (0x1001, "r10+0", "cfa-8", "same"),
        (0x1002, "*(rbp-16)", "cfa-8", "*(rbp+0)"),
        (0x1003, "rsp+16", "cfa-16", "same"),
        (0x1004, "rsp+16", "rcx", "cfa-24"),
        (0x1010, "rsp+16", "expr", "same"),
    ]
    # The return address as a register plus an offset takes an expression: breg2 5.
    assert bytes(read.rules.expression_bytes)[: read.rules.expression_offsets[1]] == b"\x72\x05"


@pytest.mark.parametrize("offset", [-1, 63, 64, -64, -65, 8191, -(1 << 31), (1 << 31) - 1])
def test_offsets_in_expressions_are_signed(offset: int) -> None:
    function = Function(0x1000, 9, [(0, 0, (control(7), 16, control(2), offset))], kind=1, word=4)
    read = Read(SFrame(functions=[function]))
    read.words()
    code = bytes(read.rules.expression_bytes)[: read.rules.expression_offsets[1]]
    value = shift = 0
    for byte in code[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
    assert value - (1 << shift if code[-1] & 0x40 else 0) == offset


@pytest.mark.parametrize(
    "words",
    [(8,), (0, 8), (2, 8), (control(20), 8), (control(7), 8, control(2)), (control(7), 8, 0, 0, 0, 0, 0)],
    ids=["no offset", "no register", "call frame address by itself", "unknown register", "no second offset", "seven"],
)
def test_flexible_rows_that_make_no_sense_are_holes(words: tuple[int, ...]) -> None:
    read = Read(SFrame(functions=[Function(0x1000, 9, [(0, 0, words)], kind=1)]))
    assert read.words() == [(0x1000, "", "", "")]
    assert read.damage == ["damaged SFrame function"]


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_without_words_is_outermost(version: int) -> None:
    read = Read(SFrame(version, functions=[Function(0x1000, 9, [(0, SP, (8,)), (4, SP, ())])]))
    assert [(rule.cfa, rule.outermost) for _, rule in read.rows() if rule] == [("rsp+8", False), ("undefined", True)]
    assert [row[2] for row in read.words()] == ["cfa-8", "undefined"]


def test_a_function_without_rows_is_outermost_from_version_3_on() -> None:
    assert Read(SFrame(3, functions=[Function(0x1000, 9, [])])).words() == [(0x1000, "undefined", "undefined", "same")]
    assert Read(SFrame(2, functions=[Function(0x1000, 9, [])])).words() == [(0x1000, "", "", "")]
    assert Read(SFrame(3, functions=[Function(0x1000, 9, [], SIGNAL)])).words() == [(0x1000, "", "", "")]


@pytest.mark.parametrize(("version", "expected"), [(2, False), (3, True)])
def test_signal_functions_are_marked(version: int, expected: bool) -> None:
    read = Read(SFrame(version, functions=[Function(0x1000, 9, [(0, SP, (8,))], SIGNAL)]))
    assert [rule.signal for _, rule in read.rows() if rule] == [expected]


def test_a_lazy_linkage_table_has_one_rule() -> None:
    rows = [(0, SP, (8,)), (11, SP, (16,))]
    read = Read(SFrame(functions=[Function(0x1010, 64, rows, MASK, block=16)]))
    assert read.words() == [(0x1010, "plt(rsp+8, 11)", "cfa-8", "same")]


@pytest.mark.parametrize(
    ("start", "block", "second"), [(0x1018, 16, 16), (0x1010, 8, 16), (0x1010, 16, 24)], ids=["off", "short", "other"]
)
def test_other_blocks_are_written_out(start: int, block: int, second: int) -> None:
    rows = [(0, SP, (8,)), (6, SP, (second,))]
    read = Read(SFrame(functions=[Function(start, 2 * block + 1, rows, MASK, block=block)]))
    expected = [(start + at, f"rsp+{cfa}") for at, cfa in ((0, 8), (6, second), (block, 8), (block + 6, second))]
    assert [row[:2] for row in read.words()] == [*expected, (start + 2 * block, "rsp+8")]


def test_blocks_that_begin_late_have_holes() -> None:
    read = Read(SFrame(functions=[Function(0x1000, 16, [(2, SP, (8,))], MASK, block=8)]))
    assert [row[:2] for row in read.words()] == [(0x1000, ""), (0x1002, "rsp+8"), (0x1008, ""), (0x100A, "rsp+8")]


def test_blocks_of_version_1_have_16_bytes() -> None:
    read = Read(SFrame(1, functions=[Function(0x1010, 32, [(0, SP, (8,)), (11, SP, (16,))], MASK)]))
    assert read.words() == [(0x1010, "plt(rsp+8, 11)", "cfa-8", "same")]


@pytest.mark.parametrize(
    ("code", "cfa"),
    [
        (b"\xff\x25\0\0\0\0", "rsp+8"),
        (b"\xf3\x0f\x1e\xfa\xff\x25", "rsp+8"),
        (b"\xf3\x0f\x1e\xfa\xf2\xff\x25", "rsp+8"),
        (b"\xff\x35\0\0\0\0", "rsp+16"),
        (b"", "rsp+16"),
    ],
    ids=["jump", "endbr", "bnd", "push", "not there"],
)
def test_a_stub_that_only_jumps_has_pushed_nothing(code: bytes, cfa: str) -> None:
    """ld states rsp+16 for .plt.got."""
    section = SFrame(functions=[Function(0x1010, 16, [(0, SP, (16,))], MASK, block=8)])
    assert Read(section, code=code).words() == [(0x1010, cfa, "cfa-8", "same")]


def test_a_late_first_row_leaves_a_hole() -> None:
    assert Read(SFrame(functions=[Function(0x1000, 9, [(3, SP, (8,))])])).words()[0] == (0x1000, "", "", "")


@pytest.mark.parametrize(
    "rows",
    [
        [(0, SP, (8,)), (0, SP, (16,))],
        [(4, SP, (8,)), (2, SP, (16,))],
        [(0, SP, (8,)), (9, SP, (16,))],
        [(0, SP, (8, 0, 0, 0))],
    ],
    ids=["twice", "descending", "past the function", "four words"],
)
def test_damaged_rows_make_the_function_a_hole(rows: list[tuple[int, int, tuple[int, ...]]]) -> None:
    read = Read(SFrame(functions=[Function(0x1000, 9, rows), Function(0x1010, 9, [(0, SP, (8,))])]))
    assert [row[:2] for row in read.words()] == [(0x1000, ""), (0x1010, "rsp+8")]
    assert read.damage == ["damaged SFrame function"]


def test_a_function_of_an_unknown_kind_is_a_hole() -> None:
    for function in (
        Function(0x1000, 9, [(0, SP, (8,))], kind=2),
        Function(0x1000, 9, [(0, SP, (8,))], info=3),
        Function(0x1000, 9, [(0, SP, (8,))], MASK, block=0),
    ):
        assert Read(SFrame(functions=[function])).damage == ["damaged SFrame function"]


def test_words_of_eight_bytes_are_damage() -> None:
    section = SFrame(functions=[Function(0x1000, 9, [(0, SP | 3 << 5, (8,))])])
    assert Read(section).damage == ["damaged SFrame function"]


def test_functions_without_code_are_left_out() -> None:
    read = Read(SFrame(functions=[Function(0x1000, 0, [(0, SP, (8,))]), Function(0x1010, 8, [(0, SP, (8,))])]))
    assert [row[0] for row in read.words()] == [0x1010]
    assert read.damage == ["SFrame function without code or rows"]


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [(0, 0, "magic"), (2, 9, "version"), (4, 9, "ABI"), (4, 4, "ABI"), (9, 1, "functions"), (17, 1, "rows")],
)
def test_a_header_that_cannot_be(at: int, value: int, why: str) -> None:
    section = SFrame(functions=[Function(0x1000, 9, [(0, SP, (8,))])])
    data = bytearray(section.build())
    data[at] = value
    read = Read(section, bytes(data))
    assert read.source is None
    assert [(defect.kind, why in str(defect)) for defect in read.defects] == [("unreadable SFrame section", True)]


def test_another_machines_section_is_refused() -> None:
    data = SFrame(abi=AARCH64, functions=[Function(0x1000, 8, [(0, SP, (8,))])]).build()
    assert Read(SFrame(abi=AMD64), data).source is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_truncation_is_refused_or_damaged(version: int) -> None:
    section = SFrame(version, functions=[Function(0x1000, 31, PUSHED)])
    data = section.build()
    for size in range(len(data)):
        assert Read(section, data[:size]).source is None


@pytest.mark.parametrize("seed", range(10))
def test_damaged_sections(seed: int) -> None:
    chance = random.Random(seed)
    start = fuzz_sframe.seeds()
    for _ in range(300):
        fuzz_sframe.one_input(mutate.mutated(chance.choice(start), chance))


def test_limits() -> None:
    many = SFrame(functions=[Function(0x1000 + 16 * i, 16, [(0, SP, (8 * i,))]) for i in range(9)])
    assert len(Read(many, limits=Limits(fdes=4)).words()) == 4
    assert [row[1] == "" for row in Read(many, limits=Limits(rules=3)).words()] == [False] * 3 + [True] * 6
    blocks = SFrame(functions=[Function(0x1001, 4000, [(0, SP, (8,)), (4, SP, (24,))], MASK, block=16)])
    assert len(Read(blocks).words()) == 500
    assert Read(blocks, limits=Limits(cfi_rows=100)).words() == [(0x1001, "", "", "")]


def test_functions_that_share_rows_are_bounded_by_the_section_size() -> None:
    """A hundred thousand functions, all with the same ten thousand rows: a budget ends it."""
    one = SFrame(functions=[Function(0x1000, 1 << 20, [(i, SP, (8 * (i & 1),)) for i in range(10_000)], width=4)])
    data = bytearray(one.build())
    count = 1000
    entries = b"".join(
        (0x100000 * i - 28 - 16 * i).to_bytes(8, "little", signed=True) + (1 << 20).to_bytes(4, "little") + bytes(4)
        for i in range(1, count + 1)
    )
    made = data[:8] + count.to_bytes(4, "little") + data[12:24] + (16 * count).to_bytes(4, "little") + entries
    read = Read(one, bytes(made + data[44:]))
    assert read.source is not None
    assert read.source.compile_all() < 3_000_000
    assert "damaged SFrame function" in read.damage


def test_a_million_distinct_rules_hash_well() -> None:
    rows = [(i, SP, (i * 8, -16)) for i in range(3000)]
    read = Read(SFrame(functions=[Function(0x1000, 3000, rows, width=2, word=4)]))
    assert [row[1] for row in read.words()] == [f"rsp+{8 * i}" for i in range(3000)]


def test_header_of_a_section() -> None:
    header = read_header(memoryview(SFrame(2, flags=3, functions=[Function(0x1000, 9, PUSHED[:1])]).build()))
    assert not isinstance(header, str)
    assert (header.version, header.flags, header.functions, header.rows, header.big) == (2, 3, 1, 1, False)


# -- what the distribution's assembler and linker make -----------------------------------------------------------

PROGRAM = """
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int leaf(int n, char *p) { return p[n & 7] * 3; }
__attribute__((noinline)) int dynamic(int n) { char *p = __builtin_alloca(n + 9); memset(p, n, n); return leaf(n, p); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int c, char **v) { int a[] = {3, c, 2}; (void)v; qsort(a, 3, 4, cmp); return dynamic(c + 40) + a[0]; }
"""


@pytest.fixture(scope="module", params=["gcc", "aarch64-linux-gnu-gcc"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with an SFrame section, where the assembler can make one."""
    gcc = str(request.param)
    if shutil.which(gcc) is None or shutil.which("readelf") is None or os.uname().machine != "x86_64":
        pytest.skip(f"no {gcc} for x86-64, or no readelf")
    directory = tmp_path_factory.mktemp("sframe")
    (directory / "p.c").write_text(PROGRAM)
    command = [gcc, "-O1", "-Wa,--gsframe", "-shared", "-fPIC", "-o", "p.so", "p.c"]
    if subprocess.run(command, cwd=directory, capture_output=True, check=False).returncode:
        pytest.skip("the assembler makes no SFrame")
    return directory / "p.so"


def test_rows_are_those_of_readelf(program: Path) -> None:
    found = compare("readelf", program)
    if not found.rows:
        pytest.skip("readelf does not print this version")
    assert found.rows > 8
    assert found.differences == []


def test_rows_agree_with_call_frame_information(program: Path) -> None:
    elf = ElfFile.open(program)
    cfi, table = UnwindTable.from_elf(elf, "cfi"), UnwindTable.from_elf(elf, "sframe")
    table.complete()
    frame_pointer = {62: "rbp", 183: "x29"}[elf.machine]
    assert len(table) >= 4
    for start, end, rule in table:
        assert rule is not None
        for pc in range(start, min(end, start + 64)):
            other = cfi.rule_at(pc)
            assert other is not None
            assert (rule.cfa, rule.return_address) == (other.cfa, other.return_address)
            assert rule.registers.get(frame_pointer) == other.registers.get(frame_pointer)


def test_rows_ascend_and_lie_in_their_function(program: Path) -> None:
    table = UnwindTable.from_elf(ElfFile.open(program), "sframe")
    for i in range(len(table)):
        addresses, _ = table.rows(i)
        assert addresses[0] == table.starts[i]
        assert all(a < b for a, b in pairwise(addresses))
        assert addresses[-1] < table.ends[i]
