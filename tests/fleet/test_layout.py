"""The page on the layout says what the files have."""

import re
from pathlib import Path

import pytest

from undwarf.fleet.layout import TABLES, schema

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "fleet-layout.md").read_text(encoding="utf-8")


def described(table: str) -> list[str]:
    """The columns that the page has of a table."""
    part = PAGE.split(f"### `{table}`")[1].split("\n#")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", part, re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(rows)) or re.findall(r"`(\w+)`", part.partition("Columns")[2])


@pytest.mark.parametrize("table", TABLES)
def test_the_page_describes_all_columns(table: str) -> None:
    assert sorted(described(table)) == sorted(schema(table).names)
