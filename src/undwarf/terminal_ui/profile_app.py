"""What all programs of this folder share: work beside the screen, search, help, and the screens of one function."""

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from undwarf.errors import UndwarfError
from undwarf.outputs.terminal.escape import printable
from undwarf.terminal_ui.dialogs import HelpPart, TextScreen, help_screen
from undwarf.terminal_ui.keys_line import SearchLine
from undwarf.terminal_ui.opened_file import Analysis
from undwarf.terminal_ui.rows import Function
from undwarf.terminal_ui.rows_view import RowsView
from undwarf.terminal_ui.search import Search

Result = TypeVar("Result")
SHORT_WAIT = 0.1
"""Seconds after which a thread that does not answer is at work."""
MOVING: HelpPart = (
    "Moving",
    (
        ("↑ ↓  j k", "one row"),
        ("PgUp PgDn", "one screen"),
        ("Home End  g G", "the first row, the last one"),
        ("→ ←  + -", "unfold a row; fold it, or go to the row above it"),
        ("Space", "unfold or fold"),
        ("Enter", "open a row: callers and callees of a function, the functions of a file or thread; trees unfold"),
        ("mouse", "a click chooses, on a mark unfolds, on a title sorts; two clicks open"),
    ),
)
FINDING: HelpPart = (
    "Searching",
    (
        ("/", "search: a text or a regular expression; capitals count if there are some"),
        ("n N", "the next match, the previous one (folded calls too)"),
        ("Esc", "end the search; go back"),
    ),
)
FUNCTIONS: HelpPart = (
    "Functions",
    (
        ("b", "callers above a function, callees below it"),
        ("a", "annotate: source lines and instructions with their weight, and the data they access"),
        ("i", "the row in full: long names, files, weights"),
        ("w", "weights as shares, or as numbers"),
        ("s", "sort by the next column"),
    ),
)


class ProfileApp(App[int]):
    """Pages of a profile. The result is the exit code."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    * { scrollbar-color: ansi_bright_black; scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
        scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default;
        scrollbar-background-active: ansi_default; scrollbar-corner-color: ansi_default; }
    Toast { background: ansi_default; color: ansi_default; border: round ansi_yellow; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit_now", show=False, priority=False),
        Binding("question_mark,f1", "help", show=False),
        Binding("slash", "search", show=False),
        Binding("escape,backspace", "leave_screen", show=False),
        Binding("w", "weights", show=False),
        Binding("b", "butterfly", show=False),
        Binding("a", "annotate", show=False),
        Binding("i", "detail", show=False),
    ]
    KEY_HELP: ClassVar[tuple[HelpPart, ...]] = (MOVING, FINDING, FUNCTIONS)

    def __init__(self, worker: ThreadPoolExecutor | None = None) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.exact = False
        """Whether weights are shown as numbers."""
        self.failure: BaseException | None = None
        """What ended the program."""
        self.busy = 0
        """Computations that are not done."""
        self._worker = worker if worker is not None else ThreadPoolExecutor(1, "undwarf-views")
        self._typing: RowsView | None = None

    def on_load(self) -> None:
        """A signal ends the program as its keys do, so that the terminal is as it was."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit, 128 + number)

    def is_exact(self) -> bool:
        """Whether weights are shown as numbers."""
        return self.exact

    async def compute(self, work: Callable[[], Result]) -> Result:
        """The result of work that is done beside the screen, one after the other."""
        self.busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work)
        finally:
            self.busy -= 1

    @property
    def is_working(self) -> bool:
        """Whether something is still computed beside the screen, wanted or not."""
        try:
            self._worker.submit(lambda: None).result(SHORT_WAIT)
        except TimeoutError:
            return True
        return False

    def fail(self, error: BaseException) -> None:
        """End the program with an error."""
        self.failure = error
        self.exit(1)

    def say(self, error: UndwarfError) -> None:
        """Show why something is not possible."""
        words = ". ".join(filter(None, (error.what, error.why, error.hint)))
        self.notify(printable(words), severity="warning", timeout=6, markup=False)

    def analysis(self) -> Analysis | None:
        """What is shown; None while it is computed."""
        raise NotImplementedError

    def rows_view(self) -> RowsView | None:
        """The list with the focus, else the first one of the screen."""
        if isinstance(self.focused, RowsView):
            return self.focused
        return next(iter(self.screen.query(RowsView)), None)

    def function(self) -> Function | None:
        """The function of the current row."""
        view = self.rows_view()
        if view is None or view.rows is None or not len(view.rows):
            return None
        return view.rows.function(view.cursor)

    def action_quit_now(self) -> None:
        """End."""
        self.exit(0)

    def action_help(self) -> None:
        """Show all keys."""
        if not isinstance(self.screen, TextScreen):
            self.push_screen(help_screen(self.KEY_HELP))

    def action_weights(self) -> None:
        """Show weights as shares, or as numbers."""
        self.exact = not self.exact
        for view in self.screen.query(RowsView):
            view.refresh()

    def action_leave_screen(self) -> None:
        """End the search, else go back to the screen below."""
        view = self.rows_view()
        if view is not None and view.searched is not None:
            view.look_for(None)
        elif len(self.screen_stack) > 1:
            self.pop_screen()

    def action_detail(self) -> None:
        """Show the row in full."""
        view = self.rows_view()
        if view is not None and view.rows is not None and len(view.rows):
            self.push_screen(TextScreen("Row", Text(printable(view.rows.detail(view.cursor)))))

    def action_search(self) -> None:
        """Type a search for the current list."""
        lines = self.screen.query(SearchLine)
        view = self.rows_view()
        if lines and view is not None:
            self._typing = view
            lines.first().start()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        if isinstance(event.input, SearchLine) and self._typing is not None:
            self._typing.look_for(Search(event.value) if event.value else None)

    def on_search_line_left(self, event: SearchLine.Left) -> None:
        """The search is complete, or given up."""
        view, self._typing = self._typing, None
        if view is not None:
            view.focus()
            if not event.done:
                view.look_for(None)
            elif view.rows is not None and len(view.rows) and not view.rows.match_number(view.cursor):
                view.action_match(1)

    def action_butterfly(self) -> None:
        """Show the callers and callees of the current function."""
        function, analysis = self.function(), self.analysis()
        if function is not None and analysis is not None:
            self.open_function(function)

    def open_function(self, function: Function) -> None:
        """Show the callers and callees of a function."""
        from undwarf.terminal_ui.function_screen import FunctionScreen

        analysis = self.analysis()
        if analysis is not None:
            self._open(FunctionScreen(self, analysis, function))

    def action_annotate(self) -> None:
        """Show the code of the current function."""
        from undwarf.terminal_ui.code_screen import CodeScreen

        function, analysis = self.function(), self.analysis()
        if function is not None and analysis is not None and not isinstance(self.screen, CodeScreen):
            self._open(CodeScreen(self, analysis, function))

    def _open(self, screen: Screen[Any]) -> None:
        self.push_screen(screen)
