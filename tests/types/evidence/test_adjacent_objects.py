"""Accesses before, after and around the object that an address points to."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble
from tests.support.types.tracked import RAX, RBX, RDI, RSI, Touched

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.member_access import is_accessed_in_parts
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.resolve_offset import locate, members_selected_by_condition
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, Member, TypeRecord
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind


def test_a_negative_offset_is_not_guessed(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; mov 8(%rdi),%rax; ret") == ["?", "?", "link.prev"]


def test_an_access_past_a_member_is_of_its_only_container(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; ret", complete=True) == ["item.id", "item.value"]


def test_a_variable_of_maybe_uninit_bytes_keeps_the_objects_type(fake: Fake, touched: Touched) -> None:
    byte = fake.graph.add(TypeRecord(Kind.INT, "u8", 1))
    array = fake.graph.add(TypeRecord(Kind.ARRAY, target=byte, count=8))
    name = "core::mem::maybe_uninit::MaybeUninit<[u8; 8]>"
    bytes_ = fake.graph.add(TypeRecord(Kind.UNION, name, 8, members=(fake.member("value", 0, 8, array),)))
    fake.variables = [
        Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1),
        Place("y", fake.graph.pointer_to(bytes_), PlaceKind.REGISTER, RDI, 0, 1, 100),
    ]
    assert touched("nop; mov (%rdi),%rdx; mov 8(%rdi),%rax; ret") == ["node.next", "node.key"]


def test_bytes_at_an_objects_end_are_no_further_objects(fake: Fake, touched: Touched) -> None:
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


def test_an_integer_beside_an_object_is_not_the_pointee(fake: Fake, touched: Touched) -> None:
    # The flags of an item, of which the link is a part.
    fake.variables = [
        Place("l", fake.graph.pointer_to(fake.link), PlaceKind.REGISTER, RDI, 0, 0, 1),
        Place("flags", fake.graph.pointer_to(fake.int), PlaceKind.VALUE, RDI, -4, 1, 100),
    ]
    code = "nop; mov -4(%rdi),%eax; mov (%rdi),%rdx; lea 8(%rdi),%rcx; mov (%rcx),%rdx; ret"
    assert touched(code) == ["int.", "link.next", "link.prev"]


def test_an_array_after_an_object_is_no_further_object(fake: Fake) -> None:
    """As Rust describes what has a slice at its end."""
    graph = fake.graph
    members = (fake.member("n", 0, 16, fake.link), fake.member("of", 16, 16, fake.link))
    many = graph.add(TypeRecord(Kind.STRUCT, "many", 16, members=members))
    found = locate(graph, many, 16, 16, 8)
    assert isinstance(found, str) or found.offset >= 16
    one = graph.add(TypeRecord(Kind.STRUCT, "one", 16, members=members[:1]))
    again = locate(graph, one, 16, 16, 8)
    assert not isinstance(again, str) and again.offset == 0


def test_two_globals_of_one_type_are_distinguished(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("a", fake.node, 0x2000, 32), GlobalVariable("b", fake.node, 0x3000, 32)]
    text = "lea 0x2000-7(%rip),%rax; test %esi,%esi; je 1f; lea 0x3000-18(%rip),%rax; 1: mov 8(%rax),%rax; ret"
    assert touched(text) == ["node.key"]


def test_void_and_code_have_no_members(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, fake.node, 0, 0, 8), ResolvedMember)
    assert isinstance(locate(fake.graph, 0, 0, 0, 8), str)


def test_an_access_past_a_scalar_is_an_array_element(fake: Fake) -> None:
    found = locate(fake.graph, fake.double, 0, 24, 8)
    assert isinstance(found, ResolvedMember)
    assert (found.type, found.offset, found.how) == (fake.double, 0, "array")


def test_an_access_wider_than_a_scalar_is_its_array(fake: Fake) -> None:
    assert isinstance(locate(fake.graph, fake.double, 0, 0, 16), ResolvedMember)
    assert isinstance(locate(fake.graph, fake.double, 0, 4, 8), str)


def test_an_unmentioned_container_is_not_guessed(fake: Fake) -> None:
    graph = fake.graph
    containers = Containers(graph, lambda: [fake.item])
    within = locate(graph, fake.item, 0, 24, 8)
    assert isinstance(within, ResolvedMember)
    assert locate(graph, fake.link, 0, 16, 8, containers) == within._replace(how="container")
    assert isinstance(locate(graph, fake.link, 0, 16, 8, containers.preferring(lambda: frozenset())), str)
    spoken = containers.preferring(lambda: frozenset((graph.canonical(fake.item),)))
    found = locate(graph, fake.link, 0, 16, 8, spoken)
    assert isinstance(found, ResolvedMember) and found.field.path == "value"


def test_memory_before_a_value_is_unknown_if_only_bases_count(fake: Fake) -> None:
    graph = fake.graph
    assert isinstance(locate(graph, fake.node, 0, -8, 8, Containers(graph, lambda: [], bases_only=True)), str)
    assert isinstance(locate(graph, fake.node, 0, -8, 8, Containers(graph, lambda: [])), ResolvedMember)


def test_memory_after_a_kernels_lone_object_is_unknown(fake: Fake) -> None:
    graph = fake.graph
    assert isinstance(locate(graph, fake.node, 0, 40, 8, Containers(graph, lambda: [])), ResolvedMember)
    kernels = Containers(graph, lambda: [], isolated=True)
    assert isinstance(locate(graph, fake.node, 0, 40, 8, kernels), str)
    assert isinstance(locate(graph, fake.node, 0, 40, 8, kernels.preferring(lambda: frozenset())), str)
    assert isinstance(locate(graph, fake.node, 32, 40, 8, kernels), ResolvedMember)


def test_memory_after_a_link_is_no_further_link(fake: Fake, touched: Touched) -> None:
    graph, to_link = fake.graph, fake.graph.pointer_to(fake.link)
    members = (fake.member("link", 0, 16, fake.link), fake.member("task", 16, 8, fake.long))
    waiters = [graph.add(TypeRecord(Kind.STRUCT, n, 24, keyword="struct", members=members)) for n in ("a", "b")]
    # The head of a list is as far inside of what it is in as a link is large: nothing goes from link to link.
    fake.variables = [
        Place("l", to_link, PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("head", to_link, PlaceKind.VALUE, RBX, 16, 0, 100),
    ]
    containers = Containers(graph, lambda: waiters, isolated=True)
    assert touched("mov 16(%rdi),%rax; mov 8(%rdi),%rax; ret", containers=containers) == ["?", "link.prev"]


@pytest.mark.parametrize("kin", [True, False])
def test_memory_after_a_node_with_an_array_is_its_container(fake: Fake, touched: Touched, kin: bool) -> None:
    graph, member = fake.graph, fake.member
    branch = graph.add(TypeRecord(Kind.STRUCT, "branch", 24, keyword="struct"))
    child = graph.pointer_to(branch if kin else fake.double)
    children = graph.add(TypeRecord(Kind.ARRAY, target=child, count=2))
    graph.record(branch).members = (member("child", 0, 16, children), member("up", 16, 8, fake.long))
    members = (member("id", 0, 8, fake.long), member("by", 8, 24, branch), member("due", 32, 8, fake.long))
    graph.add(TypeRecord(Kind.STRUCT, "job", 40, keyword="struct", members=members))
    fake.variables = [Place("b", graph.pointer_to(branch), PlaceKind.REGISTER, RDI, 0, 0, 100)]
    # Where no tree is made of it, it may as well be the first of several.
    behind = "job.due" if kin else "branch.child[]"
    assert touched("mov 24(%rdi),%rax; mov 16(%rdi),%rcx; ret", complete=True) == [behind, "branch.up"]


def test_a_member_after_an_array_is_no_element_of_it(fake: Fake) -> None:
    members = (
        fake.member("of", 0, 64, fake.doubles),
        *(fake.member(n, at, 8, fake.long) for n, at in (("a", 72), ("b", 80))),
    )
    t = fake.graph.add(TypeRecord(Kind.STRUCT, "counted", 88, keyword="struct", members=members))
    assert isinstance(locate(fake.graph, t, 8, 64, 8), ResolvedMember)
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
def test_integers_of_different_sizes_are_no_characters(fake: Fake, tmp_path: Path, text: str, parts: bool) -> None:
    code = assemble(text, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(0)
    assert is_accessed_in_parts(tracker, 0, 0, 8) is parts


def test_integers_after_the_first_one_are_its_array(fake: Fake, touched: Touched) -> None:
    classes = Containers(fake.graph, lambda: [fake.item], bases_only=True)
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.takes((RDI, fake.double), (RSI, char))
    assert touched("movups %xmm0,16(%rdi); movups %xmm0,16(%rsi); ret", containers=classes) == ["double.", "?"]


def test_an_integer_after_an_integer_is_its_array_in_classes_too(fake: Fake, touched: Touched) -> None:
    classes = Containers(fake.graph, lambda: [fake.item], bases_only=True)
    fake.takes((RDI, fake.double), (RSI, fake.node))
    assert touched("add $8,%rdi; mov (%rdi),%rax; ret", containers=classes) == ["double."]
    assert touched("add $32,%rsi; mov 8(%rsi),%rax; ret", containers=classes) == ["?"]


def test_only_a_register_that_points_to_an_object_reaches_the_next(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    values = Containers(graph, lambda: [], bases_only=True)
    fake.variables = [Place("node", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99)]
    assert touched("mov -24(%rdi),%rax; mov 40(%rdi),%rcx; ret", containers=values) == ["node.key", "node.key"]
    fake.variables = [Place("node", graph.pointer_to(fake.node), PlaceKind.VALUE, RDI, 32, 0, 99)]
    assert touched("mov 8(%rdi),%rax; mov 40(%rdi),%rcx; ret", containers=values) == ["?", "node.key"]


def test_a_pointer_past_its_element_is_not_used_before_the_array(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    two = graph.add(
        TypeRecord(
            Kind.STRUCT,
            "two",
            128,
            keyword="struct",
            members=(fake.member("a", 0, 64, fake.doubles), fake.member("b", 64, 64, fake.doubles)),
        )
    )
    fake.globals = [GlobalVariable("g", two, 0x1000, 128)]
    code = "lea 0x1000(%rip),%rax; 1: mov -8(%rax),%rcx; add $8,%rax; cmp %rax,%rdx; jne 1b; ret"
    assert touched(code.replace("0x1000", "0x1039")) == ["?"]
    assert touched(code.replace("0x1000", "0x1041")) == ["two.b[]"]


def test_an_access_past_an_array_may_be_in_another_one(fake: Fake) -> None:
    graph = fake.graph
    rows = [graph.add(TypeRecord(Kind.ARRAY, target=t, count=4)) for t in (fake.node, fake.node)]
    members = tuple(fake.member("ab"[k], 128 * k, 128, t) for k, t in enumerate(rows))
    both = graph.add(TypeRecord(Kind.STRUCT, "both", 256, keyword="struct", members=members))
    assert isinstance(locate(graph, both, 32, 104, 8), str)
    assert isinstance(locate(graph, both, 32, 72, 8), ResolvedMember)
    assert isinstance(locate(graph, both, 32, 136, 8), ResolvedMember)


def test_integers_after_a_header_are_no_further_headers(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [
        Place("i", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("n", fake.graph.pointer_to(fake.int), PlaceKind.REGISTER, RAX, 0, 4, 100),
    ]
    assert touched("lea 40(%rdi),%rax; mov (%rax,%rsi,4),%ecx; ret") == ["int."]
    assert touched("lea 80(%rdi),%rax; mov (%rax),%ecx; mov 4(%rdi),%ecx; ret") == ["int.", "item.flags"]


def test_of_two_members_in_a_select_neither_is_guessed(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.link))
    assert touched("xor %eax,%eax; test %esi,%esi; setle %al; mov (%rdi,%rax,8),%rdi; mov 8(%rdi),%rdi; ret") == [
        "?",
        "link.prev",
    ]
    fake.takes((RDI, fake.node), (RSI, fake.link))
    code = "lea 8(%rsi),%rax; test %edx,%edx; je 1f; mov %rsi,%rax; 1: mov (%rax),%rcx; mov 8(%rcx),%rcx; ret"
    assert touched(code) == ["?", "link.prev"]
    assert members_selected_by_condition(fake.graph, fake.link, 8, 0, 8) == [(fake.link, 0), (fake.link, 8)]
    assert not members_selected_by_condition(fake.graph, fake.item, 8, 24, 8)
    short = fake.graph.add(TypeRecord(Kind.INT, "short int", 2))
    members = (fake.member("low", 0, 2, short), fake.member("high", 2, 2, short))
    both = fake.graph.add(TypeRecord(Kind.STRUCT, "both", 4, keyword="struct", members=members))
    assert members_selected_by_condition(fake.graph, both, 2, 2, 2) == [(both, 0), (both, 2)]


def test_an_access_to_the_previous_element_keeps_the_iterator_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [Place("part", fake.graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, -32, 3, 99)]
    classes = Containers(fake.graph, lambda: [fake.item, fake.link], bases_only=True)
    fake.variables.append(Place("it", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 3))
    assert touched("test %esi,%esi; nop; mov -32(%rdi),%rax; mov -16(%rdi),%rcx; ret", containers=classes) == [
        "link.next",
        "item.value",
    ]


def test_an_access_past_all_containers_is_the_next_element(fake: Fake) -> None:
    wholes = Containers(fake.graph, lambda: [fake.item, fake.node, fake.link])
    near, far = locate(fake.graph, fake.link, 0, 24, 8, wholes), locate(fake.graph, fake.link, 0, 40, 8, wholes)
    assert isinstance(near, ResolvedMember)
    assert near.type == fake.item
    assert isinstance(far, ResolvedMember)
    assert (far.type, far.offset) == (fake.link, 8)


def test_memory_after_a_base_class_is_its_derived_class(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    members = (
        Member("", 0, 16, 0, 0, fake.link, base=True),
        fake.member("value", 16, 8, fake.long),
        fake.member("low", 24, 4, fake.int),
        fake.member("high", 28, 4, fake.int),
    )
    derived = graph.add(TypeRecord(Kind.CLASS, "derived", 32, members=members))
    fake.takes((RDI, fake.link))
    text = "mov 24(%rdi),%rax; ret"
    assert touched(text, containers=Containers(graph, lambda: [derived], bases_only=True)) == ["?"]
    assert touched(text, containers=Containers(graph, list, bases_only=True)) == ["link.prev"]


def test_memory_after_an_object_is_what_a_variable_says(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    members = (
        fake.member("of", 0, 16, fake.link),
        fake.member("m", 16, 8, fake.long),
        fake.member("o", 24, 8, fake.long),
    )
    around = graph.add(TypeRecord(Kind.STRUCT, "around", 32, keyword="struct", members=members))
    fake.variables = [Place("of", graph.pointer_to(fake.link), PlaceKind.REGISTER, RDI, 0, 0, 1)]
    text = "nop; mov 24(%rdi),%rax; ret"
    assert touched(text, containers=Containers(graph, lambda: [around])) == ["around.o"]
    fake.variables.append(Place("next", graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, 16, 1, 9))
    assert touched(text, containers=Containers(graph, lambda: [around])) == ["link.prev"]


def test_bytes_past_a_variable_are_text_if_another_variable_is(fake: Fake, touched: Touched) -> None:
    classes = Containers(fake.graph, lambda: [fake.item], bases_only=True)
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    byte = fake.graph.add(TypeRecord(Kind.INT, "unsigned char", 1))
    code = "mov %al,1(%rdi); mov %ax,2(%rdi); ret"
    fake.variables.append(Place("next", fake.graph.pointer_to(byte), PlaceKind.VALUE, RDI, 2, 0, 100))
    assert touched(code, containers=classes)[0] == "?"
    fake.variables.insert(0, Place("first", fake.graph.pointer_to(char), PlaceKind.REGISTER, RDI, 0, 0, 100))
    assert touched(code, containers=classes)[0] == "unsigned char."


def test_strides_are_of_the_unions_only_structure_with_such_an_array(fake: Fake) -> None:
    graph = fake.graph

    def ending(name: str, element: int) -> int:
        array = graph.add(TypeRecord(Kind.ARRAY, target=element, count=1))
        size = graph.size(element)
        members = (fake.member("n", 0, 8, fake.long), fake.member(name, 8, size, array))
        return graph.add(TypeRecord(Kind.STRUCT, "ends", 8 + size, members=members, keyword="struct"))

    rows = [ending("links", fake.link), ending("pointers", graph.pointer_to(fake.node))]

    def either(*types: int) -> int:
        members = tuple(fake.member(f"m{t}", 0, graph.size(t), t) for t in types)
        return graph.add(TypeRecord(Kind.UNION, "either", 24, members=members, keyword="union"))

    found = locate(graph, either(*rows), 8, 8, 8)
    assert isinstance(found, ResolvedMember)
    assert (found.type, found.offset, found.field.path) == (rows[1], 8, "pointers[]")
    assert locate(graph, either(rows[0], rows[1], ending("others", graph.pointer_to(fake.item))), 8, 8, 8) == (
        "unresolved array index"
    )


def test_an_index_from_a_variables_pointee_is_into_its_characters(fake: Fake, touched: Touched) -> None:
    char = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100))
    codes = ("movb $0,32(%rdi,%rsi); ret", "lea 32(%rdi),%rax; movzbl (%rax,%rsi),%ecx; ret")
    for code in codes:
        assert touched(code)[-1] == "?"
    fake.variables.append(Place("text", fake.graph.pointer_to(char), PlaceKind.VALUE, RDI, 32, 0, 100))
    fake.variables.reverse()
    for code in codes:
        assert touched(code)[-1] == "char."
    # Wider ones are not, nor is what is elsewhere where they begin further behind the object.
    assert touched("movl $0,32(%rdi,%rsi); movl $0,32(%rdi,%rsi,4); ret") == ["?", "?"]
    fake.variables[0] = Place("text", fake.graph.pointer_to(char), PlaceKind.VALUE, RDI, 40, 0, 100)
    assert [touched(f"movb $0,{offset}(%rdi,%rsi); ret")[0] for offset in (40, 48, 36)] == ["char.", "?", "?"]


def test_only_long_arrays_are_iterated_by_parts_of_elements(fake: Fake) -> None:
    graph = fake.graph

    def table(element: int, count: int, begin: int = 0) -> int:
        array = graph.add(TypeRecord(Kind.ARRAY, target=element, count=count))
        whole = graph.size(element) * count
        members = (fake.member("of", begin, whole, array), fake.member("n", begin + whole, 8, fake.long))
        return graph.add(TypeRecord(Kind.STRUCT, "table", begin + whole + 8, members=members, keyword="struct"))

    found = locate(graph, table(fake.int, 64), 2, 0, 2)
    assert isinstance(found, ResolvedMember) and (found.field.path, found.offset) == ("of[]", 0)
    pointers = graph.pointer_to(fake.node)
    for t, step, size in (
        (table(fake.int, 4), 2, 2),
        (table(fake.int, 64), 1, 2),
        (table(fake.int, 64), 1, 1),
        (table(pointers, 64), 4, 4),
        (table(fake.item, 64), 2, 2),
        (table(fake.int, 64, 8), 2, 2),
    ):
        assert locate(graph, t, step, 0, size) == "unresolved array index"


def test_a_type_at_two_offsets_of_its_container_is_ambiguous(fake: Fake) -> None:
    graph = fake.graph
    twice = graph.add(TypeRecord(Kind.STRUCT, "twice", 64, keyword="struct"))
    graph.record(twice).members = (
        fake.member("first", 0, 16, fake.link),
        fake.member("value", 16, 8, fake.long),
        fake.member("second", 24, 16, fake.link),
        fake.member("other", 40, 8, fake.long),
        fake.member("third", 48, 16, fake.link),
    )
    containers = Containers(graph, lambda: [fake.item, twice])
    spoken = containers.preferring(lambda: frozenset((graph.canonical(twice),)))
    assert isinstance(locate(graph, fake.link, 0, 16, 8, spoken), str)
    # Within an outer one of the same it is at the same place.
    inner = graph.add(TypeRecord(Kind.STRUCT, "inner", 24, keyword="struct"))
    graph.record(inner).members = (fake.member("link", 0, 16, fake.link), fake.member("value", 16, 8, fake.long))
    outer = graph.add(TypeRecord(Kind.STRUCT, "outer", 40, keyword="struct"))
    graph.record(outer).members = (fake.member("id", 0, 8, fake.long), fake.member("inner", 8, 24, inner))
    both = Containers(graph, lambda: [inner, outer]).preferring(
        lambda: frozenset((graph.canonical(inner), graph.canonical(outer)))
    )
    found = locate(graph, fake.link, 0, 16, 8, both)
    assert isinstance(found, ResolvedMember) and (found.type, found.field.path) == (inner, "value")


def _with_virtual_functions(fake: Fake) -> int:
    """A class of 24 bytes that starts with its vtable pointer."""
    graph, member = fake.graph, fake.member
    function = graph.add(TypeRecord(Kind.FUNCTION))
    table = graph.pointer_to(graph.add(TypeRecord(Kind.POINTER, "__vtbl_ptr_type", 8, target=function)))
    members = (member("_vptr", 0, 8, table), member("uses", 8, 4, fake.int), member("label", 16, 8, fake.long))
    return graph.add(TypeRecord(Kind.CLASS, "device", 24, members=members))


def test_memory_before_a_virtual_base_is_no_further_one(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    device = _with_virtual_functions(fake)
    fake.takes((RDI, device), (RSI, fake.item))
    classes = Containers(graph, lambda: [device, fake.item], bases_only=True)
    text = "mov -8(%rdi),%rax; mov -16(%rsi),%rax; mov 8(%rdi),%eax; ret"
    assert touched(text, containers=classes) == ["?", "item.value", "device.uses"]


def test_an_array_after_the_first_part_of_a_mentioned_type(fake: Fake) -> None:
    graph, member = fake.graph, fake.member
    keys = graph.add(TypeRecord(Kind.ARRAY, target=fake.long, count=3))
    members = (member("n", 0, 8, fake.long), member("keys", 8, 24, keys))
    leaf = graph.add(TypeRecord(Kind.STRUCT, "leaf", 32, members=members))
    edges = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(leaf), count=4))
    members = (member("data", 0, 32, leaf), member("edges", 32, 32, edges))
    inner = graph.add(TypeRecord(Kind.STRUCT, "inner", 64, members=members))
    nodes = Containers(graph, lambda: [leaf, inner], wanted_only=True)
    assert locate(graph, leaf, 8, 40, 8, nodes.preferring(frozenset)) == "unresolved array index"
    found = locate(graph, leaf, 8, 40, 8, nodes.preferring(lambda: frozenset({graph.canonical(inner)})))
    assert isinstance(found, ResolvedMember)
    assert (graph.name(found.type), found.field.path, found.how) == ("inner", "edges[]", "container")


def test_memory_after_a_described_rust_element_is_the_next_one(fake: Fake) -> None:
    graph, member = fake.graph, fake.member
    pair = (member("at", 0, 8, fake.long), member("length", 8, 8, fake.long))
    text = graph.add(TypeRecord(Kind.STRUCT, "&str", 16, members=pair))
    members = (member("alive", 0, 16, text), member("data", 16, 16, text))
    rest = graph.add(TypeRecord(Kind.STRUCT, "PolymorphicIter<[&str]>", 16, members=members))
    found = [locate(graph, rest, 16, offset, 8) for offset in (16, 24, 56)]
    assert [one.field.path for one in found if isinstance(one, ResolvedMember)] == [
        "data.at",
        "data.length",
        "data.length",
    ]


def test_memory_after_a_first_member_is_no_further_one(fake: Fake, touched: Touched) -> None:
    def of(name: str, *parts: tuple[str, int, int]) -> int:
        members = tuple(fake.member(part, at, fake.graph.size(t), t) for part, at, t in parts)
        whole = parts[-1][1] + fake.graph.size(parts[-1][2])
        return fake.graph.add(TypeRecord(Kind.STRUCT, name, whole, members=members))

    leaf = of("leaf", ("n", 0, fake.long), ("up", 8, fake.long))
    other = of("other", ("a", 0, fake.long), ("b", 8, fake.long))
    inner, ends = (
        of("inner", ("leaf", 0, leaf), ("edge", 16, fake.long)),
        of("ends", ("c", 0, fake.long), ("of", 8, other)),
    )
    types = [leaf, other, inner, ends]
    fake.takes((RDI, leaf), (RSI, other))
    nodes = Containers(fake.graph, lambda: types, wanted_only=True).preferring(frozenset)
    assert touched("mov 16(%rdi),%rax; mov 16(%rsi),%rax; ret", containers=nodes) == ["?", "other.a"]
