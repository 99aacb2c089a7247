"""The result of an SQL query: a table for people, JSON for programs (CSV and Parquet: undwarf.outputs.export)."""

import datetime
import decimal
import json
import math
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

from undwarf.outputs.json_lines import dump, dumps
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint, cells, fit, pad

if TYPE_CHECKING:
    from undwarf.arrow.table import TableDescription
    from undwarf.outputs.schemas.query import Tables
    from undwarf.views.sql.database import Result
    from undwarf.views.sql.macros import Macro

_MEASURED = 10_000
"""Rows that column widths are of; wider texts in later rows move what follows."""
_LEAST = 12
"""Columns of the screen that a text keeps on a narrow terminal."""
_GAP = "  "


class TableOptions(NamedTuple):
    """How a table is shown; ``width``: columns of the screen, None for any number."""

    colour: bool = False
    width: int | None = None


def write(result: "Result", sink: BinaryIO, options: TableOptions) -> None:
    """Write a line with the columns' names, then one for each row; numbers are right-aligned, null is empty."""
    rows = iter(result.rows)
    first = [list(map(_cell, row)) for row in islice(rows, _MEASURED)]
    names = list(map(printable, result.names))
    right = [_is_number(kind) for kind in result.kinds]
    widths = [max(map(cells, (name, *column))) for name, column in zip(names, _columns(first, len(names)), strict=True)]
    if options.width is not None:
        widths = _narrowed(widths, right, options.width)
    paint = Paint(options.colour)
    sink.write(_encoded(paint.bold(_line(names, widths, right, options))))
    for row in chain(first, (list(map(_cell, row)) for row in rows)):
        sink.write(_encoded(_line(row, widths, right, options)))


def _encoded(line: str) -> bytes:
    return (line + "\n").encode("utf-8", "backslashreplace")


def _columns(rows: list[list[str]], count: int) -> Iterable[tuple[str, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * count


def _line(row: list[str], widths: list[int], right: list[bool], options: TableOptions) -> str:
    texts = []
    for text, width, to_right in zip(row, widths, right, strict=True):
        if options.width is not None:
            text = fit(text, width)
        texts.append(" " * (width - cells(text)) + text if to_right else pad(text, width))
    return _GAP.join(texts).rstrip()


def _narrowed(widths: list[int], right: list[bool], width: int) -> list[int]:
    """The widths, of which the widest texts are cut until all fit, or have the least width."""
    widths = list(widths)
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while over > 0:
        texts = [number for number, to_right in enumerate(right) if not to_right and widths[number] > _LEAST]
        if not texts:
            break
        widest = max(texts, key=widths.__getitem__)
        second = max((widths[number] for number in texts if widths[number] < widths[widest]), default=_LEAST)
        cut = min(over, max(1, widths[widest] - second))
        widths[widest] -= cut
        over -= cut
    return widths


def _is_number(kind: str) -> bool:
    return kind.startswith(("DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith("INT") or kind.endswith("INTEGER")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return printable(str(value))


def write_json(result: "Result", sink: BinaryIO) -> None:
    """Write an array with an object for each row, one a line."""
    _write_rows(result, sink)
    sink.write(b"\n")


def write_document(result: "Result", recordings: Sequence[str], query: str, sink: BinaryIO) -> None:
    """Write one JSON object with the columns and the rows."""
    head: dict[str, object] = {
        "schema": "undwarf/query",
        "version": 1,
        "recordings": list(recordings),
        "query": query,
        "columns": [
            {"name": name, "type": kind, "meaning": None} for name, kind in zip(result.names, result.kinds, strict=True)
        ],
    }
    sink.write(dumps(head).removesuffix("\n}").encode() + b',\n "rows": ')
    _write_rows(result, sink)
    sink.write(b"\n}\n")


def _write_rows(result: "Result", sink: BinaryIO) -> None:
    separator = "["
    for row in result.rows:
        entry = {name: _finite(value) for name, value in zip(result.names, row, strict=True)}
        sink.write(f"{separator}\n{json.dumps(entry, default=_as_json)}".encode())
        separator = ","
    sink.write(b"[]" if separator == "[" else b"\n]")


def write_tables_json(descriptions: "Iterable[TableDescription]", macros: "Iterable[Macro]", sink: TextIO) -> None:
    """Write the tables with their columns, and the table functions, one JSON object."""
    document: Tables = {
        "schema": "undwarf/query-tables",
        "version": 1,
        "tables": [
            {
                "name": table.name,
                "meaning": table.meaning,
                "columns": [
                    {"name": column.name, "type": column.type, "meaning": column.meaning} for column in table.columns
                ],
            }
            for table in descriptions
        ],
        "functions": [
            {"name": macro.name, "parameters": macro.parameters, "meaning": macro.meaning} for macro in macros
        ],
    }
    dump(document, sink)


def _finite(value: Any) -> Any:
    """The value; None for the floating-point numbers that JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(value: Any) -> Any:
    """What JSON has for a value of SQL that it lacks."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def write_schema(descriptions: "Iterable[TableDescription]", macros: "Iterable[Macro]", sink: TextIO) -> None:
    """Write the tables with their columns, and the table functions."""
    for table in descriptions:
        _write_entry(table.name, table.meaning, sink)
        for column in table.columns:
            sink.write(f"  {column.name:<15} {column.type:<7} {column.meaning}\n")
    for macro in macros:
        _write_entry(f"{macro.name}({macro.parameters})", macro.meaning, sink)


def _write_entry(name: str, meaning: str, sink: TextIO) -> None:
    sink.write(f"{name}: {meaning}\n")
