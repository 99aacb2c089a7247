"""Declared variables beside tracked values: where they are valid, and which of several types they select."""

import pytest
from tests.support.types.fakes import Fake, in_union
from tests.support.types.tracked import RAX, RBP, RBX, RDI, RDX, RSI, Touched

from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind, Prototype


def test_a_variable_may_be_a_register_minus_a_constant(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("it", fake.graph.pointer_to(fake.item), PlaceKind.VALUE, RDI, -8, 0, 100)]
    assert touched("mov -8(%rdi),%eax; mov 16(%rdi),%rax; mov (%rdi),%rax; ret") == [
        "item.id",
        "item.value",
        "item.link.next",
    ]


def test_a_variable_may_follow_what_another_one_points_to(fake: Fake, touched: Touched) -> None:
    """As where more is allocated after an object: the register points to the object, and the offset is from it."""
    graph = fake.graph
    fake.variables = [
        Place("a", graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("b", graph.pointer_to(fake.table), PlaceKind.VALUE, RDI, 40, 0, 100),
    ]
    found = ["item.value", "table.n", "table.of[]"]
    code = "mov 24(%rdi),%rcx; mov 40(%rdi),%rdx; movsd 48(%rdi,%rsi,8),%xmm0"
    assert touched(f"{code}; ret") == found
    assert touched(f"mov %rdi,%rax; {code.replace('rdi', 'rax')}; ret") == [*found[:2], "?"]


def test_a_variable_is_preferred_to_a_guessed_container_of_a_link(fake: Fake, touched: Touched) -> None:
    """As CPython's objects follow the collector's links, which other structures have as members."""
    link, table = (fake.graph.pointer_to(one) for one in (fake.link, fake.table))
    linked = Place("gc", link, PlaceKind.REGISTER, RDI, 0, 0, 100)
    fake.variables = [linked]
    assert touched("mov 16(%rdi),%rdx; ret", complete=True) == ["item.value"]
    fake.variables = [linked, Place("op", table, PlaceKind.VALUE, RDI, 16, 0, 100)]
    assert touched("mov 16(%rdi),%rdx; ret", complete=True) == ["table.n"]


def test_a_captured_member_is_not_the_bytes_it_is_stored_in(fake: Fake, touched: Touched) -> None:
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


@pytest.mark.parametrize("outlives_scope", [False, True])
def test_a_variable_out_of_scope_selects_no_type(fake: Fake, touched: Touched, outlives_scope: bool) -> None:
    graph, member = fake.graph, fake.member
    members = (member("lru", 0, 8, fake.long), member("index", 8, 24, fake.long))
    page = graph.add(TypeRecord(Kind.STRUCT, "page", 32, keyword="struct", members=members))
    fake.variables = [
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("p", graph.pointer_to(page), PlaceKind.REGISTER, RDI, 0, 0, 100, 0, 0, outlives_scope),
    ]
    assert touched("mov 8(%rdi),%rax; ret") == ["node.key" if outlives_scope else "page.index"]


def test_a_variable_past_its_scope_types_an_untyped_buffer(fake: Fake, touched: Touched) -> None:
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
    ("turned", "outlives_scope", "expected"), [(0, False, "node.key"), (1, False, "node.key"), (0, True, "any.o")]
)
def test_a_variable_selects_a_unions_member(
    fake: Fake, touched: Touched, turned: bool, outlives_scope: bool, expected: str
) -> None:
    graph, member = fake.graph, fake.member
    first = graph.add(
        TypeRecord(Kind.STRUCT, "first", 32, keyword="struct", members=(member("other", 8, 8, fake.long),))
    )
    members = (member("of", 0, 32, first), member("it", 0, graph.size(fake.node), fake.node))
    any_of = graph.add(TypeRecord(Kind.UNION, "any", 32, keyword="union", members=members))
    variables = [
        Place("a", graph.pointer_to(any_of), PlaceKind.REGISTER, RDI, 0, 0, 100),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100, 0, 0, outlives_scope),
    ]
    fake.variables = variables[::-1] if turned else variables
    assert touched("mov 8(%rdi),%rax; ret")[0].startswith(expected)


