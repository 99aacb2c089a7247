"""What location expressions say of places, beyond those that the other tests' compilers write."""

from undwarf.types.locations import FrameBase, Spot, spots
from undwarf.types.places import PlaceKind
from undwarf.types.scopes import without_doubles

RSP = 7


def told(*expression: int) -> list[Spot]:
    base = FrameBase(RSP, 0)
    return spots(bytes(expression), address_size=8, order="little", frame_base=base, indexed=lambda _index: None)


def test_a_captured_variable_is_behind_the_address_of_what_is_captured() -> None:
    # DW_OP_fbreg -16, deref, plus_uconst 16
    (spot,) = told(0x91, 0x70, 0x06, 0x23, 0x10)
    assert (spot.kind, spot.register, spot.offset) == (PlaceKind.MEMORY, RSP, -16)
    assert (spot.indirect, spot.beyond, spot.further) == (True, 16, False)


def test_of_what_is_captured_by_reference_there_is_an_address() -> None:
    # DW_OP_fbreg -16, deref, plus_uconst 8, deref
    (spot,) = told(0x91, 0x70, 0x06, 0x23, 0x08, 0x06)
    assert (spot.beyond, spot.further) == (8, True)


def test_a_value_that_is_read_and_added_to_is_nowhere() -> None:
    # DW_OP_fbreg -16, deref, plus_uconst 8, stack_value
    assert told(0x91, 0x70, 0x06, 0x23, 0x08, 0x9F) == []


def test_of_two_pieces_in_one_register_neither_is_believed() -> None:
    pointer, index = Spot(PlaceKind.REGISTER, 15, 0, 0, 8), Spot(PlaceKind.REGISTER, 15, 0, 16, 8)
    end = Spot(PlaceKind.VALUE, 12, 0, 8, 8)
    assert without_doubles([pointer, end, index]) == [end]
    assert without_doubles([pointer, end]) == [pointer, end]
