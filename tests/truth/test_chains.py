"""Known call chains come out whole, whatever built the program: main -> ... -> burn, all the way to the root."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf import StopReason

from .conftest import Stack

pytestmark = pytest.mark.records

CHAIN = ["_start", "main", "alpha", "beta", "gamma_", "burn"]
Build = Callable[..., Path]
Stacks = Callable[..., list[Stack]]


def check(found: list[Stack], program: Path, chain: list[str], least: int = 50) -> None:
    """Every stack that holds the last function of the chain holds the whole chain and reaches the root."""
    burning = [stack for stack in found if chain[-1] in stack.names]
    assert len(burning) >= least
    for stack in burning:
        assert stack.stop is StopReason.ROOT, stack
        assert stack.of(program)[: len(chain)] == chain


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    "options",
    ["-O0", "-O2", "-O2 -fno-pie -no-pie", "-O2 -static", "-O2 -static-pie -fPIE", "-Os -fomit-frame-pointer -flto"],
)
def test_a_plain_chain(build: Build, stacks: Stacks, compiler: str, options: str) -> None:
    program = build(compiler, "chain.c", *options.split())
    check(stacks(program), program, CHAIN)


def test_names_come_from_a_separate_debug_file(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "chain.c", "-O2", "-g")
    debug = program.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True, cwd=program.parent)
    check(stacks(program), program, CHAIN)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("packed", ["-gz=none", "-gz"])
def test_rules_come_from_debug_frame_alone(build: Build, stacks: Stacks, compiler: str, packed: str) -> None:
    program = build(compiler, "chain.c", "-O2", "-g", packed, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    check(stacks(program), program, CHAIN)


def test_rules_come_from_debug_frame_in_a_separate_file(build: Build, stacks: Stacks) -> None:
    options = ["-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    program = build("gcc", "realigned.c", *options)
    debug = program.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program], check=True, cwd=debug.parent)
    check(stacks(program), program, ["_start", "main", "outer", "vary", "align64", "burn"])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("options", ["-O0", "-O2", "-O2 -mavx2", "-O1 -mstackrealign"])
def test_realigned_stacks_and_alloca(build: Build, stacks: Stacks, compiler: str, options: str) -> None:
    program = build(compiler, "realigned.c", *options.split())
    check(stacks(program), program, ["_start", "main", "outer", "vary", "align64", "burn"])


def test_hand_written_frames(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "asm_frames.c frames.S", "-O2")
    frames = ["round_trip", "frame_restored", "two", "frame_in_memory", "three", "frame_in_register", "leaf_burn"]
    check(stacks(program), program, ["_start", "main", *frames])


@pytest.mark.parametrize("depth", [1, 60])
def test_recursion_that_fits_in_the_dump(build: Build, stacks: Stacks, depth: int) -> None:
    program = build("gcc", "recursion.c", "-O2")
    found = stacks(program, arguments=[str(depth)])
    check(found, program, ["_start", "main", *["descend"] * (depth + 1), "burn"])


def test_recursion_beyond_the_dump_keeps_what_was_recorded(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "recursion.c", "-O2")
    burning = [stack for stack in stacks(program, arguments=["400"], graph="dwarf,4096") if "burn" in stack.names]
    assert len(burning) >= 5
    for stack in burning:
        assert stack.stop is StopReason.TRUNCATED
        assert len(stack.names) >= 25
        assert set(stack.names) <= {"burn", "descend"}


def test_a_larger_dump_reaches_the_root(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "recursion.c", "-O2")
    found = stacks(program, arguments=["400"], graph="dwarf,65528")
    check(found, program, ["_start", "main", *["descend"] * 401, "burn"], least=20)


def test_a_stack_larger_than_its_dump_goes_on_as_in_earlier_ones(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "descent.c", "-O2")
    found = stacks(program, "-F", "9999", arguments=["60"], graph="dwarf,2048")
    inferred = [stack for stack in found if stack.stop is StopReason.INFERRED_ROOT]
    assert len(inferred) >= 5
    for stack in inferred:
        names = stack.of(program)
        assert names[:2] == ["_start", "main"]
        assert set(names[2:]) <= {"descend", "burn"}
        assert len(names) > 20


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_cpp_library(build: Build, stacks: Stacks, compiler: str) -> None:
    program = build(compiler, "library.cpp", "-O1")
    basket = "shop::Basket<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >"
    found = [stack for stack in stacks(program) if "main" in stack.names]
    assert len(found) >= 5
    assert all(stack.stop is StopReason.ROOT for stack in found)
    methods = {f"{basket}::sort_all", f"{basket}::match_all"}
    assert methods <= {name for stack in found for name in stack.of(program)}


@pytest.mark.parametrize("options", ["-O", "-g"])
@pytest.mark.parametrize("threads", ["0", "2"])
def test_rust(build: Build, stacks: Stacks, options: str, threads: str) -> None:
    program = build("rustc", "chain.rs", options)
    burning = [stack for stack in stacks(program, arguments=[threads]) if "chain::burn" in stack.names]
    assert len(burning) >= 5
    for stack in burning:
        assert stack.stop is StopReason.ROOT
        names = stack.of(program)
        chain = ["chain::work", "chain::Station::depart", "<chain::Tram as chain::Vehicle>::ride", "chain::burn"]
        places = [names.index(name) for name in chain]
        assert places == sorted(places)
        assert stack.names[0] in {"_start", "clone3", "__clone3", "clone", "__clone", "[unknown]"}


@pytest.mark.parametrize("binding", ["-Wl,-z,lazy", "-Wl,-z,now", "-Wl,-z,lazy,-z,ibtplt -fcf-protection"])
def test_calls_through_the_procedure_linkage_table(build: Build, stacks: Stacks, binding: str) -> None:
    library = build("gcc", "tiny.c", "-O2", "-shared", "-fPIC", output="libtiny.so")
    where = str(library.parent)
    program = build("gcc", "plt.c", "-O2", *binding.split(), f"-L{where}", "-ltiny", f"-Wl,-rpath,{where}")
    found = [stack for stack in stacks(program) if "calls" in stack.names]
    assert len(found) >= 5
    for stack in found:
        assert stack.stop is StopReason.ROOT
        assert stack.of(program)[:3] == ["_start", "main", "calls"]
    assert any(stack.names[-1] == "tiny" for stack in found)


def test_the_vdso(build: Build, stacks: Stacks) -> None:
    program = build("gcc", "vdso.c", "-O2")
    inside = [stack for stack in stacks(program) if "[vdso]" in stack.dsos]
    if not inside:
        pytest.skip("clock_gettime does not run in the vdso here")
    for stack in inside:
        assert stack.stop is StopReason.ROOT
        assert stack.of(program)[:2] == ["_start", "main"]
    assert any(stack.of(program)[-1] == "ask" for stack in inside)


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_the_compiler_itself(record: Callable[..., Path], tmp_path: Path) -> None:
    from .conftest import SOURCES, stacks_of

    command = ["gcc", "-O2", "-c", SOURCES / "signals.c", "-o", tmp_path / "object"]
    # The compiler needs up to 50 KB of stack: of smaller dumps one to four stacks in a hundred are truncated.
    found = stacks_of(record(command, graph="dwarf,65528"))
    assert len(found) >= 20
    whole = [stack for stack in found if stack.stop is StopReason.ROOT]
    assert len(whole) >= 0.97 * len(found)
