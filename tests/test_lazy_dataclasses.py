"""Dataclasses that make their methods late are those of the standard library."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

import undwarf.lazy_dataclasses as lazy
from undwarf.lazy_dataclasses import FEW

decorate: Any = vars(lazy)["dataclass"]


@decorate(slots=True)
class Point:
    """A place."""

    x: int
    y: int = 5
    """How high."""
    seen: "list[int]" = dataclasses.field(default_factory=list)
    note: str = dataclasses.field(default="", repr=False, compare=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@decorate(slots=True, frozen=True)
class Fixed:
    name: str
    size: int = 3


@decorate(slots=True, repr=False, eq=False)
class Plain:
    value: int = 0


@decorate(slots=True)
class Shown:
    value: int = dataclasses.field(repr=False)

    def __repr__(self) -> str:
        return "shown"


def test_values_are_given_by_place_by_name_and_by_default() -> None:
    one = Point(1, note="here")
    assert (one.x, one.y, one.seen, one.note, one.sum) == (1, 5, [], "here", 6)
    assert one.seen is not Point(1).seen
    assert Point(1, seen=[2]).seen == [2]
    for wrong in ((), (1, 2, [], "", 5)):
        with pytest.raises(TypeError, match="argument"):
            Point(*wrong)
    with pytest.raises(TypeError, match=r"Fixed.__init__.. got an unexpected .* 'more'"):
        Fixed("a", size=3, more=1)
    assert not hasattr(one, "__dict__")
    with pytest.raises(AttributeError):
        one.z = 3


def test_the_class_is_what_it_was() -> None:
    assert (Point.__doc__, Point.__qualname__, Point.__module__) == ("A place.", "Point", __name__)
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "seen", "note"]
    assert dataclasses.is_dataclass(Fixed)
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_equal_is_what_has_equal_values_and_the_same_class() -> None:
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert Fixed("a") == Fixed("a", 3) != Point(1)
    assert len({Fixed("a"), Fixed("a"), Fixed("b")}) == 2
    assert Plain(1) != Plain(1)
    assert len({Plain(1), Plain(1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


def test_what_objects_show() -> None:
    assert repr(Point(1, 2, [3], "no")) == "Point(x=1, y=2, seen=[3])"
    assert repr(Fixed("a")) == "Fixed(name='a', size=3)"
    assert repr(Shown(1)) == "shown"
    assert repr(Plain()).startswith("<")


def test_what_is_fixed_cannot_be_changed() -> None:
    one = Fixed("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        one.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        del one.name


@pytest.mark.parametrize("one", [Point(1, 2, [3], "a"), Fixed("a", 2)])
def test_objects_are_copied(one: Any) -> None:
    assert copy.copy(one) == pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one) == one
    assert dataclasses.asdict(one).keys() == {field.name for field in dataclasses.fields(one)}


def test_a_class_below_one() -> None:
    class Below(Point):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(7)

    assert (Below().x, Below().y) == (7, 5)


@pytest.mark.parametrize("frozen", [False, True])
def test_the_first_objects_are_made_as_all_others(frozen: bool) -> None:
    def made() -> Any:
        @decorate(slots=True, frozen=frozen)
        class Many:
            x: int
            y: int = 5
            seen: "list[int]" = dataclasses.field(default_factory=list)
            note: str = dataclasses.field(default="-", repr=False)
            last: int = dataclasses.field(default=0, compare=False)

        return Many

    several = made()
    found = [several(k, y=k) if k % 2 else several(x=k) for k in range(3 * FEW)]
    assert [(one.x, one.y, one.seen, one.note, one.last) for one in found] == [
        (k, k if k % 2 else 5, [], "-", 0) for k in range(3 * FEW)
    ]
    assert len({id(one.seen) for one in found}) == len(found)
    for kind in (several, made()):
        for values, named in (((1,), {"x": 1}), ((1, 2, [], "", 0, 0), {}), ((), {"y": 1}), ((1,), {"z": 1})):
            with pytest.raises(TypeError, match="argument"):
                kind(*values, **named)
