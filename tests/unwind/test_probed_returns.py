"""Stacks under return probes: the kernel has put the address of its trampoline in place of return addresses."""

import struct
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile
from undwarf.views.unwind_quality import unwind_quality

BUILD = build.Build()
STACK = 0x7FFF00000000
PAGE = 0x7FFFFFFFE000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
KERNEL, USER = 1, 2
CODE = """
    .macro function name, words
    .globl \\name
    .type \\name, @function
\\name:
    .cfi_startproc
    sub $8*\\words, %rsp
    .cfi_adjust_cfa_offset 8*\\words
    .endm
    .macro end name, words
    add $8*\\words, %rsp
    .cfi_adjust_cfa_offset -8*\\words
    ret
    .cfi_endproc
    .size \\name, . - \\name
    .endm
    .globl leaf
    .type leaf, @function
leaf:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    nop
at_leaf: nop
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size leaf, . - leaf
    function middle, 3
    call leaf
in_middle: nop
    end middle, 3
    function other, 5
    call leaf
    end other, 5
    function outer, 1
    call middle
in_outer: nop
    end outer, 1
    function alike, 1
    call middle
    call recursive
in_alike: nop
    end alike, 1
    function by_pointer, 1
    lea outer(%rip), %rax
    lea alike(%rip), %rcx
    call *%rax
in_by_pointer: nop
    end by_pointer, 1
    function recursive, 1
    call recursive
    call leaf
in_recursive: nop
    end recursive, 1
    .globl _start
_start:
    .cfi_startproc
    .cfi_undefined rip
    call outer
in_start: call by_pointer
in_start_again: call alike
in_start_at_last: hlt
    .cfi_endproc
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("probed"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


def walked(
    program: Path, ip: int, words: list[int], *, mapped: bool = True, page: int = PAGE, misc: int = USER
) -> tuple[list[str], StopReason, list[bool]]:
    """(names from the innermost outwards, why the stack ended, which frames are inferred callers) of a sample with
    these words from the stack pointer on. ``mapped``: whether the recording has the kernel's ``page`` for probes."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    where = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    records = [BUILD.mmap2(attr, str(program).encode(), **where)]
    if mapped:
        records.append(BUILD.mmap2(attr, b"[uprobes]", start=page, where=(0, 0, 0, 0), prot=4))
    regs = [1, 0, 0, 0, 0, 0, 0x99, STACK, ip]
    records.append(BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, time=2000, misc=misc))
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], records))
    return only(path)


def only(path: Path) -> tuple[list[str], StopReason, list[bool]]:
    """The same of the only sample of a recording."""
    with undwarf.open(path) as recording:
        (found,) = recording.profile(by_time=True).samples
    return (
        [frame.dso if frame.dso == "[uprobes]" else frame.name for frame in found.stack],
        StopReason(found.stop),
        [frame.provenance == Provenance.INFERRED_CALLER for frame in found.stack],
    )


WHOLE = ["leaf", "middle", "outer", "_start"]


def stack(at: dict[str, int], *, in_middle: int = PAGE, in_outer: int | None = None) -> list[int]:
    """Of leaf() after its push, called by middle(), outer() and _start()."""
    return [9, in_middle, 1, 2, 3, in_outer or at["in_outer"], 4, at["in_start"], 5, 6]


def test_the_caller_of_a_probed_function_is_inferred_and_marked(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["at_leaf"], stack(at)) == (WHOLE, StopReason.ROOT, [False, True, False, False])


def test_several_replaced_return_addresses_are_inferred(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["at_leaf"], stack(at, in_outer=PAGE))
    assert found == (WHOLE, StopReason.ROOT, [False, True, True, False])


def test_recursion_is_as_deep_as_its_return_addresses(program: Path, at: dict[str, int]) -> None:
    words = [9, PAGE, 1, PAGE, 2, PAGE, 3, at["in_alike"], 4, at["in_start_at_last"]]
    names, stop, inferred = walked(program, at["at_leaf"], words)
    assert (names, stop) == (["leaf", *["recursive"] * 3, "alike", "_start"], StopReason.ROOT)
    assert inferred == [False, True, True, True, False, False]


def test_the_page_is_known_where_the_recording_does_not_map_it(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["at_leaf"], stack(at), mapped=False)[:2] == (WHOLE, StopReason.ROOT)


def test_the_page_may_be_elsewhere_right_after_code(program: Path, at: dict[str, int]) -> None:
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    page = code.address + (code.memory_size + 0xFFF & ~0xFFF)
    assert walked(program, at["at_leaf"], stack(at, in_middle=page), page=page)[:2] == (WHOLE, StopReason.ROOT)


def test_callers_that_are_alike_leave_a_gap(program: Path, at: dict[str, int]) -> None:
    # outer() and alike() both call middle(), have frames of one size, and may be called by the pointer.
    words = [9, at["in_middle"], 1, 2, 3, PAGE, 4, at["in_by_pointer"], 5, at["in_start_again"]]
    found = walked(program, at["at_leaf"], words)
    assert found == (["leaf", "middle", "[uprobes]", "by_pointer", "_start"], StopReason.PROBED_RETURN, [False] * 5)


def test_a_stack_without_any_caller_ends_there(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["at_leaf"], [9, PAGE, *range(1, 30)])[:2] == (["leaf"], StopReason.PROBED_RETURN)


def test_the_reason_has_advice_of_its_own(program: Path, at: dict[str, int]) -> None:
    walked(program, at["at_leaf"], [9, PAGE, *range(1, 30)])
    with undwarf.open(program.parent / "perf.data") as recording:
        (gap,) = unwind_quality(recording.profile()).gaps
    assert (gap.reason, gap.image) == ("probed_return", str(program))
    assert "return probe" in gap.advice and "symfs" not in gap.advice


def test_a_copied_instruction_returns_to_the_caller_of_its_function(program: Path, at: dict[str, int]) -> None:
    # The first one of middle(), `sub`, has run in the page.
    words = [1, 2, 3, at["in_outer"], 4, at["in_start"], 5]
    found = walked(program, PAGE + 128 + 4, words)
    assert found == (["[uprobes]", "outer", "_start"], StopReason.ROOT, [False] * 3)


def test_the_trampoline_itself_returns_to_the_caller(program: Path, at: dict[str, int]) -> None:
    # It has saved three registers; leaf() has returned to it.
    words = [7, 8, 9, 1, 2, 3, at["in_outer"], 4, at["in_start"], 5]
    found = walked(program, PAGE + 13, words)
    assert found == (["[uprobes]", "middle", "outer", "_start"], StopReason.ROOT, [False, True, False, False])


def test_under_its_breakpoint_a_function_has_not_begun(program: Path, at: dict[str, int]) -> None:
    words = [at["in_middle"], 1, 2, 3, at["in_outer"], 4, at["in_start"], 5]
    names, stop, _inferred = walked(program, at["leaf"] + 1, words, misc=KERNEL)
    assert (names[1:], stop) == (WHOLE, StopReason.ROOT)


def test_a_rewritten_recording_keeps_marks_and_gap(program: Path, at: dict[str, int]) -> None:
    gap = [9, PAGE, 1, 2, 3, PAGE, 4, at["in_by_pointer"], 5, at["in_start_again"]]
    for words in (stack(at), stack(at, in_outer=PAGE), gap):
        before = walked(program, at["at_leaf"], words)
        path = program.parent / "stitched.data"
        with undwarf.open(program.parent / "perf.data") as recording, path.open("wb") as sink:
            recording.shrink(sink)
        assert only(path) == before
