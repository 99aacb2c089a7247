"""Precise samples: positions that control flow reaches from an instruction, and registers that are later than it."""

import struct
from collections import namedtuple
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile
from undwarf.images import ImageStore
from undwarf.profile.call_proof import CodeProof
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.arch import X86_64
from undwarf.unwind.exact_paths import MAX_POSITIONS, ExactPaths
from undwarf.unwind.exact_positions import ALL_PATHS, REACH, Position

BUILD = build.Build()
Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
STACK = 0x7FFF00000000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
EXACT_IP = 0x4000
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
    push %rbx
    .cfi_adjust_cfa_offset 8
at_pushed: nop
at_pop: pop %rbx
    .cfi_adjust_cfa_offset -8
at_ret: ret
    end leaf
    function middle
    sub $24, %rsp
    .cfi_adjust_cfa_offset 24
at_call: call leaf
at_called: add $24, %rsp
    .cfi_adjust_cfa_offset -24
    ret
    end middle
    function outer
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call middle
in_outer: nop
at_hop: jmp leaf
    end outer
    function indirect
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
at_indirect: call *%rax
at_returned: add $8, %rsp
    .cfi_adjust_cfa_offset -8
at_jump: jmp *%rax
    end indirect
    function choice
    test %eax, %eax
at_branch: je 1f
at_after: nop
    hlt
1:
at_target: hlt
    end choice
    function endless
    jmp endless
    end endless
    function fan
    .rept 64
    je . + 3
    nop
    .endr
    hlt
    end fan
    function _start
    .cfi_undefined rip
    call outer
in_start: hlt
    end _start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("exact"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


@pytest.fixture(scope="module")
def paths(program: Path) -> ExactPaths:
    images = ImageStore([str(program).encode()], [Identity()])
    return ExactPaths(images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)))


def positions(paths: ExactPaths, address: int, steps: int = 1) -> set[tuple[Position, int, int]]:
    """(position, address, return address) of all that are so many instructions from an address."""
    return {(one.position, one.address, one.return_address) for one in paths.positions(address) if one.steps == steps}


def test_the_first_position_is_the_instruction_itself(paths: ExactPaths, at: dict[str, int]) -> None:
    assert paths.positions(at["leaf"])[0] == (Position.IN_FRAME, at["leaf"], 0, 0, 0, ALL_PATHS)


def test_a_push_goes_on_to_the_next_instruction(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["leaf"]) == {(Position.IN_FRAME, at["at_pushed"], 0)}


def test_a_call_enters_its_target_and_comes_back(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_call"]) == {(Position.IN_CALLEE, at["leaf"], at["at_called"])}
    # push, nop, pop, ret
    assert positions(paths, at["at_call"], 5) == {(Position.IN_FRAME, at["at_called"], 0)}


def test_a_callee_of_a_callee_returns_to_both(paths: ExactPaths, at: dict[str, int]) -> None:
    (found,) = [one for one in paths.positions(at["in_outer"] - 5) if one.levels == 2 and one.address == at["leaf"]]
    assert (found.position, found.return_address, found.steps) == (Position.IN_CALLEE, at["in_outer"], 3)


def test_a_return_leaves_the_function(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_ret"]) == {(Position.PAST_RETURN, at["at_ret"], 0)}


def test_a_jump_to_another_function_keeps_the_frame(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_hop"]) == {(Position.IN_FRAME, at["leaf"], 0)}


def test_a_branch_has_two_successors(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_branch"]) == {
        (Position.IN_FRAME, at["at_after"], 0),
        (Position.IN_FRAME, at["at_target"], 0),
    }


def test_an_indirect_call_enters_an_unknown_callee(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_indirect"]) == {
        (Position.IN_UNKNOWN_CALLEE, at["at_indirect"], at["at_returned"]),
    }
    assert positions(paths, at["at_indirect"], 2) == {(Position.IN_FRAME, at["at_returned"], 0)}


def test_an_indirect_jump_may_have_returned_already(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_jump"]) == {(Position.PAST_JUMP, at["at_jump"], 0)}
    assert positions(paths, at["at_jump"], 2) == {(Position.PAST_RETURN, at["at_jump"], 0)}


def test_positions_are_bounded(paths: ExactPaths, at: dict[str, int]) -> None:
    assert len(paths.positions(at["endless"])) == 1
    found = paths.positions(at["fan"])
    assert len(found) <= MAX_POSITIONS
    assert max(one.steps for one in found) <= REACH


def test_code_that_is_not_there_has_no_successors(paths: ExactPaths) -> None:
    assert len(paths.positions(0x12345)) == 1


def walked(
    program: Path, ip: int, words: list[int], sp: int = 0, misc: int = EXACT_IP | 2
) -> tuple[list[str], StopReason, list[int]]:
    """(names from the innermost outwards, why the stack ended, provenances) of a precise sample with these words on its
    stack, the stack pointer at word ``sp``."""
    memory = struct.pack(f"<{len(words) - sp}Q", *words[sp:])
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    regs = [1, 0, 0, 0, 0, 0, 0x99, STACK + 8 * sp, ip]
    sample = BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=2000, misc=misc)
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], [BUILD.mmap2(attr, str(program).encode(), **mapped), sample]))
    with undwarf.open(path) as recording:
        (found,) = recording.profile(by_time=True).samples
    return (
        [frame.name for frame in found.stack],
        StopReason(found.stop),
        [frame.provenance for frame in found.stack],
    )


