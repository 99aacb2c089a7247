"""Pointers to one of several members, each computed on its own path."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble, operands_of
from tests.support.types.tracked import RDI

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.sources.type_source import Place, PlaceKind

CHOSEN = "test %esi,%esi; cmove %rdi,%rax; mov (%rax),%rcx; ret"
LATER = "test %esi,%esi; je 1f; {}; 1: mov (%rax),%rcx; ret"


def types_in(fake: Fake, text: str, where: Path) -> tuple[str, tuple[str, ...]]:
    """What the last instruction that accesses anything touches, and what else it may be."""
    code = assemble(text, where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    k = max(
        k for k, made in enumerate(flow.instructions) if any(one.access and not one.implicit for one in made.memory)
    )
    tracker.before(k)
    made = flow.instructions[k]
    operands = operands_of(fake)
    found = operands.resolve(tracker, k, made, 0, made.memory[0])
    return (f"{found.type}.{found.field}" if found.type else "?"), found.candidates


@pytest.mark.parametrize(
    ("text", "expected", "others"),
    [
        (f"lea 24(%rdi),%rax; {LATER.format('mov %rdi,%rax')}", "?", ("struct node.owner", "struct node.next")),
        (f"mov %rdi,%rax; {LATER.format('lea 24(%rdi),%rax')}", "?", ("struct node.next", "struct node.owner")),
        (f"lea 24(%rdi),%rax; {CHOSEN}", "?", ("struct node.owner", "struct node.next")),
        # Copies of what was moved on.
        (f"mov %rdi,%rax; {LATER.format('add $8,%rdi; mov %rdi,%rax')}", "?", ("struct node.next", "struct node.key")),
        # What goes through something, may be anything else, or is a part of a member.
        ("1: lea 24(%rdi),%rdi; mov (%rdi),%rcx; dec %rsi; jne 1b; ret", "?", ()),
        ("mov %rdi,%rax; test %esi,%esi; je 1f; add %rsi,%rax; 1: mov (%rax),%ecx; ret", "?", ()),
        (f"mov %rdi,%rax; {LATER.format('lea 20(%rdi),%rax')}", "?", ()),
        (f"mov %rdi,%rax; {LATER.format('lea 36(%rdi),%rax')}", "?", ()),
        # What is given is not made anywhere.
        ("test %esi,%esi; je 1f; lea 24(%rdi),%rdi; 1: mov (%rdi),%rcx; ret", "?", ()),
    ],
)
def test_a_selected_pointer_is_to_one_of_the_members(
    fake: Fake, tmp_path: Path, text: str, expected: str, others: tuple[str, ...]
) -> None:
    fake.takes((RDI, fake.node))
    assert types_in(fake, text, tmp_path) == (expected, others)


@pytest.mark.parametrize(
    ("text", "expected", "others"),
    [
        (f"lea -32(%rsp),%rax; {LATER.format('lea -8(%rsp),%rax')}", "?", ("struct node.next", "struct node.owner")),
        # Outside of the variable.
        (f"lea -32(%rsp),%rax; {LATER.format('lea -72(%rsp),%rax')}", "?", ()),
    ],
)
def test_a_selected_frame_address_is_of_one_of_the_members(
    fake: Fake, tmp_path: Path, text: str, expected: str, others: tuple[str, ...]
) -> None:
    fake.variables = [Place("n", fake.node, PlaceKind.CFA, -1, -40, 0, 99)]
    assert types_in(fake, text, tmp_path) == (expected, others)
