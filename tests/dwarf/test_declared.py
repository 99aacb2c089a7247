"""What units declare, found without looking at all that is in them."""

import struct

import pytest

from undwarf.dwarf.info import Info

from .test_hostile import COMPILE_UNIT, NAME, REF4, ROOT, STRING, table, unit

ENUMERATION, ENUMERATOR, VARIABLE, STRUCTURE = 0x04, 0x28, 0x34, 0x13
SIBLING, LOCATION, DECLARATION, EXPRLOC, PRESENT, SEC_OFFSET = 0x01, 0x02, 0x3C, 0x18, 0x19, 0x17
ABBREVIATIONS = table(
    (1, COMPILE_UNIT, True, []),
    (2, ENUMERATION, True, [(NAME, STRING), (SIBLING, REF4)]),
    (3, ENUMERATION, True, [(SIBLING, REF4), (NAME, STRING)]),
    (4, ENUMERATOR, False, [(NAME, STRING)]),
    (5, VARIABLE, False, [(NAME, STRING), (LOCATION, EXPRLOC)]),
    (6, VARIABLE, False, [(NAME, STRING), (LOCATION, SEC_OFFSET)]),
    (7, STRUCTURE, True, [(NAME, STRING)]),
    (8, STRUCTURE, False, [(NAME, STRING), (DECLARATION, PRESENT)]),
)
FIRST = 12
"""Where the first entry below the root is."""


def variable(address: int) -> bytes:
    return b"\5v\0\x09\x03" + struct.pack("<Q", address)


def enumeration(sibling: int, children: bytes) -> bytes:
    return b"\3" + struct.pack("<I", sibling) + b"e\0" + children + b"\0"


def test_what_is_in_an_enumeration_is_stepped_over_where_it_says_where_it_ends() -> None:
    # The enumerator has an abbreviation that there is none of.
    entry = enumeration(FIRST + 9, b"\x7f")
    info = Info(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert info.outline()[0] == [(0, FIRST + 9, 0x4000, 1)]
    assert (info.declared(0)["tag"].tolist(), info.damaged) == ([ENUMERATION, VARIABLE], 0)


@pytest.mark.parametrize("sibling", [0, 1, FIRST, FIRST + 7, 1 << 31, 0xFFFFFFFF])
def test_an_end_that_is_none_is_not_believed(sibling: int) -> None:
    entry = enumeration(sibling, b"\4a\0\4b\0")
    info = Info(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert [(place, kind) for _unit, _offset, place, kind in info.outline()[0]] == [(0x4000, 1)]


def test_an_end_behind_a_text_is_found_by_reading() -> None:
    entry = b"\2name\0" + struct.pack("<I", 0) + b"\4a\0\0"
    info = Info(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert len(info.outline()[0]) == 1


def test_variables_that_move_are_not_declared() -> None:
    info = Info(unit(ROOT + b"\6w\0" + bytes(4) + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert [row[2] for row in info.outline()[0]] == [0x4000]
    assert info.declared(0)["tag"].tolist() == [VARIABLE]


def test_definitions_are_those_of_types_that_are_not_only_declared() -> None:
    inner = b"\7in\0" + b"\0"
    info = Info(unit(ROOT + b"\7out\0" + inner + b"\0" + b"\x08d\0" + variable(0) + b"\0"), ABBREVIATIONS)
    assert [offset for _unit, offset, _kind, _name in info.definitions()] == [FIRST, FIRST + 5]
