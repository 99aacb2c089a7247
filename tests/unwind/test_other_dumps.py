"""Stacks larger than their dump, continued from other dumps of the thread."""

import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.profile.model import Profile

BUILD = build.Build()
TOP = 0x7FFF00009000
FRAME = 96
"""Bytes of a frame; the last eight are the return address."""
FUNCTIONS = 60
UNCALLED = 50
"""A function in which no call stands before the place that its callee returns to."""
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
SHARE = 1 << 16
Sample = tuple[tuple[int, ...], bool, int]
"""Functions from the outermost on, whether the outermost one is the root, and the stack pointer above it."""


def code() -> str:
    """Functions 1 to FUNCTIONS, each of which calls before `in_N`; the first is the entry point, and stands last: what
    follows an entry point closely is taken for a part of it."""
    lines = ["    .text"]
    for n in range(FUNCTIONS, 0, -1):
        name = "_start" if n == 1 else f"f{n}"
        call = "nop" if n == UNCALLED else "call f2"
        root = "    .cfi_undefined rip\n" if n == 1 else ""
        lines.append(
            f"    .globl {name}, in_{n}\n    .type {name}, @function\n{name}:\n    .cfi_startproc\n"
            f"    .cfi_def_cfa rsp, {FRAME}\n{root}    nop\n    {call}\nin_{n}:\n    nop\n    .cfi_endproc\n"
            f"    .size {name}, .-{name}"
        )
    return "\n".join(lines) + "\n"


def whole(*functions: int, top: int = TOP) -> Sample:
    """A stack that its dump has to the root."""
    return functions, True, top


def cut(*functions: int, outer: int) -> Sample:
    """A stack whose dump ends with the first of these functions; ``outer`` frames are missing."""
    return functions, False, TOP - FRAME * outer


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("program")
    (folder / "code.S").write_text(code())
    line = ["gcc", "-nostdlib", "-static", "-no-pie", str(folder / "code.S"), "-o", str(folder / "program")]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    return folder / "program"


@pytest.fixture(scope="module")
def places(program: Path) -> dict[int, int]:
    """Where each function's callee returns to."""
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    return {
        int(name[3:]): int(address, 16)
        for address, _kind, name in (line.split() for line in named.splitlines())
        if name.startswith("in_")
    }


