"""`undwarf browse`: the pages of a profile, a bar of its activity over time, filters and search."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from undwarf.errors import UndwarfError
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import cells, fit
from undwarf.profile.filters import Filters
from undwarf.profile.time_spans import parse_spans, resolve
from undwarf.terminal_ui.dialogs import FilterScreen, HelpPart
from undwarf.terminal_ui.keys_line import Key, KeysLine, SearchLine
from undwarf.terminal_ui.opened_file import Analysis, OpenedFile
from undwarf.terminal_ui.outline import Outline
from undwarf.terminal_ui.pages import UNFOLDED, call_outline, flat_table, quality_outline, type_outline
from undwarf.terminal_ui.profile_app import FINDING, FUNCTIONS, MOVING, ProfileApp
from undwarf.terminal_ui.rows import Function, Rows
from undwarf.terminal_ui.rows_view import RowsView
from undwarf.terminal_ui.texts import style
from undwarf.terminal_ui.time_brush import TimeBrush
from undwarf.views.activity import Activity, activity, time_range
from undwarf.views.flat_profile import Row

KEYS = [
    Key("f", "filter", "app.filter"),
    Key("/", "search", "app.search"),
    Key("b", "callers/callees", "app.butterfly"),
    Key("a", "annotate", "app.annotate"),
    Key("x", "only this", "app.narrow"),
    Key("t", "time", "app.time"),
    Key("q", "quit", "app.quit_now"),
    Key("e", "event", "app.event"),
    Key("E", "unfold", "app.unfold"),
    Key("s", "sort", "app.sort"),
    Key("w", "weights", "app.weights"),
    Key("F", "no filters", "app.clear_filters"),
    Key("?", "all keys", "app.help"),
]
PAGES_HELP: HelpPart = (
    "Pages",
    (
        ("1 ... 8  Tab", "calls, hot functions with their callers, functions, files, threads, lines, types, stacks"),
        ("E", "unfold a row down to 1 % of all weight"),
        ("e", "the next event, if there are several"),
    ),
)
FILTERS_HELP: HelpPart = (
    "Filters: everything follows",
    (
        ("f", "choose threads, files, functions, times"),
        ("x", "only what the current row is about: a function, a file, a thread"),
        ("F", "without filters again"),
        (
            "t",
            "time: ← → move; Space, or Shift with them, begins a selection; Enter applies it, Backspace clears it, "
            "Esc leaves; or drag with the mouse, and click to clear",
        ),
        ("q", "quit"),
    ),
)
SHARE_UNFOLDED = 0.01
"""Of all weight: what E unfolds."""
CALLS, HOT, FUNCTION_TABLE, FILES, THREADS, LINES, TYPES, STACKS = range(8)
"""The numbers of the pages."""
FIELDS = (
    ("callers", "Function", "on the stack: a name, or a regular expression"),
    ("symbols", "Taken in", "the function in which the sample was taken"),
    ("dsos", "File", "in which it was taken: libc.so.6, '[kernel*'"),
    ("comms", "Thread", "its name: cc1plus, worker*"),
    ("tids", "Thread id", "numbers: 4242,4243"),
    ("spans", "Time", "START,END in seconds, or 10%-20%"),
)
_NEEDS = {"dsos": "dso", "comms": "comm", "tids": "tid", "spans": "time"}


def exactly(name: str) -> str:
    """A regular expression for a name, which can be shown whatever is in it."""
    return f"^{''.join(re.escape(char) if char.isprintable() else printable(char) for char in name)}$"


def like(name: str) -> str:
    """A wildcard pattern for a name, which can be shown whatever is in it."""
    return "".join(char if char.isprintable() and char != "," else "?" for char in name)


class Page(NamedTuple):
    """A page: its name, and what computes its rows."""

    name: str
    compute: Callable[[Analysis], Rows]


@dataclass
class Shown:
    """What the filters and the event leave, with the rows of the pages that were looked at."""

    analysis: Analysis
    rows: dict[int, Rows] = field(default_factory=dict)
    cursors: dict[int, int] = field(default_factory=dict)


class PageBar(Widget):
    """The names of the pages; a click chooses one."""

    DEFAULT_CSS = "PageBar { height: 1; }"

    def __init__(self, names: list[str], choose: Callable[[int], None]) -> None:
        super().__init__()
        self._names, self._choose = names, choose
        self.current = 0
        self._places: list[tuple[int, int]] = []

    def render(self) -> Text:
        """The names."""
        line = Text(no_wrap=True, end="")
        self._places = []
        for number, name in enumerate(self._names):
            start = len(line.plain)
            what = style("heading") + _REVERSE if number == self.current else style("")
            line.append(f" {number + 1} {name} ", what)
            self._places.append((start, len(line.plain)))
        return line

    def on_click(self, event: events.Click) -> None:
        """Choose the page."""
        for number, (start, end) in enumerate(self._places):
            if start <= event.x < end:
                self._choose(number)


_REVERSE = Style(reverse=True)


class BrowseApp(ProfileApp):
    """The pages of an opened file."""

    CSS = (
        ProfileApp.CSS
        + """
    #head, #detail { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number + 1), f"page({number})", show=False) for number in range(8)),
        Binding("tab", "next_page(1)", show=False, priority=False),
        Binding("shift+tab", "next_page(-1)", show=False),
        Binding("f", "filter", show=False),
        Binding("F", "clear_filters", show=False),
        Binding("x", "narrow", show=False),
        Binding("e", "event", show=False),
        Binding("E", "unfold", show=False),
        Binding("t", "time", show=False),
    ]
    AUTO_FOCUS = "#rows"
    KEY_HELP = (PAGES_HELP, FILTERS_HELP, MOVING, FINDING, FUNCTIONS)

    def __init__(self, opened: OpenedFile, worker: ThreadPoolExecutor | None = None) -> None:
        super().__init__(worker)
        self.opened = opened
        self.pages = [
            Page("Calls", self._calls),
            Page("Hot", self._hot),
            Page("Functions", lambda one: flat_table(one.functions, **self._table_options(one))),
            Page("Files", lambda one: flat_table(one.files, **self._table_options(one))),
            Page("Threads", self._threads),
            Page("Lines", lambda one: flat_table(one.lines, **self._table_options(one))),
            Page("Types", lambda one: type_outline(one.types, exact=self.is_exact)),
            Page("Stacks", self._quality),
        ]
        self.page = CALLS
        self.section = 0
        self.texts: dict[str, str] = {}
        """The filters as they were typed, by name."""
        self.span: tuple[int, int] | None = None
        """The selected time."""
        self._applied: tuple[dict[str, str], tuple[int, int] | None] = {}, None
        """The filters of what is shown."""
        self.shown: Shown | None = None
        self._range = (0, 0)
        self._bar: PageBar | None = None

    def analysis(self) -> Analysis | None:
        """What is shown."""
        return self.shown.analysis if self.shown is not None else None

    def _table_options(self, analysis: Analysis) -> dict[str, Any]:
        origin = analysis.profile.origin
        return {"exact": self.is_exact, "samples": origin is None or not origin.sums}

    def _calls(self, analysis: Analysis) -> "Outline[Any]":
        paths = analysis.paths
        outline = call_outline(paths, paths.roots(), callers=False, exact=self.is_exact)
        outline.unfold_where(lambda node: node.weight >= UNFOLDED * paths.total)
        return outline

    def _hot(self, analysis: Analysis) -> "Outline[Any]":
        return call_outline(analysis.paths, analysis.paths.hot(), callers=True, exact=self.is_exact)

    def _threads(self, analysis: Analysis) -> Rows:
        return flat_table(analysis.threads, children=False, **self._table_options(analysis))

    def _quality(self, analysis: Analysis) -> Rows:
        quality, absent = analysis.quality
        defects = [str(defect) for defect in self._defects()]
        return quality_outline(quality, absent, analysis.profile.origin, defects)

    def _defects(self) -> list[object]:
        recording = self.opened.recording
        return list(recording.defects) if recording is not None else []

    def _lacks(self, page: int) -> str:
        """Why a page has nothing to show; empty if it has."""
        opened = self.opened
        if page == TYPES and opened.recording is None:
            return "data types need a recording (perf.data)"
        for number, needed, words in ((FILES, "dso", "files"), (LINES, "line", "source lines")):
            if page == number and not opened.has(needed):
                return f"this profile has no {words}"
        if page == THREADS and not any(map(opened.has, ("comm", "pid", "tid"))):
            return "this profile has no threads"
        return ""

    def compose(self) -> ComposeResult:
        """The screen from top to bottom."""
        self._bar = PageBar([page.name for page in self.pages], self.action_page)
        yield Static(id="head", markup=False)
        yield TimeBrush()
        yield self._bar
        yield RowsView(id="rows")
        yield Static(id="detail", markup=False)
        yield SearchLine()
        yield KeysLine(KEYS)

    def on_mount(self) -> None:
        """Unwind; until that is done, its progress is shown."""
        self._main = self.screen
        self._list = self.query_one("#rows", RowsView)
        self._brush = self.query_one(TimeBrush)
        self._list.focus()
        self._list.show(None, "reading …")
        self._write_head()
        self.set_interval(0.1, self._show_progress)
        self.run_worker(self._start(), exclusive=True, group="select")

    def _show_progress(self) -> None:
        if self.opened.progress is not None and self._list.rows is None and self.busy:
            step, done, total = self.opened.progress
            share = f"  {100 * done / total:3.0f} %" if total else f"  {done:,}"
            self._list.show(None, f"{step} …{share}")

    async def _start(self) -> None:
        try:
            profile = await self.compute(lambda: self.opened.profile)
        except Exception as error:  # noqa: BLE001 - the program ends with it
            self.fail(error)
            return
        if not len(profile.samples):
            self.exit(1)
            return
        self._range = time_range(profile)
        if not self.opened.has("time") or self._range[0] == self._range[1]:
            self._brush.add_class("-absent")
        await self._select()

    async def _select(self) -> None:
        """Compute what the filters and the event leave, and show it."""
        filters, section = self.filters(), self.section
        try:
            analysis = await self.compute(lambda: Analysis(self.opened, filters, section))
        except UndwarfError as error:
            # What was shown before stays.
            self.texts, self.span = self._applied
            self.say(error)
            await self._show_activity()
            return
        except Exception as error:  # noqa: BLE001 - the program ends with it
            self.fail(error)
            return
        before = self.shown
        self.shown = Shown(analysis)
        self._applied = dict(self.texts), self.span
        if before is not None:
            self._save_cursor(before)
            self.shown.cursors = dict.fromkeys(range(len(self.pages)), 0)
        self._write_head()
        await self._show_page()
        await self._show_activity()

    def filters(self) -> Filters:
        """The filters that were chosen here. Raises ValueError for texts that are none."""
        texts = self.texts
        spans: list[tuple[int, int]] = []
        if texts.get("spans"):
            spans = resolve(parse_spans(texts["spans"]), *self._range)
        if self.span is not None:
            spans = [self.span]
        from undwarf.views.frame_filters import split_names

        def names(name: str) -> tuple[str, ...]:
            return tuple(split_names(texts.get(name, "")))

        return Filters(
            spans=tuple(spans),
            tids=tuple(int(part) for part in texts.get("tids", "").split(",") if part.strip()),
            comms=tuple(part.strip() for part in texts.get("comms", "").split(",") if part.strip()),
            symbols=names("symbols"),
            dsos=names("dsos"),
            callers=(texts["callers"],) if texts.get("callers") else (),
        )

    def _write_head(self) -> None:
        width = self.size.width
        left = Text(no_wrap=True, end="")
        left.append(fit(printable(self.opened.path.rpartition("/")[2] or self.opened.path), 24), style("heading"))
        right = Text(no_wrap=True, end="")
        if self.shown is not None:
            analysis = self.shown.analysis
            many = len(self.opened.sections)
            number = f" ({self.section % many + 1} of {many}, e: next)" if many > 1 else ""
            left.append(f"  {fit(printable(analysis.name), 24)}{number}")
            chosen = self._chosen()
            count, all_ = len(analysis.profile.samples), len(self.opened.profile.samples)
            if chosen:
                words = fit(printable(", ".join(chosen)), max(10, width - cells(left.plain) - 32))
                right.append(words, style("warning"))
                right.append(f"  {count:,} of {all_:,} samples")
            else:
                right.append(f"{all_:,} samples")
        gap = max(2, width - cells(left.plain) - cells(right.plain))
        self._main.query_one("#head", Static).update(Text.assemble(left, " " * gap, right, no_wrap=True))

    def _chosen(self) -> list[str]:
        """The filters in words."""
        titles = {name: title for name, title, _words in FIELDS}
        found = [
            f"{titles[name].lower()} {value}"
            for name, value in self.texts.items()
            if name != "spans" or self.span is None
        ]
        if self.span is not None:
            found.append("selected time")
        return found

    async def _show_activity(self) -> None:
        """The bar of activity, of all times."""
        shown = self.shown
        if shown is None or self._brush.has_class("-absent"):
            return
        parts, (first, last) = self._brush.parts, self._range
        filters = self.filters()._replace(spans=())
        analysis = shown.analysis

        def work() -> Activity:
            from undwarf.views.frame_filters import filtered

            whole = self.opened.profile
            profile = filtered(whole, filters) if filters else whole
            return activity(profile, parts, first, last, analysis.event)

        try:
            found = await self.compute(work)
        except UndwarfError:
            return
        unit = analysis.unit

        def rate(weight: float) -> str:
            if unit == "ns":
                return f"up to {weight:.1f} CPUs"
            return f"up to {weight * 1e9:,.0f} {unit}/s" if unit else ""

        self._brush.show(found, rate, self.span)

    async def _show_page(self) -> None:
        shown, page = self.shown, self.page
        if self._bar is not None:
            self._bar.current = page
            self._bar.refresh()
        if shown is None:
            return
        if lacks := self._lacks(page):
            self._list.show(None, lacks)
            return
        if page not in shown.rows:
            self._list.show(None, "computing …")
            try:
                shown.rows[page] = await self.compute(lambda: self.pages[page].compute(shown.analysis))
            except UndwarfError as error:
                self._list.show(None, printable(error.what))
                return
            except Exception as error:  # noqa: BLE001 - the program ends with it
                self.fail(error)
                return
        if shown is self.shown and page == self.page:
            self._list.show(shown.rows[page], "no samples", shown.cursors.get(page, 0))

    def _save_cursor(self, shown: Shown) -> None:
        if self._list.rows is shown.rows.get(self.page):
            shown.cursors[self.page] = self._list.cursor

    def action_page(self, number: int) -> None:
        """Show a page."""
        if len(self.screen_stack) == 1 and number != self.page:
            if self.shown is not None:
                self._save_cursor(self.shown)
            self.page = number
            self._list.focus()
            self.run_worker(self._show_page(), exclusive=True, group="page")

    def action_next_page(self, step: int) -> None:
        """Show the next page; on other screens the focus moves."""
        if len(self.screen_stack) == 1:
            self.action_page((self.page + step) % len(self.pages))
        elif step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_unfold(self) -> None:
        """Unfold the row down to 1 %."""
        view = self.rows_view()
        analysis = self.analysis()
        if view is None or analysis is None or not isinstance(view.rows, Outline) or not len(view.rows):
            return
        least = SHARE_UNFOLDED * analysis.paths.total
        view.rows.unfold_where(lambda node: getattr(node, "weight", 0) >= least, view.cursor)
        view.updated()

    def action_sort(self) -> None:
        """Sort by the next column."""
        view = self.rows_view()
        if view is not None:
            view.action_sort()

    def select(self) -> None:
        """Apply filters and event."""
        if self.shown is not None:
            self.run_worker(self._select(), exclusive=True, group="select")

    def action_event(self) -> None:
        """The next event."""
        if len(self.screen_stack) == 1 and self.shown is not None and len(self.opened.sections) > 1:
            self.section = (self.section + 1) % len(self.opened.sections)
            self.select()

    def action_time(self) -> None:
        """Select a time."""
        if len(self.screen_stack) == 1 and not self._brush.has_class("-absent"):
            self._brush.focus()

    def on_time_brush_focused(self) -> None:
        """Its keys are shown while it has the focus."""
        words = "← → move   Space begins   Enter selects   Backspace: all of it   Esc back"
        self._main.query_one("#detail", Static).update(Text(words, style("warning"), no_wrap=True))

    def on_time_brush_left(self) -> None:
        """The rows have the focus again."""
        self._list.focus()
        self._list.post_message(RowsView.Moved(self._list))

    def on_time_brush_selected(self, event: TimeBrush.Selected) -> None:
        """Show only this time."""
        self.span = event.span
        self.select()

    def action_clear_filters(self) -> None:
        """Show everything."""
        if self.texts or self.span is not None:
            self.texts, self.span = {}, None
            self.select()

    def action_narrow(self) -> None:
        """Only what the current row is about."""
        view = self._list
        if len(self.screen_stack) > 1 or view.rows is None or not len(view.rows):
            return
        item, function = view.rows.item(view.cursor), view.rows.function(view.cursor)
        if function is not None:
            self.texts["callers"] = exactly(function.name)
        elif isinstance(item, Row) and self.page == FILES:
            self.texts["dsos"] = like(item.key[0])
        elif isinstance(item, Row) and self.page == THREADS:
            keys = self.shown.analysis.threads.keys if self.shown is not None else ()
            values = dict(zip(keys, item.key, strict=True))
            if "tid" in values:
                self.texts["tids"] = values["tid"]
            elif "comm" in values:
                self.texts["comms"] = like(values["comm"])
        else:
            return
        self.select()

    def action_filter(self) -> None:
        """Choose filters."""
        if len(self.screen_stack) > 1 or self.shown is None:
            return
        profile = self.opened.profile
        from undwarf.profile.labels import short_dso

        suggested = {
            "callers": sorted(set(profile.functions.name)),
            "symbols": sorted(set(profile.functions.name)),
            "dsos": sorted({short_dso(image) for image in profile.images}),
            "comms": sorted(set(profile.comms)),
        }
        fields = [one for one in FIELDS if self.opened.has(_NEEDS.get(one[0], "")) or one[0] not in _NEEDS]
        self.push_screen(FilterScreen(fields, self.texts, suggested), self._take_filters)

    def _take_filters(self, texts: dict[str, str] | None) -> None:
        if texts is None or (texts == self.texts):
            return
        before = self.texts
        self.texts = texts
        if texts.get("spans") != before.get("spans"):
            self.span = None
        try:
            self.filters()
        except ValueError:
            self.texts = before
            self.notify("thread ids are numbers, times START,END in seconds", severity="warning", markup=False)
            return
        self.select()

    def on_rows_view_opened(self, event: RowsView.Opened) -> None:
        """A row of a table was chosen: show its function, or what it is about alone."""
        view = event.view
        if view.rows is None:
            return
        function = view.rows.function(view.cursor)
        if function is not None:
            self.open_function(Function(*function))
        elif view is self._list and self.page in (FILES, THREADS):
            self.action_narrow()
            self.action_page(FUNCTION_TABLE)

    def on_rows_view_moved(self, event: RowsView.Moved) -> None:
        """Show the row in full, and which match it is."""
        view = event.view
        if view is not self._list or self._brush.has_focus:
            return
        line = Text(no_wrap=True, end="", overflow="ellipsis")
        if view.rows is not None and len(view.rows):
            line.append(printable(view.rows.detail(view.cursor)), style("detail"))
            if view.searched is not None:
                number = view.rows.match_number(view.cursor)
                words = f"{number:,} of {view.found:,}" if number else f"{view.found:,}"
                many = "match" if view.found == 1 else "matches"
                line = Text.assemble((f"{words} {many}", style("warning")), "  n/N next/previous, Esc ends  ", line)
        self._main.query_one("#detail", Static).update(line)

    def on_resize(self, _event: events.Resize) -> None:
        """The first line has another length."""
        if self.shown is not None:
            self._write_head()

    def on_time_brush_resized(self) -> None:
        """The bar has other parts."""
        if self.shown is not None:
            self.run_worker(self._resized(), exclusive=True, group="resize")

    async def _resized(self) -> None:
        await asyncio.sleep(0.05)
        await self._show_activity()
