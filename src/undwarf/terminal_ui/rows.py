"""What a list on the screen shows: rows with cells, which are made when they are in sight."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rich.text import Text

from undwarf.terminal_ui.search import Search


class Function(NamedTuple):
    """A function that a row is about."""

    name: str
    dso: str


class Column(NamedTuple):
    """A column: its title, its width (0: what is left), what it shows of an item in a number of columns of the screen,
    whether that is at the right, the key it sorts by, and whether it has the lines of a tree."""

    title: str
    width: int
    cell: Callable[[Any, int], Text]
    right: bool = False
    sort: str = ""
    tree: bool = False


class Rows(Protocol):
    """Rows on the screen."""

    def __len__(self) -> int: ...

    def columns(self, width: int) -> list[Column]:
        """The columns for a screen of this width."""

    def cells(self, row: int, columns: Sequence[Column], widths: Sequence[int]) -> list[Text]:
        """The cells of a row in columns of these widths."""

    def item(self, row: int) -> Any:
        """What a row is about."""

    def function(self, row: int) -> Function | None:
        """The function that a row is about."""

    def detail(self, row: int) -> str:
        """All that there is to say of a row, on one line."""

    def search(self, search: Search | None) -> int:
        """Search from now on; how many rows match."""

    def next_match(self, row: int, step: int) -> int | None:
        """The next matching row after (``step`` 1) or before (-1) a row, from the other end if there is none."""

    def match_number(self, row: int) -> int:
        """Of a matching row, its number among them, from 1; else 0."""

    def fold(self, row: int, unfold: bool | None = None) -> int:
        """Fold or unfold a row (None: whichever it is not); the row that is then current."""

    def has_fold(self, row: int) -> bool | None:
        """Whether a row is unfolded; None if there is nothing to unfold."""

    @property
    def sorted_by(self) -> str:
        """The key of the column that the rows are sorted by; empty if they have an order of their own."""

    def sort(self, key: str) -> None:
        """Sort by a column."""


Item = TypeVar("Item")


class Table(Generic[Item]):
    """Rows of equal rank, sorted by one of their columns.

    ``detail`` gives all that there is to say of an item, ``searched`` its text for the search, ``orders`` the key of
    each order; items of equal key stay in their order.
    """

    def __init__(
        self,
        items: Sequence[Item],
        columns: Callable[[int], list[Column]],
        detail: Callable[[Item], str],
        searched: Callable[[Item], str],
        function: Callable[[Item], Function | None] = lambda _item: None,
        orders: "dict[str, Callable[[Item], object]] | None" = None,
        sorted_by: str = "",
    ) -> None:
        self.items = list(items)
        self._columns, self._detail, self._searched = columns, detail, searched
        self._function = function
        self._orders = orders or {}
        self._sorted_by = ""
        self._search: Search | None = None
        self._matches: list[int] = []
        if sorted_by:
            self.sort(sorted_by)

    def __len__(self) -> int:
        return len(self.items)

    def columns(self, width: int) -> list[Column]:
        """The columns for a screen of this width."""
        return self._columns(width)

    def cells(self, row: int, columns: Sequence[Column], widths: Sequence[int]) -> list[Text]:
        """The cells of a row."""
        item = self.items[row]
        return [column.cell(item, width) for column, width in zip(columns, widths, strict=True)]

    def item(self, row: int) -> Item:
        """What a row is about."""
        return self.items[row]

    def function(self, row: int) -> Function | None:
        """The function that a row is about."""
        return self._function(self.items[row])

    def detail(self, row: int) -> str:
        """All that there is to say of a row."""
        return self._detail(self.items[row])

    def search(self, search: Search | None) -> int:
        """Search from now on; how many rows match."""
        self._search = search
        found = enumerate(self.items) if search is not None else ()
        self._matches = [row for row, item in found if search is not None and search(self._searched(item))]
        return len(self._matches)

    def next_match(self, row: int, step: int) -> int | None:
        """The next or previous matching row."""
        if not self._matches:
            return None
        at = bisect_right(self._matches, row) if step > 0 else bisect_left(self._matches, row) - 1
        return self._matches[at % len(self._matches)]

    def match_number(self, row: int) -> int:
        """The number of a matching row."""
        at = bisect_left(self._matches, row)
        return at + 1 if at < len(self._matches) and self._matches[at] == row else 0

    def fold(self, row: int, unfold: bool | None = None) -> int:
        """There is nothing to unfold."""
        return row

    def has_fold(self, row: int) -> bool | None:
        """There is nothing to unfold."""
        return None

    @property
    def sorted_by(self) -> str:
        """The column that rows are sorted by."""
        return self._sorted_by

    def sort(self, key: str) -> None:
        """Sort by a column."""
        if key in self._orders:
            self._sorted_by = key
            order = self._orders[key]
            self.items.sort(key=order)  # type: ignore[arg-type]  # numbers, or tuples of them
            self.search(self._search)
