"""Contrast of the page's colours, as WCAG 2.2 computes it (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio)."""

import re

import pytest

from undwarf.outputs.page.bundle import web

TEXTS = ("text", "muted", "accent", "warn", "bad", "good", "more", "less")
PAIRS = [
    *((text, background) for text in TEXTS for background in ("bg", "surface")),
    *((text, "raised") for text in ("text", "muted")),
    ("text", "accent-soft"),
    ("muted", "accent-soft"),
    *((text, "accent-soft") for text in ("accent", "more", "less")),
    ("accent-text", "accent"),
    ("warn", "warn-soft"),
    ("bad", "bad-soft"),
    ("good", "good-soft"),
    *(("text", f"heat-{level}") for level in range(6)),
    *((f"token-{kind}", f"heat-{level}") for kind in ("keyword", "string", "comment", "number") for level in range(3)),
]
"""(text, background) of the page: names of variables in its style sheet."""

MARKS = [
    ("strong-line", "surface"),
    ("load", "surface"),
    ("store", "surface"),
    ("more-fill", "surface"),
    ("less-fill", "surface"),
    ("heat-bar", "surface"),
    ("focus-ring", "bg"),
]
"""(what is drawn, background): not text, and without it something would be lost."""


def themes() -> dict[str, dict[str, str]]:
    """The colours of each theme by variable."""
    style = (web() / "page.css").read_text(encoding="utf-8")
    found = {}
    for theme, selector in (("light", ":root"), ("dark", ':root[data-theme="dark"]')):
        block = re.search(rf"^{re.escape(selector)} {{\n(.*?)\n}}", style, re.MULTILINE | re.DOTALL)
        assert block is not None
        found[theme] = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block[1]))
    return found


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb"."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_has_the_highest_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("text", "background"), PAIRS)
def test_text_can_be_read(theme: str, text: str, background: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[text], colours[background]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("mark", "background"), MARKS)
def test_marks_can_be_seen(theme: str, mark: str, background: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[mark], colours[background]) >= 3


def test_both_themes_have_the_same_colours() -> None:
    light, dark = themes().values()
    assert set(dark) == set(light)
