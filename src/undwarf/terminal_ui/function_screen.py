"""One function: its callers above, its callees below."""

from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from undwarf.outputs.terminal.escape import printable
from undwarf.terminal_ui.keys_line import Key, KeysLine, SearchLine
from undwarf.terminal_ui.opened_file import Analysis
from undwarf.terminal_ui.outline import Outline
from undwarf.terminal_ui.pages import UNFOLDED, call_outline
from undwarf.terminal_ui.rows import Function
from undwarf.terminal_ui.rows_view import RowsView
from undwarf.terminal_ui.texts import shown_weight, style
from undwarf.views.path_tree import PathNode

if TYPE_CHECKING:
    from undwarf.terminal_ui.profile_app import ProfileApp

KEYS = [
    Key("Esc", "back", "app.leave_screen"),
    Key("Tab", "other list", "app.focus_next"),
    Key("b", "of this row", "app.butterfly"),
    Key("a", "annotate", "app.annotate"),
    Key("/", "search", "app.search"),
    Key("w", "weights", "app.weights"),
    Key("?", "all keys", "app.help"),
]


class FunctionScreen(Screen[None]):
    """The callers and the callees of a function, each as a tree."""

    AUTO_FOCUS = "#callees"
    DEFAULT_CSS = """
    FunctionScreen Static { text-wrap: nowrap; text-overflow: ellipsis; }
    FunctionScreen #title { height: 1; }
    FunctionScreen #middle { height: 1; }
    """

    def __init__(self, app: "ProfileApp", analysis: Analysis, function: Function) -> None:
        super().__init__()
        self._shown_by = app
        self.analysis = analysis
        self.function = function

    def compose(self) -> ComposeResult:
        """Callers, the function, callees."""
        yield Static(id="title", markup=False)
        yield RowsView(id="callers")
        yield Static(id="middle", markup=False)
        yield RowsView(id="callees")
        yield SearchLine()
        yield KeysLine(KEYS)

    def on_mount(self) -> None:
        """Compute both trees."""
        title = Text(no_wrap=True, overflow="ellipsis")
        title.append(printable(self.function.name), style("heading"))
        title.append(f"  {printable(self.function.dso)}", style("detail"))
        self.query_one("#title", Static).update(title)
        for view in self.query(RowsView):
            view.show(None, "computing …")
        self.query_one("#callees").focus()
        self.run_worker(self._compute(), exclusive=True)

    async def _compute(self) -> None:
        def work() -> "tuple[PathNode, Outline[PathNode], Outline[PathNode]] | None":
            paths = self.analysis.paths
            node = paths.function(*self.function)
            if node is None:
                return None
            exact = self._shown_by.is_exact
            above = call_outline(paths, paths.callers(node), callers=True, exact=exact)
            below = call_outline(paths, paths.callees(node), callers=False, exact=exact)
            for outline in (above, below):
                outline.unfold_where(lambda one: one.weight >= UNFOLDED * paths.total)
            return node, above, below

        found = await self._shown_by.compute(work)
        callers, callees = self.query_one("#callers", RowsView), self.query_one("#callees", RowsView)
        middle = self.query_one("#middle", Static)
        if found is None:
            middle.update(Text("no sample that passes the filters has it on its stack", style("warning")))
            callers.show(None)
            callees.show(None)
            return
        node, above, below = found
        total = self.analysis.paths.total
        callers.show(above, "nothing calls it: it is the outermost function")
        callees.show(below, "it calls nothing in which samples were taken")
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append("▲ callers  ▼ callees   ", style("detail"))
        line.append_text(shown_weight(node.weight, total, exact=False))
        line.append(" pass it, ", style("detail"))
        line.append_text(shown_weight(node.self_weight, total, exact=False) if node.self_weight else Text("0.00%"))
        line.append(" are its own", style("detail"))
        line.append(f"   ({node.weight:,} and {node.self_weight:,})", style("detail"))
        middle.update(line)
