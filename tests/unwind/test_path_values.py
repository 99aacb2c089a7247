"""Precise samples: what the instructions on a path say of the registers at its end."""

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels

from undwarf.disasm import Instruction
from undwarf.disasm.x86_flows import FlowDecoder
from undwarf.images import ImageStore
from undwarf.profile.call_proof import CodeProof
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.arch import X86_64
from undwarf.unwind.exact_paths import ExactPaths
from undwarf.unwind.path_values import MAX_ENDS, MAX_STEPS, End, PathValues

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
CODE = """
    .macro function name
    .globl \\name
    .type \\name, @function
\\name:
    .endm
    .globl _start
_start: hlt
    function copies
    mov $5, %eax
    mov %rax, %rbx
    lea 8(%rbx), %rcx
    sub $1, %rcx
copied: nop
    hlt
    function stores
    push %rbp
    mov %rsp, %rbp
    movl $7, -4(%rbp)
stored: mov -4(%rbp), %edx
loaded: nop
    hlt
    function branches
    cmpl $3, %edi
    jbe small
large: nop
    hlt
small: nop
    hlt
    function calls
    call callee
back: nop
    hlt
    function callee
inside: nop
    ret
    function pointers
    mov %rdi, -8(%rsp)
    mov %rax, (%rsi)
written: nop
    hlt
    function asks
    syscall
asked: nop
    hlt
    function computes
    imul $7, %edi, %eax
    lea 1(%rax,%rsi,4), %rdx
    xor %eax, %edx
computed: nop
    hlt
    function compares
    cmpl $3, %edi
compared: nop
    hlt
    function counts
    sub $1, %edi
    jb less
    hlt
less: nop
    hlt
    function keeps
    movl $7, -4(%rsp)
    mov %eax, variable(%rip)
kept: nop
    hlt
    function forks
    .rept 12
    jz forks
    .endr
    hlt
    .data
variable: .long 0
    .text
"""
CARRY, ZERO_FLAG, SIGN = 1, 0x40, 0x80
PARITY = 4
RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)
STACK = 0x7FFF0000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("values"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


@pytest.fixture(scope="module")
def values(program: Path) -> PathValues:
    images = ImageStore([str(program).encode()], [Identity()])
    paths = ExactPaths(images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)), FlowDecoder())
    return PathValues(lambda _image: paths.flows, lambda _image, address: paths.instruction(address))


@pytest.fixture
def agree(values: PathValues, at: dict[str, int]) -> Callable[..., int]:
    """How well registers and a stack agree with the path from one label to another: -1 if they do not."""

    def agreeing(
        start: str, end: str, registers: dict[int, int], stack: dict[int, int] | None = None, flags: int = -1
    ) -> int:
        (found,) = [one for one in ends(values, at[start]) if one.address == at[end] and one.facts is not None]
        numbers = [1000 + number for number in range(16)]
        numbers[RSP] = STACK
        for number, value in registers.items():
            numbers[number] = value
        assert found.facts is not None
        return found.facts.agreeing(numbers, flags, lambda address, _size: (stack or {}).get(address), {0: 0})

    return agreeing


def ends(values: PathValues, address: int, sites: tuple[tuple[int, int], ...] = (), reach: int = 12) -> list[End]:
    return values.ends(0, address, sites, reach)


def test_a_constant_and_its_copies_are_in_their_registers(agree: Callable[..., int]) -> None:
    assert agree("copies", "copied", {RAX: 5, RBX: 5, RCX: 12}) == 3


@pytest.mark.parametrize("registers", [{RAX: 6}, {RBX: 6}, {RCX: 13}])
def test_another_value_contradicts_the_path(agree: Callable[..., int], registers: dict[int, int]) -> None:
    assert agree("copies", "copied", {RAX: 5, RBX: 5, RCX: 12} | registers) == -1


def test_what_was_stored_is_on_the_stack(agree: Callable[..., int]) -> None:
    frame = {RBP: STACK}
    assert agree("stores", "stored", frame, {STACK: 1006, STACK - 4: 7}) == 2
    assert agree("stores", "stored", frame, {STACK: 1006, STACK - 4: 8}) == -1


def test_what_was_loaded_is_what_was_stored(agree: Callable[..., int]) -> None:
    assert agree("stores", "loaded", {RBP: STACK, RDX: 7}) == 2
    assert agree("stores", "loaded", {RBP: STACK, RDX: 8}) == -1


