"""Traces in Chrome's format, as speedscope reads them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import speedscope
from tests.support.exports import HOSTILE, added, export, export_of, hostile_profile, losses, report, write
from tests.support.profiles import S, make_profile

from undwarf.outputs.export.chrome import LONGEST_NAME
from undwarf.outputs.export.origin import Origin
from undwarf.outputs.terminal.escape import printable

CLOCK = ("cpu-clock",)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with speedscope.started() as driver:
        yield driver


def events(data: bytes) -> list[tuple[str, int, str]]:
    """(phase, time in ns, name) of all but metadata."""
    found = json.loads(gzip.decompress(data))["traceEvents"]
    return [(event["ph"], round(event["ts"] * 1000), event["name"]) for event in found if event["ph"] != "M"]


def in_ns(parts: list[speedscope.Imported]) -> list[tuple[list[str], int]]:
    """The stacks of all threads, without the time between samples, with weights in ns."""
    return [(stack, round(weight * 1000)) for part in parts for stack, weight in part.stacks if stack]


@pytest.mark.browser
def test_functions_have_the_weights_of_the_report(browser: Any, tmp_path: Path) -> None:
    stacks = in_ns(speedscope.imported(browser, tmp_path, "perf.trace.json.gz", export("chrome")))
    assert sum(weight for _stack, weight in stacks) == report().total > 0
    found = added(stacks)
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.browser
def test_a_text_of_perf_script_has_the_weights_of_the_report(browser: Any, tmp_path: Path) -> None:
    data = export_of("perf-script", "chrome")
    found = added(in_ns(speedscope.imported(browser, tmp_path, "perf.trace.json.gz", data)))
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.browser
def test_threads_have_their_own_track(browser: Any, tmp_path: Path) -> None:
    samples = [S("a@app", comm="one", tid=1, period=1000), S("b@app", comm="two", tid=2, period=2000)]
    data = write(make_profile(samples, CLOCK), "chrome")
    found = speedscope.imported(browser, tmp_path, "perf.trace.json.gz", data)
    assert [(part.name, in_ns([part])) for part in found] == [
        ("two (pid 100), one (tid 1)", [(["a"], 1000)]),
        ("two (pid 100), two (tid 2)", [(["b"], 2000)]),
    ]


def test_samples_in_a_row_are_one_slice_for_what_they_share() -> None:
    samples = [
        S("main@app a@app", time=2000, period=1000),
        S("main@app b@app", time=3000, period=1000),
        S("main@app b@app", time=4000, period=1000),
    ]
    assert events(write(make_profile(samples, CLOCK), "chrome")) == [
        ("B", 1000, "main"),
        ("B", 1000, "a"),
        ("E", 2000, "a"),
        ("B", 2000, "b"),
        ("E", 4000, "b"),
        ("E", 4000, "main"),
    ]


def test_a_thread_that_did_not_run_has_no_slice() -> None:
    samples = [S("main@app", time=2000, period=1000), S("main@app", time=9000, period=1000)]
    assert events(write(make_profile(samples, CLOCK), "chrome")) == [
        ("B", 1000, "main"),
        ("E", 2000, "main"),
        ("B", 8000, "main"),
        ("E", 9000, "main"),
    ]


def test_samples_that_overlap_keep_their_length() -> None:
    samples = [S("a@app", time=2000, period=1000), S("b@app", time=2100, period=1000)]
    assert events(write(make_profile(samples, CLOCK), "chrome")) == [
        ("B", 1000, "a"),
        ("E", 2000, "a"),
        ("B", 2000, "b"),
        ("E", 3000, "b"),
    ]


def test_a_thread_that_changed_its_name_is_one_track() -> None:
    samples = [S("a@app", time=2000, period=1000, comm="sh"), S("b@app", time=2500, period=1000, comm="ls")]
    profile = make_profile(samples, CLOCK)
    assert [time for _phase, time, _name in events(write(profile, "chrome"))] == [1000, 2000, 2000, 3000]
    assert "names of threads that changed theirs (1)" in losses(profile, "chrome")


def test_weights_that_are_no_time_are_in_proportion() -> None:
    samples = [S("a@app", time=1_000_000_000, period=10), S("b@app", time=2_000_000_000, period=30)]
    profile = make_profile(samples, ("cycles",))
    origin = Origin("perf.data", intervals=(2_000_000,))
    (_begin, start, _a), (_end, end, _same), (_also, begin, _b), (_last, last, _again) = events(
        write(profile, "chrome", origin)
    )
    assert (end - start, last - begin) == (1_000_000, 3_000_000)
    assert "a millisecond stands for" in losses(profile, "chrome")


def test_samples_that_cannot_be_shown_are_counted() -> None:
    profile = make_profile([S("", period=5), S("a@app", period=0), S("a@app", period=0), S("a@app", period=7)], CLOCK)
    assert "1 samples without a stack" in losses(profile, "chrome")
    assert "2 samples without a weight" in losses(profile, "chrome")


@pytest.mark.browser
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(browser: Any, tmp_path: Path, name: str) -> None:
    profile = hostile_profile(name, "cpu-clock")
    shown = printable(name) if len(name) < LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
    found = speedscope.imported(browser, tmp_path, "perf.trace.json.gz", write(profile, "chrome"))
    assert in_ns(found) == [([shown, "other", "main"], 7)]
    cut = f"longer than {LONGEST_NAME:,} characters (1)"
    assert (cut in losses(profile, "chrome")) == (len(name) > LONGEST_NAME)
