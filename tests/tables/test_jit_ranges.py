"""Sections that are given at run time for ranges of code."""

import pytest
from tests.support.tables.sframe_builder import AARCH64_BIG, SP, Function, SFrame

from undwarf.errors import UsageError
from undwarf.tables.sframe.jit_ranges import TextRanges

BASE = 0x7F00_0000_0000


def section(start: int, size: int, cfa: int = 8, address: int = BASE + 0x10000) -> SFrame:
    return SFrame(address=address, functions=[Function(start, size, [(0, SP, (cfa,))])])


def cfa(ranges: TextRanges, address: int) -> str | None:
    rule = ranges.rule_at(address)
    return rule.cfa if rule is not None else None


def test_rules_are_found_by_address() -> None:
    ranges = TextRanges()
    for number in (2, 0, 1):
        start = BASE + 0x1000 * number
        ranges.add(start, start + 0x100, section(start + 0x10, 0x20, 8 + 8 * number).build(), BASE + 0x10000)
    assert list(ranges) == [(BASE + 0x1000 * number, BASE + 0x1000 * number + 0x100) for number in range(3)]
    assert [cfa(ranges, BASE + 0x1000 * number + 0x10) for number in range(3)] == ["rsp+8", "rsp+16", "rsp+24"]
    assert [cfa(ranges, BASE + offset) for offset in (0, 0xF, 0x2F, 0x30, 0x1000)] == [None, None, "rsp+8", None, None]


def test_functions_outside_the_range_are_not_its_own() -> None:
    ranges = TextRanges()
    made = SFrame(
        address=BASE,
        functions=[
            Function(BASE + start, 0x20, [(0, SP, (8,)), (8, SP, (16,))]) for start in (0x100, 0x120, 0x140, 0x160)
        ],
    )
    ranges.add(BASE + 0x130, BASE + 0x150, made.build(), BASE)
    found = [(start - BASE, end - BASE, rule.cfa) for start, end, rule in ranges.table if rule is not None]
    assert found == [(0x130, 0x140, "rsp+16"), (0x140, 0x148, "rsp+8"), (0x148, 0x150, "rsp+16")]


def test_removed_code_has_no_rule_and_may_be_replaced() -> None:
    ranges = TextRanges()
    ranges.add(BASE, BASE + 0x100, section(BASE, 0x100).build(), BASE + 0x10000)
    assert cfa(ranges, BASE) == "rsp+8"
    with pytest.raises(UsageError):
        ranges.add(BASE + 0xFF, BASE + 0x200, section(BASE, 0x100).build(), BASE + 0x10000)
    ranges.remove(BASE)
    assert (cfa(ranges, BASE), len(ranges)) == (None, 0)
    ranges.add(BASE + 0x80, BASE + 0x200, section(BASE + 0x80, 0x100, 32).build(), BASE + 0x10000)
    assert cfa(ranges, BASE + 0x80) == "rsp+32"
    with pytest.raises(UsageError):
        ranges.remove(BASE)


@pytest.mark.parametrize(("start", "end"), [(8, 8), (9, 8), (-1, 8), (1, (1 << 64) + 1)])
def test_ranges_that_cannot_be(start: int, end: int) -> None:
    with pytest.raises(UsageError):
        TextRanges().add(start, end, b"", 0)


def test_a_damaged_section_is_counted_and_gives_no_rule() -> None:
    ranges = TextRanges()
    ranges.add(BASE, BASE + 0x100, b"no section", BASE)
    assert ranges.rule_at(BASE) is None
    assert [defect.kind for defect in ranges.defects] == ["unreadable SFrame section"]


def test_other_machines() -> None:
    ranges = TextRanges(183, "big")
    made = section(BASE, 0x10)
    made.abi = AARCH64_BIG
    ranges.add(BASE, BASE + 0x10, made.build(), made.address)
    assert cfa(ranges, BASE) == "sp+8"
