"""Folded stacks and perf script, as speedscope reads them."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support import speedscope
from tests.support.exports import HOSTILE, RECORDING, added, export, hostile_profile, losses, report, run, write
from tests.support.profiles import S, make_profile

from undwarf.outputs.export.formats import writer
from undwarf.outputs.export.origin import Origin
from undwarf.outputs.script import TRACEPOINT
from undwarf.outputs.terminal.escape import printable
from undwarf.views.export_tables import export_tables


class Attributes(NamedTuple):
    name: str
    type: int
    sample_type: int


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with speedscope.started() as driver:
        yield driver


@pytest.mark.browser
def test_folded_stacks_have_the_weights_of_the_report(browser: Any, tmp_path: Path) -> None:
    (part,) = speedscope.imported(browser, tmp_path, "perf.folded", export("folded"))
    # The outermost entry is the thread's name.
    found = added([(stack[:-1], weight) for stack, weight in part.stacks])
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected
    assert sum(weight for _stack, weight in part.stacks) == report().total


@pytest.mark.browser
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_entry_of_a_folded_stack(browser: Any, tmp_path: Path, name: str) -> None:
    (part,) = speedscope.imported(browser, tmp_path, "perf.folded", write(hostile_profile(name), "folded"))
    shown = printable(name).replace(";", ":")
    assert part.stacks == [([shown, "other", "main", shown], 7)]


def test_samples_count_if_no_event_has_weights() -> None:
    assert write(make_profile([S("a@app", period=0), S("a@app", period=0)]), "folded") == b"app;a 2\n"


def test_semicolons_in_names_are_counted() -> None:
    assert "semicolons in names, which are colons (1)" in losses(make_profile([S("f<[u8;4]>@app")]), "folded")


def test_perf_script_is_that_of_the_command() -> None:
    assert export("perf-script") == run("script", *RECORDING).stdout != b""


def test_perf_script_has_the_total_of_the_report() -> None:
    periods = re.findall(rb"^\S.*: +(\d+) \S+: *$", export("perf-script"), re.MULTILINE)
    assert sum(map(int, periods)) == report().total


@pytest.mark.browser
def test_perf_script_has_the_stacks_of_the_others(browser: Any, tmp_path: Path) -> None:
    (script,) = speedscope.imported(browser, tmp_path, "perf.txt", export("perf-script"))
    (folded,) = speedscope.imported(browser, tmp_path, "perf.folded", export("folded"))
    stacks = {tuple(stack) for stack, _weight in script.stacks}
    assert stacks == {tuple(stack[:-1]) for stack, _weight in folded.stacks}


@pytest.mark.browser
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_line_of_perf_script(browser: Any, tmp_path: Path, name: str) -> None:
    text = write(hostile_profile(name), "perf-script")
    assert len(text.splitlines()) == 5
    assert f" {printable(name)}+0x10 (" in text.decode()


def test_samples_have_the_fields_of_their_event() -> None:
    profile = make_profile([S("a@app")], ("sched:sched_switch",))
    origin = Origin("perf.data", attributes=(Attributes("sched:sched_switch", TRACEPOINT, 0xFFFF),))
    # Tracepoints have no period.
    assert write(profile, "perf-script", origin).splitlines()[0].split() == [
        b"app", b"100", b"[000]", b"1.000000:", b"sched:sched_switch:",
    ]  # fmt: skip
    tables, sink = export_tables(profile), io.BytesIO()
    assert "the fields of 1 samples of tracepoints" in "".join(writer("perf-script")(tables, sink, origin))
