"""Programs without unwind information and frame pointers: their stacks come out by the rules found in their code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf import StopReason

from .conftest import Stack

pytestmark = pytest.mark.records

NOTHING = ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"]
CHAIN = ["_start", "main", "alpha", "beta", "gamma_", "burn"]
REALIGNED = ["_start", "main", "outer", "vary", "align64", "burn"]
Build = Callable[..., Path]
Stacks = Callable[..., list[Stack]]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("source", "chain"), [("chain.c", CHAIN), ("realigned.c", REALIGNED)])
def test_stacks_are_whole(build: Build, stacks: Stacks, compiler: str, source: str, chain: list[str]) -> None:
    program = build(compiler, source, *NOTHING)
    burning = [stack for stack in stacks(program) if chain[-1] in stack.names]
    assert burning
    whole = [stack for stack in burning if stack.stop is StopReason.ROOT]
    assert len(whole) >= 0.95 * len(burning)
    assert all(stack.of(program)[: len(chain)] == chain for stack in whole)


@pytest.mark.parametrize("options", [["-s"], ["-s", "-static"], ["-s", "-no-pie", "-fno-pie"]])
def test_stripped_programs_too(build: Build, stacks: Stacks, options: list[str]) -> None:
    program = build("gcc", "chain.c", *NOTHING, *options)
    # What the program itself did, not the loader before it: of six functions and the library's two.
    inside = [stack for stack in stacks(program) if len(stack.of(program)) > 1]
    assert inside
    assert sum(stack.stop is StopReason.ROOT for stack in inside) >= 0.95 * len(inside)
