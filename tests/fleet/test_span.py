"""Spans as texts: what backslashes mark, what two spans have in common."""

import duckdb
import pytest

from undwarf.errors import UsageError
from undwarf.fleet.span import Span, literal, parse, text_of, within

VALUES = ["a,b", "a|b", "a*", "a?b", "a\\", "\\", " a ", "a=b", "[a]", "it's", "'; DROP TABLE samples; --", "\x00", "é"]


def chosen(text: str, values: list[str]) -> list[str]:
    """The values that a span of a label chooses, as DuckDB does."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE samples (host VARCHAR)")
    connection.executemany("INSERT INTO samples VALUES (?)", [[value] for value in values])
    query = f"SELECT host FROM samples WHERE {' AND '.join(parse(text).conditions())} ORDER BY rowid"
    return [row[0] for row in connection.execute(query).fetchall()]


def quoted(value: str) -> str:
    return "".join(f"\\{one}" if one in ",|*?\\ " else one for one in value)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_with_backslashes_is_that_value_alone(value: str) -> None:
    assert chosen(f"host={quoted(value)}", VALUES) == [value]


def test_wildcards_fit_beside_characters_that_are_marked() -> None:
    values = ["a*b1", "a*b2", "axb1", "a[b1", "a\\b1"]
    assert chosen("host=a\\*b?", values) == ["a*b1", "a*b2"]
    assert chosen("host=a[b*", values) == ["a[b1"]
    assert chosen("host=a\\\\b*", values) == ["a\\b1"]
    assert chosen("host=a\\*b1|a[*", values) == ["a*b1", "a[b1"]


def test_an_event_may_have_commas_in_its_name() -> None:
    assert parse("event=cpu/mem-loads\\,ldlat=30/P,host=a").labels == (
        ("event", ("cpu/mem-loads\\,ldlat=30/P",)),
        ("host", ("a",)),
    )
    assert literal("cpu/mem-loads\\,ldlat=30/P") == "cpu/mem-loads,ldlat=30/P"
    assert literal("web-*") is None


@pytest.mark.parametrize(
    "text",
    [
        "..",
        "2026-11-28T10:00:00..",
        "..2026-11-28T10:00:00.250000",
        "2026-11-28T00:00:00..2026-11-29T00:00:00,host=a\\,b|c*",
    ],
)
def test_the_text_of_a_span_is_read_as_that_span(text: str) -> None:
    assert text_of(parse(text)) == text
    assert parse(text_of(parse(text))) == parse(text)


def test_two_dots_are_all_of_a_store() -> None:
    assert parse("..") == Span() == parse("")
    assert text_of(Span()) == ".."


def test_a_service_that_is_named_chooses_files_with_its_own_characters() -> None:
    assert parse("service=a\\*b|c").services == ("a*b", "c")
    assert parse("service=a*").services == ()


def test_what_is_in_both_spans() -> None:
    found = within(parse("2026-11-28,host=a*"), parse("2026-11-28T10:00..2026-11-30,host=ab,host=a*"))
    assert found == Span(
        parse("2026-11-28T10:00..").start, parse("2026-11-28").end, (("host", ("a*",)), ("host", ("ab",)))
    )
    with pytest.raises(UsageError, match="no time is in both spans"):
        within(parse("2026-11-28"), parse("2026-11-29"))