@pytest.fixture(scope="module")
def stack(at: dict[str, int]) -> list[int]:
    """Of leaf(), whose %rbx is pushed in word 0: its return address is word 1, middle()'s 5, outer()'s 7."""
    return [0x1234, at["at_called"], 1, 2, 3, at["in_outer"], 4, at["in_start"], 5, 6, 7, 8]


WHOLE = ["leaf", "middle", "outer", "_start"]


@pytest.mark.parametrize(
    ("label", "sp"),
    [("leaf", 1), ("leaf", 0), ("at_pushed", 0), ("at_pop", 1)],
)
def test_registers_of_the_frame_are_corrected(
    program: Path, at: dict[str, int], stack: list[int], label: str, sp: int
) -> None:
    assert walked(program, at[label], stack, sp)[:2] == (WHOLE, StopReason.ROOT)


@pytest.mark.parametrize("sp", [2, 1, 0])
def test_registers_of_a_callee_are_corrected(program: Path, at: dict[str, int], stack: list[int], sp: int) -> None:
    assert walked(program, at["at_call"], stack, sp)[:2] == (WHOLE[1:], StopReason.ROOT)


@pytest.mark.parametrize("label", ["at_ret", "at_pop"])
def test_the_caller_after_a_return_is_inferred_and_marked(
    program: Path, at: dict[str, int], stack: list[int], label: str
) -> None:
    names, stop, provenances = walked(program, at[label], stack, 2)
    assert (names, stop) == (WHOLE, StopReason.ROOT)
    assert [one == Provenance.INFERRED_CALLER for one in provenances] == [False, True, False, False]


def test_a_state_that_nothing_proves_has_the_sampled_frame_alone(program: Path, at: dict[str, int]) -> None:
    names, stop, _provenances = walked(program, at["at_call"], list(range(1, 13)))
    assert (names, stop) == (["middle"], StopReason.UNPROVEN_STATE)


def test_samples_that_are_not_precise_are_unwound_as_they_are(
    program: Path, at: dict[str, int], stack: list[int]
) -> None:
    names, _stop, _provenances = walked(program, at["leaf"], stack, 0, misc=2)
    assert names != WHOLE


def test_a_rewritten_recording_keeps_the_mark_of_the_inferred_caller(
    program: Path, at: dict[str, int], stack: list[int]
) -> None:
    before = walked(program, at["at_ret"], stack, 2)
    path = program.parent / "stitched.data"
    with undwarf.open(program.parent / "perf.data") as recording, path.open("wb") as sink:
        recording.shrink(sink)
    with undwarf.open(path) as recording:
        (found,) = recording.profile(by_time=True).samples
    assert ([frame.name for frame in found.stack], found.stop) == before[:2]
    assert [frame.provenance == Provenance.INFERRED_CALLER for frame in found.stack] == [False, True, False, False]
