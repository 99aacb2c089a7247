"""Registers that code may have written since a precise sample's instruction."""

from collections import namedtuple
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels

from undwarf.images import ImageStore
from undwarf.profile.late_registers import LateRegisters

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)
R11 = 11
CODE = """
    .globl _start
_start:
at_overwrites: mov (%rax), %rax
    mov (%rbx), %rcx
    hlt
at_pop: pop %rdi
    hlt
at_branch: test %eax, %eax
    je 1f
    mov $1, %ecx
    hlt
1:  mov $1, %edx
    hlt
at_call: call callee
    mov $1, %edi
    hlt
callee: mov $1, %esi
at_ret: ret
at_indirect: call *%rbx
    hlt
at_leaves: jmp *%rbx
at_system_call: syscall
    nop
    hlt
endless: inc %rdx
    jmp endless
fan:
    .rept 64
    je . + 3
    nop
    .endr
    hlt
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> tuple[LateRegisters, dict[str, int]]:
    program: Path = assemble(tmp_path_factory.mktemp("late"), CODE, "", "-no-pie")
    images = ImageStore([str(program).encode()], [Identity()])
    assert images.image((0, 0)).number == 0
    return LateRegisters(images), labels(program)


Program = tuple[LateRegisters, dict[str, int]]


@pytest.mark.parametrize(
    ("label", "steps", "written"),
    [
        ("at_overwrites", 1, {RAX}),
        ("at_overwrites", 2, {RAX, RCX}),
        ("at_pop", 1, {RDI, RSP}),
        ("at_branch", 12, {RCX, RDX}),
        ("at_call", 1, {RSP}),
        ("at_call", 2, {RSP, RSI}),
        ("at_call", 12, {RSP, RSI, RDI}),
        ("at_ret", 1, {RSP}),
        ("at_indirect", 1, {RSP}),
        ("at_system_call", 12, {RAX, RCX, R11}),
        ("endless", 12, {RDX}),
    ],
)
def test_what_may_be_written(at: Program, label: str, steps: int, written: set[int]) -> None:
    late, labelled = at
    assert late.written(0, labelled[label], steps) == written


@pytest.mark.parametrize(("label", "steps"), [("at_ret", 2), ("at_indirect", 2), ("at_leaves", 2)])
def test_anything_may_be_written_where_code_does_not_say_who_goes_on(at: Program, label: str, steps: int) -> None:
    late, labelled = at
    assert late.written(0, labelled[label], steps) is None


def test_code_that_is_not_there_says_nothing(at: Program) -> None:
    assert at[0].written(0, 0x12345, 1) is None


def test_positions_are_bounded(at: Program) -> None:
    late, labelled = at
    assert late.written(0, labelled["fan"], 12) == set()
    assert late.written(0, labelled["fan"], 1000) is None
