"""``undwarf browse``, driven by keys and the mouse."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.profiles import S, make_profile
from tests.support.screens import LARGE, RECORDINGS, SMALL, Driver, browse_file, browse_profile, drive, printed
from textual.widgets import Input

from undwarf.profile.filters import Filters
from undwarf.profile.model import Profile
from undwarf.terminal_ui.browse_app import BrowseApp
from undwarf.terminal_ui.opened_file import OpenedFile

WORDS = RECORDINGS / "words.data"
SAMPLES = [
    S("main@app work@app malloc@libc", period=50, time=1_000_000_000, tid=1, comm="one"),
    S("main@app work@app", period=20, time=1_200_000_000, tid=1, comm="one"),
    S("main@app read@app vfs_read@kernel", period=20, time=1_600_000_000, tid=2, comm="two"),
    S("main@app idle@app", period=10, time=2_000_000_000, tid=2, comm="two"),
]


def numbers(row: list[str]) -> list[int]:
    return [int(word.replace(",", "")) for word in row if word.replace(",", "").isdigit()]


def report(*options: str) -> Any:
    """What `report --json` prints of the words, of their only event."""
    return printed("report", "--json", "--percent-limit", "0", "--symfs", RECORDINGS, *options, WORDS)["events"][0]


def test_functions_have_the_weights_of_the_report() -> None:
    rows = report("-g", "none", "--sort", "sym,dso")["rows"]
    expected = {row["sym"]: (row["total"], row["self"], row["samples"]) for row in rows}

    async def scenario(driver: Driver) -> None:
        await driver.press("3", "w")
        shown = {}
        for row in driver.rows():
            total, *own, samples = numbers(row)
            shown[row[-2]] = (total, own[0] if own else 0, samples)
        assert shown == expected

    browse_file(WORDS, scenario, LARGE)
    assert expected


def test_unfolded_calls_have_the_weights_of_the_report() -> None:
    tree = report("-g", "caller,0")["tree"]
    expected = [(node["sym"], node["total"], node["self"]) for node in tree]

    async def scenario(driver: Driver) -> None:
        view = driver.view()
        assert view.rows is not None
        view.rows.unfold_where(lambda _node: True)  # type: ignore[attr-defined]  # an outline
        view.updated()
        await driver.press("w")
        shown = []
        for row in driver.rows():
            found = numbers(row)
            shown.append((row[-2], found[0], found[1] if len(found) > 1 else 0))
        assert shown == expected

    browse_file(WORDS, scenario, LARGE)
    assert len(expected) > 20


def test_callers_have_the_weights_of_the_report() -> None:
    tree = report("-g", "callee,0")["tree"]
    expected = [(node["sym"], node["total"]) for node in tree]

    async def scenario(driver: Driver) -> None:
        await driver.press("2", "w")
        view = driver.view()
        assert view.rows is not None
        view.rows.unfold_where(lambda _node: True)  # type: ignore[attr-defined]  # an outline
        view.updated()
        assert [(row[-2], numbers(row)[0]) for row in driver.rows()] == expected

    browse_file(WORDS, scenario, LARGE)
    assert len(expected) > 20


@pytest.mark.parametrize(("page", "key"), [("4", "dso"), ("5", "comm,pid,tid")])
def test_files_and_threads_have_the_weights_of_the_report(page: str, key: str) -> None:
    expected = [row["self"] for row in report("-g", "none", "--sort", key)["rows"]]

    async def scenario(driver: Driver) -> None:
        await driver.press(page, "w")
        assert [numbers(row)[1 if page == "4" else 0] for row in driver.rows()] == expected

    browse_file(WORDS, scenario, LARGE)
    assert expected


def test_a_filter_leaves_what_the_report_has_with_it() -> None:
    rows = report("-g", "none", "--sort", "sym,dso", "--caller", "sort_words")["rows"]
    expected = {row["sym"]: row["total"] for row in rows}

    async def scenario(driver: Driver) -> None:
        await driver.press("3", "f")
        await driver.type("sort_words")
        await driver.press("enter", "w")
        assert {row[-2]: numbers(row)[0] for row in driver.rows()} == expected
        assert "function sort_words" in driver.lines()[0]
        await driver.press("F")
        assert len(driver.rows()) > len(expected)

    browse_file(WORDS, scenario, LARGE)
    assert expected


def test_a_selected_time_leaves_what_the_report_has_in_it() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("3", "t", *["right"] * 20, "space", *["right"] * 19, "enter", "escape", "w")
        span = driver.app.filters().spans[0]  # type: ignore[attr-defined]  # of browse
        options = ["--sort", "sym,dso", "-g", "none", "--percent-limit", "0", "--symfs", RECORDINGS]
        times = ",".join(f"{time // 10**9}.{time % 10**9:09}" for time in span)
        rows = printed("report", "--json", *options, "--time", times, WORDS)["events"][0]["rows"]
        assert {row[-2]: numbers(row)[0] for row in driver.rows()} == {row["sym"]: row["total"] for row in rows}
        assert 0 < len(driver.app.analysis().profile.samples) < 1127  # type: ignore[union-attr]  # it is there

    browse_file(WORDS, scenario, LARGE)


def test_dragging_over_the_bar_selects_and_a_click_clears() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.pilot.mouse_down("TimeBrush", offset=(0, 0))
        await driver.pilot.hover("TimeBrush", offset=(30, 0))
        await driver.pilot.mouse_up("TimeBrush", offset=(30, 0))
        await driver.settle()
        assert "2 of 4 samples" in driver.lines()[0]
        assert {row[-2] for row in driver.rows()} == {"main", "work", "malloc"}
        await driver.pilot.click("TimeBrush", offset=(40, 1))
        await driver.settle()
        assert "4 samples" in driver.lines()[0]

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_search_counts_matches_in_folded_calls_and_goes_to_them() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("left")
        assert len(driver.rows()) == 1
        await driver.search("rea")
        assert "read" in driver.current()
        assert any("1 of 2 matches" in line for line in driver.lines())
        await driver.press("n")
        assert "vfs_read" in driver.current()
        await driver.press("n")
        assert "vfs_read" not in driver.current()
        await driver.press("N")
        assert "vfs_read" in driver.current()
        await driver.press("escape")
        assert not any("matches" in line for line in driver.lines())

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_callers_and_callees_of_a_function() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.search("work")
        await driver.press("enter")
        assert driver.rows("#callers") == [["70.00%", "main", "app"]]
        assert driver.rows("#callees") == [["50.00%", "50.00%", "malloc", "libc.so.6"]]
        assert any("70.00% pass it, 20.00% are its own" in line for line in driver.lines())
        await driver.press("escape", "escape")
        assert driver.rows("#rows")

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_x_leaves_only_what_the_row_is_about() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("5", "x")
        assert "thread id 1" in driver.lines()[0]
        assert "2 of 4 samples" in driver.lines()[0]

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_keys_on_an_empty_list_do_nothing() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.search("malloc")
        await driver.press("b", "tab", "tab")
        assert driver.rows("#callees") == []
        await driver.press("E", "right", "left", "space", "enter", "n", "s", "a", "b", "i", "end", "pageup")
        assert "it calls nothing" in driver.text()

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_events_are_shown_one_after_the_other() -> None:
    samples = [S("main@app a@app", event=0, period=3), S("main@app b@app", event=1, period=7)]

    async def scenario(driver: Driver) -> None:
        await driver.press("3", "w")
        assert "cycles" in driver.lines()[0] and driver.rows()[0][:3] == ["3", "3", "a"]
        await driver.press("e")
        assert "faults" in driver.lines()[0] and driver.rows()[0][:3] == ["7", "7", "b"]

    drive(browse_profile(make_profile(samples, ("cycles", "faults"))), scenario)


def test_titles_sort_with_a_click_and_s() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        assert "Self▼" in driver.text() and driver.rows()[0][-2] == "malloc"
        await driver.pilot.click("#rows", offset=(3, 0))
        await driver.settle()
        assert "Total▼" in driver.text() and driver.rows()[0][-2] == "main"
        await driver.press("s")
        assert "Self▼" in driver.text()

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_a_click_on_the_mark_folds_and_on_the_row_chooses() -> None:
    async def scenario(driver: Driver) -> None:
        count = len(driver.rows())
        at = driver.view().column_starts()[2][0]
        await driver.pilot.click("#rows", offset=(at, 1))
        await driver.settle()
        assert len(driver.rows()) == 1 < count
        await driver.pilot.click("#rows", offset=(at, 1))
        await driver.settle()
        assert len(driver.rows()) > 1
        await driver.pilot.click("#rows", offset=(at + 10, 2))
        await driver.settle()
        assert driver.view().cursor == 1

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_source_lines_and_instructions() -> None:
    """Without the source and without DWARF there are the instructions."""
    done = printed("report", "--json", "--source", "compare", "--asm", "--symfs", RECORDINGS, WORDS)
    listing = done["events"][0]["listings"][0]
    expected = [one["total"] for line in listing["lines"] for one in line["instructions"] if one["total"]]

    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.search("compare")
        await driver.press("a", "w")
        view = driver.view("#source")
        (_start, width), *_others = view.column_starts()
        shown = [view.line(row).plain[:width].strip() for row in range(1, len(driver.rows("#source")))]
        assert [int(weight.replace(",", "")) for weight in shown if weight] == expected
        await driver.press("escape", "escape")

    browse_file(WORDS, scenario)
    assert len(expected) > 5


def test_source_and_instructions_are_beside_each_other_where_there_is_space() -> None:
    path = RECORDINGS / "words-sum.data"
    done = printed("report", "--json", "--source", "compare", "--asm", "--symfs", RECORDINGS, path)
    lines = done["events"][0]["listings"][0]["lines"]
    weights = {line["line"]: line["total"] for line in lines if line["total"]}
    instructions = sorted((one["address"], one["total"]) for line in lines for one in line["instructions"])

    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.search("compare")
        await driver.press("a", "w")
        source, code = driver.view("#source"), driver.view("#instructions")
        assert source.rows is not None and code.rows is not None
        rows = [source.rows.item(row) for row in range(len(source.rows))]
        assert {row.line.number: row.line.total_weight for row in rows if row.line and row.line.total_weight} == weights
        shown = [code.rows.item(row).code for row in range(len(code.rows))]
        assert [(f"0x{one.address:x}", one.total_weight) for one in shown] == instructions
        assert any("char" in row for row in driver.rows("#instructions"))
        await driver.press("tab", "home")
        assert driver.current("#source").split()[-1] != "}" and "▌" in driver.current("#source")
        await driver.press("v")
        assert not driver.app.screen.query_one("#instructions").display

    browse_file(path, scenario, LARGE)
    assert weights and instructions


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_screens(snapshot: Callable[[str], None], size: tuple[int, int]) -> None:
    shown = []

    async def scenario(driver: Driver) -> None:
        for keys in ("1", "2", "3", "4", "5", "8"):
            await driver.press(keys)
            shown.append(driver.text())
        await driver.press("3", "b")
        shown.append(driver.text())
        await driver.press("escape", "question_mark")
        shown.append(driver.text())
        await driver.press("escape", "f")
        shown.append(driver.text())

    drive(browse_profile(make_profile(SAMPLES)), scenario, size)
    snapshot("\n".join(shown))


def test_progress_is_shown_and_quitting_does_not_wait_for_the_profile() -> None:
    going_on = threading.Event()

    def unwind(_lines: bool) -> Profile:
        going_on.wait(20)
        return make_profile(SAMPLES)

    app = BrowseApp(OpenedFile("some.data", unwind))

    async def run() -> None:
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            assert "reading" in Driver(app, pilot).text()
            app.opened.show_progress("walking stacks", 3, 10)
            await pilot.pause(0.3)
            assert "walking stacks …   30 %" in Driver(app, pilot).text()
            await pilot.press("q")

    asyncio.run(run())
    assert app.is_working
    going_on.set()
    assert not app._worker.submit(bool).result(20)


def test_every_key_of_the_last_line_is_bound() -> None:
    from undwarf.terminal_ui import browse_app, code_screen, function_screen, top_app

    keys = [key.action for module in (browse_app, top_app) for key in module.KEYS]
    for action in keys:
        name = action.removeprefix("app.").partition("(")[0]
        assert hasattr(browse_app.BrowseApp, f"action_{name}") or hasattr(top_app.TopApp, f"action_{name}"), action
    for key in (*code_screen.KEYS, *function_screen.KEYS):
        if key.action.startswith("screen."):
            assert hasattr(code_screen.CodeScreen, f"action_{key.action[7:].partition('(')[0]}")


HOSTILE = "evil[red]\x1b[2J\x1b]0;title\x07[/red][@click=app.quit]here[/]\nnext\u202e"


def test_hostile_names_are_text() -> None:
    samples = [S("main@app leaf@app", comm=HOSTILE), S("main@app", comm="good")]
    profile = make_profile(samples)
    profile.functions.name[1] = HOSTILE
    profile.events[0]
    shown: list[str] = []

    async def scenario(driver: Driver) -> None:
        for key in ("1", "2", "3", "5", "i"):
            await driver.press(key)
            shown.append(driver.text())
        await driver.press("escape", "3", "b")
        shown.append(driver.text())
        await driver.press("escape", "f")
        await driver.type("e")
        shown.append(driver.text())

    drive(browse_profile(profile, f"/tmp/{HOSTILE}"), scenario, LARGE)
    assert all("\x1b" not in text and "\x07" not in text and "\u202e" not in text for text in shown)
    assert all(r"evil[red]\x1b[2J" in text for text in shown[:3] + shown[5:6])
    assert all("[@click=app.quit]here[/]" in text for text in shown[2:3])


def test_a_hostile_name_can_be_a_filter() -> None:
    profile = make_profile([S("main@app leaf@app"), S("main@app other@app")])
    profile.functions.name[1] = HOSTILE

    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.search("evil")
        await driver.press("x")
        assert "1 of 2 samples" in driver.lines()[0]
        await driver.press("f")
        assert r"\x1b\[2J" in driver.app.screen.query_one("#callers", Input).value

    drive(browse_profile(profile), scenario, LARGE)


def test_a_wrong_filter_says_why_and_changes_nothing() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("f")
        field = driver.app.screen.query_one("#callers", Input)
        field.value = "no such function"
        await driver.press("enter")
        await driver.pilot.pause(0.2)
        assert "no stack has a function named" in driver.text()
        assert "4 samples" in driver.lines()[0]
        assert driver.app.filters() == Filters()  # type: ignore[attr-defined]  # of browse

    drive(browse_profile(make_profile(SAMPLES)), scenario)


def test_a_profile_of_another_tool(tmp_path: Path) -> None:
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;work;malloc 50\nmain;read 30\n")

    async def scenario(driver: Driver) -> None:
        await driver.press("3", "w")
        assert [row[:2] for row in driver.rows()] == [["50", "50"], ["30", "30"], ["80", "main"], ["50", "work"]]
        for page, words in (
            ("4", "no files"),
            ("5", "no threads"),
            ("6", "no source lines"),
            ("7", "need a recording"),
        ):
            await driver.press(page)
            assert words in driver.text()
        await driver.press("8")
        assert "it does not say whether stacks are whole" in driver.text()

    browse_file(folded, scenario)


@pytest.mark.parametrize("options", [[], ["--time", "0%-50%"]], ids=["all", "filtered"])
def test_types_have_the_weights_of_types(options: list[str]) -> None:
    path = RECORDINGS / "particles.data"
    done = printed("types", "--json", "--symfs", RECORDINGS, *options, path)
    expected = {one["type"]: one["weight"] for one in done["events"][0]["types"]}

    async def scenario(driver: Driver) -> None:
        if options:
            await driver.press("f")
            driver.app.screen.query_one("#spans", Input).value = options[1]
            await driver.press("enter")
        await driver.press("7", "w")
        shown = {line.node.label: line.node.weight for line in driver.view().rows.lines if line.node.type}  # type: ignore[union-attr]
        assert shown == expected
        assert [numbers(row)[0] for row in driver.rows()[: len(expected)]] == sorted(expected.values(), reverse=True)

    browse_file(path, scenario)
    assert expected
