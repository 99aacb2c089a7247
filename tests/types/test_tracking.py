"""What the data flow knows of the address of each memory operand, on code of a few instructions each."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import Fake, assemble

from undwarf.disasm import Memory
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.dataflow.values import FRAME
from undwarf.types.layouts.embedders import Embedders
from undwarf.types.layouts.locate import locate, one_of_two
from undwarf.types.layouts.located import Located
from undwarf.types.layouts.model import Kind, Member, TypeRecord
from undwarf.types.sources.places import GlobalVariable, Place, PlaceKind, Prototype
from undwarf.types.uses.touched import led_to_by_both, used_in_parts
from undwarf.types.uses.touched import touched as what_is_touched

RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)

Touched = Callable[..., list[str]]


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def touched(fake: Fake, tmp_path: Path) -> Touched:
    """The operands of a piece of code in order: `node.key`, `frame-16`, or `?`."""

    def run(
        text: str,
        *,
        complete: bool = False,
        changes: dict[int, frozenset[int]] | None = None,
        embedders: Embedders | None = None,
        fixed: bool = False,
    ) -> list[str]:
        code = assemble(text, tmp_path)
        flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
        changed_by = changes.get if changes is not None else None
        is_data = (lambda address: fake.global_at(address) is not None) if fixed else None
        program = Program(fake, MACHINE, complete=complete, changed_by=changed_by, is_data=is_data)
        if embedders is not None:
            program.embedders_at = lambda _pc: embedders
        tracker = Tracker(program, flow, 0, len(code))
        assert tracker.converged
        found: dict[int, str] = {}
        for number in range(len(flow.blocks)):
            for k in tracker.states(number):
                for at, operand in enumerate(flow.instructions[k].memory):
                    if operand.access and not operand.implicit:
                        where = tracker.address_of(k, at)
                        found[k] = say(fake, tracker, k, operand, where)
        return [found[k] for k in sorted(found)]

    return run


def say(fake: Fake, tracker: Tracker, k: int, operand: Memory, where: object) -> str:
    if where is None:
        return "?"
    assert isinstance(where, tuple)
    if where[0] == FRAME:
        return f"frame{where[4]:+d}"
    located = what_is_touched(tracker, k, operand, where, operand.size)
    if isinstance(located, str):
        return "?"
    return f"{fake.graph.name(located.type) or fake.graph.canonical_name(located.type)}.{located.field.path}"


def test_parameters_lead_to_members(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 8(%rdi),%rax; mov (%rdi),%rdi; mov 16(%rdi),%eax; ret") == [
        "node.key",
        "node.next",
        "node.hits",
    ]


def test_a_load_uses_the_state_before_it(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 24(%rdi),%rdi; mov 24(%rdi),%rdi; ret") == ["node.owner", "item.value"]


def test_a_loop_keeps_what_all_its_turns_agree_on(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("1: mov 8(%rdi),%rax; mov (%rdi),%rdi; test %rdi,%rdi; jne 1b; ret") == ["node.key", "node.next"]


def test_a_loop_that_changes_the_type_is_not_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("1: mov 24(%rdi),%rdi; test %rdi,%rdi; jne 1b; ret") == ["?"]


def test_a_null_on_one_way_does_not_matter(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("xor %eax,%eax; test %esi,%esi; je 1f; mov %rdi,%rax; 1: mov 8(%rax),%rax; ret") == ["node.key"]


def test_a_half_register_written_is_no_pointer(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov %edi,%edi; mov 8(%rdi),%rax; ret") == ["?"]
    assert touched("mov $1,%dil; mov 8(%rdi),%rax; ret") == ["?"]


@pytest.mark.parametrize("writer", ["bswap %rdi", "not %rdi", "rdtsc; mov %rax,%rdi", "pop %rdi"])
def test_what_is_not_understood_is_forgotten(fake: Fake, touched: Touched, writer: str) -> None:
    fake.takes((RDI, fake.node))
    assert touched(f"{writer}; mov 8(%rdi),%rax; ret") == ["?"]


def test_calls_clobber_and_return(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node))
    fake.returns(0x1000, fake.item)
    text = "mov %rsi,%rbx; call .+0x1000-3; mov 24(%rax),%rdx; mov 8(%rbx),%rdx; mov 8(%rdi),%rdx; ret"
    assert touched(text) == ["item.value", "node.key", "?"]


def test_indirect_calls_return_by_the_type_of_the_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.ops))
    assert touched("call *(%rdi); mov 8(%rax),%rdx; ret") == ["ops.get", "node.key"]
    assert touched("mov (%rdi),%rax; call *%rax; mov 8(%rax),%rdx; ret") == ["ops.get", "node.key"]


def test_spills_and_reloads(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "sub $24,%rsp; mov %rdi,8(%rsp); xor %edi,%edi; mov 8(%rsp),%rax; mov 8(%rax),%rax; add $24,%rsp; ret"
    assert touched(text) == ["frame-24", "frame-24", "node.key"]


@pytest.mark.parametrize(("place", "known"), [("8(%rsp)", "?"), ("16(%rsp)", "node.key")])
def test_an_address_passed_later_counts_at_calls_before(fake: Fake, touched: Touched, place: str, known: str) -> None:
    """Of what a later call was given the address, an earlier one may have kept it from the last turn."""
    fake.takes((RDI, fake.node))
    text = "sub $40,%rsp; mov %rdi,8(%rsp); call .+99; test %eax,%eax; je 1f; 1: mov 8(%rsp),%rax; mov 8(%rax),%rax"
    assert touched(f"{text}; lea {place},%rdi; call .+99; ret") == ["frame-40", "frame-40", known]


def test_a_slot_written_in_part_is_forgotten(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "mov %rdi,-8(%rsp); movb $1,-5(%rsp); mov -8(%rsp),%rax; mov 8(%rax),%rax; ret"
    assert touched(text)[-1] == "?"


def test_a_callee_may_change_what_it_has_the_address_of(fake: Fake, touched: Touched) -> None:
    fake.takes((RSI, fake.node))
    text = "push %rsi; lea (%rsp),%rdi; call .+0x100; mov (%rsp),%rax; mov 8(%rax),%rax; ret"
    assert touched(text)[-1] == "?"


def test_push_and_pop_keep_values(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("push %rdi; xor %edi,%edi; pop %rbx; mov 8(%rbx),%rax; ret") == ["node.key"]


def test_steps_of_an_array(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "movslq %esi,%rsi; shl $5,%rsi; mov 16(%rdi,%rsi),%eax; 1: add $32,%rdi; mov -24(%rdi),%rdx; jne 1b; ret"
    assert touched(text) == ["node.hits", "node.key"]


def test_an_index_multiplied_piece_by_piece(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    text = "movslq %esi,%rdx; mov %rdx,%rax; shl $2,%rax; add %rdx,%rax; shl $3,%rax; add %rdi,%rax; mov 24(%rax),%rax"
    assert touched(text) == ["item.value"]


def test_a_step_that_no_array_explains(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov (%rdi,%rsi),%rax; mov (%rdi,%rsi,8),%rax; ret") == ["?", "?"]


def test_an_array_inside(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    assert touched("mov 8(%rdi,%rsi,8),%rax; mov (%rdi),%rax; ret") == ["table.of[]", "table.n"]


def test_an_array_inside_counted_from_one(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    assert touched("mov 0(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]


def test_a_negative_offset_is_not_guessed(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; ret") == ["?", "?"]


def test_the_only_aggregate_it_can_be_a_part_of(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; ret", complete=True) == ["item.id", "item.value"]


def test_a_variable_that_is_a_register_less_a_constant(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("it", fake.graph.pointer_to(fake.item), PlaceKind.VALUE, RDI, -8, 0, 100)]
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; mov (%rdi),%rax; ret") == [
        "item.id",
        "item.value",
        "item.link.next",
    ]


def test_the_end_of_an_array_is_no_array_where_an_object_goes_on(fake: Fake, touched: Touched) -> None:
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


def test_the_end_of_an_array_inside_leaves_the_object_known(fake: Fake, touched: Touched) -> None:
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


def test_what_a_function_object_holds_is_not_the_bytes_it_is_put_into(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    byte = graph.add(TypeRecord(Kind.INT, "char", 1))
    room = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=16))
    members = (member("object", 0, 8, graph.pointer_to(fake.long)), member("data", 0, 16, room))
    any_data = graph.add(TypeRecord(Kind.UNION, "any", 16, keyword="union", members=members))
    members = (member("n", 0, 8, graph.pointer_to(fake.item)), member("of", 8, 8, graph.pointer_to(fake.node)))
    closure = graph.add(TypeRecord(Kind.STRUCT, "closure", 16, keyword="struct", members=members))
    fake.variables = [
        Place("f", graph.pointer_to(any_data), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("c", graph.pointer_to(closure), PlaceKind.REGISTER, RDI, 0, 0, 1),
    ]
    code = "nop; mov 8(%rdi),%rax; mov 8(%rax),%rax; ret"
    assert touched(code) == ["closure.of", "node.key"]
    # What does not fit in there is not there.
    fake.variables[1] = Place("c", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1)
    assert touched(code)[1:] == ["?"]


def test_what_swaps_bytes_leads_to_what_they_are_of(fake: Fake, touched: Touched) -> None:
    byte = fake.graph.add(TypeRecord(Kind.INT, "u8", 1))
    array = fake.graph.add(TypeRecord(Kind.ARRAY, target=byte, count=8))
    name = "core::mem::maybe_uninit::MaybeUninit<[u8; 8]>"
    bytes_ = fake.graph.add(TypeRecord(Kind.UNION, name, 8, members=(fake.member("value", 0, 8, array),)))
    fake.variables = [
        Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1),
        Place("y", fake.graph.pointer_to(bytes_), PlaceKind.REGISTER, RDI, 0, 1, 100),
    ]
    assert touched("nop; mov (%rdi),%rdx; mov 8(%rdi),%rax; ret") == ["node.next", "node.key"]


@pytest.mark.parametrize("astray", [False, True])
def test_a_variable_whose_scope_has_ended_does_not_say_what_is_meant(
    fake: Fake, touched: Touched, astray: bool
) -> None:
    graph, member = fake.graph, fake.member
    members = (member("lru", 0, 8, fake.long), member("index", 8, 24, fake.long))
    page = graph.add(TypeRecord(Kind.STRUCT, "page", 32, keyword="struct", members=members))
    fake.variables = [
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("p", graph.pointer_to(page), PlaceKind.REGISTER, RDI, 0, 0, 100, 0, 0, astray),
    ]
    assert touched("mov 8(%rdi),%rax; ret") == ["node.key" if astray else "page.index"]


def test_a_variable_whose_scope_has_ended_says_what_is_in_room_for_anything(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    byte = graph.add(TypeRecord(Kind.INT, "char", 1))
    room = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=32))
    members = (member("of", 0, 32, room), member("it", 0, 8, fake.long))
    any_of = graph.add(TypeRecord(Kind.UNION, "any", 32, keyword="union", members=members))
    fake.variables = [
        Place("a", graph.pointer_to(any_of), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100, 0, 0, True),
    ]
    assert touched("mov 8(%rdi),%rax; ret") == ["node.key"]


@pytest.mark.parametrize(
    ("turned", "astray", "told"), [(0, False, "node.key"), (1, False, "node.key"), (0, True, "any.o")]
)
def test_of_a_unions_members_a_variable_says_which_is_meant(
    fake: Fake, touched: Touched, turned: bool, astray: bool, told: str
) -> None:
    graph, member = fake.graph, fake.member
    first = graph.add(
        TypeRecord(Kind.STRUCT, "first", 32, keyword="struct", members=(member("other", 8, 8, fake.long),))
    )
    members = (member("of", 0, 32, first), member("it", 0, graph.size(fake.node), fake.node))
    any_of = graph.add(TypeRecord(Kind.UNION, "any", 32, keyword="union", members=members))
    variables = [
        Place("a", graph.pointer_to(any_of), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100, 0, 0, astray),
    ]
    fake.variables = variables[::-1] if turned else variables
    assert touched("mov 8(%rdi),%rax; ret")[0].startswith(told)


def test_bytes_at_an_objects_end_are_not_all_that_lies_behind_it(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    byte = graph.add(TypeRecord(Kind.INT, "char", 1))
    data = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=-1))
    members = (member("length", 0, 8, fake.long), member("data", 8, 0, data))
    options = graph.add(TypeRecord(Kind.STRUCT, "options", 8, keyword="struct", members=members))
    placed = Place("o", graph.pointer_to(options), PlaceKind.VALUE, RDI, 8, 0, 100)
    fake.variables = [placed]
    assert touched("mov 24(%rdi),%rax; ret") == ["options.data[]"]
    room = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=16))
    members = (member("id", 0, 8, fake.long), member("cb", 8, 16, room), member("tail", 24, 8, fake.long))
    packet = graph.add(TypeRecord(Kind.STRUCT, "packet", 32, keyword="struct", members=members))
    fake.variables = [Place("p", graph.pointer_to(packet), PlaceKind.REGISTER, RDI, 0, 0, 100), placed]
    assert touched("mov 24(%rdi),%rax; mov 8(%rdi),%rax; ret") == ["packet.tail", "options.length"]


def test_a_number_beside_an_object_is_not_what_a_pointer_leads_to(fake: Fake, touched: Touched) -> None:
    # The flags of an item, of which the link is a part.
    fake.variables = [
        Place("l", fake.graph.pointer_to(fake.link), PlaceKind.REGISTER, RDI, 0, 0, 1),
        Place("flags", fake.graph.pointer_to(fake.int), PlaceKind.VALUE, RDI, -4, 1, 100),
    ]
    code = "nop; mov -4(%rdi),%eax; mov (%rdi),%rdx; lea 8(%rdi),%rcx; mov (%rcx),%rdx; ret"
    assert touched(code) == ["int.", "link.next", "link.prev"]


def test_the_first_of_many_behind_an_object_is_no_further_object(fake: Fake) -> None:
    """As Rust describes what has a slice at its end."""
    graph = fake.graph
    members = (fake.member("n", 0, 16, fake.link), fake.member("of", 16, 16, fake.link))
    many = graph.add(TypeRecord(Kind.STRUCT, "many", 16, members=members))
    found = locate(graph, many, 16, 16, 8)
    assert isinstance(found, str) or found.offset >= 16
    one = graph.add(TypeRecord(Kind.STRUCT, "one", 16, members=members[:1]))
    again = locate(graph, one, 16, 16, 8)
    assert not isinstance(again, str) and again.offset == 0


def test_an_index_leads_into_the_only_array_of_what_an_object_is_a_part_of(fake: Fake, touched: Touched) -> None:
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


def test_a_variable_counts_where_it_is_valid(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 4, 100)]
    assert touched("mov 8(%rdi),%rax; mov 8(%rdi),%rax; ret") == ["?", "node.key"]


def test_globals_by_address(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("g", fake.node, 0x2000, 32)]
    text = "mov 0x2000-7+8(%rip),%rax; lea 0x2000-14(%rip),%rdi; mov 16(%rdi),%eax; mov (%rdi,%rsi),%rax; ret"
    assert touched(text) == ["node.key", "node.hits", "?"]


def test_two_globals_of_one_type(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("a", fake.node, 0x2000, 32), GlobalVariable("b", fake.node, 0x3000, 32)]
    text = "lea 0x2000-7(%rip),%rax; test %esi,%esi; je 1f; lea 0x3000-18(%rip),%rax; 1: mov 8(%rax),%rax; ret"
    assert touched(text) == ["node.key"]


def test_conditional_moves_keep_what_both_agree_on(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node), (RDX, fake.item))
    assert touched("cmove %rsi,%rdi; mov 8(%rdi),%rax; cmove %rdx,%rdi; mov 8(%rdi),%rax; ret") == ["node.key", "?"]


def test_a_number_without_its_flag_leads_where_what_is_else_selected_does(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    for made, known in (("lea -1(%rax),%rdx", True), ("mov %rax,%rdx", False), ("lea -8(%rax),%rdx", False)):
        for select in ("cmovne %rdx,%rdi; mov 8(%rdi),%rcx", "cmove %rdi,%rdx; mov 8(%rdx),%rcx"):
            code = f"mov (%rsi),%rax; {made}; test $1,%al; {select}; ret"
            assert touched(code)[-1] == ("node.key" if known else "?")
    # A number that something else is known of is an index.
    assert touched("lea (,%rsi,8),%rax; lea -1(%rax),%rdx; test $1,%al; cmovne %rdx,%rdi; mov 8(%rdi),%rcx") == ["?"]


def test_exchange(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    assert touched("xchg %rdi,%rsi; mov 24(%rdi),%rax; mov 8(%rsi),%rax; ret") == ["item.value", "node.key"]


def test_the_difference_of_two_pointers_leads_nowhere(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.double))
    assert touched("sub %rsi,%rdi; mov (%rsi,%rdi),%rax; ret") == ["?"]


def test_padding_is_no_way_into_what_follows(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "test %esi,%esi; jne 2f; ret; nopw 0(%rax,%rax); 2: mov 8(%rdi),%rax; ret"
    assert touched(text) == ["node.key"]


def test_code_that_nothing_leads_to_begins_with_nothing(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 8(%rdi),%rax; ret; mov 8(%rdi),%rax; ret") == ["node.key", "?"]


def test_an_unresolved_jump_may_lead_anywhere(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "test %esi,%esi; je 1f; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax; 1: mov 8(%rdi),%rax; ret"
    assert touched(text)[-1] == "?"


def test_absurd_arithmetic_stays_bounded(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    lines = ["1: imul $0x7fffffff,%rsi,%rsi; add %rsi,%rdi; shl $31,%rsi; mov 8(%rdi),%rax", "jne 1b", "ret"]
    assert touched("; ".join(lines)) == ["?"]


def test_void_and_code_have_no_members(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, 0, 0, 0, 8), str)


def test_scalars_in_a_row(fake: Fake) -> None:
    found = locate(fake.graph, fake.double, 0, 24, 8)
    assert isinstance(found, Located)
    assert (found.type, found.offset, found.how) == (fake.double, 0, "array")


def test_an_access_wider_than_a_scalar(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, fake.double, 0, 0, 16), Located)
    assert isinstance(locate(fake.graph, fake.double, 0, 4, 8), str)


def test_padding_between_parts_of_a_loop_leads_nowhere(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched(
        "jmp 2f\n nopl (%rax)\n 1: mov (%rdi), %rdi\n 2: mov 8(%rdi), %rax\n test %rdi, %rdi\n jne 1b\n ret"
    ) == [
        "node.next",
        "node.key",
    ]


def test_an_index_is_no_pointer_whatever_a_variable_says(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    fake.variables.append(Place("it", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 2, 100))
    fake.variables.append(Place("p", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100))
    code = "xor %eax, %eax\n 1: mov 8(%rdi,%rax), %rcx\n add $32, %rax\n cmp %rsi, %rax\n jne 1b\n ret"
    assert touched(code) == ["node.key"]


def test_a_pointer_chosen_by_a_condition_from_memory(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node))
    assert touched("mov %rsi, %rax\n cmove (%rdi), %rax\n mov 8(%rax), %rcx\n ret") == ["node.next", "node.key"]


def test_a_pointer_in_the_frame_may_be_advanced_there(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdi, -8(%rsp)\n addq $32, -8(%rsp)\n mov -8(%rsp), %rax\n mov 16(%rax), %ecx\n ret"
    assert touched(code)[-1] in ("node.hits", "?")


def test_characters_in_the_frame_may_be_gone_through_there(fake: Fake, touched: Touched) -> None:
    text = fake.graph.add(TypeRecord(Kind.STRUCT, "text", 8, keyword="struct"))
    byte = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.graph.record(text).members = (fake.member("of", 0, 8, fake.graph.pointer_to(byte)),)
    fake.takes((RDI, text))
    for change in ("sub %rsi,-8(%rsp)", "add %rsi,-8(%rsp)", "subq $3,-8(%rsp)"):
        code = f"mov (%rdi),%rax; mov %rax,-8(%rsp); {change}; mov -8(%rsp),%rcx; mov (%rcx),%al; ret"
        assert touched(code)[-1] == "char."
    # A distance from something is no place there.
    code = "mov (%rdi),%rax; mov %rsi,-8(%rsp); sub %rax,-8(%rsp); mov -8(%rsp),%rcx; mov (%rcx),%al; ret"
    assert touched(code)[-1] == "?"


def test_or_of_bits_that_are_clear_is_a_sum(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    code = "shl $4, %rcx\n or $8, %rcx\n movsd (%rdi,%rcx), %xmm0\n ret"
    assert touched(code) == ["table.of[]"]


def test_what_a_variable_in_memory_is_stored_from_is_what_it_says(fake: Fake, touched: Touched) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    fake.variables.append(Place("n", to_node, PlaceKind.CFA, -1, -24, 0, 100))
    code = "nop\n mov %rdi, -32(%rsp)\n mov %rdi, -16(%rsp)\n mov 8(%rdi), %rax\n"
    code += "mov -32(%rsp), %rcx\n mov 16(%rcx), %edx\n ret"
    assert touched(code)[-3:] == ["node.key", "frame-40", "node.hits"]


def test_what_lies_behind_a_variable_stays_when_its_scope_has_ended(fake: Fake, touched: Touched) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 5))
    fake.variables.append(Place("size", fake.int, PlaceKind.CFA, -1, -20, 10, 12))
    code = "mov %rdi, -8(%rsp)\n lea -12(%rsp), %rdi\n call *%rbx\n call *%rbx\n mov -8(%rsp), %rax\n"
    assert touched(code + "mov 8(%rax), %rcx\n ret")[-1] == "node.key"
    fake.variables.append(Place("other", fake.node, PlaceKind.CFA, -1, -20, 16, 20))
    assert touched(code + "mov 8(%rax), %rcx\n ret")[-1] == "?"


@pytest.mark.parametrize(("room", "told"), [("node", "node.key"), ("item", "?")])
def test_a_pointer_to_room_in_the_frame_or_to_more_of_the_same(
    fake: Fake, touched: Touched, room: str, told: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1))
    fake.variables.append(Place("room", getattr(fake, room), PlaceKind.CFA, -1, -64, 0, 100))
    code = "nop\n lea -56(%rsp), %rax\n test %rsi, %rsi\n je 1f\n mov (%rdi), %rax\n 1: mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == told


def test_what_may_be_a_pointer_to_the_frame_changes_what_is_there(fake: Fake, touched: Touched) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1))
    fake.variables.append(Place("room", fake.node, PlaceKind.CFA, -1, -64, 0, 2))
    code = "nop\n mov %rdi, -56(%rsp)\n lea -56(%rsp), %rax\n test %rsi, %rsi\n je 1f\n mov (%rdi), %rax\n"
    code += "1: movq $1, (%rax)\n mov -56(%rsp), %rdx\n mov 8(%rdx), %rcx\n ret"
    assert touched(code)[-1] == "?"


@pytest.mark.parametrize(("base", "told"), [("lea -56(%rsp), %rsi", "node.key"), ("lea -96(%rsp), %rsi", "?")])
def test_what_is_stored_by_an_index_into_a_variable_leaves_the_others_alone(
    fake: Fake, touched: Touched, base: str, told: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 5))
    fake.variables.append(Place("room", fake.node, PlaceKind.CFA, -1, -64, 0, 100))
    # As the end of a copy whose size is not known: eight bytes before where that is added.
    code = f"mov %rdi, -16(%rsp)\n {base}\n mov %rdx, -8(%rsi,%rcx,8)\n mov -16(%rsp), %rax\n mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == told


def test_an_index_times_itself_and_more_is_no_pointer(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "movslq (%rsi), %rax\n lea (%rax,%rax,1), %rax\n shl $4, %rax\n mov 8(%rdi,%rax), %rcx\n ret"
    assert touched(code)[-1] == "node.key"


def test_a_first_member_in_the_register_of_an_element_is_the_element(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables.append(Place("p", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 3))
    fake.variables.append(Place("l", fake.graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, 8, 8, 100))
    code = "imul $40, %rsi, %rsi\n add %rsi, %rdi\n nop\n mov 24(%rdi), %rax\n ret"
    assert touched(code) == ["item.value"]


@pytest.mark.parametrize("made", ["sub %rsi,%rsp", "mov %rsp,%rax; sub %rsi,%rax; mov %rax,%rsp"])
@pytest.mark.parametrize("room", ["mov %rsp,%rdi", "lea 15(%rsp),%rdi; and $-16,%rdi", "lea (%rsp,%rsi),%rdi"])
def test_what_is_written_into_room_on_the_stack_leaves_the_frame_alone(
    fake: Fake, touched: Touched, made: str, room: str
) -> None:
    fake.takes((RDI, fake.node))
    begin = f"push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rdi,-8(%rbp); and $-16,%rsi; {made}; {room}"
    end = "call .+0x100; movq $0,(%rax); mov -8(%rbp),%rdx; mov 8(%rdx),%rcx; leave; ret"
    assert touched(f"{begin}; mov %rdi,-16(%rbp); {end}")[-2:] == ["frame-24", "node.key"]
    # What leads into an array of the frame may change what lies behind that.
    assert touched(f"{begin}; lea -32(%rbp,%rsi),%rdi; {end}")[-2:] == ["frame-24", "?"]


def test_room_is_what_its_variable_says(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 11, 100)]
    code = "push %rbp; mov %rsp,%rbp; and $-16,%rsi; sub %rsi,%rsp; mov %rsp,%rdi; mov %rdx,8(%rdi); leave; ret"
    assert touched(code) == ["node.key"]


def test_variables_that_are_not_followed_count_where_nothing_else_is_known(fake: Fake, touched: Touched) -> None:
    """In functions that are too large for that, their registers are told for all of their scopes."""
    node, item = (fake.graph.pointer_to(t) for t in (fake.node, fake.item))
    always = [
        Place("n", node, PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("i", item, PlaceKind.REGISTER, RBX, 0, 0, 100),
    ]
    fake.variables = always
    first, calls = "mov 24(%rdi),%rbx; mov (%rdi),%rdi", "call .+0x100; call .+0x200"
    rest = "mov 8(%rdi),%rax; mov 24(%rbx),%rax; ret"
    assert touched(f"{first}; {calls}; {rest}") == ["node.owner", "node.next", "?", "item.value"]
    assert touched(f"{calls}; mov %rbp,%rbx; {rest}") == ["?", "item.value"]
    # What is known is not what a variable says that is there at another time.
    assert touched("mov (%rdi),%rbx; call .+0x100; call .+0x200; mov 8(%rbx),%rax; ret") == ["node.next", "node.key"]
    # Nothing shows it in a function that calls nothing.
    assert touched(f"{first}; {rest}") == ["node.owner", "node.next", "node.key", "item.value"]


def test_registers_that_a_callee_leaves_alone_are_kept(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("node", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 3)]
    code = "mov %rdi,%rcx; call 1f; mov 8(%rcx),%rax; ret; nop; 1: ret"
    assert touched(code, changes={0xE: frozenset((RAX,))}) == ["node.key"]
    assert touched(code, changes={0xE: frozenset((RAX, RCX))}) == ["?"]
    assert touched(code) == ["?"]


def test_a_register_that_a_callee_leaves_alone_may_be_read_much_later(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdi,%rcx; call 1f; 2: dec %edx; jnz 2b; 3: dec %esi; jnz 3b; mov 8(%rcx),%rax; ret; nop; 1: ret"
    assert touched(code, changes={0x16: frozenset((RAX,))}) == ["node.key"]
    assert touched(code, changes={0x16: frozenset((RAX, RCX))}) == ["?"]


def test_what_copies_bytes_returns_where_to(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "push %rbx; lea 8(%rdi),%rbx; mov %rbx,%rdi; call 1f; mov (%rax),%rcx; ret; nop; 1: ret"
    fake.prototypes[0x12] = Prototype("memcpy", 0, (), 0x12)
    assert touched(code)[-1] == "node.key"
    fake.prototypes[0x12] = Prototype("memcmp", 0, (), 0x12)
    assert touched(code)[-1] == "?"


def test_text_without_a_name_is_what_a_pointer_to_characters_may_lead_to(fake: Fake, touched: Touched) -> None:
    character = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    code = "test %esi,%esi; jz 1f; lea 0x1234(%rip),%rdi; 1: movzbl 2(%rdi,%rcx),%eax; ret"
    fake.takes((RDI, character))
    assert touched(code) == ["char."]
    fake.takes((RDI, fake.node))
    assert touched(code) == ["?"]


def test_a_variable_counts_from_the_frame_pointer_s_register_where_that_is_none(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to(fake.link)
    fake.variables = [
        Place("n", fake.int, PlaceKind.MEMORY, RBP, 16, 0, 1),
        Place("l", pointer, PlaceKind.VALUE, RBP, 8, 1, 99),
    ]
    assert touched("nop; mov 16(%rbp),%rax; ret") == ["link.prev"]
    assert touched("push %rbp; mov %rsp,%rbp; mov -16(%rbp),%rax; ret") == ["frame-32"]


def test_a_variable_in_memory_says_what_is_loaded_from_where_it_is(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99)]
    code = "mov 8(%rdi),%rax; mov 8(%rax),%rcx; ret"
    assert touched(code) == ["node.key", "?"]
    fake.variables.append(Place("l", fake.graph.pointer_to(fake.link), PlaceKind.MEMORY, RDI, 8, 0, 4))
    assert touched(code) == ["node.key", "link.prev"]


def test_what_takes_the_address_of_a_pointer_may_change_it_to_another_one(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to
    code = "sub $24,%rsp; mov %rsi,8(%rsp); lea 8(%rsp),%rdi; call 1f; call 2f; mov 8(%rsp),%rax; mov 8(%rax),%rcx"
    code += "; add $24,%rsp; ret; 1: ret; 2: ret"
    fake.takes((RSI, fake.link))
    assert touched(code)[-1] == "?"
    fake.takes((RDI, pointer(fake.link)), at=0x26)
    assert touched(code)[-1] == "link.prev"
    fake.takes((RDI, pointer(fake.node)), at=0x26)
    assert touched(code)[-1] == "?"


def in_union(fake: Fake, *types: int) -> int:
    """A union of pointers to types."""
    members = tuple(fake.member(f"m{t}", 0, 8, fake.graph.pointer_to(t)) for t in types)
    return fake.graph.add(TypeRecord(Kind.UNION, "either", 8, members=members, keyword="union"))


def test_which_of_several_a_variable_says_holds_for_copies_of_that_pointer(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to
    either = Place("e", pointer(in_union(fake, fake.node, fake.item)), PlaceKind.REGISTER, RDI, 0, 0, 99)
    fake.variables = [either, Place("n", pointer(fake.node), PlaceKind.REGISTER, RAX, 0, 6, 99)]
    assert touched("mov (%rdi),%rax; mov %rax,%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "node.key"
    assert touched("mov (%rdi),%rax; mov (%rdi),%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "?"
    # That the first member is a variable says which have one of its type.
    fake.variables = [either, Place("n", pointer(pointer(fake.node)), PlaceKind.REGISTER, RAX, 0, 6, 99)]
    assert touched("mov (%rdi),%rax; mov %rax,%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "node.key"


def test_what_is_loaded_by_an_index_is_what_the_only_one_with_such_an_array_leads_to(
    fake: Fake, touched: Touched
) -> None:
    graph = fake.graph
    array = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(fake.node)))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 0, array))
    several = graph.add(TypeRecord(Kind.STRUCT, "several", 8, members=members))
    fake.takes((RDI, in_union(fake, several, fake.item)))
    assert touched("mov (%rdi),%rax; mov 8(%rax,%rsi,8),%rcx; mov 16(%rcx),%edx; ret")[-1] == "node.hits"
    fake.takes((RDI, in_union(fake, fake.table, fake.item)))
    assert touched("mov (%rdi),%rax; mov 8(%rax,%rsi,8),%rcx; mov 16(%rcx),%edx; ret")[-1] == "?"


def test_a_pointer_may_lead_to_one_of_many(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    many = [
        graph.add(TypeRecord(Kind.STRUCT, f"s{n}", 8, members=(fake.member("x", 0, 8, fake.long),))) for n in range(20)
    ]
    fake.takes((RDI, in_union(fake, *many, fake.node)))
    assert touched("mov (%rdi),%rax; mov 16(%rax),%ecx; mov (%rax),%rdx; ret")[1:] == ["node.hits", "?"]


def test_what_a_variable_says_of_a_value_holds_for_its_copies(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("node", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RBX, 0, 8, 99)]
    assert touched("call 1f; mov %rax,%rbx; mov 8(%rax),%rcx; ret; 1: ret") == ["node.key"]


def test_rounding_down_keeps_the_member_of_an_aligned_type(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("add $8,%rdi; and $-8,%rdi; mov (%rdi),%rax; ret") == ["node.key"]
    assert touched("add $8,%rdi; and $-16,%rdi; mov (%rdi),%rax; ret") == ["?"]


def test_a_number_read_from_inside_of_an_object_is_its_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [Place("n", fake.graph.pointer_to(fake.int), PlaceKind.REGISTER, RAX, 0, 4, 99)]
    fake.variables += [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 4)]
    assert touched("lea 4(%rdi),%rax; mov (%rax),%ecx; ret") == ["item.flags"]


def test_the_next_of_several_is_no_container_that_nobody_speaks_of(fake: Fake) -> None:
    graph = fake.graph
    embedders = Embedders(graph, lambda: [fake.item])
    assert locate(graph, fake.link, 0, 16, 8, embedders) == locate(graph, fake.item, 0, 24, 8)._replace(how="container")  # type: ignore[union-attr]
    assert isinstance(locate(graph, fake.link, 0, 16, 8, embedders.preferring(lambda: frozenset())), str)
    spoken = embedders.preferring(lambda: frozenset((graph.canonical(fake.item),)))
    found = locate(graph, fake.link, 0, 16, 8, spoken)
    assert isinstance(found, Located) and found.field.path == "value"


def test_before_a_value_lies_what_is_not_known_where_nodes_are_plain_bytes(fake: Fake) -> None:
    graph = fake.graph
    assert isinstance(locate(graph, fake.node, 0, -8, 8, Embedders(graph, lambda: [], bases_only=True)), str)
    assert isinstance(locate(graph, fake.node, 0, -8, 8, Embedders(graph, lambda: [])), Located)


def test_behind_what_is_a_part_of_nothing_a_kernel_may_have_anything(fake: Fake) -> None:
    graph = fake.graph
    assert isinstance(locate(graph, fake.node, 0, 40, 8, Embedders(graph, lambda: [])), Located)
    kernels = Embedders(graph, lambda: [], lonely=True)
    assert isinstance(locate(graph, fake.node, 0, 40, 8, kernels), str)
    assert isinstance(locate(graph, fake.node, 0, 40, 8, kernels.preferring(lambda: frozenset())), str)
    assert isinstance(locate(graph, fake.node, 32, 40, 8, kernels), Located)


def test_behind_a_link_is_hardly_another_one(fake: Fake, touched: Touched) -> None:
    graph, to_link = fake.graph, fake.graph.pointer_to(fake.link)
    members = (fake.member("link", 0, 16, fake.link), fake.member("task", 16, 8, fake.long))
    waiters = [graph.add(TypeRecord(Kind.STRUCT, n, 24, keyword="struct", members=members)) for n in ("a", "b")]
    # The head of a list is as far inside of what it is in as a link is large: nothing goes from link to link.
    fake.variables = [
        Place("l", to_link, PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("head", to_link, PlaceKind.VALUE, RBX, 16, 0, 100),
    ]
    embedders = Embedders(graph, lambda: waiters, lonely=True)
    assert touched("mov 16(%rdi),%rax; mov 8(%rdi),%rax; ret", embedders=embedders) == ["?", "link.prev"]


def test_copies_of_an_aligned_address_are_what_a_variable_says(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 10, 99)]
    assert touched("mov %rdi,%rax; and $-64,%rax; mov %rax,%rcx; mov 8(%rcx),%rdx; ret") == ["node.key"]


def test_a_member_behind_an_array_is_no_element_of_it(fake: Fake) -> None:
    members = (
        fake.member("of", 0, 64, fake.doubles),
        *(fake.member(n, at, 8, fake.long) for n, at in (("a", 72), ("b", 80))),
    )
    t = fake.graph.add(TypeRecord(Kind.STRUCT, "counted", 88, keyword="struct", members=members))
    assert isinstance(locate(fake.graph, t, 8, 64, 8), Located)
    assert isinstance(locate(fake.graph, t, 8, 72, 8), str)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mov %rsi,(%rdi); mov %ecx,8(%rdi); ret", True),
        ("mov (%rdi,%rdx),%rax; movw $2,12(%rdi,%rdx); ret", True),
        ("mov %rsi,(%rdi); mov %rcx,8(%rdi); movb $1,16(%rdi); ret", False),
        # Text, also where its end comes from a register.
        ("movq $0x3030755c,(%rdi); mov $0x6230,%ecx; mov %cx,8(%rdi); ret", False),
        ("mov %rsi,(%rdi); mov %ecx,8(%rdx); ret", False),
    ],
)
def test_numbers_of_different_sizes_are_members_and_no_characters(
    fake: Fake, tmp_path: Path, text: str, parts: bool
) -> None:
    code = assemble(text, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(Program(fake, MACHINE), flow, 0, len(code))
    tracker.before(0)
    assert used_in_parts(tracker, 0, 0, 8) is parts


def test_a_variable_left_at_a_member_of_a_further_element_does_not_count(fake: Fake, touched: Touched) -> None:
    to = fake.graph.pointer_to(fake.item)
    loop = "1: mov (%rsi),%rax; add $40,%rsi; dec %ecx; jne 1b; ret"
    for offset, said in ((64, "item.value"), (80, "item.id"), (120, "item.id")):
        fake.variables = [Place("v", to, PlaceKind.REGISTER, RDI, 0, 0, 4)]
        fake.variables += [Place("i", to, PlaceKind.REGISTER, RSI, 0, 4, 99)]
        assert touched(f"lea {offset}(%rdi),%rsi; {loop}") == [said]
    fake.variables[0] = Place("v", to, PlaceKind.REGISTER, RDX, 0, 0, 4)
    assert touched(f"lea 64(%rdi),%rsi; {loop}") == ["item.id"]


def test_an_index_that_is_one_of_several_numbers_is_into_the_array_that_is_named(fake: Fake, touched: Touched) -> None:
    five = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=5))
    members = (fake.member("n", 0, 8, fake.long), fake.member("a", 8, 40, five), fake.member("b", 48, 40, five))
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "tree", 88, keyword="struct", members=members))))
    read = "movslq %eax,%rcx; {}mov 8(%rdi,%rcx,8),%rax; ret"
    for one, other in ((4, 5), (5, 4)):
        choice = f"test %esi,%esi; je 1f; mov ${one},%eax; jmp 2f; 1: mov ${other},%eax; 2: "
        assert touched(choice + read.format("")) == ["tree.a[]"]
    # A sum is meant.
    assert touched(read.format("add $5,%rcx; ")) == ["tree.b[]"]


def test_what_both_base_and_index_lead_to_is_there(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    char = graph.add(TypeRecord(Kind.INT, "char", 1))
    code = assemble("movzbl (%rdi,%rcx),%eax; movzbl (%rdi,%rsi),%eax; movzbl (%rdi,%rcx,2),%eax; ret", tmp_path)
    for index, t in ((RCX, char), (RSI, fake.node)):
        fake.variables.append(Place("i", graph.pointer_to(t), PlaceKind.REGISTER, index, 0, 0, 99))
    fake.variables.append(Place("p", graph.pointer_to(char), PlaceKind.REGISTER, RDI, 0, 0, 99))
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(Program(fake, MACHINE), flow, 0, len(code))
    said = []
    for k in range(3):
        tracker.before(k)
        said.append(led_to_by_both(tracker, flow.instructions[k].memory[0], 1))
    assert said == [char, 0, 0]


def test_words_of_different_types_one_by_one_are_copied(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    copying = "xor %ecx,%ecx; 1: mov (%rdi,%rcx,8),%rax; mov %rax,(%rdx,%rcx,8); inc %rcx; cmp $4,%rcx; jne 1b; ret"
    assert touched(copying)[0] == "node.next"
    # Words of one type, of another size, or where nothing is copied to.
    fake.takes((RDI, fake.link))
    assert touched(copying)[0] == "?"
    fake.takes((RDI, fake.node))
    assert touched(copying.replace("rax", "eax").replace(",8)", ",4)"))[0] == "?"
    assert touched(copying.replace("mov %rax,(%rdx,%rcx,8); ", ""))[0] == "?"


def test_several_numbers_behind_the_first_are_numbers_too(fake: Fake, touched: Touched) -> None:
    classes = Embedders(fake.graph, lambda: [fake.item], bases_only=True)
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.takes((RDI, fake.double), (RSI, char))
    assert touched("movups %xmm0,16(%rdi); movups %xmm0,16(%rsi); ret", embedders=classes) == ["double.", "?"]


def test_a_number_behind_a_number_is_one_in_classes_too(fake: Fake, touched: Touched) -> None:
    classes = Embedders(fake.graph, lambda: [fake.item], bases_only=True)
    fake.takes((RDI, fake.double), (RSI, fake.node))
    assert touched("add $8,%rdi; mov (%rdi),%rax; ret", embedders=classes) == ["double."]
    assert touched("add $32,%rsi; mov 8(%rsi),%rax; ret", embedders=classes) == ["?"]


def test_an_address_and_a_carry_is_of_the_same_characters(fake: Fake, touched: Touched) -> None:
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.takes((RDI, char), (RSI, fake.node))
    assert touched("cmpb $1,(%rdi); sbb $-1,%rdi; cmpb $0,(%rdi); ret") == ["char.", "char."]
    assert touched("cmpb $1,(%rdi); adc $0,%rdi; cmpb $0,(%rdi); ret") == ["char.", "char."]
    assert touched("sbb $-1,%rsi; mov 8(%rsi),%rax; ret") == ["?"]


def test_a_negative_index_keeps_its_steps(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("shl $5,%rsi; neg %rsi; mov 8(%rdi,%rsi),%rax; ret") == ["node.key"]
    assert touched("shl $2,%rsi; neg %rsi; mov 8(%rdi,%rsi),%rax; ret") == ["?"]
    assert touched("neg %rdi; mov 8(%rdi),%rax; ret") == ["?"]


def test_an_index_may_be_off_by_whole_elements_only(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, fake.table, 8, 80, 8), Located)
    assert isinstance(locate(fake.graph, fake.table, 16, 80, 8), str)


def test_of_two_variables_of_one_register_the_one_that_holds_the_place_counts(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    fake.variables = [
        Place("whole", graph.pointer_to(fake.item), PlaceKind.VALUE, RBX, -16, 0, 99),
        Place("part", graph.pointer_to(fake.link), PlaceKind.VALUE, RBX, -8, 0, 99),
    ]
    assert touched("mov -4(%rbx),%rax; mov 8(%rbx),%rcx; ret") == ["item.link.next", "item.value"]


def test_only_a_register_that_leads_to_an_object_is_used_for_the_next(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    values = Embedders(graph, lambda: [], bases_only=True)
    fake.variables = [Place("node", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99)]
    assert touched("mov -24(%rdi),%rax; mov 40(%rdi),%rcx; ret", embedders=values) == ["node.key", "node.key"]
    fake.variables = [Place("node", graph.pointer_to(fake.node), PlaceKind.VALUE, RDI, 32, 0, 99)]
    assert touched("mov 8(%rdi),%rax; mov 40(%rdi),%rcx; ret", embedders=values) == ["?", "node.key"]


def test_a_pointer_behind_its_element_is_not_used_for_what_lies_before_the_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    two = graph.add(
        TypeRecord(
            Kind.STRUCT, "two", 128, keyword="struct",
            members=(fake.member("a", 0, 64, fake.doubles), fake.member("b", 64, 64, fake.doubles)),
        )
    )  # fmt: skip
    fake.globals = [GlobalVariable("g", two, 0x1000, 128)]
    code = "lea 0x1000(%rip),%rax; 1: mov -8(%rax),%rcx; add $8,%rax; cmp %rax,%rdx; jne 1b; ret"
    assert touched(code.replace("0x1000", "0x1039")) == ["?"]
    assert touched(code.replace("0x1000", "0x1041")) == ["two.b[]"]


def test_what_is_stored_to_a_pointer_is_what_it_leads_to(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov %rsi,24(%rdi); mov 24(%rsi),%rax; ret") == ["node.owner", "item.value"]
    assert touched("mov %rsi,8(%rdi); mov 24(%rsi),%rax; ret") == ["node.key", "?"]


def test_what_is_copied_up_to_an_index_is_the_array_at_the_pointer(fake: Fake, touched: Touched) -> None:
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


def test_a_pointer_behind_its_element_is_used_for_elements_counted_from_one(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    numbers = graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=32))
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    members = (fake.member("of", 0, 128, numbers), fake.member("at", 128, 160, items))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "both", 288, keyword="struct", members=members))))
    # at[n].value and at[n - 1].value by a pointer to at[n].
    loop = "add $128,%rdi; 1: mov 24(%rdi),%rax; mov -16(%rdi),%rax; add $40,%rdi; dec %ecx; jne 1b; ret"
    assert touched(loop) == ["both.at[].value", "both.at[].value"]


def test_what_is_read_before_an_object_that_stands_alone_is_in_what_a_variable_says(
    fake: Fake, touched: Touched
) -> None:
    # struct behind { item *to; node *rest[1]; }, which follows a node.
    graph = fake.graph
    rest = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(fake.node), count=1))
    members = (fake.member("to", 0, 8, graph.pointer_to(fake.item)), fake.member("rest", 8, 8, rest))
    behind = graph.add(TypeRecord(Kind.STRUCT, "behind", 16, keyword="struct", members=members))
    first = Place("first", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99)
    second = Place("second", graph.pointer_to(behind), PlaceKind.VALUE, RDI, 32, 0, 99)
    # 16 bytes apart from each other there would be a pointer to an item at 0.
    text = "mov (%rdi),%rax; mov 8(%rax),%rcx; mov 32(%rdi),%rdx; mov 24(%rdx),%rcx; ret"
    fake.variables = [second]
    assert touched(text)[1] == "?"
    fake.variables = [first, second]
    assert touched(text)[1:] == ["node.key", "behind.to", "item.value"]


def test_a_members_offset_and_an_index_of_which_nothing_is_known_are_of_some_element(
    fake: Fake, touched: Touched
) -> None:
    fake.takes((RDI, fake.item))
    assert touched("mov 24(%rdi,%rsi),%rax; ret") == ["item.value"]
    assert touched("mov 4(%rdi,%rsi),%eax; ret") == ["item.flags"]
    # Not what is no member, or scaled, or added to the address itself, as what lies behind an object may be.
    assert touched("mov 20(%rdi,%rsi),%rax; ret") == ["?"]
    assert touched("mov 24(%rdi,%rsi,2),%rax; ret") == ["?"]
    assert touched("mov (%rdi,%rsi),%eax; ret") == ["?"]


def test_an_index_beside_a_pointer_that_goes_on_by_several_elements(fake: Fake, touched: Touched) -> None:
    # struct { long n; item of[]; }, four of them in a turn, and one counted back.
    graph = fake.graph
    items = graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=-1))
    members = (fake.member("n", 0, 8, fake.long), fake.member("of", 8, 0, items))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "list", 8, keyword="struct", members=members))))
    loop = (
        "add $32,%rdi; lea (%rsi,%rsi,4),%rsi; shl $3,%rsi; 1: mov -40(%rdi,%rsi),%rax; add $160,%rdi; dec %ecx; jne 1b"
    )
    assert touched(f"{loop}; ret") == ["list.of[].value"]


def test_a_pointer_that_is_cast_when_it_is_stored_leads_to_what_the_variable_does(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    rows = Place("rows", graph.pointer_to(fake.double), PlaceKind.REGISTER, RDI, 0, 0, 99)
    rest = Place("rest", graph.pointer_to(fake.int), PlaceKind.CFA, -1, -16, 0, 99)
    text = "lea (%rdi,%rsi,8),%rax; mov %rax,-8(%rsp); mov (%rax,%rcx,4),%edx; ret"
    fake.variables = [rows]
    assert touched(text) == ["frame-16", "?"]
    fake.variables = [rows, rest]
    assert touched(text) == ["frame-16", "int."]
    # Not what the calculation began with, nor what leads to more than a number.
    assert touched("mov %rdi,-8(%rsp); mov (%rdi),%rdx; ret") == ["frame-16", "double."]
    fake.variables = [rows, rest._replace(type=graph.pointer_to(fake.node))]
    assert touched("lea (%rdi,%rsi,8),%rax; mov %rax,-8(%rsp); mov (%rax),%rdx; ret") == ["frame-16", "double."]


def test_behind_an_array_another_may_have_begun(fake: Fake) -> None:
    graph = fake.graph
    rows = [graph.add(TypeRecord(Kind.ARRAY, target=t, count=4)) for t in (fake.node, fake.node)]
    members = tuple(fake.member("ab"[k], 128 * k, 128, t) for k, t in enumerate(rows))
    both = graph.add(TypeRecord(Kind.STRUCT, "both", 256, keyword="struct", members=members))
    assert isinstance(locate(graph, both, 32, 104, 8), str)
    assert isinstance(locate(graph, both, 32, 72, 8), Located)
    assert isinstance(locate(graph, both, 32, 136, 8), Located)


def test_in_code_at_fixed_addresses_a_table_may_be_the_displacement(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    fake.globals = [GlobalVariable("rows", rows, 0x404000, 160)]
    code = "mov %edi,%eax; lea (%rax,%rax,4),%rax; shl $3,%rax; mov 0x404018(%rax),%rcx; ret"
    assert touched(code, fixed=True) == ["struct item[].[].value"]
    assert touched(code) == ["?"]
    assert touched("mov %edi,%eax; lea (%rax,%rax,4),%rax; mov 0x404004(,%rax,8),%ecx; ret", fixed=True) == [
        "struct item[].[].flags"
    ]


def test_an_index_that_is_known_in_part_does_not_lead_to_the_next_variable(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("g", fake.table, 0x2000, 72), GlobalVariable("h", fake.doubles, 0x2048, 64)]
    assert touched("lea 0x2000-7(%rip),%rdi; add $9,%rsi; mov 8(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]


def test_a_pointer_that_leaves_a_variable_in_a_loop_is_still_of_that(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=4))
    fake.globals = [GlobalVariable("rows", rows, 0x2000, 160), GlobalVariable("g", fake.node, 0x20A0, 32)]
    text = "lea 0x2000+120-7(%rip),%rdi; 1: mov -16(%rdi),%rax; add $80,%rdi; cmp %rdi,%rsi; jne 1b; ret"
    assert touched(text) == ["struct item[].[].value"]


def test_counting_back_from_the_begin_of_a_variable_may_be_another(fake: Fake, touched: Touched) -> None:
    ints = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=8))
    fake.globals = [GlobalVariable("a", fake.doubles, 0x2000, 64), GlobalVariable("b", ints, 0x2040, 64)]
    assert touched("lea 0x2040-7(%rip),%rdi; mov -8(%rdi,%rsi,8),%rax; ret") == ["?"]


def test_steps_that_take_many_small_elements_at_once_are_those_of_the_array_behind(fake: Fake) -> None:
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
    assert isinstance(found, Located)
    assert (found.offset, found.field.path) == (152, "at[].value")
    assert locate(graph, both, 40, 128 - 40 + 2, 4) == "index not understood"
    # Vectors of eight are as long as an element.
    assert locate(graph, other, 32, 128 - 32 + 8, 8) == "index not understood"


def test_an_array_in_an_element_of_an_array(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    text = "lea (%rsi,%rsi,8),%rax; lea (%rdi,%rax,8),%rdi; add %rdx,%rdx; mov 8(%rdi,%rdx,4),%rax; ret"
    assert touched(text) == ["table.of[]"]


def test_an_index_of_bytes_in_a_row_of_bytes(fake: Fake, touched: Touched) -> None:
    byte = fake.graph.add(TypeRecord(Kind.CHAR, "byte", 1))
    table = fake.graph.add(TypeRecord(Kind.ARRAY, target=byte, count=2048))
    fake.globals = [GlobalVariable("g", table, 0x2000, 2048)]
    text = "lea 0x2000-7(%rip),%rax; shl $9,%rsi; add %rsi,%rax; movzbl 0x100(%rax,%rdx),%ecx; ret"
    assert touched(text) == ["byte."]


def test_an_index_that_is_first_outside_of_all_arrays_says_nothing(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    text = "mov $0x18000,%eax; test %edx,%edx; je 1f; mov %rsi,%rax; 1: mov 8(%rdi,%rax,8),%rcx; ret"
    assert touched(text) == ["table.of[]"]
    assert touched(text.replace("8(%rdi,%rax,8)", "8(%rdi,%rax,4)")) == ["?"]


def test_numbers_behind_a_header_that_begins_with_one(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [
        Place("i", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("n", fake.graph.pointer_to(fake.int), PlaceKind.REGISTER, RAX, 0, 4, 100),
    ]
    assert touched("lea 40(%rdi),%rax; mov (%rax,%rsi,4),%ecx; ret") == ["int."]
    assert touched("lea 80(%rdi),%rax; mov (%rax),%ecx; mov 4(%rdi),%ecx; ret") == ["int.", "item.flags"]


@pytest.mark.parametrize("spoiled", [False, True])
def test_the_address_of_a_jump_table_may_be_put_aside(tmp_path: Path, spoiled: bool) -> None:
    other = "movl $1,8(%rsp)" if spoiled else "nop"
    text = "lea 0x1000-7(%rip),%rax; mov %rax,8(%rsp); 1: mov 8(%rsp),%rsi; mov (%rdi),%eax; movslq (%rsi,%rax,4),%rax"
    code = assemble(f"{text}; add %rsi,%rax; jmp *%rax; 2: {other}; jmp 1b; 3: ret", tmp_path)
    listing = MACHINE.listing(code, 0)
    targets = [one.address for one in listing if one.address >= listing[6].next_address]
    table = b"".join((at - 0x1000).to_bytes(4, "little", signed=True) for at in (targets[0], targets[-1]))

    def read(address: int, size: int) -> bytes | None:
        return table.ljust(64, b"\0")[address - 0x1000 :][:size] if 0x1000 <= address < 0x1040 else None

    flow = FunctionFlow(listing, MACHINE, read)
    assert (flow.open, flow.tables) == ((True, set()) if spoiled else (False, {0x1000}))


def test_a_distance_of_elements_may_be_shifted(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item), (RSI, fake.item))
    assert touched("sub %rdi,%rsi; sar $3,%rsi; mov 24(%rdi,%rsi,8),%rax; ret") == ["item.value"]
    assert touched("sub %rdi,%rsi; sar $4,%rsi; mov 24(%rdi,%rsi,8),%rax; ret") == ["?"]


def test_pointers_into_two_things_lead_to_what_both_have_there(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item), (RSI, fake.node))
    head = "lea 8(%rdi),%rax; test %edx,%edx; je 1f; "
    assert touched(head + "lea 8(%rsi),%rax; 1: mov (%rax),%rcx; ret") == ["?"]
    assert touched(head + "lea 24(%rdi),%rax; lea 8(%rsi),%rcx; mov %rcx,%rax; 1: mov (%rax),%rcx; ret") == ["?"]
    assert touched("lea 24(%rdi),%rax; test %edx,%edx; je 1f; lea 8(%rsi),%rax; 1: mov (%rax),%rcx; ret") == [
        "long int."
    ]


def test_of_two_members_a_condition_chooses_neither_is_guessed(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("xor %eax,%eax; test %esi,%esi; setle %al; mov (%rdi,%rax,8),%rdi; mov 8(%rdi),%rdi; ret") == [
        "?",
        "link.prev",
    ]
    fake.takes((RDI, fake.node), (RSI, fake.link))
    code = "lea 8(%rsi),%rax; test %edx,%edx; je 1f; mov %rsi,%rax; 1: mov (%rax),%rcx; mov 8(%rcx),%rcx; ret"
    assert touched(code) == ["?", "link.prev"]
    assert one_of_two(fake.graph, fake.link, 8, 0, 8) == [(fake.link, 0), (fake.link, 8)]
    assert not one_of_two(fake.graph, fake.item, 8, 24, 8)
    short = fake.graph.add(TypeRecord(Kind.INT, "short int", 2))
    members = (fake.member("low", 0, 2, short), fake.member("high", 2, 2, short))
    both = fake.graph.add(TypeRecord(Kind.STRUCT, "both", 4, keyword="struct", members=members))
    assert one_of_two(fake.graph, both, 2, 2, 2) == [(both, 0), (both, 2)]


def test_an_index_that_is_a_condition_is_not_of_the_array_behind(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    row = graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=4))
    members = (member("link", 0, 16, fake.link), member("n", 16, 8, fake.int), member("of", 24, 32, row))
    tree = graph.add(TypeRecord(Kind.STRUCT, "tree", 56, keyword="struct", members=members))
    fake.takes((RDI, tree))
    for made in ("xor %eax,%eax; test %esi,%esi; setle %al", "test %esi,%esi; setle %al; movzbl %al,%eax"):
        assert touched(f"{made}; mov (%rdi,%rax,8),%rcx; ret") == ["?"]
    # Any other is.
    assert touched("mov %esi,%eax; mov (%rdi,%rax,8),%rcx; ret") == ["tree.of[]"]


def test_steps_from_object_to_object_and_on_by_one_are_of_the_array_in_each(fake: Fake) -> None:
    graph = fake.graph
    byte = graph.add(TypeRecord(Kind.INT, "char", 1))
    text = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=8))
    members = (fake.member("id", 0, 8, fake.long), fake.member("text", 8, 8, text))
    message = graph.add(TypeRecord(Kind.STRUCT, "message", 16, keyword="struct", members=members))
    found = locate(graph, message, 17, 8, 1)
    assert isinstance(found, Located)
    assert (found.field.path, found.how) == ("text[]", "array")
    # Not what is wider, lies elsewhere, or takes other steps.
    assert all(isinstance(locate(graph, message, *one), str) for one in ((17, 8, 4), (17, 0, 1), (19, 8, 1)))


def test_what_is_passed_by_address_is_where_its_register_leads(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("by_value", fake.node, PlaceKind.MEMORY, RDI, 0, 0, 3)]
    assert touched("mov %rdi,%rbx; mov 8(%rbx),%rax; ret") == ["node.key"]


def test_steps_from_element_to_element_do_not_hide_an_array_inside(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    inner = "lea 8(%rdi),%rax; 2: mov (%rax),%rcx; add $16,%rax; cmp %rax,%rdx; jne 2b; "
    assert touched("1: " + inner + "add $72,%rdi; cmp %rdi,%rsi; jne 1b; ret") == ["table.of[]"]


def test_where_to_put_what_is_returned_is_known(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.int, PlaceKind.REGISTER, RSI, 0, 0, 9)]
    fake.prototypes[0] = Prototype("made", fake.item, (), 0)
    assert touched("mov %esi,4(%rdi); mov %rdi,%rax; ret") == ["item.flags"]


def test_a_part_of_the_element_before_an_iterator_leaves_the_iterator_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [Place("part", fake.graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, -32, 3, 99)]
    classes = Embedders(fake.graph, lambda: [fake.item, fake.link], bases_only=True)
    fake.variables.append(Place("it", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 3))
    assert touched("test %esi,%esi; nop; mov -32(%rdi),%rax; mov -16(%rdi),%rcx; ret", embedders=classes) == [
        "link.next",
        "item.value",
    ]


def two_arrays(fake: Fake) -> int:
    """An aggregate with an array of items behind one of as long things, and one of tables' rows."""
    graph = fake.graph
    other = graph.add(
        TypeRecord(Kind.STRUCT, "tile", 40, keyword="struct", members=(fake.member("t", 0, 8, fake.long),))
    )
    tiles, items = (graph.add(TypeRecord(Kind.ARRAY, target=t, count=4)) for t in (other, fake.item))
    members = (fake.member("tiles", 0, 160, tiles), fake.member("items", 160, 160, items))
    return graph.add(TypeRecord(Kind.STRUCT, "world", 320, keyword="struct", members=members))


