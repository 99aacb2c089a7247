"""Roots of stacks that are not a thread's first function, and callers of code that waits in system calls."""

import struct
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata import build

import undwarf
from undwarf import StopReason
from undwarf.elf import ElfFile
from undwarf.tables.model import UnwindTable
from undwarf.unwind.x86_64.calls import is_after_system_call, is_fiber_root, system_call_number
from undwarf.views.unwind_quality import unwind_quality

BUILD = build.Build()
STACK = 0x7FFF00000000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
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
    push %rbp
    jmp *%rbx
label at_finish
    xor %rdi, %rdi
    call leaf
    hlt
    finish make_fcontext

    function other
    ret
    push %rbp
    jmp *%rbx
label in_other
    xor %rdi, %rdi
    call leaf
    ret
    finish other

    function __start_context
    mov %rbx, %rsp
    mov (%rsp), %rdi
    test %rdi, %rdi
    je 1f
    call leaf
1:  call leaf
    hlt
    finish __start_context

    function clone
    .cfi_startproc
    mov $56, %eax
    .cfi_endproc
    syscall
label behind_clone
    test %rax, %rax
label at_jump
    jl 1f
    je 1f
    ret
1:  hlt
    finish clone

    function getpid
    .cfi_startproc
    mov $39, %eax
    .cfi_endproc
    syscall
label behind_getpid
    test %rax, %rax
    ret
    finish getpid

    function execve
    .cfi_startproc
    mov $59, %eax
    syscall
label behind_execve
    ret
    .cfi_endproc
    finish execve

    .cfi_startproc
    .cfi_signal_frame
    .cfi_def_cfa_expression DW_EXPRESSION
    nop
    .globl __restore_rt
    .type __restore_rt, @function
__restore_rt:
    mov $15, %rax
    syscall
    .cfi_endproc
    .size __restore_rt, .-__restore_rt
    .globl following
    .type following, @function
following:
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    .size following, .-following

    function change
    .cfi_startproc
    mov %rsp, %rax
    .cfi_def_cfa_register rax
    mov %rdi, %rsp
label behind_change
    jmp *%r8
    .cfi_endproc
    finish change

    function cold
    .cfi_startproc
    call abort
    .cfi_endproc
    finish cold
    # no padding, as behind the cold parts of a library
    .globl abort
    .type abort, @function
abort:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    call leaf
    .cfi_endproc
    finish abort

    function interpreter
    .cfi_startproc
    .cfi_def_cfa_offset 48
    call 1f
label in_interpreter
    call interpreter
label in_recursion
    nop
1:
label at_subroutine
    nop
    ret
    .cfi_endproc
    finish interpreter

    function first
    .cfi_startproc
    nop
    .cfi_endproc
    finish first

    function sigreturn
    .cfi_startproc
    mov $15, %rax
    syscall
    .cfi_endproc
    finish sigreturn

    function main
    .cfi_startproc
    call leaf
label in_main
    nop
    .cfi_endproc
    finish main

    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    endbr64
label behind_endbr
    .cfi_undefined rip
    call main
label in_start
    hlt
    .cfi_endproc
    .size _start, .-_start
