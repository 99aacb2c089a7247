"""Calls that a function is thought to have made: what its code, and its caller's, say of registers and the stack."""

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels

from undwarf.images import ImageStore
from undwarf.profile.call_proof import CodeProof
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.arch import X86_64
from undwarf.unwind.exact_paths import CodeEvidence

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
CODE = """
    .macro function name
    .globl \\name
    .type \\name, @function
\\name:
    .cfi_startproc
    .endm
    .globl _start
_start: hlt
    function caller
    mov %r12, %rdi
    call copies
in_caller: nop
    ret
    .cfi_endproc
    function copies
    push %rbx
    mov %rdi, %rbx
    test %rbx, %rbx
    je skips
    movq $1, (%rsi)
skips: call leaf
in_copies: pop %rbx
    ret
    .cfi_endproc
    function jumper
    mov %r13, %rdi
    jmp copies
    .cfi_endproc
    function indirect
    mov %r12, %rdi
    call *%rax
in_indirect: nop
    ret
    .cfi_endproc
    function shares
    push %rbx
    sub $16, %rsp
    movq $7, (%rsp)
    lea (%rsp), %rdi
    call leaf
    call leaf
in_shares: add $16, %rsp
    pop %rbx
    ret
    .cfi_endproc
    function switches
    cmp $3, %rdi
    mov %r12, %rdi
    call copies
in_switches: jmp *%rax
    .cfi_endproc
    function leaf
    ret
    .cfi_endproc
    .data
    .quad indirect
"""
RBX, RSP, R12, R13 = 3, 7, 12, 13
STACK = 0x7FFF0000
Agree = Callable[..., int | None]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("calls"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def agree(program: Path) -> Agree:
    """How well registers, and words of the stack above its pointer, agree with a call of a function that was called at
    a label (empty: not known): -1 if not with any way in which it may have been; None if the code does not tell."""
    at = labels(program)
    images = ImageStore([str(program).encode()], [Identity()])
    evidence = CodeEvidence(lambda _number: images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)))

    def agreeing(function: str, caller: str, registers: dict[int, int], words: list[int]) -> int | None:
        back = at[f"in_{function}"]
        facts = evidence.call_facts(0, at[function], back, 0 if caller else -1, at[f"in_{caller}"] if caller else 0)
        if facts is None:
            return None
        numbers = [1000 + number for number in range(16)]
        numbers[RSP] = STACK
        for number, value in registers.items():
            numbers[number] = value
        stack = {STACK + 8 * number: word for number, word in enumerate(words)}
        return max(one.agreeing(numbers, -1, lambda address, _size: stack.get(address), {0: 0}) for one in facts)

    return agreeing


def test_a_copy_of_an_argument_is_what_the_caller_has_passed(agree: Agree) -> None:
    assert agree("copies", "caller", {RBX: 5, R12: 5}, [9]) == 1


def test_another_argument_contradicts_the_call(agree: Agree) -> None:
    assert agree("copies", "caller", {RBX: 5, R12: 6}, [9]) == -1


def test_nothing_is_said_of_arguments_without_a_caller(agree: Agree) -> None:
    assert agree("copies", "", {RBX: 5, R12: 6}, [9]) == 0


def test_a_pointer_may_be_to_what_jumps_to_the_function(agree: Agree) -> None:
    assert agree("copies", "indirect", {RBX: 5, R12: 5, R13: 6}, [9]) == 1
    assert agree("copies", "indirect", {RBX: 5, R12: 6, R13: 5}, [9]) == 1
    assert agree("copies", "indirect", {RBX: 5, R12: 6, R13: 6}, [9]) == -1


def test_what_holds_before_a_call_is_known_where_a_function_jumps_anywhere(agree: Agree) -> None:
    assert agree("copies", "switches", {RBX: 5, R12: 6}, [9]) == -1


def test_a_function_that_jumps_anywhere_tells_nothing(agree: Agree) -> None:
    assert agree("switches", "", {}, []) is None


def test_a_callee_may_change_what_it_has_the_address_of(agree: Agree) -> None:
    assert agree("shares", "", {RBX: 5}, [8, 0, 5]) == 1


def test_a_pushed_register_stays(agree: Agree) -> None:
    assert agree("shares", "", {RBX: 5}, [7, 0, 6]) == -1
