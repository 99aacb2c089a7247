"""Operands and effects of x86-64 instructions; bytes as an assembler makes them, the text beside them."""

import pytest

from undwarf.disasm import NONE, Action, Flow, Instruction, machine_of
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_decoding import decode
from undwarf.disasm.x86_properties import fused

RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)
XMM0 = 17


def one(text: str, address: int = 0x1000) -> Instruction:
    made = decode(bytes.fromhex(text), address)
    assert len(made) == 1
    return made[0]


@pytest.mark.parametrize(
    ("code", "text", "operand"),
    [
        ("8b4708", "mov 8(%rdi),%eax", (RDI, NONE, 1, 8, 4, "r")),
        ("488944d108", "mov %rax,8(%rcx,%rdx,8)", (RCX, RDX, 8, 8, 8, "w")),
        ("83471001", "addl $1,0x10(%rdi)", (RDI, NONE, 1, 16, 4, "rw")),
        ("483b4708", "cmp 8(%rdi),%rax", (RDI, NONE, 1, 8, 8, "r")),
        ("48394708", "cmp %rax,8(%rdi)", (RDI, NONE, 1, 8, 8, "r")),
        ("f0480fb10f", "lock cmpxchg %rcx,(%rdi)", (RDI, NONE, 1, 0, 8, "rw")),
        ("87470c", "xchg %eax,0xc(%rdi)", (RDI, NONE, 1, 12, 4, "rw")),
        ("f20f2a4710", "cvtsi2sd 0x10(%rdi),%xmm0", (RDI, NONE, 1, 16, 4, "r")),
        ("c5fc104720", "vmovups 0x20(%rdi),%ymm0", (RDI, NONE, 1, 32, 32, "r")),
        ("f30f5847fc", "addss -4(%rdi),%xmm0", (RDI, NONE, 1, -4, 4, "r")),
        ("f75f08", "negl 8(%rdi)", (RDI, NONE, 1, 8, 4, "rw")),
        ("488b0500010000", "mov 0x100(%rip),%rax", (NONE, NONE, 1, 0x1107, 8, "r")),
        ("8b048580504000", "mov 0x405080(,%rax,4),%eax", (NONE, RAX, 4, 0x405080, 4, "r")),
    ],
)
def test_explicit_operand(code: str, text: str, operand: tuple[object, ...]) -> None:
    (memory,) = one(code).memory
    got = (memory.base, memory.index, memory.scale, memory.displacement, memory.size, memory.access)
    assert got == operand, text


def test_an_address_relative_to_the_instruction_pointer_is_absolute() -> None:
    assert one("488b0500010000").memory[0].absolute


def test_thread_local_operand_names_its_segment() -> None:
    (memory,) = one("64488b042528000000").memory
    assert (memory.segment, memory.displacement, memory.absolute) == ("fs", 0x28, True)


def test_call_through_memory_reads_the_field_and_pushes_on_the_stack() -> None:
    field, stack = one("ff5008").memory
    assert (field.base, field.displacement, field.access, field.implicit) == (RAX, 8, "r", False)
    assert (stack.base, stack.access, stack.implicit) == (RSP, "w", True)


@pytest.mark.parametrize("code", ["55", "5d", "c3", "c9", "e800000000"])
def test_stack_operations_are_implicit(code: str) -> None:
    assert all(memory.implicit for memory in one(code).memory)


def test_a_push_of_memory_has_both() -> None:
    assert [memory.implicit for memory in one("ff7710").memory] == [False, True]


def test_an_operand_on_the_stack_is_explicit() -> None:
    assert [memory.implicit for memory in one("488b442408").memory] == [False]


def test_string_moves_have_two_operands_and_the_size_of_an_element() -> None:
    operands = one("f348a5").memory
    assert {(memory.base, memory.access) for memory in operands} == {(RDI, "w"), (RSI, "r")}
    assert [memory.element for memory in operands] == [8, 8]
    assert {RDI, RSI, RCX} <= set(one("f348a5").writes)


@pytest.mark.parametrize("code", ["0f1f440000", "488d4708", "0f1807"])
def test_what_accesses_nothing(code: str) -> None:
    assert not [memory for memory in one(code).memory if memory.access]