def test_of_two_arrays_of_the_same_steps_the_one_of_a_pointers_type_counts(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, two_arrays(fake)), (RDX, fake.item))
    index = "lea (%rsi,%rsi,4),%rax; lea 120(%rdi,%rax,8),%rbx; "
    text = index + "test %esi,%esi; jne 1f; mov %rdx,%rbx; 1: mov 24(%rbx),%rcx; ret"
    assert touched(text) == ["item.value"]
    fake.globals = [GlobalVariable("w", two_arrays(fake), 0x2000, 320)]
    fake.variables = [Place("it", fake.graph.pointer_to(fake.item), PlaceKind.VALUE, RBX, -40, 15, 99)]
    text = "lea 0x2000-7(%rip),%rax; lea (%rsi,%rsi,4),%rcx; lea (%rax,%rcx,8),%rbx; nop; mov -16(%rbx),%rcx; ret"
    assert touched(text) == ["item.value"]


def test_an_index_within_a_row_of_an_aggregates_array(fake: Fake, touched: Touched) -> None:
    rows = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.doubles, count=4))
    grid = fake.graph.add(
        TypeRecord(Kind.STRUCT, "grid", 264, keyword="struct", members=(fake.member("at", 8, 256, rows),))
    )
    fake.takes((RDI, grid))
    text = "shl $6,%rsi; add %rsi,%rdi; sub $1,%rdx; mov 8(%rdi,%rdx,8),%rax; ret"
    assert touched(text) in (["grid.at[][]"], ["double[].[]"])


