"""Tuples with names are those of the standard library, whether few or many were made."""

import copy
import pickle
import subprocess
import sys
import typing
from typing import Any

import pytest

import undwarf.lazy_tuples as lazy
from undwarf.lazy_tuples import FEW

Base: Any = vars(lazy)["NamedTuple"]


class Place(Base):
    """Where something is."""

    file: str
    line: int = 7
    more: "tuple[int, ...]" = ()

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}"

    def below(self) -> "Place":
        return self._replace(line=self.line + 1)


class Known(typing.NamedTuple):
    """Where something is."""

    file: str
    line: int = 7
    more: "tuple[int, ...]" = ()


class Empty(Base):
    pass


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 2), {}),
    (("a", 2, (3,)), {}),
    (("a",), {"more": (1,)}),
    ((), {"line": 3, "file": "b"}),
]
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"line": 2}),
    (("a", 2, (), 4), {}),
    (("a",), {"file": "b"}),
    (("a",), {"absent": 1}),
    (("a", 1, (2,)), {"more": ()}),
]


def fresh() -> Any:
    """A class of which no object was made."""

    class Place(Base):
        file: str
        line: int = 7
        more: "tuple[int, ...]" = ()

    return Place


@pytest.mark.parametrize("made", [0, FEW - 2, FEW - 1, FEW, 3 * FEW])
@pytest.mark.parametrize(("values", "named"), ARGUMENTS)
def test_objects_are_made_of_values_names_and_defaults(
    made: int, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    cls = fresh()
    for number in range(made):
        assert cls("x", number) == ("x", number, ())
    assert cls(*values, **named) == Known(*values, **named)
    assert type(cls(*values, **named)) is cls


@pytest.mark.parametrize("made", [0, FEW, 3 * FEW])
@pytest.mark.parametrize(("values", "named"), WRONG)
def test_wrong_arguments_are_refused_as_ever(made: int, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    cls = fresh()
    for _ in range(made):
        cls("x")
    for one in (cls, Known):
        with pytest.raises(TypeError, match="argument"):
            one(*values, **named)


def test_they_are_tuples_with_names() -> None:
    one = Place("a", 2)
    file, line, more = one
    assert (file, line, more) == (one.file, one.line, one.more) == one == ("a", 2, ())
    assert isinstance(one, tuple) and len(one) == 3 and hash(one) == hash(("a", 2, ()))
    assert repr(one) == "Place(file='a', line=2, more=())"
    assert (one.shown, one.below()) == ("a:2", ("a", 3, ()))
    assert one._asdict() == {"file": "a", "line": 2, "more": ()}
    assert Place._make(["b", 1, ()]) == ("b", 1, ())
    assert (Place._fields, Place._field_defaults) == (Known._fields, Known._field_defaults)
    assert (Place.__doc__, Place.__qualname__, Place.__module__) == (Known.__doc__, "Place", __name__)
    match one:
        case Place(_, 2):
            pass
        case _:
            pytest.fail("no match")
    assert Empty() == () and repr(Empty()) == "Empty()"


def test_they_do_not_change() -> None:
    one = Place("a")
    for name in ("file", "absent"):
        with pytest.raises(AttributeError):
            setattr(one, name, 1)
    with pytest.raises(ValueError, match="unexpected field names"):
        one._replace(absent=1)
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        Place._make(["a"])


def test_they_are_copied_and_pickled() -> None:
    one = Place("a", 2, (3,))
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one and type(other) is Place


def test_no_text_is_compiled_for_a_class() -> None:
    text = """
import builtins
from undwarf.lazy_tuples import NamedTuple, FEW
seen = []
for name in ("compile", "exec", "eval"):
    setattr(builtins, name, lambda *given, was=getattr(builtins, name), **more: seen.append(1) or was(*given, **more))
class Place(NamedTuple):
    file: "str"
    more: "tuple[int, ...]" = ()
[Place("a") for _ in range(FEW - 1)]
few = len(seen)
Place("a")
print(few, len(seen))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == ("0 1\n" if sys.version_info < (3, 14) else done.stdout)
