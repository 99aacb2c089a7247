"""Sequences of rows that are tables too: objects by number for Python, columns for Arrow consumers."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from undwarf.arrow.as_table import AsTable

if TYPE_CHECKING:
    from undwarf.arrow.table import Table

Row = TypeVar("Row")


class Rows(AsTable, Generic[Row]):
    """Rows that are in memory as objects; equal to a list of the same rows.

    It has what sequences have, but is not registered as one: polars would take it row by row.
    """

    def __init__(self, rows: Sequence[Row], table: "Callable[[Sequence[Row]], Table]") -> None:
        self._rows = list(rows)
        self._table = table

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __contains__(self, row: object) -> bool:
        return row in self._rows

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]  # as of lists

    def __repr__(self) -> str:
        return repr(self._rows)

    def index(self, row: Any) -> int:
        """The number of the first row that is equal."""
        return self._rows.index(row)

    def as_table(self) -> "Table":
        """The rows as columns."""
        return self._table(self._rows)
