"""What units declare, found without looking at all that is in them."""

import struct

import pytest

from undwarf.dwarf.die import DebugInfo
from undwarf.dwarf.unit_index import given_names

from .test_hostile import COMPILE_UNIT, FUNCTION, NAME, REF4, ROOT, STRING, UNIT, function, table, unit

BASE_TYPE, BYTE_SIZE, MEMBER, MEMBER_AT, BIT_SIZE, LEXICAL_BLOCK = 0x24, 0x0B, 0x0D, 0x38, 0x0D, 0x0B
ENUMERATION, ENUMERATOR, VARIABLE, STRUCTURE, TYPEDEF, TYPE, SUBPROGRAM = 0x04, 0x28, 0x34, 0x13, 0x16, 0x49, 0x2E
SIBLING, LANGUAGE, DATA1, LOCATION, DECLARATION, EXPRLOC, PRESENT, SEC_OFFSET = (
    0x01,
    0x13,
    0x0B,
    0x02,
    0x3C,
    0x18,
    0x19,
    0x17,
)
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
STRP = 0x0E
FIRST = 12
"""Where the first entry below the root is."""


def variable(address: int) -> bytes:
    return b"\5v\0\x09\x03" + struct.pack("<Q", address)


def enumeration(sibling: int, children: bytes) -> bytes:
    return b"\3" + struct.pack("<I", sibling) + b"e\0" + children + b"\0"


def test_children_of_an_enumeration_are_skipped_by_its_sibling() -> None:
    # The enumerator has an abbreviation that there is none of.
    entry = enumeration(FIRST + 9, b"\x7f")
    info = DebugInfo(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert info.index.outline()[0] == [(0, FIRST + 9, 0x4000, 1)]
    assert (info.index.declared(0)["tag"].tolist(), info.damaged) == ([ENUMERATION, VARIABLE], 0)


@pytest.mark.parametrize("sibling", [0, 1, FIRST, FIRST + 7, 1 << 31, 0xFFFFFFFF])
def test_an_end_that_is_none_is_not_believed(sibling: int) -> None:
    entry = enumeration(sibling, b"\4a\0\4b\0")
    info = DebugInfo(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert [(place, kind) for _unit, _offset, place, kind in info.index.outline()[0]] == [(0x4000, 1)]


@pytest.mark.parametrize(("language", "told"), [(0x01, 1), (0x1D, 1), (0x2C, 1), (0x04, 2), (0x21, 2), (0x1C, 2)])
def test_what_is_in_a_structure_is_stepped_over_in_c_only(language: int, told: int) -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, [(LANGUAGE, DATA1)]),
        (2, STRUCTURE, True, [(SIBLING, REF4), (NAME, STRING)]),
        (5, VARIABLE, False, [(NAME, STRING), (LOCATION, EXPRLOC)]),
    )
    inside = variable(0x5000)
    first = FIRST + 1
    entry = b"\2" + struct.pack("<I", first + 7 + len(inside) + 1) + b"s\0" + inside + b"\0"
    info = DebugInfo(unit(ROOT + bytes([language]) + entry + variable(0x4000) + b"\0"), abbreviations)
    assert [row[2] for row in info.index.outline()[0]] == [0x5000, 0x4000][-told:]
    assert [row[1] for row in info.index.definitions()] == [first]
    assert info.damaged == 0


