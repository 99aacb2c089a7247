"""Values in stack slots that are no variables."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble, operands_of

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.spill_types import spilled_type
from undwarf.types.sources.type_source import Place, PlaceKind

RDI = 5


def kept(fake: Fake, text: str, where: Path) -> list[str]:
    """The type of each spilled value, operand by operand."""
    code = assemble(text, where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    found = []
    for k in range(len(flow.instructions)):
        made = flow.instructions[k]
        for operand in made.memory:
            if operand.access and not operand.implicit:
                tracker.before(k)
                found.append(spilled_type(tracker, k, made, operand, operand.size))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mov %rdi,8(%rsp); xor %edi,%edi; mov 8(%rsp),%rax; ret", ["struct node*", "struct node*"]),
        # At the end of a block nothing holds behind the load but what variables say.
        ("mov %rdi,8(%rsp); mov 8(%rsp),%rax; 1: dec %rcx; jne 1b; ret", ["struct node*", ""]),
        # Parts of an address, numbers, and addresses inside of an object have no type of their own.
        ("mov %edi,8(%rsp); mov 8(%rsp),%eax; ret", ["", ""]),
        ("mov %rcx,8(%rsp); mov 8(%rsp),%rax; ret", ["", ""]),
        ("add $8,%rdi; mov %rdi,8(%rsp); ret", [""]),
        ("movq $1,8(%rsp); incq 8(%rsp); ret", ["", ""]),
    ],
)
def test_a_spilled_pointer_has_its_type(fake: Fake, tmp_path: Path, text: str, expected: list[str]) -> None:
    fake.takes((RDI, fake.node))
    assert kept(fake, text, tmp_path) == expected


def test_the_variable_in_a_spilled_register_counts_first(fake: Fake, tmp_path: Path) -> None:
    pointer = fake.graph.pointer_to(fake.item)
    fake.variables.append(Place("one", pointer, PlaceKind.REGISTER, RDI, 0, 0, 5))
    assert kept(fake, "mov %rdi,8(%rsp); xor %edi,%edi; mov %rdi,8(%rsp); ret", tmp_path) == ["struct item*", ""]


def test_a_stack_probe_accesses_no_variable(fake: Fake, tmp_path: Path) -> None:
    fake.variables = [Place("room", fake.table, PlaceKind.CFA, -1, -72, 0, 99)]
    operands = operands_of(fake)
    code = assemble("orq $0,-8(%rsp); lock orq $0,-8(%rsp); lock addl $0,-8(%rsp); orq $1,-8(%rsp); ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    found = []
    for k in range(4):
        tracker.before(k)
        made = flow.instructions[k]
        found.append(operands.resolve(tracker, k, made, 0, made.memory[0]))
    assert [one.how for one in found] == ["spill", "spill", "spill", "variable"]
    assert [one.type for one in found] == [None, None, None, "struct table"]
