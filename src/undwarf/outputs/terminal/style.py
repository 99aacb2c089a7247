"""Colours and column widths for the terminal. Colour only repeats what the text says."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO, get_args

When = Literal["auto", "always", "never"]
STYLES = {
    "heading": "1",
    "detail": "2",
    "good": "32",
    "warning": "33",
    "bad": "1;31",
    "hot": "1;31",
    "warm": "33",
    "kernel": "36",
    "unknown": "2;35",
}
"""By what is painted: the parameters of its SGR sequence (ECMA-48, 8.3.117)."""
_ATTRIBUTES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
WORDS = (*_ATTRIBUTES, *_COLOURS, *(f"bright-{colour}" for colour in _COLOURS))
"""What styles are made of, beside the numbers of 256 colours."""


class _Preferences:
    """What the user prefers; see :func:`prefer`."""

    when: When = "auto"
    styles: Mapping[str, str] = STYLES


def prefer(when: When, styles: Mapping[str, str]) -> None:
    """Set, for this process, when to write colours unless the environment says so, and some styles."""
    assert when in get_args(When) and styles.keys() <= STYLES.keys()
    _Preferences.when = when
    _Preferences.styles = {**STYLES, **styles}


def sgr_of(what: str) -> str:
    """The SGR parameters of a key of :data:`STYLES`, as the user prefers; empty for none."""
    return _Preferences.styles[what]


def heat(share: float) -> str:
    """The style of a share of the whole: hot from 10 %, warm from 3 %, a detail below 0.1 %, else empty."""
    if share >= 0.10:
        return "hot"
    if share >= 0.03:
        return "warm"
    return "" if share >= 0.001 else "detail"


def style_of(text: str) -> str:
    """The SGR parameters of a style in words: ``bold bright-red``, ``208``, or ``none``. Raises ValueError."""
    if text == "none":
        return ""
    codes = []
    for word in text.split() or [text]:
        colour = word.removeprefix("bright-")
        if word in _ATTRIBUTES:
            codes.append(_ATTRIBUTES[word])
        elif colour in _COLOURS:
            codes.append(str(_COLOURS.index(colour) + (30 if colour == word else 90)))
        elif word.isascii() and word.isdigit() and len(word) <= 3 and int(word) < 256:
            codes.append(f"38;5;{int(word)}")
        else:
            raise ValueError(word)
    return ";".join(codes)


def wants_colour(sink: TextIO) -> bool:
    """Whether to write colours: to a terminal that is not dumb, or to anything with FORCE_COLOR (force-color.org);
    never with NO_COLOR (no-color.org). Without both, a preference of the user's counts first."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if _Preferences.when != "auto":
        return _Preferences.when == "always"
    return sink.isatty() and os.environ.get("TERM") != "dumb"


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
        self._styles = _Preferences.styles

    def _style(self, what: str, text: str) -> str:
        code = self._styles[what]
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and text and code else text

    def dim(self, text: str) -> str:
        """Details that readers may skip."""
        return self._style("detail", text)

    def bold(self, text: str) -> str:
        """Headings."""
        return self._style("heading", text)

    def good(self, text: str) -> str:
        """Good results."""
        return self._style("good", text)

    def warn(self, text: str) -> str:
        """Results that need attention."""
        return self._style("warning", text)

    def bad(self, text: str) -> str:
        """Damage and losses."""
        return self._style("bad", text)

    def share(self, share: float, text: str) -> str:
        """A share of the whole, by its :func:`heat`."""
        style = heat(share)
        return self._style(style, text) if style else text

    def kernel(self, text: str) -> str:
        """The name of kernel code."""
        return self._style("kernel", text)

    def unknown(self, text: str) -> str:
        """A missing name."""
        return self._style("unknown", text)

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
