"""Conditions of a gate."""

import random

import pytest
from tests.support.simulated import Program, simulate

from undwarf.errors import UsageError
from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.conditions import Condition, evaluate, parse
from undwarf.views.comparison.model import Comparison, Recorded

SHARES = (0.5, 0.3, 0.2)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("total > +2%", (None, "total", True, 2.0, False)),
        ("function:compare>5 %", ("function", "compare", True, 5.0, False)),
        ("function: std::map<int, long>::find > +5%", ("function", "std::map<int, long>::find", True, 5.0, False)),
        ("image:libz* > +1.5pp", ("image", "libz*", True, 1.5, True)),
        ("whole < -2pp", (None, "whole", False, -2.0, True)),
        ("path:main > f < -10%", ("path", "main > f", False, -10.0, False)),
    ],
)
def test_what_conditions_mean(text: str, condition: tuple[object, ...]) -> None:
    assert parse(text) == Condition(text, *condition)  # type: ignore[arg-type]  # of parameters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no condition"),
        ("total", "is no condition"),
        ("total > 2", "is no condition"),
        ("total >= 2%", "is no condition"),
        ("functoin:f > 2%", "no subject"),
        ("function: > 2%", "no subject"),
        ("total > nan%", "is no condition"),
        ("total > 2pp", "can never hold"),
    ],
)
def test_what_is_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def comparison(factor: float, runs: int = 4) -> Comparison:
    random_ = random.Random(1)
    sides = [
        [Recorded("", simulate(program, random_, 20, 200)) for _run in range(runs)]
        for program in (Program(SHARES), Program(SHARES, {0: factor}))
    ]
    return compare(*sides)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("function:f0 > +5%", "holds"),
        ("function:f* > +5%", "holds"),
        ("function:f0 > +19.9%", "does not hold"),
        ("function:f1 > +5%", "does not hold"),
        ("function:f0 < -5%", "does not hold"),
        ("function:f0 > +1pp", "holds"),
        ("function:f1 < -0.5pp", "does not hold"),
        ("total > +5%", "holds"),
        ("total > +11%", "does not hold"),
        ("function:g > +5%", "undecided"),
        ("whole < -1pp", "does not hold"),
    ],
)
def test_a_condition_holds_if_all_of_the_interval_is_beyond(text: str, state: str) -> None:
    # f0 is 20 % slower, which is 10 % of the total and 4.5 points of the share.
    (verdict,) = evaluate([parse(text)], comparison(1.2))
    assert verdict.state == state


def test_faster_is_below() -> None:
    (verdict,) = evaluate([parse("function:f0 < -5%")], comparison(0.8))
    assert verdict.state == "holds"
    assert [row.name for _event, row in verdict.rows] == ["f0"]


def test_the_total_of_one_recording_a_side_is_undecided() -> None:
    (verdict,) = evaluate([parse("total > +5%")], comparison(1.5, 1))
    assert (verdict.state, verdict.why) == ("undecided", "one recording a side does not say how far it varies")
