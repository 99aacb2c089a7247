"""Precise samples: positions that control flow reaches from an instruction, and registers that are later than it."""

import struct
from collections import namedtuple
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.disasm.x86_flows import FlowDecoder
from undwarf.elf import ElfFile
from undwarf.images import ImageStore
from undwarf.profile.call_proof import CodeProof
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.arch import X86_64
from undwarf.unwind.exact_paths import ExactPaths
from undwarf.unwind.exact_positions import ALL_PATHS, REACH, Position
from undwarf.unwind.path_positions import PathPositions

BUILD = build.Build()
Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
STACK = 0x7FFF00000000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
EXACT_IP = 0x4000
MOST = 96
"""Positions of one address, at most."""
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
    function framed
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register rbp
at_framed_call: call *%rax
at_framed_back: pop %rbp
    .cfi_def_cfa rsp, 8
    ret
    end framed
    function pointed
    nop
    ret
    end pointed
    function again
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %edi, %ebx
at_again: nop
at_again_call: call again
at_again_back: pop %rbx
    .cfi_adjust_cfa_offset -8
at_again_ret: ret
    end again
    function _start
    .cfi_undefined rip
    call outer
in_start: lea framed(%rip), %rax
    call framed
in_start_2: call again
in_start_3: hlt
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
    return ExactPaths(images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)), FlowDecoder())


def reached(paths: ExactPaths, address: int, reach: int = REACH) -> list[tuple[int, int, int, int, int, int]]:
    return PathPositions().rows(paths.flows, address, reach)


def positions(paths: ExactPaths, address: int, steps: int = 1) -> set[tuple[Position, int, int]]:
    """(position, address, return address) of all that are so many instructions from an address."""
    return {
        (kind, to, back) for kind, to, back, _levels, distance, _weight in reached(paths, address) if distance == steps
    }


def test_the_first_position_is_the_instruction_itself(paths: ExactPaths, at: dict[str, int]) -> None:
    assert reached(paths, at["leaf"])[0] == (Position.IN_FRAME, at["leaf"], 0, 0, 0, ALL_PATHS)


def test_a_push_goes_on_to_the_next_instruction(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["leaf"]) == {(Position.IN_FRAME, at["at_pushed"], 0)}


def test_a_call_enters_its_target_and_comes_back(paths: ExactPaths, at: dict[str, int]) -> None:
    assert positions(paths, at["at_call"]) == {(Position.IN_CALLEE, at["leaf"], at["at_called"])}
    # push, nop, pop, ret
    assert positions(paths, at["at_call"], 5) == {(Position.IN_FRAME, at["at_called"], 0)}


def test_a_callee_of_a_callee_returns_to_both(paths: ExactPaths, at: dict[str, int]) -> None:
    (found,) = [one for one in reached(paths, at["in_outer"] - 5) if one[3] == 2 and one[1] == at["leaf"]]
    kind, _address, back, _levels, distance, _weight = found
    assert (kind, back, distance) == (Position.IN_CALLEE, at["in_outer"], 3)


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
    assert len(reached(paths, at["endless"])) == 1
    found = reached(paths, at["fan"])
    assert len(found) <= MOST
    assert max(distance for *_address, distance, _weight in found) <= REACH


def test_no_position_is_further_than_the_reach(paths: ExactPaths, at: dict[str, int]) -> None:
    assert [distance for *_address, distance, _weight in reached(paths, at["fan"], 1)] == [0, 1, 1]


def test_code_that_is_not_there_has_no_successors(paths: ExactPaths) -> None:
    assert len(reached(paths, 0x12345)) == 1


def walked(
    program: Path, ip: int, words: list[int], sp: int = 0, misc: int = EXACT_IP | 2, before: int = 0, **registers: int
) -> tuple[list[str], StopReason, list[int]]:
    """(names from the innermost outwards, why the stack ended, provenances) of a precise sample with these words on its
    stack, the stack pointer at word ``sp``, and these registers. ``before``: at this word, and with a frame pointer
    there, an ordinary sample was taken before."""
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER,
        regs=(1 << len(REGISTERS)) - 1,
        stack=8 * len(words),
    )

    def sample(at: int, time: int, misc: int, **registers: int) -> bytes:
        known = {"ax": 1, "bp": 0x99, "sp": STACK + 8 * at, "ip": ip} | registers
        regs = [known.get(name, 0) for name in REGISTERS]
        memory = struct.pack(f"<{len(words)}Q", *words[at:], *[0] * at)
        return BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=time, misc=misc)

    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    records = [BUILD.mmap2(attr, str(program).encode(), **mapped)]
    records += [sample(before, 1000, 2, bp=STACK + 8 * before)] if before else []
    records.append(sample(sp, 2000, misc, **registers))
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], records))
    with undwarf.open(path) as recording:
        found = list(recording.profile(by_time=True).samples)[-1]
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


def test_a_callee_that_code_does_not_name_may_have_a_frame_pointer_of_its_own(
    program: Path, at: dict[str, int]
) -> None:
    words = [STACK + 16, at["at_framed_back"], 0, at["in_start_2"], 1, 2, 3, 4]
    names, stop, _provenances = walked(program, at["at_framed_call"], words, before=2, bp=STACK)
    assert (names, stop) == (["framed", "_start"], StopReason.ROOT)


@pytest.mark.parametrize(
    ("bx", "expected"),
    [(0x77, ["again", "_start"]), (0x88, ["again", "again", "_start"])],
    ids=["callee", "same frame"],
)
def test_registers_tell_a_function_from_its_own_callee(
    program: Path, at: dict[str, int], bx: int, expected: list[str]
) -> None:
    # In the callee, the argument has been copied to ebx; in the frame of the sample nothing has changed since.
    words = [0x55, at["at_again_back"], 0x66, at["in_start_3"], 1, 2, 3, 4]
    names, stop, _provenances = walked(program, at["at_again"], words, bx=bx, di=0x77)
    assert (names, stop) == (expected, StopReason.ROOT)


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
