"""Locations of a function's variables as rows of integers."""

import pytest

from undwarf.types.sources.location_table import table_of
from undwarf.types.sources.type_source import Place, PlaceKind

LOW = 1 << 63


@pytest.mark.parametrize(
    ("register", "at", "types"),
    [
        (3, 0, [11]),
        (3, 4, [11, 12]),
        (3, 8, [12]),
        (3, 12, []),
        # What lies in memory, or is not the pointer itself, says nothing of what the register leads to.
        (5, 0, []),
        (6, 0, []),
        (7, 0, []),
    ],
)
def test_types_by_register_are_those_valid_at_an_address(register: int, at: int, types: list[int]) -> None:
    places = [
        Place("it", 11, PlaceKind.REGISTER, 3, 0, LOW, LOW + 8),
        Place("behind", 12, PlaceKind.VALUE, 3, 16, LOW + 4, LOW + 12),
        Place("kept", 13, PlaceKind.MEMORY, 5, 0, LOW, LOW + 8),
        Place("frame", 14, PlaceKind.CFA, 6, 0, LOW, LOW + 8),
    ]
    table = table_of(places, LOW, 64)
    assert table.types_in(register, at) == types
    assert [one.name for one in table.valid_at(at) if one.register == 3 and one.type in types] == [
        one.name for one in places if one.type in types
    ]
