"""Columns of rows: what is put over what."""

import random
from array import array
from bisect import bisect_right
from itertools import pairwise

import pytest

from undwarf.tables.flat_rows import gather, outside, overlay

UNKNOWN, HOLE = 0xFFFFFFFE, 0xFFFFFFFF
Rows = list[tuple[int, int]]


def columns(*rows: tuple[int, int]) -> tuple[memoryview, memoryview]:
    return memoryview(array("Q", [row[0] for row in rows])), memoryview(array("I", [row[1] for row in rows]))


def rows(made: tuple[memoryview, memoryview]) -> Rows:
    return list(zip(*made, strict=True))


def part(end: int, *given: tuple[int, int]) -> tuple[int, memoryview, memoryview]:
    return (end, *columns(*given))


def test_what_lies_between_functions_is_not_known() -> None:
    made = gather([part(30, (10, 1), (20, 2)), part(50, (40, 2))], False)
    assert rows(made) == [(0, UNKNOWN), (10, 1), (20, 2), (30, UNKNOWN), (40, 2), (50, UNKNOWN)]


def test_functions_that_touch_leave_nothing_between_them() -> None:
    assert rows(gather([part(20, (0, 1)), part(30, (20, 1))], False)) == [(0, 1), (30, UNKNOWN)]


def test_holes_of_functions_are_known_only_if_they_are_said_to_be() -> None:
    given = [part(30, (10, 1), (20, HOLE))]
    assert rows(gather(given, False)) == [(0, UNKNOWN), (10, 1), (20, UNKNOWN)]
    assert rows(gather(given, True)) == [(0, UNKNOWN), (10, 1), (20, HOLE), (30, UNKNOWN)]


def test_there_is_no_rule_outside_of_functions() -> None:
    made = outside(array("Q", [10, 30]), array("Q", [20, 40]))
    assert rows(made) == [(0, HOLE), (10, UNKNOWN), (20, HOLE), (30, UNKNOWN), (40, HOLE)]
    assert rows(outside(array("Q"), array("Q"))) == [(0, HOLE)]


def test_lower_columns_show_where_upper_ones_do_not_know() -> None:
    upper = columns((0, UNKNOWN), (10, 1), (20, UNKNOWN), (30, HOLE))
    lower = columns((0, HOLE), (5, 7), (15, 8), (25, 9), (35, 3))
    assert rows(overlay(upper, lower)) == [(0, HOLE), (5, 7), (10, 1), (20, 8), (25, 9), (30, HOLE)]


def test_overlay_agrees_with_a_lookup_at_every_address() -> None:
    chance = random.Random(1)

    def some() -> Rows:
        places = [0, *sorted(chance.sample(range(1, 200), chance.randrange(40)))]
        return [(place, chance.choice([1, 2, 3, UNKNOWN, UNKNOWN, HOLE])) for place in places]

    def at(given: Rows, address: int) -> int:
        return given[bisect_right([row[0] for row in given], address) - 1][1]

    for _ in range(200):
        upper, lower = some(), some()
        made = rows(overlay(columns(*upper), columns(*lower)))
        assert all(one[0] < two[0] and one[1] != two[1] for one, two in pairwise(made))
        for address in range(0, 210, 3):
            expected = at(upper, address)
            assert at(made, address) == (at(lower, address) if expected == UNKNOWN else expected)


def test_columns_begin_at_zero() -> None:
    with pytest.raises(ValueError, match="begin"):
        overlay(columns((1, 1)), columns((0, 1)))
    with pytest.raises(ValueError, match="begin"):
        overlay(columns((0, 1)), columns())
