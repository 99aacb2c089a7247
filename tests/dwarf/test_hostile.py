"""Debugging information made to hurt: cycles, absurd numbers, bombs. Each is answered and counted, and
none takes more than a moment: those here would take hours without the limits."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.dwarf.die import DebugInfo
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.dwarf.line_program import LineProgram
from undwarf.dwarf.strings import strings_at
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.symbols.address_lookup import Addresses
from undwarf.symbols.elf_symbols import symbols_of_elf

from .test_lines import column

# DW_TAG_*, DW_AT_*, DW_FORM_*
COMPILE_UNIT, SUBPROGRAM, INLINED, BLOCK = 0x11, 0x2E, 0x1D, 0x0B
NAME, LOW, HIGH, RANGES, ORIGIN, CALL_LINE = 0x03, 0x11, 0x12, 0x55, 0x31, 0x59
ADDR, DATA4, DATA8, STRING, REF4, SEC_OFFSET, PRESENT, INDIRECT = 0x01, 0x06, 0x07, 0x08, 0x13, 0x17, 0x19, 0x16

Abbreviation = tuple[int, int, bool, list[tuple[int, int]]]


def leb(number: int) -> bytes:
    out = bytearray()
    while True:
        out.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)


def table(*abbreviations: Abbreviation) -> bytes:
    out = b""
    for code, tag, children, pairs in abbreviations:
        out += leb(code) + leb(tag) + bytes((children,))
        out += b"".join(leb(attribute) + leb(form) for attribute, form in pairs) + b"\0\0"
    return out + b"\0"


def unit(entries: bytes, *, abbreviations: int = 0, length: int | None = None) -> bytes:
    """A unit of DWARF 4 whose entries begin at offset 11."""
    body = struct.pack("<HIB", 4, abbreviations, 8) + entries
    return struct.pack("<I", len(body) if length is None else length) + body


UNIT: Abbreviation = (1, COMPILE_UNIT, True, [])
FUNCTION: Abbreviation = (2, SUBPROGRAM, True, [(NAME, STRING), (LOW, ADDR), (HIGH, DATA8)])
ROOT = b"\1"


def function(name: bytes, start: int, size: int, children: bytes = b"\0") -> bytes:
    return b"\2" + name + b"\0" + struct.pack("<QQ", start, size) + children


def test_what_these_tests_build_is_read() -> None:
    info = DebugInfo(unit(ROOT + function(b"f", 0x1000, 32) + b"\0"), table(UNIT, FUNCTION))
    found = info.functions.of_unit(0)
    assert (found["start"].tolist(), found["end"].tolist(), info.damaged) == ([0x1000], [0x1020], 0)


def test_origins_that_lead_in_a_circle_give_no_name() -> None:
    abbreviations = table(UNIT, (2, INLINED, False, [(ORIGIN, REF4), (LOW, ADDR), (HIGH, DATA8)]))
    # Each is 21 bytes; both begin behind the unit's header and root.
    one, two = 12, 33
    entries = b"".join(b"\2" + struct.pack("<IQQ", other, 0x1000, 16) for other in (two, one))
    info = DebugInfo(unit(ROOT + entries + b"\0"), abbreviations)
    found = info.functions.of_unit(0)
    assert len(found["die"]) == 2
    assert [info.functions.name_of(origin)[0] for origin in found["origin"]] == [0, 0]
    itself = DebugInfo(unit(ROOT + b"\2" + struct.pack("<IQQ", one, 0x1000, 16) + b"\0"), abbreviations)
    assert itself.functions.name_of(one)[0] == 0


@pytest.mark.parametrize("length", [0, 6, 0xFFFFFFEF, 0xFFFFFFF0, 0xFFFFFFFE, 0x7FFFFFFF])
def test_absurd_length_of_a_unit_ends_with_the_section(length: int) -> None:
    info = DebugInfo(unit(ROOT + function(b"f", 0x1000, 32) + b"\0", length=length), table(UNIT, FUNCTION))
    for number in range(info.units.count):
        assert info.functions.of_unit(number)["start"].tolist() in ([], [0x1000])
    assert info.units.count <= 1


def test_absurd_length_of_64_bits() -> None:
    for length in (1 << 63, (1 << 64) - 1, 1 << 40):
        data = struct.pack("<IQHQB", 0xFFFFFFFF, length, 4, 0, 8) + ROOT + function(b"f", 0x1000, 32)
        info = DebugInfo(data, table(UNIT, FUNCTION))
        assert info.units.count == 1 and info.damaged == 1


def test_nesting_is_followed_so_deep_and_no_further() -> None:
    nested = (3, BLOCK, True, [])
    for depth, damaged in ((1000, 0), (5000, 1)):
        inside = b"\3" * depth + function(b"deep", 0x2000, 8) + b"\0" * depth
        info = DebugInfo(unit(ROOT + function(b"f", 0x1000, 32) + inside), table(UNIT, FUNCTION, nested))
        assert info.functions.of_unit(0)["start"].tolist()[:1] == [0x1000]
        assert bool(info.damaged) == bool(damaged)


def test_string_without_an_end_and_block_without_bounds() -> None:
    for form, value in (
        (STRING, b"x" * 100),
        (0x09, leb(1 << 62)),
        (0x04, struct.pack("<I", 0xFFFFFFFF)),
        (INDIRECT, b"\x16"),
    ):
        info = DebugInfo(unit(ROOT + b"\2" + value), table(UNIT, (2, SUBPROGRAM, False, [(NAME, form), (LOW, ADDR)])))
        assert info.functions.of_unit(0)["start"].tolist() == []
        assert info.damaged


def test_many_units_of_one_huge_abbreviation_table_are_not_all_read() -> None:
    abbreviations = table(*((code, COMPILE_UNIT, False, [(NAME, PRESENT)] * 200) for code in range(1, 700)))
    # Each unit takes the table from another offset.
    data = b"".join(unit(ROOT, abbreviations=400 * k % len(abbreviations)) for k in range(20_000))
    info = DebugInfo(data, abbreviations)
    info.reader.roots()
    assert info.damaged > 10_000


def test_code_far_beyond_the_others_takes_no_room() -> None:
    info = DebugInfo(unit(leb(1 << 60)), table((1 << 60, COMPILE_UNIT, False, [])))
    info.reader.roots()
    assert info.damaged


def test_abbreviation_of_too_many_attributes_is_not_taken() -> None:
    abbreviations = table(UNIT, (2, SUBPROGRAM, False, [(NAME, PRESENT)] * 100_000))
    info = DebugInfo(unit(ROOT + b"\2" * 100_000), abbreviations)
    info.functions.of_unit(0)
    assert info.damaged


def test_entries_that_share_a_long_list_of_ranges_end_early() -> None:
    ranges = struct.pack("<QQ", 0x1000, 0x1010) * 20_000
    abbreviations = table(UNIT, (2, SUBPROGRAM, False, [(RANGES, SEC_OFFSET)]))
    entries = (b"\2" + bytes(4)) * 100_000
    # What lies outside of code is not kept, but was read.
    for code in (None, column([1 << 40, 1 << 41])):
        info = DebugInfo(unit(ROOT + entries), abbreviations, ranges=ranges, code=code, max_ranges=50_000)
        found = info.functions.of_unit(0)
        assert len(found["start"]) <= 50_000
        assert info.damaged


def test_long_names_that_share_their_end_are_cut_when_there_are_many() -> None:
    data = b"x" * 100_000 + b"\0short\0"
    found = strings_at(data, [*range(1000), 100_001, 0], 1 << 20)
    assert len(found[0]) == 1 << 16
    assert found[-2] == "short" and len(found[-1]) == 256
    assert sum(map(len, found)) < 2 << 20


def program_of_lines(body: bytes, *, files: bytes = b"a.c\0\0\0\0\0", line_range: int = 14) -> bytes:
    head = (
        struct.pack("<BBBbBB", 1, 1, 1, -5, line_range, 13)
        + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
        + b"\0"
        + files
    )
    inner = struct.pack("<HI", 4, len(head)) + head + body
    return struct.pack("<I", len(inner)) + inner


SET_ADDRESS, END = b"\0\x09\x02" + struct.pack("<Q", 0x1000), b"\0\x01\x01"


def test_rows_of_a_line_table_are_limited() -> None:
    read = LineProgram(program_of_lines(SET_ADDRESS + b"\x20" * 5000 + END), 0, 8, max_rows=1000)
    assert read.damaged and len(read.rows()["address"]) == 0
    whole = LineProgram(program_of_lines(SET_ADDRESS + b"\x20" * 5000 + END), 0, 8, max_rows=10_000)
    assert not whole.damaged and len(whole.rows()["address"]) > 1000


@pytest.mark.parametrize(
    "body",
    [
        b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02",
        b"\0\x00",
        SET_ADDRESS,
        SET_ADDRESS + b"\x03" + b"\xff" * 30,
        b"\x02" + b"\x80" * 50 + END,
        SET_ADDRESS + b"\x20" + b"\x02" + b"\xff" * 9 + b"\x01" + b"\x20" + END,
    ],
)
def test_line_program_of_nonsense_gives_rows_in_order(body: bytes) -> None:
    addresses = LineProgram(program_of_lines(body), 0, 8).rows()["address"].tolist()
    assert addresses == sorted(set(addresses))


def test_line_table_that_claims_many_files_or_divides_by_nothing() -> None:
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes(12) + b"\1\1\x0b" + leb(1 << 50)
    inner = struct.pack("<HBBI", 5, 8, 0, len(head)) + head
    read = LineProgram(struct.pack("<I", len(inner)) + inner, 0, 8)
    assert read.damaged and len(read.strings()[0]) < 100
    assert LineProgram(program_of_lines(SET_ADDRESS + b"\x20" + END, line_range=0), 0, 8).damaged
    for offset in (1 << 40, 10_000, 5):
        assert LineProgram(program_of_lines(b""), offset, 8).damaged


SOURCES = {
    f"{name}.c": f"__attribute__((noinline)) int {name}(int x) {{ volatile int y = x; return y + {n}; }}\n"
    for n, name in enumerate(("one", "two", "three"))
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of three units and a main one."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    place = tmp_path_factory.mktemp("three")
    for name, text in SOURCES.items():
        (place / name).write_text(text)
    text = "int one(int); int two(int); int three(int); int main(int c, char **v) { return one(two(three(c))); }\n"
    (place / "main.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-g", "-o", "program", "main.c", *SOURCES], cwd=place, check=True)
    return Path(place) / "program"


def starts_of(program: Path) -> dict[str, int]:
    symbols = symbols_of_elf(ElfFile.open(program))
    assert symbols is not None
    names = (b"one", b"two", b"three", b"main")
    return {name.decode(): symbols.address_of_name(name) or 0 for name in names}


def test_unit_used_least_recently_is_given_up_first(three: Path) -> None:
    starts = starts_of(three)
    full = DebugLines.open(ElfFile.open(three))
    assert full is not None
    sizes = {}
    # Private: which units a cache holds is not seen in what it answers.
    for name, start in starts.items():
        before = set(full._kept)
        full.inline_chains(column([start]))
        number = next(iter(set(full._kept) - before))
        sizes[name] = number, full._kept[number].size
    room = sum(sizes[name][1] for name in ("one", "two", "three")) - 1
    lines = DebugLines.open(ElfFile.open(three), limits=DEFAULT._replace(dwarf_bytes=room))
    assert lines is not None
    for name in ("one", "two", "one", "three"):
        found = lines.inline_chains(column([starts[name]]))
        assert [entry[0] for entry in found.chain(0)] == [name]
    kept = set(lines._kept)
    assert sizes["two"][0] not in kept
    assert {sizes["one"][0], sizes["three"][0]} <= kept
    assert lines._kept_bytes <= room


def test_damaged_unit_is_counted_and_the_symbol_answers(three: Path, tmp_path: Path) -> None:
    elf = ElfFile.open(three)
    data = bytearray(three.read_bytes())
    section = next(one for one in elf.sections if one.name == ".debug_abbrev")
    data[section.offset : section.offset + section.size] = b"\xff" * section.size
    broken = tmp_path / "broken"
    broken.write_bytes(data)
    defects = Defects()
    starts = starts_of(three)
    found = Addresses(str(broken), defects=defects).locate(column(list(starts.values())))
    assert [found.symbols[number] for number in found.symbol_of] == list(starts)
    assert any(defect.kind == "damaged debugging information" for defect in defects)


def test_no_addresses_are_no_chains(three: Path) -> None:
    lines = DebugLines.open(ElfFile.open(three))
    assert lines is not None
    assert lines.inline_chains(zeros("Q", 0)).first.tolist() == [0]
