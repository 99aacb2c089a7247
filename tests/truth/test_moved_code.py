"""Programs whose code is in anonymous memory at its own addresses, and run-time code where a library once was."""

import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import undwarf
from undwarf import Provenance, StopReason

from .conftest import MILLISECONDS, Stack, stacks_of

pytestmark = [
    pytest.mark.records,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the programs have x86-64 instructions"),
]

Build = Callable[..., Path]
Record = Callable[..., Path]


def burning(found: list[Stack]) -> list[Stack]:
    return [stack for stack in found if stack.names and stack.names[-1] == "burn"]


@pytest.mark.parametrize("how", ["1", "2"], ids=["executable-at-once", "executable-later"])
@pytest.mark.parametrize("options", [[], ["-no-pie"], ["-static"]], ids=["pie", "no-pie", "static"])
def test_code_copied_over_itself_has_its_names_and_callers(
    build: Build, record: Record, how: str, options: list[str]
) -> None:
    program = build("gcc", "moved_code.c", "-O2", *options)
    found = burning(stacks_of(record([program, str(MILLISECONDS), how])))
    assert len(found) > 20
    assert {stack.stop for stack in found} == {StopReason.ROOT}
    for stack in found:
        assert stack.of(program)[-4:] == ["main", "first", "second", "burn"]


@pytest.mark.parametrize(("how", "marked"), [("0", False), ("1", True)])
def test_frames_in_copied_code_are_marked(build: Build, record: Record, how: str, marked: bool) -> None:
    path = record([build("gcc", "moved_code.c", "-O2"), str(MILLISECONDS), how])
    with undwarf.open(path) as recording:
        samples = list(recording.profile().samples)
    frames = [frame for sample in samples for frame in sample.stack if frame.name == "burn"]
    assert len(frames) > 20
    assert {frame.provenance is Provenance.MOVED_CODE for frame in frames} == {marked}


@pytest.mark.parametrize("graph", ["fp", "none"])
def test_copied_code_is_named_without_stack_dumps(build: Build, record: Record, graph: str) -> None:
    program = build("gcc", "moved_code.c", "-O2", "-fno-omit-frame-pointer")
    options = ["--no-call-graph"] if graph == "none" else []
    found = stacks_of(record([program, str(MILLISECONDS), "1"], *options, graph="fp"))
    assert len(burning(found)) > 20


@pytest.mark.parametrize(("how", "name"), [("0", "burn"), ("1", "[unknown]")], ids=["calls", "loops"])
def test_run_time_code_where_a_library_was_is_not_the_library(
    build: Build, record: Record, tmp_path: Path, how: str, name: str
) -> None:
    build("gcc", "reused_library.c", "-O2", "-shared", "-fPIC", output="reused.so")
    program = build("gcc", "reused.c", "-O2", "-ldl")
    found = stacks_of(record([program, str(MILLISECONDS), how, str(tmp_path)]))
    assert sum(stack.names[-1:] == (name,) for stack in found) > 20
    assert not any("of_library" in stack.names for stack in found)
    assert any("//anon" in stack.dsos for stack in found)


@pytest.mark.parametrize("how", ["1", "2"], ids=["executable-at-once", "executable-later"])
def test_copied_code_is_unwound_while_it_is_recorded(build: Build, perf: str, tmp_path: Path, how: str) -> None:
    program, target = build("gcc", "moved_code.c", "-O2"), tmp_path / "live.data"
    command = [sys.executable, "-m", "undwarf", "record", "-q", "-e", "cpu-clock", "-o", str(target), "--"]
    done = subprocess.run([*command, program, str(MILLISECONDS), how], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr}")
    found = burning(stacks_of(target))
    assert len(found) > 20
    # A busy machine may end the program before the last samples are walked.
    assert sum(stack.of(program)[-4:] == ["main", "first", "second", "burn"] for stack in found) >= 0.9 * len(found)


def test_run_time_code_where_a_library_was_is_its_own_while_recorded(build: Build, perf: str, tmp_path: Path) -> None:
    build("gcc", "reused_library.c", "-O2", "-shared", "-fPIC", output="reused.so")
    program, target = build("gcc", "reused.c", "-O2", "-ldl"), tmp_path / "live.data"
    command = [sys.executable, "-m", "undwarf", "record", "-q", "-e", "cpu-clock", "-o", str(target), "--"]
    done = subprocess.run([*command, program, str(MILLISECONDS), "0", str(tmp_path)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr}")
    found = burning(stacks_of(target))
    assert len(found) > 20
    assert not any("of_library" in stack.names for stack in found)