def test_a_neighbour_where_nothing_that_has_the_type_reaches_so_far(fake: Fake) -> None:
    wholes = Embedders(fake.graph, lambda: [fake.item, fake.node, fake.link])
    near, far = locate(fake.graph, fake.link, 0, 24, 8, wholes), locate(fake.graph, fake.link, 0, 40, 8, wholes)
    assert isinstance(near, Located)
    assert near.type == fake.item
    assert isinstance(far, Located)
    assert (far.type, far.offset) == (fake.link, 8)


def test_a_register_that_is_multiplied_is_no_pointer_whatever_a_variable_says(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    fake.variables = [
        Place("it", fake.graph.pointer_to(fake.double), PlaceKind.REGISTER, RSI, 0, 0, 99),
        Place("of", fake.graph.pointer_to(fake.table), PlaceKind.REGISTER, RDI, 0, 0, 99),
    ]
    assert touched("mov 8(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]


def test_characters_are_not_stepped_over_by_the_size_of_something_else(fake: Fake) -> None:
    graph = fake.graph
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    assert not isinstance(locate(graph, character, 8, 0, 8), str)
    assert not isinstance(locate(graph, character, 3, 0, 1), str)
    assert not isinstance(locate(graph, character, 64, 0, 16), str)
    assert locate(graph, character, 80, 0, 16) == "wider than its type"
    assert locate(graph, character, 80, 0, 8) == "wider than its type"
    assert locate(graph, character, 80, 0, 1) == "index not understood"


def test_a_pointer_beside_an_arrays_elements_stays_where_it_is_counted_from(fake: Fake, touched: Touched) -> None:
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


def test_a_number_from_memory_times_a_size_is_an_index(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.table))
    assert touched("imul $32,(%rsi),%rax; mov 8(%rdi,%rax),%rcx; ret") == ["table.n", "node.key"]


def test_what_rusts_allocators_return_is_nothing_yet(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    room = graph.add(TypeRecord(Kind.POINTER, "*mut u8", 8, character))
    fake.prototypes[0x100] = Prototype("alloc", room, (), 0x100)
    assert touched("call .+0x100; movups %xmm0,(%rax); ret") == ["?"]


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
        member("n", 0, 4, fake.int), member("keys", 4, 120, keys), member("vals", 128, 120, vals),
        member("kids", 248, 128, kids),
    )  # fmt: skip
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
def test_an_index_counted_from_more_than_0(fake: Fake, touched: Touched, rows: int, operand: str, said: str) -> None:
    fake.takes((RDI, rows))
    assert touched(f"movslq %esi,%rsi; mov {operand},%rax; ret") == [said]


def test_an_index_less_one_is_in_the_array_of_the_displacement(fake: Fake, touched: Touched, rows: int) -> None:
    fake.takes((RDI, rows))
    assert touched("movslq %esi,%rsi; lea -1(%rsi),%rdx; mov 0xf8(%rdi,%rdx,8),%rax; ret") == ["rows.kids[]"]


def test_a_loop_from_the_last_element_down_stays_in_its_array(fake: Fake, touched: Touched, rows: int) -> None:
    fake.takes((RDI, rows))
    assert touched("mov $14,%eax; 1: mov 0x80(%rdi,%rax,8),%rdx; dec %rax; jns 1b; ret") == ["rows.vals[]"]


def test_a_part_of_a_further_element_does_not_hide_the_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    fake.variables = [
        Place("items", graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 4),
        Place("part", graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, 88, 4, 100),
    ]
    text = "mov 24(%rdi),%rax; mov 104(%rdi),%rax; ret"
    assert touched(text, complete=True) == ["item.value", "item.value"]


def test_an_index_that_was_added_to_before_is_more_than_the_displacement(fake: Fake, touched: Touched) -> None:
    items = fake.graph.add(TypeRecord(Kind.ARRAY, target=fake.item, count=3))
    fake.globals = [
        GlobalVariable("before", fake.doubles, 0x2000, 64),
        GlobalVariable("items", items, 0x2040, 120),
    ]
    loop = "xor %eax,%eax; 1: add $40,%rax; mov {}(%rax),%rdx; cmp $120,%rax; jne 1b; ret"
    assert touched(loop.format("0x2040-40+24"), fixed=True) == ["struct item[].[].value"]
    fake.globals[0] = GlobalVariable("before", fake.doubles, 0x1000, 64)
    assert touched(loop.format("0x2040-40+24"), fixed=True) == ["struct item[].[].value"]


def test_behind_a_base_class_is_what_derives_from_it(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    members = (
        Member("", 0, 16, 0, 0, fake.link, base=True), fake.member("value", 16, 8, fake.long),
        fake.member("low", 24, 4, fake.int), fake.member("high", 28, 4, fake.int),
    )  # fmt: skip
    derived = graph.add(TypeRecord(Kind.CLASS, "derived", 32, members=members))
    fake.takes((RDI, fake.link))
    text = "mov 24(%rdi),%rax; ret"
    assert touched(text, embedders=Embedders(graph, lambda: [derived], bases_only=True)) == ["?"]
    assert touched(text, embedders=Embedders(graph, list, bases_only=True)) == ["link.prev"]


def test_a_register_that_was_tested_is_nothing_where_it_was_none(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "test %rdx,%rdx; mov %rdi,%rcx; jne 3f; cmp %rsi,8(%rdi); je 2f; xor %eax,%eax\n"
    code += "1: mov %rax,%rdx; add $32,%rax; cmp %rsi,8(%rdi,%rax); jne 1b\n 2: mov (%rdi,%rdx),%rax; ret"
    assert touched(code + "; 3: ret")[-1] == "node.next"
    # As the other way of the branch.
    assert touched(code.replace("jne 3f", "je 3f") + "; 3: ret")[-1] == "?"
    # Half of it may be 0, and another register.
    assert touched(code.replace("test %rdx,%rdx", "test %edx,%edx") + "; 3: ret")[-1] == "?"
    assert touched(code.replace("mov %rdi,%rcx", "mov 8(%rdi),%rdx") + "; 3: ret")[-1] == "?"
    assert touched(code.replace("mov %rdi,%rcx", "and %rdi,%rcx") + "; 3: ret")[-1] == "?"


def test_what_is_filled_leads_behind_it(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    assert touched("mov $2,%ecx; rep stosq; mov %eax,(%rdi); ret")[-1] == "node.hits"
    assert touched("mov $3,%ecx; rep movsq; mov (%rsi),%rax; mov (%rdi),%rax; ret")[-2:] == ["item.value", "node.owner"]
    assert touched("stosq; mov (%rdi,%rcx),%rax; ret")[-1] == "?"
    assert touched("stosq; mov (%rdi),%rax; ret")[-1] == "node.key"
    # Whatever lies there is gone, and what lies behind is not.
    code = "mov %rsi,-8(%rsp); mov %rsi,-24(%rsp); lea -24(%rsp),%rdi; mov $2,%ecx; rep stosq\n"
    assert touched(code + "mov -24(%rsp),%rax; mov 24(%rax),%rcx; ret")[-1] == "?"
    assert touched(code + "mov -8(%rsp),%rax; mov 24(%rax),%rcx; ret")[-1] == "item.value"


def test_who_knows_a_variable_does_not_change_what_lies_behind_it(fake: Fake, touched: Touched) -> None:
    code = "sub $56,%rsp; mov %rdi,48(%rsp); lea 8(%rsp),%rdi; call 1f; mov 48(%rsp),%rax; mov 16(%rax),%ecx; ret"
    node = Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 9)
    for t, offset, told in ((fake.item, 8, "node.hits"), (fake.table, 8, "?"), (fake.item, 0, "node.hits")):
        fake.variables = [node, Place("i", t, PlaceKind.MEMORY, RSP, offset, 0, 99)]
        assert touched(code + "; 1: ret")[-1] == told
    fake.variables = [node]
    assert touched(code + "; 1: ret")[-1] == "?"


def test_what_a_pointer_to_the_frame_leads_to_is_there(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "nop; mov -8(%rsp),%rax; mov 24(%rax),%rcx; ret"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -48, 0, 99)]
    assert touched(code)[-1] == "node.owner"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -40, 0, 99)]
    assert touched(code)[-1] == "?"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -48, 40, 99)]
    assert touched(code)[-1] == "?"


