"""Indexed memory operands: into which array they are, and which member of an element."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble, in_union
from tests.support.types.tracked import RAX, RBX, RCX, RDI, RDX, RSI, Touched

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.member_access import common_pointee_of_base_and_index
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, Member, TypeRecord
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind


def test_a_stride_is_that_of_an_array(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "movslq %esi,%rsi; shl $5,%rsi; mov 16(%rdi,%rsi),%eax; 1: add $32,%rdi; mov -24(%rdi),%rdx; jne 1b; ret"
    assert touched(text) == ["node.hits", "node.key"]


def test_an_index_may_be_scaled_in_several_instructions(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    text = "movslq %esi,%rdx; mov %rdx,%rax; shl $2,%rax; add %rdx,%rax; shl $3,%rax; add %rdi,%rax; mov 24(%rax),%rax"
    assert touched(text) == ["item.value"]


def test_a_stride_of_no_array_is_unknown(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov (%rdi,%rsi),%rax; mov (%rdi,%rsi,8),%rax; ret") == ["?", "?"]
    assert touched("shl $5,%rsi; mov (%rdi,%rsi),%rax; ret") == ["node.next"]


def test_an_index_is_into_an_array_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    assert touched("mov 8(%rdi,%rsi,8),%rax; mov (%rdi),%rax; ret") == ["table.of[]", "table.n"]


def test_a_one_based_index_is_into_an_array_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    assert touched("mov 0(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]


@pytest.mark.parametrize("moved", ["lea 2(%rsi,%rdx),%rdx", "add %rsi,%rdx; add $2,%rdx"])
def test_a_constant_added_to_an_index_selects_a_later_array(fake: Fake, touched: Touched, moved: str) -> None:
    graph, member = fake.graph, fake.member
    low, high = (graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=count)) for count in (2, 6))
    members = (member("n", 0, 8, fake.long), member("low", 8, 16, low), member("high", 24, 48, high))
    rows = graph.add(TypeRecord(Kind.STRUCT, "rows", 72, keyword="struct", members=members))
    fake.takes((RDI, rows))
    text = f"movslq %esi,%rsi; movslq %edx,%rdx; lea (%rdx,%rdx,2),%rdx; {moved}; mov 8(%rdi,%rdx,8),%rax; ret"
    assert touched(text) == ["rows.high[]"]


def test_the_end_of_an_array_member_is_the_next_member(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    # As of std::less in a tree of C++: no room for anything.
    empty = graph.add(TypeRecord(Kind.CLASS, "less", 1))
    behind = (Member("", 0, 1, 0, 0, empty, base=True), member("count", 8, 8, fake.long))
    tree = graph.add(TypeRecord(Kind.CLASS, "tree", 16, members=behind))
    row = graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=2))
    members = (member("of", 0, 64, row), member("tree", 64, 16, tree))
    world = graph.add(TypeRecord(Kind.STRUCT, "world", 80, keyword="struct", members=members))
    fake.variables = [
        Place("w", graph.pointer_to(world), PlaceKind.REGISTER, RBX, 0, 0, 100),
        Place("end", graph.pointer_to(row), PlaceKind.VALUE, RBX, 64, 0, 100),
    ]
    assert touched("mov 72(%rbx),%rax; ret") == ["world.tree.count"]


def test_an_array_members_end_pointer_keeps_the_object_known(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    row = graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=2))
    members = (member("of", 0, 64, row), member("count", 64, 8, fake.long), member("item", 72, 40, fake.item))
    world = graph.add(TypeRecord(Kind.STRUCT, "world", 112, keyword="struct", members=members))
    fake.variables = [
        Place("w", graph.pointer_to(world), PlaceKind.REGISTER, RBX, 0, 0, 1),
        Place("end", graph.pointer_to(fake.node), PlaceKind.VALUE, RBX, 64, 1, 100),
    ]
    assert touched("nop; mov 64(%rbx),%rax; mov (%rbx),%rcx; ret") == ["world.count", "world.of[].next"]
    # Where no such object is before, it is something else.
    fake.variables[1] = Place("end", graph.pointer_to(fake.node), PlaceKind.VALUE, RBX, 72, 1, 100)
    assert touched("nop; mov 80(%rbx),%rax; ret") == ["node.key"]


def test_an_index_is_into_the_only_array_of_the_container(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    row = graph.add(
        TypeRecord(Kind.STRUCT, "row", 24, members=(member("a", 0, 8, fake.long), member("b", 8, 8, fake.long)))
    )
    rows = graph.add(TypeRecord(Kind.ARRAY, target=row, count=3))
    members = (member("link", 0, 16, fake.link), member("n", 16, 8, fake.long), member("rows", 24, 72, rows))
    graph.add(TypeRecord(Kind.STRUCT, "list", 96, keyword="struct", members=members))
    fake.takes((RDI, fake.link))
    code = "lea (%rsi,%rsi,2),%rcx; lea (%rdi,%rcx,8),%rdx; mov 24(%rdx),%rax; mov 8(%rdx),%rax; mov 16(%rdx),%rax; ret"
    # The second counts from one; what lies before the array is no element.
    assert touched(code, complete=True) == ["list.rows[].a", "list.rows[].b", "?"]
    assert touched(code) == ["?", "?", "?"]


def test_or_of_clear_bits_is_a_sum(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    code = "shl $4, %rcx\n or $8, %rcx\n movsd (%rdi,%rcx), %xmm0\n ret"
    assert touched(code) == ["table.of[]"]


def test_a_scaled_sum_of_an_index_is_no_pointer(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "movslq (%rsi), %rax\n lea (%rax,%rax,1), %rax\n shl $4, %rax\n mov 8(%rdi,%rax), %rcx\n ret"
    assert touched(code)[-1] == "node.key"


def test_an_indexed_load_is_of_the_only_type_with_such_an_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    array = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(fake.node)))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 0, array))
    several = graph.add(TypeRecord(Kind.STRUCT, "several", 8, members=members))
    fake.takes((RDI, in_union(fake, several, fake.item)))
    assert touched("mov (%rdi),%rax; mov 8(%rax,%rsi,8),%rcx; mov 16(%rcx),%edx; ret")[-1] == "node.hits"
    fake.takes((RDI, in_union(fake, fake.table, fake.item)))
    assert touched("mov (%rdi),%rax; mov 8(%rax,%rsi,8),%rcx; mov 16(%rcx),%edx; ret")[-1] == "?"


def test_an_index_of_several_constants_is_into_the_named_array(fake: Fake, touched: Touched) -> None:
    five = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=5))
    members = (fake.member("n", 0, 8, fake.long), fake.member("a", 8, 40, five), fake.member("b", 48, 40, five))
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "tree", 88, keyword="struct", members=members))))
    read = "movslq %eax,%rcx; {}mov 8(%rdi,%rcx,8),%rax; ret"
    for one, other in ((4, 5), (5, 4)):
        choice = f"test %esi,%esi; je 1f; mov ${one},%eax; jmp 2f; 1: mov ${other},%eax; 2: "
        assert touched(choice + read.format("")) == ["tree.a[]"]
    # A sum is meant.
    assert touched(read.format("add $5,%rcx; ")) == ["tree.b[]"]


def test_base_and_index_of_one_object_have_its_type(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    char = graph.add(TypeRecord(Kind.INT, "char", 1))
    code = assemble("movzbl (%rdi,%rcx),%eax; movzbl (%rdi,%rsi),%eax; movzbl (%rdi,%rcx,2),%eax; ret", tmp_path)
    for index, t in ((RCX, char), (RSI, fake.node)):
        fake.variables.append(Place("i", graph.pointer_to(t), PlaceKind.REGISTER, index, 0, 0, 99))
    fake.variables.append(Place("p", graph.pointer_to(char), PlaceKind.REGISTER, RDI, 0, 0, 99))
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    said = []
    for k in range(3):
        tracker.before(k)
        said.append(common_pointee_of_base_and_index(tracker, flow.instructions[k].memory[0], 1))
    assert said == [char, 0, 0]


def test_words_of_different_types_in_sequence_are_a_copy(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    copying = "xor %ecx,%ecx; 1: mov (%rdi,%rcx,8),%rax; mov %rax,(%rdx,%rcx,8); inc %rcx; cmp $4,%rcx; jne 1b; ret"
    assert touched(copying)[0] == "node.next"
    # Words of one type, of another size, or where nothing is copied to.
    fake.takes((RDI, fake.link))
    assert touched(copying)[0] == "?"
    fake.takes((RDI, fake.node))
    assert touched(copying.replace("rax", "eax").replace(",8)", ",4)"))[0] == "?"
    assert touched(copying.replace("mov %rax,(%rdx,%rcx,8); ", ""))[0] == "?"


def test_an_address_plus_a_carry_is_in_the_same_string(fake: Fake, touched: Touched) -> None:
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.takes((RDI, char), (RSI, fake.node))
    assert touched("cmpb $1,(%rdi); sbb $-1,%rdi; cmpb $0,(%rdi); ret") == ["char.", "char."]
    assert touched("cmpb $1,(%rdi); adc $0,%rdi; cmpb $0,(%rdi); ret") == ["char.", "char."]
    assert touched("sbb $-1,%rsi; mov 8(%rsi),%rax; ret") == ["?"]


def test_a_negative_index_keeps_its_stride(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("shl $5,%rsi; neg %rsi; mov 8(%rdi,%rsi),%rax; ret") == ["node.key"]
    assert touched("shl $2,%rsi; neg %rsi; mov 8(%rdi,%rsi),%rax; ret") == ["?"]
    assert touched("neg %rdi; mov 8(%rdi),%rax; ret") == ["?"]


def test_an_index_bias_is_a_multiple_of_the_element_size(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, fake.table, 8, 80, 8), ResolvedMember)
    assert isinstance(locate(fake.graph, fake.table, 16, 80, 8), str)


def test_a_copy_up_to_an_index_is_into_the_array_at_the_pointer(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    short = graph.add(TypeRecord(Kind.INT, "short int", 2))
    numbers, pointers = (
        graph.add(TypeRecord(Kind.ARRAY, target=t, count=4)) for t in (short, graph.pointer_to(fake.node))
    )
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 8, numbers), fake.member("to", 16, 32, pointers))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "both", 48, keyword="struct", members=members))))
    assert touched("add $8,%rdi; add %rsi,%rsi; mov -8(%rdi,%rsi),%rax; mov -4(%rdi,%rsi),%eax; ret") == [
        "both.of[]",
        "both.of[]",
    ]
    assert touched("add $16,%rdi; shl $3,%rsi; mov -8(%rdi,%rsi),%rax; ret") == ["both.to[]"]
    # Not what is no whole of its elements.
    assert touched("add $8,%rdi; mov -1(%rdi,%rsi),%al; ret") == ["?"]


def test_a_pointer_past_its_element_is_used_for_one_based_indices(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    numbers = graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=32))
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    members = (fake.member("of", 0, 128, numbers), fake.member("at", 128, 160, items))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "both", 288, keyword="struct", members=members))))
    # at[n].value and at[n - 1].value by a pointer to at[n].
    loop = "add $128,%rdi; 1: mov 24(%rdi),%rax; mov -16(%rdi),%rax; add $40,%rdi; dec %ecx; jne 1b; ret"
    assert touched(loop) == ["both.at[].value", "both.at[].value"]


def test_a_member_offset_plus_an_unknown_index_is_of_some_element(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    assert touched("mov 24(%rdi,%rsi),%rax; ret") == ["item.value"]
    assert touched("mov 4(%rdi,%rsi),%eax; ret") == ["item.flags"]
    # Not what is no member, or scaled, or added to the address itself, as what lies behind an object may be.
    assert touched("mov 20(%rdi,%rsi),%rax; ret") == ["?"]
    assert touched("lea (%rdi,%rsi),%rax; mov 24(%rax),%rcx; mov 20(%rax),%rcx; ret") == ["item.value", "?"]
    assert touched("mov 24(%rdi,%rsi,2),%rax; ret") == ["?"]
    assert touched("mov (%rdi,%rsi),%eax; ret") == ["?"]
    # Or before the first one.
    assert touched("neg %rsi; mov 24(%rdi,%rsi),%rax; ret") == ["item.value"]


def test_an_index_that_leaves_an_array_is_in_the_first_one(fake: Fake, touched: Touched) -> None:
    loop = "xor %ecx,%ecx; 1: mov {}(%rdi,%rcx),%rax; add ${},%rcx; jne 1b; ret"
    graph = fake.graph
    longs = graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=4))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 32, longs), fake.member("m", 40, 8, fake.long))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "few", 48, keyword="struct", members=members))))
    for offset, step, found in ((8, 32, "few.of[]"), (32, 64, "few.of[]"), (40, 64, "?"), (8, 36, "?"), (0, 32, "?")):
        assert touched(loop.format(offset, step)) == [found]
    # Behind the loop, too, where the index is none at all if it was not gone through.
    behind = "xor %ecx,%ecx; test %rsi,%rsi; je 2f; 1: add ${},%rcx; dec %rsi; jne 1b; 2: mov {}(%rdi,%rcx),%rax; ret"
    turned = "1: add ${0},%rcx; dec %rsi; jne 1b; jmp 3f; 2: xor %ecx,%ecx; 3: mov {1}(%rdi,%rcx),%rax; ret"
    for offset, step, found in ((8, 32, "few.of[]"), (8, 64, "few.of[]"), (40, 64, "?"), (8, 36, "?")):
        for text in (behind, f"mov ${{0}},%ecx; test %rsi,%rsi; je 2f; {turned}"):
            assert touched(text.format(step, offset)) == [found]


def test_characters_after_an_object_are_indexed_from_its_end(fake: Fake, touched: Touched) -> None:
    char = fake.graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    fake.variables = [
        Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99),
        Place("text", fake.graph.pointer_to(char), PlaceKind.VALUE, RDI, 32, 0, 99),
    ]
    for offset, found in ((31, "char."), (32, "char."), (34, "char."), (30, "?")):
        assert touched(f"mov {offset}(%rdi,%rsi),%al; ret") == [found]
    del fake.variables[1]
    assert touched("mov 31(%rdi,%rsi),%al; ret") == ["?"]


def test_an_index_from_below_zero_is_in_the_displacements_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    few = graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=4))
    members = (fake.member("n", 0, 8, fake.long), fake.member("m", 8, 8, fake.long), fake.member("of", 16, 32, few))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "list", 48, keyword="struct", members=tuple(members)))))
    # A pair counted from one.
    pair = "mov $-2,%rcx; 1: mov 16(%rdi,%rcx,8),%rax; mov 24(%rdi,%rcx,8),%rdx; add $2,%rcx; dec %esi; jne 1b; ret"
    assert touched(pair) == ["list.of[]"] * 2


@pytest.mark.parametrize(
    ("count", "size", "read", "expected"),
    [
        (1, 16, "(%rdi,%rsi),%rax", "record.value"), (1, 16, "8(%rdi,%rsi),%eax", "record.size"),
        # As many as there are, and an array that is one.
        (0, 12, "(%rdi,%rsi),%rax", "record.value"), (4, 16, "(%rdi,%rsi),%rax", "?"),
        # Parts of members, what is wider, and one of the bytes, or several of them.
        (1, 16, "4(%rdi,%rsi),%eax", "?"), (1, 16, "8(%rdi,%rsi),%rax", "?"), (1, 16, "(%rdi,%rsi),%al", "?"),
        (1, 16, "12(%rdi,%rsi),%al", "record.name[]"),
        # The end of so many bytes.
        (1, 16, "-8(%rdi,%rsi),%rax", "?"),
    ],
)  # fmt: skip  # a table
def test_objects_with_a_flexible_array_follow_each_other(
    fake: Fake, touched: Touched, count: int, size: int, read: str, expected: str
) -> None:
    graph = fake.graph
    byte = graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    name = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=count or -1))
    members = (
        fake.member("value", 0, 8, fake.long),
        fake.member("size", 8, 4, fake.int),
        fake.member("name", 12, count, name),
    )
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "record", size, keyword="struct", members=members))))
    assert touched(f"mov {read}; ret") == [expected]


@pytest.mark.parametrize(("count", "expected"), [(2, "?"), (1, "either.tab[]"), (0, "?")])
def test_strides_in_a_union_are_of_the_only_array_that_explains_them(
    fake: Fake, touched: Touched, count: int, expected: str
) -> None:
    """As several elements at once are copied."""
    graph = fake.graph
    tab = graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=4))
    arrays = [fake.member(name, 0, 16, tab) for name in ("tab", "other")[:count]]
    members = (fake.member("d", 0, 8, fake.double), *arrays)
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "either", 16, keyword="union", members=members))))
    assert touched("xor %ecx,%ecx; 1: mov %rdx,(%rdi,%rcx); add $8,%rcx; cmp %rsi,%rcx; jne 1b; ret") == [expected]


def test_an_index_may_add_to_a_pointer_of_a_larger_stride(fake: Fake, touched: Touched) -> None:
    # struct { long n; item of[]; }, four of them in a turn, and one counted back.
    graph = fake.graph
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=-1))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 0, items))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "list", 8, keyword="struct", members=members))))
    loop = (
        "add $32,%rdi; lea (%rsi,%rsi,4),%rsi; shl $3,%rsi; 1: mov -40(%rdi,%rsi),%rax; add $160,%rdi; dec %ecx; jne 1b"
    )
    assert touched(f"{loop}; ret") == ["list.of[].value"]


def test_in_code_at_fixed_addresses_a_table_may_be_the_displacement(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    fake.globals = [GlobalVariable("rows", rows, 0x404000, 160)]
    code = "mov %edi,%eax; lea (%rax,%rax,4),%rax; shl $3,%rax; mov 0x404018(%rax),%rcx; ret"
    assert touched(code, fixed=True) == ["struct item[].[].value"]
    assert touched(code) == ["?"]
    assert touched("mov %edi,%eax; lea (%rax,%rax,4),%rax; mov 0x404004(,%rax,8),%ecx; ret", fixed=True) == [
        "struct item[].[].flags"
    ]


def test_a_partly_known_index_stays_in_its_variable(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("g", fake.table, 0x2000, 72), GlobalVariable("h", fake.doubles, 0x2048, 64)]
    assert touched("lea 0x2000-7(%rip),%rdi; add $9,%rsi; mov 8(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]


def test_a_pointer_that_leaves_its_variable_in_a_loop_stays_its(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    fake.globals = [GlobalVariable("rows", rows, 0x2000, 160), GlobalVariable("g", fake.node, 0x20A0, 32)]
    text = "lea 0x2000+120-7(%rip),%rdi; 1: mov -16(%rdi),%rax; add $80,%rdi; cmp %rdi,%rsi; jne 1b; ret"
    assert touched(text) == ["struct item[].[].value"]


def test_counting_down_from_a_variables_start_may_be_another(fake: Fake, touched: Touched) -> None:
    ints = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=8))
    fake.globals = [GlobalVariable("a", fake.doubles, 0x2000, 64), GlobalVariable("b", ints, 0x2040, 64)]
    assert touched("lea 0x2040-7(%rip),%rdi; mov -8(%rdi,%rsi,8),%rax; ret") == ["?"]
    # It is where that begins, and goes on up to where it ends.
    back = "lea 0x2040-7(%rip),%rdi; lea {}(%rdi),%rax; 1: movsd (%rax),%xmm0; add $8,%rax; cmp %rax,%rdi; jne 1b; ret"
    assert touched(back.format(-64)) == ["double[].[]"]
    assert touched(back.format(-56)) == ["?"]


@pytest.mark.parametrize("start", [0x2008, 0x2010])
def test_a_stride_of_a_variables_size_reaches_no_next_variable(fake: Fake, touched: Touched, start: int) -> None:
    # It begins one element before the array that it goes through, in what lies there.
    members = tuple(fake.member(name, at, 8, fake.long) for name, at in (("a", 0), ("b", 8), ("c", 16), ("d", 24)))
    before = fake.graph.add(TypeRecord(Kind.STRUCT, "before", 32, members=members))
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=4))
    text = f"lea {start:#x}-7(%rip),%rdi; 1: mov 40(%rdi),%rax; add $32,%rdi; cmp %rdi,%rsi; jne 1b; ret"
    fake.globals = [GlobalVariable("g", before, 0x2000, 32), GlobalVariable("rows", rows, start + 32, 128)]
    assert touched(text) == ["struct node[].[].key"]
    # Neither is it one of another variable that is no array, or of one with other elements.
    for other in (fake.item, fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))):
        fake.globals = [GlobalVariable("g", before, 0x2000, 32), GlobalVariable("h", other, start + 32, 160)]
        assert touched(text) == ["?"]
    # What is read of the variable itself is there.
    assert touched(text.replace("40(%rdi)", "8(%rdi)")) == [f"before.{'abcd'[(start - 0x2000) // 8 + 1]}"]


@pytest.mark.parametrize(("way", "expected"), [("jne 2f", "item.value"), ("jne 3f", "?")])
def test_a_load_by_an_initially_constant_index_is_typed_after_a_branch(
    fake: Fake, touched: Touched, way: str, expected: str
) -> None:
    """Nothing follows the object; if another path reaches it as well, something else may be there."""
    fake.takes((RDI, fake.node))
    loop = "mov $1,%ecx; 1: mov %rcx,%rbx; shl $5,%rbx; mov 24(%rdi,%rbx),%rax; test %rdx,%rdx"
    code = f"{loop}; {way}; test %rsi,%rsi; mov $0x2000,%eax; 3: mov 24(%rax),%r8; 2: add $1,%rcx; cmp %r9,%rcx; jne 1b"
    code = code if way == "jne 3f" else code.replace("mov $0x2000,%eax; ", "")
    assert touched(f"{code}; ret")[-1] == expected


@pytest.mark.parametrize(("room", "expected"), [(16, "range.first[]"), (48, "?")])
def test_a_stride_is_of_no_array_shorter_than_it(fake: Fake, touched: Touched, room: int, expected: str) -> None:
    """From one object to the next, a pointer may be past any member: compilers leave it at the last one used."""
    graph = fake.graph
    char = graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    chars = graph.add(TypeRecord(Kind.ARRAY, target=char, count=room))
    members = (
        fake.member("kind", 0, 8, fake.long),
        fake.member("first", 8, room, chars),
        fake.member("last", 8 + room, room, chars),
    )
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "range", 8 + 2 * room, keyword="struct", members=members))))
    assert touched(f"add ${23 + room},%rdi; 1: mov -27(%rdi),%al; add $40,%rdi; cmp %rdi,%rsi; jne 1b; ret") == [
        expected
    ]


def test_strides_of_many_small_elements_are_of_the_array_after_them(fake: Fake) -> None:
    graph = fake.graph
    numbers = graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=32))
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    nodes = graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=4))
    both, other = (
        graph.add(
            TypeRecord(
                Kind.STRUCT,
                name,
                128 + size,
                members=(fake.member("of", 0, 128, numbers), fake.member("at", 128, size, behind)),
            )
        )
        for name, size, behind in (("both", 160, items), ("other", 128, nodes))
    )
    # at[n - 1].value, and what is no whole member of it.
    found = locate(graph, both, 40, 128 - 40 + 24, 8)
    assert isinstance(found, ResolvedMember)
    assert (found.offset, found.field.path) == (152, "at[].value")
    assert locate(graph, both, 40, 128 - 40 + 2, 4) == "unresolved array index"
    # Vectors of eight are as long as an element.
    assert locate(graph, other, 32, 128 - 32 + 8, 8) == "unresolved array index"


def test_an_array_in_an_element_of_an_array(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    text = "lea (%rsi,%rsi,8),%rax; lea (%rdi,%rax,8),%rdi; add %rdx,%rdx; mov 8(%rdi,%rdx,4),%rax; ret"
    assert touched(text) == ["table.of[]"]


def test_a_byte_index_is_into_an_array_of_bytes(fake: Fake, touched: Touched) -> None:
    byte = fake.graph.add(TypeRecord(Kind.CHAR, "byte", 1))
    table = fake.graph.add(TypeRecord(Kind.ARRAY, target=byte, count=2048))
    fake.globals = [GlobalVariable("g", table, 0x2000, 2048)]
    text = "lea 0x2000-7(%rip),%rax; shl $9,%rsi; add %rsi,%rax; movzbl 0x100(%rax,%rdx),%ecx; ret"
    assert touched(text) == ["byte[].[]"]


def test_an_index_that_starts_outside_all_arrays_is_no_evidence(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    text = "mov $0x18000,%eax; test %edx,%edx; je 1f; mov %rsi,%rax; 1: mov 8(%rdi,%rax,8),%rcx; ret"
    assert touched(text) == ["table.of[]"]
    assert touched(text.replace("8(%rdi,%rax,8)", "8(%rdi,%rax,4)")) == ["?"]


def test_a_pointer_difference_may_be_shifted(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item), (RSI, fake.item))
    assert touched("sub %rdi,%rsi; sar $3,%rsi; mov 24(%rdi,%rsi,8),%rax; ret") == ["item.value"]
    assert touched("sub %rdi,%rsi; sar $4,%rsi; mov 24(%rdi,%rsi,8),%rax; ret") == ["?"]


def test_a_masked_multiple_is_one_of_the_lower_power_of_two(fake: Fake, touched: Touched) -> None:
    row = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.link, count=32))
    member = fake.member("of", 8, 512, row)
    wheel = fake.graph.add(TypeRecord(Kind.STRUCT, "wheel", 520, keyword="struct", members=(member,)))
    fake.takes((RDI, wheel))
    for made in ("shl $3,%esi; movzbl %sil,%eax", "shl $3,%esi; mov %esi,%eax; and $0xff,%eax"):
        assert touched(f"{made}; mov 16(%rdi,%rax,2),%rcx; ret") == ["wheel.of[].prev"]
    # The second byte is so many less.
    assert touched("mov %esi,%eax; shl $3,%eax; movzbl %ah,%eax; mov 16(%rdi,%rax,2),%rcx; ret") == ["?"]
    assert touched("movzbl %sil,%eax; mov 16(%rdi,%rax,2),%rcx; ret") == ["?"]


def test_a_boolean_index_is_not_into_the_array_after_it(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    row = graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=4))
    members = (member("link", 0, 16, fake.link), member("n", 16, 8, fake.int), member("of", 24, 32, row))
    tree = graph.add(TypeRecord(Kind.STRUCT, "tree", 56, keyword="struct", members=members))
    fake.takes((RDI, tree))
    for made in ("xor %eax,%eax; test %esi,%esi; setle %al", "test %esi,%esi; setle %al; movzbl %al,%eax"):
        assert touched(f"{made}; mov (%rdi,%rax,8),%rcx; ret") == ["?"]
    # Any other is.
    assert touched("mov %esi,%eax; mov (%rdi,%rax,8),%rcx; ret") == ["tree.of[]"]


def test_strides_between_objects_and_by_one_are_of_the_array_in_each(fake: Fake) -> None:
    graph = fake.graph
    byte = graph.add(TypeRecord(Kind.INT, "char", 1))
    text = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=8))
    members = (fake.member("id", 0, 8, fake.long), fake.member("text", 8, 8, text))
    message = graph.add(TypeRecord(Kind.STRUCT, "message", 16, keyword="struct", members=members))
    found = locate(graph, message, 17, 8, 1)
    assert isinstance(found, ResolvedMember)
    assert (found.field.path, found.how) == ("text[]", "array")
    # Not what is wider, lies elsewhere, or takes other steps.
    assert all(isinstance(locate(graph, message, *one), str) for one in ((17, 8, 4), (17, 0, 1), (19, 8, 1)))


def test_an_element_stride_does_not_hide_an_array_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    inner = "lea 8(%rdi),%rax; 2: mov (%rax),%rcx; add $16,%rax; cmp %rax,%rdx; jne 2b; "
    assert touched("1: " + inner + "add $72,%rdi; cmp %rdi,%rsi; jne 1b; ret") == ["table.of[]"]


def two_arrays(fake: Fake) -> int:
    """An aggregate with an array of items after one of elements as large, and one of tables' rows."""
    graph = fake.graph
    other = graph.add(
        TypeRecord(Kind.STRUCT, "tile", 40, keyword="struct", members=(fake.member("t", 0, 8, fake.long),))
    )
    tiles, items = (graph.add(TypeRecord(Kind.ARRAY, target=t, count=4)) for t in (other, fake.item))
    members = (fake.member("tiles", 0, 160, tiles), fake.member("items", 160, 160, items))
    return graph.add(TypeRecord(Kind.STRUCT, "world", 320, keyword="struct", members=members))


