"""Which return address is that of a function without a rule: by its frame pointer, or one that the code proves."""

import struct
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile

BUILD = build.Build()
STACK = 0x7FFF00000000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
CODE = """
.macro function name
    .p2align 4
    .globl \\name
    .type \\name, @function
\\name:
.endm
.macro finish name
    .size \\name, .-\\name
.endm
.macro label name
    .globl \\name
\\name:
.endm
    .text
    function leaf
    nop
    ret
    finish leaf

    function other
    nop
    ret
    finish other

    function middle
    push %rbp
label at_pushed
    mov %rsp, %rbp
label at_middle
    call leaf
label in_middle
    call other
label behind_other
    pop %rbp
    ret
    finish middle

    function recursive
    push %rbp
    mov %rsp, %rbp
    call recursive
label in_recursive
    pop %rbp
    ret
    finish recursive

    function entering
    .cfi_startproc
    push %rbp
    mov %rsp, %rbp
    push %rbx
    push %rbp
    push %rbp
    mov %rsp, %rbp
    .cfi_escape 0x0f, 5, 0x76, 0, 6, 0x23, 16
    .cfi_offset rip, -8
    .cfi_offset rbp, -16
    call *%rax
label in_entering
    leave
    ret
    .cfi_endproc
    finish entering

    function outer
    push %rbp
    mov %rsp, %rbp
    call middle
label in_outer
    call entering
label behind_entering
    call recursive
label behind_recursive
    pop %rbp
    ret
    finish outer

    .globl _start
    .type _start, @function
_start:
    call outer
label in_start
    hlt
    .size _start, .-_start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("choice"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


def recorded(
    path: Path, mapped: tuple[Path, int, int, int], ip: int, words: list[int], bp: int, unwind: str = "fp"
) -> tuple[list[tuple[str, Provenance]], StopReason]:
    """(name and provenance of the frames, innermost first; why the stack ends) of a stack of these words, with nothing
    but frame pointers to ``unwind`` by default. ``mapped``: file, start, size and file offset."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    file, start, length, offset = mapped
    mapping = BUILD.mmap2(attr, str(file).encode(), start=start, length=length, pgoff=offset, where=(0, 0, 0, 0))
    sample = BUILD.sample(attr, ip=ip, tid=10, regs=[0, 0, 0, 0, 0, 0, bp, STACK, ip], stack=memory, time=2000, misc=2)
    path.write_bytes(BUILD.file([attr], [mapping, sample]))
    with undwarf.open(path, unwind=unwind) as recording:
        (found,) = recording.profile(by_time=True).samples
    return [(frame.name, Provenance(frame.provenance)) for frame in found.stack], StopReason(found.stop)


def of_program(
    program: Path, ip: int, words: list[int], bp: int = STACK + 8, unwind: str = "fp"
) -> tuple[list[tuple[str, Provenance]], StopReason]:
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = (program, code.address, code.memory_size, code.offset)
    return recorded(program.parent / "perf.data", mapped, ip, words, bp, unwind)


def walked(program: Path, ip: int, words: list[int], bp: int = STACK + 8) -> list[tuple[str, Provenance]]:
    return of_program(program, ip, words, bp)[0]


def names(frames: list[tuple[str, Provenance]]) -> list[str]:
    return [name for name, _provenance in frames]


def test_function_without_a_frame_keeps_its_caller(program: Path, at: dict[str, int]) -> None:
    frames = walked(program, at["leaf"], [at["in_middle"], STACK + 24, at["in_outer"], 0, at["in_start"]])
    assert names(frames) == ["leaf", "middle", "outer", "_start"]
    assert frames[0][1] is Provenance.RETURN_ADDRESS
    assert frames[1][1] is Provenance.FRAME_POINTER


def test_function_that_has_just_pushed_the_frame_pointer_keeps_its_caller(program: Path, at: dict[str, int]) -> None:
    frames = walked(program, at["at_pushed"], [STACK + 16, at["in_outer"], 0, at["in_start"]], bp=STACK + 16)
    assert names(frames) == ["middle", "outer", "_start"]


def test_of_two_proven_callers_the_nearer_one_is_taken(program: Path, at: dict[str, int]) -> None:
    words = [at["in_recursive"], STACK + 24, at["in_recursive"], 0, at["behind_recursive"]]
    assert names(walked(program, at["recursive"], words)) == ["recursive", "recursive", "recursive", "outer"]


def test_stale_return_address_of_another_function_is_no_caller(program: Path, at: dict[str, int]) -> None:
    # In `middle`'s frame, where the stack pointer is at what an earlier call has left.
    frames = walked(program, at["at_middle"], [at["in_middle"], 0, at["in_outer"]])
    assert names(frames) == ["middle", "outer"]
    assert frames[0][1] is Provenance.FRAME_POINTER


def test_proven_return_address_near_the_stack_pointer_is_taken_without_a_frame_pointer(
    program: Path, at: dict[str, int]
) -> None:
    assert names(walked(program, at["leaf"], [1, 2, at["behind_other"], at["in_middle"]], bp=0x99)) == [
        "leaf", "middle",
    ]  # fmt: skip


def test_caller_that_the_code_rules_out_is_marked(program: Path, at: dict[str, int]) -> None:
    frames = walked(program, at["leaf"], [1, 0, at["in_outer"]])
    assert names(frames) == ["leaf", "outer"]
    assert frames[0][1] is Provenance.UNPROVEN


def test_return_address_in_a_mapped_file_that_is_no_elf_may_be_stale(tmp_path: Path) -> None:
    code = bytearray(b"\x90" * 0x1000)
    code[0x100:0x102] = code[0x200:0x202] = b"\xff\xd0"
    (tmp_path / "core").write_bytes(code)
    mapped = (tmp_path / "core", 0x10000, len(code), 0)
    frames, _stop = recorded(tmp_path / "perf.data", mapped, 0x10040, [0x10102, 0, 0x10202], STACK + 8)
    assert [provenance for _name, provenance in frames] == [Provenance.FRAME_POINTER] * 2


def test_frame_pointer_of_zero_is_a_root_only_beside_a_return_address(program: Path, at: dict[str, int]) -> None:
    # Nobody has saved the first one.
    frames, stop = of_program(program, at["leaf"], [at["in_middle"]], 0)
    assert (names(frames), stop) == (["leaf", "middle"], StopReason.NO_RULE)
    frames, stop = of_program(program, at["at_middle"], [0, 0, at["in_outer"]])
    assert (names(frames), stop) == (["middle", "outer"], StopReason.ROOT)


def test_function_that_makes_the_frame_of_its_callee_has_its_own_behind_it(program: Path, at: dict[str, int]) -> None:
    # `*(rbp+0)+16`: the callee has stored its return address beside the frame pointer of `entering`.
    words = [0, STACK + 32, at["in_entering"], 0, STACK + 48, at["behind_entering"], 0, at["in_start"]]
    frames, stop = of_program(program, at["other"], words, STACK + 8, "eh-frame,fp")
    assert names(frames) == ["other", "entering", "outer", "_start"]
    assert stop is StopReason.ROOT
