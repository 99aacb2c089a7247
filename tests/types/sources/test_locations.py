"""Location expressions, beyond those that the other tests' compilers write."""

from undwarf.types.sources.location_expressions import without_doubles
from undwarf.types.sources.location_lists import LocationLists
from undwarf.types.sources.locations import FrameBase, Spot, spots
from undwarf.types.sources.type_source import PlaceKind

RSP = 7


def types_in(*expression: int) -> list[Spot]:
    base = FrameBase(RSP, 0)
    return spots(bytes(expression), address_size=8, order="little", frame_base=base, indexed=lambda _index: None)


def test_a_captured_variable_is_behind_the_closures_address() -> None:
    # DW_OP_fbreg -16, deref, plus_uconst 16
    (spot,) = types_in(0x91, 0x70, 0x06, 0x23, 0x10)
    assert (spot.kind, spot.register, spot.offset) == (PlaceKind.MEMORY, RSP, -16)
    assert (spot.indirect, spot.beyond, spot.further) == (True, 16, False)


def test_a_variable_captured_by_reference_is_an_address() -> None:
    # DW_OP_fbreg -16, deref, plus_uconst 8, deref
    (spot,) = types_in(0x91, 0x70, 0x06, 0x23, 0x08, 0x06)
    assert (spot.beyond, spot.further) == (8, True)


def test_a_value_loaded_and_added_to_has_no_location() -> None:
    # DW_OP_fbreg -16; then deref, plus_uconst 8, stack_value
    assert types_in(0x91, 0x70)
    assert types_in(0x91, 0x70, 0x06, 0x23, 0x08, 0x9F) == []


def test_a_thread_local_variable_is_at_an_offset_of_its_block() -> None:
    # DW_OP_const8u 24, DW_OP_GNU_push_tls_address
    (spot,) = types_in(0x0E, 24, 0, 0, 0, 0, 0, 0, 0, 0xE0)
    assert (spot.kind, spot.offset, spot.indirect) == (PlaceKind.THREAD, 24, False)


def test_constants_keep_their_sign() -> None:
    # DW_OP_const1s -2, DW_OP_const1u 254, DW_OP_const8s -1: what they add to DW_OP_breg7 +0
    found = [types_in(0x77, 0x00, *constant, 0x22) for constant in ((0x09, 0xFE), (0x08, 0xFE), (0x0F, *([0xFF] * 8)))]
    assert [[spot.offset for spot in one] for one in found] == [[-2], [254], [-1]]


def test_a_list_gives_ranges_from_its_base_and_stops_where_it_ends() -> None:
    # DW_LLE_offset_pair, DW_LLE_base_address, DW_LLE_start_length, DW_LLE_startx_length
    data = b"\4\x10\x20\1\x50\6" + (0x2000).to_bytes(8, "little") + b"\4\x00\x08\2\x91\x68"
    data += b"\x08" + (0x3000).to_bytes(8, "little") + b"\x04\1\x51\3\1\x10\1\x52\0\4\x10\x20\1\x53"
    lists = LocationLists(
        data,
        version=5,
        base=0x1000,
        address_size=8,
        order="little",
        addresses=bytes(8) + (0x4000).to_bytes(8, "little"),
    )
    assert lists.at_offset(0) == [
        (0x1010, 0x1020, b"\x50"),
        (0x2000, 0x2008, b"\x91\x68"),
        (0x3000, 0x3004, b"\x51"),
        (0x4000, 0x4010, b"\x52"),
    ]
    assert lists.at_offset(len(data)) == [] == lists.at_offset(1 << 63)


def test_two_pieces_in_one_register_are_refused() -> None:
    pointer, index = Spot(PlaceKind.REGISTER, 15, 0, 0, 8), Spot(PlaceKind.REGISTER, 15, 0, 16, 8)
    end = Spot(PlaceKind.VALUE, 12, 0, 8, 8)
    assert without_doubles([pointer, end, index]) == [end]
    assert without_doubles([pointer, end]) == [pointer, end]


def test_a_location_list_is_read_inside_its_section_only() -> None:
    # Two numbers at 8, which count from there; a list at 16.
    data = bytes(8) + (8).to_bytes(4, "little") + (1 << 31).to_bytes(4, "little") + b"\4\x10\x20\1\x50\0"
    lists = LocationLists(data, version=5, base=0x1000, address_size=8, order="little", table=8, width=4)
    assert lists.at_offset(lists.offset_of(0)) == [(0x1010, 0x1020, b"\x50")]
    assert [lists.offset_of(index) for index in (1, 3, 1 << 62, (1 << 64) - 1)] == [-1] * 4
    assert LocationLists(data, version=5, base=0, address_size=8, order="little", table=1 << 63).offset_of(0) == -1
    # DW_LLE_startx_length: no such address
    lists = LocationLists(b"\3\2\x10\1\x50\0", version=5, base=0, address_size=8, order="little", addresses=bytes(23))
    assert lists.at_offset(0) == [(0, 0x10, b"\x50")]
