"""Colours and column widths for the terminal. Colour only repeats the text, and is off where it is not
seen."""

import os
from typing import TextIO
from unicodedata import east_asian_width


def wants_colour(sink: TextIO) -> bool:
    """Whether to colour what is written there: a terminal that is not dumb, or anything with FORCE_COLOR
    (force-color.org); never with NO_COLOR (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sink.isatty() and os.environ.get("TERM") != "dumb")


def cells(text: str) -> int:
    """Columns that a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def fit(text: str, room: int, *, keep_end: bool = False) -> str:
    """A text of at most ``room`` columns, cut at the end, or at the start with ``keep_end``."""
    if cells(text) <= room:
        return text
    kept = text
    while kept and cells(kept) > room - 1:
        kept = kept[1:] if keep_end else kept[:-1]
    return "…" + kept if keep_end else kept + "…"


def pad(text: str, room: int) -> str:
    """The text with blanks to its right."""
    return text + " " * max(0, room - cells(text))


class Paint:
    """Adds styles, or gives texts back as they are."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and text else text

    def dim(self, text: str) -> str:
        """What may be skipped when reading."""
        return self._style("2", text)

    def bold(self, text: str) -> str:
        """Headings."""
        return self._style("1", text)

    def good(self, text: str) -> str:
        """Nothing to do."""
        return self._style("32", text)

    def warn(self, text: str) -> str:
        """To be looked at."""
        return self._style("33", text)

    def bad(self, text: str) -> str:
        """Wrong."""
        return self._style("1;31", text)

    def share(self, share: float, text: str) -> str:
        """A share of the whole: bold red from 10 %, yellow from 3 %, dim below 0.1 %."""
        if share >= 0.10:
            return self._style("1;31", text)
        if share >= 0.03:
            return self._style("33", text)
        return text if share >= 0.001 else self._style("2", text)

    def kernel(self, text: str) -> str:
        """Names of kernel code."""
        return self._style("36", text)

    def unknown(self, text: str) -> str:
        """Names that are missing."""
        return self._style("2;35", text)

    def name(self, text: str, *, kernel: bool) -> str:
        """A function's name."""
        if text.endswith("[unknown]"):
            return self.unknown(text)
        return self.kernel(text) if kernel else text


def hidden_text(count: int, percent_limit: float, *, cut: bool, what: str = "more") -> str:
    """How many rows are hidden and which option shows them. ``cut``: there were as many as ``--rows`` allows; else they
    are below ``--percent-limit``."""
    option = "--rows 0" if cut else f"below {percent_limit:g} %: --percent-limit 0"
    return f"and {count:,} {what} ({option} shows them)"
