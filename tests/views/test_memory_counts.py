"""Sums over data sources: levels, misses and pages."""

from undwarf.views.data.memory_counts import MemoryCounts

LOAD, HIT, MISS = 2, 2 << 5, 4 << 5
L1, L3 = 8 << 5, 0x40 << 5
HITM = 16 << 19


def test_counts_are_of_what_is_known() -> None:
    counts = MemoryCounts()
    counts.add_source(LOAD, 5)
    assert (counts.known, counts.levels) == (0, {})
    counts.add_source(LOAD | HIT | L1, 3)
    counts.add_source(LOAD | MISS | L3 | HITM | 4 << 26, 2)
    counts.add_page(4096, 5)
    counts.add_page(0, 1)
    assert (counts.known, counts.missed, counts.tlb_missed, counts.others) == (5, 2, 2, 2)
    assert (counts.levels, counts.pages) == ({"L1 hit": 3, "L3 miss": 2}, {"4K": 5})