def test_a_variable_says_which_of_several_pointers_to_pointers_is_meant(fake: Fake, touched: Touched) -> None:
    texts = fake.graph.pointer_to(fake.item)
    fake.takes((RDI, in_union(fake, fake.node, texts)))
    assert touched("mov (%rdi),%rax; mov (%rax),%rcx; ret")[-1] == "?"
    fake.variables = [Place("texts", fake.graph.pointer_to(texts), PlaceKind.MEMORY, RDI, 0, 0, 99)]
    assert touched("mov (%rdi),%rax; mov (%rax),%rcx; mov 24(%rcx),%rcx; ret")[-1] == "item.value"


def test_a_variable_that_begins_behind_a_load_says_what_was_loaded(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.CFA, -1, -24, 5, 100)]
    assert touched("mov -16(%rsp), %rax\n mov 8(%rax), %rcx\n ret") == ["frame-24", "node.key"]


def test_a_variable_says_of_what_an_address_was_made(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 4, 100)]
    assert touched("lea -8(%rdi), %rax\n mov (%rdi), %rcx\n mov (%rax), %rdx\n ret") == ["node.key", "node.next"]


def test_a_variable_says_nothing_of_what_an_address_was_made_on_another_way(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 8, 100)]
    assert touched("test %esi, %esi\n je 1f\n lea -8(%rdi), %rax\n 1: mov (%rdi), %rcx\n ret") == ["?"]


def test_a_jump_behind_restored_registers_leaves_the_function(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "push %rbx; mov %rdi,%rbx; 1: cmp %rsi,8(%rbx); jne 1b; mov (%rsi,%rdx),%rcx; {}; jmp *%rcx"
    assert touched(code.format("pop %rbx"))[0] == "node.key"
    # As a switch, which may go on anywhere.
    assert touched(code.format("nop"))[0] == "?"


def test_a_number_of_few_bytes_that_is_loaded_is_one_to_which_others_are_added(fake: Fake, touched: Touched) -> None:
    members = (fake.member("first", 0, 64, fake.doubles), fake.member("second", 64, 64, fake.doubles))
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "both", 128, keyword="struct", members=members))))
    for load in ("movzbl 16(%rsi),%edx", "mov 16(%rsi),%edx", "movzwl -8(%rsp,%rcx,2),%edx"):
        code = load + "; movzbl 17(%rsi),%eax; shl $2,%rax; lea 8(%rdx,%rax),%rax; mov (%rdi,%rax,8),%rcx; ret"
        assert touched(code)[-1] == "both.second[]"
