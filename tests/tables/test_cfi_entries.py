"""Which functions a section of call frame information describes."""

import itertools
import random

import pytest
from tests.support.tables.cfi_builder import CODE, CODE_END, USUAL, Compiled, Section, block, ranges, uleb

from undwarf.tables.address_ranges import disjoint, fill_holes
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.entry_kinds import ScanEnd

both = pytest.mark.parametrize("debug", [False, True], ids=["eh_frame", "debug_frame"])


def simple(debug: bool = False) -> tuple[Section, int]:
    """A section with a CIE."""
    section = Section(debug=debug)
    return section, section.cie(augmentation=b"" if debug else b"zR")


@both
def test_functions_are_found_and_sorted(debug: bool) -> None:
    section, cie = simple(debug)
    for start in (0x300, 0x100, 0x200):
        section.fde(cie, CODE + start, 0x10)
    entries = section.entries()
    assert ranges(entries) == [(0x100, 0x110), (0x200, 0x210), (0x300, 0x310)]
    assert list(entries.entry) == [1, 2, 0]
    assert (entries.damaged, entries.dropped) == (0, 0)


@both
def test_64_bit_lengths(debug: bool) -> None:
    section = Section(debug=debug)
    cie = section.cie(augmentation=b"" if debug else b"zR", wide=True)
    section.fde(cie, CODE, 0x10, wide=True)
    section.fde(cie, CODE + 0x10, 0x10, wide=True)
    assert ranges(section.entries()) == [(0, 0x10), (0x10, 0x20)]


def test_64_bit_eh_frame_with_the_8_byte_ids_of_binutils() -> None:
    section = Section()
    cie = section.cie(wide=True, id_size=8)
    section.fde(cie, CODE, 0x10, b"\x42\x0e\x10", wide=True, id_size=8)
    found = Compiled(section)
    assert ranges(found.entries) == [(0, 0x10)]
    assert [offset for offset, _ in found.numbers()] == [0, 2]


def test_wide_and_narrow_entries_mix() -> None:
    section = Section()
    narrow = section.cie()
    wide = section.cie(wide=True)
    section.fde(wide, CODE, 0x10)
    section.fde(narrow, CODE + 0x20, 0x10, wide=True)
    assert ranges(section.entries()) == [(0, 0x10), (0x20, 0x30)]


@pytest.mark.parametrize("encoding", [0x00, 0x01, 0x03, 0x04, 0x08, 0x09, 0x0B, 0x0C, 0x10, 0x1B, 0x1C, 0x50])
def test_encodings_of_function_addresses(encoding: int) -> None:
    section = Section(address=0x300000)
    section.fde(section.cie(encoding=encoding), CODE + 8, 0x10, b"\x41\x0e\x10")
    found = Compiled(section)
    assert ranges(found.entries) == [(8, 0x18)]
    assert [offset for offset, _ in found.numbers()] == [8, 9]


def test_16_bit_addresses() -> None:
    section = Section(address=0x300000)
    section.fde(section.cie(encoding=0x02), 0x1000, 0x10)
    assert list(section.entries(code=[(0x1000, 0x2000)]).starts) == [0x1000]


@pytest.mark.parametrize("encoding", [0xFF, 0x9B, 0x2B, 0x3B, 0x0F, 0x05])
def test_addresses_that_cannot_be_known_are_damage(encoding: int) -> None:
    section = Section()
    cie = section.cie(encoding=encoding)
    section.add((len(section.data) + 4 - cie).to_bytes(4, "little") + bytes(20))
    entries = section.entries()
    assert (len(entries.starts), entries.damaged) == (0, 1)


@pytest.mark.parametrize("version", [1, 3, 4])
def test_versions(version: int) -> None:
    section = Section(debug=True)
    section.fde(section.cie(augmentation=b"", version=version), CODE, 0x10)
    assert ranges(section.entries()) == [(0, 0x10)]


