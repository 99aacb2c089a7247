"""The page of a store in real browsers: its numbers are those of the commands; what is chosen is in its address."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.fleets import name_frames, take, write_host
from tests.support.page_browsers import Browser, PageUnderTest

from undwarf.fleet.site import StoreSite
from undwarf.fleet.store import Store
from undwarf.serve.server import PageServer

pytestmark = pytest.mark.browser

NOON = 1_795_867_200
"""2026-11-28 12:00 UTC."""
HOSTILE = "</script><img src=x onerror=alert(1)>"
ROWS = "#table .grid-row"
RELEASES = ("1.0", "2.0")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six hosts of two releases, the second an hour later and slower in one function; one label is hostile."""
    folder = tmp_path_factory.mktemp("served")
    store = Store(str(folder / "store"))
    for number, release in enumerate(RELEASES):
        paths = []
        for host in range(6):
            path = write_host(
                folder / f"{number}-{host}.data", f"host-{host}", mix=(80 + 60 * number + host, 60 - host, 40)
            )
            when = NOON + 3600 * (number + 1)
            os.utime(path, (when, when))
            paths.append(path)
        take(store, paths, names=False, service="web", release=release, team=HOSTILE if number else "red")
    name_frames(store)
    return folder / "store"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[PageServer]:
    with PageServer(StoreSite(Store(str(store)))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


class StorePage(PageUnderTest):
    """The page of a store, at an address."""

    url = ""

    def show(self, fragment: str = "", **query: str) -> "StorePage":
        self.browser.load(f"{self.url}?{urlencode(query)}" + (f"#{fragment}" if fragment else ""))
        return self.settled()

    def settled(self, condition: str = "() => true", *values: Any) -> "StorePage":
        """Until a page is shown whose bar has all that there is, and that fulfils a condition."""
        shown = (
            "document.documentElement?.dataset.ready && document.querySelector('#fleet')?.dataset.loaded"
            " && Number(document.querySelector('#fleet-canvas').dataset.drawn) > 0"
        )
        self.wait(f"(...values) => ({shown}) && ({condition})(...values)", *values)
        return self

    def query(self) -> dict[str, str]:
        script = "() => Object.fromEntries(new URLSearchParams(location.search))"
        return dict(self.browser.call(script))

    def moment(self, share: float, lane: int = 0) -> tuple[int, int]:
        """A place on the histogram: a share of its width, and a lane."""
        x, y, width, height, lanes = self.browser.call(
            "() => { const b = document.querySelector('#fleet-canvas').getBoundingClientRect();"
            " return [b.x, b.y, b.width, b.height, document.querySelectorAll('.fleet-lane').length]; }"
        )
        each = (height - 18) / lanes
        return round(x + width * share), round(y + 18 + each * (lane + 0.5))


@pytest.fixture
def page(page_browser: Browser, server: PageServer) -> StorePage:
    page_browser.resize(1300, 850)
    page = StorePage(page_browser, Path())
    page.url = server.address
    return page


def command(*words: str) -> Any:
    """What a command of `undwarf fleet` prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", "fleet", *words, "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def functions(page: StorePage) -> dict[str, tuple[float, float]]:
    """Self and total weight by function, exactly as the page's table has them."""
    page.wait("(rows) => document.querySelectorAll(rows).length > 3", ROWS)
    names = page.texts(f"{ROWS} .at-name")
    columns = [page.values(f"{ROWS} .at-{column}") for column in ("self", "total")]
    return {name: (float(own), float(total)) for name, own, total in zip(names, *columns, strict=True)}


@pytest.mark.parametrize("span", ["..", "release=2.0", "host=host-[1]|host-2", "2026-11-28T12:30..2026-11-28T13:30"])
def test_numbers_are_those_of_report(page: StorePage, store: Path, span: str) -> None:
    found = functions(page.show("view=table", span=span))
    rows = command("report", str(store), "--span", span, "--sort", "sym", "-g", "none")["events"][0]["rows"]
    assert found == {row["sym"]: (row["self"], row["total"]) for row in rows}
    assert page.violations() == []


def test_a_comparison_has_the_numbers_of_diff(page: StorePage, store: Path) -> None:
    page.show("view=table", span="release=2.0", before="release=1.0")
    kinds = "function,path,image,line,thread"
    sides = ["--before", "release=1.0", "--after", "release=2.0"]
    event = command("diff", str(store), *sides, "--by", kinds)["events"][0]
    rows = next(table for table in event["tables"] if table["by"] == "function")["rows"]
    assert any(row["significant"] for row in rows)
    selector = f"{ROWS}[data-kind=row]"
    page.wait("(rows) => document.querySelectorAll(rows).length > 1", selector)
    assert page.texts(f"{selector} .at-name")[: len(rows)] == [row["name"] for row in rows]
    for column in ("before", "after"):
        values = [float(one) for one in page.values(f"{selector} .at-{column}")]
        assert values[: len(rows)] == [row["share"][column] for row in rows]
    shown = [float(one) for one in page.values(f"{selector} .at-p")]
    assert shown[: len(rows)] == [row["p_corrected"] for row in rows]
    page.click(f"{selector} .at-name")
    details = page.text(".row-details").replace("\u00a0", " ").replace("\N{MINUS SIGN}", "-")
    share = rows[0]["share"]
    assert f"{100 * share['difference_low']:+.1f} … {100 * share['difference_high']:+.1f} points" in details
    assert page.violations() == []


def test_labels_are_chosen_from_their_values(page: StorePage) -> None:
    page.show("view=table")
    page.click("[data-label=host]")
    assert page.texts(".fleet-value .name") == [f"host-{n}" for n in range(6)]
    assert page.texts(".fleet-value .number") == ["420"] * 6
    for place in (1, 3):
        page.click(f".fleet-value:nth-child({place}) input")
    page.click(".fleet-apply")
    page.settled("() => location.search.includes('span')")
    assert "2 of 6" in page.text("[data-label=host]")
    assert page.query() == {"span": "host=host-0|host-2"}
    assert page.browser.call("() => document.activeElement.dataset.label") == "host"
    # The tab stays, and the button of the browser goes back.
    assert page.address == "#view=table"
    page.browser.call("() => history.back()")
    page.settled("() => !location.search && document.querySelector('[data-label=host]').textContent.includes('all')")


def test_a_pattern_is_typed(page: StorePage) -> None:
    page.show()
    page.click("[data-label=host]")
    # What several values have is no choice yet.
    page.press(*"host", "Enter")
    assert page.query() == {}
    page.press(*"-*", "Enter")
    page.settled("() => location.search.includes('span')")
    assert page.query() == {"span": "host=host-*"}
    assert "host-*" in page.text("[data-label=host]")


def test_a_time_is_dragged_over(page: StorePage) -> None:
    page.show("view=table")
    (x, y), (to, _y) = page.moment(0.0), page.moment(0.4)
    page.browser.drag(x + 1, y, to)
    page.settled("() => location.search.includes('span')")
    start, _dots, end = page.query()["span"].partition("..")
    assert start <= "2026-11-28T12:59:59" < end < "2026-11-28T13:59:59"
    assert page.text("[data-label=release]").replace("\u00a0", " ") == "release 1.0 ▾"


def test_presets_end_with_the_last_sample(page: StorePage, store: Path) -> None:
    page.show("view=table", last="1h")
    assert page.text(".fleet-presets [aria-pressed=true]") == "Last hour"
    first, last = page.browser.call(
        "() => [...document.querySelectorAll('.fleet-fields input')].map((one) => one.value)"
    )
    assert (first, last) == ("2026-11-28 13:01:00", "2026-11-28 14:01:00")
    span = f"{first}..{last}".replace(" ", "T")
    rows = command("report", str(store), "--span", span, "--sort", "sym", "-g", "none")["events"][0]["rows"]
    assert functions(page) == {row["sym"]: (row["self"], row["total"]) for row in rows}


def test_a_time_is_typed(page: StorePage) -> None:
    page.show()
    page.type("[data-field='0-start']", "tomorrow")
    page.press("Enter")
    assert "a time is as" in page.text("#fleet .field-problem")
    page.type("[data-field='0-start']", "2026-11-28 13:30")
    page.press("Enter")
    page.settled("() => location.search.includes('span')")
    assert page.query() == {"span": "2026-11-28T13:30:00.."}


def test_comparing_begins_with_the_halves_and_ends_again(page: StorePage) -> None:
    page.show()
    page.click("#fleet-compare")
    page.settled("() => location.search.includes('before')")
    query = page.query()
    assert query["before"].partition("..")[2] == query["span"].partition("..")[0]
    assert page.texts(".fleet-lane .lane-name") == ["before", "after"]
    # Dragging over the upper lane chooses the time before.
    (x, y), (to, _y) = page.moment(0.0), page.moment(0.3)
    page.browser.drag(x + 1, y, to)
    page.settled("(before) => new URLSearchParams(location.search).get('before') !== before", query["before"])
    assert page.query()["span"] == query["span"]
    page.click("#fleet-compare")
    page.settled("() => !location.search.includes('before')")
    assert page.query() == {"span": query["span"]}


def test_lanes_are_the_values_of_a_label(page: StorePage) -> None:
    page.show()
    page.browser.call(
        "() => { const s = document.querySelector('#fleet-split'); s.value = 'release';"
        " s.dispatchEvent(new Event('change')); }"
    )
    page.wait("() => document.querySelectorAll('.fleet-lane').length === 2")
    assert page.query() == {"split": "release"}
    assert sorted(page.texts(".fleet-lane .lane-name")) == ["1.0", "2.0"]
    page.click(".fleet-lane")
    page.settled("() => location.search.includes('span')")
    assert page.query()["split"] == "release" and page.query()["span"] in ("release=1.0", "release=2.0")


def test_nothing_in_a_span_is_said_with_what_to_do(page: StorePage) -> None:
    page.browser.load(f"{page.url}?span=host%3Dnowhere#view=table")
    page.wait("() => document.querySelector('.fleet-empty button')")
    assert "choose another time, or fewer labels" in page.text(".fleet-empty").replace("\u00a0", " ")
    page.click(".fleet-empty button")
    page.settled("() => !location.search")


@pytest.mark.parametrize("span", ["garbage", "2026-11-28,2026-11-29", "host=a' OR 1=1 --,x"])
def test_an_address_that_cannot_be_read_is_said(page: StorePage, span: str) -> None:
    page.browser.load(f"{page.url}?{urlencode({'span': span})}")
    page.wait("() => document.querySelector('.fleet-empty button') && document.querySelector('.fleet-label')")
    assert "span" in page.text(".fleet-empty")
    page.click(".fleet-empty button")
    page.settled("() => !location.search")


def test_hostile_labels_are_text(page: StorePage) -> None:
    page.show(split="team")
    page.click("[data-label=team]")
    assert any(text.startswith("</script><img") for text in page.texts(".fleet-lane .lane-name"))
    place = page.texts(".fleet-value .name").index(HOSTILE) + 1
    page.click(f".fleet-value:nth-child({place}) input")
    page.click(".fleet-apply")
    page.settled("() => location.search.includes('span')")
    assert page.query()["span"] == f"team={HOSTILE}"
    assert page.browser.call("() => document.querySelectorAll('img').length") == 0
    assert page.violations() == []


def test_more_values_than_an_address_has_are_refused(page: StorePage) -> None:
    page.show(span="host=host-*")
    page.click("[data-label=host]")
    page.browser.call("(text) => { document.querySelector('.fleet-find').value = text; }", "x" * 2000)
    page.press("Enter")
    page.wait("() => !document.querySelector('#problem').hidden")
    assert "a pattern as web-*" in page.text("#problem")
    assert page.query() == {"span": "host=host-*"}


def test_it_fits_a_narrow_screen(page: StorePage) -> None:
    page.browser.resize(360, 780)
    page.show(span="release=2.0", before="release=1.0")
    page.click("[data-label=host]")
    wide, left, right = page.browser.call(
        "() => { const b = document.querySelector('.fleet-list').getBoundingClientRect();"
        " return [document.documentElement.scrollWidth, b.left, b.right]; }"
    )
    assert wide <= 360 and left >= 0 and right <= 360
