"""The table of a query's result."""

import io
from typing import Any

import pytest

from undwarf.outputs.query import TableOptions, write, write_json
from undwarf.views.sql.database import Result


def text(rows: list[tuple[Any, ...]], kinds: list[str], width: int | None = None, colour: bool = False) -> list[str]:
    sink = io.BytesIO()
    names = [f"c{number}" for number in range(len(kinds))]
    write(Result(names, kinds, iter(rows)), sink, TableOptions(colour, width))
    return sink.getvalue().decode().splitlines()


def test_numbers_are_on_the_right_and_null_is_empty() -> None:
    rows = [("a", 1, None), ("long", 200, 1.5)]
    assert text(rows, ["VARCHAR", "BIGINT", "DOUBLE"]) == ["c0     c1   c2", "a       1", "long  200  1.5"]


def test_a_table_without_rows_has_its_head() -> None:
    assert text([], ["VARCHAR", "BIGINT"]) == ["c0  c1"]


def test_the_widest_texts_are_cut_on_a_terminal() -> None:
    rows = [("f" * 50, "short", 123456789)]
    assert text(rows, ["VARCHAR", "VARCHAR", "BIGINT"], 40) == [
        "c0" + " " * 22 + "c1            c2",
        "f" * 21 + "…  short  123456789",
    ]


def test_colour_only_adds_to_the_head() -> None:
    assert text([("a",)], ["VARCHAR"], colour=True) == ["\x1b[1mc0\x1b[0m", "a"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        ("a\nb", '"a\\nb"'),
        (None, "null"),
        (float("nan"), "null"),
        (12345678901234567890123, "12345678901234567890123"),
    ],
)
def test_values_as_json(value: object, expected: str) -> None:
    sink = io.BytesIO()
    write_json(Result(["a"], ["VARCHAR"], iter([(value,)])), sink)
    assert sink.getvalue().decode() == f'[\n{{"a": {expected}}}\n]\n'
