"""What variables on the stack are, told by what goes into them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.flow import FunctionFlow
from undwarf.types.places import Prototype
from undwarf.types.program import Program
from undwarf.types.slots import SlotTypes
from undwarf.types.tracking import Tracker

RDI, RSI, RBP = 5, 4, 6
FRAME = "push %rbp\n mov %rsp, %rbp\n"
END = "\n pop %rbp\n ret"

Slots = Callable[..., str]


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def slot(fake: Fake, tmp_path: Path) -> Slots:
    """The type of the variable at an offset from the frame pointer."""

    def run(
        text: str, offset: int, size: int = 8, *, arguments: tuple[tuple[int, int], ...] = (), returns: int = 0
    ) -> str:
        fake.prototypes[0] = Prototype(
            "f", returns, tuple(("", t) for _register, t in arguments), 0,
            arguments=tuple((register, t, 0) for register, t in arguments),
        )  # fmt: skip
        code = assemble(FRAME + text + END, tmp_path)
        flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
        tracker = Tracker(Program(fake, MACHINE), flow, 0, len(code))
        found = SlotTypes(tracker, fake.prototypes[0]).at(offset - 16, size, RBP)
        return fake.graph.canonical_name(found[0]) + (f"+{found[1]}" if found[1] else "") if found else "?"

    return run


def test_a_parameter_is_stored_first(fake: Fake, slot: Slots) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    text = "mov %rdi, -24(%rbp)\n mov %rsi, -32(%rbp)\n mov -24(%rbp), %rax"
    assert slot(text, -24, arguments=((RDI, to_node), (RSI, fake.long))) == "struct node*"
    assert slot(text, -32, arguments=((RDI, to_node), (RSI, fake.long))) == "long int"


def test_a_register_that_was_used_is_no_parameter(fake: Fake, slot: Slots) -> None:
    assert slot("xor %edi, %edi\n mov %rdi, -24(%rbp)", -24, arguments=((RDI, fake.long),)) == "?"


def test_a_pointer_that_was_loaded_says_what_it_leads_to(fake: Fake, slot: Slots) -> None:
    text = "mov 24(%rdi), %rax\n mov %rax, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, fake.graph.pointer_to(fake.node)),)) == "struct item*"


def test_the_address_of_a_whole_may_be_that_of_its_first_member(fake: Fake, slot: Slots) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    to_pointer = fake.graph.pointer_to(to_node)
    text = "mov %rsi, -8(%rbp)\n mov %rdi, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, to_node), (RSI, to_pointer))) == "?"
    text = "mov %rsi, -24(%rbp)\n mov -24(%rbp), %rax\n mov %rax, -8(%rbp)\n mov (%rax), %rax\n mov %rax, -8(%rbp)"
    assert slot(text, -8, arguments=((RSI, to_pointer),)) == "struct node**"


def test_what_is_returned_has_the_type_of_the_function(fake: Fake, slot: Slots) -> None:
    assert slot("movq $0, -8(%rbp)\n mov -8(%rbp), %rax", -8, returns=fake.long) == "long int"


def test_floating_point_numbers_and_comparisons_with_sign(fake: Fake, slot: Slots) -> None:
    assert slot("movsd %xmm0, -8(%rbp)", -8) == "double"
    assert slot("cmpl $3, -4(%rbp)\n jl 1f\n nop\n 1: nop", -4, 4) == "int"
    assert slot("cmpl $3, -4(%rbp)\n jb 1f\n nop\n 1: nop", -4, 4) == "?"


def test_two_things_told_are_none(fake: Fake, slot: Slots) -> None:
    to_item = fake.graph.pointer_to(fake.item)
    text = "mov %rdi, -8(%rbp)\n mov %rsi, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, to_item), (RSI, fake.long))) == "?"


def test_an_object_whose_address_is_passed(fake: Fake, slot: Slots, tmp_path: Path) -> None:
    code = "lea -48(%rbp), %rdi\n call 1f\n jmp 2f\n 1: ret\n 2: nop"
    at = len(assemble(FRAME + "lea -48(%rbp), %rdi\n call 1f\n 1:", tmp_path)) + 2
    fake.takes((RDI, fake.item), at=at)
    assert slot(code, -48 + 8) == "struct item+8"
