"""Which of the variables that share a place in the frame is accessed there."""

from pathlib import Path

import pytest
from fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.sources.places import Place, PlaceKind
from undwarf.types.uses.homes import is_extended, just_as_large

RBX = 3
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
    tracker = Tracker(Program(fake, MACHINE), flow, 0, len(code))
    tracker.before(k)
    operand = flow.instructions[k].memory[0]
    place = tracker.address_of(k, 0)
    assert place is not None
    before = tracker.stack_variable(k, place[4])
    found = just_as_large(tracker, k, operand, place[4], operand.size, before)
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
def test_from_a_store_on_a_variable_has_its_place(fake: Fake, tmp_path: Path, text: str, name: str) -> None:
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
def test_a_variable_is_stored_where_it_is_later(fake: Fake, tmp_path: Path, text: str, name: str) -> None:
    pointer = fake.graph.pointer_to(fake.node)
    fake.variables.append(Place("pointer", pointer, PlaceKind.REGISTER, RBX, 0, ENTRY, END + 4))
    put(fake, "pointer", pointer, END + 4, END + 8)
    put(fake, "other", pointer, END + 4, END + 8)
    assert at(fake, text, tmp_path)[0] == name


def test_a_variable_begins_where_none_was(fake: Fake, tmp_path: Path) -> None:
    put(fake, "counted", fake.int, END, END + 4)
    assert at(fake, "mov %eax,8(%rsp)", tmp_path)[0] == "counted"
    assert at(fake, "mov %ax,8(%rsp); nop", tmp_path)[0] == ""


def test_a_variable_that_is_there_later_only_is_not_stored_yet(fake: Fake, tmp_path: Path) -> None:
    put(fake, "counted", fake.int, END + 1, END + 4)
    assert at(fake, "mov %eax,8(%rsp); nop", tmp_path)[0] == ""


def test_of_two_that_are_read_at_once_the_one_of_the_size_is_meant(fake: Fake, tmp_path: Path) -> None:
    put(fake, "whole", fake.long, ENTRY, END)
    put(fake, "part", fake.int, ENTRY, END)
    assert at(fake, "mov 8(%rsp),%eax", tmp_path)[0] == "part"
    assert at(fake, "mov 8(%rsp),%rax", tmp_path)[0] == "whole"


def test_a_number_may_be_kept_as_a_larger_one_where_nothing_is_behind_it(fake: Fake, tmp_path: Path) -> None:
    put(fake, "number", fake.int, ENTRY, END)
    assert at(fake, "mov 8(%rsp),%rax", tmp_path) == ("number", True)
    put(fake, "other", fake.int, ENTRY, END, 4)
    assert at(fake, "mov 8(%rsp),%rax", tmp_path) == ("number", False)


def test_a_number_with_a_point_is_not_extended(fake: Fake, tmp_path: Path) -> None:
    put(fake, "number", fake.double, ENTRY, END)
    assert at(fake, "movups 8(%rsp),%xmm0", tmp_path) == ("number", False)
