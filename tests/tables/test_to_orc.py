"""Tables written as ORC: what is read back is what was there, byte for byte where it was ORC before."""

import random
import shutil
import subprocess
from itertools import pairwise

import fuzz_orc
import mutate
import pytest
from tests.support.tables.orc_builder import SLOTS, TEXT, entry_bytes, file_of, linked, module, value

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.writer import file_of_sections, with_sections
from undwarf.errors import UsageError
from undwarf.limits import DEFAULT
from undwarf.tables.from_orc import read_orc
from undwarf.tables.model import UnwindTable
from undwarf.tables.orc.entries import LAYOUT_1, LAYOUT_3, LAYOUT_4, X86_LAYOUTS, Entry, Kind, entry_of
from undwarf.tables.to_orc import VERSIONS, sections_of
from undwarf.tables.writers import write

ROWS = [
    (TEXT, 0), (TEXT, value(0x205, 8)), (TEXT + 1, value(0x215, 16, -16)), (TEXT + 4, value(0x214, 16, -16)),
    (TEXT + 9, value(0x205, 8)), (TEXT + 9, value(0x205, 8)), (TEXT + 12, 0), (TEXT + 12, 0),
    (TEXT + 16, value(0xB05)), (TEXT + 20, value(0xC05, -8)), (TEXT + 24, value(0x248, -8)), (TEXT + 28, value(0x206)),
    (TEXT + 32, value(0x20F)), (TEXT + 40, value(0x100)), (TEXT + 48, value(0x1000)), (TEXT + 56, 0),
] + [(TEXT + 64 + i, value(0x205, 8)) for i in range(60)]  # fmt: skip  # a table
"""All kinds of entries, some that add nothing, and some that mean nothing."""


def made_of(table: UnwindTable, elf: ElfFile, version: str, place: int = SLOTS) -> dict[str, bytes]:
    made = write("orc", table, elf, version)
    places = {section.name: place for section in made.sections}
    return {section.name: section.place(places) for section in made.sections}


def test_orc_is_written_as_it_was_read():
    elf = file_of(linked(ROWS))
    made = made_of(UnwindTable.from_elf(elf, "orc"), elf, "3")
    assert list(made) == [".orc_header", ".orc_unwind_ip", ".orc_unwind"]
    for name, data in made.items():
        assert data == bytes(elf.section_data(name) or b""), name


@pytest.mark.parametrize("layout", X86_LAYOUTS, ids=lambda layout: layout.name)
def test_every_layout_is_written_as_it_was_read(layout):
    source = read_orc(file_of(linked(ROWS[:10])), DEFAULT, Defects())
    assert source is not None
    slots, entries = sections_of(source, layout, SLOTS)
    rows = [
        (address, int.from_bytes(entries[6 * i : 6 * i + 6], "little")) for i, address in enumerate(source.addresses)
    ]
    again = read_orc(file_of(linked(rows, header=b"")), DEFAULT, Defects())
    assert again is not None
    assert again.layout is layout
    assert sections_of(again, again.layout, SLOTS) == (slots, entries)


def test_a_module_keeps_its_entries():
    rows = [(".text", 0, value(0x205, 8)), (".text", 0x40, 0), (".exit.text", 0, value(0x215, 16, -16))]
    source = read_orc(file_of(module(rows, {".text": 0x40, ".exit.text": 0x20})), DEFAULT, Defects())
    assert source is not None
    # The end of .text is where .exit.text begins.
    assert sections_of(source, LAYOUT_3, 0x1000)[1] == entry_bytes([rows[0][2], 0, rows[2][2]])


def test_what_another_layout_cannot_say_is_counted():
    rows = [(TEXT, value(0x205, 8)), (TEXT + 8, value(0xA05, 8)), (TEXT + 16, 0)]
    elf = file_of(linked(rows))
    table = UnwindTable.from_elf(elf, "orc")
    # The first layout has no bit for a caller that was interrupted.
    assert write("orc", table, elf, "1").left_out == {"not in this layout": 1}
    assert write("orc", table, elf, "4").left_out == {}
    assert made_of(table, elf, "1")[".orc_unwind"] == entry_bytes([value(5, 8), 0, 0])


def test_code_too_far_away_is_an_error():
    elf = file_of(linked(ROWS))
    with pytest.raises(UsageError, match="2 GiB"):
        made_of(UnwindTable.from_elf(elf, "orc"), elf, "3", 1 << 33)