def test_a_variable_counts_where_it_is_valid(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 4, 100)]
    assert touched("mov 8(%rdi),%rax; mov 8(%rdi),%rax; ret") == ["?", "node.key"]


def test_an_index_is_no_pointer_despite_its_variable(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    fake.variables.append(Place("it", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 2, 100))
    fake.variables.append(Place("p", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 100))
    code = "xor %eax, %eax\n 1: mov 8(%rdi,%rax), %rcx\n add $32, %rax\n cmp %rsi, %rax\n jne 1b\n ret"
    assert touched(code) == ["node.key"]


def test_a_value_stored_to_a_variable_has_its_type(fake: Fake, touched: Touched) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    fake.variables.append(Place("n", to_node, PlaceKind.CFA, -1, -24, 0, 100))
    code = "nop\n mov %rdi, -32(%rsp)\n mov %rdi, -16(%rsp)\n mov 8(%rdi), %rax\n"
    code += "mov -32(%rsp), %rcx\n mov 16(%rcx), %edx\n ret"
    assert touched(code)[-3:] == ["node.key", "frame-40", "node.hits"]


def test_a_first_member_in_an_elements_register_is_the_element(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables.append(Place("p", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 3))
    fake.variables.append(Place("l", fake.graph.pointer_to(fake.link), PlaceKind.VALUE, RDI, 8, 8, 100))
    code = "imul $40, %rsi, %rsi\n add %rsi, %rdi\n nop\n mov 24(%rdi), %rax\n ret"
    assert touched(code) == ["item.value"]


def test_the_previous_elements_first_member_is_in_the_iterated_array(fake: Fake, touched: Touched) -> None:
    graph, member = fake.graph, fake.member
    members = (member("link", 0, 16, fake.link), member("refs", 16, 4, fake.int))
    page = graph.add(TypeRecord(Kind.STRUCT, "page", 24, keyword="struct", members=members))
    pages = graph.add(TypeRecord(Kind.ARRAY, target=page, count=4))
    members = (member("pages", 0, 96, pages), member("free", 96, 8, fake.long))
    shelf = graph.add(TypeRecord(Kind.STRUCT, "shelf", 104, keyword="struct", members=members))
    loop = "lea 96(%rdi),%rdx; 1: add $24,%rdi; movl $0,-8(%rdi); cmp %rdx,%rdi; jne 1b; ret"
    link = graph.pointer_to(fake.link)
    fake.variables = [
        Place("s", graph.pointer_to(shelf), PlaceKind.REGISTER, RDI, 0, 0, 4),
        Place("l", link, PlaceKind.REGISTER, RDI, 0, 4, 8),
        Place("l", link, PlaceKind.VALUE, RDI, -24, 8, 15),
    ]
    assert touched(loop) == ["shelf.pages[].refs"]


def test_unoptimised_variables_count_if_nothing_else_is_known(fake: Fake, touched: Touched) -> None:
    """In functions that are too large for variable tracking, a register holds for the whole scope."""
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


def test_a_variable_is_relative_to_the_register_of_the_frame_base(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to(fake.link)
    fake.variables = [
        Place("n", fake.int, PlaceKind.MEMORY, RBP, 16, 0, 1),
        Place("l", pointer, PlaceKind.VALUE, RBP, 8, 1, 99),
    ]
    assert touched("nop; mov 16(%rbp),%rax; ret") == ["link.prev"]
    assert touched("push %rbp; mov %rsp,%rbp; mov -16(%rbp),%rax; ret") == ["frame-32"]


def test_a_load_from_a_variables_slot_has_its_type(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 99)]
    code = "mov 8(%rdi),%rax; mov 8(%rax),%rcx; ret"
    assert touched(code) == ["node.key", "?"]
    fake.variables.append(Place("l", fake.graph.pointer_to(fake.link), PlaceKind.MEMORY, RDI, 8, 0, 4))
    assert touched(code) == ["node.key", "link.prev"]


def test_a_variables_base_register_may_have_been_an_integer(fake: Fake, touched: Touched) -> None:
    """As from a word that has flags in its lowest bits."""
    code = "mov (%rdi),%rax; and $-4,%rax; mov 8(%rax),%rcx; mov 8(%rcx),%rdx; ret"
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "word", 8, members=(fake.member("of", 0, 8, fake.long),)))))
    assert touched(code)[-1] == "?"
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.MEMORY, RAX, 8, 7, 11))
    assert touched(code)[-1] == "node.key"


