"""The code of one function: its source lines and instructions, each with its weight and the data it accesses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from undwarf.errors import UndwarfError
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten, shorten_type
from undwarf.terminal_ui.keys_line import Key, KeysLine, SearchLine
from undwarf.terminal_ui.opened_file import Analysis
from undwarf.terminal_ui.outline import Outline
from undwarf.terminal_ui.pages import Exact
from undwarf.terminal_ui.rows import Column, Function, Table
from undwarf.terminal_ui.rows_view import RowsView
from undwarf.terminal_ui.texts import shown_weight, style, weight_width

if TYPE_CHECKING:
    from undwarf.terminal_ui.profile_app import ProfileApp
    from undwarf.views.source import Code, Line, Listing

BESIDE = 120
"""Columns from which source and instructions are beside each other."""
LONGEST_GAP = 8
"""Longer runs of lines without weight are folded, as in the report."""
KEYS = [
    Key("Esc", "back", "app.leave_screen"),
    Key("→ ←", "unfold/fold", ""),
    Key("v", "layout", "screen.layout"),
    Key("[ ]", "other file", "screen.listing(1)"),
    Key("b", "callers", "app.butterfly"),
    Key("/", "search", "app.search"),
    Key("w", "weights", "app.weights"),
    Key("?", "all keys", "app.help"),
]


@dataclass(eq=False)
class CodeRow:
    """A source line, an instruction, or lines without weight that are folded; ``below`` are the rows below it."""

    line: "Line | None" = None
    code: "Code | None" = None
    below: "list[CodeRow]" = field(default_factory=list)
    note: str = ""
    of_line: int = 0
    """The source line of an instruction."""


def code_rows(listing: "Listing") -> list[CodeRow]:
    """The lines of a listing with their instructions; long runs of lines without weight are one row."""
    rows: list[CodeRow] = []
    quiet: list[CodeRow] = []

    def end() -> None:
        if len(quiet) > LONGEST_GAP:
            first, last = (1 if rows else 0), len(quiet) - 1
            rows.extend(quiet[:first])
            hidden = quiet[first:last]
            rows.append(CodeRow(below=hidden, note=f"{len(hidden)} lines without weight"))
            rows.extend(quiet[last:])
        else:
            rows.extend(quiet)
        quiet.clear()

    for line in listing.lines:
        row = CodeRow(line=line)
        row.below = [CodeRow(code=code, of_line=line.number) for code in line.code]
        if line.total_weight or any(code.total_weight for code in line.code):
            end()
            rows.append(row)
        else:
            quiet.append(row)
    end()
    return rows


class CodeTexts:
    """The cells of code."""

    def __init__(self, listing: "Listing", exact: Exact) -> None:
        self.whole = listing.whole or 1
        self.exact = exact
        self.operands: dict[int, str] = {}
        """The data that instructions access, by address, once that is known."""
        self.marked: CodeRow | None = None
        """The current row of the other list."""

    def _weights(self, row: CodeRow) -> tuple[int, int]:
        of = row.line or row.code
        return (of.total_weight, of.self_weight) if of is not None else (0, 0)

    def weights(self) -> list[Column]:
        """The columns of weights."""
        size = weight_width(self.whole, "Total", exact=self.exact())

        def shown(weight: int) -> Text:
            return shown_weight(weight, self.whole, exact=self.exact())

        return [
            Column("Total", size, lambda row, _width: shown(self._weights(row)[0]), True),
            Column("Self", size, lambda row, _width: shown(self._weights(row)[1]), True),
        ]

    def number(self, row: CodeRow, _width: int) -> Text:
        """The number of a line, the address of an instruction."""
        if row.code is not None:
            return Text(f"{row.code.address:x}", style("detail"))
        return Text(str(row.line.number) if row.line is not None and row.line.number else "", style("detail"))

    def source(self, row: CodeRow, _width: int) -> Text:
        """The text of a line, or of an instruction with what it accesses."""
        if row.code is not None:
            text = self.instruction(row, 0)
            data = self.data(row, 60)
            if data.plain:
                text.append("  → ", style("detail"))
                text.append_text(data)
            return text
        if row.line is None:
            return Text(f"⋮ {row.note}", style("detail"))
        if not row.line.number:
            return Text("instructions without a source line", style("detail"))
        if row.line.text is None:
            return Text("(the source is not there)", style("detail"))
        return Text(printable(row.line.text.expandtabs(4)).rstrip())

    def instruction(self, row: CodeRow, _width: int) -> Text:
        """The text of an instruction, and the function that is inlined there."""
        assert row.code is not None
        text = Text(printable(row.code.text), style("kernel" if row.code.inlined else ""))
        if row.code.inlined:
            text.append(f"  ← {shorten(printable(row.code.inlined), 40)}", style("detail"))
        return text

    def data(self, row: CodeRow, width: int) -> Text:
        """The type and member that an instruction accesses."""
        label = self.operands.get(row.code.address, "") if row.code is not None else ""
        return Text(shorten_type(printable(label), max(8, width)) if label else "", style("good"))

    def mark(self, row: CodeRow, _width: int) -> Text:
        """Whether a row belongs to the current row of the other list."""
        other = self.marked
        if other is None:
            return Text("")
        line = row.line.number if row.line is not None else row.of_line
        of = other.line.number if other.line is not None else other.of_line
        return Text("▌" if line == of and (line or row.code is not None) else "", style("good"))

    def detail(self, row: CodeRow) -> str:
        """All that there is to say of a row."""
        if row.code is not None:
            parts = [f"{row.code.address:x}", row.code.text]
            parts += [f"of {row.code.inlined}"] if row.code.inlined else []
            parts += [f"accesses {self.operands[row.code.address]}"] if row.code.address in self.operands else []
            return "  ".join(parts)
        return (row.line.text or "").strip() if row.line is not None else row.note

    def searched(self, row: CodeRow) -> str:
        """What is searched."""
        return self.detail(row)


class CodeScreen(Screen[None]):
    """The source of a function with its instructions below the lines, or beside them where there is space."""

    AUTO_FOCUS = "#source"
    DEFAULT_CSS = """
    CodeScreen Static { text-wrap: nowrap; text-overflow: ellipsis; }
    CodeScreen #title { height: 1; }
    CodeScreen #where { height: 1; }
    CodeScreen #detail { height: 1; }
    CodeScreen #instructions { display: none; }
    CodeScreen.-beside #source { width: 4fr; }
    CodeScreen.-beside #instructions { display: block; width: 5fr; margin-left: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "layout", show=False),
        Binding("right_square_bracket", "listing(1)", show=False),
        Binding("left_square_bracket", "listing(-1)", show=False),
    ]

    def __init__(self, app: "ProfileApp", analysis: Analysis, function: Function) -> None:
        super().__init__()
        self._shown_by = app
        self.analysis = analysis
        self.function = function
        self.listings: list[Listing] = []
        self._number = 0
        self._beside: bool | None = None
        """Whether source and instructions are beside each other; None: if there is space."""
        self._texts: CodeTexts | None = None

    def compose(self) -> ComposeResult:
        """The lists."""
        yield Static(id="title", markup=False)
        yield Static(id="where", markup=False)
        with Horizontal():
            yield RowsView(id="source")
            yield RowsView(id="instructions")
        yield Static(id="detail", markup=False)
        yield SearchLine()
        yield KeysLine(KEYS)

    def on_mount(self) -> None:
        """Compute the listings."""
        title = Text(no_wrap=True, overflow="ellipsis")
        title.append(printable(self.function.name), style("heading"))
        title.append(f"  {printable(self.function.dso)}", style("detail"))
        self.query_one("#title", Static).update(title)
        source = self.query_one("#source", RowsView)
        source.show(None, "reading lines and code …")
        source.focus()
        self.run_worker(self._compute(), exclusive=True)

    async def _compute(self) -> None:
        try:
            self.listings = await self._shown_by.compute(lambda: self.analysis.listings(*self.function))
        except UndwarfError as error:
            self._nothing(error.what)
            return
        except ValueError:
            self._nothing("this profile has no source lines")
            return
        if not self.listings:
            self._nothing("neither its source lines nor its code are known")
            return
        self._show()

    def _nothing(self, why: str) -> None:
        self.query_one("#source", RowsView).show(None, printable(why))

    @property
    def is_beside(self) -> bool:
        """Whether source and instructions are beside each other."""
        return self.size.width >= BESIDE if self._beside is None else self._beside

    def _show(self) -> None:
        """Show the current listing."""
        listing = self.listings[self._number]
        texts = self._texts = CodeTexts(listing, self._shown_by.is_exact)
        where = Text(no_wrap=True, overflow="ellipsis")
        where.append_text(shown_weight(listing.total_weight, listing.whole, exact=False))
        where.append(" pass it, ", style("detail"))
        where.append(f"{100 * listing.self_weight / (listing.whole or 1):.2f}%")
        where.append(" are its own", style("detail"))
        if len(self.listings) > 1:
            where.append(f"   file {self._number + 1} of {len(self.listings)}", style("heading"))
        if listing.problem:
            where.append(f"   {printable(listing.problem)}", style("warning"))
        where.append(f"   {printable(listing.file)}", style("detail"))
        self.query_one("#where", Static).update(where)
        rows = code_rows(listing)
        self.set_class(self.is_beside, "-beside")
        source, instructions = self.query_one("#source", RowsView), self.query_one("#instructions", RowsView)
        hottest = max(range(len(rows)), key=lambda at: _total(rows[at]), default=0)
        if self.is_beside:
            plain = Table(rows, lambda _width: self._source_columns(texts, tree=False), texts.detail, texts.searched)
            source.show(plain, cursor=hottest)
            code = [one for row in rows for one in (row.below if row.line is not None else _inner(row))]
            code.sort(key=lambda row: row.code.address if row.code is not None else 0)
            table = Table(
                code, lambda width: self._code_columns(texts, width), texts.detail, texts.searched, self._inlined
            )
            hot = max(range(len(code)), key=lambda at: _total(code[at]), default=0)
            instructions.show(table, "no instructions are known", cursor=hot)
        else:
            outline = Outline(
                rows,
                lambda row: row.below,
                lambda row: not row.below,
                lambda _width: self._source_columns(texts, tree=True),
                texts.detail,
                texts.searched,
                self._inlined,
                guides=False,
            )
            if rows and rows[hottest].line is not None:
                outline.fold(hottest, True)
            instructions.show(None)
            source.show(outline, cursor=hottest)
        self.run_worker(self._types(texts, listing), exclusive=True, group="types")

    def _inlined(self, row: CodeRow) -> Function | None:
        """The function that is inlined at an instruction."""
        if row.code is not None and row.code.inlined:
            return Function(row.code.inlined, self.function.dso)
        return None

    def _source_columns(self, texts: CodeTexts, *, tree: bool) -> list[Column]:
        number = Column("Line", 8 if tree else 5, texts.number, True)
        source = Column("Source, instructions below" if tree else "Source", 0, texts.source, tree=tree)
        mark = [] if tree else [Column("", 1, texts.mark)]
        return [*texts.weights(), number, *mark, source]

    def _code_columns(self, texts: CodeTexts, width: int) -> list[Column]:
        columns = [*texts.weights(), Column("Address", 8, texts.number, True), Column("", 1, texts.mark)]
        columns.append(Column("Instruction", 0, texts.instruction))
        if texts.operands:
            columns.append(Column("Data", min(28, width // 5), texts.data))
        return columns

    async def _types(self, texts: CodeTexts, listing: "Listing") -> None:
        """Add the data that instructions access, which takes longer."""
        addresses = sorted({code.address for line in listing.lines for code in line.code})
        texts.operands = await self._shown_by.compute(lambda: self.analysis.opened.operands(listing.dso, addresses))
        for view in self.query(RowsView):
            view.refresh()

    def action_layout(self) -> None:
        """Source and instructions below or beside each other."""
        self._beside = not self.is_beside
        if self.listings:
            self._show()
            self.query_one("#source", RowsView).focus()

    def action_listing(self, step: int) -> None:
        """The next source file that the function has code of."""
        if self.listings:
            self._number = (self._number + step) % len(self.listings)
            self._show()

    def on_resize(self, _event: events.Resize) -> None:
        """There may be space for both lists now, or no longer."""
        if self.listings and self.has_class("-beside") != self.is_beside:
            self._show()

    def on_rows_view_moved(self, event: RowsView.Moved) -> None:
        """Mark in one list what belongs to the row of the other one."""
        view = event.view
        if view.rows is None or not len(view.rows):
            return
        row = view.rows.item(view.cursor)
        if view.has_focus or not self.is_beside:
            detail = Text(printable(view.rows.detail(view.cursor)), style("detail"), no_wrap=True, overflow="ellipsis")
            self.query_one("#detail", Static).update(detail)
        if not self.is_beside or not view.has_focus or self._texts is None or not isinstance(row, CodeRow):
            return
        self._texts.marked = row
        other = self.query_one("#instructions" if view.id == "source" else "#source", RowsView)
        if other.rows is not None and len(other.rows):
            found = _matching(other.rows, row)
            if found is not None:
                other.move_to(found)
            other.refresh()
        view.refresh()


def _total(row: CodeRow) -> int:
    of = row.line or row.code
    return of.total_weight if of is not None else 0


def _inner(row: CodeRow) -> list[CodeRow]:
    """The instructions of folded lines."""
    return [code for line in row.below for code in line.below]


def _matching(rows: object, row: CodeRow) -> int | None:
    """The heaviest row of the other list that belongs to a row."""
    assert isinstance(rows, Table)
    items: Sequence[CodeRow] = rows.items
    line = row.line.number if row.line is not None else row.of_line
    found = [at for at, one in enumerate(items) if (one.line.number if one.line is not None else one.of_line) == line]
    return max(found, key=lambda at: _total(items[at]), default=None)
