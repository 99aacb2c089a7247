"""Enumerations and named tuples that are light to define do what those of the standard library do."""

import copy
import enum
import json
import pickle
import typing
from typing import Any

import pytest

import undwarf.light_classes as light

Numbers: Any = vars(light)["IntEnum"]
Tuples: Any = vars(light)["NamedTuple"]


class Colour(Numbers):
    """What things look like."""

    RED = 1
    """As fire."""
    GREEN = 5
    CRIMSON = 1
    _ORDER = 7

    @property
    def mixed(self) -> str:
        return f"{self.name}!"


class Real(enum.IntEnum):
    RED = 1
    GREEN = 5
    CRIMSON = 1


class Row(Tuples):
    """A place."""

    x: int
    y: int = 5
    """How high."""
    names: tuple[str, ...] = ()

    @property
    def sum(self) -> int:
        return int(self.x + self.y)


class RealRow(typing.NamedTuple):
    x: int
    y: int = 5
    names: tuple[str, ...] = ()


class Further(Row):
    """What goes on from one."""

    def __new__(cls, x: int) -> Any:
        return super().__new__(cls, x, 2 * x)


def test_members_are_numbers_with_names() -> None:
    assert (Colour.GREEN, Colour.GREEN.name, Colour.GREEN.value, Colour.GREEN + 1) == (5, "GREEN", 5, 6)
    assert Colour.CRIMSON is Colour.RED
    assert Colour.GREEN.mixed == "GREEN!"
    assert Colour._ORDER == 7
    assert isinstance(Colour.RED, Colour)
    assert not isinstance(Colour._ORDER, Colour)


@pytest.mark.parametrize("show", [str, repr, hash, json.dumps, "{}".format, "{:#x}".format, "{!r}".format])
def test_a_member_shows_as_that_of_the_standard_library(show: Any) -> None:
    assert str(show(Colour.GREEN)).replace("Colour", "Real") == str(show(Real.GREEN))


def test_members_are_found_by_number_and_by_name() -> None:
    assert Colour(5) is Colour.GREEN is Colour(Colour.GREEN) is Colour["GREEN"]
    with pytest.raises(ValueError, match="7 is not a valid Colour"):
        Colour(7)
    with pytest.raises(KeyError):
        Colour["BLUE"]
    assert list(Colour) == list(Real)
    assert len(Colour) == len(Real)
    assert list(Colour.__members__) == list(Real.__members__)
    assert max(Colour) is Colour.GREEN


def test_a_member_stays_itself_when_it_is_copied_or_pickled() -> None:
    for made in (copy.copy(Colour.RED), copy.deepcopy(Colour.RED), pickle.loads(pickle.dumps(Colour.RED))):
        assert made is Colour.RED


def test_values_of_a_tuple_are_given_by_place_by_name_and_by_default() -> None:
    one = Row(1, names=("a",))
    assert (one.x, one.y, one.names, one.sum) == (1, 5, ("a",), 6)
    assert one == (1, 5, ("a",)) == RealRow(1, names=("a",))
    assert Row._fields == Row.__match_args__ == RealRow._fields
    assert Row._field_defaults == RealRow._field_defaults
    for wrong in ((), (1, 2, (), "")):
        with pytest.raises(TypeError, match="argument"):
            Row(*wrong)
    with pytest.raises(TypeError, match=r"Row.__new__.. got an unexpected .* 'more'"):
        Row(1, more=1)
    assert not hasattr(one, "__dict__")
    with pytest.raises(AttributeError):
        one.x = 2
    assert repr(one) == repr(RealRow(1, names=("a",))).replace("RealRow", "Row")


def test_a_tuple_is_changed_copied_and_pickled_as_that_of_the_standard_library() -> None:
    one = Row(1)
    assert one._replace(y=7) == RealRow(1)._replace(y=7)
    assert type(one._replace(y=7)) is Row
    with pytest.raises(ValueError, match="unexpected field names"):
        one._replace(z=7)
    assert Row._make([1, 2, ()]) == Row(1, 2)
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        Row._make([1])
    assert one._asdict() == RealRow(1)._asdict()
    for made in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert made == one
        assert type(made) is Row


def test_the_first_tuples_are_made_as_all_others() -> None:
    class Many(Tuples):
        x: int
        y: int = 5

    assert [Many(k, y=k) if k % 2 else Many(x=k) for k in range(3 * light.FEW)] == [
        (k, k if k % 2 else 5) for k in range(3 * light.FEW)
    ]
    for made in (Many, vars(light)["_Tuples"]("New", (Tuples,), {"__annotations__": {"x": int, "y": int}})):
        for values, named in (((1,), {"x": 1}), ((1, 2, 3), {}), ((), {"y": 1}), ((1,), {"z": 1})):
            with pytest.raises(TypeError, match="argument"):
                made(*values, **named)


def test_a_class_goes_on_from_a_tuple() -> None:
    assert Further(3) == (3, 6, ())
    assert Further(3).sum == 9
    assert isinstance(Further(3), Row)
