"""The page of a comparison in real browsers: both flame graphs, the table, the side that code shows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.page_browsers import Browser, PageUnderTest

pytestmark = pytest.mark.browser

RECORDINGS = Path(__file__).parents[2] / "examples" / "recording"
SIDES = [str(RECORDINGS / name) for name in ("words-sum.data", "words-product.data")]
OPTIONS = ["--symfs", str(RECORDINGS), "--no-cache", "--by", "function,path,image,line"]
ROWS = "#table .grid-row"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "left\u202eright", "</script>", "n" * 5000]


def command(*words: str) -> str:
    """What a command of undwarf prints."""
    done = subprocess.run([sys.executable, "-m", "undwarf", *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The page of two recordings, and what ``--json`` has of them."""
    out = tmp_path_factory.mktemp("page") / "compared.html"
    document = command("diff", *SIDES, *OPTIONS, "--json", "-o", str(out))
    return out, json.loads(document)


@pytest.fixture
def page(page_browser: Browser, compared: tuple[Path, dict[str, Any]]) -> PageUnderTest:
    page_browser.resize(1300, 850)
    return PageUnderTest(page_browser, compared[0])


@pytest.fixture
def event(compared: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    first: dict[str, Any] = compared[1]["events"][0]
    return first


def text_of(weight: float) -> str:
    """A time as the page has it."""
    return f"{weight / 1e9:.2f}\u00a0s" if weight >= 1e9 else f"{weight / 1e6:.0f}\u00a0ms"


def boxes(page: PageUnderTest) -> int:
    """How many boxes are drawn."""
    page.wait("() => Number(document.querySelector('#flame-canvas').dataset.boxes) > 0")
    return int(page.browser.call("() => Number(document.querySelector('#flame-canvas').dataset.boxes)"))


def point(page: PageUnderTest, share: float, row: int) -> tuple[int, int]:
    """A place on the flame graph: a share of its width, and a row."""
    x, y, width = page.browser.call(
        "() => { const b = document.querySelector('#flame-canvas').getBoundingClientRect();"
        " return [b.x, b.y, b.width]; }"
    )
    return round(x + width * share), round(y + 19 * row + 9)


def numbers(page: PageUnderTest, row: str, columns: tuple[str, ...]) -> list[float | None]:
    """The exact values of a row's columns."""
    found = [page.values(f"{ROWS}[data-kind={row}] .at-{column}")[0] for column in columns]
    return [None if one in ("None", "null") else float(one) for one in found]


@pytest.mark.parametrize("by", ["function", "image", "line"])
def test_the_table_has_the_numbers_of_json(page: PageUnderTest, event: dict[str, Any], by: str) -> None:
    page.open(f"view=table&by={by}")
    rows = next(table for table in event["tables"] if table["by"] == by)["rows"]
    assert rows
    selector = f"{ROWS}[data-kind=row]"
    assert page.texts(f"{selector} .at-name")[: len(rows)] == [row["name"] for row in rows]
    for column in ("before", "after"):
        assert [float(one) for one in page.values(f"{selector} .at-{column}")] == [
            row["weight"][column] for row in rows
        ]
    shown = page.values(f"{selector} .at-p")
    assert [float(one) for one in shown] == [row["p_corrected"] for row in rows]
    marks = [text[:1] in "▲▼" for text in page.texts(f"{selector} .change-text")]
    assert marks == [row["significant"] for row in rows]


def test_the_total_and_the_light_rows_are_there(page: PageUnderTest, event: dict[str, Any]) -> None:
    page.open("view=table")
    total = event["total"]["weight"]
    assert numbers(page, "total", ("before", "after")) == [total["before"], total["after"]]
    others = event["tables"][0]["others"]["weight"]
    assert numbers(page, "others", ("before", "after")) == [others["before"], others["after"]]


def test_a_click_shows_the_interval_and_shares(page: PageUnderTest, event: dict[str, Any]) -> None:
    page.open("view=table")
    page.click(f"{ROWS}[data-kind=row]")
    details = page.text(".row-details")
    row = event["tables"][0]["rows"][0]
    assert row["name"] in details
    assert "more than chance explains" in details
    assert f"{row['samples_before']:,} → {row['samples_after']:,}" in details
    assert "…" in details


def test_headings_sort_and_the_third_click_puts_significant_ones_first(page: PageUnderTest) -> None:
    page.open("view=table")
    names = f"{ROWS}[data-kind=row] .at-name"
    first = page.texts(names)
    page.click("[data-sort=after]")
    values = [float(one) for one in page.values(f"{ROWS}[data-kind=row] .at-after")]
    assert values == sorted(values, reverse=True)
    assert page.texts(names) != first
    page.click("[data-sort=after]")
    page.click("[data-sort=after]")
    assert page.texts(names) == first


def test_a_call_path_opens_in_the_flame_graph(page: PageUnderTest) -> None:
    page.open("view=table&by=path")
    name = page.texts(f"{ROWS}[data-kind=row] .at-name")[0]
    page.click(f"{ROWS}[data-kind=row]")
    page.press("Enter")
    page.wait("(name) => document.querySelector('.flame-crumbs .last')?.innerText === name", name)


def test_the_flame_graph_says_both_totals(page: PageUnderTest, event: dict[str, Any]) -> None:
    page.open()
    assert boxes(page) > 5
    total = event["total"]["weight"]
    assert f"{text_of(total['before'])} → {text_of(total['after'])} per recording" in page.text(".flame-note")


def test_a_box_says_before_after_difference_and_chance(page: PageUnderTest, event: dict[str, Any]) -> None:
    page.open("lanes=none")
    boxes(page)
    page.browser.hover_at(*point(page, 0.02, 2))
    page.wait("() => Array.from(document.querySelectorAll('.flame-tip')).some((tip) => tip.checkVisibility())")
    (text,) = page.texts(".flame-tip")
    assert [one in text for one in ("before", "after", "difference", "with callees", "self", "p ", "95 %")] == [
        True
    ] * 7


def test_keys_turn_to_two_graphs_and_back(page: PageUnderTest) -> None:
    page.open("lanes=none")
    one = boxes(page)
    page.press("b")
    page.wait("(one) => Number(document.querySelector('#flame-canvas').dataset.boxes) > one", one)
    assert "compare=beside" in page.address
    page.press("b")
    assert "compare" not in page.address
    page.press("x")
    assert "width=after" in page.address


def test_a_zoom_in_one_graph_zooms_both(page: PageUnderTest) -> None:
    page.open("lanes=none&compare=beside")
    boxes(page)
    page.browser.click_at(*point(page, 0.02, 3))
    page.wait("() => location.hash.includes('zoom=')")
    zoomed = page.text(".flame-crumbs .last")
    page.open("lanes=none&compare=beside")
    boxes(page)
    page.browser.click_at(*point(page, 0.52, 3))
    page.wait("() => location.hash.includes('zoom=')")
    assert page.text(".flame-crumbs .last") == zoomed


def test_hovering_marks_the_same_box_on_the_other_side(page: PageUnderTest) -> None:
    page.open("lanes=none&compare=beside")
    boxes(page)
    columns = (
        "() => { const c = document.querySelector('#flame-canvas'); const s = c.width / c.clientWidth;"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " const half = Math.floor(c.width / 2);"
        " const sums = [0, 0]; for (let y = 0; y < c.height; y++) for (let x = 0; x < c.width; x++)"
        " sums[x < half ? 0 : 1] += d[4 * (y * c.width + x)]; return [...sums, s]; }"
    )
    still = page.browser.call(columns)
    drawn = "() => document.querySelector('#flame-canvas').dataset.drawn"
    count = page.browser.call(drawn)
    page.browser.hover_at(*point(page, 0.02, 3))
    page.wait(f"(count) => ({drawn})() !== count", count)
    marked = page.browser.call(columns)
    assert marked[0] < still[0]
    assert marked[1] < still[1]


def test_code_shows_the_side_that_is_chosen(page: PageUnderTest) -> None:
    page.open("view=code")
    page.wait("() => document.querySelectorAll('#view-code [data-row]').length > 5")
    assert page.texts("#side [aria-pressed=true]") == ["After"]
    after = page.text("#view-code")
    page.click("#side [data-side=before]")
    page.wait("(text) => document.querySelector('#view-code').innerText.trim() !== text", after)
    assert "side=before" in page.address


def test_quality_is_of_the_side_that_is_chosen(page: PageUnderTest, compared: tuple[Path, dict[str, Any]]) -> None:
    counts = [compared[1][side]["recordings"][0]["samples"] for side in ("before", "after")]
    assert counts[0] != counts[1]
    for side, count in zip(("before", "after"), counts, strict=True):
        page.open(f"view=quality&side={side}")
        assert f"{count:,}" in page.text(".quality-share")


def test_the_time_line_has_both_sides(page: PageUnderTest) -> None:
    page.open()
    page.wait("() => document.querySelectorAll('.timeline-names button').length > 1")
    assert page.texts(".timeline-names .lane-name")[:2] == ["before", "after"]


def test_of_a_part_nothing_is_called_significant(page: PageUnderTest) -> None:
    page.open("view=table&focus=main")
    assert "of a part, not tested" in page.text("#table-count")
    assert not [text for text in page.texts(f"{ROWS} .change-text") if text[:1] in ("▲", "▼")]
    page.open("focus=main")
    assert "its differences are not tested" in page.text(".flame-note")


def test_hostile_names_run_nothing(page_browser: Browser, tmp_path: Path) -> None:
    before, after = tmp_path / "a.folded", tmp_path / "b.folded"
    before.write_text("".join(f"main;{name} {10 + i}\n" for i, name in enumerate(HOSTILE)))
    after.write_text("".join(f"main;{name}{'x' * (i % 2)} {20 + i}\n" for i, name in enumerate(HOSTILE)))
    out = tmp_path / "hostile.html"
    command("diff", str(before), str(after), "-o", str(out))
    page = PageUnderTest(page_browser, out)
    for fragment in ("", "compare=beside", "tree=callers", "view=table", "view=table&by=path", "view=code"):
        page.open(fragment)
        if "view" not in fragment:
            boxes(page)
            page.browser.hover_at(*point(page, 0.1, 2))
        assert page.violations() == []
    page.open("view=table")
    shown = page.texts(f"{ROWS} .at-name")
    assert any("<script>" in text for text in shown)
    assert not any("\u202e" in text for text in shown)


@pytest.mark.parametrize(
    "fragment",
    ["compare=x&width=3&by=[]&side=%00", "tree=sandwich&compare=beside&chosen=nobody", "zoom=[%22x%22]&compare=beside"],
)
def test_any_address_is_taken(page: PageUnderTest, fragment: str) -> None:
    page.open(fragment)
    assert page.violations() == []