@pytest.mark.parametrize("version", [0, 2, 5])
def test_unknown_versions_are_damage(version: int) -> None:
    section = Section(debug=True)
    section.fde(section.cie(augmentation=b"", version=version), CODE, 0x10)
    assert section.entries().damaged == 1


def test_another_address_size_is_damage() -> None:
    section = Section(debug=True)
    section.fde(section.cie(augmentation=b"", version=4, address_size=4), CODE, 0x10)
    assert section.entries().damaged == 1


def test_32_bit_targets() -> None:
    section = Section(debug=True, word=4)
    section.fde(section.cie(augmentation=b"", data_align=-4), CODE, 0x10)
    assert ranges(section.entries()) == [(0, 0x10)]


@pytest.mark.parametrize(
    ("augmentation", "extra"),
    [
        (b"zR", b"\x1b"),
        (b"zPLR", b"\x9b" + bytes(4) + b"\x1b\x1b"),
        (b"zRS", b"\x1b"),
        (b"zRB", b"\x1b"),
        (b"zRG", b"\x1b"),
        (b"zRX", b"\x1b\x01\x02\x03"),
        (b"zP\x4cR", b"\x50" + bytes(6) + bytes(8) + b"\x1b\x1b"),
    ],
)
def test_augmentations(augmentation: bytes, extra: bytes) -> None:
    section = Section(address=0x600000)
    cie = section.cie(augmentation=augmentation, extra=extra)
    section.fde(cie, CODE, 0x10, b"\x41\x0e\x10", data=b"lsda")
    found = Compiled(section)
    assert ranges(found.entries) == [(0, 0x10)]
    rows = found.rows()
    assert [offset for offset, _ in rows] == [0, 1]
    assert all(rule is not None and rule.signal == (b"S" in augmentation) for _, rule in rows)


def test_an_unknown_augmentation_without_a_length_is_damage() -> None:
    section = Section()
    section.fde(section.cie(augmentation=b"Q"), CODE, 0x10)
    assert section.entries().damaged == 1


def test_the_augmentation_of_gcc_2() -> None:
    section = Section(debug=True)
    body = b"\xff" * 4 + b"\x01eh\0" + bytes(8) + b"\x01\x78\x10" + USUAL
    section.fde(section.add(body), CODE, 0x10)
    assert ranges(section.entries()) == [(0, 0x10)]


def test_long_augmentation_data_of_a_function() -> None:
    section = Section()
    section.fde(section.cie(), CODE, 0x10, b"\x41\x0e\x10", data=bytes(200))
    assert [offset for offset, _ in Compiled(section).numbers()] == [0, 1]


def test_augmentation_data_past_the_entry_is_damage() -> None:
    section = Section()
    cie = section.cie()
    field = section.address + len(section.data) + 8
    start = section.encoded(CODE, 0x1B, field)
    section.add((len(section.data) + 4 - cie).to_bytes(4, "little") + start + section.encoded(16, 0x0B) + uleb(1000))
    assert section.entries().damaged == 1


def test_functions_behind_a_zero_word_are_found() -> None:
    section, cie = simple()
    section.fde(cie, CODE, 0x10)
    section.data += bytes(4)
    section.fde(cie, CODE + 0x20, 0x10)
    assert ranges(section.entries()) == [(0, 0x10), (0x20, 0x30)]
    assert ranges(section.entries(past_zero=False)) == [(0, 0x10)]


def test_a_cie_may_follow_its_functions() -> None:
    section = Section(debug=True)
    first = Section(debug=True)
    fde = first.fde(0, CODE, 0x10)
    assert fde == 0
    section.fde(len(first.data), CODE, 0x10)
    section.cie(augmentation=b"")
    assert ranges(section.entries()) == [(0, 0x10)]