def test_of_two_arrays_of_one_stride_the_pointers_type_selects(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, two_arrays(fake)), (RDX, fake.item))
    index = "lea (%rsi,%rsi,4),%rax; lea 120(%rdi,%rax,8),%rbx; "
    text = index + "test %esi,%esi; jne 1f; mov %rdx,%rbx; 1: mov 24(%rbx),%rcx; ret"
    assert touched(text) == ["item.value"]
    fake.globals = [GlobalVariable("w", two_arrays(fake), 0x2000, 320)]
    fake.variables = [Place("it", fake.graph.pointer_to(fake.item), PlaceKind.VALUE, RBX, -40, 15, 99)]
    text = "lea 0x2000-7(%rip),%rax; lea (%rsi,%rsi,4),%rcx; lea (%rax,%rcx,8),%rbx; nop; mov -16(%rbx),%rcx; ret"
    assert touched(text) == ["item.value"]


def test_an_index_may_be_within_one_row_of_a_matrix(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.doubles, count=4))
    grid = fake.graph.add(
        TypeRecord(Kind.STRUCT, "grid", 264, keyword="struct", members=(fake.member("at", 8, 256, rows),))
    )
    fake.takes((RDI, grid))
    text = "shl $6,%rsi; add %rsi,%rdi; sub $1,%rdx; mov 8(%rdi,%rdx,8),%rax; ret"
    assert touched(text) in (["grid.at[][]"], ["double[].[]"])


