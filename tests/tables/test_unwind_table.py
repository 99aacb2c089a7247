"""Unwind tables of ELF files that gcc and binutils make."""

import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tables.cfi_builder import CODE, CODE_END, Section, uleb
from tests.support.tables.cfi_compare import compare

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import ElfError, UsageError
from undwarf.tables.model import NO_RULE, UnwindTable

GCC = shutil.which("gcc")
READELF = shutil.which("readelf")
pytestmark = pytest.mark.skipif(GCC is None or os.uname().machine != "x86_64", reason="needs gcc for x86-64")
needs_readelf = pytest.mark.skipif(READELF is None, reason="needs readelf")

PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) int leaf(int n) { return n * 3 + 1; }
__attribute__((noinline)) int middle(int n) { volatile int a[n + 1]; a[n] = leaf(n); return a[n] + leaf(n + 1); }
__attribute__((noinline)) int loops(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += middle(i) ^ (rand() & leaf(i)) ^ middle(sum & 7) ^ abs(n - i) * leaf(sum);
    return sum;
}
int main(int argc, char **argv) { (void)argv; return loops(argc) & 1; }
"""

HAND_WRITTEN = """
    .text
    .globl outer, inner, nothing, _start
    .type outer, @function
outer:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    .cfi_remember_state
    mov %rsp, %rbp
    .cfi_def_cfa_register rbp
    nop
    pop %rbp
    .cfi_restore_state
    .cfi_def_cfa_offset 16
    nop
    .cfi_undefined rip
    ret
    .cfi_endproc
    .size outer, . - outer
    .type nothing, @function
