"""Callgrind's format, as `callgrind_annotate` reads it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.exports import HOSTILE, export, export_of, hostile_profile, inlined_profile, losses, report, write
from tests.support.profiles import S, make_profile

from undwarf.outputs.terminal.escape import printable

ANNOTATE = shutil.which("callgrind_annotate")
needs_annotate = pytest.mark.skipif(ANNOTATE is None, reason="callgrind_annotate is not installed")


def annotate(data: bytes, folder: Path, *options: str) -> str:
    """What `callgrind_annotate` prints."""
    assert ANNOTATE is not None
    path = folder / "perf.callgrind"
    path.write_bytes(data)
    command = [ANNOTATE, "--auto=no", "--threshold=100", "--show-percs=no", *options, str(path)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    # It writes warnings of malformed lines there.
    assert done.stderr == b""
    return done.stdout.decode()


def costs(data: bytes, folder: Path, inclusive: bool, *options: str) -> dict[str, int]:
    """By function its cost in the first event, with callees if ``inclusive``; roots that stand for threads are not."""
    text = annotate(data, folder, f"--inclusive={'yes' if inclusive else 'no'}", *options)
    rows = re.findall(r"^ *([\d,]+) +(.*?):(.*?) \[([^ ]*|\[.*\])\]$", text, re.MULTILINE)
    found: dict[str, int] = {}
    for cost, file, name, _object in rows:
        if file != "[threads]":
            found[name] = found.get(name, 0) + int(cost.replace(",", ""))
    return found


def both(data: bytes, folder: Path, *options: str) -> dict[str, tuple[int, int]]:
    own, whole = (costs(data, folder, inclusive, *options) for inclusive in (False, True))
    return {name: (own.get(name, 0), whole.get(name, 0)) for name in own.keys() | whole.keys()}


@needs_annotate
def test_functions_have_the_weights_of_the_report(tmp_path: Path) -> None:
    found = both(export("callgrind"), tmp_path)
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@needs_annotate
@pytest.mark.parametrize("source", ["folded", "pprof", "perf-script", "speedscope"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(tmp_path: Path, source: str) -> None:
    found = both(export_of(source, "callgrind"), tmp_path)
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@needs_annotate
def test_the_total_is_that_of_the_report(tmp_path: Path) -> None:
    (total,) = re.findall(r"^([\d,]+) +PROGRAM TOTALS$", annotate(export("callgrind"), tmp_path), re.MULTILINE)
    assert int(total.replace(",", "")) == sum(costs(export("callgrind"), tmp_path, False).values()) == report().total


@needs_annotate
def test_recursion_counts_each_stack_once(tmp_path: Path) -> None:
    samples = [S("main@app a@app b@app a@app", period=5), S("main@app a@app a@app a@app c@app", period=3)]
    assert both(write(make_profile(samples), "callgrind"), tmp_path) == {
        "main": (0, 8),
        "a": (5, 8),
        "b": (0, 5),
        "c": (3, 3),
    }


@needs_annotate
def test_callers_and_callees_have_their_weight(tmp_path: Path) -> None:
    samples = [S("main@app a@app c@app", period=5), S("main@app b@app c@app", period=3), S("main@app a@app")]
    text = annotate(write(make_profile(samples), "callgrind"), tmp_path, "--tree=caller", "--inclusive=yes")
    callers = re.findall(r"^ *(\d+)  < \S+?:(\w+) \((\d)x\)", text[: text.index("*  ???:c")], re.MULTILINE)[-2:]
    assert sorted(callers) == [("3", "b", "1"), ("5", "a", "1")]


@needs_annotate
def test_each_event_is_a_column(tmp_path: Path) -> None:
    samples = [S("a@app", period=5), S("a@app b@app", event=1, period=7)]
    data = write(make_profile(samples, ("cpu_core/cycles/u", "sched:sched switch")), "callgrind")
    assert both(data, tmp_path, "--show=cpu_core/cycles/u") == {"a": (5, 5), "b": (0, 0)}
    assert both(data, tmp_path, "--show=sched:sched_switch") == {"a": (0, 7), "b": (7, 7)}


@needs_annotate
def test_threads_call_the_outermost_functions(tmp_path: Path) -> None:
    profile = make_profile([S("a@app", comm="one"), S("a@app", comm="two", period=4), S("", comm="two", period=2)])
    text = annotate(write(profile, "callgrind"), tmp_path, "--inclusive=yes", "--tree=caller")
    assert re.findall(r"^ *(\d+)  < \[threads\]:(\w+)", text, re.MULTILINE) == [("4", "two"), ("1", "one")]
    # A sample without a stack is the thread's own cost.
    assert re.findall(r"^ *(\d+)  +\*  \[threads\]:(\w+)", text, re.MULTILINE) == [("6", "two"), ("1", "one")]


def test_costs_are_by_line() -> None:
    text = write(inlined_profile(), "callgrind").decode()
    main = text[re.search(r"^fn=\(\d+\) main$", text, re.MULTILINE).start() :]  # type: ignore[union-attr]
    assert re.search(r"^cfn=\(\d+\)\ncalls=3 0\n10 21$", main, re.MULTILINE)
    assert re.search(r"^fl=\(\d+\) /src/inner.h\nfn=\(\d+\) inner\n3 21$", text, re.MULTILINE)


@needs_annotate
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(tmp_path: Path, name: str) -> None:
    assert both(write(hostile_profile(name), "callgrind"), tmp_path) == {
        "main": (0, 7),
        "other": (0, 7),
        printable(name): (7, 7),
    }


def test_the_lost_stacks_are_named() -> None:
    assert "stacks deeper than one call" in losses(make_profile([S("main@app")]), "callgrind")