def test_characters_have_no_stride_of_another_types_size(fake: Fake) -> None:
    graph = fake.graph
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    assert not isinstance(locate(graph, character, 8, 0, 8), str)
    assert not isinstance(locate(graph, character, 3, 0, 1), str)
    assert not isinstance(locate(graph, character, 64, 0, 16), str)
    assert locate(graph, character, 80, 0, 16) == "access wider than its type"
    assert locate(graph, character, 80, 0, 8) == "access wider than its type"
    assert locate(graph, character, 80, 0, 1) == "unresolved array index"


def test_a_pointer_before_an_arrays_elements_keeps_its_base(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    rows = graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=4))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 128, rows))
    table = graph.add(TypeRecord(Kind.STRUCT, "nodes", 136, keyword="struct", members=members))
    # At a multiple of the element's size from the begin of the whole: 8 bytes before an element.
    code = "mov %esi,%esi; shl $5,%rsi; lea (%rdi,%rsi),%rax; nop; mov 0x18(%rax),%ecx; ret"
    fake.variables = [
        Place("t", graph.pointer_to(table), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("e", graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 10, 100),
    ]
    assert touched(code) == ["nodes.of[].hits"]


def test_a_scaled_loaded_integer_is_an_index(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.table))
    assert touched("imul $32,(%rsi),%rax; mov 8(%rdi,%rax),%rcx; ret") == ["table.n", "node.key"]


