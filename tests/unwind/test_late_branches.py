"""Precise samples with the branches that were taken since: returns that the skid has crossed, and calls."""

import struct
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile
from undwarf.perfdata.features import Feature

BUILD = build.Build()
STACK = 0x7FFF00000000
EXACT_IP = 0x4000
USER, ANY, CALL_STACK = 1, 8, 1 << 11
"""PERF_SAMPLE_BRANCH_*."""
CODE = """
    .macro function name
    .globl \\name
    .type \\name, @function
\\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \\name, . - \\name
    .endm
    function leaf
    nop
at_middle: nop
at_ret: ret
    end leaf
    .macro caller name
    function \\name
    sub $24, %rsp
    .cfi_adjust_cfa_offset 24
at_\\name\\()_call: call leaf
at_\\name: nop
at_\\name\\()_again: call leaf
at_\\name\\()_after: add $24, %rsp
    .cfi_adjust_cfa_offset -24
at_\\name\\()_ret: ret
    end \\name
    .endm
    caller left
    caller right
    function hub
    push %rbx
    .cfi_adjust_cfa_offset 8
at_call: call *%rax
at_hub: pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    end hub
    function _start
    .cfi_undefined rip
    lea left(%rip), %rax
    lea right(%rip), %rcx
    call hub
at_start: hlt
    end _start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("branches"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


Branches = list[tuple[int, int]]
Found = tuple[list[str], StopReason, list[int], dict[str, int]]


def walked(program: Path, ip: int, words: list[int], branches: Branches, kind: int = USER | ANY) -> Found:
    """(names from the innermost outwards, why the stack ended, provenances, counts of precise samples) of a precise
    sample with these words on its stack and these branches, the newest first."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    fields = build.PLAIN | build.REGS_USER | build.STACK_USER | build.BRANCH_STACK
    attr = build.Attr(type=4, sample_type=fields, regs=0x1FF, stack=len(memory), flags=2 << 15, branch=kind)
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    regs = [1, 0, 0, 0, 0, 0, 0x99, STACK, ip]
    taken = [(source, target, 0) for source, target in branches]
    sample = BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=2000, misc=EXACT_IP | 2, branches=taken)
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], [BUILD.mmap2(attr, str(program).encode(), **mapped), sample]))
    with undwarf.open(path) as recording:
        profile = recording.profile(by_time=True)
        (found,) = profile.samples
    return (
        [frame.name for frame in found.stack],
        StopReason(found.stop),
        [frame.provenance for frame in found.stack],
        dict(profile.precise),
    )


def in_caller(at: dict[str, int]) -> list[int]:
    """The stack of left() or right(), called by hub()."""
    return [1, 2, 3, at["at_hub"], 4, at["at_start"], 5, 6, 7, 8]


def test_without_branches_nothing_says_which_of_two_callers_it_was(program: Path, at: dict[str, int]) -> None:
    names, stop, _provenances, counts = walked(program, at["at_ret"], in_caller(at), [])
    assert (names, stop) == (["leaf"], StopReason.UNPROVEN_STATE)
    assert (counts["followed"], counts["unproven"]) == (0, 1)


@pytest.mark.parametrize("caller", ["left", "right"])
@pytest.mark.parametrize("label", ["leaf", "at_middle", "at_ret"])
def test_the_newest_return_names_the_caller(program: Path, at: dict[str, int], caller: str, label: str) -> None:
    branches = [(at["at_ret"], at[f"at_{caller}"]), (at[f"at_{caller}_call"], at["leaf"])]
    names, stop, provenances, counts = walked(program, at[label], in_caller(at), branches)
    assert (names, stop) == (["leaf", caller, "hub", "_start"], StopReason.ROOT)
    assert [one == Provenance.BRANCH_STACK for one in provenances] == [False, True, False, False]
    assert (counts["corrected"], counts["followed"], counts["returned"]) == (1, 1, 0)


def test_a_caller_that_has_returned_as_well_is_named(program: Path, at: dict[str, int]) -> None:
    branches = [
        (at["at_right_ret"], at["at_hub"]),
        (at["at_ret"], at["at_right_after"]),
        (at["at_right_again"], at["leaf"]),
    ]
    names, stop, provenances, _counts = walked(program, at["leaf"], in_caller(at)[4:], branches)
    assert (names, stop) == (["leaf", "right", "hub", "_start"], StopReason.ROOT)
    assert [one == Provenance.BRANCH_STACK for one in provenances] == [False, True, True, False]


def test_a_function_that_was_called_again_has_the_caller_of_both_calls(program: Path, at: dict[str, int]) -> None:
    branches = [
        (at["at_ret"], at["at_left_after"]),
        (at["at_left_again"], at["leaf"]),
        (at["at_ret"], at["at_left"]),
        (at["at_left_call"], at["leaf"]),
    ]
    names, stop, _provenances, counts = walked(program, at["at_ret"], in_caller(at), branches)
    assert (names, stop, counts["followed"]) == (["leaf", "left", "hub", "_start"], StopReason.ROOT, 1)


