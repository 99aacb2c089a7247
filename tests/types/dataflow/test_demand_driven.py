"""A data flow of the queried instructions only gives what that of the whole function does."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.sources.type_source import Place, PlaceKind

RDI = 5

CODE = """
    mov %rdi,%rbx; xor %ecx,%ecx
1:  mov (%rbx),%rax; test %rax,%rax; je 2f
    mov %rax,8(%rsp); lea (%rbx,%rcx,8),%rdx; mov 8(%rdx),%rsi; inc %rcx; cmp $9,%rcx; jne 1b
    mov 24(%rbx),%rdi; jmp 4f
2:  mov 24(%rbx),%r8; mov 8(%r8),%r9; jrcxz 3f
    mov (%rbx),%rbx; mov 8(%rsp),%rax; mov (%rax),%rdx; ret
3:  mov 32(%r8),%rdx; mov (%rdx),%rax; ret
4:  mov 8(%rdi),%eax; lea 8(%rsp),%rsi; call 5f; mov 8(%rsp),%rax; mov (%rax),%rdx
5:  ret
"""


@pytest.fixture
def fake() -> Fake:
    made = Fake()
    made.variables.append(Place("n", made.graph.pointer_to(made.node), PlaceKind.REGISTER, RDI, 0, 0, 3, 0, 0))
    return made


def addresses(tracker: Tracker, k: int) -> list[Value | None]:
    tracker.before(k)
    return [tracker.address_of(k, n) for n in range(len(tracker.flow.instructions[k].memory))]


def test_a_partial_data_flow_gives_the_addresses_of_the_whole(fake: Fake, tmp_path: Path) -> None:
    code = assemble(CODE, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    whole = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    expected = [addresses(whole, k) for k in range(len(flow.instructions))]
    assert sum(value is not None for one in expected for value in one) > 12
    left_out = 0
    for wanted in range(len(flow.instructions)):
        tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code), wanted=[wanted])
        assert addresses(tracker, wanted) == expected[wanted]
        left_out += sum(not tracker.is_followed(k) for k in range(len(flow.instructions)))
        # What nobody said would be asked for is followed then.
        assert [addresses(tracker, k) for k in range(len(flow.instructions))] == expected
        assert all(tracker.is_followed(k) for k in range(len(flow.instructions)))
    assert left_out > len(flow.instructions) * 5


def test_without_variables_the_whole_function_is_followed(tmp_path: Path) -> None:
    code = assemble(CODE, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(Fake(), MACHINE), flow, 0, len(code), wanted=[0])
    assert sum(tracker.is_followed(k) for k in range(len(flow.instructions))) == len(flow.instructions) > 20


def test_a_question_about_all_uses_follows_the_whole_function(fake: Fake, tmp_path: Path) -> None:
    code = assemble("mov %rdi,%rbx; jrcxz 1f; ret; 1: mov 32(%rbx),%eax; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code), wanted=[0])
    assert not tracker.is_followed(3)
    assert not tracker.crosses_ends(fake.node)
    assert tracker.is_followed(3)
    crossing = assemble("mov %rdi,%rbx; jrcxz 1f; ret; 1: mov 62(%rbx),%eax; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(crossing, 0), MACHINE)
    assert Tracker(ProgramContext(fake, MACHINE), flow, 0, len(crossing), wanted=[0]).crosses_ends(fake.node)