@pytest.fixture
def rows(fake: Fake) -> int:
    """`struct rows { int n; struct { int hash; short len, flags; } keys[15]; long vals[15]; void *kids[16]; }`."""
    graph, member = fake.graph, fake.member
    short = graph.add(TypeRecord(Kind.INT, "short", 2))
    parts = member("hash", 0, 4, fake.int), member("len", 4, 2, short), member("flags", 6, 2, short)
    key = graph.add(TypeRecord(Kind.STRUCT, "key", 8, keyword="struct", members=parts))
    keys, vals = (graph.add(TypeRecord(Kind.ARRAY, target=t, count=15)) for t in (key, fake.long))
    kids = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(fake.node), count=16))
    members = (
        member("n", 0, 4, fake.int),
        member("keys", 4, 120, keys),
        member("vals", 128, 120, vals),
        member("kids", 248, 128, kids),
    )
    return graph.add(TypeRecord(Kind.STRUCT, "rows", 376, keyword="struct", members=members))


@pytest.mark.parametrize(
    ("operand", "said"),
    [
        ("-4(%rdi,%rsi,8)", "rows.keys[].hash"),
        ("-12(%rdi,%rsi,8)", "rows.keys[].hash"),
        ("0x78(%rdi,%rsi,8)", "rows.vals[]"),
        ("0x70(%rdi,%rsi,8)", "rows.vals[]"),
        ("0x88(%rdi,%rsi,8)", "rows.vals[]"),
        ("0xf8(%rdi,%rsi,8)", "rows.kids[]"),
        ("0xf0(%rdi,%rsi,8)", "?"),
    ],
)
def test_an_index_may_be_based_on_a_constant(fake: Fake, touched: Touched, rows: int, operand: str, said: str) -> None:
    fake.takes((RDI, rows))
    assert touched(f"movslq %esi,%rsi; mov {operand},%rax; ret") == [said]