def test_a_stack_that_was_not_recorded_contradicts_nothing(agree: Callable[..., int]) -> None:
    assert agree("stores", "stored", {RBP: STACK}, {}) == 1


def test_a_branch_had_its_condition(values: PathValues, at: dict[str, int]) -> None:
    conditions = {
        one.address: one.facts.conditions[0][1] if one.facts is not None and one.facts.conditions else None
        for one in ends(values, at["branches"])
    }
    assert conditions[at["large"]] in ("a", None)
    assert conditions[at["small"]] in ("be", None)


@pytest.mark.parametrize(
    ("size", "end", "expected"), [(3, "small", 0), (4, "small", -1), (4, "large", 0), (3, "large", -1)]
)
def test_a_register_on_the_wrong_side_of_a_branch_contradicts_it(
    values: PathValues, at: dict[str, int], size: int, end: str, expected: int
) -> None:
    (found,) = [one for one in ends(values, at["branches"]) if one.address == at[end]]
    registers = [0] * 16
    registers[RDI] = size
    assert found.facts is not None
    assert min(0, found.facts.agreeing(registers, -1, lambda _address, _size: None, {0: 0})) == expected


def test_what_was_computed_is_where_it_was_put(agree: Callable[..., int]) -> None:
    values = {RDI: 6, RAX: 42, RSI: 10, RDX: (42 + 40 + 1) ^ 42}
    assert agree("computes", "computed", values) == 2
    assert agree("computes", "computed", values | {RAX: 43}) == -1
    assert agree("computes", "computed", values | {RDX: 43}) == -1


@pytest.mark.parametrize(
    ("value", "flags"), [(3, ZERO_FLAG | PARITY), (2, CARRY | SIGN | PARITY), (4, 0), (0x80000003, SIGN | PARITY)]
)
def test_flags_are_those_of_the_last_comparison(agree: Callable[..., int], value: int, flags: int) -> None:
    assert agree("compares", "compared", {RDI: value}, flags=flags) == 1
    for other in (ZERO_FLAG, SIGN, CARRY, PARITY):
        assert agree("compares", "compared", {RDI: value}, flags=flags ^ other) == -1


def test_flags_that_were_not_recorded_contradict_nothing(agree: Callable[..., int]) -> None:
    assert agree("compares", "compared", {RDI: 3}) == 0


def test_a_difference_was_below_zero_where_it_wrapped(agree: Callable[..., int]) -> None:
    assert agree("counts", "less", {RDI: 0xFFFFFFFF}) >= 0
    assert agree("counts", "less", {RDI: 4}) == -1


def test_a_store_to_a_variable_overwrites_no_stack(agree: Callable[..., int]) -> None:
    assert agree("keeps", "kept", {}, {STACK - 4: 7}) == 1
    assert agree("keeps", "kept", {}, {STACK - 4: 8}) == -1


def test_a_call_leaves_its_return_address(agree: Callable[..., int], at: dict[str, int]) -> None:
    assert agree("calls", "inside", {}, {STACK: at["back"]}) == 1
    assert agree("calls", "inside", {}, {STACK: at["back"] + 1}) == -1


def test_a_store_through_another_pointer_may_have_overwritten_all(agree: Callable[..., int]) -> None:
    assert agree("pointers", "written", {RDI: 5, RAX: 6, 4: STACK - 8}, {STACK - 8: 6}) == 1


def test_a_system_call_changes_its_result(values: PathValues, at: dict[str, int]) -> None:
    (found,) = [one for one in ends(values, at["asks"]) if one.address == at["asked"]]
    assert found.facts is None


def test_a_path_goes_on_behind_the_call_it_returned_to(values: PathValues, at: dict[str, int]) -> None:
    found = ends(values, at["inside"], ((0, at["back"]),))
    assert [one.address for one in found] == [at["back"], at["back"] + 1]


def test_ends_are_bounded(values: PathValues, at: dict[str, int]) -> None:
    assert len(ends(values, at["forks"])) == MAX_ENDS


def test_paths_that_do_not_return_are_bounded(program: Path, at: dict[str, int]) -> None:
    images = ImageStore([str(program).encode()], [Identity()])
    paths = ExactPaths(images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)), FlowDecoder())
    asked = []

    def instruction(_image: int, address: int) -> Instruction | None:
        asked.append(address)
        return paths.instruction(address)

    assert ends(PathValues(lambda _image: paths.flows, instruction), at["forks"], ((0, at["back"]),)) == []
    assert len(asked) == MAX_STEPS