@pytest.mark.parametrize("start", [0, (1 << 64) - 1, (1 << 64) - 2, CODE - 1, CODE_END, 0x10])
def test_functions_of_discarded_code_are_dropped_and_counted(start: int) -> None:
    section, cie = simple(debug=True)
    section.fde(cie, CODE, 0x10)
    section.fde(cie, start, 1)
    entries = section.entries()
    assert ranges(entries) == [(0, 0x10)]
    assert entries.dropped == 1


@pytest.mark.parametrize("size", [0, (1 << 64) - 1])
def test_ranges_that_are_empty_or_wrap_are_dropped(size: int) -> None:
    section, cie = simple(debug=True)
    section.fde(cie, CODE + 4, size)
    entries = section.entries()
    assert (len(entries.starts), entries.dropped) == (0, 1)


def test_a_function_ends_where_the_code_ends() -> None:
    section, cie = simple()
    section.fde(cie, CODE_END - 4, 0x1000)
    assert list(section.entries().ends) == [CODE_END]


def test_code_in_several_segments() -> None:
    section, cie = simple(debug=True)
    for start in (0x100, 0x900, 0x500):
        section.fde(cie, start, 0x10)
    entries = section.entries(code=[(0x800, 0xA00), (0x100, 0x180), (0x180, 0x200)])
    assert list(entries.starts) == [0x100, 0x900]


def test_the_innermost_of_overlapping_functions_wins() -> None:
    section, cie = simple()
    section.fde(cie, CODE, 0x100)
    section.fde(cie, CODE + 0x20, 0x10)
    entries = section.entries()
    assert ranges(entries) == [(0, 0x20), (0x20, 0x30), (0x30, 0x100)]
    assert list(entries.entry) == [0, 1, 0]


def test_the_longest_of_functions_that_start_together_wins() -> None:
    section, cie = simple()
    for size in (0x10, 0x40, 0x20, 0x40):
        section.fde(cie, CODE, size)
    entries = section.entries()
    assert ranges(entries) == [(0, 0x40)]
    assert list(entries.entry) == [1]


def test_damage_keeps_the_functions_before_it() -> None:
    section, cie = simple()
    section.fde(cie, CODE, 0x10)
    at = section.add(b"abcd", length=1 << 30)
    section.fde(cie, CODE + 0x20, 0x10)
    entries = Entries(
        memoryview(section.data), section.address, debug=False, word=8, code=[(CODE, CODE_END)], max_entries=100
    )
    assert entries.scan(True) == ScanEnd.DAMAGE
    assert (entries.total, entries.damaged, entries.at) == (1, 1, at)


def test_entries_can_be_named_by_offset() -> None:
    section, cie = simple()
    section.add(b"abcd", length=0xFFFFFFF0)
    after = section.fde(cie, CODE + 0x20, 0x10)
    entries = Entries(
        memoryview(section.data), section.address, debug=False, word=8, code=[(CODE, CODE_END)], max_entries=100
    )
    entries.scan(True)
    entries.take([after, -1, 1 << 40])
    entries.arrange()
    assert ranges(entries) == [(0x20, 0x30)]


@both
def test_a_function_of_no_cie_is_damage(debug: bool) -> None:
    section, cie = simple(debug)
    real = section.fde(cie, CODE, 0x10)
    section.fde(real, CODE + 0x20, 0x10)
    section.fde(cie + 1, CODE + 0x40, 0x10)
    entries = section.entries()
    assert ranges(entries) == [(0, 0x10)]
    assert entries.damaged == 2


def test_a_cie_far_away_or_before_the_section_is_damage() -> None:
    section, _ = simple()
    section.add((0x7FFFFFFF).to_bytes(4, "little") + bytes(20))
    assert section.entries().damaged == 1


def test_the_limit_on_entries() -> None:
    section, cie = simple()
    for i in range(20):
        section.fde(cie, CODE + 16 * i, 16)
    entries = Entries(
        memoryview(section.data), section.address, debug=False, word=8, code=[(CODE, CODE_END)], max_entries=7
    )
    assert entries.scan(True) == ScanEnd.FULL
    assert entries.total == 7


