"""Tables: named and described columns of one length, which Arrow consumers take, and arrays for their columns."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple

from undwarf.arrow.as_table import AsTable
from undwarf.arrow.bitmaps import between, cleared, set_entries
from undwarf.arrow.stream import Array, Field
from undwarf.column import Typecode, zeros

ColumnType = Literal["uint8", "int32", "uint32", "int64", "uint64", "bool", "name"]
FORMATS: dict[ColumnType, str] = {
    "uint8": "C",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "bool": "b",
    "name": "i",
}
"""Format strings of the Arrow C data interface. Names are texts, stored once each: a dictionary, with signed indices of
32 bits, since pandas takes no unsigned ones."""
TEXT = "U"
"""Texts with offsets of 64 bits."""
_CODES: dict[ColumnType, Typecode] = {
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "name": "I",
}


class ColumnDescription(NamedTuple):
    """A column; ``meaning`` with its unit, and when it is null. ``numbers``: the table whose rows its values number."""

    name: str
    type: ColumnType
    meaning: str
    numbers: str = ""


class TableDescription(NamedTuple):
    """A table; ``meaning`` describes a row."""

    name: str
    meaning: str
    columns: tuple[ColumnDescription, ...]


def integers(column: memoryview, first: int = 0, last: int = (1 << 64) - 1) -> Array:
    """A column of integers; those not from ``first`` to ``last``, as unsigned integers of its size, are null."""
    limit = (1 << 8 * column.itemsize) - 1
    if first <= 0 and last >= limit:
        return Array(len(column), (None, column))
    valid, nulls = between(column, first, min(last, limit))
    return Array(len(column), (valid if nulls else None, column), nulls)


def missing(kind: ColumnType, count: int) -> Array:
    """A column of nulls."""
    nothing = zeros("B", (count + 7) // 8)
    if kind == "bool":
        return Array(count, (nothing, nothing), count)
    # DuckDB 1.5 reads beyond a dictionary without entries.
    dictionary = texts(("",)) if kind == "name" else None
    return Array(count, (nothing, zeros(_CODES[kind], count)), count, dictionary)


def booleans(bitmap: memoryview, count: int, valid: memoryview | None = None) -> Array:
    """A column of a bitmap; ``valid``: the bitmap of entries that are not null."""
    nulls = count - int.from_bytes(valid, "little").bit_count() if valid is not None else 0
    return Array(count, (valid if nulls else None, bitmap), nulls)


def dictionary(indices: memoryview, names: Sequence[str]) -> Array:
    """A column of names by indices (I) of distinct names; indices beyond them are null."""
    if not names:
        return missing("name", len(indices))
    valid, nulls = between(indices, 0, len(names) - 1)
    if nulls:
        # polars rejects other indices, though the format lets null have any.
        return Array(len(indices), (valid, cleared(indices, len(names) - 1)), nulls, texts(names))
    return Array(len(indices), (None, indices), 0, texts(names))


def texts(names: Sequence[str]) -> Array:
    """An array of texts."""
    encoded = [name.encode("utf-8", "backslashreplace") for name in names]
    offsets = array("q", accumulate(map(len, encoded), initial=0))
    return Array(len(encoded), (None, offsets, b"".join(encoded)))


class Table(AsTable):
    """A table; ``batches`` is called for each stream, and every batch has an array for each column of the
    description."""

    def __init__(self, description: TableDescription, batches: Callable[[], Iterator[Sequence[Array]]]) -> None:
        self.description = description
        self.batches = batches

    def as_table(self) -> "Table":
        """Itself."""
        return self

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.description.columns]

    def fields(self) -> list[Field]:
        """The columns' names and types."""
        return [
            Field(column.name, FORMATS[column.type], TEXT if column.type == "name" else "")
            for column in self.description.columns
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of integers, texts, truth values and None."""
        kinds = [column.type for column in self.description.columns]
        for batch in self.batches():
            yield from zip(*map(_values, batch, kinds), strict=True)


def _values(column: Array, kind: ColumnType) -> list[Any]:
    """The entries of an array as Python objects."""
    valid, buffer = column.buffers
    if kind == "bool":
        values: list[Any] = [bool(bit) for bit in set_entries(buffer, column.length)]
    elif column.dictionary is not None:
        _all, offsets, data = column.dictionary.buffers
        names = [data[start:end].decode() for start, end in pairwise(offsets)]
        values = [names[index] for index in buffer]
    else:
        values = buffer.tolist()
    if valid is not None:
        flags = set_entries(valid, column.length)
        values = [value if flag else None for value, flag in zip(values, flags, strict=True)]
    return values
