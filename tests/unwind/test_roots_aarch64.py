"""Roots of stacks and system calls of AArch64, as far as they are not those of x86-64."""

import struct
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import StopReason
from undwarf.elf import ElfFile
from undwarf.unwind.aarch64.calls import follows_system_call, is_fiber_root, returns_from_signal

BUILD = build.Build()
ARCH = 6
STACK = 0x7FFF00000000
KERNEL, USER = 1, 2
CODE = """
.macro function name
    .p2align 4
    .globl \\name
    .type \\name, @function
\\name:
.endm
.macro label name
    .globl \\name
\\name:
.endm
.macro finish name
    .size \\name, .-\\name
.endm
    .text
    function leaf
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    finish leaf

    function make_fcontext
    ret
label at_finish
    mov x0, #0
    bl leaf
    finish make_fcontext

    function __startcontext
    .cfi_startproc
    nop
    mov x0, x19
    cbnz x0, leaf
    b leaf
    .cfi_endproc
    finish __startcontext

    function clone
    .cfi_startproc
    mov x8, #220
    svc #0
label behind_clone
    cmp x0, #0
label at_jump
    b.eq 1f
    ret
1:  .cfi_endproc
    finish clone

    function vfork
    .cfi_startproc
    mov x8, #220
    svc #0
label behind_vfork
    cmn x0, #4095
    b.cs 1f
    ret
1:  .cfi_endproc
    finish vfork

    function execve
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 30, -8
    mov x8, #221
    svc #0
label behind_execve
    ret
    .cfi_endproc
    finish execve

    .cfi_startproc
    .cfi_signal_frame
    .cfi_def_cfa 29, 0
    .cfi_offset 29, 0
    .cfi_offset 30, 8
    nop
    .globl __kernel_rt_sigreturn
    .type __kernel_rt_sigreturn, @function
__kernel_rt_sigreturn:
    mov x8, #139
    svc #0
    .cfi_endproc
    .size __kernel_rt_sigreturn, .-__kernel_rt_sigreturn
    .globl following
    .type following, @function
following:
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    .size following, .-following

    function main
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 30, -8
    .cfi_offset 29, -16
    bl leaf
label in_main
    nop
    .cfi_endproc
    finish main

    function _start
    .cfi_startproc
    .cfi_undefined x30
    bl main
label in_start
    nop
    .cfi_endproc
    finish _start
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("roots"), CODE, "aarch64-linux-gnu-")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program, "aarch64-linux-gnu-")


def walked(
    program: Path,
    pc: int,
    words: list[int],
    *,
    x0: int = 0,
    x8: int = 0,
    fp: int = 0,
    lr: int = 0,
    mode: int = USER,
    valid: int | None = None,
) -> tuple[list[str], StopReason]:
    """(names from the innermost outwards, why the stack ended) of a stack of these words."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << 33) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    regs = [x0, *([0] * 7), x8, *([0] * 20), fp, lr, STACK, pc]
    ip = pc if mode == USER else 0
    sample = BUILD.sample(attr, ip=ip, tid=10, regs=regs, stack=memory, dyn=valid, time=2000, misc=mode)
    path = program.parent / "perf.data"
    records = [BUILD.mmap2(attr, str(program).encode(), **mapped), sample]
    path.write_bytes(BUILD.file([attr], records, {ARCH: BUILD.string("aarch64")}))
    with undwarf.open(path) as recording:
        (found,) = recording.profile(by_time=True).samples
    return [frame.name for frame in found.stack], StopReason(found.stop)


@pytest.mark.parametrize(("back", "name"), [("at_finish", "make_fcontext"), ("__startcontext", "__startcontext")])
def test_first_function_of_a_context_is_the_root_of_a_fiber(
    program: Path, at: dict[str, int], back: str, name: str
) -> None:
    assert walked(program, at["leaf"], [0, 0], lr=at[back]) == (["leaf", name], StopReason.FIBER_ROOT)


@pytest.mark.parametrize("place", ["behind_clone", "at_jump"])
@pytest.mark.parametrize("mode", [USER, KERNEL])
def test_child_of_clone_is_a_root(program: Path, at: dict[str, int], place: str, mode: int) -> None:
    found = walked(program, at[place], [0, 0, 0, 0], x8=220, lr=at["in_main"], mode=mode)
    assert found == (["clone"], StopReason.ROOT)


def test_caller_of_clone_is_in_the_link_register(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["behind_clone"], [0, at["in_start"]], x0=77, x8=220, lr=at["in_main"])
    assert found == (["clone", "main", "_start"], StopReason.ROOT)


def test_child_of_vfork_has_the_callers_of_its_parent(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["behind_vfork"], [0, at["in_start"]], x8=220, lr=at["in_main"])
    assert found == (["vfork", "main", "_start"], StopReason.ROOT)


def test_number_of_clone_elsewhere_is_any_number(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["leaf"], [0, at["in_start"]], x8=220, lr=at["in_main"])
    assert found == (["leaf", "main", "_start"], StopReason.ROOT)


def test_execve_whose_stack_is_gone_is_being_replaced(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["behind_execve"], [0, 0], x8=221, mode=KERNEL, valid=0)
    assert found == (["execve"], StopReason.REPLACED)


@pytest.mark.parametrize(("mode", "name"), [(KERNEL, "__kernel_rt_sigreturn"), (USER, "following")])
def test_return_from_a_signal_is_in_the_kernel(program: Path, at: dict[str, int], mode: int, name: str) -> None:
    # A signal's frame: siginfo and ucontext, then the frame record that x29 has the address of.
    words = [*([0] * 80), 0, at["in_main"], 0, at["in_start"]]
    names, _stop = walked(program, at["following"], words, x8=139, fp=STACK + 8 * 80, lr=at["in_main"], mode=mode)
    assert names[:2] == [name, "main"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((0, 0, 0xD4000001, 0xF100001F, 0x540000A0), 2),  # svc #0; | cmp x0, #0; b.eq
        ((0, 0xD4000001, 0xF100001F, 0x540000A0, 0), 2),
        ((0, 0, 0xD4000001, 0xB4000060, 0), 2),  # svc #0; | cbz x0
        ((0, 0, 0xD4000001, 0xB13FFC1F, 0), 1),  # svc #0; | cmn x0, #4095
        ((0, 0xD4000001, 0xB13FFC1F, 0, 0), 0),
        ((0xD4000001, 0xF100001F, 0xD65F03C0, 0, 0), 0),  # svc #0; cmp x0, #0; ret; |
        ((0, 0, 0xD4000001), 0),
        ((), 0),
    ],
)
def test_what_stands_behind_a_system_call(words: tuple[int, ...], expected: int) -> None:
    assert follows_system_call(struct.pack(f"<{len(words)}I", *words)) == expected


def test_code_at_the_root_of_a_fiber() -> None:
    assert is_fiber_root(bytes.fromhex("000080d201000094"))
    assert not is_fiber_root(bytes.fromhex("000080d2"))


def test_code_that_returns_from_a_signal() -> None:
    assert returns_from_signal(bytes.fromhex("681180d2010000d4"))
    assert not returns_from_signal(bytes.fromhex("681180d2"))
