"""Accesses through registers whose variable is valid only later."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble
from tests.support.types.tracked import RAX, RBX

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.later_variable_locations import member_of_later_variable
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind

FIRST = "mov 8(%rax),%rcx"
"""Four bytes."""


def types_in(fake: Fake, text: str, where: Path) -> str:
    """What the first instruction touches."""
    code = assemble(text, where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(0)
    operand = flow.instructions[0].memory[0]
    found = member_of_later_variable(tracker, 0, operand, operand.size)
    return f"{fake.graph.name(found.type)}.{found.field.path}" if found is not None else "?"


def said(fake: Fake, register: int, low: int, high: int = 99, t: int = 0) -> None:
    fake.variables.append(Place("p", fake.graph.pointer_to(t or fake.node), PlaceKind.REGISTER, register, 0, low, high))


@pytest.mark.parametrize(
    ("text", "register", "low", "expected"),
    [
        (f"{FIRST}; nop; nop; ret", RAX, 5, "node.key"),
        (f"{FIRST}; mov %rax,%rbx; xor %eax,%eax; ret", RBX, 7, "node.key"),
        # Something else is there by then.
        (f"{FIRST}; xor %eax,%eax; nop; ret", RAX, 6, "?"),
        (f"{FIRST}; mov %eax,%ebx; nop; ret", RBX, 6, "?"),
        (f"{FIRST}; call *%rdx; nop; ret", RAX, 6, "?"),
        ("mov 8(%rax),%rax; nop; ret", RAX, 4, "?"),
        # What is far away is not looked at.
        (f"{FIRST}; .rept 80; nop; .endr; ret", RAX, 80, "?"),
        # No member, but a part of one, an index, and what is behind it.
        ("mov 12(%rax),%ecx; nop; nop; ret", RAX, 4, "?"),
        ("mov 8(%rax,%rdx),%rcx; nop; nop; ret", RAX, 6, "?"),
        ("mov 32(%rax),%rcx; nop; nop; ret", RAX, 5, "?"),
        # Several members at once.
        ("movups %xmm0,(%rax); nop; nop; ret", RAX, 4, "node.next"),
    ],
)
def test_a_register_has_a_later_variables_type_until_it_is_overwritten(
    fake: Fake, tmp_path: Path, text: str, register: int, low: int, expected: str
) -> None:
    said(fake, register, low)
    assert types_in(fake, text, tmp_path) == expected


def test_a_variable_after_a_join_may_be_of_the_other_path(fake: Fake, tmp_path: Path) -> None:
    said(fake, RAX, 6)
    assert types_in(fake, f"{FIRST}; nop; 1: nop; dec %rcx; jne 1b; ret", tmp_path) == "?"
    assert types_in(fake, f"{FIRST}; nop; nop; 1: nop; dec %rcx; ret", tmp_path) == "node.key"


@pytest.mark.parametrize(("other", "expected"), [("node", "node.key"), ("item", "?")])
def test_paths_with_different_variables_are_no_evidence(fake: Fake, tmp_path: Path, other: str, expected: str) -> None:
    """On one path the variable is valid from its start, on the other one a byte later."""
    said(fake, RAX, 10, 11)
    said(fake, RAX, 12, 99, getattr(fake, other))
    assert types_in(fake, f"{FIRST}; test %rcx,%rcx; je 1f; nop; ret; 1: nop; ret", tmp_path) == expected


def test_a_variable_on_one_of_the_paths_is_enough(fake: Fake, tmp_path: Path) -> None:
    said(fake, RAX, 12)
    assert types_in(fake, f"{FIRST}; test %rcx,%rcx; je 1f; nop; ret; 1: nop; ret", tmp_path) == "node.key"


def test_a_register_holds_the_same_after_all_paths_join(fake: Fake, tmp_path: Path) -> None:
    text = f"{FIRST}; test %rdx,%rdx; je 1f; test %rsi,%rsi; je 1f; {{}}; nop; 1: nop; ret"
    said(fake, RAX, 17)
    assert types_in(fake, text.format("xor %edx,%edx"), tmp_path) == "node.key"
    # Something else is there on one of them.
    assert types_in(fake, text.format("xor %eax,%eax"), tmp_path) == "?"


@pytest.mark.parametrize(
    ("further", "low", "expected"),
    [
        ("lea 1(%rax),%rbx", 7, "char."),
        ("mov %rax,%rbx; add $3,%rbx", 10, "char."),
        ("mov %rax,%rbx; sub $3,%rbx", 10, "char."),
        ("lea 1(%rax,%rdx),%rbx", 8, "?"),
        ("mov %rax,%rbx; add %rdx,%rbx", 9, "?"),
        ("lea 1(%rax),%ebx", 6, "?"),
        ("mov %rax,%rbx; add $3,%ebx", 9, "?"),
    ],
)
def test_text_extends_a_few_characters_before_a_variable(
    fake: Fake, tmp_path: Path, further: str, low: int, expected: str
) -> None:
    said(fake, RBX, low, t=fake.graph.add(TypeRecord(Kind.INT, "char", 1)))
    assert types_in(fake, f"movzbl (%rax),%ecx; {further}; nop; ret", tmp_path) == expected


def test_an_object_is_not_where_a_variable_points_to_the_next(fake: Fake, tmp_path: Path) -> None:
    said(fake, RBX, 8)
    assert types_in(fake, f"{FIRST}; lea (%rax),%rbx; nop; nop; ret", tmp_path) == "node.key"
    assert types_in(fake, f"{FIRST}; lea 24(%rax),%rbx; nop; ret", tmp_path) == "?"


@pytest.mark.parametrize(
    ("text", "low", "expected"),
    [
        (f"{FIRST}; mov %rax,-16(%rsp); nop; ret", 9, "node.key"),
        # The variable has its place before, or only later; a part of it is stored, something else, and elsewhere.
        (f"{FIRST}; mov %rax,-16(%rsp); nop; ret", 4, "?"),
        (f"{FIRST}; mov %rax,-16(%rsp); nop; ret", 10, "?"),
        (f"{FIRST}; nop; mov %eax,-16(%rsp); ret", 9, "?"),
        (f"{FIRST}; mov %rdx,-16(%rsp); nop; ret", 9, "?"),
        (f"{FIRST}; mov %rax,-24(%rsp); nop; ret", 9, "?"),
        (f"{FIRST}; mov %rax,-16(%rdx); nop; ret", 8, "?"),
    ],
)
def test_a_variable_a_pointer_is_stored_in_gives_its_pointee(
    fake: Fake, tmp_path: Path, text: str, low: int, expected: str
) -> None:
    fake.variables.append(Place("p", fake.graph.pointer_to(fake.node), PlaceKind.CFA, 7, -24, low, 99))
    assert types_in(fake, text, tmp_path) == expected
