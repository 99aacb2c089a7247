"""The same chain from every form of recording that perf writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf import StopReason

from .conftest import MILLISECONDS, Stack, stacks_of

pytestmark = pytest.mark.records

CHAIN = ["_start", "main", "alpha", "beta", "gamma_", "burn"]
Build = Callable[..., Path]
Stacks = Callable[..., list[Stack]]


def check(found: list[Stack], program: Path, least: int = 50) -> None:
    burning = [stack for stack in found if "burn" in stack.names]
    assert len(burning) >= least
    for stack in burning:
        assert stack.stop is StopReason.ROOT, stack
        assert stack.of(program) == CHAIN


@pytest.mark.parametrize(
    "options",
    [("-z",), ("-k", "mono"), ("-m", "4"), ("--no-buildid",), ("--buildid-all",), ("-d", "--phys-data"), ("-s", "-T")],
)
def test_options_of_perf_record(build: Build, stacks: Stacks, options: tuple[str, ...]) -> None:
    program = build("gcc", "chain.c", "-O2")
    check(stacks(program, *options), program)


@pytest.mark.parametrize("options", [(), ("-z",)])
def test_the_pipe_form(build: Build, stacks: Stacks, options: tuple[str, ...]) -> None:
    program = build("gcc", "chain.c", "-O2")
    check(stacks(program, *options, piped=True), program)


def test_a_directory_of_files(build: Build, record: Callable[..., Path]) -> None:
    program = build("gcc", "chain.c", "-O2")
    recording = record([program, str(MILLISECONDS)], "--threads")
    if not recording.is_dir():
        pytest.skip("this perf writes no directory")
    check(stacks_of(recording), program)


def test_several_events(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "chain.c", "-O2")
    found = stacks(program, event="task-clock:u,page-faults:u")
    assert {stack.event.split(":")[0] for stack in found} == {"task-clock", "page-faults"}
    check([stack for stack in found if stack.event.startswith("task-clock")], program)


def test_kernel_frames_stand_on_the_user_part(build: Build, record: Callable[..., Path]) -> None:
    import undwarf

    program = build("gcc", "forks.c", "-O2")
    with undwarf.open(record([program, "0", "60"], event="cpu-clock")) as recording:
        mixed = 0
        for sample in recording.profile().samples:
            kernel = [frame.dso.startswith("[kernel") for frame in sample.stack]
            if any(kernel) and not all(kernel):
                mixed += 1
                assert kernel == sorted(kernel, reverse=True), "kernel frames are the inner ones"
    if not mixed:
        pytest.skip("the kernel does not let this user see its frames")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_frame_pointer_chains(build: Build, stacks: Stacks, compiler: str) -> None:
    """The chain is the kernel's own: the function that runs may lack its caller (burn has no frame of its own)."""
    program = build(compiler, "chain.c", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
    burning = [stack for stack in stacks(program, graph="fp") if "burn" in stack.names]
    assert len(burning) >= 50
    chains = {tuple(stack.of(program)) for stack in burning}
    full = tuple(CHAIN[1:])
    assert chains <= {full, (*full[:3], "burn"), (*full[:3], full[3], "burn"), ("_start", *full)}


def test_a_smaller_dump(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "chain.c", "-O2")
    check(stacks(program, graph="dwarf,1024"), program)


@pytest.mark.parametrize("options", [(), ("-z",)], ids=["plain", "zstd"])
def test_a_directory_of_several_writers_has_all_samples_in_time_order(
    build: Build, record: Callable[..., Path], perf: str, options: tuple[str, ...]
) -> None:
    import subprocess

    import undwarf

    program = build("gcc", "threads.c", "-O2", "-pthread")
    recording = record([program, "150"], "-a", "--threads", *options, event="task-clock")
    if not recording.is_dir() or len(list(recording.glob("data.*"))) < 2:
        pytest.skip("one writer only")
    listed = subprocess.run(
        [perf, "script", "-i", str(recording), "-F", "tid,time", "--ns", "-G"], capture_output=True, text=True
    )
    theirs = [line.replace(":", "").split() for line in listed.stdout.splitlines() if line.strip()]
    with undwarf.open(recording) as opened:
        samples = opened.profile(by_time=True).samples
        ours = [(sample.tid, sample.time) for sample in samples]
        whole = [sample for sample in samples if sample.stop == StopReason.ROOT and sample.comm == program.name]
    assert len(ours) > 50
    assert [time for _, time in ours] == sorted(time for _, time in ours)
    if len(theirs) == len(ours):  # a perf that cannot read its own directory prints nothing
        assert sorted((int(tid), int(time.replace(".", ""))) for tid, time in theirs) == sorted(ours)
    assert len(whole) > 20
