"""A list on the screen. Only the rows in sight are drawn, so that any number of them scrolls alike."""

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from undwarf.terminal_ui.outline import Outline
from undwarf.terminal_ui.rows import Column, Rows
from undwarf.terminal_ui.search import Search
from undwarf.terminal_ui.texts import CURSOR, cell, highlighted, strip, style

GAP = 2
"""Blanks between columns."""
LEAST = 8
"""The least width of the column that takes what is left."""


class RowsView(ScrollView, can_focus=True):
    """Rows with a cursor, below a line of titles; ``note`` is shown while there are none."""

    DEFAULT_CSS = """
    RowsView {
        height: 1fr;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        background: ansi_default;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("pagedown,ctrl+f", "page(1)", show=False),
        Binding("home,g", "end(False)", show=False),
        Binding("end,G", "end(True)", show=False),
        Binding("right,plus", "fold(True)", show=False),
        Binding("left,minus", "fold(False)", show=False),
        Binding("space", "turn", show=False),
        Binding("enter", "open", show=False),
        Binding("n", "match(1)", show=False),
        Binding("N", "match(-1)", show=False),
        Binding("s", "sort", show=False),
    ]

    class Opened(Message):
        """A row was chosen, with Enter or two clicks."""

        def __init__(self, view: "RowsView") -> None:
            super().__init__()
            self.view = view

    class Moved(Message):
        """Another row is current, or the rows are other ones."""

        def __init__(self, view: "RowsView") -> None:
            super().__init__()
            self.view = view

    def __init__(self, *, id: str | None = None, titles: bool = True) -> None:
        super().__init__(id=id)
        self.rows: Rows | None = None
        self.cursor = 0
        self.note = ""
        self.found = 0
        """How many rows match the search."""
        self._titles = titles
        self._search: Search | None = None

    @property
    def _head(self) -> int:
        return 1 if self._titles else 0

    def show(self, rows: Rows | None, note: str = "", cursor: int = 0) -> None:
        """Show these rows, with the cursor at one of them."""
        self.rows = rows
        self.note = note
        self.found = rows.search(self._search) if rows is not None else 0
        self.cursor = cursor
        self.updated()

    def updated(self) -> None:
        """Draw anew: there are more rows, or fewer."""
        count = len(self.rows) if self.rows is not None else 0
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size = Size(self.size.width, count + self._head)
        self.refresh()
        self._in_sight()
        self.post_message(self.Moved(self))

    def on_resize(self) -> None:
        """The width of columns changes."""
        self.updated()

    def look_for(self, search: Search | None) -> None:
        """Mark what matches."""
        self._search = search
        self.found = self.rows.search(search) if self.rows is not None else 0
        self.refresh()
        self.post_message(self.Moved(self))

    @property
    def searched(self) -> Search | None:
        """What is searched for."""
        return self._search

    def move_to(self, row: int) -> None:
        """Make a row the current one."""
        count = len(self.rows) if self.rows is not None else 0
        row = max(0, min(row, count - 1))
        if row != self.cursor:
            self.cursor = row
            self.refresh()
            self.post_message(self.Moved(self))
        self._in_sight()

    def _in_sight(self) -> None:
        height = max(1, self.size.height - self._head)
        top = int(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def action_move(self, step: int) -> None:
        """One row up or down."""
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """One screen up or down."""
        self.move_to(self.cursor + step * max(1, self.size.height - self._head - 1))

    def action_end(self, last: bool) -> None:
        """The first row, or the last one."""
        self.move_to(len(self.rows) - 1 if last and self.rows is not None else 0)

    def action_fold(self, unfold: bool) -> None:
        """Unfold the row, or fold it; what is folded already goes up."""
        if self.rows is not None and len(self.rows):
            if unfold and self.rows.has_fold(self.cursor):
                self.move_to(self.cursor + 1)
                return
            self.cursor = self.rows.fold(self.cursor, unfold)
            self.updated()

    def action_turn(self) -> None:
        """Unfold or fold the row."""
        if self.rows is not None and len(self.rows) and self.rows.has_fold(self.cursor) is not None:
            self.cursor = self.rows.fold(self.cursor)
            self.updated()

    def action_open(self) -> None:
        """Choose the row; one that unfolds is unfolded or folded."""
        if self.rows is None or not len(self.rows):
            return
        if self.rows.has_fold(self.cursor) is not None:
            self.action_turn()
        else:
            self.post_message(self.Opened(self))

    def action_match(self, step: int) -> None:
        """Go to the next match, or to the previous one."""
        if self.rows is not None and self._search is not None and len(self.rows):
            row = self.rows.next_match(self.cursor, step)
            if row is not None:
                self.cursor = row
                self.updated()

    def action_sort(self) -> None:
        """Sort by the next column that rows can be sorted by."""
        keys = [column.sort for column in self._columns() if column.sort]
        if self.rows is not None and self.rows.sorted_by in keys:
            self.sort(keys[(keys.index(self.rows.sorted_by) + 1) % len(keys)])

    def sort(self, key: str) -> None:
        """Sort by a column, with the cursor at the first row."""
        if self.rows is not None:
            self.rows.sort(key)
            self.cursor = 0
            self.updated()

    def _columns(self) -> list[Column]:
        return self.rows.columns(self._width) if self.rows is not None else []

    @property
    def _width(self) -> int:
        return max(LEAST, self.scrollable_content_region.width)

    def _widths(self, columns: Sequence[Column]) -> list[int]:
        left = self._width - sum(column.width for column in columns) - GAP * max(0, len(columns) - 1)
        return [column.width or max(LEAST, left) for column in columns]

    def column_starts(self) -> list[tuple[int, int]]:
        """The first column of the screen and the width of each column."""
        starts, at = [], 0
        for width in self._widths(self._columns()):
            starts.append((at, width))
            at += width + GAP
        return starts

    def on_click(self, event: events.Click) -> None:
        """Titles sort; rows become the current one, unfold at their mark, and open with two clicks."""
        if self.rows is None or not len(self.rows):
            return
        if self._titles and event.y == 0:
            for column, (start, width) in zip(self._columns(), self.column_starts(), strict=True):
                if start <= event.x < start + width + GAP and column.sort:
                    self.sort(column.sort)
            return
        row = event.y - self._head + int(self.scroll_offset.y)
        if row >= len(self.rows):
            return
        self.move_to(row)
        rows = self.rows
        if isinstance(rows, Outline):
            places = zip(self._columns(), self.column_starts(), strict=True)
            start = next((at for column, (at, _width) in places if column.tree), 0)
            at_mark = start <= event.x < start + rows.mark_end(row)
            if at_mark and event.chain == 1:
                self.action_turn()
            elif event.chain == 2 and not at_mark:
                self.action_open()
        elif event.chain == 2:
            self.action_open()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        columns = self._columns()
        if y < self._head:
            return self._strip(self._title_line(columns), width)
        row = y - self._head + int(self.scroll_offset.y)
        if self.rows is None or row >= len(self.rows):
            note = self.note if y == self._head and not (self.rows is not None and len(self.rows)) else ""
            return self._strip(Text(note, style("detail")), width)
        return self._strip(self.line(row), width, current=row == self.cursor)

    def _title_line(self, columns: Sequence[Column]) -> Text:
        line = Text("", style("heading"))
        key = self.rows.sorted_by if self.rows is not None else ""
        for number, (column, width) in enumerate(zip(columns, self._widths(columns), strict=True)):
            mark = "▼" if column.sort and column.sort == key else ""
            title = cell(Text(f"{column.title}{mark}"), width, right=column.right)
            line.append(" " * GAP if number else "")
            line.append_text(title)
        return line

    def line(self, row: int) -> Text:
        """The text of a row."""
        assert self.rows is not None
        columns = self._columns()
        widths = self._widths(columns)
        line = Text("", no_wrap=True, end="")
        cells = self.rows.cells(row, columns, widths)
        for number, (column, width, value) in enumerate(zip(columns, widths, cells, strict=True)):
            if self._search is not None and not column.right:
                highlighted(value, self._search.spans(value.plain))
            line.append(" " * GAP if number else "")
            line.append_text(cell(value, width, right=column.right))
        return line

    def _strip(self, line: Text, width: int, *, current: bool = False) -> Strip:
        if not current:
            return strip(line, width, self.app.console)
        if self.has_focus:
            # Colours of single words are hard to read on the cursor's.
            return strip(Text(line.plain, end=""), width, self.app.console, CURSOR)
        return strip(line, width, self.app.console, Style(underline=True))

    def on_focus(self) -> None:
        """The cursor looks different."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different."""
        self.refresh()
