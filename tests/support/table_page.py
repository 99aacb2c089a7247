"""docs/reference/tables.md: the tables and their columns, as their descriptions have them."""

from undwarf.arrow.table import TableDescription
from undwarf.profile.table_descriptions import TABLES
from undwarf.views.sql.macros import MACROS

HEAD = """# Tables

A profile's columns as tables: `profile.samples`, `profile.stacks` ... for pandas, polars, pyarrow and DuckDB, and
`FROM samples` in `undwarf query` (which adds a column `recording`). [Worked questions](../how-to/queries.md).
Written from `src/undwarf/profile/table_descriptions.py` by `pytest --refresh tests/arrow/test_pages.py`.

Integers have the types of Arrow; a *name* is text, stored once and referred to by number (an Arrow dictionary,
categories in pandas and polars). Times are nanoseconds of the recording's clock, addresses are unsigned. A value that
was not recorded is null. `types` and `fields` are in `recording.data_types()`.
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD, *map(_table, TABLES), "## Table functions\n\nIn `undwarf query` only.\n"]
    parts.append("\n".join(f"* `{macro.name}({macro.parameters})`: {macro.meaning}" for macro in MACROS) + "\n")
    return "\n".join(parts)


def _table(description: TableDescription) -> str:
    rows = [f"| {column.name} | {column.type} | {column.meaning} |" for column in description.columns]
    lines = [
        f"## {description.name}",
        "",
        description.meaning,
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"
