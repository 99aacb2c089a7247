"""The flame graph of a profile's page in a real headless browser."""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.page_browser import page_of, settle, show, started, text, view
from tests.support.page_profiles import Frame, PagePart, ProfileBuilder

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser

ROW = 19
HOSTILE = '<img src=x onerror="window.hacked = 1">'
EXAMPLES = Path(__file__).parents[2] / "examples" / "recording"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(known_profile(), tmp_path_factory.mktemp("known"))


def known_profile() -> dict[str, PagePart]:
    """100 samples of 1 ms: main 100, of which parse 70 (lex 60) and render 25 (draw, in the kernel, 25); 25 idle."""
    builder = ProfileBuilder("known")
    app = builder.image("app")
    kernel = builder.image("[kernel.kallsyms]", "kernel", "[kernel.kallsyms]")
    main, parse, lex, render = (
        builder.function(name, app, 0x1000 + 64 * i) for i, name in enumerate(("main", "parse", "lex", "render"))
    )
    draw, idle = (builder.function(name, kernel, 0x9000 + 64 * i) for i, name in enumerate(("draw", "cpu_idle")))
    builder.files = ["/src/parse.c"]
    builder.processes = [{"pid": 10, "name": "app"}, {"pid": 0, "name": "swapper"}]
    builder.threads = [
        {"tid": 10, "process": 0, "name": "app", "idle": False},
        {"tid": 11, "process": 0, "name": "painter", "idle": False},
        {"tid": 0, "process": 1, "name": "swapper", "idle": True},
    ]
    base = [Frame(main, 0x1004)]
    stacks = (
        [(0, [*base, Frame(parse, 0x1044, 0, 12), Frame(lex, 0x1084, 0, 40)])] * 60
        + [(1, [*base, Frame(render, 0x10C4), Frame(draw, 0x9004)])] * 25
        + [(0, [*base, Frame(parse, 0x1048, 0, 14)])] * 10
        + [(0, base)] * 5
        + [(2, [Frame(idle, 0x9044)])] * 25
    )
    for time, (thread, stack) in enumerate(stacks):
        builder.row(time, builder.node(stack), thread=thread)
    return {"profile": builder.part()}


def many_narrow() -> dict[str, PagePart]:
    """A function of 900 samples beside 100 of one sample each."""
    builder = ProfileBuilder("narrow")
    app = builder.image("app")
    wide = builder.function("wide", app, 0x1000)
    for time in range(9):
        builder.row(time, builder.node([Frame(wide, 0x1000)]), weight=100_000_000, count=100)
    for i in range(100):
        narrow = builder.function(f"narrow_{i}", app, 0x2000 + 64 * i)
        builder.row(9 + i, builder.node([Frame(narrow, 0x2000 + 64 * i)]))
    return {"profile": builder.part()}


def hostile() -> dict[str, PagePart]:
    builder = ProfileBuilder(HOSTILE)
    image = builder.image(f"lib{HOSTILE}.so", "library")
    name = builder.function(HOSTILE, image, 0x1000)
    builder.files = [HOSTILE]
    builder.threads = [{"tid": 1, "process": 0, "name": HOSTILE, "idle": False}]
    for time in range(3):
        builder.row(time, builder.node([Frame(name, 0x1000, 0, 1)]))
    return {"profile": builder.part()}


def at(browser: Any, share: float, row: int) -> ActionChains:
    """Move to a place of the flame graph: a share of its width, and a row from the top."""
    canvas = browser.find_element(By.ID, "flame-canvas")
    width, height = canvas.size["width"], canvas.size["height"]
    return ActionChains(browser, duration=20).move_to_element_with_offset(
        canvas, int(width * (share - 0.5)), int(row * ROW + ROW / 2 - height / 2)
    )


def click(browser: Any, share: float, row: int) -> None:
    at(browser, share, row).click().perform()
    settle(browser)


def press(browser: Any, *keys: str) -> None:
    for key in keys:
        ActionChains(browser).send_keys(key).perform()
        settle(browser)


def shift(browser: Any, key: str) -> None:
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(key).key_up(Keys.SHIFT).perform()
    settle(browser)


def hover(browser: Any, share: float, row: int) -> str:
    at(browser, share, row).perform()
    settle(browser)
    return text(browser, ".flame-tip:not([hidden])")


