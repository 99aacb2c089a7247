"""Rows that unfold: trees of calls, types with their members, source lines with their instructions."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from rich.text import Text

from undwarf.terminal_ui.rows import Column, Function
from undwarf.terminal_ui.search import Search
from undwarf.terminal_ui.texts import style

Node = TypeVar("Node")
MOST_DEPTH = 1_000
"""Levels that are unfolded at once."""
MOST_ROWS = 2_000
"""Rows that are unfolded at once."""


class Line(Generic[Node]):
    """A row: its node, what is drawn before it and before the rows below it, and how deep it is."""

    __slots__ = ("below", "depth", "node", "prefix", "unfolded")

    def __init__(self, node: Node, prefix: str, below: str, depth: int) -> None:
        self.node, self.prefix, self.below, self.depth = node, prefix, below, depth
        self.unfolded = False


class Found(Generic[Node]):
    """The matches of a search in a whole tree, folded nodes too: ``within``, how many are at a node and below it;
    ``at``, whether the node itself is one."""

    def __init__(self, count: int, within: Callable[[Node], int], at: Callable[[Node], bool]) -> None:
        self.count, self.within, self.at = count, within, at


class Outline(Generic[Node]):
    """A tree, of which the unfolded nodes are rows.

    ``children`` gives the nodes below one, ``leaf`` says whether there are none; with ``guides`` lines are drawn from a
    node to those below it. ``find`` searches the whole tree;
    without it, or if it gives None, the unfolded rows are searched.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        children: Callable[[Node], Sequence[Node]],
        leaf: Callable[[Node], bool],
        columns: Callable[[int], list[Column]],
        detail: Callable[[Node], str],
        searched: Callable[[Node], str],
        function: Callable[[Node], Function | None] = lambda _node: None,
        *,
        find: "Callable[[Search], Found[Node] | None]" = lambda _search: None,
        guides: bool = True,
    ) -> None:
        self._children, self._leaf = children, leaf
        self._columns, self._detail, self._searched = columns, detail, searched
        self._function = function
        self._find = find
        self._guides = ("├─", "│ ", "└─") if guides else ("  ", "  ", "  ")
        self._search: Search | None = None
        self._found: Found[Node] | None = None
        self.lines: list[Line[Node]] = [Line(root, "", "", 0) for root in roots]

    def __len__(self) -> int:
        return len(self.lines)

    def columns(self, width: int) -> list[Column]:
        """The columns for a screen of this width."""
        return self._columns(width)

    def cells(self, row: int, columns: Sequence[Column], widths: Sequence[int]) -> list[Text]:
        """The cells of a row; the tree's lines come first in their column."""
        line = self.lines[row]
        mark = "  " if self._leaf(line.node) else "▾ " if line.unfolded else "▸ "
        cells = []
        for column, width in zip(columns, widths, strict=True):
            if not column.tree:
                cells.append(column.cell(line.node, width))
                continue
            before, most = f"{line.prefix}{mark}", max(12, width // 2)
            if len(before) > most:
                before = "…" + before[1 - most :]
            cells.append(Text.assemble((before, style("detail")), column.cell(line.node, max(0, width - len(before)))))
        return cells

    def item(self, row: int) -> Node:
        """What a row is about."""
        return self.lines[row].node

    def mark_end(self, row: int) -> int:
        """Columns of the tree's lines and the mark before a row."""
        return len(self.lines[row].prefix) + 2

    def function(self, row: int) -> Function | None:
        """The function that a row is about."""
        return self._function(self.lines[row].node)

    def detail(self, row: int) -> str:
        """All that there is to say of a row."""
        return self._detail(self.lines[row].node)

    def has_fold(self, row: int) -> bool | None:
        """Whether a row is unfolded; None if there is nothing to unfold."""
        line = self.lines[row]
        return None if self._leaf(line.node) else line.unfolded

    def fold(self, row: int, unfold: bool | None = None) -> int:
        """Unfold a row, with those below it as long as each is alone, or fold it. From a row that is folded already, or
        has nothing to fold, the row above it becomes the current one."""
        line = self.lines[row]
        wanted = not line.unfolded if unfold is None else unfold
        if wanted:
            at = row
            for _level in range(MOST_DEPTH):
                count = self._unfold(at)
                if count != 1:
                    break
                at += 1
            return row
        if line.unfolded:
            del self.lines[row + 1 : self._end(row)]
            line.unfolded = False
            return row
        return self.above(row)

    def above(self, row: int) -> int:
        """The row of the node that a row is below; the row itself for a root."""
        depth = self.lines[row].depth
        while depth and row and self.lines[row].depth >= depth:
            row -= 1
        return row

    def _end(self, row: int) -> int:
        """The first row after a row and all below it."""
        depth, end = self.lines[row].depth, row + 1
        while end < len(self.lines) and self.lines[end].depth > depth:
            end += 1
        return end

    def _unfold(self, row: int) -> int:
        """Show the nodes below a row; how many."""
        line = self.lines[row]
        if line.unfolded or self._leaf(line.node):
            return 0
        nodes = self._children(line.node)
        line.unfolded = True
        below = []
        for number, node in enumerate(nodes):
            if len(nodes) == 1:
                # As in the report: chains of calls stay where they are.
                below.append(Line(node, line.below, line.below, line.depth + 1))
            elif number == len(nodes) - 1:
                below.append(Line(node, line.below + self._guides[2], line.below + "  ", line.depth + 1))
            else:
                branch, pipe, _last = self._guides
                below.append(Line(node, line.below + branch, line.below + pipe, line.depth + 1))
        self.lines[row + 1 : row + 1] = below
        return len(below)

    def unfold_where(self, wanted: Callable[[Node], bool], row: int | None = None) -> None:
        """Unfold all wanted nodes, everywhere or below a row."""
        at, end = (0, len(self.lines)) if row is None else (row, self._end(row))
        rows = 0
        while at < end and rows < MOST_ROWS:
            if wanted(self.lines[at].node) and self.lines[at].depth < MOST_DEPTH:
                count = self._unfold(at)
                end += count
                rows += count
            at += 1

    def search(self, search: Search | None) -> int:
        """Search from now on; how many nodes match."""
        self._search = search
        self._found = self._find(search) if search is not None else None
        if search is None:
            return 0
        return self._found.count if self._found is not None else len(self._matching())

    def _matching(self) -> list[int]:
        search = self._search
        if search is None:
            return []
        return [row for row, line in enumerate(self.lines) if search(self._searched(line.node))]

    def next_match(self, row: int, step: int) -> int | None:
        """The next or previous matching row; nodes above it are unfolded."""
        if self._found is None:
            rows = self._matching()
            after = [at for at in rows if at > row] if step > 0 else [at for at in reversed(rows) if at < row]
            return after[0] if after else (rows[0 if step > 0 else -1] if rows else None)
        if not self._found.count:
            return None
        number = self._before(row) + (1 if self._found.at(self.lines[row].node) else 0)
        # The number of the wanted match, from 0.
        wanted = number if step > 0 else self._before(row) - 1
        return self._row_of_match(wanted % self._found.count)

    def match_number(self, row: int) -> int:
        """The number of a matching row."""
        if self._search is None or not self._search(self._searched(self.lines[row].node)):
            return 0
        if self._found is None:
            return self._matching().index(row) + 1
        return self._before(row) + 1

    def _before(self, row: int) -> int:
        """How many matches come before a row, in folded nodes too."""
        assert self._found is not None
        count = 0
        above = set()
        at = row
        while self.lines[at].depth:
            at = self.above(at)
            above.add(at)
        depth = 0
        at = 0
        while at < row:
            line = self.lines[at]
            if at in above:
                count += self._found.at(line.node)
                depth = line.depth + 1
                at += 1
            elif line.depth <= depth:
                count += self._found.within(line.node)
                at = self._end(at) if line.unfolded else at + 1
            else:
                at += 1
        return count

    def _row_of_match(self, number: int) -> int | None:
        """The row of a match by its number, from 0; nodes above it are unfolded."""
        assert self._found is not None
        at = 0
        for _step in range(len(self.lines) + MOST_DEPTH * MOST_ROWS):
            if at >= len(self.lines):
                return None
            line = self.lines[at]
            within = self._found.within(line.node)
            if number >= within:
                number -= within
                at = self._end(at) if line.unfolded else at + 1
                continue
            if self._found.at(line.node):
                if not number:
                    return at
                number -= 1
            self._unfold(at)
            at += 1
        return None

    @property
    def sorted_by(self) -> str:
        """The tree has its own order."""
        return ""

    def sort(self, key: str) -> None:
        """The tree has its own order."""
