"""Edges that instructions do not show (static branches, fixups), and frames that do not start with the function."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.kernel_control_flow import KernelControlFlow
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.open_resolver import open_resolver
from undwarf.types.sources.relocatable_objects import as_linked

RSP, RDI, RBX = 7, 5, 3

WARNS = "test %eax,%eax; jne 1f; ret; 1: ud2; mov 8(%rdi),%rax; ret"
BRANCHES = "nop; ret; mov 8(%rdi),%rax; ret"


def flow_of(text: str, folder: Path, further: tuple[tuple[int, int], ...] = (), *, warns: bool = False) -> FunctionFlow:
    return FunctionFlow(MACHINE.listing(assemble(text, folder), 0), MACHINE, further=further, warns=warns)


def last_address(flow: FunctionFlow, fake: Fake, rule: tuple[int, int] | None = None) -> Value | None:
    """Where the memory operand of the last instruction but one is."""
    program = ProgramContext(fake, MACHINE, frame_rules=lambda pcs: [rule for _pc in pcs])
    tracker = Tracker(program, flow, 0, flow.instructions.offsets[-1] + 1)
    k = len(flow.instructions) - 2
    tracker.before(k)
    return tracker.address_of(k, 0)


@pytest.mark.parametrize("warns", [False, True])
def test_a_kernels_warning_falls_through(tmp_path: Path, warns: bool) -> None:
    fake = Fake()
    fake.takes((RDI, fake.node))
    found = last_address(flow_of(WARNS, tmp_path, warns=warns), fake)
    assert (found is not None and found[:2] == (OBJECT, fake.node)) == warns


def test_a_jump_target_does_not_follow_an_undefined_instruction(tmp_path: Path) -> None:
    flow = flow_of("test %eax,%eax; jne 1f; ud2; 1: mov 8(%rdi),%rax; ret", tmp_path, warns=True)
    assert [flow.blocks.predecessors(n) for n in range(len(flow.blocks))] == [[], [0], [0]]


@pytest.mark.parametrize("further", [(), ((0, 2),)])
def test_a_nop_of_a_static_branch_may_jump(tmp_path: Path, further: tuple[tuple[int, int], ...]) -> None:
    fake = Fake()
    fake.takes((RDI, fake.node))
    found = last_address(flow_of(BRANCHES, tmp_path, further), fake)
    assert (found is not None and found[:2] == (OBJECT, fake.node)) == bool(further)


def test_edges_need_an_instruction_at_both_ends(tmp_path: Path) -> None:
    flow = flow_of(BRANCHES, tmp_path, ((0, 3), (1 << 62, 2), (-5, 2)))
    assert [flow.blocks.successors(n) for n in range(len(flow.blocks))] == [[], []]


def test_unreachable_code_changes_nothing(tmp_path: Path) -> None:
    fake = Fake()
    fake.takes((RDI, fake.node))
    found = last_address(flow_of("jmp 1f; xor %edi,%edi; 1: mov 8(%rdi),%rax; ret", tmp_path), fake)
    assert found is not None and found[:2] == (OBJECT, fake.node)


def test_slots_below_an_aligned_stack_pointer_are_known(tmp_path: Path) -> None:
    fake = Fake()
    fake.takes((RDI, fake.node))
    code = (
        "push %rbp; mov %rsp,%rbp; and $-64,%rsp; sub $64,%rsp; mov %rdi,8(%rsp); xor %edi,%edi;"
        "mov 8(%rsp),%rbx; leave; mov (%rsp),%rax; mov 8(%rbx),%rax; ret"
    )
    found = last_address(flow_of(code, tmp_path), fake)
    assert found is not None and found[:2] == (OBJECT, fake.node)


def test_the_old_frame_is_known_after_an_aligned_one(tmp_path: Path) -> None:
    code = "push %rbp; mov %rsp,%rbp; and $-64,%rsp; mov %rdi,8(%rsp); leave; mov (%rsp),%rax; ret"
    assert last_address(flow_of(code, tmp_path), Fake()) == (FRAME, 0, 0, 0, -8)


def test_a_split_function_starts_with_its_unwind_rules_frame(tmp_path: Path) -> None:
    flow = flow_of("mov 8(%rsp),%rax; ret", tmp_path)
    assert last_address(flow, Fake(), (RSP, 48)) == (FRAME, 0, 0, 0, -40)


def test_a_pointer_steps_through_the_array_at_the_end_of_an_object(tmp_path: Path) -> None:
    fake = Fake()
    graph = fake.graph
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.link, count=-1))
    members = (fake.member("count", 0, 8, fake.long), fake.member("of", 8, 0, items))
    whole = graph.add(TypeRecord(Kind.STRUCT, "list", 8, keyword="struct", members=members))
    found = locate(graph, whole, 16, 8, 8)
    assert isinstance(found, ResolvedMember) and (found.offset, found.field.path) == (8, "of[].next")


def either(fake: Fake) -> int:
    """A structure with a union of pointers to a node and to an item."""
    graph = fake.graph
    pointers = tuple(fake.member(name, 0, 8, graph.pointer_to(t)) for name, t in (("n", fake.node), ("i", fake.item)))
    union = graph.add(TypeRecord(Kind.UNION, size=8, keyword="union", members=pointers))
    return graph.add(TypeRecord(Kind.STRUCT, "box", 8, keyword="struct", members=(fake.member("", 0, 8, union),)))


@pytest.mark.parametrize(("access", "field"), [("movl 4(%rax),%ecx", "flags"), ("movl 16(%rax),%ecx", "hits")])
def test_the_use_of_a_unions_pointer_selects_its_member(tmp_path: Path, access: str, field: str) -> None:
    fake = Fake()
    fake.takes((RDI, either(fake)))
    found = last_address(flow_of(f"mov (%rdi),%rax; {access}; ret", tmp_path), fake)
    assert found is not None
    located = locate(fake.graph, found[1], found[2], found[4], 4)
    assert isinstance(located, ResolvedMember) and located.field.path == field


def test_an_access_that_all_union_pointers_allow_is_ambiguous(tmp_path: Path) -> None:
    fake = Fake()
    fake.takes((RDI, either(fake)))
    found = last_address(flow_of("mov (%rdi),%rax; mov 32(%rax),%rcx; ret", tmp_path), fake)
    assert found is not None
    assert isinstance(locate(fake.graph, found[1], 0, 32, 8), ResolvedMember)
    assert locate(fake.graph, found[1], 0, 24, 8) == "ambiguous type"
    assert locate(fake.graph, found[1], 8, 4, 4) == "ambiguous type"


TAGGED = "mov (%rdi),%rax; test $1,%al; jne 1f; mov %rdi,%rax; jmp 2f; 1: sub ${},%rax; 2: mov 8(%rax),%rcx; ret"


@pytest.mark.parametrize(("flags", "known"), [(1, True), (8, False)])
def test_a_tagged_pointer_points_to_its_object(tmp_path: Path, flags: int, known: bool) -> None:
    # As a page to the first of several, by `compound_head` in a union with pointers.
    fake = Fake()
    graph = fake.graph
    members = (fake.member("", 0, 8, either(fake)), fake.member("count", 8, 8, fake.long))
    page = graph.add(TypeRecord(Kind.STRUCT, "page", 16, keyword="struct", members=members))
    fake.takes((RDI, page))
    found = last_address(flow_of(TAGGED.format(flags), tmp_path), fake)
    assert (found is not None and found[:2] == (OBJECT, page)) == known


TABLES = """
.text
f: nop
   ret
