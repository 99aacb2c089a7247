"""The time line of a profile's page in a real headless browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.page_browser import page_of, settle, show, started, text, view
from tests.support.page_profiles import Frame, PagePart, ProfileBuilder

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(two_phases(), tmp_path_factory.mktemp("phases"))


def two_phases() -> dict[str, PagePart]:
    """100 ms of read in one thread, then 100 ms of write in another, on another CPU; 50 cache misses in between. Seven
    records were lost in the middle."""
    builder = ProfileBuilder("phases")
    app = builder.image("app")
    read, write = builder.function("read", app, 0x1000), builder.function("write", app, 0x1040)
    builder.events = [{"name": "cpu-clock", "unit": "ns"}, {"name": "cache-misses", "unit": "events"}]
    builder.measures = [{**event, "events": [i]} for i, event in enumerate(builder.events)]
    builder.threads = [
        {"tid": 10, "process": 0, "name": "reader", "idle": False},
        {"tid": 11, "process": 0, "name": "writer", "idle": False},
    ]
    for time in range(100):
        builder.row(time + 1, builder.node([Frame(read, 0x1000)]), thread=0, cpu=0)
        builder.row(time + 101, builder.node([Frame(write, 0x1040)]), thread=1, cpu=1)
    for time in range(50):
        builder.row(76 + time, builder.node([Frame(read, 0x1000)]), event=1, weight=1000)
    return {"profile": builder.part()}


def drag(browser: Any, start: float, end: float, y: int = 40) -> None:
    """Drag over shares of the width of the time line."""
    canvas = browser.find_element(By.ID, "timeline-canvas")
    width, height = canvas.size["width"], canvas.size["height"]
    place = [(int(width * (share - 0.5)), int(y - height / 2)) for share in (start, end)]
    actions = ActionChains(browser, duration=20)
    actions.move_to_element_with_offset(canvas, *place[0]).click_and_hold()
    actions.move_by_offset((place[1][0] - place[0][0]) // 2, 0)
    actions.move_to_element_with_offset(canvas, *place[1]).release().perform()
    settle(browser)
    settle(browser)


def selected(browser: Any) -> list[int] | None:
    value = view(browser).get("range")
    return json.loads(value) if value else None


def lane(browser: Any, name: str) -> Any:
    for button in browser.find_elements(By.CSS_SELECTOR, ".timeline-names button"):
        if name in button.text:
            return button
    raise AssertionError(f"no lane {name}")


def test_dragging_selects_and_the_flame_graph_follows(browser: Any, page: str) -> None:
    show(browser, page)
    drag(browser, 0.1, 0.4)
    found = selected(browser)
    assert found is not None and abs(found[0] - 20) <= 2 and abs(found[1] - 80) <= 2
    count = found[1] - found[0] + 1
    assert text(browser, ".flame-note").startswith(f"{count}.0 ms, {count} samples")
    assert "selected" in text(browser, ".timeline-text")


def test_dragging_is_one_step_back(browser: Any, page: str) -> None:
    show(browser, page)
    drag(browser, 0.1, 0.4)
    browser.back()
    settle(browser)
    assert selected(browser) is None


def test_a_handle_adjusts_the_selection(browser: Any, page: str) -> None:
    show(browser, page, "range=[50,99]")
    drag(browser, 0.5, 0.75)
    found = selected(browser)
    assert found is not None and found[0] == 50 and abs(found[1] - 150) <= 2


def test_escape_selects_all_again(browser: Any, page: str) -> None:
    show(browser, page, "range=[50,99]")
    browser.find_element(By.CSS_SELECTOR, ".timeline-handle.from").send_keys(Keys.ESCAPE)
    settle(browser)
    assert selected(browser) is None


def test_a_click_beside_the_selection_selects_all(browser: Any, page: str) -> None:
    show(browser, page, "range=[50,99]")
    drag(browser, 0.8, 0.8)
    assert selected(browser) is None


def test_arrows_move_a_handle_and_say_the_time(browser: Any, page: str) -> None:
    show(browser, page)
    handle = browser.find_element(By.CSS_SELECTOR, ".timeline-handle.from")
    assert handle.get_attribute("role") == "slider"
    assert "all is selected" in handle.get_attribute("aria-valuetext")
    handle.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    settle(browser)
    found = selected(browser)
    assert found is not None and found[0] == 4
    said = browser.find_element(By.CSS_SELECTOR, ".timeline-handle.from").get_attribute("aria-valuetext")
    assert said.replace("\u00a0", " ") == "0.004 s"


def test_a_lane_selects_its_thread_and_shift_adds_another(browser: Any, page: str) -> None:
    show(browser, page, "lanes=thread")
    lane(browser, "writer 11").click()
    settle(browser)
    assert json.loads(view(browser)["threads"]) == [1]
    assert text(browser, ".flame-note").startswith("100 ms")
    ActionChains(browser).key_down(Keys.SHIFT).click(lane(browser, "reader 10")).key_up(Keys.SHIFT).perform()
    settle(browser)
    assert sorted(json.loads(view(browser)["threads"])) == [0, 1]


def test_cpus_are_lanes(browser: Any, page: str) -> None:
    show(browser, page)
    browser.find_element(By.XPATH, "//button[text()='CPUs']").click()
    settle(browser)
    lane(browser, "CPU 1").click()
    settle(browser)
    assert json.loads(view(browser)["cpus"]) == [1]


def test_other_events_are_lanes_that_can_be_chosen(browser: Any, page: str) -> None:
    show(browser, page)
    lane(browser, "cache-misses").click()
    settle(browser)
    assert view(browser)["measure"] == "1"
    assert "50 samples" in text(browser, ".flame-note")


def test_lost_records_are_marked(browser: Any, page: str) -> None:
    show(browser, page)
    assert "7 lost at 1 time" in text(browser, ".timeline-lost")
    canvas = browser.find_element(By.ID, "timeline-canvas")
    ActionChains(browser).move_to_element_with_offset(canvas, 0, 12 - canvas.size["height"] // 2).perform()
    settle(browser)
    tips = [tip.text for tip in browser.find_elements(By.CSS_SELECTOR, ".flame-tip:not([hidden])")]
    assert any("7 samples lost" in tip for tip in tips)


def test_time_on_a_cpu_is_drawn_from_context_switches(browser: Any, tmp_path: Path) -> None:
    part = two_phases()["profile"]
    spans = {"run_thread": [0, 1], "run_start": [0, 100], "run_end": [50, 200], "run_cpu": [0, 1]}
    columns = {name: ("u16" if name == "run_cpu" else "u32", values) for name, values in spans.items()}
    ran = PagePart({**part.json, "switches": {"spans": 2}}, {**part.columns, **columns})
    show(browser, page_of({"profile": ran}, tmp_path), "lanes=thread")
    assert "ran, by context switches" in text(browser, ".timeline-head")
    y = lane(browser, "reader 10").location["y"] + 8
    canvas = browser.find_element(By.ID, "timeline-canvas")
    below = int(y - canvas.location["y"] - canvas.size["height"] / 2)
    found = []
    for x in (0.1, 0.4):
        place = int(canvas.size["width"] * (x - 0.5))
        ActionChains(browser, duration=20).move_to_element_with_offset(canvas, place, below).perform()
        settle(browser)
        found.append(text(browser, ".flame-tip:not([hidden])"))
    assert "running: 100.0 %" in found[0]
    assert "running: 0.0 %" in found[1]


def test_the_axis_says_how_many_cpus(browser: Any, page: str) -> None:
    show(browser, page)
    canvas = browser.find_element(By.ID, "timeline-canvas")
    ActionChains(browser).move_to_element_with_offset(canvas, -100, 40 - canvas.size["height"] // 2).perform()
    settle(browser)
    tips = [
        tip.text.replace("\u00a0", " ") for tip in browser.find_elements(By.CSS_SELECTOR, ".flame-tip:not([hidden])")
    ]
    assert any("all: 1.0 CPUs" in tip for tip in tips)


def test_zooming_in_time_keeps_the_selection(browser: Any, page: str) -> None:
    show(browser, page, "range=[50,99]")
    browser.find_element(By.XPATH, "//button[text()='Zoom to selection']").click()
    settle(browser)
    assert view(browser)["span"] == "[50,99]"
    browser.find_element(By.XPATH, "//button[text()='Whole time']").click()
    settle(browser)
    assert "span" not in view(browser)
    assert selected(browser) == [50, 99]


def test_it_can_be_folded_away(browser: Any, page: str) -> None:
    show(browser, page)
    ActionChains(browser).send_keys("l").perform()
    settle(browser)
    assert not browser.find_element(By.ID, "timeline-canvas").is_displayed()
    ActionChains(browser).send_keys("l").perform()
    settle(browser)
    assert browser.find_element(By.ID, "timeline-canvas").is_displayed()