def record(program: Path, places: dict[int, int], samples: Sequence[Sample], path: Path, padding: int = 0) -> None:
    """Write a recording of these samples, one a microsecond."""
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=SHARE - 8
    )
    (loaded,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": loaded.address, "length": loaded.memory_size, "pgoff": loaded.offset, "where": (0, 0, 0, 0)}
    records = [BUILD.mmap2(attr, str(program).encode(), pid=10, tid=10, time=1, **mapped)]
    for number, (functions, _is_whole, top) in enumerate(samples):
        memory = bytearray(FRAME * len(functions))
        for depth, function in enumerate(functions[:-1]):
            # The callee of the outermost function is the frame below it.
            struct.pack_into("<Q", memory, FRAME * (len(functions) - 1 - depth) - 8, places[function])
        held = len(memory) - 16
        sp, ip = top - len(memory), places[functions[-1]]
        records.append(
            BUILD.sample(
                attr,
                ip=ip,
                pid=10,
                tid=10,
                regs=[0] * 6 + [0x99, sp, ip],
                stack=bytes(memory) + bytes(padding),
                dyn=held,
                time=1000 * (number + 2),
            )
        )
    path.write_bytes(BUILD.file([attr], records))


@pytest.fixture
def continued(program: Path, places: dict[int, int], tmp_path: Path):
    """By number of a continued sample its functions from the root on, negative where they are inferred."""

    def walk(samples: Sequence[Sample], limits=DEFAULT, jobs: int = 1, padding: int = 0) -> dict[int, tuple[int, ...]]:
        record(program, places, samples, tmp_path / "perf.data", padding)
        with undwarf.open(tmp_path / "perf.data", limits=limits) as recording:
            profile = recording.profile(by_time=True, inline=False, jobs=jobs)
        expected = [StopReason.ROOT if is_whole else StopReason.TRUNCATED for _functions, is_whole, _top in samples]
        found = {}
        for number, (stack, stop) in enumerate(stacks(profile)):
            if stop == StopReason.INFERRED_ROOT:
                found[number] = stack
            else:
                assert (abs(stack[0]), stop) == (samples[number][0][0], expected[number])
        return found

    return walk


def stacks(profile: Profile) -> Iterator[tuple[tuple[int, ...], StopReason]]:
    """Each sample's functions from the outermost on, negative where they are inferred, and why it ends."""
    for sample in profile.samples:
        numbers = []
        for frame in sample.stack:
            number = 1 if frame.name == "_start" else int(frame.name.removeprefix("in_").removeprefix("f"))
            numbers.append(-number if frame.provenance == Provenance.OTHER_DUMP else number)
        yield tuple(numbers[::-1]), StopReason(sample.stop)


STEADY = [whole(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)] * 12
"""Stacks of which the outer half is what the inner half would be continued with."""
INNER = cut(3, 4, 5, 6, 7, 8, 9, 10, 11, outer=2)
"""One level deeper, without the two outermost frames."""
AS_BEFORE = (-1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


def test_outer_callers_are_those_of_the_sample_before(continued) -> None:
    found = continued([*STEADY, INNER, whole(1), *STEADY])
    assert found == {len(STEADY): AS_BEFORE}


def test_outer_callers_are_those_of_the_sample_after(continued) -> None:
    assert continued([*STEADY, whole(1), INNER, *STEADY]) == {len(STEADY) + 1: AS_BEFORE}


def test_samples_before_and_after_that_disagree_continue_nothing(continued) -> None:
    other = [whole(1, 20, 3, 4, 5, 6, 7, 8, 9, 10)] * 12
    assert continued([*STEADY, INNER, INNER, *STEADY])
    assert continued([*STEADY * 2, INNER, INNER, *other * 2]) == {}


def test_a_continued_stack_continues_others(continued) -> None:
    deeper = cut(5, 6, 7, 8, 9, 10, 11, 12, outer=4)
    found = continued([*STEADY, INNER, deeper, whole(1), *STEADY])
    assert found[len(STEADY) + 1] == (-1, -2, -3, -4, 5, 6, 7, 8, 9, 10, 11, 12)


def test_stacks_are_continued_through_later_ones_to_earlier_ones(continued) -> None:
    # The frame that the first ends with is in the next one only, whose own is in those before.
    inner, deep = cut(*range(3, 20), outer=2), cut(*range(11, 22), outer=10)
    found = continued([*STEADY, deep, inner, whole(1), *STEADY])
    assert found[len(STEADY)] == (*range(-1, -11, -1), *range(11, 22))


def test_one_sample_that_shares_few_frames_is_not_enough(continued) -> None:
    few = cut(3, 4, 5, 6, 30, 31, 32, outer=2)
    assert continued([*STEADY, few, whole(1), *STEADY]) == {}
    assert continued([*STEADY, few, *STEADY])


@pytest.mark.parametrize("other", [cut(30, 4, 5, 6, 7, 8, 9, 10, outer=2), cut(3, 4, 5, 6, 7, 8, 9, 10, outer=3)])
def test_another_address_or_place_of_the_last_frame_is_not_continued(continued, other: Sample) -> None:
    assert continued([*STEADY, other, *STEADY]) == {}


def test_a_sample_in_between_with_something_else_there_ends_it(continued) -> None:
    assert continued([*STEADY, whole(1, 2), INNER, whole(1, 2), *STEADY]) == {}


def test_one_frame_alone_is_not_continued(continued) -> None:
    assert continued([*STEADY, cut(8, outer=7), *STEADY]) == {}


def test_a_caller_behind_no_call_is_not_taken(continued) -> None:
    steady = [whole(1, UNCALLED, 3, 4, 5, 6, 7, 8, 9, 10)] * 12
    assert continued([*steady, INNER, *steady]) == {}


def test_a_thread_whose_callers_change_is_left_as_it_is(continued) -> None:
    changing = [whole(1, 2 + i % 2, 3 + i % 2, 4, 5, 6, 7, 8, 9, 10) for i in range(24)]
    assert continued([*changing, INNER, *changing]) == {}


def test_a_few_samples_prove_nothing(continued) -> None:
    assert continued([STEADY[0], INNER, STEADY[0]]) == {}


def test_no_stack_gets_longer_than_the_limit_of_frames(continued) -> None:
    samples = [*STEADY, INNER, *STEADY]
    assert continued(samples, DEFAULT._replace(max_frames=11))
    assert continued(samples, DEFAULT._replace(max_frames=10)) == {}


def test_only_so_many_frames_of_a_window_are_kept(continued) -> None:
    # A stack takes three entries more than it has frames of its own; those like the one before take four.
    enough = 10 + 3 + 23 * 4 + 9 + 3 + 10 + 3
    samples = [*STEADY, INNER, *STEADY]
    assert continued(samples, DEFAULT._replace(logged_frames=enough))
    assert continued(samples, DEFAULT._replace(logged_frames=20)) == {}


def test_continued_stacks_are_the_same_with_more_threads(continued) -> None:
    # Threads walk from 2,000 samples on, windows of 8 MiB.
    samples = [one for _ in range(81) for one in [*STEADY, INNER, *STEADY]]
    one = continued(samples, jobs=1, padding=10_000)
    assert len(one) == 81
    assert continued(samples, jobs=3, padding=10_000) == one


def test_without_it_stacks_end_with_their_dump(program: Path, places: dict[int, int], tmp_path: Path) -> None:
    record(program, places, [*STEADY, INNER, *STEADY], tmp_path / "perf.data")
    with undwarf.open(tmp_path / "perf.data") as recording:
        found = list(stacks(recording.profile(by_time=True, inline=False, other_dumps=False)))
    assert found[len(STEADY)] == (INNER[0], StopReason.TRUNCATED)