def test_a_type_selected_by_a_variable_holds_for_copies(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to
    either = Place("e", pointer(in_union(fake, fake.node, fake.item)), PlaceKind.REGISTER, RDI, 0, 0, 99)
    fake.variables = [either, Place("n", pointer(fake.node), PlaceKind.REGISTER, RAX, 0, 6, 99)]
    assert touched("mov (%rdi),%rax; mov %rax,%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "node.key"
    assert touched("mov (%rdi),%rax; mov (%rdi),%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "?"
    # That the first member is a variable says which have one of its type.
    fake.variables = [either, Place("n", pointer(pointer(fake.node)), PlaceKind.REGISTER, RAX, 0, 6, 99)]
    assert touched("mov (%rdi),%rax; mov %rax,%rbx; nop; mov 8(%rbx),%rcx; ret")[-1] == "node.key"


def test_a_variables_type_holds_for_copies_of_the_value(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("node", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RBX, 0, 8, 99)]
    assert touched("call 1f; mov %rax,%rbx; mov 8(%rax),%rcx; ret; 1: ret") == ["node.key"]


def test_an_integer_loaded_from_an_object_is_its_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item))
    fake.variables = [Place("n", fake.graph.pointer_to(fake.int), PlaceKind.REGISTER, RAX, 0, 4, 99)]
    fake.variables += [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RDI, 0, 0, 4)]
    assert touched("lea 4(%rdi),%rax; mov (%rax),%ecx; ret") == ["item.flags"]


def test_copies_of_an_aligned_address_have_the_variables_type(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 10, 99)]
    assert touched("mov %rdi,%rax; and $-64,%rax; mov %rax,%rcx; mov 8(%rcx),%rdx; ret") == ["node.key"]


def test_a_stale_variable_at_a_later_elements_member_is_ignored(fake: Fake, touched: Touched) -> None:
    to = fake.graph.pointer_to(fake.item)
    loop = "1: mov (%rsi),%rax; add $40,%rsi; dec %ecx; jne 1b; ret"
    for offset, said in ((64, "item.value"), (80, "item.id"), (120, "item.id")):
        fake.variables = [Place("v", to, PlaceKind.REGISTER, RDI, 0, 0, 4)]
        fake.variables += [Place("i", to, PlaceKind.REGISTER, RSI, 0, 4, 99)]
        assert touched(f"lea {offset}(%rdi),%rsi; {loop}") == [said]
    fake.variables[0] = Place("v", to, PlaceKind.REGISTER, RDX, 0, 0, 4)
    assert touched(f"lea 64(%rdi),%rsi; {loop}") == ["item.id"]