def menu(browser: Any, share: float, row: int, entry: str) -> None:
    at(browser, share, row).context_click().perform()
    for button in browser.find_elements(By.CSS_SELECTOR, "[role=menuitem]"):
        if entry in button.text:
            button.click()
            settle(browser)
            return
    raise AssertionError(f"no {entry} in the menu")


def zoom(browser: Any) -> list[str]:
    return [key.partition("@")[0] for key in json.loads(view(browser).get("zoom", "[]"))]


def search(browser: Any, pattern: str) -> Any:
    press(browser, "/")
    field = browser.switch_to.active_element
    field.send_keys(pattern)
    settle(browser)
    return field


def saved(browser: Any, entry: str) -> str:
    """The text of a file that the menu "Export" saves."""
    browser.execute_script(
        """window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text));
        return "data:,"; }; HTMLAnchorElement.prototype.click = () => {};"""
    )
    browser.find_element(By.XPATH, "//button[text()='Export…']").click()
    for button in browser.find_elements(By.CSS_SELECTOR, "[role=menuitem]"):
        if entry in button.text:
            button.click()
            break
    script = """const done = arguments[0];
        const look = () => (window.saved !== null ? done(window.saved) : setTimeout(look, 5));
        look();"""
    return str(browser.execute_async_script(script))


class TestWhatIsShown:
    def test_the_line_above_says_all_before_any_zoom(self, browser: Any, page: str) -> None:
        show(browser, page)
        assert text(browser, ".flame-crumbs") == "all"
        assert text(browser, ".flame-note").startswith("100 ms, 100 samples")

    def test_idle_is_left_out_and_its_share_is_said(self, browser: Any, page: str) -> None:
        show(browser, page)
        assert "idle hidden: 20.0 %" in text(browser, ".flame-note")
        browser.find_element(By.CSS_SELECTOR, ".flame-note button").click()
        settle(browser)
        assert text(browser, ".flame-note").startswith("125 ms, 125 samples")

    def test_the_heaviest_is_first(self, browser: Any, page: str) -> None:
        show(browser, page)
        assert hover(browser, 0.3, 2).startswith("parse")
        assert hover(browser, 0.9, 2).startswith("render")

    def test_a_tooltip_has_the_place_and_all_shares(self, browser: Any, page: str) -> None:
        show(browser, page)
        tip = hover(browser, 0.3, 2)
        assert "/src/parse.c:12 and other lines" in tip
        assert "total70.0 ms70.0 %" in tip
        assert "self10.0 ms10.0 %" in tip
        assert "70 samples" in tip

    def test_a_tooltip_has_the_share_of_the_parent(self, browser: Any, page: str) -> None:
        show(browser, page)
        assert "60.0 ms60.0 %85.7 %" in hover(browser, 0.3, 3)

    def test_kernel_code_is_told_in_words(self, browser: Any, page: str) -> None:
        show(browser, page)
        assert "kernel" in hover(browser, 0.8, 3)
        assert "kernel25.0 %" in text(browser, ".flame-legend").replace(" ", "").replace("%", " %")

    def test_narrow_boxes_are_one_that_says_how_many(self, browser: Any, tmp_path: Path) -> None:
        show(browser, page_of(many_narrow(), tmp_path))
        assert hover(browser, 0.95, 1).startswith("100 frames, too narrow to draw100 ms, 10.0 % of all")

    def test_zoom_shows_narrow_boxes(self, browser: Any, tmp_path: Path) -> None:
        show(browser, page_of(many_narrow(), tmp_path))
        click(browser, 0.95, 1)
        assert hover(browser, 0.5, 1).startswith("narrow_")

    def test_several_processes_are_a_row(self, browser: Any, page: str) -> None:
        show(browser, page, "idle=true")
        assert hover(browser, 0.3, 1).startswith("app (process 10)")
        assert hover(browser, 0.9, 1).startswith("swapper (process 0)")

    def test_threads_are_a_row_when_wanted(self, browser: Any, page: str) -> None:
        show(browser, page)
        browser.find_element(By.ID, "flame-byThread").click()
        settle(browser)
        assert hover(browser, 0.3, 1).startswith("app (thread 10)")

    def test_in_order_of_time_boxes_are_where_samples_were(self, browser: Any, page: str) -> None:
        show(browser, page, "order=time")
        assert text(browser, ".flame-crumbs") == "all threads (2)"
        # Of 126 ms the first 60 were in lex; the axis has 22 pixels.
        assert hover(browser, 0.2, 4).startswith("lex")

    def test_nothing_selected_is_said(self, browser: Any, page: str) -> None:
        show(browser, page, "focus=nowhere")
        assert "Nothing is selected" in text(browser, "#view-flame .empty")