"""
# DW_CFA_def_cfa_expression: what rsp was (ucontext + 160), and the return address (ucontext + 168).
CODE = CODE.replace(
    "    .cfi_def_cfa_expression DW_EXPRESSION\n",
    "    .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6\n    .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("roots"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


def walked(
    program: Path,
    ip: int,
    words: list[int],
    *,
    ax: int = 1,
    cx: int = 0,
    bp: int = 0x99,
    mode: int = USER,
    valid: int | None = None,
    missing: int = 0,
) -> tuple[list[str], StopReason]:
    """(names from the innermost outwards, why the stack ended) of a stack of these words. ``missing``: where a file was
    mapped that is gone."""
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    regs = [ax, 0, cx, 0, 0, 0, bp, STACK, ip]
    sample = BUILD.sample(
        attr, ip=ip if mode == USER else 0, tid=10, regs=regs, stack=memory, dyn=valid, time=2000, misc=mode
    )
    path = program.parent / "perf.data"
    gone = [BUILD.mmap2(attr, b"/gone/program", start=missing, where=(0, 0, 0, 0))] if missing else []
    path.write_bytes(BUILD.file([attr], [BUILD.mmap2(attr, str(program).encode(), **mapped), *gone, sample]))
    with undwarf.open(path) as recording:
        profile = recording.profile(by_time=True)
        (found,) = profile.samples
        assert bool(unwind_quality(profile).gaps) == (found.stop not in (1, 16, 17))
    return [frame.name for frame in found.stack], StopReason(found.stop)


def test_frame_pointer_of_zero_in_a_file_that_is_gone_is_no_root(program: Path, at: dict[str, int]) -> None:
    names, stop = walked(program, at["leaf"], [0x7F0000000010, 0x1234], bp=0, missing=0x7F0000000000)
    assert (names[0], len(names), stop) == ("leaf", 2, StopReason.NO_FILE)


@pytest.mark.parametrize(("back", "name"), [("at_finish", "make_fcontext"), ("__start_context", "__start_context")])
def test_first_function_of_a_context_is_the_root_of_a_fiber(
    program: Path, at: dict[str, int], back: str, name: str
) -> None:
    assert walked(program, at["leaf"], [at[back], 0x1234, 0x1234]) == (["leaf", name], StopReason.FIBER_ROOT)


def test_code_that_does_not_halt_is_no_root_of_a_fiber(program: Path, at: dict[str, int]) -> None:
    names, stop = walked(program, at["leaf"], [at["in_other"], 0x1234, 0x1234])
    assert names[:2] == ["leaf", "other"]
    assert stop is not StopReason.FIBER_ROOT


@pytest.mark.parametrize(
    ("valid", "stop"), [(4096, StopReason.ABSENT_PAGE), (4088, StopReason.TRUNCATED), (8192, StopReason.TRUNCATED)]
)
def test_dump_that_ends_early_at_a_page_was_not_too_small(
    program: Path, at: dict[str, int], valid: int, stop: StopReason
) -> None:
    names, found = walked(program, at["leaf"], [at["in_main"]] * 1024, valid=valid)
    assert names[:2] == ["leaf", "main"]
    assert found is stop


def test_return_address_of_zero_is_the_root_of_a_fiber(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["leaf"], [0, 0x1234, 0x1234]) == (["leaf"], StopReason.FIBER_ROOT)


def test_return_address_of_zero_in_the_entry_function_is_a_root(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["_start"], [0, 0x1234]) == (["_start"], StopReason.ROOT)


@pytest.mark.parametrize("back", ["abort", "first"])
@pytest.mark.parametrize("above", [0, 0x1234])
def test_start_of_a_function_that_nothing_calls_is_the_root_of_a_fiber(
    program: Path, at: dict[str, int], back: str, above: int
) -> None:
    assert walked(program, at["leaf"], [at[back], above, above, above]) == (["leaf", back], StopReason.FIBER_ROOT)


def test_subroutine_inside_of_a_function_has_a_caller_there(program: Path, at: dict[str, int]) -> None:
    words = [at["in_interpreter"], *([0x1234] * 5), at["in_main"], at["in_start"]]
    found = walked(program, at["at_subroutine"], words)
    assert found == (["interpreter", "interpreter", "main", "_start"], StopReason.ROOT)


def test_function_that_calls_itself_has_a_frame(program: Path, at: dict[str, int]) -> None:
    words = [at["in_recursion"], *([0x1234] * 5), at["in_main"], at["in_start"]]
    assert walked(program, at["at_subroutine"], words) == (["interpreter"], StopReason.UNMAPPED)


def test_what_returns_from_a_signal_is_no_root_of_a_fiber(program: Path, at: dict[str, int]) -> None:
    names, stop = walked(program, at["leaf"], [at["sigreturn"], 0x1234, 0x1234, 0x1234])
    assert names[0] == "leaf"
    assert stop in (StopReason.UNMAPPED, StopReason.TRUNCATED)


def test_what_is_in_front_of_a_page_fault_is_not_looked_up(
    program: Path, at: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(UnwindTable, "more", lambda _table, address: asked.append(address))
    assert walked(program, at["main"], [at["in_start"]], mode=KERNEL) == (["main", "_start"], StopReason.ROOT)
    assert asked == []


def test_middle_of_a_function_that_nothing_calls_is_no_root_of_a_fiber(program: Path, at: dict[str, int]) -> None:
    names, stop = walked(program, at["leaf"], [at["abort"] + 1, 0x1234, 0x1234, 0x1234])
    assert names[0] == "leaf"
    assert stop in (StopReason.UNMAPPED, StopReason.TRUNCATED)


def test_entry_function_is_a_root_at_its_first_instruction(program: Path, at: dict[str, int]) -> None:
    assert walked(program, at["_start"], [1, 0x1234]) == (["_start"], StopReason.ROOT)


def on_signal_stack(at: dict[str, int], start: int, size: int, sp: int) -> list[int]:
    """A handler's stack: leaf() returns to the code that returns from the signal, which interrupted main()."""
    words = [at["__restore_rt"], *([0] * 60)]
    words[3:6] = start, 0, size
    words[1 + 20], words[1 + 21], words[1 + 23] = sp, at["in_main"], 0x002B << 48 | 0x33
    return words


