"""`undwarf top` on a terminal: hot functions of what runs now, with their callers, callees and code."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, Static

from undwarf.live.top import Picture
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.filters import Filters
from undwarf.profile.model import Profile
from undwarf.terminal_ui.dialogs import HelpPart
from undwarf.terminal_ui.keys_line import Key, KeysLine, SearchLine
from undwarf.terminal_ui.opened_file import Analysis, OpenedFile
from undwarf.terminal_ui.pages import flat_table
from undwarf.terminal_ui.profile_app import FUNCTIONS, MOVING, ProfileApp
from undwarf.terminal_ui.rows import Function, Table
from undwarf.terminal_ui.rows_view import RowsView
from undwarf.terminal_ui.texts import style
from undwarf.views.flat_profile import FlatProfile, Row, flat_profile
from undwarf.views.idle_samples import without_idle
from undwarf.views.sample_selection import samples_by_event

if TYPE_CHECKING:
    from undwarf.views.function_code import Disassembly

ROWS_OF = ("comm,dso,sym", "dso,sym", "sym", "dso", "comm")
"""The sort keys through which the key r cycles."""
KEYS = [
    Key("q", "quit", "app.quit_now"),
    Key("p", "pause", "app.pause"),
    Key("/", "filter", "app.search"),
    Key("Enter", "callers/callees", "app.butterfly"),
    Key("a", "annotate", "app.annotate"),
    Key("i", "idle", "app.idle"),
    Key("s", "self", "app.order(False)"),
    Key("c", "with callees", "app.order(True)"),
    Key("r", "rows", "app.rows_of"),
    Key("e", "event", "app.event"),
    Key("w", "weights", "app.weights"),
    Key("?", "all keys", "app.help"),
]
TOP_HELP: HelpPart = (
    "What is shown",
    (
        ("p  Space", "pause the display; sampling continues"),
        ("/", "only rows with a text: type it, then Enter; Esc shows all rows"),
        ("s c", "sort by the weight of functions alone, or with their callees"),
        ("r", "change what a row is: threads, files, functions"),
        ("e", "the next event, if there are several"),
        ("i", "show or hide idle CPUs"),
        ("K U", "show or hide functions of the kernel, of programs"),
        ("Enter b", "callers and callees of a function, as of the last update"),
        ("d", "the row in full: long names, files"),
        ("q", "quit"),
    ),
)


class Code(NamedTuple):
    """What annotating needs: adds source lines to a profile, and disassembles."""

    with_lines: Callable[[Profile], Profile]
    disassembly: "Callable[[], Disassembly]"


class Updated(Message):
    """There is a new picture."""

    def __init__(self, picture: Picture) -> None:
        super().__init__()
        self.picture = picture


class TopApp(ProfileApp):
    """Pictures of what runs, each in place of the one before.

    ``sample`` samples until the ``show`` that it is called with returns False, in a thread of its own; ``code`` is None
    where nothing can be annotated.
    """

    CSS = ProfileApp.CSS + "#head { height: 2; } #detail { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }"
    AUTO_FOCUS = "#rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,space", "pause", show=False, priority=False),
        Binding("i", "idle", show=False),
        Binding("d", "detail", show=False),
        Binding("s", "order(False)", show=False),
        Binding("c", "order(True)", show=False),
        Binding("r", "rows_of", show=False),
        Binding("e", "event", show=False),
        Binding("K", "hide(True)", show=False),
        Binding("U", "hide(False)", show=False),
        Binding("h", "help", show=False),
    ]
    KEY_HELP = (TOP_HELP, MOVING, (FUNCTIONS[0], tuple(key for key in FUNCTIONS[1] if key[0] not in ("i", "s"))))

    def __init__(
        self,
        sample: Callable[[Callable[[Picture], bool]], None],
        keys: tuple[str, ...],
        *,
        rows: int | None = None,
        iterations: int | None = None,
        children: bool = False,
        idle: bool = False,
        code: Code | None = None,
    ) -> None:
        super().__init__()
        self._sample = sample
        self._code = code
        self._keys = keys
        self._most = rows
        self._remaining = iterations
        self._with_children = children
        self._with_idle = idle
        self._paused = False
        self._hidden: set[bool] = set()
        """Hidden functions: True, the kernel's; False, those of programs."""
        self._wanted = ""
        self._section = 0
        self._picture: Picture | None = None
        self._profile: Profile | None = None
        """The picture's profile, without idle CPUs if these are hidden."""
        self._event_shown: int | None = None
        self._analysis: Analysis | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._run_sampler, name="undwarf-sampler", daemon=True)

    def compose(self) -> ComposeResult:
        """The screen from top to bottom."""
        yield Static(id="head", markup=False)
        yield RowsView(id="rows")
        yield Static(id="detail", markup=False)
        yield SearchLine()
        yield KeysLine(KEYS)

    def on_mount(self) -> None:
        """Start to sample."""
        self._main = self.screen
        self._list = self.query_one("#rows", RowsView)
        self._list.show(None, "sampling …")
        self._thread.start()

    def on_unmount(self) -> None:
        """End sampling."""
        self._is_over = True

    def wait(self) -> None:
        """Wait until sampling has ended."""
        self._is_over = True
        self._thread.join()

    @property
    def is_over(self) -> bool:
        """Whether sampling is to end."""
        return self._is_over

    def _run_sampler(self) -> None:
        try:
            self._sample(self._take)
        except BaseException as error:  # noqa: BLE001 - the program ends with it
            self.failure = error
        if not self._is_over:
            self.call_from_thread(self.exit, 0)

    def _take(self, picture: Picture) -> bool:
        """A new picture, in the sampler's thread; False if it was the last one."""
        if self._is_over:
            return False
        self.post_message(Updated(picture))
        if self._remaining is not None:
            self._remaining -= 1
        return self._remaining is None or self._remaining > 0

    def on_updated(self, event: Updated) -> None:
        """Show it, unless paused."""
        if not self._paused:
            self._picture = event.picture
            self.show()

    def analysis(self) -> Analysis | None:
        """The last picture."""
        profile, code = self._profile, self._code
        if profile is None or not len(profile.samples):
            return None
        if self._analysis is None or self._analysis.opened.path != str(id(profile)):
            opened = OpenedFile(
                str(id(profile)),
                lambda lines: code.with_lines(profile) if lines and code is not None else profile,
                fields=frozenset({"comm", "dso", "line"} if code is not None else {"comm", "dso"}),
                disassembly=code.disassembly if code is not None else None,
            )
            events = [number for number, _name in opened.sections]
            section = events.index(self._event_shown) if self._event_shown in events else 0
            self._analysis = Analysis(opened, Filters(), section)
        return self._analysis

    def show(self) -> None:
        """Show the picture as it is now to be shown."""
        picture = self._picture
        if picture is None:
            return
        profile = picture.profile if self._with_idle else without_idle(picture.profile)
        self._profile, self._analysis = profile, None
        # Weights of two events cannot be added.
        event: int | None = None
        names = [one.name for one in profile.events]
        if "event" not in self._keys:
            used = [number for number, count in enumerate(samples_by_event(picture.profile)) if count]
            event = used[self._section % len(used)] if used else None
            name = names[event] if event is not None else names[0]
        else:
            name = ", ".join(sorted({one for one in names if not one.startswith("dummy")}))
        self._event_shown = event
        flat = flat_profile(profile, self._keys, event=event, children=True)
        with_idle = flat_profile(picture.profile, ("comm",), event=event, children=False).total
        idle = 1 - (flat.total if flat.samples else 0) / (with_idle or 1)
        self._show_rows(flat)
        self._write_head(picture, name, idle)

    def _show_rows(self, flat: FlatProfile) -> None:
        wanted = self._wanted.lower()
        rows = [
            row
            for row in flat.rows
            if ("sym" not in self._keys or row.kernel not in self._hidden)
            and (not wanted or any(wanted in text.lower() for text in row.key))
        ]
        order = "total" if self._with_children else "self"
        table = flat_table(flat._replace(rows=rows), exact=self.is_exact, samples=False, sorted_by=order)
        del table.items[self._most or len(table.items) :]
        # The cursor stays at the first row, or follows its row.
        cursor, before = 0, self._list.rows
        if self._list.cursor and isinstance(before, Table) and len(before):
            key = before.items[self._list.cursor].key
            cursor = next((at for at, row in enumerate(table.items) if row.key == key), self._list.cursor)
        self._list.show(table, "no samples" if not wanted else "no row has this text", cursor)

    def _write_head(self, picture: Picture, event: str, idle: float) -> None:
        head = Text(overflow="ellipsis")
        head.append(f"{picture.samples:,} samples", style("heading"))
        head.append(f" of {printable(event)} in {picture.seconds:.1f} s")
        if picture.lost:
            head.append(f", {picture.lost:,} lost", style("bad"))
        if idle >= 0.0005 and not self._with_idle:
            head.append(f"   {100 * idle:.1f} % idle, not shown", style("detail"))
        if self._paused:
            head.append("   paused: p goes on", style("warning"))
        head.append("\n")
        parts = ["functions with all they call" if self._with_children else "functions themselves"]
        parts += [f"without {'the kernel' if kernel else 'programs'}" for kernel in sorted(self._hidden)]
        head.append(", ".join(parts), style("detail"))
        if self._wanted:
            head.append(f"   only rows with {printable(self._wanted)!r}", style("warning"))
        self._main.query_one("#head", Static).update(head)

    def on_input_changed(self, event: Input.Changed) -> None:
        """On the first screen what is typed is a filter."""
        if self.screen is self._main:
            self._wanted = event.value
            self.show()
        else:
            super().on_input_changed(event)

    def on_search_line_left(self, event: SearchLine.Left) -> None:
        """The filter stays, or is given up."""
        if self.screen is not self._main:
            super().on_search_line_left(event)
            return
        self._typing = None
        if not event.done:
            self._wanted = ""
            self.show()
        self._list.focus()

    def action_leave_screen(self) -> None:
        """Go back; on the first screen, show all rows."""
        if self.screen is self._main:
            self._wanted = ""
            self.show()
        else:
            super().action_leave_screen()

    def action_pause(self) -> None:
        """Pause, or go on."""
        self._paused = not self._paused
        self.show()

    def action_idle(self) -> None:
        """Show or hide idle CPUs."""
        self._with_idle = not self._with_idle
        self.show()

    def action_order(self, children: bool) -> None:
        """Sort by the weight of functions alone, or with their callees."""
        self._with_children = children
        self.show()

    def action_rows_of(self) -> None:
        """The next sort keys."""
        current = ",".join(self._keys)
        number = ROWS_OF.index(current) + 1 if current in ROWS_OF else 0
        self._keys = tuple(ROWS_OF[number % len(ROWS_OF)].split(","))
        self.show()

    def action_event(self) -> None:
        """The next event."""
        self._section += 1
        self.show()

    def action_hide(self, kernel: bool) -> None:
        """Show or hide functions of the kernel, or of programs."""
        self._hidden ^= {kernel}
        self.show()

    def on_rows_view_opened(self, event: RowsView.Opened) -> None:
        """Show the callers and callees of the function."""
        function = event.view.rows.function(event.view.cursor) if event.view.rows is not None else None
        function = function or self.function()
        if function is not None:
            self.open_function(function)

    def function(self) -> Function | None:
        """The function of the current row; rows without files have the heaviest one of their name."""
        found = super().function()
        view = self.rows_view()
        if found is not None or view is None or view.rows is None or not len(view.rows):
            return found
        item, profile = view.rows.item(view.cursor), self._profile
        if not isinstance(item, Row) or "sym" not in self._keys or profile is None:
            return None
        name = item.key[self._keys.index("sym")]
        files = flat_profile(profile, ("sym", "dso"), event=self._event_shown).rows
        return next((Function(*row.key) for row in files if row.key[0] == name), None)

    def on_rows_view_moved(self, event: RowsView.Moved) -> None:
        """Show the row in full."""
        view = event.view
        if view is self._list and view.rows is not None:
            words = printable(view.rows.detail(view.cursor)) if len(view.rows) else ""
            self._main.query_one("#detail", Static).update(Text(words, style("detail"), no_wrap=True))
