"""Which of the variables that share a stack slot is accessed."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble, operands_of

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.stack_slot_variables import (
    array_at_zero_index,
    array_ending_at,
    is_extended,
    same_size_variable,
)
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind

RBX, RDI = 3, 5
ENTRY, STORE, END = 0, 4, 8
"""Where two instructions of four bytes, and what follows them, begin."""


def put(fake: Fake, name: str, t: int, low: int, high: int, offset: int = 0) -> None:
    """A variable at 8(%rsp), or so much further."""
    fake.variables.append(Place(name, t, PlaceKind.CFA, -1, offset, low, high))


def at(fake: Fake, text: str, where: Path) -> tuple[str, bool]:
    """The name of the variable that the second instruction of a function accesses at its frame's 8(%rsp); whether what
    is there before may be an extended number."""
    code = assemble(f"nopl (%rax); nop; {text}; ret; .space 9", where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    k = flow.index_of(STORE)
    assert k is not None
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(k)
    operand = flow.instructions[k].memory[0]
    place = tracker.address_of(k, 0)
    assert place is not None
    before = tracker.stack_variable(k, place[4])
    found = same_size_variable(tracker, k, operand, place[4], operand.size, before)
    return found[0].name if found else "", before is not None and is_extended(tracker, k, place[4], before[0])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        # The same place: 8(%rsp) is the call frame address.
        ("mov %eax,8(%rsp)", "counted"),
        # One of another size does not begin here.
        ("mov %al,8(%rsp)", "pointer"),
        # What is read was there before.
        ("mov 8(%rsp),%ecx", "pointer"),
    ],
)
def test_a_variable_has_its_slot_from_its_store_on(fake: Fake, tmp_path: Path, text: str, name: str) -> None:
    put(fake, "pointer", fake.graph.pointer_to(fake.node), ENTRY, END)
    put(fake, "counted", fake.int, END, END + 4)
    assert at(fake, text, tmp_path)[0] == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mov %rbx,8(%rsp); nop", "pointer"),
        # What another register holds, or is of another size, or is read, is no such variable.
        ("mov %r12,8(%rsp); nop", ""),
        ("mov %ebx,8(%rsp); nop", ""),
        ("mov 8(%rsp),%rbx; nop", ""),
    ],
)
def test_a_variable_is_stored_to_its_later_slot(fake: Fake, tmp_path: Path, text: str, name: str) -> None:
    pointer = fake.graph.pointer_to(fake.node)
    fake.variables.append(Place("pointer", pointer, PlaceKind.REGISTER, RBX, 0, ENTRY, END + 4))
    put(fake, "pointer", pointer, END + 4, END + 8)
    put(fake, "other", pointer, END + 4, END + 8)
    assert at(fake, text, tmp_path)[0] == name


def test_a_variable_starts_where_none_was(fake: Fake, tmp_path: Path) -> None:
    put(fake, "counted", fake.int, END, END + 4)
    assert at(fake, "mov %eax,8(%rsp)", tmp_path)[0] == "counted"
    assert at(fake, "mov %ax,8(%rsp); nop", tmp_path)[0] == ""


def test_a_variable_that_is_there_later_only_is_not_stored_yet(fake: Fake, tmp_path: Path) -> None:
    put(fake, "counted", fake.int, END + 1, END + 4)
    assert at(fake, "mov %eax,8(%rsp); nop", tmp_path)[0] == ""
    put(fake, "other", fake.int, END, END + 4)
    assert at(fake, "mov %eax,8(%rsp); nop", tmp_path)[0] == "other"


def test_of_two_variables_in_one_slot_the_size_selects(fake: Fake, tmp_path: Path) -> None:
    put(fake, "whole", fake.long, ENTRY, END)
    put(fake, "part", fake.int, ENTRY, END)
    assert at(fake, "mov 8(%rsp),%eax", tmp_path)[0] == "part"
    assert at(fake, "mov 8(%rsp),%rax", tmp_path)[0] == "whole"


def test_an_integer_may_be_extended_into_free_space(fake: Fake, tmp_path: Path) -> None:
    put(fake, "number", fake.int, ENTRY, END)
    assert at(fake, "mov 8(%rsp),%rax", tmp_path) == ("number", True)
    put(fake, "other", fake.int, ENTRY, END, 4)
    assert at(fake, "mov 8(%rsp),%rax", tmp_path) == ("number", False)


def test_a_floating_point_number_is_not_extended(fake: Fake, tmp_path: Path) -> None:
    put(fake, "number", fake.double, ENTRY, END)
    assert at(fake, "movups 8(%rsp),%xmm0", tmp_path) == ("number", False)


@pytest.mark.parametrize(
    ("begin", "less", "scale", "named", "place"),
    [
        # Two are taken away from what goes up by two, as from the top of a stack of pairs.
        (-64, 1, 8, True, 8),
        (-64, 2, 8, True, 0),
        (-56, 1, 8, True, 16),
        # It is below zero for more than a turn, as where one counts up to the end of what is before.
        (-64, 3, 8, True, None),
        (-64, 0, 8, True, None),
        # Its elements are larger, or no array is there.
        (-64, 1, 2, True, None),
        (-64, 1, 8, False, None),
    ],
)
def test_an_index_from_below_zero_is_into_the_named_array(
    fake: Fake, tmp_path: Path, begin: int, less: int, scale: int, named: bool, place: int | None
) -> None:
    array = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=6))
    put(fake, "before", fake.node, 0, 99, -104)
    if named:
        put(fake, "array", array, 0, 99, -72)
    pairs = "xor %ecx,%ecx; jmp 2f; 1: add $2,%rcx; 2: dec %edi; jg 1b"
    code = assemble(f"{pairs}; lea -{less}(%rcx),%rax; mov {begin}(%rsp,%rax,{scale}),%rdx; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    k = len(flow.instructions) - 2
    tracker.before(k)
    where = tracker.address_of(k, 0)
    assert where is not None
    found = array_at_zero_index(tracker, k, flow.instructions[k].memory[0], where, 8)
    assert (found and (found[0].name, found[1])) == (("array", place) if place is not None else None)


@pytest.mark.parametrize(
    ("begin", "scale", "place"),
    [
        # Behind its last element, from where one counts down; further behind, within, and with larger elements.
        (-64, 8, 40),
        (-56, 8, None),
        (-72, 8, None),
        (-40, 4, None),
    ],
)
def test_an_index_after_an_array_is_into_the_next_variable(
    fake: Fake, tmp_path: Path, begin: int, scale: int, place: int | None
) -> None:
    put(fake, "array", fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=6)), 0, 99, -72)
    code = assemble(f"mov $6,%eax; 1: mov {begin}(%rsp,%rax,{scale}),%rdx; dec %rax; jne 1b; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(1)
    where = tracker.address_of(1, 0)
    assert where is not None
    found = array_ending_at(tracker, 1, where)
    assert (found and (found[0].name, found[1])) == (("array", place) if place is not None else None)


@pytest.mark.parametrize(
    ("text", "high", "said"),
    [
        # Where a store ends what is said, only its value was known to be there.
        ("mov %rcx,24(%rdi); ret", STORE + 4, None),
        ("mov %rcx,24(%rdi); ret", STORE + 5, "struct node*"),
        ("addq $1,24(%rdi); nop; ret", STORE + 5, "struct node*"),
        ("mov 24(%rdi),%rcx; ret", STORE + 4, "struct node*"),
    ],
)
def test_a_store_that_ends_a_variables_range_is_of_another(
    tmp_path: Path, text: str, high: int, said: str | None
) -> None:
    fake = Fake()
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.MEMORY, RDI, 24, ENTRY, high)]
    code = assemble(f"nopl (%rax); nop; {text}", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    k = flow.index_of(STORE)
    assert k is not None
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(k)
    made = flow.instructions[k]
    operands = operands_of(fake)
    assert operands.resolve(tracker, k, made, 0, made.memory[0]).type == said


def test_an_object_is_in_its_slot_where_a_store_ends_its_range(tmp_path: Path) -> None:
    fake = Fake()
    fake.variables = [Place("n", fake.node, PlaceKind.MEMORY, RDI, 0, ENTRY, ENTRY + 4)]
    code = assemble("mov %rcx,24(%rdi); ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(0)
    made = flow.instructions[0]
    operands = operands_of(fake)
    assert operands.resolve(tracker, 0, made, 0, made.memory[0]).type == "struct node"