def test_part_registers_count_as_the_whole() -> None:
    assert one("88e0").writes == (RAX,)  # mov %ah,%al
    assert RAX in one("b001").writes
    assert one("0f28c1").writes == (XMM0,)  # movaps


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("4889f8", (Action.COPY, RAX, RDI, 8)),
        ("89f8", (Action.COPY, RAX, RDI, 4)),
        ("488b07", (Action.LOAD, RAX, NONE, 8)),
        ("4863c7", (Action.EXTEND, RAX, RDI, 4)),
        ("0fb6c0", (Action.EXTEND, RAX, RAX, 1)),
        ("0fb6c4", (Action.OTHER, RAX, NONE, 8)),  # movzbl %ah,%eax
        ("4883c728", (Action.ADD, RDI, RDI, 8)),
        ("480307", (Action.ADD_MEMORY, RAX, RAX, 8)),
        ("48c1e004", (Action.SHIFT_LEFT, RAX, RAX, 8)),
        ("486bc028", (Action.MULTIPLY, RAX, RAX, 8)),
        ("486b470814", (Action.MULTIPLY, RAX, NONE, 8)),
        ("31c0", (Action.CONSTANT, RAX, NONE, 4)),
        ("480f44c1", (Action.SELECT, RAX, RAX, 8)),
        ("66480f6ec0", (Action.COPY, XMM0, RAX, 8)),
        ("f30f6f07", (Action.LOAD_PAIR, XMM0, NONE, 8)),
        ("c5fa6f07", (Action.LOAD_PAIR, XMM0, NONE, 8)),
        ("c5fe6f07", (Action.OTHER, NONE, NONE, 8)),
        ("0f1107", (Action.STORE_PAIR, NONE, XMM0, 8)),
        ("0f28c1", (Action.COPY_PAIR, XMM0, XMM0 + 1, 8)),
        ("0f12c1", (Action.COPY_UPPER, XMM0, XMM0 + 1, 8)),
        ("660f6dc0", (Action.COPY_UPPER, XMM0, XMM0, 8)),
        ("660f6dc1", (Action.OTHER, NONE, NONE, 8)),
        ("660f6cc1", (Action.SET_UPPER, XMM0, XMM0 + 1, 8)),
        ("0f1607", (Action.SET_UPPER, XMM0, NONE, 8)),
        ("55", (Action.PUSH, NONE, RBP, 8)),
        ("5d", (Action.POP, RBP, NONE, 8)),
        ("488d0500010000", (Action.ADDRESS, RAX, NONE, 8)),
        ("0fc8", (Action.OTHER, NONE, NONE, 8)),
        ("f348ab", (Action.REPEAT, NONE, RCX, 8)),
        ("a5", (Action.REPEAT, NONE, NONE, 8)),
        ("f20f1000", (Action.OTHER, NONE, NONE, 8)),
        ("4885d2", (Action.TEST, NONE, RDX, 8)),
        ("85d2", (Action.TEST, NONE, RDX, 4)),
        ("4885d1", (Action.OTHER, NONE, NONE, 8)),
        ("4883f818", (Action.COMPARE, NONE, RAX, 8)),
        ("83f818", (Action.COMPARE, NONE, RAX, 4)),
        ("4839c8", (Action.OTHER, NONE, NONE, 8)),
        ("7402", (Action.IF_ZERO, NONE, NONE, 8)),
        ("0f8500000000", (Action.IF_NOT_ZERO, NONE, NONE, 8)),
        ("0f94c2", (Action.SET_IF_ZERO, NONE, RDX, 1)),
        ("0f95c2", (Action.SET_IF_NOT_ZERO, NONE, RDX, 1)),
        ("0f95c6", (Action.OTHER, NONE, NONE, 8)),
    ],
)
def test_actions(code: str, action: tuple[object, ...]) -> None:
    made = one(code)
    assert (made.action, made.destination, made.left, made.width) == action


@pytest.mark.parametrize(
    ("code", "flow"),
    [
        ("eb10", Flow.JUMP),
        ("7410", Flow.BRANCH),
        ("ffe0", Flow.INDIRECT_JUMP),
        ("e800000000", Flow.CALL),
        ("ff5008", Flow.INDIRECT_CALL),
        ("c3", Flow.RETURN),
        ("0f0b", Flow.STOP),
        ("f4", Flow.STOP),
        ("06", Flow.STOP),
    ],
)
def test_flow(code: str, flow: Flow) -> None:
    assert one(code).flow == flow


def test_branch_targets_are_addresses() -> None:
    assert one("7410").target == 0x1012


def test_a_byte_that_is_no_code_does_not_end_the_decoding() -> None:
    assert [made.flow for made in decode(bytes.fromhex("06c3"), 0)] == [Flow.STOP, Flow.RETURN]


def test_every_byte_is_covered_once() -> None:
    code = bytes(range(256)) * 4
    at = 0x4000
    for made in decode(code, at):
        assert made.address == at
        at = made.next_address
    assert at == 0x4000 + len(code)


def test_text_is_that_of_a_disassembler() -> None:
    assert one("8b4708").text == "mov 8(%rdi),%eax"


def test_compare_and_branch_are_carried_out_as_one() -> None:
    before, branch = decode(bytes.fromhex("483b47087410"), 0)
    assert fused(before, branch)


def test_a_move_and_a_branch_are_not() -> None:
    before, branch = decode(bytes.fromhex("488b47087410"), 0)
    assert not fused(before, branch)


def test_machines_by_elf_number() -> None:
    assert machine_of(62) is MACHINE
    assert machine_of(8) is None