def test_of_two_variables_in_one_register_the_defining_one_counts(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    fake.variables = [
        Place("whole", graph.pointer_to(fake.item), PlaceKind.VALUE, RBX, -16, 0, 99),
        Place("part", graph.pointer_to(fake.link), PlaceKind.VALUE, RBX, -8, 0, 99),
    ]
    assert touched("mov -4(%rbx),%rax; mov 8(%rbx),%rcx; ret") == ["item.link.next", "item.value"]


def test_a_value_stored_to_a_pointer_has_its_type(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov %rsi,24(%rdi); mov 24(%rsi),%rax; ret") == ["node.owner", "item.value"]
    assert touched("mov %rsi,8(%rdi); mov 24(%rsi),%rax; ret") == ["node.key", "?"]


def test_a_read_before_a_lone_object_is_in_the_variables_type(fake: Fake, touched: Touched) -> None:
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


def test_a_store_after_an_object_counts_for_copies_too(fake: Fake, touched: Touched) -> None:
    """As where more is allocated than the object needs, and a member points to the rest."""
    fake.takes((RDI, fake.node))
    code = "lea 32(%rdi),%rax; mov %rax,%rcx; mov %rax,24(%rdi); mov 24(%rcx),%rdx; ret"
    assert touched(code) == ["node.owner", "item.value"]
    # What is put there may be elsewhere in the object.
    assert touched(code.replace("32(%rdi)", "16(%rdi)"))[1] == "?"


def test_a_list_head_in_the_frame_changes_through_its_links(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("l", fake.graph.pointer_to(fake.link), PlaceKind.REGISTER, RDI, 0, 0, 1)]
    code = "nop; sub $24,%rsp; mov %rdi,8(%rsp); lea 8(%rsp),%rdx; 1: mov 8(%rdi),%rdi; mov %rdi,(%rdx)\n"
    code += "lea 8(%rdi),%rdx; test %rdi,%rdi; jne 1b; mov 8(%rsp),%rcx; mov 8(%rcx),%rax; ret"
    assert touched(code)[-1] == "link.prev"


def test_a_pointer_cast_at_its_store_has_the_variables_type(fake: Fake, touched: Touched) -> None:
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


def test_a_multiplied_register_is_no_pointer_despite_its_variable(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.table))
    fake.variables = [
        Place("it", fake.graph.pointer_to(fake.double), PlaceKind.REGISTER, RSI, 0, 0, 99),
        Place("of", fake.graph.pointer_to(fake.table), PlaceKind.REGISTER, RDI, 0, 0, 99),
    ]
    assert touched("mov 8(%rdi,%rsi,8),%rax; ret") == ["table.of[]"]
    assert touched("shl $3,%rsi; mov 8(%rdi,%rsi),%rax; ret") == ["table.of[]"]
    assert touched("movslq 8(%rsp),%rsi; shl $3,%rsi; sub %rsi,%rdi; mov 64(%rdi),%rax; ret")[-1] == "table.of[]"
    assert touched("lea (%rsi,%rsi,8),%rax; mov 8(%rdi,%rax,8),%rax; ret") == ["table.of[]"]


def test_a_variable_selects_one_of_several_pointers_to_pointers(fake: Fake, touched: Touched) -> None:
    texts = fake.graph.pointer_to(fake.item)
    fake.takes((RDI, in_union(fake, fake.node, texts)))
    assert touched("mov (%rdi),%rax; mov (%rax),%rcx; ret")[-1] == "?"
    fake.variables = [Place("texts", fake.graph.pointer_to(texts), PlaceKind.MEMORY, RDI, 0, 0, 99)]
    assert touched("mov (%rdi),%rax; mov (%rax),%rcx; mov 24(%rcx),%rcx; ret")[-1] == "item.value"


def test_a_variable_that_starts_after_a_load_types_it(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.CFA, -1, -24, 5, 100)]
    assert touched("mov -16(%rsp), %rax\n mov 8(%rax), %rcx\n ret") == ["frame-24", "node.key"]


def test_a_variable_types_the_base_of_a_computed_address(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 4, 100)]
    assert touched("lea -8(%rdi), %rax\n mov (%rdi), %rcx\n mov (%rax), %rdx\n ret") == ["node.key", "node.next"]


def test_a_variable_does_not_type_an_address_of_another_path(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 8, 100)]
    code = "test %esi, %esi\n {} lea -8(%rdi), %rax\n 1: mov (%rdi), %rcx\n ret"
    assert touched(code.format("je 1f\n")) == ["?"]
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 6, 100)]
    assert touched(code.format("")) == ["node.key"]


@pytest.mark.parametrize(
    ("kept", "walk", "read", "expected"),
    [
        ("node", "", "8(%rbx),%rax", "node.key"),
        ("char", "", "(%rbx),%al", "?"),
        ("char", "2: cmpb $0,(%rbx); lea 1(%rbx),%rbx; jne 2b", "(%rbx),%al", "char."),
    ],
)
def test_a_possible_void_pointer_has_its_other_type(
    fake: Fake, touched: Touched, kept: str, walk: str, read: str, expected: str
) -> None:
    """A byte pointer may stand for anything, unless its bytes are iterated."""
    graph = fake.graph
    char = graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    t = char if kept == "char" else fake.node
    fake.variables = [Place("n", graph.pointer_to(t), PlaceKind.REGISTER, RBX, 0, 0, 1)]
    code = f"nop; {walk}; test %rsi,%rsi; je 1f; call 3f; mov %rax,%rbx; 1: mov {read}; ret; .p2align 6; 3: ret"
    for returned, known in ((graph.pointer_to(graph.add(TypeRecord(Kind.VOID))), expected), (fake.long, "?")):
        fake.prototypes[0x40] = Prototype("make", returned, (), 0x40)
        assert touched(code)[-1] == known