def test_other_machines_are_an_error():
    elf = ElfFile.from_bytes(linked([(TEXT, 0x2002 << 48 | 16), (TEXT + 8, 0)], header=b"", machine=258, size=8))
    table = UnwindTable.from_elf(elf, "orc")
    assert len(table) == 1
    with pytest.raises(UsageError, match="x86-64"):
        write("orc", table, elf)


CODE = """
#include <alloca.h>
#include <string.h>
int twice(int x) __attribute__((noinline));
int twice(int x) { volatile int a[64]; a[x & 63] = x; return a[x & 63] * 2; }
long vary(long n) __attribute__((noinline, optimize("no-omit-frame-pointer")));
long vary(long n) { char *p = alloca(n); memset(p, 1, n); return p[n / 2] + twice(n); }
typedef long wide __attribute__((aligned(64)));
long apart(long n) __attribute__((noinline));
long apart(long n) { volatile wide w = n; wide *p = (wide *)&w; return *p + vary(n); }
int main(int argc, char **argv) { (void)argv; return twice(argc) + vary(argc + 9) + apart(argc); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with frame pointers, a realigned stack and plain functions."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    directory = tmp_path_factory.mktemp("orc")
    (directory / "p.c").write_text(CODE)
    subprocess.run(["gcc", "-O2", "-o", "p", "p.c"], cwd=directory, check=True)
    return ElfFile.open(directory / "p")


def tracked(table: UnwindTable) -> list[tuple[int, int, "Entry | None"]]:
    """The rules of a table for what ORC tracks, by range; None where ORC cannot express the rule."""
    found: list[list] = []
    functions = table.functions
    for function in range(len(functions.starts)):
        addresses, rules = functions.rows(function)
        for i, rule in enumerate(rules):
            end = addresses[i + 1] if i + 1 < len(addresses) else functions.ends[function]
            entry = entry_of(table.rules.words(rule)) if rule != 0xFFFFFFFF else ""
            if isinstance(entry, str):
                continue
            if found and found[-1][1] == addresses[i] and found[-1][2] == entry:
                found[-1][1] = end
            else:
                found.append([addresses[i], end, entry])
    return [(start, end, entry) for start, end, entry in found]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_programs_table_comes_back(program, version):
    table = UnwindTable.from_elf(program, "cfi")
    table.complete()
    made = write("orc", table, program, version)
    again = UnwindTable.from_elf(ElfFile.from_bytes(file_of_sections(program, made.sections)), "orc")
    # A rule whose code ends the file ends by the entry after it.
    assert tracked(again) == tracked(table)
    assert made.rows > 20
    assert set(made.left_out) <= {
        "call frame address by an expression",
        "call frame address by a register that ORC does not have",
    }


def test_a_copy_carries_the_sections(program):
    table = UnwindTable.from_elf(program, "cfi")
    table.complete()
    copy = ElfFile.from_bytes(with_sections(program, write("orc", table, program).sections))
    again = UnwindTable.from_elf(copy, "orc")
    assert tracked(again) == tracked(table)
    assert again.functions.only.table.layout is LAYOUT_4


def test_neighbours_that_say_the_same_are_one_entry(program):
    table = UnwindTable.from_elf(program, "cfi")
    table.complete()
    source = read_orc(
        ElfFile.from_bytes(file_of_sections(program, write("orc", table, program).sections)), DEFAULT, Defects()
    )
    assert source is not None
    numbers = list(source.numbers)
    assert all(a != b for a, b in pairwise(numbers))
    assert source.distinct[numbers[-1]] == 0


def test_the_outermost_frame_is_the_end(program):
    table = UnwindTable.from_elf(program, "cfi")
    table.complete()
    ends = [entry for _start, _end, entry in tracked(table) if entry.kind is Kind.END]
    assert ends
    assert LAYOUT_1.end_bit == 10


@pytest.mark.parametrize("seed", range(10))
def test_damaged_files(seed):
    chance = random.Random(seed)
    start = fuzz_orc.seeds()
    for _ in range(60):
        fuzz_orc.one_input(mutate.mutated(chance.choice(start), chance))


@pytest.mark.parametrize("which", range(8))
def test_seeds_are_good_files(which):
    fuzz_orc.one_input(fuzz_orc.seeds()[which])


@pytest.mark.parametrize("damage", [b"\xff", b"\x00", b"\x80"])
def test_every_byte_of_the_sections_changed(damage):
    data = linked(ROWS, code=bytes(16))
    for at in range(0, len(data), 2):
        changed = bytearray(data)
        changed[at : at + 2] = damage * 2
        fuzz_orc.one_input(bytes(changed[: len(data)]))
