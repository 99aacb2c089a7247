"""Enumerations that are cheap to define are those of the standard library, as far as we use them."""

import copy
import enum
import json
import pickle
import sys
from typing import Any

import pytest

import undwarf.lazy_enums as lazy

Base: Any = vars(lazy)["IntEnum"]
Bits: Any = vars(lazy)["IntFlag"]


class Colour(Base):
    """What is seen."""

    RED = 1
    GREEN = 2
    LIME = 2
    """The same."""
    BLUE = 1 << 4

    @property
    def is_warm(self) -> bool:
        return self is Colour.RED


class Known(enum.IntEnum):
    """What is seen."""

    RED = 1
    GREEN = 2
    LIME = 2
    BLUE = 1 << 4


class Mode(Bits):
    READ = 1
    WRITE = 2


def test_members_are_numbers_with_names() -> None:
    for one, known in zip(Colour, Known, strict=True):
        assert (one.name, one.value, int(one), hash(one)) == (known.name, known.value, int(known), hash(known))
        assert (str(one), f"{one}", f"{one:04d}", json.dumps({one: one})) == (
            str(known), f"{known}", f"{known:04d}", json.dumps({known: known}),
        )  # fmt: skip
        assert repr(one) == repr(known).replace("Known", "Colour")
        assert type(one) is Colour and isinstance(one, int) and type(one.value) is int
    assert Colour.RED == 1 and Colour.RED < Colour.BLUE and Colour.GREEN + 1 == 3
    assert Colour.RED.is_warm and not Colour.BLUE.is_warm


def test_members_are_found_by_name_and_number() -> None:
    assert Colour(16) is Colour.BLUE is Colour["BLUE"] is Colour(Colour.BLUE)
    assert Colour.LIME is Colour.GREEN and len(Colour) == 3
    assert list(Colour.__members__) == list(Known.__members__)
    assert 2 in Colour and Colour.RED in Colour and 3 not in Colour
    for wrong in (3, "RED", None, []):
        with pytest.raises(ValueError, match="is not a valid Colour"):
            Colour(wrong)
    with pytest.raises(KeyError):
        Colour["PINK"]
    assert (Colour.__doc__, Colour.__qualname__, Colour.__module__) == ("What is seen.", "Colour", __name__)


def test_there_is_one_of_each() -> None:
    for one in (copy.copy(Colour.RED), copy.deepcopy(Colour.RED), pickle.loads(pickle.dumps(Colour.RED))):
        assert one is Colour.RED


def test_members_are_matched() -> None:
    match Colour(2):
        case Colour.GREEN:
            pass
        case _:
            pytest.fail("no match")


def test_bits_are_put_together_as_numbers() -> None:
    assert Mode.READ | Mode.WRITE == 3 and bool(3 & Mode.WRITE) and [one.name for one in Mode if 2 & one] == ["WRITE"]


def test_ours_are_defined_without_the_standard_library() -> None:
    from undwarf.unwind.stop import StopReason

    assert not isinstance(StopReason, enum.EnumType)
    assert type(StopReason.ROOT) is StopReason and sys.getsizeof(StopReason.ROOT) > 0
