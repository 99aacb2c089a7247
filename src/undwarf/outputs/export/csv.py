"""Tables as CSV (RFC 4180): a line with the names of the columns, then one for each row; null is an empty field."""

import csv
import io
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

from undwarf.arrow.stream import Array
from undwarf.arrow.table import Table
from undwarf.outputs.kernels.csv_text import Cells, Rows
from undwarf.outputs.kernels.text_buffer import Names
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.table_descriptions import SAMPLES
from undwarf.profile.tables import named

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables


def write(tables: "ExportTables", sink: BinaryIO, _origin: "Origin", *, table: str = SAMPLES.name) -> list[str]:
    """Write a table of the samples' profile."""
    write_table(named(tables.profile, table), sink)
    return ["types of columns, and unknown values apart from empty texts"]


def write_table(table: Table, sink: BinaryIO) -> None:
    """Write a table to an open file."""
    write_rows(table.names, (), sink)
    # Batches share dictionaries, as large as all names.
    texts: dict[int, tuple[Array, Names]] = {}
    for batch in table.batches():
        cells = []
        for column, entries in zip(table.description.columns, batch, strict=True):
            valid, values = entries.buffers
            names = None
            if (dictionary := entries.dictionary) is not None:
                if id(dictionary) not in texts:
                    texts[id(dictionary)] = dictionary, _names(dictionary)
                names = texts[id(dictionary)][1]
            cells.append(Cells(column.type, values, valid, names))
        rows = Rows(cells, batch[0].length)
        while len(piece := rows.fill()):
            sink.write(piece)


def _names(dictionary: Array) -> Names:
    """The texts of a dictionary as they are written: escaped, and quoted if need be."""
    _valid, offsets, data = dictionary.buffers
    texts = [_quoted(printable(data[start:end].decode())).encode() for start, end in pairwise(offsets)]
    return Names(b"".join(texts), array("I", accumulate(map(len, texts), initial=0)))


def _quoted(text: str) -> str:
    if '"' in text or "," in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def write_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], sink: BinaryIO) -> None:
    """Write rows; control characters in texts are escaped, truth values are ``true`` and ``false``."""
    text = io.TextIOWrapper(sink, "utf-8", "backslashreplace", newline="")
    try:
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(list(map(printable, names)))
        lines.writerows(map(_cells, rows))
    finally:
        text.detach()


def _cells(row: Sequence[Any]) -> list[Any]:
    return [
        printable(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else value
        for value in row
    ]
