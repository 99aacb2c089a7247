"""Stacks deeper than their dump, in recordings of programs that run here."""

from pathlib import Path

import pytest
from tests.support.recording import compiled, names, record

import undwarf
from undwarf.live.sampling.stack_continuation import breakpoints_work
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

pytestmark = pytest.mark.usefixtures("perf_events")


@pytest.mark.skipif(not breakpoints_work(), reason="no breakpoints that fire")
def test_stacks_deeper_than_their_dump_are_read_from_the_process(program: str, tmp_path: Path, capsys):
    path, shown = tmp_path / "perf.data", ""
    # On a busy machine the program may end before the first stacks of it are walked.
    for loops in ("6000", "30000", "150000"):
        assert record(path, "--stack-size", "4096", "--", program, "40", loops) == 0
        shown = capsys.readouterr().err
        if "read to their root from the running process" in shown:
            break
    assert "read to their root from the running process" in shown
    with undwarf.open(path) as recording:
        whole = [sample for sample in recording.profile().samples if names(sample).count("deep") == 41]
        # Frames of callers do not change while the leaf runs.
        assert any(sample.stop == StopReason.ROOT and names(sample)[-1] == "_start" for sample in whole)


ALTERNATING = """
#include <stdlib.h>
volatile unsigned long sink;
int which;
__attribute__((noinline)) void leaf_a(void) { for (int i = 0; i < 3000; i++) sink += i; }
__attribute__((noinline)) void leaf_b(void) { for (int i = 0; i < 3000; i++) sink += i; sink++; }
__attribute__((noinline)) int down(int n) {
    volatile char pad[200];
    pad[0] = 1;
    if (n) return down(n - 1) + pad[0];
    if (which) leaf_b(); else leaf_a();
    return pad[0];
}
__attribute__((noinline)) int from_a(int n) { volatile char pad[64]; pad[0] = 1; return down(n) + pad[0]; }
__attribute__((noinline)) int from_b(int n) { volatile char pad[64]; pad[0] = 1; return down(n) + 2 * pad[0]; }
int main(void) {
    for (int i = 0; i < 20000; i++) { which = 0; from_a(60); which = 1; from_b(60); }
    return 0;
}
"""


def test_no_stack_has_callers_of_another_time(tmp_path: Path):
    path = tmp_path / "perf.data"
    program = compiled(tmp_path, ALTERNATING, "-g", "-fno-optimize-sibling-calls")
    assert record(path, "-q", "--stack-size", "4096", "--", program) == 0
    with undwarf.open(path) as recording:
        stacks = [set(names(sample)) for sample in recording.profile().samples]
    # The two calls alternate, so the same return addresses are in the same slots below both.
    assert not any({"leaf_a", "from_b"} <= stack or {"leaf_b", "from_a"} <= stack for stack in stacks)
    assert any({"leaf_a", "down"} <= stack for stack in stacks)


SHORT_CALLS = """
volatile unsigned long sink;
__attribute__((noinline)) void leaf(void) { for (int i = 0; i < 3000; i++) sink += i; }
#define CALLS(name, next) \\
    __attribute__((noinline)) int name(int n) { volatile char pad[1200]; pad[0] = 1; next; return pad[0] + n; }
CALLS(eight, leaf())
CALLS(seven, eight(n))
CALLS(six, seven(n))
CALLS(five, six(n))
CALLS(four, five(n))
CALLS(three, four(n))
CALLS(two, three(n))
CALLS(one, two(n))
int main(void) { for (int i = 0; i < 60000; i++) one(i); return 0; }
"""


@pytest.fixture(scope="module")
def short_calls(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Nine functions deep for some hundreds of milliseconds of CPU, and never for long at a time."""
    return compiled(tmp_path_factory.mktemp("short_calls"), SHORT_CALLS, "-g", "-fno-optimize-sibling-calls")


def test_inferred_callers_are_marked_in_the_recording(short_calls: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    assert record(path, "--stack-size", "8192", "--", short_calls) == 0
    assert "callers inferred" in capsys.readouterr().err
    with undwarf.open(path) as recording:
        found = recording.profile()
        inferred = [sample for sample in found.samples if sample.stop == StopReason.INFERRED_ROOT]
        marked = [
            [frame.name for frame in sample.stack if frame.provenance == Provenance.OTHER_DUMP] for sample in inferred
        ]
    assert inferred
    assert all(functions[-1] == "_start" and "main" in functions for functions in marked)
    assert not any("leaf" in functions for functions in marked)


def test_nothing_is_inferred_with_no_other_dumps(short_calls: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert record(path, "-q", "--stack-size", "8192", "--no-other-dumps", "--", short_calls) == 0
    with undwarf.open(path) as recording:
        stops = [sample.stop for sample in recording.profile().samples]
    assert StopReason.TRUNCATED in stops
    assert StopReason.INFERRED_ROOT not in stops
