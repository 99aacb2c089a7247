"""Callers are checked against the code: what a call enters proves, permits or rules out the callee in the stack."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels
from tests.support.perfdata.build import CALLCHAIN, PLAIN, Attr, Build

from undwarf.api import open_recording
from undwarf.cli.main import run
from undwarf.elf import ElfFile

USER = (1 << 64) - 512

# By machine: prefix of its compiler, code. Each `at_NAME` is a return address in the function NAME.
X86_64 = """
    .globl _start, callee, other, tail, hop, switch
    .macro function name
    .type \\name, @function
\\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \\name, . - \\name
    .endm
    function _start
    call direct
at__start: hlt
    end _start
    function direct
    call callee
at_direct: ret
    end direct
    function spaced
    call callee
at_spaced: nop
    nop
    ret
    end spaced
    function indirect
    call *%rax
at_indirect: ret
    end indirect
    function to_other
    call other
at_to_other: ret
    end to_other
    function to_tail
    call hop
at_to_tail: ret
    end to_tail
    function to_switch
    call switch
at_to_switch: ret
    end to_switch
    function to_middle
    call in_callee
at_to_middle: ret
    end to_middle
    function without
    xor %eax, %eax
at_without: ret
    end without
    function callee
    nop
in_callee: nop
    ret
    end callee
    function other
    ret
    end other
    function tail
    jmp callee
    end tail
    function hop
    jmp tail
    end hop
    function through
    call register_jump
at_through: ret
    end through
    function register_jump
    jmp *%rax
    end register_jump
    function switch
    push %rbp
    .cfi_def_cfa_offset 16
    jmp *%rax
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    end switch
    function runtime.systemstack_switch
    nop
at_go_switch: nop
    ret
    end runtime.systemstack_switch
    function handler
    ret
    end handler
    nop
    function restorer
    mov $15, %rax
    syscall
    end restorer
    .skip 16, 0x90
"""

AARCH64 = """
    .globl _start, callee, other, tail
    .macro function name
    .type \\name, %function
\\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \\name, . - \\name
    .endm
    function _start
    bl direct
at__start: brk 0
    end _start
    function direct
    bl callee
at_direct: ret
    end direct
    function indirect
    blr x0
at_indirect: ret
    end indirect
    function to_other
    bl other
at_to_other: ret
    end to_other
    function to_tail
    bl tail
at_to_tail: ret
    end to_tail
    function without
    mov x0, 0
at_without: ret
    end without
    function callee
    nop
    ret
    end callee
    function other
    ret
    end other
    function tail
    b callee
    end tail
