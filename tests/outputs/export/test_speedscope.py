"""Files for speedscope, as speedscope reads them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import speedscope
from tests.support.exports import HOSTILE, added, export, export_of, hostile_profile, losses, report, write
from tests.support.profiles import S, make_profile
from tests.support.speedscope import Imported

from undwarf.outputs.terminal.escape import printable

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with speedscope.started() as driver:
        yield driver


def read(browser: Any, folder: Path, data: bytes) -> list[Imported]:
    return speedscope.imported(browser, folder, "perf.speedscope.json", data)


def test_functions_have_the_weights_of_the_report(browser: Any, tmp_path: Path) -> None:
    found = added([stack for part in read(browser, tmp_path, export("speedscope")) for stack in part.stacks])
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("source", ["folded", "pprof", "perf-script", "speedscope"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(browser: Any, tmp_path: Path, source: str) -> None:
    parts = read(browser, tmp_path, export_of(source, "speedscope"))
    # pprof's number of samples is a profile of its own.
    found = added([stack for part in parts if not part.name.endswith(" samples") for stack in part.stacks])
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


def test_the_total_is_that_of_the_report(browser: Any, tmp_path: Path) -> None:
    (only,) = read(browser, tmp_path, export("speedscope"))
    assert sum(weight for _stack, weight in only.stacks) == report().total > 0
    assert only.unit == "nanoseconds"


def test_roots_are_those_of_the_stacks(browser: Any, tmp_path: Path) -> None:
    (only,) = read(browser, tmp_path, export("speedscope"))
    assert {stack[-1] for stack, _weight in only.stacks} == {"_start"}


def test_threads_and_events_are_profiles_the_heaviest_first(browser: Any, tmp_path: Path) -> None:
    samples = [
        S("main@app", comm="one", tid=1, period=5),
        S("main@app", comm="two", tid=2, period=7),
        S("main@app f@app", comm="two", tid=2, event=1, period=1),
        S("main@app", comm="two", tid=2, period=2),
    ]
    found = read(browser, tmp_path, write(make_profile(samples, ("cycles", "page-faults")), "speedscope"))
    assert [(part.name, part.stacks) for part in found] == [
        ("two (100/2) cycles", [(["main"], 9)]),
        ("one (100/1) cycles", [(["main"], 5)]),
        ("two (100/2) page-faults", [(["f", "main"], 1)]),
    ]


def test_stacks_are_in_the_order_of_time(browser: Any, tmp_path: Path) -> None:
    samples = [S("main@app a@app"), S("main@app b@app"), S("main@app b@app"), S("main@app a@app")]
    (only,) = read(browser, tmp_path, write(make_profile(samples), "speedscope"))
    assert only.stacks == [(["a", "main"], 1), (["b", "main"], 2), (["a", "main"], 1)]


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(browser: Any, tmp_path: Path, name: str) -> None:
    (only,) = read(browser, tmp_path, write(hostile_profile(name), "speedscope"))
    assert only.stacks == [([printable(name), "other", "main"], 7)]
    assert only.name == f"{printable(name)} (100/100)"


def test_a_sample_without_a_stack_keeps_its_weight() -> None:
    (only,) = json.loads(write(make_profile([S("", period=5)]), "speedscope"))["profiles"]
    assert (only["samples"], only["weights"], only["endValue"]) == ([[]], [5], 5)


def test_the_lost_lines_are_named() -> None:
    assert "lines within functions" in losses(make_profile([S("main@app")]), "speedscope")
