"""Which of a union's pointees is meant, by its other uses."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble, in_union

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.member_access import same_offset_from_other_pointer
from undwarf.types.evidence.union_pointee_by_use import (
    union_member_by_all_uses,
    union_member_by_use,
    union_member_of_holder,
)
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind

RBX, RSI, RDI = 3, 4, 5


@pytest.fixture
def fake() -> Fake:
    """The function takes a union of a `struct node *` and a `struct item *`, and its callees one of these."""
    made = Fake()
    members = tuple(
        made.member(name, 0, 8, made.graph.pointer_to(t)) for name, t in (("n", made.node), ("i", made.item))
    )
    made.takes((RDI, made.graph.add(TypeRecord(Kind.UNION, "either", 8, members=members, keyword="union"))))
    return made


def types_in(fake: Fake, text: str, where: Path, *, whole: bool = False) -> list[str]:
    """The type that each access is in, through a pointer to one of two types or to an incomplete one.

    ``whole``: by all uses of the pointer in the function.
    """
    code = assemble(text, where)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    program = ProgramContext(fake, MACHINE, callee=lambda address: fake.prototypes.get(address))
    tracker = Tracker(program, flow, 0, len(code))
    graph = fake.graph
    found = []
    for k in range(len(flow.instructions)):
        for number, operand in enumerate(flow.instructions[k].memory):
            tracker.before(k)
            at = tracker.address_of(k, number)
            if operand.access and at is not None and at[0] == 2 and (graph.choices(at[1]) or not graph.size(at[1])):
                t = (
                    union_member_by_all_uses(tracker, k, at)
                    if whole
                    else union_member_by_use(tracker, k, operand, at, operand.size)
                )
                found.append(graph.name(t) if t else "?")
                assert tracker.address_of(k, number) == at
    return found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # One access alone: both have something of that size there.
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; ret", ["?"]),
        # Nobody reads half of a pointer: the other access tells, before or behind.
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; mov 16(%rax),%edx; ret", ["node", "node"]),
        ("mov (%rdi),%rax; mov 16(%rax),%edx; mov 8(%rax),%rcx; ret", ["node", "node"]),
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; mov 32(%rax),%rdx; ret", ["item", "item"]),
        ("mov (%rdi),%rax; mov %rax,%rbx; mov 8(%rax),%rcx; xor %eax,%eax; mov 16(%rbx),%edx; ret", ["node", "node"]),
        # Not where the register has something else by then, or other ways lead.
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; lea 64(%rsp),%rax; mov 16(%rax),%edx; ret", ["?"]),
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; 1: dec %rcx; jne 1b; ret; mov 16(%rax),%edx", ["?"]),
        ("mov (%rdi),%rax; jrcxz 1f; mov 16(%rax),%edx; ret; 1: mov 8(%rax),%rcx; ret", ["node", "?"]),
        # What fits neither of them tells nothing.
        ("mov (%rdi),%rax; mov 16(%rax),%edx; mov 32(%rax),%rcx; ret", ["?", "?"]),
        # Two numbers that are copied together may be meant; compared, they are one.
        ("mov (%rdi),%rax; mov (%rax),%rcx; ret", ["?"]),
        ("mov (%rdi),%rax; cmpq $0,(%rax); ret", ["node"]),
        # A number leads nowhere.
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; mov (%rcx),%rdx; ret", ["item"]),
        ("mov (%rdi),%rax; mov (%rax),%rcx; mov 16(%rcx),%edx; ret", ["node"]),
        # The pointer is kept on the stack over a call.
        (
            "mov (%rdi),%rax; mov 16(%rax),%edx; mov %rax,8(%rsp); call 1f; mov 8(%rsp),%rax; mov 8(%rax),%rcx; 1: ret",
            ["node", "node"],
        ),
        ("mov (%rdi),%rax; mov 16(%rax),%edx; call 1f; mov 8(%rax),%rcx; 1: ret", ["node"]),
    ],
)
def test_a_union_pointee_fits_all_uses(fake: Fake, tmp_path: Path, text: str, names: list[str]) -> None:
    assert types_in(fake, text, tmp_path) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # 64: a function that takes a pointer to an item.
        ("mov (%rdi),%rsi; mov 8(%rsi),%rcx; call .+57; ret", ["item"]),
        ("mov (%rdi),%rsi; mov 8(%rsi),%rcx; mov %rcx,%rsi; call .+54; ret", ["?"]),
        # What an item's owner is, is no item; what a node's is, is.
        ("mov (%rdi),%rax; mov 24(%rax),%rsi; call .+57; ret", ["node"]),
    ],
)
def test_a_callees_parameter_selects_the_union_pointee(fake: Fake, tmp_path: Path, text: str, names: list[str]) -> None:
    fake.takes((RSI, fake.item), at=64)
    assert types_in(fake, text, tmp_path) == names


def test_a_functions_variables_give_its_parameter_registers(fake: Fake, tmp_path: Path) -> None:
    # As without variables, if they say so: compilers may leave parameters out.
    either = fake.prototypes[0].arguments[0][1]
    fake.takes((RSI, fake.item), at=64)
    fake.variables.append(Place("it", fake.graph.target(either), PlaceKind.MEMORY, RDI, 0, 0, 9))
    text = "mov (%rdi),%rsi; mov 8(%rsi),%rcx; call .+57; ret"
    assert types_in(fake, text, tmp_path) == ["?"]
    fake.variables.append(Place("one", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RSI, 0, 64, 65))
    assert types_in(fake, text, tmp_path) == ["node"]


def test_a_parameter_of_bytes_takes_any_object(fake: Fake, tmp_path: Path) -> None:
    fake.takes((RSI, fake.graph.add(TypeRecord(Kind.CHAR, "char", 1))), at=64)
    assert types_in(fake, "mov (%rdi),%rsi; mov 16(%rsi),%ecx; call .+57; ret", tmp_path) == ["node"]
    # But no number.
    assert types_in(fake, "mov (%rdi),%rax; mov 8(%rax),%rsi; call .+57; ret", tmp_path) == ["item"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # 40 bytes from one to the next are items, 32 are nodes.
        ("mov (%rdi),%rax; 1: mov 8(%rax),%rcx; add $40,%rax; dec %edx; jne 1b; ret", ["item"]),
        ("mov (%rdi),%rax; lea (%rcx,%rcx,4),%rcx; mov 32(%rax,%rcx,8),%rdx; ret", ["item"]),
        ("mov (%rdi),%rax; 1: mov 8(%rax),%rcx; add $32,%rax; dec %edx; jne 1b; ret", ["node"]),
        # Of 8 bytes neither is, nor has it an array.
        ("mov (%rdi),%rax; 1: mov 8(%rax),%rcx; add $8,%rax; dec %edx; jne 1b; ret", ["?"]),
        # What is read of the first one is no step further.
        ("mov (%rdi),%rax; mov 16(%rax),%ebx; lea (%rcx,%rcx,4),%rcx; mov 32(%rax,%rcx,8),%rdx; ret", ["node", "?"]),
    ],
)
def test_a_stride_selects_the_union_pointee_of_its_size(
    fake: Fake, tmp_path: Path, text: str, names: list[str]
) -> None:
    assert types_in(fake, text, tmp_path) == names


def test_uses_in_the_first_iteration_count(fake: Fake, tmp_path: Path) -> None:
    text = "mov (%rdi),%rax; mov 8(%rax),%rcx; 1: mov 16(%rax),%edx; dec %esi; jnz 1b; ret"
    assert types_in(fake, text, tmp_path)[0] == "node"
    # Where another way joins, something else may be meant.
    text = "mov (%rdi),%rax; mov 8(%rax),%rcx; jmp 1f; xor %eax,%eax; 2: jmp 1f; 1: mov 16(%rax),%edx; ret; jmp 2b"
    assert types_in(fake, text, tmp_path)[0] == "?"


def test_an_indexs_stride_is_that_of_the_loaded_pointee(fake: Fake, tmp_path: Path) -> None:
    graph, member = fake.graph, fake.member
    rows = [
        graph.add(
            TypeRecord(
                Kind.STRUCT,
                f"of_{graph.name(t)}",
                16,
                members=(member("n", 0, 8, fake.long), member("of", 8, 8, graph.pointer_to(t))),
            )
        )
        for t in (fake.node, fake.item)
    ]
    either = tuple(member(graph.name(t), 0, 8, graph.pointer_to(t)) for t in rows)
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "either", 8, members=either, keyword="union"))))
    text = "lea (%rsi,%rsi,4),%rdx; mov (%rdi),%rax; mov 8(%rax),%rcx; lea (%rcx,%rdx,8),%rdx; ret"
    assert types_in(fake, text, tmp_path) == ["of_item"]
    assert types_in(fake, text.replace("(%rsi,%rsi,4)", "(,%rsi,4)"), tmp_path) == ["of_node"]
    assert types_in(fake, text.replace("(%rsi,%rsi,4)", "(%rsi)"), tmp_path) == ["?"]


@pytest.mark.parametrize("kind", [Kind.STRUCT, Kind.FORWARD])
def test_a_later_variable_selects_the_union_pointee(fake: Fake, tmp_path: Path, kind: Kind) -> None:
    opaque = fake.graph.add(TypeRecord(kind, "opaque", 0, keyword="struct"))
    fake.variables.append(Place("it", fake.graph.pointer_to(opaque), PlaceKind.REGISTER, RDI, 0, 0, 7))
    text = "mov 8(%rdi),%rcx; mov %rdi,%rbx; xor %edi,%edi; nop; ret"
    assert types_in(fake, text, tmp_path) == ["?"]
    fake.variables.append(Place("one", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RBX, 0, 9, 10))
    assert types_in(fake, text, tmp_path) == ["node"]
    # Where two things are said, none is.
    fake.variables.append(Place("two", fake.graph.pointer_to(fake.item), PlaceKind.REGISTER, RBX, 0, 10, 11))
    assert types_in(fake, text, tmp_path) == ["?"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # Who comes there may have come from where it is told, or goes on to there.
        ("mov (%rdi),%rax; jrcxz 1f; mov 16(%rax),%edx; 1: mov 8(%rax),%rcx; ret", ["node", "node"]),
        ("mov (%rdi),%rax; mov 8(%rax),%rcx; jrcxz 1f; dec %ecx; jz 1f; ret; 1: mov 16(%rax),%edx; ret",
         ["node", "node"]),
        ("mov (%rdi),%rax; 1: mov 8(%rax),%rcx; dec %esi; jz 2f; dec %edx; jz 1b; ret; 2: mov 16(%rax),%edx; jmp 1b",
         ["node", "node"]),
        # From there it is loaded once more.
        ("1: mov (%rdi),%rax; jrcxz 2f; mov 16(%rax),%edx; jmp 1b; 2: mov 8(%rax),%rcx; ret", ["node", "?"]),
        # It is the same pointer from the stack, but another one that is loaded once more.
        ("mov (%rdi),%rax; mov %rax,-8(%rsp); jrcxz 1f; mov 16(%rax),%edx; 1: mov -8(%rsp),%rsi; mov 8(%rsi),%rcx",
         ["node", "node"]),
        ("mov (%rdi),%rax; jrcxz 1f; mov 16(%rax),%edx; 1: mov (%rdi),%rsi; mov 8(%rsi),%rcx; ret", ["node", "?"]),
        # Another way says which one it is.
        ("mov (%rdi),%rax; jrcxz 1f; mov 16(%rax),%edx; ret; 1: mov 8(%rax),%rcx; ret", ["node", "node"]),
        ("mov (%rdi),%rax; jrcxz 1f; mov 16(%rax),%edx; ret; 1: mov 8(%rax),%rcx; mov 32(%rax),%rcx; ret",
         ["node", "item", "item"]),
    ],
)  # fmt: skip  # a table
def test_all_uses_in_the_function_select_the_pointee(fake: Fake, tmp_path: Path, text: str, names: list[str]) -> None:
    assert types_in(fake, text, tmp_path, whole=True) == names


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        # Nothing of the object, or of what the pointer leads to, says what the union holds: the same on all ways.
        ("cmpl $3,%ecx", ["large", "large"]),
        ("cmpq $3,8(%rsi)", ["large", "large"]),
        ("cmpl $3,8(%rdi)", ["large", "?"]),
        ("cmpl $3,(%rax)", ["large", "large", "?"]),
    ],
)
def test_uses_on_one_path_say_nothing_of_a_tagged_other(
    fake: Fake, tmp_path: Path, asked: str, names: list[str]
) -> None:
    graph = fake.graph
    number = graph.add(TypeRecord(Kind.INT, "int", 4))
    first, eighth, last = (fake.member(f"at{offset}", offset, 4, number) for offset in (0, 8, 24))
    small = graph.add(TypeRecord(Kind.STRUCT, "small", 16, members=(first, eighth)))
    large = graph.add(TypeRecord(Kind.STRUCT, "large", 32, members=(first, eighth, last)))
    both = fake.member("to", 0, 8, in_union(fake, small, large))
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "holder", 16, members=(both, eighth)))), (RSI, fake.node))
    text = f"mov (%rdi),%rax; {asked}; je 1f; mov 24(%rax),%edx; ret; 1: mov 8(%rax),%ecx; ret"
    assert types_in(fake, text, tmp_path, whole=True) == names


def test_a_typed_pointer_beside_void_pointers_counts_if_it_fits(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    members = (fake.member("n", 0, 8, graph.pointer_to(fake.node)), fake.member("p", 0, 8, graph.pointer_to(0)))
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "one", 8, members=members, keyword="union"))))
    assert types_in(fake, "mov (%rdi),%rax; mov 16(%rax),%edx; ret", tmp_path) == ["node"]
    # No member of a node.
    assert types_in(fake, "mov (%rdi),%rax; mov 16(%rax),%edx; mov 20(%rax),%ecx; ret", tmp_path) == ["?", "?"]
    assert types_in(fake, "mov (%rdi),%rax; mov 32(%rax),%rdx; ret", tmp_path) == ["?"]
    # Text may be anything as well; more than a byte at once is none.
    char = graph.add(TypeRecord(Kind.CHAR, "char", 1))
    text = (fake.member("s", 0, 8, graph.pointer_to(char)), fake.member("p", 0, 8, graph.pointer_to(0)))
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "text", 8, members=text, keyword="union"))))
    assert types_in(fake, "mov (%rdi),%rax; movzbl (%rax),%edx; ret", tmp_path) == ["char"]
    assert types_in(fake, "mov (%rdi),%rax; mov (%rax),%rdx; ret", tmp_path) == ["?"]


def test_a_character_pointer_reaches_only_near_offsets(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    byte = graph.add(TypeRecord(Kind.CHAR, "char", 1))
    flags = fake.member("flags", 40, 1, byte)
    index = graph.add(TypeRecord(Kind.STRUCT, "index", 48, members=(fake.member("kind", 8, 1, byte), flags)))
    members = tuple(fake.member(n, 0, 8, graph.pointer_to(t)) for n, t in (("i", index), ("text", byte)))
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "either", 8, members=members, keyword="union"))))
    assert types_in(fake, "mov (%rdi),%rax; movzbl 40(%rax),%edx; ret", tmp_path) == ["index"]
    assert types_in(fake, "mov (%rdi),%rax; movzbl 8(%rax),%edx; ret", tmp_path) == ["?"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("mov %rdi,(%rax); ret", "node"),
        ("mov %rsi,(%rax); ret", "?"),
        # What the register holds then, not what it does where its uses end.
        ("mov %rsi,(%rax); mov %rdi,%rsi; nop; ret", "?"),
        ("mov %rdi,(%rax); xor %edi,%edi; nop; ret", "node"),
    ],
)
def test_an_address_is_stored_where_no_float_is(fake: Fake, tmp_path: Path, code: str, expected: str) -> None:
    graph = fake.graph
    double = graph.add(TypeRecord(Kind.FLOAT, "double", 8))
    shape = graph.add(TypeRecord(Kind.STRUCT, "shape", 16, members=(fake.member("left", 0, 8, double),)))
    fake.takes((RDI, in_union(fake, fake.node, shape)))
    assert types_in(fake, f"mov (%rdi),%rax; {code}", tmp_path) == [expected]


def test_padding_between_members_is_copied_with_them(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    byte, number = graph.add(TypeRecord(Kind.CHAR, "char", 1)), graph.add(TypeRecord(Kind.INT, "long", 8))
    tagged = (fake.member("tag", 0, 1, byte), fake.member("flags", 1, 1, byte), fake.member("value", 8, 8, number))
    value = graph.add(TypeRecord(Kind.STRUCT, "value", 16, members=tagged))
    fake.takes((RDI, in_union(fake, value, byte)))
    copied = "mov (%rdi),%rax; mov {},%rdx; mov %rdx,16(%rsp); mov {},%rdx; mov %rdx,24(%rsp); ret"
    assert types_in(fake, copied.format("(%rax)", "8(%rax)"), tmp_path) == ["value", "value"]
    assert types_in(fake, copied.format("1(%rax)", "8(%rax)"), tmp_path) == ["?", "?"]


def test_integers_of_several_sizes_are_selected_by_size(fake: Fake, tmp_path: Path) -> None:
    graph = fake.graph
    short = graph.add(TypeRecord(Kind.INT, "short", 2))
    members = tuple(fake.member(graph.name(t), 0, 8, graph.pointer_to(t)) for t in (short, fake.int, fake.double))
    union = graph.add(TypeRecord(Kind.UNION, "numbers", 8, members=members, keyword="union"))
    fake.takes((RDI, union))
    text = "mov (%rdi),%rax; movzwl (%rax,%rsi,2),%edx; mov (%rdi),%rax; mov (%rax,%rsi,4),%edx; ret"
    assert types_in(fake, text, tmp_path) == ["short", "int"]
    same = graph.add(
        TypeRecord(Kind.UNION, "other", 8, members=(*members, fake.member("n", 0, 8, graph.pointer_to(fake.long))))
    )
    fake.takes((RDI, same))
    assert types_in(fake, text, tmp_path) == []


def test_elements_have_all_accessed_members_and_seldom_links(fake: Fake, tmp_path: Path) -> None:
    graph, member = fake.graph, fake.member
    entry, leading, plain = (graph.add(TypeRecord(Kind.STRUCT, name, 16, keyword="struct")) for name in "elp")
    graph.record(entry).members = (member("n", 0, 8, fake.long), member("next", 8, 8, graph.pointer_to(entry)))
    graph.record(leading).members = (member("n", 0, 8, fake.long), member("at", 8, 8, graph.pointer_to(fake.long)))
    graph.record(plain).members = (member("n", 0, 8, fake.long), member("m", 8, 8, fake.long))
    text = "mov (%rdi),%rax; shl $4,%rcx; {} mov (%rax,%rcx),%rdx; ret"
    for types, more, names in (
        ((entry, plain), "", ["p"]),
        ((leading, plain), "", ["?"]),
        # Nobody reads a byte of a pointer.
        ((leading, plain), "mov 15(%rax,%rcx),%sil;", ["p", "p"]),
    ):
        fake.takes((RDI, in_union(fake, *types)))
        assert types_in(fake, text.format(more), tmp_path) == names


@pytest.mark.parametrize(
    ("access", "found"),
    [
        ("mov (%rsi,%rax),%ecx", "item+0"),
        ("mov 24(%rax,%rsi),%rcx", "item+24"),
        # The other pointer of the difference goes on with this one, or may.
        ("add $40,%rsi; mov (%rsi,%rax),%ecx", None),
        ("mov (%rsi,%rax,2),%ecx", None),
        ("mov 48(%rsi,%rax),%ecx", None),
    ],
)
def test_a_copied_array_has_its_elements_at_the_same_offsets(
    fake: Fake, tmp_path: Path, access: str, found: str | None
) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    code = assemble(f"sub %rdi,%rax; {access}; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    k = len(flow.instructions) - 2
    tracker.before(k)
    operand = flow.instructions[k].memory[0]
    located = same_offset_from_other_pointer(tracker, operand, operand.size)
    assert (f"{fake.graph.name(located.type)}+{located.offset}" if located else None) == found


def test_a_pointer_points_to_what_its_source_member_does(fake: Fake, tmp_path: Path) -> None:
    # Two that lead on to an item and to a node; which of them it is a number tells that only one of them has.
    graph, member = fake.graph, fake.member
    ways = []
    to_node = graph.pointer_to(fake.node)
    for name, t, other in (
        ("to_item", fake.item, member("n", 8, 4, fake.int)),
        ("to_node", fake.node, member("up", 8, 8, to_node)),
    ):
        members = (member("on", 0, 8, graph.pointer_to(t)), other)
        ways.append(graph.add(TypeRecord(Kind.STRUCT, name, 16, members=members, keyword="struct")))
    fake.takes((RDI, in_union(fake, *ways)))
    code = assemble("mov (%rdi),%rax; mov 8(%rax),%edx; mov (%rax),%rcx; mov 8(%rcx),%rsi; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    tracker.before(3)
    at = tracker.address_of(3, 0)
    assert at is not None
    assert graph.choices(at[1])
    assert not union_member_by_use(tracker, 3, flow.instructions[3].memory[0], at, 8)
    assert graph.name(union_member_of_holder(tracker, 3, at)) == "item"
    assert tracker.address_of(3, 0) == at
    # What the first pointer leads to is told by nothing.
    code = assemble("mov (%rdi),%rax; mov (%rax),%rcx; mov 8(%rcx),%rsi; ret", tmp_path)
    tracker = Tracker(ProgramContext(fake, MACHINE), FunctionFlow(MACHINE.listing(code, 0), MACHINE), 0, len(code))
    tracker.before(2)
    at = tracker.address_of(2, 0)
    assert at is not None
    assert not union_member_of_holder(tracker, 2, at)


def test_every_third_word_is_of_no_array_of_pointers(fake: Fake, tmp_path: Path) -> None:
    # A list of elements that begin with a pointer, and something else.
    graph, member = fake.graph, fake.member
    members = (
        member("of", 0, 8, graph.pointer_to(fake.node)),
        member("n", 8, 8, fake.long),
        member("m", 16, 8, fake.long),
    )
    element = graph.add(TypeRecord(Kind.STRUCT, "element", 24, members=members, keyword="struct"))
    elements = graph.add(TypeRecord(Kind.ARRAY, target=element, count=-1))
    members = (member("n", 0, 4, fake.int), member("a", 8, 0, elements))
    several = graph.add(TypeRecord(Kind.STRUCT, "list", 8, members=members, keyword="struct"))
    fake.takes((RDI, in_union(fake, several, fake.link)))
    text = "mov (%rdi),%rax; lea (%rcx,%rcx,2),%rcx; mov 8(%rax,%rcx,8),%rdx; mov 16(%rdx),%esi; ret"
    assert types_in(fake, text, tmp_path) == ["list"]