def test_an_end_behind_a_text_is_found_by_reading() -> None:
    entry = b"\2name\0" + struct.pack("<I", 0) + b"\4a\0\0"
    info = DebugInfo(unit(ROOT + entry + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert len(info.index.outline()[0]) == 1


def test_variables_that_move_are_not_declared() -> None:
    info = DebugInfo(unit(ROOT + b"\6w\0" + bytes(4) + variable(0x4000) + b"\0"), ABBREVIATIONS)
    assert [row[2] for row in info.index.outline()[0]] == [0x4000]
    assert info.index.declared(0)["tag"].tolist() == [VARIABLE]


def test_definitions_are_those_of_types_that_are_not_only_declared() -> None:
    inner = b"\7in\0" + b"\0"
    info = DebugInfo(unit(ROOT + b"\7out\0" + inner + b"\0" + b"\x08d\0" + variable(0) + b"\0"), ABBREVIATIONS)
    assert [offset for _unit, offset, _kind, _name in info.index.definitions()] == [FIRST, FIRST + 5]


@pytest.mark.parametrize(("language", "told"), [(0x1D, 1), (0x21, 2)])
@pytest.mark.parametrize("shift", [0, -40, 1 << 20])
def test_in_c_what_is_defined_in_a_function_is_not_what_others_declare(language: int, told: int, shift: int) -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, [(LANGUAGE, DATA1)]),
        (2, SUBPROGRAM, True, [(NAME, STRING), (SIBLING, REF4)]),
        (7, STRUCTURE, True, [(NAME, STRING)]),
    )
    inside, outside = b"\7s\0\0", b"\7s\0\0"
    first = FIRST + 1
    behind = first + 7 + len(inside) + 1
    # An end that is none is not believed.
    entry = b"\2f\0" + struct.pack("<I", (behind + shift) & 0xFFFFFFFF) + inside + b"\0"
    info = DebugInfo(unit(ROOT + bytes([language]) + entry + outside + b"\0"), abbreviations)
    assert [row[1] for row in info.index.definitions()] == [first + 7, behind][-told:]
    assert info.index.declared(0)["die"].tolist()[:2] == [first, first + 7]


def test_a_type_without_a_name_goes_by_the_first_typedef_beside_it() -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (2, STRUCTURE, False, []),
        (3, TYPEDEF, False, [(NAME, STRING), (TYPE, REF4)]),
        (4, STRUCTURE, True, [(NAME, STRING)]),
    )
    typedef = [b"\3" + name + b"\0" + struct.pack("<I", FIRST) for name in (b"in", b"one", b"two")]
    inside = b"\4s\0" + typedef[0] + b"\0"
    info = DebugInfo(unit(ROOT + b"\2" + inside + typedef[1] + typedef[2] + b"\0"), abbreviations)
    # In place: behind the code of the second typedef.
    assert given_names(info.index.declared(0)) == {FIRST: (6, FIRST + 1 + len(inside) + 1)}


@pytest.mark.parametrize("starts", [(0x1000, 0x2000), (0x2000, 0x1000), (0x1000, 0x1000)])
def test_functions_are_in_the_order_of_their_addresses(starts: tuple[int, int]) -> None:
    entries = b"".join(function(b"f", start, size) for start, size in zip(starts, (32, 16), strict=True))
    info = DebugInfo(unit(ROOT + entries + b"\0"), table(UNIT, FUNCTION))
    found = list(zip(*info.functions.by_address(0), strict=True))
    assert [row[:2] for row in found] == sorted(
        zip(starts, (s + n for s, n in zip(starts, (32, 16), strict=True)), strict=True)
    )
    assert sorted(row[2] for row in found) == [FIRST, FIRST + len(entries) // 2]


def test_entries_with_codes_of_two_bytes_are_stepped_over_as_others_are() -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (5, VARIABLE, False, [(NAME, STRING), (LOCATION, EXPRLOC)]),
        (127, BASE_TYPE, False, [(BYTE_SIZE, DATA1)]),
        (128, BASE_TYPE, False, [(BYTE_SIZE, DATA1)]),
        (200, BASE_TYPE, False, [(NAME, STRING)]),
    )
    others = b"\x7f\5" + b"\x80\1\5" + b"\xc8\1five\0"
    info = DebugInfo(unit(ROOT + others + variable(0x4000) + b"\0"), abbreviations)
    assert info.index.outline()[0] == [(0, FIRST + len(others), 0x4000, 1)]
    assert info.damaged == 0


