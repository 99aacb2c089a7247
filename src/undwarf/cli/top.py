"""``undwarf top``"""

import sys
import time
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import Number, notify
from undwarf.cli.record import sampling_options, settings_of
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.live.sampling.sampler import Sampler
    from undwarf.live.top import Picture
    from undwarf.outputs.top_json import TopTable
    from undwarf.views.flat_profile import Row

SORT = "comm,dso,sym"
_MOST_COLUMNS = 100
_TITLES = {"comm": "Command", "dso": "Shared Object", "sym": "Symbol", "event": "Event"}


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
callers and callees, a annotates, p pauses, ? shows all keys. Idle CPUs are left out; i shows them.""",
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
        if not as_json and sys.stdout.isatty() and sys.stdin.isatty():
            _on_terminal(sampler, interval, sort, rows=rows, iterations=iterations, children=children, idle=idle)
        else:
            kind = JsonView if as_json else TextView
            view = kind(sort, rows, iterations, children=children, idle=idle)
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


def _on_terminal(sampler: "Sampler", interval: float, keys: tuple[str, ...], **options: Any) -> None:
    """Sample in a thread beside the screen."""
    from undwarf.live.top import Top
    from undwarf.terminal_ui.top_app import Code, TopApp

    def sample(show: "Callable[[Picture], bool]") -> None:
        sampler.tick = lambda: setattr(sampler, "stopped", sampler.stopped or app.is_over)
        top.append(Top(sampler, interval, show, time.monotonic))
        top[0].run()

    top: list[Top] = []
    code = Code(lambda profile: top[0].with_lines(profile), lambda: top[0].disassembly())
    app = TopApp(sample, keys, code=code, **options)
    app.run()
    app.wait()
    if app.failure is not None:
        raise app.failure


def short(name: str) -> str:
    """The last part of a path; other names as they are."""
    return name.rpartition("/")[2] or name if name.startswith("/") else name


def in_order(rows: "list[Row]", children: bool) -> "list[Row]":
    """Rows by falling weight: their own, or with ``children`` that with their callees."""
    if children:
        return sorted(rows, key=lambda row: (-row.children_weight, -row.self_weight, row.key))
    return sorted(rows, key=lambda row: (-row.self_weight, -row.children_weight, row.key))


class TextView:
    """Prints pictures as text, one after the other."""

    def __init__(
        self, keys: tuple[str, ...], rows: int | None, iterations: int | None, *, children: bool, idle: bool
    ) -> None:
        self._keys = keys
        self._rows = rows or 40
        self._remaining = iterations
        self._children = children
        self._idle = idle

    def show(self, picture: "Picture") -> bool:
        """Print a picture; False if it was the last one."""
        for line in self.lines(picture):
            click.echo(line)
        click.echo()
        if self._remaining is not None:
            self._remaining -= 1
        return self._remaining is None or self._remaining > 0

    def _head(self, picture: "Picture", event: str, idle: float) -> str:
        parts = [f"{picture.samples:,} samples of {event} in {picture.seconds:.1f} s"]
        if picture.lost:
            parts[0] += f", {picture.lost:,} lost"
        parts.append("functions with all they call" if self._children else "functions themselves")
        if idle >= 0.0005 and not self._idle:
            parts.append(f"{100 * idle:.1f} % idle, not shown")
        return printable("; ".join(parts))

    def lines(self, picture: "Picture") -> Iterator[str]:
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
            event = used[0] if used else None
            names = events[event] if event is not None else events[0]
        else:
            names = ", ".join(sorted({name for name in events if not name.startswith("dummy")}))
        flat = flat_profile(profile, self._keys, event=event, children=True)
        with_idle = flat_profile(picture.profile, ("comm",), event=event, children=False).total
        idle = 1 - (flat.total if flat.samples else 0) / (with_idle or 1)
        yield self._head(picture, names, idle)
        shown = in_order(flat.rows, self._children)[: self._rows]
        texts = [
            [printable(text if key != "dso" else short(text)) for key, text in zip(self._keys, row.key, strict=True)]
            for row in shown
        ]
        titles = [_TITLES[key] for key in self._keys]
        sizes = [
            min(max([len(titles[i]), *(len(text[i]) for text in texts)]), _MOST_COLUMNS) for i in range(len(titles) - 1)
        ]
        yield "Children    Self  " + "  ".join([*map(pad, titles, sizes), titles[-1]])
        total = flat.total or 1
        for row, text in zip(shown, texts, strict=True):
            cells = [pad(fit(text[i], sizes[i]), sizes[i]) for i in range(len(sizes))]
            share = f"{100 * row.children_weight / total:7.2f}% {100 * row.self_weight / total:6.2f}%"
            yield share + "  " + "  ".join([*cells, text[-1]])


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
