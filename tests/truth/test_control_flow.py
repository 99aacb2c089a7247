"""Stacks that did not come about by calls alone: signals, coroutines, exceptions, threads, libraries come and gone."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf import StopReason

from .conftest import Stack

pytestmark = pytest.mark.records

Build = Callable[..., Path]
Stacks = Callable[..., list[Stack]]
HANDLER = ["on_signal", "handle", "burn"]


@pytest.mark.parametrize("options", ["-O2", "-O2 -static", "-O0"])
def test_a_signal_handler_on_the_normal_stack(build: Build, stacks: Stacks, options: str) -> None:
    program = build("gcc", "signals.c", "-pthread", *options.split())
    burning = [stack for stack in stacks(program, arguments=["0"], graph="dwarf,32768") if "burn" in stack.names]
    assert len(burning) >= 10
    whole = [stack for stack in burning if stack.stop is StopReason.ROOT]
    assert len(whole) == len(burning)
    for stack in whole:
        names = stack.of(program)
        assert names[:2] == ["_start", "main"]
        assert [name for name in names if name in HANDLER] == HANDLER
        # The interrupted function stands below the handler: work() and what it calls, or main() and what it asks for
        # the time; how often which of them depends on how busy the machine is.
        interrupted = stack.names[stack.names.index("main") + 1 : stack.names.index("on_signal")]
        # What returns from a handler is named by the C library's own symbols only, which few have installed.
        assert interrupted[-1] in ("__restore_rt", "[unknown]")
        assert interrupted[0] in (interrupted[-1], "work", "workload_runs", "clock_gettime", "__clock_gettime")
    assert any("work" in stack.names for stack in burning)


def test_a_handler_on_an_alternate_stack_within_the_dump(build: Build, stacks: Stacks) -> None:
    """The walk leaves the alternate stack for the thread's own, which lies right above it."""
    program = build("gcc", "signals.c", "-O2", "-pthread")
    burning = [stack for stack in stacks(program, arguments=["2"], graph="dwarf,65528") if "burn" in stack.names]
    assert len(burning) >= 10
    for stack in burning:
        assert stack.stop is StopReason.ROOT
        names = stack.of(program)
        # worker() itself asks for the time, and signals arrive where the kernel is left
        assert names[:2] in (["worker", "work"], ["worker", HANDLER[0]])
        assert names[: names.index("burn") + 1][-3:] == HANDLER
    assert any("work" in stack.names for stack in burning)


def test_a_handler_on_an_alternate_stack_elsewhere(build: Build, stacks: Stacks) -> None:
    """The interrupted stack was not recorded: the handler's part is given, and the interrupted function's address."""
    program = build("gcc", "signals.c", "-O2", "-pthread")
    burning = [stack for stack in stacks(program, arguments=["1"], graph="dwarf,32768") if "burn" in stack.names]
    assert len(burning) >= 10
    for stack in burning:
        names = stack.of(program)
        # burn() also asks for the time, by a linkage stub
        assert names[: names.index("burn") + 1][-3:] == HANDLER
        assert stack.stop is not StopReason.ROOT


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_coroutines_end_where_their_stacks_begin(build: Build, stacks: Stacks, compiler: str) -> None:
    program = build(compiler, "coroutines.c", "-O2")
    burning = [stack for stack in stacks(program) if "burn" in stack.names]
    inside = [stack for stack in burning if "body" in stack.names]
    assert len(inside) >= 20
    for stack in inside:
        names = stack.of(program)
        # makecontext puts the start of libc's __start_context on the stack; the byte before it may have no rule
        if platform.machine() == "x86_64":
            assert stack.stop is StopReason.FIBER_ROOT
        else:
            assert stack.stop in {StopReason.FIBER_ROOT, StopReason.ROOT, StopReason.NO_RULE}
        assert len(stack.names) <= len(names) + 1
        assert names[0] == "body"
        assert set(names[1:-1]) == {"step"}
        assert 1 <= names.count("step") <= 4
    outside = [stack for stack in burning if "body" not in stack.names]
    assert all(stack.stop is StopReason.ROOT for stack in outside)
    assert all(stack.of(program) == ["_start", "main", "schedule", "burn"] for stack in outside)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_exceptions_in_flight(build: Build, stacks: Stacks, compiler: str) -> None:
    """In the runtime's unwinder too stacks reach the root, but while it switches to a handler's frame."""
    program = build(compiler, "exceptions.cpp", "-O2")
    found = [stack for stack in stacks(program) if "attempt" in stack.names]
    assert len(found) >= 50
    whole = [stack for stack in found if stack.stop is StopReason.ROOT]
    assert len(whole) >= 0.93 * len(found)
    for stack in whole:
        assert stack.of(program)[:3] == ["_start", "main", "attempt"]
    assert any(name.startswith("_Unwind_") for stack in whole for name in stack.names)


def test_threads(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "threads.c", "-O2", "-pthread")
    burning = [stack for stack in stacks(program, arguments=["8"]) if "burn" in stack.names]
    assert len({stack.tid for stack in burning}) == 8
    for stack in burning:
        assert stack.stop is StopReason.ROOT
        assert stack.of(program) == ["entry", "task", "burn"]


def test_two_libraries_at_one_address_in_turn(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "dlswap.c", "-O2", "-ldl")
    libraries = {
        letter: build(
            "gcc",
            "swap.c",
            "-O2",
            "-shared",
            "-fPIC",
            f"-DLETTER={letter}",
            f"-DROOM={room}",
            output=f"swap_{letter}.so",
        )
        for letter, room in (("a", 16), ("b", 700))
    }
    found = stacks(program, arguments=[str(program.parent)])
    for letter, library in libraries.items():
        burning = [stack for stack in found if f"burn_{letter}" in stack.names]
        assert len(burning) >= 20
        for stack in burning:
            assert stack.stop is StopReason.ROOT
            assert stack.of(program) == ["_start", "main", "turn"]
            assert stack.of(library) == [f"first_{letter}", f"middle_{letter}", f"burn_{letter}"]


def test_forks_and_execs(build: Build, record: Callable[..., Path]) -> None:
    from .conftest import stacks_of

    program = build("gcc", "forks.c", "-O2")
    found = [stack for stack in stacks_of(record([program, "0", "60"])) if "burn" in stack.names]
    assert len({stack.pid for stack in found}) >= 30
    chains = {tuple(stack.of(program)) for stack in found}
    assert all(stack.stop is StopReason.ROOT for stack in found)
    assert chains == {("_start", "main", "spawn", "child", "burn"), ("_start", "main", "child", "burn")}
