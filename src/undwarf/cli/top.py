"""``undwarf top``"""

import re
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import Number, notify
from undwarf.cli.record import sampling_options, settings_of
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.live.top import Picture
    from undwarf.outputs.top_json import TopTable
    from undwarf.profile.model import Profile
    from undwarf.views.flat_profile import Row

SORT = "comm,dso,sym"
_TITLES = {"comm": "Command", "dso": "Shared Object", "sym": "Symbol", "event": "Event"}
_ROWS_OF = ("comm,dso,sym", "dso,sym", "sym", "dso", "comm")
"""The sort keys through which the key r cycles."""
CALLERS = 12
"""The most lines of callers below a function."""
_KEYS = "q quit  s self  c with callees  r rows  / filter  Enter callers  p pause  i idle  h help"
_HELP = """\
q          quit
s          sort by the weight of functions alone
c          sort by the weight of functions with their callees
r          change what a row is: threads, files, functions
e          show the next event, if there are several
/          show only rows with a text: type it, then Enter; Esc shows all rows
up, down   choose a row
Enter      show the callers of the chosen function, or hide them
i          show or hide idle CPUs
K, U       show or hide functions of the kernel, of programs
p, space   pause the display; sampling continues
h, ?       this help; any key leaves it
"""
_ESCAPES = {"[A": "up", "OA": "up", "[B": "down", "OB": "down", "[5~": "page up", "[6~": "page down"}
_STEPS = {"up": -1, "down": 1, "page up": -10, "page down": 10}
_ESCAPE = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-Za-z])?")