@pytest.mark.parametrize(
    ("known", "behind", "expected"),
    [
        ("either", 32, "node.key"),
        ("either", 40, "item.link.next"),
        ("either", 24, "?"),
        ("node", 32, "node.key"),
        ("item", 40, "item.link.next"),
    ],
)
def test_accesses_past_an_object_select_its_type(
    fake: Fake, touched: Touched, known: str, behind: int, expected: str
) -> None:
    char = fake.graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    pointer = fake.graph.pointer_to
    of = in_union(fake, fake.node, fake.item) if known == "either" else pointer(getattr(fake, known))
    fake.variables = [
        Place("of", pointer(of), PlaceKind.REGISTER, RDI, 0, 0, 3),
        Place("text", pointer(char), PlaceKind.VALUE, RAX, behind, 3, 99),
    ]
    assert touched("mov (%rdi),%rax; mov 8(%rax),%rcx; ret")[-1] == expected


def test_a_variables_type_holds_for_the_source_of_a_copy(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    members = (fake.member("link", 0, 16, fake.link), fake.member("value", 16, 8, fake.long))
    around = graph.add(TypeRecord(Kind.STRUCT, "around", 24, keyword="struct", members=members))
    fake.variables = [
        Place("link", graph.pointer_to(fake.link), PlaceKind.REGISTER, RDI, 0, 0, 3),
        Place("around", graph.pointer_to(around), PlaceKind.REGISTER, RBX, 0, 3, 99),
    ]
    assert touched("mov %rdi,%rbx; mov 16(%rdi),%rax; ret") == ["around.value"]
    # Behind another instruction it may be said of something else.
    fake.variables[1] = fake.variables[1]._replace(low=4)
    assert touched("mov %rdi,%rbx; nop; mov 16(%rdi),%rax; ret") != ["around.value"]


@pytest.mark.parametrize("given", ["void", "long"])
def test_a_void_pointer_has_the_type_known_otherwise(fake: Fake, touched: Touched, given: str) -> None:
    graph = fake.graph
    t = graph.pointer_to(graph.add(TypeRecord(Kind.VOID))) if given == "void" else fake.long
    found = "node.key" if given == "void" else "?"
    held = graph.add(TypeRecord(Kind.STRUCT, "held", 8, keyword="struct", members=(fake.member("of", 0, 8, t),)))
    fake.variables = [
        Place("held", graph.pointer_to(held), PlaceKind.REGISTER, RDI, 0, 0, 99),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RBX, 0, 0, 1),
    ]
    assert touched("nop; test %rsi,%rsi; je 1f; mov (%rdi),%rbx; 1: mov 8(%rbx),%rax; ret") == ["held.of", found]
    # An index makes something else of it.
    moved = "nop; test %rsi,%rsi; je 1f; mov (%rdi),%rbx; add %rsi,%rbx; 1: mov 8(%rbx),%rax; ret"
    assert touched(moved) == ["held.of", "?"]
    # As the function's parameter, of which a variable says later, and on one way, what it is.
    fake.variables = [
        Place("any", t, PlaceKind.REGISTER, RDI, 0, 0, 99),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 5, 8),
    ]
    assert touched("test %rsi,%rsi; je 1f; mov (%rdi),%rax; 1: mov 8(%rdi),%rax; ret") == ["node.next", found]
    # What is made of it says what it was.
    fake.variables[1] = Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 4, 99)
    assert touched("lea -8(%rdi),%rax; mov (%rdi),%rcx; ret") == ["node.key"]