def test_an_index_minus_one_is_in_the_displacements_array(fake: Fake, touched: Touched, rows: int) -> None:
    fake.takes((RDI, rows))
    assert touched("movslq %esi,%rsi; lea -1(%rsi),%rdx; mov 0xf8(%rdi,%rdx,8),%rax; ret") == ["rows.kids[]"]


def test_a_loop_from_the_last_element_down_stays_in_its_array(fake: Fake, touched: Touched, rows: int) -> None:
    fake.takes((RDI, rows))
    assert touched("mov $14,%eax; 1: mov 0x80(%rdi,%rax,8),%rdx; dec %rax; jns 1b; ret") == ["rows.vals[]"]


def test_a_later_elements_member_does_not_hide_the_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    fake.variables = [
        Place("items", graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 4),
        Place("part", graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, 88, 4, 100),
    ]
    text = "mov 24(%rdi),%rax; mov 104(%rdi),%rax; ret"
    assert touched(text, complete=True) == ["item.value", "item.value"]


def test_an_index_with_a_bias_exceeds_the_displacement(fake: Fake, touched: Touched) -> None:
    items = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=3))
    fake.globals = [
        GlobalVariable("before", fake.doubles, 0x2000, 64),
        GlobalVariable("items", items, 0x2040, 120),
    ]
    loop = "xor %eax,%eax; 1: add $40,%rax; mov {}(%rax),%rdx; cmp $120,%rax; jne 1b; ret"
    assert touched(loop.format("0x2040-40+24"), fixed=True) == ["struct item[].[].value"]
    fake.globals[0] = GlobalVariable("before", fake.doubles, 0x1000, 64)
    assert touched(loop.format("0x2040-40+24"), fixed=True) == ["struct item[].[].value"]