def test_signal_stack_left_for_one_elsewhere_is_whole(program: Path, at: dict[str, int]) -> None:
    words = on_signal_stack(at, STACK - 4096, 8192, STACK + (1 << 30))
    assert walked(program, at["leaf"], words) == (["leaf", "__restore_rt", "main"], StopReason.SIGNAL_STACK)


def test_signal_stack_close_below_the_other_wants_a_larger_dump(program: Path, at: dict[str, int]) -> None:
    words = on_signal_stack(at, STACK - 4096, 8192, STACK + 60000)
    assert walked(program, at["leaf"], words) == (["leaf", "__restore_rt", "main"], StopReason.TRUNCATED)


def test_signal_on_the_interrupted_stack_wants_a_larger_dump(program: Path, at: dict[str, int]) -> None:
    words = on_signal_stack(at, 0, 0, STACK + (1 << 20))
    assert walked(program, at["leaf"], words) == (["leaf", "__restore_rt", "main"], StopReason.TRUNCATED)


@pytest.mark.parametrize("old", [STACK + (1 << 30), STACK - (1 << 30)])
def test_code_that_has_left_its_stack_has_callers_elsewhere(program: Path, at: dict[str, int], old: int) -> None:
    found, stop = walked(program, at["behind_change"], [0x1234, 0x1234], ax=old)
    assert (found[0], stop) == ("change", StopReason.OTHER_STACK)


@pytest.mark.parametrize("cx", ["following", "leaf"])
def test_return_from_a_signal_is_not_the_function_behind_it(program: Path, at: dict[str, int], cx: str) -> None:
    words = [*on_signal_stack(at, 0, 0, STACK + 8 * 50)[1:], 0]
    words[50] = at["in_start"]
    found = walked(program, at["following"], words, cx=at[cx], mode=KERNEL)
    assert found == (["__restore_rt", "main", "_start"], StopReason.ROOT)


def test_page_fault_on_a_function_behind_a_signals_return(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["following"], [at["in_start"], *([0] * 60)], mode=KERNEL)
    assert found == (["following", "_start"], StopReason.ROOT)


@pytest.mark.parametrize("place", ["behind_clone", "at_jump"])
def test_caller_of_clone_is_above_it(program: Path, at: dict[str, int], place: str) -> None:
    found = walked(program, at[place], [at["in_main"], at["in_start"]], cx=at["behind_clone"])
    assert found == (["clone", "main", "_start"], StopReason.ROOT)


@pytest.mark.parametrize("place", ["behind_clone", "at_jump"])
@pytest.mark.parametrize("function", ["leaf", None])
def test_child_of_clone_is_a_root(program: Path, at: dict[str, int], place: str, function: str | None) -> None:
    words = [at[function] if function else 0x1234, 0]
    assert walked(program, at[place], words, ax=0, cx=at["behind_clone"]) == (["clone"], StopReason.ROOT)


def test_only_clone_has_children_that_are_roots(program: Path, at: dict[str, int]) -> None:
    names, stop = walked(program, at["behind_getpid"], [0x1234, 0], ax=0, cx=at["behind_getpid"])
    assert names[0] == "getpid"
    assert stop is not StopReason.ROOT


def test_execve_whose_stack_is_gone_is_being_replaced(program: Path, at: dict[str, int]) -> None:
    found = walked(program, at["behind_execve"], [0, 0], cx=at["behind_execve"], mode=KERNEL, valid=0)
    assert found == (["execve"], StopReason.REPLACED)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("4831ffe800000000f4", True),  # xor %rdi,%rdi; call; hlt
        ("31ffff1500000000f4", True),  # xor %edi,%edi; call *(%rip); hlt
        ("4831ffe80000000090", False),
        ("4889dc488b3c244885ff", True),
        ("4889dc488b3c24", False),
        ("", False),
    ],
)
def test_code_at_the_root_of_a_fiber(code: str, expected: bool) -> None:
    assert is_fiber_root(bytes.fromhex(code)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("b8380000000f05", True),
        ("b8380000000f054885c07c137401", True),
        ("b8380000000f054885c0c3", False),
        ("90909090900f05", False),
        ("b8", False),
    ],
)
def test_code_that_only_tests_a_system_calls_result(code: str, expected: bool) -> None:
    assert is_after_system_call(bytes.fromhex(code)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("b8b30100000f05", 435),
        ("31c0b0384989fb0f05", 56),  # musl: xor %eax,%eax; mov $56,%al; mov %rdi,%r11; syscall
        ("0f05", -1),
        ("b838000000", -1),
    ],
)
def test_number_of_a_system_call(code: str, expected: int) -> None:
    assert system_call_number(bytes.fromhex(code)) == expected