"""

VERDICTS = [
    ("direct", "proven", "direct call"),
    ("indirect", "consistent", "indirect call"),
    ("to_tail", "consistent", "jump from what is called"),
    ("to_other", "contradicted", "the call is of another function"),
    ("without", "contradicted", "no call before the return address"),
]
OF_X86_64 = [
    ("to_middle", "consistent", "call into the function"),
    ("through", "consistent", "jump from what is called"),
    # A jump from within a frame is a switch's, and stays in the function.
    ("to_switch", "contradicted", "the call is of another function"),
]


def recorded(program: Path, arch: str, chain: list[int], start: int = 0x400000, offset: int = 0) -> Path:
    """A recording of one sample with this chain of return addresses, the innermost address first."""
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    records = [
        build.comm(attr, b"prog", pid=10, tid=10, time=1),
        build.mmap2(attr, str(program).encode(), start=start, length=0x10000, pgoff=offset, where=(0, 0, 0, 0)),
        build.sample(attr, ip=chain[0], pid=10, tid=10, time=1000, chain=(USER, *chain)),
    ]
    path = program.parent / "perf.data"
    path.write_bytes(build.file([attr], records, features={6: build.string(arch)}))
    return path


def verdict(path: Path) -> tuple[str, str]:
    """The verdict on the only pair of a recording, and its reason."""
    with open_recording(path) as recording:
        found = recording.verify_calls(recording.profile(inline=False))
    (reason,) = found.reasons
    (name,) = (name for name, calls in found.calls._asdict().items() if calls)
    return name, reason


@pytest.mark.parametrize(("caller", "expected", "reason"), VERDICTS + OF_X86_64)
def test_the_call_before_a_return_address_decides(tmp_path: Path, caller: str, expected: str, reason: str) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    path = recorded(program, "x86_64", [at["callee"], at[f"at_{caller}"]])
    assert verdict(path) == (expected, reason)


@pytest.mark.parametrize(("caller", "expected", "reason"), VERDICTS)
def test_the_call_decides_on_aarch64(tmp_path: Path, caller: str, expected: str, reason: str) -> None:
    program = assemble(tmp_path, AARCH64, "aarch64-linux-gnu-")
    at = labels(program, "aarch64-linux-gnu-")
    path = recorded(program, "aarch64", [at["callee"], at[f"at_{caller}"]])
    assert verdict(path) == (expected, reason)


@pytest.mark.parametrize(("callee", "caller"), [("callee", "at_go_switch"), ("at_go_switch", "at_to_other")])
def test_where_go_changes_stacks_nothing_was_called(tmp_path: Path, callee: str, caller: str) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    assert verdict(recorded(program, "x86_64", [at[callee], at[caller]])) == (
        "consistent", "where Go's runtime changes stacks",
    )  # fmt: skip


def test_what_a_signal_interrupts_made_no_call(tmp_path: Path) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    # A handler returns to the restorer, below which is whatever was interrupted.
    assert verdict(recorded(program, "x86_64", [at["handler"], at["restorer"]])) == (
        "consistent", "return from a signal handler",
    )  # fmt: skip
    # Where the handler has returned to, at its first instruction or at the second.
    for inside in (0, 7):
        assert verdict(recorded(program, "x86_64", [at["restorer"] + inside, at["other"]]))[0] == "unchecked"


def test_trampoline_that_a_handler_returns_to_is_known_by_its_own_address(tmp_path: Path) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    # As the walk has it: rules of trampolines give their first byte.
    assert verdict(recorded(program, "x86_64", [at["handler"], at["restorer"] + 1])) == (
        "consistent", "return from a signal handler",
    )  # fmt: skip


def test_frame_that_was_looked_up_at_its_own_address_may_follow_a_call(tmp_path: Path) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    # Chains have return addresses, which are looked up one byte before: so this one is looked up as it is.
    assert verdict(recorded(program, "x86_64", [at["callee"], at["at_spaced"] + 1])) == ("proven", "direct call")


LIBRARY = """
    .globl outer, exported, another
    .type exported, @function
    .type another, @function
    .type outer, @function
outer: .cfi_startproc
    call exported@PLT
at_outer: ret
    .cfi_endproc
    .size outer, . - outer
exported: .cfi_startproc
    ret
    .cfi_endproc
    .size exported, . - exported
another: .cfi_startproc
    ret
    .cfi_endproc
    .size another, . - another
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source, made = tmp_path / "code.S", tmp_path / "library.so"
    source.write_text(LIBRARY)
    flags = ["-shared", "-nostdlib", "-Wl,--eh-frame-hdr", "-Wl,-z,noseparate-code"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize(
    ("callee", "expected"), [("exported", ("proven", "import by name")), ("another", ("contradicted",
     "the call is of another function"))],
)  # fmt: skip
def test_an_import_proves_the_callee_of_that_name(library: Path, callee: str, expected: tuple[str, str]) -> None:
    at = labels(library)
    path = recorded(library, "x86_64", [0x400000 + at[callee], 0x400000 + at["at_outer"]])
    assert verdict(path) == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(1, ("proven", "direct call")), (0, ("consistent", "call into the function"))],
    ids=["stub", "header of the table"],
)  # fmt: skip
def test_a_stub_is_a_function_of_its_own(library: Path, number: int, expected: tuple[str, str]) -> None:
    at = labels(library)
    (table,) = (one for one in ElfFile.open(library).sections if one.name == ".plt")
    path = recorded(library, "x86_64", [0x400000 + table.address + 16 * number, 0x400000 + at["at_outer"]])
    assert verdict(path) == expected


def test_info_names_the_pair_that_is_false(tmp_path: Path, capsys) -> None:
    program = assemble(tmp_path, X86_64)
    at = labels(program)
    chain = [at["callee"], at["at_direct"], at["at_to_other"]]
    path = str(recorded(program, "x86_64", chain))
    assert run(["info", "--verify", path]) == 0
    shown = capsys.readouterr().out
    assert "50.000 %  proven" in shown
    assert "50.000 %  contradicted" in shown
    assert f"to_other in {program}: the call is of another function before {at['at_to_other']:#x}, not direct" in shown
    assert run(["info", "--verify", "--json", path]) == 0
    calls = json.loads(capsys.readouterr().out)["calls"]
    assert calls["calls"] == {"proven": 1, "consistent": 0, "contradicted": 1, "unchecked": 0}
    assert [one["caller_sym"] for one in calls["contradictions"]] == ["to_other"]