def test_string_stores_advance_their_pointers(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    assert touched("mov $2,%ecx; rep stosq; mov %eax,(%rdi); ret")[-1] == "node.hits"
    assert touched("mov $3,%ecx; rep movsq; mov (%rsi),%rax; mov (%rdi),%rax; ret")[-2:] == ["item.value", "node.owner"]
    assert touched("stosq; mov (%rdi,%rcx),%rax; ret")[-1] == "?"
    assert touched("stosq; mov (%rdi),%rax; ret")[-1] == "node.key"
    # The first word of what is cleared is cleared apart, the others from the next border of a word on.
    fake.globals = [GlobalVariable("items", fake.graph.array_of(fake.item, 3), 0x2040, 120)]
    code = "mov $0x2043,%edi; add $8,%rdi; and $-8,%rdi; mov $2,%ecx; rep stosq; ret"
    assert touched(code, fixed=True) == ["struct item[].[].link.next"]
    # Whatever lies there is gone, and what lies behind is not.
    code = "mov %rsi,-8(%rsp); mov %rsi,-24(%rsp); lea -24(%rsp),%rdi; mov $2,%ecx; rep stosq\n"
    assert touched(code + "mov -24(%rsp),%rax; mov 24(%rax),%rcx; ret")[-1] == "?"
    assert touched(code + "mov -8(%rsp),%rax; mov 24(%rax),%rcx; ret")[-1] == "item.value"


@pytest.mark.parametrize(
    ("compared", "expected"),
    [
        ("cmp $24,%rax; jne {}", "box.high[]"),
        ("cmp $24,%eax; jne {}", "box.high[]"),
        ("cmp $24,%rax; lea 8(%rdx),%rcx; jne {}", "box.high[]"),
        ("cmp $24,%rax; je 2f; jmp {}", "box.high[]"),
        ("cmp $24,%rax; lea (%rax),%rax; jne {}", "box.low[]"),
        ("cmp $24,%rax; jb {}", "box.low[]"),
    ],
)
def test_an_index_after_a_loop_is_its_bound(fake: Fake, touched: Touched, compared: str, expected: str) -> None:
    graph = fake.graph
    three = graph.array_of(fake.long, 3)
    members = (fake.member("low", 0, 24, three), fake.member("high", 24, 24, three))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "box", 48, keyword="struct", members=members))))
    loop = "{0}: mov (%rdi,%rax),%rdx; add $8,%rax; {1}"
    code = f"xor %eax,%eax; {loop.format(1, compared.format('1b'))}; {loop.format(2, 'cmp $48,%rax; jne 2b')}; ret"
    assert touched(code) == ["box.low[]", expected]


