"""Colours and column widths for the terminal. Colour only repeats what the text says."""

import os
from typing import TextIO


def wants_colour(sink: TextIO) -> bool:
    """Whether to write colours: to a terminal that is not dumb, or to anything with FORCE_COLOR (force-color.org);
    never with NO_COLOR (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sink.isatty() and os.environ.get("TERM") != "dumb")


def cells(text: str) -> int:
    """The width of a printable text in columns."""
    if text.isascii():
        return len(text)
    # Few runs have other names.
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def fit(text: str, width: int, *, keep_end: bool = False) -> str:
    """A text of at most ``width`` columns, cut at the end, or at the start with ``keep_end``."""
    if cells(text) <= width:
        return text
    kept = text
    while kept and cells(kept) > width - 1:
        kept = kept[1:] if keep_end else kept[:-1]
    return "…" + kept if keep_end else kept + "…"


def pad(text: str, width: int) -> str:
    """The text, filled with blanks up to ``width`` columns."""
    return text + " " * max(0, width - cells(text))


class Paint:
    """Adds styles to texts, or leaves them as they are."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and text else text

    def dim(self, text: str) -> str:
        """Details that readers may skip."""
        return self._style("2", text)

    def bold(self, text: str) -> str:
        """Headings."""
        return self._style("1", text)

    def good(self, text: str) -> str:
        """Good results."""
        return self._style("32", text)

    def warn(self, text: str) -> str:
        """Results that need attention."""
        return self._style("33", text)

    def bad(self, text: str) -> str:
        """Damage and losses."""
        return self._style("1;31", text)

    def share(self, share: float, text: str) -> str:
        """A share of the whole: bold red from 10 %, yellow from 3 %, dim below 0.1 %."""
        if share >= 0.10:
            return self._style("1;31", text)
        if share >= 0.03:
            return self._style("33", text)
        return text if share >= 0.001 else self._style("2", text)

    def kernel(self, text: str) -> str:
        """The name of kernel code."""
        return self._style("36", text)

    def unknown(self, text: str) -> str:
        """A missing name."""
        return self._style("2;35", text)

    def name(self, text: str, *, kernel: bool) -> str:
        """A function's name."""
        if text.endswith("[unknown]"):
            return self.unknown(text)
        return self.kernel(text) if kernel else text


def hidden_text(count: int, shown: int, most: int, percent_limit: float, noun: str = "") -> str:
    """How many of ``count`` rows are hidden, and which option shows them: ``--rows`` if ``most`` (0: any number) are
    shown, else ``--percent-limit``; empty if none is hidden."""
    hidden = count - shown
    if not hidden:
        return ""
    what = f" {noun}{'s' * (hidden > 1)}" if noun else ""
    option = "--rows 0" if most and shown == most else f"below {percent_limit:g} %: --percent-limit 0"
    return f"and {hidden:,} more{what} ({option} shows them)"