@pytest.mark.parametrize(
    ("cut", "damaged"),
    # In a code, a number, a string; a code that there is no abbreviation of.
    [(b"\x80", 0), (b"\x80\1", 1), (b"\xc8\1fiv", 1), (b"\x81\1", 1), (b"\x80\x80\1", 1)],
)
def test_an_entry_that_the_unit_ends_in_is_the_last(cut: bytes, damaged: int) -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (5, VARIABLE, False, [(NAME, STRING), (LOCATION, EXPRLOC)]),
        (128, BASE_TYPE, False, [(BYTE_SIZE, DATA1)]),
        (200, BASE_TYPE, False, [(NAME, STRING)]),
    )
    # What follows is of the next unit.
    info = DebugInfo(
        unit(ROOT + variable(0x4000) + b"\x80\1\5" + cut) + unit(ROOT + variable(0x5000) + b"\0"), abbreviations
    )
    assert [row[2] for row in info.index.outline()[0]] == [0x4000, 0x5000]
    assert info.damaged == damaged


def test_members_that_every_object_has_are_told_at_once() -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (2, STRUCTURE, True, [(NAME, STRING)]),
        (3, MEMBER, False, [(NAME, STRING), (TYPE, REF4), (MEMBER_AT, DATA1)]),
        (4, MEMBER, False, [(NAME, STRING), (TYPE, REF4), (MEMBER_AT, DATA1), (BIT_SIZE, DATA1)]),
        (5, MEMBER, False, [(NAME, STRING), (TYPE, REF4), (DECLARATION, PRESENT)]),
        (6, MEMBER, False, [(TYPE, REF4)]),
        (7, BASE_TYPE, False, [(BYTE_SIZE, DATA1)]),
    )
    number = struct.pack("<I", FIRST)
    members = b"\3a\0" + number + b"\x08" + b"\4b\0" + number + b"\x0c\3" + b"\5c\0" + number + b"\6" + number
    info = DebugInfo(unit(ROOT + b"\7\4" + b"\2s\0" + members + b"\0\0"), abbreviations)
    entry = info.entry(0, FIRST + 2)
    assert entry is not None
    wanted = bytes(MEMBER) + b"\1" + bytes(255 - MEMBER)
    a, b, c, nameless = info.members(0, entry.end, wanted, 10)
    assert (a, nameless) == (("a", 8, 4, FIRST), ("", 0, 4, FIRST))
    assert [(one.string(NAME), one.size_of_type()) for one in (b, c)] == [("b", 4), ("c", 4)]


@pytest.mark.parametrize("blocks", [1, 3, 1021, 1022, 1023, 2000])
def test_variables_in_lexical_blocks_belong_to_the_function(blocks: int) -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (2, SUBPROGRAM, True, [(NAME, STRING)]),
        (3, LEXICAL_BLOCK, True, []),
        (5, VARIABLE, False, [(NAME, STRING), (LOCATION, EXPRLOC)]),
        (8, STRUCTURE, True, [(NAME, STRING)]),
    )
    inner = b"\3" * blocks + variable(0x5000) + b"\0" * blocks
    entries = b"\2f\0" + inner + b"\x08s\0\0" + b"\0" + b"\x08t\0\0" + variable(0x4000)
    info = DebugInfo(unit(ROOT + entries + b"\0"), abbreviations)
    deep = blocks + 2 > 1024
    rows = info.index.declared(0)
    inside, nowhere = 0xFFFFFFFE, 0xFFFFFFFF
    assert rows["parent"].tolist() == ([nowhere] if deep else [nowhere, inside, inside, nowhere, nowhere])
    assert [row[2] for row in info.index.outline()[0]] == ([] if deep else [0x5000, 0x4000])
    assert info.damaged == (2 if deep else 0)


def test_functions_and_declarations_of_one_name_are_outlined_once() -> None:
    abbreviations = table(
        (1, COMPILE_UNIT, True, []),
        (2, SUBPROGRAM, False, [(NAME, STRP)]),
        (3, VARIABLE, False, [(NAME, STRP), (DECLARATION, PRESENT)]),
    )
    names = list(range(0, 12_000, 4))
    entries = b"".join(bytes([code]) + struct.pack("<I", name) for name in names * 2 for code in (2, 3))
    variables, functions, declarations = DebugInfo(unit(ROOT + entries + b"\0"), abbreviations).index.outline()
    assert (variables, [row[3] for row in functions]) == ([], names)
    assert [row[3] for row in declarations] == names