nothing:
    ret
    .size nothing, . - nothing
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_escape 0x0f, 3, 0x77, 0x10, 0x06
    ret
    .cfi_endproc
    .size _start, . - _start
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles text with gcc, each combination once."""
    folder = tmp_path_factory.mktemp("tables")
    made: dict[tuple[str, ...], Path] = {}

    def gcc(text: str, *flags: str, suffix: str = "c") -> Path:
        key = (text, *flags)
        if key not in made:
            source = folder / f"{len(made)}.{suffix}"
            source.write_text(text)
            made[key] = folder / f"{len(made)}.out"
            subprocess.run([GCC or "gcc", *flags, str(source), "-o", str(made[key])], check=True)
        return made[key]

    return gcc


def symbols(path: Path) -> dict[str, int]:
    """Addresses by symbol name."""
    out = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    return {
        name: int(address, 16) for address, _, name in (line.split() for line in out.splitlines() if line[0] != " ")
    }


def hand_written(build: Callable[..., Path], *flags: str) -> Path:
    return build(HAND_WRITTEN, "-nostdlib", "-static", *flags, suffix="s")


def test_rules_of_hand_written_code(build: Callable[..., Path]) -> None:
    path = hand_written(build)
    at = symbols(path)["outer"]
    table = UnwindTable.from_elf(path)
    found = [table.rule_at(at + offset) for offset in (0, 1, 4, 5, 6, 7)]
    assert all(rule is not None and rule.source == "eh_frame" for rule in found)
    assert [rule.cfa for rule in found if rule] == ["rsp+8", "rsp+16", "rbp+16", "rbp+16", "rsp+16", "rsp+16"]
    assert [rule.registers.get("rbp") for rule in found if rule] == [None, *["cfa-16"] * 5]
    assert [rule.return_address for rule in found if rule] == [*["cfa-8"] * 5, "undefined"]


def test_a_signal_frame_of_hand_written_code(build: Callable[..., Path]) -> None:
    path = hand_written(build)
    rule = UnwindTable.from_elf(path).rule_at(symbols(path)["_start"])
    assert rule is not None
    assert (rule.cfa, rule.signal, rule.outermost) == ("*(rsp+16)", True, False)


def test_code_without_information_has_no_rule(build: Callable[..., Path]) -> None:
    path = hand_written(build)
    table = UnwindTable.from_elf(path)
    assert table.rule_at(symbols(path)["nothing"]) is None
    assert table.rule_at(0) is None
    assert table.rule_at((1 << 64) - 1) is None


def test_all_rows_in_order(build: Callable[..., Path]) -> None:
    rows = list(UnwindTable.from_elf(build(PROGRAM, "-O2")))
    assert len(rows) > 10
    assert all(start < end for start, end, _ in rows)
    assert all(rows[i][1] <= rows[i + 1][0] for i in range(len(rows) - 1))
    assert all(rule is not None for _, _, rule in rows)


@needs_readelf
@pytest.mark.parametrize("flags", [("-O2",), ("-O0",), ("-O2", "-static"), ("-O2", "-fcf-protection", "-Wl,-z,lazy")])
def test_rows_equal_readelfs(build: Callable[..., Path], flags: tuple[str, ...]) -> None:
    outcome = compare(READELF or "", build(PROGRAM, *flags))
    assert outcome.differences == []
    assert outcome.rows > 10


NO_EH_FRAME = ("-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


@needs_readelf
@pytest.mark.parametrize("extra", [(), ("-gz",), ("-gz=zlib-gnu",), ("-gdwarf-3",), ("-gdwarf-5",)])
def test_debug_frame_equals_readelfs(build: Callable[..., Path], extra: tuple[str, ...]) -> None:
    path = build(PROGRAM, *NO_EH_FRAME, *extra)
    outcome = compare(READELF or "", path, source="debug_frame")
    assert outcome.differences == []
    assert outcome.rows > 10
    table = UnwindTable.from_elf(path, "debug_frame")
    assert table.function_at(symbols(path)["loops"]) is not None


@needs_readelf
@pytest.mark.parametrize("library", ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3", sys.executable])
def test_rows_of_this_machines_libraries_equal_readelfs(library: str) -> None:
    places = [Path("/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib/x86_64-linux-gnu")]
    found = [place / library for place in places if (place / library).exists()]
    if not found:
        pytest.skip(f"no {library} here")
    path = found[0]
    outcome = compare(READELF or "", path)
    assert outcome.differences == []
    assert outcome.rows > 0
    assert outcome.expressions < 1000


def test_functions_unknown_to_eh_frame_come_from_debug_frame(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, *NO_EH_FRAME)
    at = symbols(path)["loops"]
    table = UnwindTable.from_elf(path)
    before, known = table.version, len(table)
    assert table.function_at(at) is None
    assert table.more(at)
    assert table.version > before
    assert len(table) > known
    rule = table.rule_at(at)
    assert rule is not None
    assert (rule.cfa, rule.source) == ("rsp+8", "debug_frame")


def test_what_an_earlier_source_knows_stays(build: Callable[..., Path]) -> None:
    both = HAND_WRITTEN.replace(".text", ".cfi_sections .eh_frame, .debug_frame\n.text")
    path = build(both, "-nostdlib", "-static", suffix="s")
    at = symbols(path)
    table = UnwindTable.from_elf(path)
    version = table.version
    assert not table.more(at["nothing"])
    rule = table.rule_at(at["outer"])
    assert rule is not None
    assert rule.source == "eh_frame"
    assert table.version == version


def test_only_the_source_asked_for(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, *NO_EH_FRAME)
    at = symbols(path)["loops"]
    assert UnwindTable.from_elf(path, "eh_frame").rule_at(at) is None
    assert UnwindTable.from_elf(path, "debug_frame").rule_at(at) is not None
    assert UnwindTable.from_elf(path, "cfi").rule_at(at) is not None


def test_the_separate_debug_file_is_asked_last_and_once(build: Callable[..., Path], tmp_path: Path) -> None:
    full = build(PROGRAM, *NO_EH_FRAME)
    at = symbols(full)
    stripped, debug = tmp_path / "stripped", tmp_path / "stripped.debug"
    subprocess.run(["objcopy", "--only-keep-debug", str(full), str(debug)], check=True)
    subprocess.run(["objcopy", "--strip-debug", str(full), str(stripped)], check=True)
    asked = []

    def find() -> ElfFile:
        asked.append(1)
        return ElfFile.open(debug)

    table = UnwindTable.from_elf(stripped, debug_elf=find)
    assert table.rule_at(at["_start"]) is not None
    assert asked == []
    rule = table.rule_at(at["loops"])
    assert rule is not None
    assert rule.source == "debug_frame"
    assert table.rule_at(4) is None
    assert asked == [1]


def test_a_missing_debug_file_is_no_error(build: Callable[..., Path]) -> None:
    table = UnwindTable.from_elf(build(PROGRAM, "-O2"), debug_elf=lambda: None)
    assert not table.more(4)


def test_tables_of_a_run_share_rules(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, "-O2")
    one = UnwindTable.from_elf(path)
    one.complete()
    count = len(one.rules)
    UnwindTable.from_elf(path, rules=one.rules).complete()
    assert len(one.rules) == count


def test_an_unknown_source_is_a_usage_error(build: Callable[..., Path]) -> None:
    with pytest.raises(UsageError):
        UnwindTable.from_elf(build(PROGRAM, "-O2"), "stabs")


def test_a_file_that_is_no_elf_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no")
    with pytest.raises(ElfError):
        UnwindTable.from_elf(tmp_path / "text")


def test_a_relocatable_file_is_left_out_and_counted(build: Callable[..., Path]) -> None:
    defects = Defects()
    table = UnwindTable.from_elf(build(PROGRAM, "-c"), defects=defects)
    assert len(table) == 0
    assert "unwind table not read" in [defect.kind for defect in defects]


def without_section_headers(data: bytes) -> bytes:
    """As sstrip leaves a file."""
    return data[:40] + bytes(8) + data[48:60] + bytes(4) + data[64:]


def test_without_section_headers(build: Callable[..., Path]) -> None:
    data = build(PROGRAM, "-O2").read_bytes()
    full = UnwindTable.from_elf(ElfFile.from_bytes(data))
    bare = UnwindTable.from_elf(ElfFile.from_bytes(without_section_headers(data)))
    assert list(bare.starts) == list(full.starts)
    assert [row[:2] for row in bare] == [row[:2] for row in full]


def header_at(elf: ElfFile) -> int:
    """The file offset of `.eh_frame_hdr`."""
    section = elf.section(".eh_frame_hdr")
    assert section is not None
    return section.offset


@pytest.mark.parametrize(
    "damage",
    [
        b"\x07",
        b"\x01\xff",
        b"\x01\x1b\xff",
        b"\x01\x1b\x03\xff",
        b"\x01\x1b\x03\x3b" + b"\xff" * 8,
        b"\x01\x9b\x05\x2b",
    ],
)
def test_the_header_is_not_needed_where_there_are_sections(build: Callable[..., Path], damage: bytes) -> None:
    path = build(PROGRAM, "-O2")
    full = UnwindTable.from_elf(path)
    data = bytearray(path.read_bytes())
    at = header_at(ElfFile.open(path))
    data[at : at + len(damage)] = damage
    assert list(UnwindTable.from_elf(ElfFile.from_bytes(bytes(data))).starts) == list(full.starts)


def image(section: Section, *, header: bytes = b"", header_address: int = 0x580000) -> ElfFile:
    """An executable file of program headers only: code, call frame information, and the header that finds it."""
    parts = [(CODE, CODE_END - CODE, 5, b""), (section.address, len(section.data), 4, bytes(section.data))]
    if header:
        parts.append((header_address, len(header), 4, header))
    offset = 64 + 56 * (len(parts) + 1)
    heads = b""
    body = b""
    for address, size, flags, data in parts:
        heads += struct.pack("<IIQQQQQQ", 1, flags, offset + len(body), address, address, len(data), size, 1)
        if data is header:
            where = offset + len(body)
            last = struct.pack("<IIQQQQQQ", 0x6474E550, 4, where, address, address, size, size, 1)
        body += data
    if header:
        heads += last
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    count = len(parts) + bool(header)
    rest = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, count, 64, 0, 0)
    return ElfFile.from_bytes((ident + rest + heads).ljust(offset, b"\0") + body)


def search_table(section: Section, offsets: list[tuple[int, int]], *, at: int = 0x580000, count: int = 0) -> bytes:
    """An `.eh_frame_hdr` that names functions by (start, offset of the entry)."""
    head = b"\x01\x1b\x03\x3b" + struct.pack("<iI", section.address - at - 4, count or len(offsets))
    return head + b"".join(struct.pack("<ii", start - at, section.address + entry - at) for start, entry in offsets)


def test_a_zero_word_ends_a_section_of_unknown_size() -> None:
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE, 0x10)
    section.data += bytes(4)
    section.fde(cie, CODE + 0x20, 0x10)
    table = UnwindTable.from_elf(image(section, header=search_table(section, [(CODE, first)])))
    assert list(table.starts) == [CODE]


def test_the_search_table_knows_functions_behind_an_early_zero_word() -> None:
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE, 0x10)
    section.data += bytes(4)
    second = section.fde(cie, CODE + 0x20, 0x10)
    found = search_table(section, [(CODE, first), (CODE + 0x20, second)])
    assert list(UnwindTable.from_elf(image(section, header=found)).starts) == [CODE, CODE + 0x20]


def test_the_search_table_knows_functions_behind_damage() -> None:
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE, 0x10)
    section.add(b"abcd", length=0xFFFFFFF5)
    second = section.fde(cie, CODE + 0x20, 0x10)
    found = search_table(section, [(CODE, first), (CODE + 0x20, second)])
    defects = Defects()
    table = UnwindTable.from_elf(image(section, header=found), defects=defects)
    assert list(table.starts) == [CODE, CODE + 0x20]
    assert [defect.kind for defect in defects] == ["damaged call frame entry"]


def test_a_search_table_that_lies_finds_nothing_more() -> None:
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE, 0x10)
    section.add(b"abcd", length=0xFFFFFFF5)
    found = search_table(section, [(CODE, first), (CODE + 0x20, 8), (CODE, -100), (CODE, 1 << 20)], count=1 << 31)
    assert list(UnwindTable.from_elf(image(section, header=found)).starts) == [CODE]


def test_defects_name_what_was_dropped_and_damaged() -> None:
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE, 0x10, b"\x41\x3f")
    section.fde(cie, 0x10, 0x10)
    defects = Defects()
    table = UnwindTable.from_elf(image(section, header=search_table(section, [(CODE, first)])), defects=defects)
    assert [rule for _, rule in zip(*table.rows(0), strict=True)][1] == NO_RULE
    assert {defect.kind for defect in defects} == {"call frame entry without code", "damaged call frame program"}


def test_a_further_source_fills_only_holes() -> None:
    section = Section()
    cie = section.cie()
    section.fde(cie, CODE + 0x40, 0x10, b"\x0e\x10")
    debug = Section(debug=True)
    debug_cie = debug.cie(augmentation=b"")
    debug.fde(debug_cie, CODE, 0x100, b"\x50\x0e" + uleb(24))
    debug.fde(debug_cie, CODE + 0x200, 0x10)
    table = UnwindTable.from_elf(
        image(section, header=search_table(section, [(CODE + 0x40, 0)])), debug_elf=lambda: debug_image(debug)
    )
    assert table.rule_at(CODE + 0x200) is not None
    found = [(start - CODE, end - CODE) for start, end in zip(table.starts, table.ends, strict=True)]
    assert found == [(0, 0x40), (0x40, 0x50), (0x50, 0x100), (0x200, 0x210)]
    rules = [table.rule_at(CODE + at) for at in (0, 0x20, 0x40, 0x50, 0x200)]
    assert [rule.cfa for rule in rules if rule] == ["rsp+8", "rsp+24", "rsp+16", "rsp+24", "rsp+8"]
    assert list(table.rows(2)[0]) == [CODE + 0x50]


def debug_image(section: Section) -> ElfFile:
    """A file with a `.debug_frame` and nothing else."""
    names = b"\0.debug_frame\0.shstrtab\0"
    body = bytes(section.data) + names
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 64, len(section.data), 0, 0, 1, 0)
    sections += struct.pack("<IIQQQQIIQQ", 14, 3, 0, 0, 64 + len(section.data), len(names), 0, 0, 1, 0)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    rest = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64 + len(body), 0, 64, 56, 0, 64, 3, 2)
    return ElfFile.from_bytes(ident + rest + body + sections)


def same_rules(quick: UnwindTable, full: UnwindTable) -> None:
    """Both have the same rule at every address where a row of one of them begins."""
    addresses = {address for address, _, _ in full} | {end for _, end, _ in full}
    addresses |= {address for address, _, _ in quick}
    for address in addresses:
        assert quick.rule_at(address) == full.rule_at(address), hex(address)


def test_the_search_table_gives_the_same_rules(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, "-O2", "-static")
    quick, full = UnwindTable.from_elf(path, quick=True), UnwindTable.from_elf(path)
    assert list(quick.starts) == list(full.starts)
    assert quick.version == 1
    same_rules(quick, full)


def test_the_search_table_leaves_room_for_debug_frame(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, *NO_EH_FRAME)
    at = symbols(path)["loops"]
    table = UnwindTable.from_elf(path, quick=True)
    rule = table.rule_at(at)
    assert rule is not None
    assert rule.source == "debug_frame"
    same_rules(table, UnwindTable.from_elf(path))


def two_functions() -> tuple[Section, int, int]:
    """A section with functions at 0x10 and 0x80 of the code, and where their entries are."""
    section = Section()
    cie = section.cie()
    first = section.fde(cie, CODE + 0x10, 0x20, b"\x41\x0e\x10")
    return section, first, section.fde(cie, CODE + 0x80, 0x10)


def test_a_range_of_the_search_table_ends_in_a_hole() -> None:
    section, first, second = two_functions()
    header = search_table(section, [(CODE + 0x10, first), (CODE + 0x80, second)])
    table = UnwindTable.from_elf(image(section, header=header), quick=True)
    assert [end - CODE for end in table.ends] == [0x80, CODE_END - CODE]
    addresses, rules = table.rows(0)
    assert [address - CODE for address in addresses] == [0x10, 0x11, 0x30]
    assert rules[2] == NO_RULE
    assert table.rule_at(CODE + 0x30) is None
    assert table.version == 1


@pytest.mark.parametrize(
    "wrong",
    [
        [(0x80, 1), (0x10, 0)],
        [(0x10, 0), (0x10, 1)],
        [(0x10, 0), (0x80, 1 << 20)],
        [(0x10, 0), (0x80, -2)],
        [(0x10, 0), (0x14, 1), (0x80, 1)],
        [(0x10, 1), (0x80, 0)],
    ],
    ids=["unsorted", "equal starts", "outside", "just before", "another start", "exchanged"],
)
def test_a_search_table_that_is_wrong_gives_way_to_the_section(wrong: list[tuple[int, int]]) -> None:
    section, *entries = two_functions()
    offsets = [(CODE + start, entries[entry] if entry in (0, 1) else entry) for start, entry in wrong]
    data = image(section, header=search_table(section, offsets))
    quick, full = UnwindTable.from_elf(data, quick=True), UnwindTable.from_elf(data)
    rules = [(quick.rule_at(CODE + at), full.rule_at(CODE + at)) for at in (0x10, 0x11, 0x14, 0x2F, 0x80, 0x8F)]
    assert all(one == other and one is not None for one, other in rules)


def test_without_a_search_table_the_section_is_read(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, "-O2", "-Wl,--no-eh-frame-hdr")
    quick, full = UnwindTable.from_elf(path, quick=True), UnwindTable.from_elf(path)
    assert len(quick) > 0
    assert list(quick.ends) == list(full.ends)


def test_function_numbers_stay_valid_for_who_keeps_the_functions(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, *NO_EH_FRAME)
    table = UnwindTable.from_elf(path)
    before = table.functions
    kept = [list(before.rows(i)[0]) for i in range(len(before.starts))]
    assert table.more(symbols(path)["loops"])
    assert table.functions is not before
    assert [list(before.rows(i)[0]) for i in range(len(before.starts))] == kept


def test_threads_may_use_one_table(build: Callable[..., Path]) -> None:
    path = build(PROGRAM, "-O2", "-static")
    expected = [row[:2] for row in UnwindTable.from_elf(path)]
    table = UnwindTable.from_elf(path)
    found: list[list[tuple[int, int]]] = []
    threads = [threading.Thread(target=lambda: found.append([row[:2] for row in table])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
