"""What is drawn on the page, the flame graph and the time line, used in each browser."""

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from tests.support.page_browsers import Browser, PageUnderTest
from tests.support.page_profiles import encode

from undwarf.outputs.page.html import write

from .test_page_details import ROWS
from .test_page_flame import ROW, known_profile
from .test_page_timeline import two_phases

pytestmark = pytest.mark.browser
PLACE = "(s) => { const r = document.querySelector(s).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {"known": folder / "known.html", "phases": folder / "phases.html"}
    for name, parts in (("known", known_profile()), ("phases", two_phases())):
        with found[name].open("wb") as sink:
            write({part: encode(data) for part, data in parts.items()}, sink)
    return found


@pytest.fixture
def known(page_browser: Browser, files: dict[str, Path]) -> PageUnderTest:
    page_browser.resize(1300, 850)
    return PageUnderTest(page_browser, files["known"])


@pytest.fixture
def phases(page_browser: Browser, files: dict[str, Path]) -> PageUnderTest:
    page_browser.resize(1300, 850)
    return PageUnderTest(page_browser, files["phases"])


def box(page: PageUnderTest, share: float, row: int) -> tuple[int, int]:
    """A place of the flame graph: a share of its width, and a row from the top."""
    page.centre("#flame-canvas")
    x, y, width, _height = page.browser.call(PLACE, "#flame-canvas")
    return int(x + share * width), int(y + (row + 0.5) * ROW)


def shown(page: PageUnderTest) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(page.address.lstrip("#")).items()}


def zoomed(page: PageUnderTest, name: str) -> None:
    """Wait until this frame fills the width."""
    page.wait("(name) => (new URLSearchParams(location.hash.slice(1)).get('zoom') ?? '').includes(name)", name)


def test_hovering_says_what_a_box_is(known: PageUnderTest) -> None:
    known.open()
    # Below all, main, parse: lex, of 60 of 100 samples.
    known.browser.hover_at(*box(known, 0.3, 3))
    known.wait("() => document.querySelector('.flame-tip:not([hidden])')?.innerText.includes('lex')")
    tip = known.browser.call("() => document.querySelector('.flame-tip:not([hidden])').textContent").replace(
        "\u00a0", " "
    )
    assert "parse.c:40" in tip
    assert "60 samples" in tip


def test_a_click_zooms_and_backspace_zooms_out(known: PageUnderTest) -> None:
    known.open()
    known.browser.click_at(*box(known, 0.3, 2))
    zoomed(known, "parse@app")
    assert "70 samples" in known.text("#view-flame")
    known.press("Backspace")
    known.wait("() => !(new URLSearchParams(location.hash.slice(1)).get('zoom') ?? '').includes('parse')")


def test_the_keyboard_alone_goes_to_a_callee(known: PageUnderTest) -> None:
    known.open()
    known.browser.call("() => document.querySelector('#flame-canvas').focus()")
    known.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    zoomed(known, "parse@app")


def test_a_search_counts_matches_and_enter_goes_to_one(known: PageUnderTest) -> None:
    known.open()
    known.press("/", *"parse|draw")
    known.wait("() => document.querySelector('.flame-note').textContent.includes('2 boxes of 2 functions found')")
    known.press("Enter", "Enter")
    known.wait("() => document.querySelector('#flame-said').textContent.startsWith('draw')")
    assert "match 2 of 2" in known.text(".flame-note")


def test_keys_turn_the_tree_over_and_back(known: PageUnderTest) -> None:
    known.open()
    known.browser.call("() => document.querySelector('#flame-canvas').focus()")
    known.press("v")
    known.wait("() => location.hash.includes('tree=callers')")
    known.press("v")
    known.wait("() => !location.hash.includes('tree=callers')")
    known.press("i")
    known.wait("() => location.hash.includes('draw=flame')")


def test_dragging_over_the_time_line_selects(phases: PageUnderTest) -> None:
    phases.open()
    phases.centre("#timeline-canvas")
    x, y, width, _height = phases.browser.call(PLACE, "#timeline-canvas")
    phases.browser.drag(int(x + 0.1 * width), int(y + 40), int(x + 0.4 * width))
    phases.wait("() => document.querySelector('.timeline-text').textContent.includes('selected')")
    first, last = json.loads(shown(phases)["range"])
    assert abs(first - 20) <= 2
    assert abs(last - 80) <= 2
    count = last - first + 1
    what = f"{count}.0 ms"
    phases.wait(
        "(t) => document.querySelector('.flame-note').textContent.replaceAll('\\u00a0', ' ').startsWith(t)",
        f"{what}, {count} samples",
    )
    # For screen readers, too.
    assert f"{what} selected" in phases.browser.call("() => document.querySelector('#said').textContent").replace(
        "\u00a0", " "
    )


def test_the_table_follows_a_selection_of_time(phases: PageUnderTest) -> None:
    phases.open("view=table&range=[20,79]")
    assert phases.texts(f"{ROWS} .at-name")[0] == "read"
    assert phases.values(f"{ROWS} .at-samples")[0] == "60"


def test_nothing_violates_the_policy(known: PageUnderTest) -> None:
    known.open()
    known.browser.click_at(*box(known, 0.3, 2))
    zoomed(known, "parse@app")
    assert known.violations() == []
