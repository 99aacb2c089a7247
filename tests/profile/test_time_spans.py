"""Spans of time as people write them."""

import pytest

from undwarf.profile.time_spans import parse_spans, resolve

FIRST, LAST = 2000 * 10**9, 2010 * 10**9


def seconds(text: str) -> list[tuple[float, float]]:
    """A text's spans in seconds, of a recording from 2000 to 2010 s."""
    return [(start / 1e9, end / 1e9) for start, end in resolve(parse_spans(text), FIRST, LAST)]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2003,2004.5", (2003, 2004.5)),
        ("2003,", (2003, 2010)),
        (",2003", (2000, 2003)),
        ("0,0.1", (2000, 2000.1)),
        ("5,", (2005, 2010)),
        (",5", (2000, 2005)),
        ("1,2003", (2001, 2003)),
        ("+2003,", (4003, 4003)),
        ("+1,+2", (2001, 2002)),
        (".5,1.", (2000.5, 2001)),
    ],
)
def test_seconds_by_the_clock_or_from_the_start(text: str, span: tuple[float, float]) -> None:
    assert seconds(text) == [pytest.approx(span, abs=1e-9)]


@pytest.mark.parametrize(
    ("text", "span"),
    [("10%-20%", (2001, 2002)), ("10%/2", (2001, 2002)), ("25%", (2000, 2002.5)), ("90%-100%", (2009, 2010))],
)
def test_parts_in_percent(text: str, span: tuple[float, float]) -> None:
    assert seconds(text) == [pytest.approx(span, abs=1e-6)]


def test_parts_that_meet_have_no_moment_in_common() -> None:
    (_start, end), (start, _end) = resolve(parse_spans("10%/2,10%/3"), FIRST, LAST)
    assert start == end + 1


def test_several_spans() -> None:
    assert seconds("0,1 2004,2005 50%-60%") == [
        pytest.approx(span, abs=1e-6) for span in ((2000, 2001), (2004, 2005), (2005, 2006))
    ]


@pytest.mark.parametrize("text", ["5", "x,y", "-1,2", "10%-", "20%-10%", "10%/0", "10%/11", "1e3,", "+,", "1,2,3"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_spans(text)