class TestZoom:
    def test_a_click_zooms_and_the_path_shows_it(self, browser: Any, page: str) -> None:
        show(browser, page)
        click(browser, 0.3, 2)
        assert zoom(browser) == ["main", "parse"]
        assert text(browser, ".crumb.last") == "parse"
        assert text(browser, ".flame-note").startswith("70.0 ms (70.0 %)")

    def test_a_click_on_the_path_zooms_out(self, browser: Any, page: str) -> None:
        show(browser, page)
        click(browser, 0.3, 3)
        browser.find_element(By.XPATH, "//button[contains(@class, 'crumb')][text()='main']").click()
        settle(browser)
        assert zoom(browser) == ["main"]

    def test_a_long_path_keeps_the_frame_in_view(self, browser: Any, tmp_path: Path) -> None:
        builder = ProfileBuilder("deep")
        app = builder.image("app")
        names = [f"a_rather_long_name_of_a_function_{i}" for i in range(60)]
        stack = [Frame(builder.function(name, app, 0x1000 + 64 * i), 0x1000 + 64 * i) for i, name in enumerate(names)]
        builder.row(0, builder.node(stack))
        keys = [f"{name}@app" for name in names]
        show(browser, page_of({"profile": builder.part()}, tmp_path), f"zoom={quote(json.dumps(keys))}")
        last = browser.find_element(By.CSS_SELECTOR, ".crumb.last")
        right = browser.execute_script("return document.querySelector('.flame-crumbs').getBoundingClientRect().right")
        assert last.text == names[-1]
        assert last.rect["x"] + last.rect["width"] <= right + 1
        assert "…" in text(browser, ".flame-crumbs")

    def test_keys_move_zoom_and_go_back(self, browser: Any, page: str) -> None:
        show(browser, page)
        press(browser, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        assert text(browser, "#flame-said").startswith("parse, app, total 70.0 ms, 70.0 % of all, self 10.0 ms")
        press(browser, Keys.ARROW_RIGHT)
        assert text(browser, "#flame-said").startswith("render")
        press(browser, Keys.ENTER)
        assert zoom(browser) == ["main", "render"]
        press(browser, Keys.BACKSPACE)
        assert zoom(browser) == ["main"]
        press(browser, "0")
        assert zoom(browser) == []

    def test_turning_over_keeps_the_function_in_view(self, browser: Any, page: str) -> None:
        show(browser, page)
        click(browser, 0.3, 2)
        press(browser, "v")
        assert view(browser)["tree"] == "callers"
        assert text(browser, ".crumb.last") == "parse"
        press(browser, "v")
        assert zoom(browser) == ["main", "parse"]

    def test_an_address_shows_what_was_seen(self, browser: Any, page: str) -> None:
        show(browser, page)
        click(browser, 0.3, 3)
        address = browser.current_url
        browser.get("about:blank")
        show(browser, address)
        assert text(browser, ".crumb.last") == "lex"

    def test_roots_are_at_the_bottom_of_a_flame(self, browser: Any, page: str) -> None:
        show(browser, page)
        press(browser, "i")
        height = browser.find_element(By.ID, "flame-canvas").size["height"]
        tip = hover(browser, 0.3, height // ROW - 1)
        assert tip.startswith("all") or tip.startswith("main")
        assert view(browser)["draw"] == "flame"


class TestSearch:
    def test_matches_and_their_share_are_shown(self, browser: Any, page: str) -> None:
        show(browser, page)
        search(browser, "parse|draw")
        assert "2 boxes of 2 functions found: 95.0 %" in text(browser, ".flame-note")

    def test_enter_goes_to_the_next_match_and_shift_enter_back(self, browser: Any, page: str) -> None:
        show(browser, page)
        field = search(browser, "parse|draw")
        field.send_keys(Keys.ENTER)
        settle(browser)
        assert text(browser, "#flame-said").startswith("parse")
        field.send_keys(Keys.ENTER)
        settle(browser)
        assert text(browser, "#flame-said").startswith("draw")
        assert "match 2 of 2" in text(browser, ".flame-note")
        shift(browser, Keys.ENTER)
        assert text(browser, "#flame-said").startswith("parse")


class TestOfOneFunction:
    def test_a_sandwich_has_callers_above_and_callees_below(self, browser: Any, page: str) -> None:
        show(browser, page)
        menu(browser, 0.3, 2, "Callers and callees")
        assert view(browser)["chosen"] == "parse@app"
        assert hover(browser, 0.5, 0).startswith("main")
        assert hover(browser, 0.5, 1).startswith("parse")
        assert hover(browser, 0.3, 2).startswith("lex")

    def test_a_hidden_function_gives_its_weight_to_its_caller(self, browser: Any, page: str) -> None:
        show(browser, page)
        menu(browser, 0.3, 2, "Hide this function")
        assert hover(browser, 0.3, 2).startswith("lex")
        assert "self15.0 ms" in hover(browser, 0.3, 1)

    def test_a_focus_leaves_its_stacks(self, browser: Any, page: str) -> None:
        show(browser, page)
        menu(browser, 0.8, 2, "Only stacks with this function")
        assert text(browser, ".flame-note").startswith("25.0 ms, 25 samples")
        assert "out of focus: 75.0 %" in text(browser, ".flame-note")

    def test_a_double_click_opens_the_code(self, browser: Any, page: str) -> None:
        show(browser, page)
        at(browser, 0.3, 2).double_click().perform()
        settle(browser)
        assert view(browser)["view"] == "code"
        assert view(browser)["chosen"] == "parse@app"


class TestFiles:
    def test_folded_stacks_are_those_shown(self, browser: Any, page: str) -> None:
        show(browser, page)
        click(browser, 0.3, 2)
        lines = sorted(saved(browser, "folded").split("\n"))
        assert lines == ["", "main;parse 10000000", "main;parse;lex 60000000"]

    def test_a_picture_has_all_boxes(self, browser: Any, page: str) -> None:
        show(browser, page)
        root = ElementTree.fromstring(saved(browser, "SVG"))
        titles = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}title")]
        assert any(title.startswith("draw, [kernel.kallsyms], kernel, total 25.0") for title in titles)

    def test_hostile_names_run_nothing(self, browser: Any, tmp_path: Path) -> None:
        show(browser, page_of(hostile(), tmp_path))
        assert HOSTILE in hover(browser, 0.5, 1)
        at(browser, 0.5, 1).context_click().perform()
        press(browser, Keys.ESCAPE)
        picture = saved(browser, "SVG")
        ElementTree.fromstring(picture)
        assert "<img" not in picture
        assert browser.execute_script("return window.hacked ?? null") is None
        assert browser.execute_script("return document.querySelectorAll('img').length") == 0


def undwarf(*arguments: str) -> bytes:
    return subprocess.run(
        [sys.executable, "-m", "undwarf", *arguments], check=True, capture_output=True, timeout=60
    ).stdout


def shown_functions(browser: Any, address: str, measure: int) -> dict[str, tuple[int, int, int]]:
    """Self weight, total weight and samples of each function that the page shows."""
    show(browser, address, f"idle=true&measure={measure}")
    rows = list(csv.reader(saved(browser, "CSV").splitlines()))
    assert rows[0] == ["function", "image", "self", "self share", "total", "total share", "samples"]
    return {row[0]: (int(row[2]), int(row[4]), int(row[6])) for row in rows[1:]}


@pytest.mark.parametrize(("name", "measure"), [("words", 0), ("requests", 1), ("requests", 2), ("nested-512", 0)])
def test_functions_have_the_weights_of_the_report(browser: Any, tmp_path: Path, name: str, measure: int) -> None:
    recording = EXAMPLES / f"{name}.data"
    page = tmp_path / "page.html"
    symbols = ("--symfs", str(EXAMPLES))
    undwarf("view", str(recording), *symbols, "-o", str(page))
    printed = undwarf(
        "report", "--json", "-g", "none", "-s", "dso,sym", "--percent-limit", "0", str(recording), *symbols
    )
    event = json.loads(printed)["events"][max(0, measure - 1)]
    expected = {row["sym"]: (row["self"], row["total"], row["samples"]) for row in event["rows"] if row["sym"]}
    assert len(expected) > 3
    shown = shown_functions(browser, page.as_uri(), measure)
    assert {name: shown.get(name) for name in expected} == expected