g: mov (%rdi),%rax
   ret
h: xor %eax,%eax
   ret
.section __jump_table,"aw"
1: .long f - ., g - ., 0, 0
.section __ex_table,"a"
2: .long g - ., h - ., 0
.byte 1,2,3
"""


def test_edges_are_read_from_a_modules_tables(tmp_path: Path) -> None:
    assemble(TABLES, tmp_path)
    elf = as_linked(ElfFile.open(tmp_path / "code.o"))
    text = elf.section(".text")
    assert text is not None
    at = text.address
    ways = KernelControlFlow(elf, None)
    assert ways.between(at, at + 100) == [(at, at + 2), (at + 2, at + 6)]
    assert ways.between(at + 1, at + 100) == [(at + 2, at + 6)]
    assert ways.between(at, at) == []


def test_a_file_without_tables_has_no_extra_edges(tmp_path: Path) -> None:
    assemble("ret", tmp_path)
    assert KernelControlFlow(ElfFile.open(tmp_path / "code.o"), None).between(0, 1 << 63) == []


def test_no_part_of_an_address_is_written_to_a_pointer_on_the_stack(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (tmp_path / "code.c").write_text(
        "struct node { int key; } *volatile kept;\n"
        'int f(struct node *n) { struct node *volatile here = n; asm volatile("movl $1, %0" : "=m" (*(int *)&here));'
        " kept = here; return 0; }\nint main(void) { return f(0); }\n"
    )
    made = tmp_path / "code"
    subprocess.run(["gcc", "-g", "-O1", "-o", made, tmp_path / "code.c"], check=True, capture_output=True)
    elf = ElfFile.open(made)
    if elf.machine != 62:
        pytest.skip("gcc builds for another machine")
    symbols = symbols_of_elf(elf)
    resolver = open_resolver(elf)
    assert symbols is not None and resolver is not None
    at = symbols.address_of_name(b"f")
    assert at is not None
    place = resolver.instruction(at)
    assert place is not None
    found = [resolver.at(place[0].address_of(k))[0] for k in range(len(place[0]))]
    assert [one.how for one in found if one.insn.startswith("movl $1")] == ["spill"]
    assert [one.type for one in found if one.access == "w" and one.size == 8 and one.how == "variable"] == [
        "struct node*"
    ]
