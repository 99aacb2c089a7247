"""Data sources in words: values as the hardware's drivers make them."""

import pytest

from undwarf.perfdata.data_source import (
    access_of,
    blocked,
    level,
    locked,
    missed,
    page_size,
    snoop,
    text,
    tlb,
    tlb_missed,
)

LOAD, STORE = 2, 4
HIT, MISS = 2 << 5, 4 << 5
L1, L3, LOCAL_RAM = 8 << 5, 0x40 << 5, 0x80 << 5
HITM = 16 << 19
INTEL_L1_HIT = 0x68100142
"""What a load has on Intel processors that L1 served: arch/x86/events/intel/ds.c, OP_LH | P(LVL, L1) | LEVEL(L1)."""


def number(value: int) -> int:
    return value << 33


def test_the_level_by_mask_and_by_number() -> None:
    assert level(LOAD | HIT | L1) == "L1 hit"
    assert level(LOAD | MISS | L3) == "L3 miss"
    assert level(LOAD | HIT | LOCAL_RAM | L3) == "L3 or Local RAM hit"
    assert level(LOAD | HIT | number(13)) == "RAM hit"
    assert level(LOAD | HIT | number(3) | 1 << 37 | 1 << 43) == "Remote core, same node L3 hit"
    assert level(LOAD | HIT | L1 | number(15)) == "L1 hit"
    assert level(LOAD) == level(0) == level(LOAD | 1 << 5) == level(LOAD | HIT) == "N/A"


def test_a_level_without_a_name_is_told_by_its_number() -> None:
    assert level(LOAD | number(1) | 7 << 43) == "L1"
    assert {level(number(value)) for value in range(1, 15)}.isdisjoint({"", "N/A"})


def test_all_in_one_line() -> None:
    assert text(INTEL_L1_HIT) == "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A"


def test_what_other_caches_had() -> None:
    assert (snoop(0), snoop(HITM), snoop(2 << 38), snoop(4 << 19 | 1 << 38)) == ("N/A", "HitM", "Peer", "Hit or Fwd")


def test_how_the_address_was_translated() -> None:
    assert tlb(0) == tlb(1 << 26).replace("N/A or ", "") == "N/A"
    assert tlb((2 | 8 | 0x10) << 26) == "L1 or L2 hit"
    assert tlb((4 | 0x20) << 26) == "Walker miss"
    assert [tlb_missed(mask << 26) for mask in (2 | 8, 2 | 8 | 0x10, 2 | 0x10, 4 | 0x20, 0x40, 1)] == [
        False, False, True, True, True, False,
    ]  # fmt: skip  # a table


def test_locks_and_waits() -> None:
    assert [locked(mask << 24) for mask in range(3)] == ["No", "N/A", "Yes"]
    assert [blocked(mask << 40) for mask in (0, 1, 2, 4, 6)] == ["N/A", "N/A", "Data", "Addr", "Data Addr"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (HIT | L1, False),
        (MISS | L1, True),
        (HIT | L3, True),
        (HIT | number(1), False),
        (MISS | number(1), True),
        (HIT | number(13), True),
        (HIT | number(7), False),
    ],
)
def test_what_missed_the_nearest_cache(source: int, expected: bool) -> None:
    assert missed(LOAD | source) is expected


def test_what_the_hardware_saw_of_an_instruction() -> None:
    assert [access_of(mask) for mask in (0, 1, LOAD, STORE, LOAD | STORE, 8)] == ["", "", "r", "w", "rw", ""]


def test_sizes_of_pages() -> None:
    assert [page_size(size) for size in (0, 512, 4096, 2 << 20, 1 << 30)] == ["N/A", "512", "4K", "2M", "1024M"]


def test_any_bits_have_a_text() -> None:
    for bit in range(64):
        assert text(1 << bit).count("|") == 6
    assert text((1 << 64) - 1)