def test_paths_that_end_in_different_frames_are_not_used(program: Path, at: dict[str, int]) -> None:
    # In leaf() now, or before the return and the call.
    branches = [(at["at_left_again"], at["leaf"]), (at["at_ret"], at["at_left"]), (at["at_left_call"], at["leaf"])]
    stack = [at["at_left_after"], *in_caller(at)]
    names, stop, _provenances, counts = walked(program, at["at_middle"], stack, branches)
    assert (names, stop, counts["followed"]) == (["leaf", "left", "hub", "_start"], StopReason.ROOT, 0)


def test_an_open_call_means_that_the_state_is_its_callees(program: Path, at: dict[str, int]) -> None:
    branches = [(at["at_left_call"], at["leaf"]), (at["at_call"], at["left"])]
    names, stop, _provenances, counts = walked(program, at["left"], [at["at_left"], *in_caller(at)], branches)
    assert (names, stop) == (["left", "hub", "_start"], StopReason.ROOT)
    assert (counts["corrected"], counts["followed"]) == (1, 0)


def test_returns_before_the_instruction_are_no_news(program: Path, at: dict[str, int]) -> None:
    branches = [(at["at_ret"], at["at_left"]), (at["at_left_call"], at["leaf"])]
    names, stop, provenances, counts = walked(program, at["at_left"], in_caller(at), branches)
    assert (names, stop, counts["followed"]) == (["left", "hub", "_start"], StopReason.ROOT, 0)
    assert Provenance.BRANCH_STACK not in provenances


@pytest.mark.parametrize(
    "newest",
    [
        ("at_ret", "at_middle"),  # follows no call
        ("at_ret", "_start"),
        ("at_middle", "at_left"),  # no branch
        ("at_start", "at_left"),  # in another function
    ],
)
def test_branches_that_the_code_does_not_have_are_not_used(
    program: Path, at: dict[str, int], newest: tuple[str, str]
) -> None:
    branches = [(at[newest[0]], at[newest[1]]), (at["at_left_call"], at["leaf"])]
    _names, _stop, provenances, counts = walked(program, at["leaf"], in_caller(at), branches)
    assert counts["followed"] == 0
    assert Provenance.BRANCH_STACK not in provenances


@pytest.mark.parametrize("address", [0, 0x1234, 1 << 63, (1 << 64) - 1])
def test_addresses_without_code_are_not_used(program: Path, at: dict[str, int], address: int) -> None:
    for branches in (
        [(address, at["at_left"])],
        [(at["at_ret"], address)],
        [(at["at_ret"], at["at_left"]), (1, address)],
    ):
        assert walked(program, at["leaf"], in_caller(at), branches)[0][0] == "leaf"


def test_a_call_stack_is_no_list_of_branches(program: Path, at: dict[str, int]) -> None:
    branches = [(at["at_ret"], at["at_left"]), (at["at_left_call"], at["leaf"])]
    kind = USER | ANY | CALL_STACK
    assert walked(program, at["leaf"], in_caller(at), branches, kind)[3]["followed"] == 0


@pytest.mark.parametrize("pmu", ["ibs_op", "ibs_fetch"])
def test_what_ibs_marks_is_corrected_and_what_it_does_not_mark_is_as_interrupted(
    program: Path, at: dict[str, int], pmu: str
) -> None:
    # Made as perf writes them for AMD, which is not here: an event of the unit itself asks for no precision.
    stack = [at["at_left"], *in_caller(at)]
    memory = struct.pack(f"<{len(stack)}Q", *stack)
    fields = build.PLAIN | build.REGS_USER | build.STACK_USER
    attr = build.Attr(type=11, sample_type=fields, regs=0x1FF, stack=len(memory), flags=0)
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    records = [BUILD.mmap2(attr, str(program).encode(), **mapped)]
    # The call of leaf() is sampled, the interrupt comes in leaf(); once the address of the former was not valid.
    for ip, misc in ((at["left"], EXACT_IP | 2), (at["leaf"], 2)):
        regs = [1, 0, 0, 0, 0, 0, 0x99, STACK, ip]
        records.append(BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=2000, misc=misc))
    mappings = BUILD.pack("I", 1) + BUILD.pack("I", 11) + BUILD.string(pmu)
    path = program.parent / "ibs.data"
    path.write_bytes(BUILD.file([attr], records, {int(Feature.PMU_MAPPINGS): mappings}))
    with undwarf.open(path) as recording:
        profile = recording.profile(by_time=True)
        found = [([frame.name for frame in one.stack], one.stop) for one in profile.samples]
    assert found == [(["left", "hub", "_start"], StopReason.ROOT), (["leaf", "left", "hub", "_start"], StopReason.ROOT)]
    assert (profile.precise["samples"], profile.precise["corrected"]) == (1, 1)
