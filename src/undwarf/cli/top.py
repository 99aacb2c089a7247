"""``undwarf top``"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import Number, talk
from undwarf.cli.record import sampling_options, settings_of
from undwarf.errors import UsageError
from undwarf.outputs.escape import printable

if TYPE_CHECKING:
    from undwarf.live.record_top import Picture
    from undwarf.views.hot import Row

SORT = "comm,dso,sym"
_KEYS = "q quit   c with all they call   s themselves   p pause"
_PAUSED_KEYS = "paused; p goes on   q quit   c with all they call   s themselves"
_TITLES = {"comm": "Command", "dso": "Shared Object", "sym": "Symbol", "event": "Event"}


@click.command(
    "top",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  undwarf top                          everything, every two seconds; q ends it
  undwarf top -p 4242 --sort sym
  undwarf top -a --interval 5 --iterations 3 > top.txt

On a terminal: q quits, c sorts by what functions and all they call take, s by what they take themselves, p pauses.""",
)
@sampling_options
@click.option("--sort", "keys", metavar="KEYS", default=SORT, show_default=True, help="What makes a row.")
@click.option("--interval", metavar="SECONDS", type=Number(0.2), default=2.0, show_default=True,
              help="Time between two pictures.")  # fmt: skip
@click.option("--iterations", metavar="N", type=click.IntRange(1), default=None, help="Stop after N pictures.")
@click.option(
    "--rows", metavar="N", type=click.IntRange(1), default=None, help="Rows of a picture.  [default: all that fit]"
)
def command(keys: str, interval: float, iterations: int | None, rows: int | None, **options: Any) -> int:
    """Hot functions of what runs now, with whole stacks, in the terminal."""
    from undwarf.live.record_top import Top
    from undwarf.live.sampler import Sampler
    from undwarf.views.hot import parse_keys

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
    sampler = Sampler(settings_of(options))
    try:
        with _screen() as screen:
            view = View(sort, rows, iterations, screen)

            def tick() -> None:
                sampler.stopped = sampler.stopped or not view.keys()

            sampler.tick = tick
            Top(sampler, interval, view.show, time.monotonic).run()
    finally:
        sampler.close()
    for note in sampler.summary.notes:
        talk("note", note)
    if sampler.summary.lost:
        talk("warning", f"{sampler.summary.lost:,} samples were lost: give a larger --buffer, or a lower -F")
    if not sampler.summary.samples:
        talk("warning", "no samples: nothing ran on a CPU long enough")
    return sampler.summary.status


def short(name: str) -> str:
    """A file without its folders; other names of objects as they are."""
    return name.rpartition("/")[2] or name if name.startswith("/") else name


class View:
    """Pictures as text: on a terminal each takes the place of the last one."""

    def __init__(
        self, keys: tuple[str, ...], rows: int | None, iterations: int | None, screen: "Screen | None"
    ) -> None:
        self._keys = keys
        self._rows = rows
        self._left = iterations
        self._screen = screen
        self._children = True
        self._paused = self._quit = False
        self._last: Picture | None = None
        self._size = (0, 0)

    def show(self, picture: "Picture") -> bool:
        """Show it; False when it was the last one."""
        if self._screen is None:
            for line in self.lines(picture, 100_000, self._rows or 40):
                click.echo(line)
            click.echo()
        elif not self._paused:
            self._last = picture
            self._draw()
        if self._left is not None:
            self._left -= 1
        return not self._quit and (self._left is None or self._left > 0)

    def keys(self) -> bool:
        """Do what keys say that were pressed, and fit the picture to a terminal of another size; False to end."""
        if self._screen is None:
            return True
        pressed = self._screen.pressed()
        for key in pressed:
            self._quit = self._quit or key in "qQ\x03\x04"
            if key in "cs":
                self._children = key == "c"
            if key == "p":
                self._paused = not self._paused
        if pressed or self._screen.size() != self._size:
            self._draw()
        return not self._quit

    def _draw(self) -> None:
        assert self._screen is not None
        self._size = width, height = self._screen.size()
        from undwarf.outputs.paint import fit

        rows = max(1, min(self._rows or height, height - 4))
        lines = list(self.lines(self._last, width, rows)) if self._last is not None else ["sampling ..."]
        lines += [""] * (height - 2 - len(lines))
        lines.append(fit(_PAUSED_KEYS if self._paused else _KEYS, width))
        self._screen.draw(lines)

    def lines(self, picture: "Picture", width: int, rows: int) -> Iterator[str]:
        """The text of a picture."""
        from undwarf.outputs.paint import fit, pad
        from undwarf.views.hot import hot

        profile = picture.profile
        flat = hot(profile, self._keys, children=True)
        order: Callable[[Row], Any] = (
            (lambda row: (-row.children_weight, -row.self_weight, row.key))
            if self._children
            else (lambda row: (-row.self_weight, -row.children_weight, row.key))
        )
        shown = sorted(flat.rows, key=order)[:rows]
        names = ", ".join(sorted({event.name for event in profile.events if not event.name.startswith("dummy")}))
        lost = f", {picture.lost:,} lost" if picture.lost else ""
        by = "with all they call" if self._children else "themselves"
        head = f"{picture.samples:,} samples of {names} in {picture.seconds:.1f} s{lost}; functions {by}"
        yield fit(printable(head), width)
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
        for row, text in zip(shown, texts, strict=True):
            cells = [pad(fit(text[i], sizes[i]), sizes[i]) for i in range(len(sizes))]
            share = f"{100 * row.children_weight / total:7.2f}% {100 * row.self_weight / total:6.2f}%"
            yield fit(share + "  " + "  ".join([*cells, text[-1]]), width)


class Screen:
    """The terminal, while it is ours."""

    def __init__(self, console: Any, live: Any) -> None:
        self._console = console
        self._live = live

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return self._console.size.width, self._console.size.height

    def draw(self, lines: list[str]) -> None:
        """Show these lines."""
        from rich.text import Text

        self._live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

    def pressed(self) -> str:
        """The keys that were pressed since the last call."""
        import os
        import select

        found = ""
        with suppress(OSError):
            while select.select([0], [], [], 0)[0]:
                data = os.read(0, 64)
                if not data:
                    break
                found += data.decode("latin-1")
        return found


@contextmanager
def _screen() -> "Iterator[Screen | None]":
    """The terminal as a screen of its own, if there is one; None elsewhere."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        yield None
        return
    import termios
    import tty

    from rich.console import Console
    from rich.live import Live

    console = Console()
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            screen = Screen(console, live)
            screen.draw(["sampling ..."])
            yield screen
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
