"""Texts of the terminal's pages: names escaped, in the user's styles, never read as markup."""

from functools import cache

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import Distinct
from undwarf.outputs.terminal.style import fit, heat, sgr_of

CURSOR = Style(reverse=True)
MATCH = Style(bold=True, underline=True, color="yellow")


@cache
def _style(sgr: str) -> Style:
    """The style of SGR parameters."""
    spans = Text.from_ansi(f"\x1b[{sgr}mx\x1b[0m").spans
    return next((span.style for span in spans if isinstance(span.style, Style)), Style())


def style(what: str) -> Style:
    """A style by its name in the configuration; no style for an empty name."""
    return _style(sgr_of(what)) if what else Style()


def text(value: str, what: str = "") -> Text:
    """Any text on one line, escaped."""
    return Text(printable(value), style(what), no_wrap=True, end="")


def shown_weight(weight: int, total: int, *, exact: bool) -> Text:
    """A weight as its share of the total, or as a number; empty for none."""
    if not weight:
        return Text("")
    share = weight / (total or 1)
    return Text(f"{weight:,}" if exact else f"{100 * share:.2f}%", style(heat(share)))


def weight_width(total: int, title: str, *, exact: bool) -> int:
    """The width of a column of weights."""
    return max(len(title), len(f"{total:,}") if exact else 7)


def function_text(name: str, kernel: bool, width: int, short: Distinct) -> Text:
    """A function's name in so many columns; that of kernel code, and a missing one, in its own style."""
    shown = short(printable(name), max(4, width))
    return Text(shown, style("unknown" if name.endswith("[unknown]") else "kernel" if kernel else ""))


def file_text(dso: str, width: int, *, kernel: bool = False) -> Text:
    """The last part of a path; bracketed names stay whole."""
    last = dso if dso.startswith(("[", "//")) else dso.rpartition("/")[2] or dso
    return Text(fit(printable(last), width), style("kernel" if kernel else "detail"))


def cell(value: Text, width: int, *, right: bool = False) -> Text:
    """The text in exactly so many columns."""
    size = cell_len(value.plain)
    if size > width:
        cut = value.copy()
        plain = set_cell_size(value.plain, max(0, width - 1))
        cut.right_crop(len(value.plain) - len(plain.rstrip()))
        cut.append("…" if width else "")
        value, size = cut, cell_len(cut.plain)
    blank = " " * max(0, width - size)
    return Text.assemble(blank, value) if right else Text.assemble(value, blank)


def strip(line: Text, width: int, console: Console, base: Style | None = None) -> Strip:
    """A line of a widget; ``base`` is the style of all of it."""
    own = line.style if isinstance(line.style, Style) else Style()
    segments = Segment.apply_style(line.render(console), own + base if base is not None else own)
    return Strip(segments).adjust_cell_length(width, base)


def highlighted(value: Text, spans: "list[tuple[int, int]]") -> Text:
    """A text whose matches are marked."""
    for start, end in spans:
        value.stylize(MATCH, start, end)
    return value