def test_a_branch_on_a_known_integer_is_not_taken(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    code = "mov %rsi,%rax; mov $3,%ecx; cmp ${},%ecx; je 1f; mov %rdi,%rax; 1: mov 8(%rax),%rdx; ret"
    assert touched(code.format(4)) == ["node.key"]
    assert touched(code.format(3)) == ["?"]


def test_of_a_byte_pointer_and_another_one_is_the_index(fake: Fake, touched: Touched) -> None:
    """As where a length shares its place in a union with a pointer."""
    graph, member = fake.graph, fake.member
    text = graph.pointer_to(graph.add(TypeRecord(Kind.INT, "char", 1)))
    of = (member("text", 0, 8, text), member("n", 8, 8, graph.pointer_to(fake.node)), member("other", 16, 8, text))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "value", 24, keyword="struct", members=of))))
    code = "mov {}(%rdi),%rax; mov {}(%rdi),%rcx; mov (%rax,%rcx),%dl; ret"
    assert touched(code.format(0, 8))[-1] == "char."
    assert touched(code.format(8, 0))[-1] == "char."
    assert touched(code.format(0, 16))[-1] == "?"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("and $-2,%rax; shr %rdx; add %rdx,%rax", "row.n"),
        ("shr %rdx; and $-2,%rax; add %rax,%rdx; mov %rdx,%rax", "row.n"),
        # Another number, another part of it, and what is known of half a register.
        ("and $-2,%rax; shr %rsi; add %rsi,%rax", "?"),
        ("and $-4,%rax; shr %rdx; add %rdx,%rax", "?"),
        ("and $-2,%rax; shr %edx; add %rdx,%rax", "?"),
    ],
)
def test_half_an_index_plus_that_doubled_is_three_halves(
    fake: Fake, touched: Touched, code: str, expected: str
) -> None:
    """As a heap's parent is looked for, whose elements are of 24 bytes."""
    members = (fake.member("at", 0, 16, fake.link), fake.member("n", 16, 8, fake.long))
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "row", 24, keyword="struct", members=members))))
    text = f"lea -1(%rcx),%rax; mov %rax,%rdx; {code}; mov 16(%rdi,%rax,8),%rbx; ret"
    assert touched(text)[-1] == expected


