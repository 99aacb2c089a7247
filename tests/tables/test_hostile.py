"""Whatever the bytes are: a table that keeps its promises, in bounded time and memory."""

import random

import fuzz_cfi
import mutate
import pytest
from tests.support.tables.cfi_builder import CODE, USUAL, Compiled, Section, uleb

from undwarf.tables.cfi.entries import Entries


@pytest.mark.parametrize("seed", range(20))
def test_damaged_sections(seed: int) -> None:
    chance = random.Random(seed)
    start = fuzz_cfi.seeds()
    for _ in range(100):
        fuzz_cfi.one_input(mutate.mutated(chance.choice(start), chance))


@pytest.mark.parametrize("shape", range(64))
def test_random_bytes(shape: int) -> None:
    chance = random.Random(shape)
    for _ in range(50):
        fuzz_cfi.one_input(bytes((shape,)) + chance.randbytes(chance.randrange(400)))


@pytest.mark.parametrize("shape", [0x08, 0x09, 0x18])
def test_every_truncation(shape: int) -> None:
    section = Section(debug=bool(shape & 1))
    cie = section.cie(augmentation=b"" if section.debug else b"zPLR", extra=b"\x03" + bytes(4) + b"\x1b\x1b")
    section.fde(cie, 0x2000, 0x40, b"\x41\x0e\x10\x86\x02\x02\x10\x0f\x03\x77\x08\x06", data=bytes(4))
    for size in range(len(section.data) + 1):
        fuzz_cfi.one_input(bytes((shape,)) + bytes(section.data[:size]))


@pytest.mark.parametrize("damage", [b"\xff", b"\x00", b"\x80", b"\x7f"])
def test_every_byte_changed(damage: bytes) -> None:
    section = Section(address=0x1000)
    cie = section.cie(augmentation=b"zPLR", extra=b"\x03" + bytes(4) + b"\x1b\x1b")
    section.fde(cie, 0x2000, 0x40, b"\x41\x0e\x10\x86\x02\x02\x10\x0f\x03\x77\x08\x06", data=bytes(4))
    for at in range(len(section.data)):
        for width in (1, 4, 8):
            changed = bytearray(section.data)
            changed[at : at + width] = damage * width
            fuzz_cfi.one_input(b"\x08" + bytes(changed))


def everything(section: Section) -> Compiled:
    """All functions compiled, all numbers read; without a bound this would outlast the tests' time limit."""
    found = Compiled(section)
    found.table.compile_all()
    for i in range(len(found.entries.starts)):
        found.numbers(i)
    return found


def test_endless_advances_end() -> None:
    section = Section()
    section.fde(section.cie(), CODE, 0x100000, b"\x40" * 500_000)
    assert everything(section).table.damaged == 1


def test_many_rows_end() -> None:
    section = Section(debug=True)
    program = b"".join(b"\x41\x0e" + uleb(16 + 8 * (i & 1)) for i in range(200_000))
    section.fde(section.cie(augmentation=b""), CODE, 0x100000, program)
    found = everything(section)
    assert len(found.numbers()) <= 50_001


def test_deep_states_end() -> None:
    section = Section()
    section.fde(section.cie(), CODE, 0x100000, b"\x0a" * 100_000)
    assert everything(section).table.damaged == 1


def test_a_huge_cie_shared_by_many_functions_ends() -> None:
    section = Section()
    large = [section.cie(USUAL + b"\x0e\x08" * 50_000) for _ in range(2)]
    for i in range(20_000):
        section.fde(large[i % 2], CODE + 8 * i, 8)
    everything(section)


def test_many_pieces_of_one_long_function_end() -> None:
    section = Section()
    cie = section.cie()
    section.fde(cie, CODE, 0x80000, b"\x41\x0e\x10\x41\x0e\x18" * 15_000)
    for i in range(20_000):
        section.fde(cie, CODE + 24 * i + 8, 8)
    found = everything(section)
    assert len(found.entries.starts) > 40_000


def test_many_entries_that_name_no_cie_end() -> None:
    section = Section()
    section.data += bytes(range(1, 255)) * 20
    for i in range(50_000):
        section.add((1 + i % 5000).to_bytes(4, "little") + b"abcdefgh")
    entries = section.entries()
    assert len(entries.starts) == 0


def test_a_long_augmentation_is_not_read_again_and_again() -> None:
    section = Section(debug=True)
    section.add(b"\xff\xff\xff\xff\x01" + b"z" * 2_000_000)
    for _ in range(20_000):
        section.add(bytes(20))
    assert section.entries().damaged == 20_000


def test_memory_is_not_taken_for_what_is_only_claimed() -> None:
    # A section of a few bytes whose length field claims terabytes.
    data = b"\xff\xff\xff\xff" + (1 << 42).to_bytes(8, "little") + bytes(100)
    entries = Entries(memoryview(data), 0, debug=True, word=8, code=[(0, 1 << 40)], max_entries=1 << 30)
    entries.scan(True)
    assert (entries.total, entries.damaged) == (0, 1)
    assert len(entries.origins) < 1000