@click.command(
    "top",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  undwarf top                          everything, every two seconds; q ends it
  undwarf top -p 4242 --sort sym
  undwarf top --json --iterations 1 | jq '.events[0].rows[:5]'
  undwarf top -a --interval 5 --iterations 3 > top.txt

On a terminal: q quits, s and c sort by the weight of functions alone or with their callees, / filters, Enter shows
callers, p pauses, h shows all keys. Idle CPUs are left out; i shows them.""",
)
@sampling_options
@click.option("-s", "--sort", "keys", metavar="KEYS", default=SORT, show_default=True, help="Keys that make a row.")
@click.option(
    "--interval", metavar="SECONDS", type=Number(0.2), default=2.0, show_default=True, help="Time between updates."
)
@click.option("--iterations", metavar="N", type=click.IntRange(1), default=None, help="Stop after N updates.")
@click.option(
    "--rows", metavar="N", type=click.IntRange(1), default=None, help="Maximum number of rows.  [default: all that fit]"
)
@click.option("--children", is_flag=True, help="Sort by the weight of functions with their callees.")
@click.option("--idle", is_flag=True, help="Include idle CPUs.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each update.")
def command(
    keys: str,
    interval: float,
    iterations: int | None,
    rows: int | None,
    children: bool,
    idle: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Show the hot functions of running programs in the terminal."""
    from undwarf.live.sampling.sampler import Sampler
    from undwarf.live.top import Top
    from undwarf.views.flat_profile import parse_keys

    if not (options["command"] or options["pids"] or options["tids"]):
        options["everything"] = True
    if options["mode"] in ("fp", "dump"):
        raise UsageError(f"top does not go with --unwind {options['mode']}", "it unwinds here", "leave --unwind out")
    if options["frequency"] is None and options["period"] is None:
        options["frequency"] = 499
    sort = parse_keys(keys)
    wrong = [key for key in sort if key not in _TITLES]
    if wrong:
        raise UsageError(f"top cannot sort by {wrong[0]}", "", f"sort keys are {', '.join(_TITLES)}")
    settings = settings_of(options)
    settings.piped = as_json
    sampler = Sampler(settings)
    try:
        with nullcontext() if as_json else _screen() as screen:
            view: View | JsonView
            if as_json:
                view = JsonView(sort, rows, iterations, children=children, idle=idle)
            else:
                view = View(sort, rows, iterations, screen, children=children, idle=idle)

            def tick() -> None:
                sampler.stopped = sampler.stopped or not view.keys()

            sampler.tick = tick
            Top(sampler, interval, view.show, time.monotonic).run()
    finally:
        sampler.close()
    for note in sampler.summary.notes:
        notify("note", note)
    if sampler.summary.lost:
        notify("warning", f"{sampler.summary.lost:,} samples were lost: give a larger --buffer, or a lower -F")
    if not sampler.summary.samples:
        notify("warning", "no samples: nothing ran long enough on a CPU")
    return sampler.summary.status


def short(name: str) -> str:
    """The last part of a path; other names as they are."""
    return name.rpartition("/")[2] or name if name.startswith("/") else name


def keys_in(text: str) -> list[str]:
    """The keys in a terminal's input: characters, and names for escape sequences."""
    keys: list[str] = []
    while text:
        escape = _ESCAPE.match(text)
        if escape:
            keys.append(_ESCAPES.get(escape[1] or "", "escape" if not escape[1] else ""))
            text = text[escape.end() :]
        else:
            keys.append({"\r": "enter", "\n": "enter", "\x7f": "delete", "\b": "delete"}.get(text[0], text[0]))
            text = text[1:]
    return [key for key in keys if key]


def in_order(rows: "list[Row]", children: bool) -> "list[Row]":
    """Rows by falling weight: their own, or with ``children`` that with their callees."""
    if children:
        return sorted(rows, key=lambda row: (-row.children_weight, -row.self_weight, row.key))
    return sorted(rows, key=lambda row: (-row.self_weight, -row.children_weight, row.key))


class View:
    """Shows pictures as text: on a terminal, each replaces the previous one."""

    def __init__(
        self,
        keys: tuple[str, ...],
        rows: int | None,
        iterations: int | None,
        screen: "Screen | None",
        *,
        children: bool = False,
        idle: bool = False,
    ) -> None:
        self._keys = keys
        self._rows = rows
        self._remaining = iterations
        self._screen = screen
        self._children = children
        self._idle = idle
        self._paused = self._quit = self._help = self._typing = False
        self._hidden: set[bool] = set()
        """Hidden functions: True, the kernel's; False, those of programs."""
        self._filter = ""
        self._chosen = 0
        self._open: set[tuple[str, ...]] = set()
        """Rows whose callers are shown."""
        self._event = 0
        self._shown: list[tuple[str, ...]] = []
        self._picture: Picture | None = None
        self._size = (0, 0)
        self._marked = -1

    def show(self, picture: "Picture") -> bool:
        """Show a picture; False if it was the last one."""
        if self._screen is None:
            for line in self.lines(picture, 100_000, self._rows or 40):
                click.echo(line)
            click.echo()
        elif not self._paused:
            self._picture = picture
            self._draw()
        if self._remaining is not None:
            self._remaining -= 1
        return not self._quit and (self._remaining is None or self._remaining > 0)

    def keys(self) -> bool:
        """Handle pressed keys and a changed size of the terminal; False to quit."""
        if self._screen is None:
            return True
        pressed = keys_in(self._screen.pressed())
        for key in pressed:
            if self._typing:
                self._type(key)
            else:
                self._press(key)
        if pressed or self._screen.size() != self._size:
            self._draw()
        return not self._quit

    def _type(self, key: str) -> None:
        """Handle a key while the filter is typed."""
        if key in ("enter", "\x03"):
            self._typing = False
        elif key == "escape":
            self._typing, self._filter = False, ""
        elif key == "delete":
            self._filter = self._filter[:-1]
        elif len(key) == 1 and key.isprintable():
            self._filter += key

    def _press(self, key: str) -> None:
        if self._help:
            self._help = False
            self._quit = key in ("q", "Q", "\x03", "\x04")
            return
        if key in ("q", "Q", "\x03", "\x04"):
            self._quit = True
        elif key in ("s", "c"):
            self._children = key == "c"
        elif key == "r":
            current = ",".join(self._keys)
            number = _ROWS_OF.index(current) + 1 if current in _ROWS_OF else 0
            self._keys = tuple(_ROWS_OF[number % len(_ROWS_OF)].split(","))
        elif key in ("p", " "):
            self._paused = not self._paused
        elif key == "i":
            self._idle = not self._idle
        elif key in ("K", "U"):
            self._hidden ^= {key == "K"}
        elif key == "e":
            self._event += 1
        elif key == "/":
            self._typing, self._filter = True, ""
        elif key == "escape":
            self._filter = ""
        elif key in ("h", "?"):
            self._help = True
        elif key == "enter" and self._chosen < len(self._shown):
            self._open ^= {self._shown[self._chosen]}
        elif key in _STEPS:
            self._chosen = max(0, min(self._chosen + _STEPS[key], len(self._shown) - 1))

    def _draw(self) -> None:
        assert self._screen is not None
        self._size = width, height = self._screen.size()
        from undwarf.outputs.terminal.style import fit

        rows = max(1, min(self._rows or height, height - 4))
        marked = -1
        if self._help:
            lines = _HELP.splitlines()
        elif self._picture is None:
            lines = ["sampling ..."]
        else:
            lines = list(self.lines(self._picture, width, rows))[: rows + 2]
            marked = self._marked
        lines = [fit(line, width) for line in lines[: height - 2]]
        lines += [""] * (height - 2 - len(lines))
        if self._typing:
            footer = f"filter: {printable(self._filter)}_   Enter: done  Esc: all rows"
        else:
            footer = ("paused; p goes on  " if self._paused else "") + _KEYS
        lines.append(fit(footer, width))
        self._screen.draw(lines, marked)

    def _head(self, picture: "Picture", event: str, idle: float) -> str:
        parts = [f"{picture.samples:,} samples of {event} in {picture.seconds:.1f} s"]
        if picture.lost:
            parts[0] += f", {picture.lost:,} lost"
        parts.append("functions with all they call" if self._children else "functions themselves")
        if idle >= 0.0005 and not self._idle:
            parts.append(f"{100 * idle:.1f} % idle, not shown")
        parts += [f"without {'the kernel' if kernel else 'programs'}" for kernel in sorted(self._hidden)]
        if self._filter and not self._typing:
            parts.append(f"with {self._filter!r}")
        return printable("; ".join(parts))

    def lines(self, picture: "Picture", width: int, rows: int) -> Iterator[str]:
        """The text of a picture."""
        from undwarf.outputs.terminal.style import fit, pad
        from undwarf.views.flat_profile import flat_profile
        from undwarf.views.idle_samples import without_idle
        from undwarf.views.sample_selection import samples_by_event

        profile = picture.profile
        if not self._idle:
            profile = without_idle(profile)
        # Weights of two events cannot be added.
        event: int | None = None
        events = [event.name for event in profile.events]
        if "event" not in self._keys:
            used = [number for number, count in enumerate(samples_by_event(picture.profile)) if count]
            event = used[self._event % len(used)] if used else None
            names = events[event] if event is not None else events[0]
        else:
            names = ", ".join(sorted({name for name in events if not name.startswith("dummy")}))
        flat = flat_profile(profile, self._keys, event=event, children=True)
        with_idle = flat_profile(picture.profile, ("comm",), event=event, children=False).total
        idle = 1 - (flat.total if flat.samples else 0) / (with_idle or 1)
        wanted = self._filter.lower()
        shown = [
            row
            for row in in_order(flat.rows, self._children)
            if ("sym" not in self._keys or row.kernel not in self._hidden)
            and (not wanted or any(wanted in text.lower() for text in row.key))
        ][:rows]
        self._shown = [row.key for row in shown]
        self._chosen = max(0, min(self._chosen, len(shown) - 1))
        yield fit(self._head(picture, names, idle), width)
        texts = [
            [printable(text if key != "dso" else short(text)) for key, text in zip(self._keys, row.key, strict=True)]
            for row in shown
        ]
        titles = [_TITLES[key] for key in self._keys]
        sizes = [
            min(max([len(titles[i]), *(len(text[i]) for text in texts)]), max(12, width // (len(titles) + 1)))
            for i in range(len(titles) - 1)
        ]
        yield fit("Children    Self  " + "  ".join([*map(pad, titles, sizes), titles[-1]]), width)
        total = flat.total or 1
        line_number = 2
        for number, (row, text) in enumerate(zip(shown, texts, strict=True)):
            if number == self._chosen:
                self._marked = line_number
            cells = [pad(fit(text[i], sizes[i]), sizes[i]) for i in range(len(sizes))]
            share = f"{100 * row.children_weight / total:7.2f}% {100 * row.self_weight / total:6.2f}%"
            yield fit(share + "  " + "  ".join([*cells, text[-1]]), width)
            line_number += 1
            if row.key in self._open:
                for line in self._callers(profile, event, row, width):
                    yield fit(line, width)
                    line_number += 1

    def _callers(self, profile: "Profile", event: int | None, row: "Row", width: int) -> list[str]:
        """The callers of a row's function, with their shares of the total weight."""
        from undwarf.outputs.report import tree_lines
        from undwarf.outputs.terminal.style import Paint
        from undwarf.views.call_tree import CallTree, callers

        if "sym" not in self._keys:
            return [f"{'':18}callers are those of functions: r makes rows of them"]
        name = row.key[self._keys.index("sym")]
        tree = callers(profile, event=event, only={name}, min_share=0.002)
        file = row.key[self._keys.index("dso")] if "dso" in self._keys else None
        roots = [caller for root in tree.roots if file in (None, root.dso) for caller in root.children]
        lines: list[str] = []
        times = 1
        for line in tree_lines(CallTree(tree.total, roots), Paint(False), max(40, width - 20)):
            # Direct recursion is one line.
            if lines and line.strip().partition("  ")[0] == lines[-1].strip().partition("  ")[0]:
                times += 1
                continue
            if times > 1:
                lines[-1] += f"  {times} times"
            lines.append(line)
            times = 1
        if times > 1:
            lines[-1] += f"  {times} times"
        more = [f"{'':18}..."] if len(lines) > CALLERS else []
        return [f"{'':9}{line}" for line in lines[:CALLERS] if line] + more or [f"{'':18}no samples end in it"]


class JsonView:
    """Writes pictures as lines of JSON."""

    def __init__(
        self, keys: tuple[str, ...], rows: int | None, iterations: int | None, *, children: bool, idle: bool
    ) -> None:
        self._keys = keys
        self._rows = rows
        self._remaining = iterations
        self._children = children
        self._idle = idle

    def show(self, picture: "Picture") -> bool:
        """Write a picture; False if it was the last one."""
        from undwarf.outputs.top_json import TopUpdate, write

        tables = self._tables(picture)
        write(TopUpdate(picture.seconds, picture.samples, picture.lost, self._keys, tables), sys.stdout.buffer)
        if self._remaining is not None:
            self._remaining -= 1
        return self._remaining is None or self._remaining > 0

    def keys(self) -> bool:
        """There are no keys."""
        return True

    def _tables(self, picture: "Picture") -> "list[TopTable]":
        from undwarf.outputs.top_json import TopTable
        from undwarf.profile.grouping import sums, widen
        from undwarf.views.flat_profile import flat_profile
        from undwarf.views.idle_samples import without_idle
        from undwarf.views.report import unit_of_weights

        whole = picture.profile
        busy = whole if self._idle else without_idle(whole)
        in_sums = memoryview(array("Q", picture.counts))
        samples = sums(widen(whole.samples.columns.event), in_sums, len(whole.events))
        tables = []
        for event, count in enumerate(samples):
            if not count:
                continue
            flat = flat_profile(busy, self._keys, event=event, children=True)
            weight = flat.total if flat.samples else 0
            with_idle = flat_profile(whole, ("comm",), event=event, children=False).total
            flat = flat._replace(total=weight, rows=in_order(flat.rows, self._children)[: self._rows])
            unit = unit_of_weights(whole, event)
            idle_share = 1 - weight / with_idle if with_idle else 0.0
            tables.append(TopTable(whole.events[event].name, unit, count, flat, idle_share))
        return tables


class Screen:
    """The terminal in full-screen mode."""

    def __init__(self, console: Any, live: Any) -> None:
        self._console = console
        self._live = live

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return self._console.size.width, self._console.size.height

    def draw(self, lines: list[str], marked: int = -1) -> None:
        """Show these lines, the one with the number ``marked`` highlighted."""
        from rich.text import Text

        text = Text(no_wrap=True, overflow="crop")
        for number, line in enumerate(lines):
            text.append("\n" if number else "")
            text.append(line, style="reverse" if number == marked else "")
        self._live.update(text, refresh=True)

    def pressed(self) -> str:
        """The input since the last call."""
        import os
        import select

        text = ""
        with suppress(OSError):
            while select.select([0], [], [], 0)[0]:
                data = os.read(0, 64)
                if not data:
                    break
                text += data.decode("latin-1")
        return text


@contextmanager
def _screen() -> "Iterator[Screen | None]":
    """The terminal in full-screen mode; None without one."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        yield None
        return
    import termios
    import tty

    from rich.console import Console
    from rich.live import Live

    from undwarf.outputs.terminal.style import wants_colour

    console = Console(no_color=not wants_colour(sys.stdout))
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            screen = Screen(console, live)
            screen.draw(["sampling ..."])
            yield screen
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
