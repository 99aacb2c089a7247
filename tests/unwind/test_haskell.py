"""Haskell code as GHC compiles it: its callers on the stack of C, and its own stack where it is described."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.support.perfdata import build

import undwarf
from undwarf import Provenance, StopReason
from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.haskell_stacks import calls_stg_run, depths, is_haskell
from undwarf.tables.model import UnwindTable

BUILD = build.Build()
TOP = 0x7FFF00100000
"""Where the stack pointer is in scheduler()."""
FRAME = 16384 + 56
"""Bytes from Haskell code to there."""
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")

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
    function StgRun
    .cfi_startproc
    sub $48, %rsp
    mov %rsp, %rax
    sub $16384, %rsp
    mov %rbx, (%rax)
    mov %rbp, 8(%rax)
    .cfi_def_cfa rsp, 0
    .cfi_escape 0x11, 3, 0x80, 0x70, 0x11, 6, 0xff, 0x6f, 0x11, 12, 0xfe, 0x6f
    .cfi_escape 0x11, 13, 0xfd, 0x6f, 0x11, 14, 0xfc, 0x6f, 0x11, 15, 0xfb, 0x6f, 0x11, 16, 0xfa, 0x6f
    .cfi_escape 0x16, 7, 4, 0x77, 0xb8, 0x80, 1
    jmp *%rdi
    .cfi_endproc
    finish StgRun

    function scheduler
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    call StgRun
label in_scheduler
    call collect
label collecting
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    finish scheduler

    function collect
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    finish collect

    function callback
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    call scheduler
label in_callback
    nop
    .cfi_endproc
    finish callback

    function main
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    call scheduler
label in_main
    nop
    .cfi_endproc
    finish main

    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call main
label in_start
    hlt
    .cfi_endproc
    .size _start, .-_start

    .p2align 8
    .quad 0, 14
    function Main_work_info
    add $16, %r12
    sub $8, %rsp
label before_call
    mov %rbx, %rdi
    call callback
label in_work
    add $8, %rsp
label behind_call
    jmp *(%rbp)
    finish Main_work_info

    .quad 0, 14
    function Main_first_info
    nop
label second_block
    jmp *(%rbp)
    finish Main_first_info
    .quad 0, 14
    function Main_last_info
    jmp *(%rbp)
    finish Main_last_info
    .p2align 4
    .globl plain
plain:
    nop
    ret

    .section .debug_frame
1:  .long 3f - 2f
2:  .long 0xffffffff
    .byte 3, 0, 1, 0x78, 16
    .byte 0x0c, 6, 0, 0x90, 0, 8, 7, 0x14, 6, 0
    .p2align 3
3:  .long 5f - 4f
4:  .long 1b
    .quad Main_first_info - 1, 2
    .byte 1
    .quad second_block
    .byte 0x0e, 16
    .p2align 3
5:  .long 7f - 6f
6:  .long 1b
    .quad Main_last_info - 1, 2
    .p2align 3
7:
"""
INSIDE = ("in_", "collecting", "before_", "behind_", "second_")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("haskell")
    (folder / "code.S").write_text(CODE)
    line = ["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--eh-frame-hdr", str(folder / "code.S"), "-o"]
    done = subprocess.run([*line, str(folder / "program")], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    return folder / "program"


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    """Addresses by name; those inside of functions are no symbols afterwards."""
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    inside = [f"--strip-symbol={prefix}*" for prefix in INSIDE]
    subprocess.run(["objcopy", "--wildcard", *inside, str(program)], check=True)
    return {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}


Sample = tuple[int, int, dict[int, int]]
"""Address, stack pointer, and words of the stack by address; of them those in one piece from the stack pointer on."""


def walked(program: Path, samples: list[Sample], *, bp: int = 0x4200000000, **options: object) -> list[undwarf.Sample]:
    """The samples as a profile has them."""
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=32768
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    records = [BUILD.mmap2(attr, str(program).encode(), **mapped)]
    for i, (ip, sp, words) in enumerate(samples):
        count = (max(words) - sp) // 8 + 1 if words else 1
        memory = struct.pack(f"<{count}Q", *(words.get(sp + 8 * k, 0) for k in range(count)))
        regs = [0, 0, 0, 0, 0, 0, bp, sp, ip, *([0] * 8)]
        records.append(
            BUILD.sample(
                attr, ip=ip, tid=10, regs=regs, stack=memory.ljust(32768, b"\0"), dyn=len(memory), time=2000 + i
            )
        )
    path = program.parent / "perf.data"
    path.write_bytes(BUILD.file([attr], records))
    with undwarf.open(path, **options) as recording:
        return list(recording.profile(by_time=True).samples)


def names(sample: undwarf.Sample) -> list[str]:
    return [frame.name for frame in sample.stack]


def above(at: dict[str, int], top: int = TOP) -> dict[int, int]:
    """The stack from the scheduler's frame on, where it calls Haskell code."""
    return {top - 8: at["in_scheduler"], top: 0x77, top + 8: at["in_main"], top + 16: 0x77, top + 24: at["in_start"]}


def collecting(at: dict[str, int], top: int = TOP) -> Sample:
    """A sample in the garbage collector."""
    return at["collect"], top - 8, above(at, top) | {top - 8: at["collecting"]}


SCHEDULED = ["scheduler", "main", "_start"]


@pytest.mark.parametrize(
    ("where", "below"), [("Main_work_info", 0), ("before_call", 8), ("in_work", 8), ("behind_call", 0)]
)
def test_haskell_code_returns_to_the_caller_of_stg_run(
    program: Path, at: dict[str, int], where: str, below: int
) -> None:
    (found,) = walked(program, [(at[where], TOP - FRAME - below, above(at))])
    assert (names(found)[1:], found.stop) == (SCHEDULED, StopReason.ROOT)


def test_haskell_code_below_another_call_has_no_caller(program: Path, at: dict[str, int]) -> None:
    (found,) = walked(program, [(at["Main_work_info"], TOP - FRAME, above(at) | {TOP - 8: at["collecting"]})])
    assert (len(found.stack), found.stop) == (1, StopReason.NO_RULE)


def test_untouched_stack_above_haskell_code_has_its_own_reason(program: Path, at: dict[str, int]) -> None:
    (found,) = walked(program, [(at["Main_work_info"], TOP - FRAME, {TOP - FRAME + 512: 1})])
    assert (len(found.stack), found.stop) == (1, StopReason.HASKELL_STACK)


@pytest.mark.parametrize("first", [0, 1])
def test_scheduler_is_taken_from_a_sample_of_the_collector(program: Path, at: dict[str, int], first: int) -> None:
    samples = [(at["Main_work_info"], TOP - FRAME, {}), collecting(at)]
    found = walked(program, samples[::-1] if first else samples)[first]
    assert (names(found)[1:], found.stop) == (SCHEDULED, StopReason.INFERRED_ROOT)
    assert {frame.provenance for frame in found.stack[1:]} == {Provenance.OTHER_DUMP}
    assert found.stack[1].address.lookup == at["in_scheduler"] - 1


def test_scheduler_elsewhere_on_the_stack_is_another_one(program: Path, at: dict[str, int]) -> None:
    found = walked(program, [(at["Main_work_info"], TOP - FRAME, {}), collecting(at, TOP + 16)])[0]
    assert (len(found.stack), found.stop) == (1, StopReason.HASKELL_STACK)


def test_scheduler_that_was_called_from_several_places_has_no_caller(program: Path, at: dict[str, int]) -> None:
    """Of two functions of C that call it in turn nobody knows which one it was."""
    address, sp, words = collecting(at)
    other = address, sp, words | {TOP + 8: at["in_callback"]}
    found = walked(program, [collecting(at), (at["Main_work_info"], TOP - FRAME, {}), other])
    assert names(found[2])[1:] == ["scheduler", "callback", "_start"]
    assert (len(found[1].stack), found[1].stop) == (1, StopReason.HASKELL_STACK)


def test_scheduler_is_looked_for_in_so_many_samples(program: Path, at: dict[str, int]) -> None:
    samples = [(at["_start"], TOP + 32, {}), collecting(at), (at["Main_work_info"], TOP - FRAME, {})]
    found = walked(program, samples)[2]
    assert (names(found)[-3:], found.stop) == (SCHEDULED, StopReason.INFERRED_ROOT)
    found = walked(program, samples, limits=Limits(scheduler_samples=1))[2]
    assert found.stop is StopReason.HASKELL_STACK
    assert names(found) and not set(names(found)) & set(SCHEDULED)


def test_haskell_code_called_back_has_both_schedulers(program: Path, at: dict[str, int]) -> None:
    """callback() is called by Haskell code and calls the scheduler, which runs Haskell code or the collector."""
    outer = TOP - FRAME - 8
    inner = outer - 32
    called = {inner: 0x77, inner + 8: at["in_callback"], inner + 16: 0x77, inner + 24: at["in_work"]}
    nested = at["collect"], inner - 8, called | {inner - 8: at["collecting"]}
    # One whose dump has all of it is no other one.
    whole = nested[0], nested[1], nested[2] | above(at)
    found = walked(program, [(at["Main_work_info"], inner - FRAME, {}), nested, collecting(at), whole])
    assert found[3].stop is StopReason.ROOT
    expected = ["scheduler", "callback", *names(found[0])[:1], *SCHEDULED]
    assert [names(one)[1:] for one in found[:2]] == [expected, expected]
    assert {one.stop for one in found[:2]} == {StopReason.INFERRED_ROOT}


def test_described_haskell_code_has_its_scheduler_without_its_stack(program: Path, at: dict[str, int]) -> None:
    (found,) = walked(program, [(at["second_block"], TOP - FRAME, above(at))])
    assert (names(found)[1:], found.stop) == (SCHEDULED, StopReason.ROOT)
    assert found.stack[0].provenance is Provenance.DEBUG_FRAME


def test_described_haskell_code_has_its_callers_where_its_stack_is_there(program: Path, at: dict[str, int]) -> None:
    """Its callers are looked up by the address it returns to, which no call stands before."""
    here = TOP - FRAME
    own = {here + 64 + 16: at["Main_last_info"], here + 64 + 24: 0}
    (found,) = walked(program, [(at["second_block"], here, own)], bp=here + 64)
    assert [frame.address.lookup for frame in found.stack][:2] == [at["second_block"], at["Main_last_info"]]


def test_lengths_of_first_blocks_go_on_to_the_next_function(program: Path, at: dict[str, int]) -> None:
    table = UnwindTable.from_elf(str(program), "debug-frame")
    cfa = {
        name: (rule.cfa if (rule := table.rule_at(at[name] + 1)) else "") for name in ("second_block", "Main_last_info")
    }
    assert cfa == {"second_block": "rbp+16", "Main_last_info": "rbp+0"}
    assert table.rule_at(at["plain"]) is None


def test_stg_run_is_what_tells_a_program_of_haskell(program: Path, at: dict[str, int], tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", str(stripped), str(program)], check=True)
    assert is_haskell(ElfFile.open(stripped))
    found = {name for name, address in at.items() if calls_stg_run(ElfFile.open(stripped), address)}
    assert found == {"in_scheduler"}
    subprocess.run(["objcopy", "--remove-section=.eh_frame", str(program), str(stripped)], check=True)
    assert not is_haskell(ElfFile.open(stripped))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("90", [(0, 0)]),
        # sub $8,%rsp; mov %rbx,%rdi; call; add $8,%rsp
        ("4883ec084889dfe8000000004883c40890", [(0, 0), (4, 8), (16, 0)]),
        # two arguments on the stack: sub $8,%rsp; push; push; call *%rax; add $24,%rsp
        ("4883ec085051ffd04883c41890", [(0, 0), (4, -1), (6, 24), (12, 0)]),
        # one, which aligns the stack: push; call *%rax; add $8,%rsp
        ("50ffd04883c40890", [(0, 0), (1, 8), (7, 0)]),
    ],
)
def test_how_far_calls_move_the_stack_pointer(code: str, expected: list[tuple[int, int]]) -> None:
    assert depths(bytes.fromhex(code)) == expected