def test_more_functions_than_there_was_room_for() -> None:
    section = Section(debug=True)
    cie = section.cie(augmentation=b"", version=3)
    for i in range(3000):
        section.fde(cie, CODE + 16 * (i * 7 % 3000), 16)
    entries = section.entries()
    assert ranges(entries) == [(16 * i, 16 * i + 16) for i in range(3000)]


def test_many_cies() -> None:
    section = Section()
    for i in range(600):
        section.fde(section.cie(bytes((0x0C, 7)) + uleb(8 + i)), CODE + 16 * i, 16)
    found = Compiled(section)
    assert [rule.cfa for i in (0, 300, 599) for _, rule in found.rows(i) if rule] == ["rsp+8", "rsp+308", "rsp+607"]


def test_an_empty_section_has_no_functions() -> None:
    assert len(Section().entries().starts) == 0


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_few_bytes_are_no_entry(size: int) -> None:
    section, cie = simple()
    section.fde(cie, CODE, 0x10)
    section.data += b"\x01\x02\x03"[:size]
    entries = section.entries()
    assert (len(entries.starts), entries.damaged) == (1, 0)


def covering(found: list[tuple[int, int]], address: int) -> int | None:
    """By the rule itself: the last start, of those the longest, of those the first."""
    best = None
    for number, (start, end) in enumerate(found):
        if start <= address < end and (best is None or (start, end) > found[best]):
            best = number
    return best


@pytest.mark.parametrize("seed", range(30))
def test_overlaps_against_the_rule_address_by_address(seed: int) -> None:
    chance = random.Random(seed)
    found = []
    for _ in range(chance.randrange(1, 25)):
        start = chance.randrange(60)
        found.append((start, start + chance.randrange(1, 30)))
    starts, ends, numbers = disjoint(column([one[0] for one in found]), column([one[1] for one in found]))
    pieces = list(zip(starts, ends, numbers, strict=True))
    assert all(start < end for start, end, _ in pieces)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(pieces))
    for address in range(100):
        at = [number for start, end, number in pieces if start <= address < end]
        expected = covering(found, address)
        assert at == ([] if expected is None else [expected])


@pytest.mark.parametrize("seed", range(30))
def test_holes_are_filled_and_nothing_else(seed: int) -> None:
    chance = random.Random(seed)

    def some() -> list[tuple[int, int]]:
        cuts = sorted(chance.sample(range(80), 2 * chance.randrange(1, 12)))
        return list(zip(cuts[::2], cuts[1::2], strict=True))

    old, new = some(), some()
    starts, ends, where, added = fill_holes(
        column([one[0] for one in old]),
        column([one[1] for one in old]),
        column(list(range(len(old)))),
        column([one[0] for one in new]),
        column([one[1] for one in new]),
        3,
    )
    assert added == sum(1 for one in where if one >> 32 == 3)
    for address in range(80):
        at = [one for start, end, one in zip(starts, ends, where, strict=True) if start <= address < end]
        known = covering(old, address)
        further = covering(new, address)
        if known is not None:
            assert at == [known]
        else:
            assert at == ([] if further is None else [3 << 32 | further])


def column(numbers: list[int]) -> memoryview:
    """A column of addresses."""
    return memoryview(b"".join(number.to_bytes(8, "little") for number in numbers)).cast("Q")


@pytest.mark.parametrize("spread", [1, 40, 5_000_000_000_000_000])
def test_sorting_addresses_of_any_distance(spread: int) -> None:
    chance = random.Random(1)
    keys = [chance.randrange(1, 3000) * spread for _ in range(2000)]
    starts, _, _ = disjoint(column(keys), column([key + 1 for key in keys]))
    assert list(starts) == sorted(set(keys))


def test_block_helper_writes_its_length() -> None:
    assert block(b"ab") == b"\x02ab"
