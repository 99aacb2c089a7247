"""Accesses through pointers to different types on different paths."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble
from tests.support.types.tracked import RDI

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.phi_pointees import member_of_phi_pointee
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind

WAYS = "test %rdx,%rdx; je 1f; {}; jmp 2f; 1: {}; 2: {}; ret"


def types_in(fake: Fake, text: str, where: Path, t: int = 0) -> str:
    """What the last instruction but the return accesses; %rdi points to a `node`, or to another type."""
    to = fake.graph.pointer_to(t or fake.node)
    fake.variables.append(Place("p", to, PlaceKind.REGISTER, RDI, 0, 0, 1))
    code = assemble(text, where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    k = len(flow.instructions) - 2
    tracker.before(k)
    operand = flow.instructions[k].memory[0]
    found = member_of_phi_pointee(tracker, k, operand, operand.size)
    return f"{fake.graph.name(found.type)}.{found.field.path}" if found is not None else "?"


@pytest.mark.parametrize(
    ("first", "second", "access", "expected"),
    [
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 16(%rax),%ecx", "node.hits"),
        ("mov 24(%rdi),%rax", "mov (%rdi),%rax", "mov (%rax),%ecx", "item.id"),
        ("mov 24(%rdi),%rcx; mov %rcx,%rax", "mov %rdi,%rax", "mov 16(%rax),%ecx", "node.hits"),
        # Both have such a member, none has, or one has a part of one.
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 8(%rax),%rcx", "?"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 18(%rax),%cx", "?"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 8(%rax),%ecx", "?"),
        # Nothing is no way.
        ("mov (%rdi),%rax; test %rax,%rax; jne 2f; xor %eax,%eax", "mov 24(%rdi),%rax", "mov (%rax),%ecx", "item.id"),
        # Anything comes along one of them.
        ("mov (%rdi),%rax", "mov %r8,%rax", "mov 16(%rax),%ecx", "?"),
        ("mov (%rdi),%rax", "mov (%r8),%rax", "mov 16(%rax),%ecx", "?"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%eax", "mov 16(%rax),%ecx", "?"),
        ("mov (%rdi),%rax", "mov $4096,%eax", "mov 16(%rax),%ecx", "?"),
        ("mov (%rdi),%rax", "lea 8(%rdi),%rax", "mov 16(%rax),%ecx", "?"),
        ("mov 24(%rdi),%rax", "call *%r8", "mov 16(%rax),%ecx", "?"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 16(%rax,%rdx),%ecx", "?"),
        # The owner of an item, as a node has nothing there; a node's owner, as that of an item is no pointer.
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 32(%rax),%rax; mov 16(%rax),%ecx", "node.hits"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 24(%rax),%rax; mov (%rax),%ecx", "item.id"),
        ("mov (%rdi),%rax", "mov 24(%rdi),%rax", "mov 40(%rax),%rax; mov (%rax),%ecx", "?"),
    ],
)
def test_of_joined_types_the_only_one_with_the_member_counts(
    fake: Fake, tmp_path: Path, first: str, second: str, access: str, expected: str
) -> None:
    assert types_in(fake, WAYS.format(first, second, access), tmp_path) == expected


def test_a_load_after_a_join_is_one_of_the_members(fake: Fake, tmp_path: Path) -> None:
    """As `pair->list->size` and `list->size`, of which the second load is one."""
    graph = fake.graph
    room = graph.add(
        TypeRecord(Kind.STRUCT, "room", 16, keyword="struct", members=(
            fake.member("n", 0, 8, fake.long), fake.member("of", 8, 8, graph.pointer_to(fake.item)),
        ))
    )  # fmt: skip  # rows of fields
    either = graph.add(
        TypeRecord(
            Kind.UNION,
            "",
            8,
            members=(
                fake.member("room", 0, 8, graph.pointer_to(room)),
                fake.member("node", 0, 8, graph.pointer_to(fake.node)),
            ),
        )
    )
    pair = graph.add(
        TypeRecord(Kind.STRUCT, "pair", 16, keyword="struct", members=(
            fake.member("kind", 0, 8, fake.long), fake.member("u", 8, 8, either),
        ))
    )  # fmt: skip  # rows of fields
    ways = WAYS.format("mov %rdi,%rax", "mov 8(%rdi),%rax", "mov 8(%rax),%rax; {}")
    # `pair.u` leads to a `room` or a `node`, `room.of` to an `item`; `node.key` leads nowhere.
    assert types_in(fake, ways.format("mov (%rax),%ecx"), tmp_path, pair) == "item.id"
    assert types_in(fake, ways.format("mov 16(%rax),%ecx"), tmp_path, pair) == "node.hits"
    assert types_in(fake, ways.format("mov 8(%rax),%rcx"), tmp_path, pair) == "?"