def test_a_negative_integer_is_sign_extended(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    text = "movl $-1,-8(%rsp); mov -8(%rsp),%eax; movslq %eax,%rcx; mov 16(%rdi,%rcx,8),%rdx"
    assert touched(text)[-1] == "table.of[]"
    assert touched("movl $-1,-8(%rsp); movslq -8(%rsp),%rcx; mov 16(%rdi,%rcx,8),%rdx")[-1] == "table.of[]"
    assert touched(text.replace("movslq %eax,%rcx", "mov %eax,%ecx"))[-1] == "?"


def test_an_index_that_starts_negative_is_based_on_later_values(fake: Fake, touched: Touched) -> None:
    """As of the best row that is looked for: -1 until there is one."""
    fake.takes((RDI, fake.table))
    best = "mov $-1,%eax; xor %ecx,%ecx; 1: test %esi,%ecx; je 2f; mov %ecx,%eax; 2: inc %ecx; cmp %edx,%ecx; jne 1b"
    text = f"{best}; cmp $-1,%eax; je 3f; movslq %eax,%rdx; mov 8(%rdi,%rdx,8),%rbx; 3: ret"
    assert touched(text)[-1] == "table.of[]"


def test_another_index_stays_in_the_array_of_the_first(fake: Fake, touched: Touched) -> None:
    """As a row of numbers is gone through in steps of two."""
    fake.takes((RDI, fake.table))
    row = "lea {}(%rdi,%rsi,8),%rax; xor %ecx,%ecx; 1: mov (%rax,%rcx,8),%rdx; add $2,%rcx; cmp %r8,%rcx; jne 1b; ret"
    assert touched(row.format(8))[-1] == "table.of[]"
    assert touched(row.format(16).replace("(%rax,%rcx", "-8(%rax,%rcx"))[-1] == "table.of[]"


def test_decreasing_integers_converge(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    down = "mov $-1,%eax; 1: dec %eax; cmp %esi,%eax; jne 1b; movslq %eax,%rdx; mov 80(%rdi,%rdx,8),%rbx; ret"
    assert touched(down)[-1] != "table.n"
    assert touched("mov (%rdi),%rbx; ret") == ["table.n"]
    assert not list(fake.graph.defects)


def test_the_last_of_small_integers_is_no_larger_one(fake: Fake) -> None:
    graph, member = fake.graph, fake.member
    basis = graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=16))
    cells = graph.add(TypeRecord(Kind.ARRAY, target=graph.add(TypeRecord(Kind.FLOAT, "double", 8)), count=-1))
    members = (member("rows", 0, 8, fake.long), member("basis", 8, 64, basis), member("cells", 72, 0, cells))
    tableau = graph.add(TypeRecord(Kind.STRUCT, "tableau", 72, keyword="struct", members=members))
    found = locate(graph, tableau, 8, 64, 8)
    assert isinstance(found, ResolvedMember)
    assert found.field.path == "cells[]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # What was put to 0 before is 0 where the branch says so that depends on the same flags, else 1.
        ("xor %ebx,%ebx; shr $60,%rsi; setne %bl; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "node.next"),
        ("xor %ebx,%ebx; shr $60,%rsi; sete %bl; je 1f; mov (%rdi,%rbx),%rax; 1: ret", "node.next"),
        (
            "push %rdi; xor %ebx,%ebx; call *%rcx; pop %rdi; setne %bl; jne 1f; mov (%rdi,%rbx),%rax; 1: ret",
            "node.next",
        ),
        ("push %rdi; xor %eax,%eax; call *%rcx; pop %rdi; setne %al; jne 1f; mov (%rdi,%rax),%rax; 1: ret", "?"),
        ("xor %ebx,%ebx; shr $60,%rsi; setne %bl; je 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
        ("xor %ebx,%ebx; shr $60,%rsi; setne %bl; add $1,%rcx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
        ("xor %ebx,%ebx; shr $60,%rsi; setne %bl; mov %ecx,%ebx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
        ("shr $60,%rsi; setne %bl; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
    ],
)
def test_a_tested_register_is_zero_on_its_branch(fake: Fake, touched: Touched, text: str, found: str) -> None:
    fake.takes((RDI, fake.node))
    assert touched(text) == [found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mov %ecx,%ebx; test %ebx,%ebx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "node.next"),
        ("test %ebx,%ebx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
        ("movslq %ecx,%rbx; test %ebx,%ebx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
        ("mov %rcx,%rbx; test %ebx,%ebx; jne 1f; mov (%rdi,%rbx),%rax; 1: ret", "?"),
    ],
)
def test_a_register_with_a_clear_upper_half_is_its_zero_half(
    fake: Fake, touched: Touched, text: str, found: str
) -> None:
    fake.takes((RDI, fake.node))
    assert touched(text) == [found]
