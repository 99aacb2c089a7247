"""Values in the stack frame: spills, escaped addresses, buffers."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble
from tests.support.types.tracked import RDI, RSI, RSP, Touched

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind, Prototype


def test_spills_and_reloads(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "sub $24,%rsp; mov %rdi,8(%rsp); xor %edi,%edi; mov 8(%rsp),%rax; mov 8(%rax),%rax; add $24,%rsp; ret"
    assert touched(text) == ["frame-24", "frame-24", "node.key"]


@pytest.mark.parametrize(("place", "known"), [("8(%rsp)", "?"), ("16(%rsp)", "node.key")])
def test_an_address_passed_later_counts_at_calls_before(fake: Fake, touched: Touched, place: str, known: str) -> None:
    """An address passed to a later call may have escaped to an earlier one in the last iteration."""
    fake.takes((RDI, fake.node))
    text = "sub $40,%rsp; mov %rdi,8(%rsp); call .+99; test %eax,%eax; je 1f; 1: mov 8(%rsp),%rax; mov 8(%rax),%rax"
    assert touched(f"{text}; lea {place},%rdi; call .+99; ret") == ["frame-40", "frame-40", known]


def test_a_partly_overwritten_slot_is_forgotten(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "mov %rdi,-8(%rsp); movb $1,{}(%rsp); mov -8(%rsp),%rax; mov 8(%rax),%rax; ret"
    assert touched(text.format(-5))[-1] == "?"
    assert touched(text.format(-9))[-1] == "node.key"


@pytest.mark.parametrize(
    ("change", "known"),
    [("lock orq $0,-8(%rsp)", True), ("lock addl $0,-8(%rsp)", True), ("orq $1,-8(%rsp)", False)],
)
def test_a_memory_barrier_on_the_stack_changes_no_slot(fake: Fake, touched: Touched, change: str, known: bool) -> None:
    fake.takes((RDI, fake.node))
    text = f"mov %rdi,-8(%rsp); {change}; mov -8(%rsp),%rax; mov 8(%rax),%rax; ret"
    assert touched(text)[-1] == ("node.key" if known else "?")


def test_a_callee_may_change_escaped_slots(fake: Fake, touched: Touched) -> None:
    fake.takes((RSI, fake.node))
    text = "push %rsi; {}; call .+0x100; mov (%rsp),%rax; mov 8(%rax),%rax; ret"
    assert touched(text.format("lea (%rsp),%rdi"))[-1] == "?"
    assert touched(text.format("xor %edi,%edi"))[-1] == "node.key"


def test_a_loop_reached_by_exceptions_only_converges(fake: Fake, touched: Touched) -> None:
    """Its start has no predecessor but its end, as far as code shows; ``touched`` checks that all was followed."""
    fake.takes((RDI, fake.node))
    loop = "1: dec %r15; je 2f; lea 88(%r14),%rbx; mov %r14,%rdi; call .+99; mov %rbx,%r14; jmp 1b"
    assert touched(f"mov 8(%rdi),%rax; ret; nop; {loop}; 2: mov 8(%rbx),%rax; ret") == ["node.key", "?"]


def test_push_and_pop_keep_values(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("push %rdi; xor %edi,%edi; pop %rbx; mov 8(%rbx),%rax; ret") == ["node.key"]


def test_a_pointer_in_the_frame_may_be_advanced_there(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdi, -8(%rsp)\n {} mov -8(%rsp), %rax\n mov 16(%rax), %ecx\n ret"
    assert touched(code.format("addq $32, -8(%rsp)\n"))[-1] in ("node.hits", "?")
    assert touched(code.format(""))[-1] == "node.hits"


def test_a_char_pointer_in_the_frame_may_be_advanced_there(fake: Fake, touched: Touched) -> None:
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


def test_slots_after_a_variable_outlive_its_scope(fake: Fake, touched: Touched) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 5))
    fake.variables.append(Place("size", fake.int, PlaceKind.CFA, -1, -20, 10, 12))
    code = "mov %rdi, -8(%rsp)\n lea -12(%rsp), %rdi\n call *%rbx\n call *%rbx\n mov -8(%rsp), %rax\n"
    assert touched(code + "mov 8(%rax), %rcx\n ret")[-1] == "node.key"
    fake.variables.append(Place("other", fake.node, PlaceKind.CFA, -1, -20, 16, 20))
    assert touched(code + "mov 8(%rax), %rcx\n ret")[-1] == "?"


@pytest.mark.parametrize(("room", "expected"), [("node", "node.key"), ("item", "?")])
def test_a_pointer_to_a_frame_buffer_or_the_heap_keeps_its_type(
    fake: Fake, touched: Touched, room: str, expected: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1))
    fake.variables.append(Place("room", getattr(fake, room), PlaceKind.CFA, -1, -64, 0, 100))
    code = "nop\n lea -56(%rsp), %rax\n test %rsi, %rsi\n je 1f\n mov (%rdi), %rax\n 1: mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == expected


def test_a_store_through_a_possible_frame_pointer_changes_slots(fake: Fake, touched: Touched) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1))
    fake.variables.append(Place("room", fake.node, PlaceKind.CFA, -1, -64, 0, 2))
    code = "nop\n mov %rdi, -56(%rsp)\n lea -56(%rsp), %rax\n test %rsi, %rsi\n je 1f\n mov (%rdi), %rax\n"
    code += "1: {} mov -56(%rsp), %rdx\n mov 8(%rdx), %rcx\n ret"
    assert touched(code.format("movq $1, (%rax)\n"))[-1] == "?"
    assert touched(code.format(""))[-1] == "node.key"


@pytest.mark.parametrize(("base", "expected"), [("lea -56(%rsp), %rsi", "node.key"), ("lea -96(%rsp), %rsi", "?")])
def test_an_indexed_store_into_a_variable_changes_no_others(
    fake: Fake, touched: Touched, base: str, expected: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 5))
    fake.variables.append(Place("room", fake.node, PlaceKind.CFA, -1, -64, 0, 100))
    # As the end of a copy whose size is not known: eight bytes before where that is added.
    code = f"mov %rdi, -16(%rsp)\n {base}\n mov %rdx, -8(%rsi,%rcx,8)\n mov -16(%rsp), %rax\n mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == expected


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("lea -71(%rsp,%rcx), %rsi\n movups %xmm0, -16(%rsi,%rdx)", "node.key"),
        ("movups %xmm0, -71(%rsp,%rcx)", "node.key"),
        ("lea -73(%rsp,%rcx), %rsi\n movups %xmm0, -16(%rsi,%rdx)", "?"),
        ("lea -71(%rsp,%rcx), %rsi\n mov %rax, -16(%rsi,%rdx)", "?"),
    ],
)
def test_a_store_across_a_variables_end_is_indexed_into_it(
    fake: Fake, touched: Touched, stored: str, expected: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 5))
    fake.variables.append(Place("room", fake.node, PlaceKind.CFA, -1, -64, 0, 100))
    code = f"mov %rdi, -16(%rsp)\n {stored}\n mov -16(%rsp), %rax\n mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == expected


@pytest.mark.parametrize("made", ["sub %rsi,%rsp", "mov %rsp,%rax; sub %rsi,%rax; mov %rax,%rsp"])
@pytest.mark.parametrize("room", ["mov %rsp,%rdi", "lea 15(%rsp),%rdi; and $-16,%rdi", "lea (%rsp,%rsi),%rdi"])
def test_a_store_into_an_alloca_buffer_changes_no_slot(fake: Fake, touched: Touched, made: str, room: str) -> None:
    fake.takes((RDI, fake.node))
    begin = f"push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rdi,-8(%rbp); and $-16,%rsi; {made}; {room}"
    end = "call .+0x100; movq $0,(%rax); mov -8(%rbp),%rdx; mov 8(%rdx),%rcx; leave; ret"
    assert touched(f"{begin}; mov %rdi,-16(%rbp); {end}")[-2:] == ["frame-24", "node.key"]
    # What leads into an array of the frame may change what lies behind that.
    assert touched(f"{begin}; lea -32(%rbp,%rsi),%rdi; {end}")[-2:] == ["frame-24", "?"]


def test_an_alloca_buffer_has_its_variables_type(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 11, 100)]
    code = "push %rbp; mov %rsp,%rbp; and $-16,%rsi; sub %rsi,%rsp; mov %rsp,%rdi; mov %rdx,8(%rdi); leave; ret"
    assert touched(code) == ["node.key"]


def test_a_callee_may_replace_a_pointer_passed_by_address(fake: Fake, touched: Touched) -> None:
    pointer = fake.graph.pointer_to
    code = "sub $24,%rsp; mov %rsi,8(%rsp); lea 8(%rsp),%rdi; call 1f; call 2f; mov 8(%rsp),%rax; mov 8(%rax),%rcx"
    code += "; add $24,%rsp; ret; 1: ret; 2: ret"
    fake.takes((RSI, fake.link))
    assert touched(code)[-1] == "?"
    fake.takes((RDI, pointer(fake.link)), at=0x26)
    assert touched(code)[-1] == "link.prev"
    fake.takes((RDI, pointer(fake.node)), at=0x26)
    assert touched(code)[-1] == "?"


@pytest.mark.parametrize("spoiled", [False, True])
def test_a_jump_tables_address_may_be_spilled(tmp_path: Path, spoiled: bool) -> None:
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


def test_an_object_passed_by_address_is_what_its_register_points_to(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("by_value", fake.node, PlaceKind.MEMORY, RDI, 0, 0, 3)]
    assert touched("mov %rdi,%rbx; mov 8(%rbx),%rax; ret") == ["node.key"]


def test_the_return_buffers_address_is_known(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("n", fake.int, PlaceKind.REGISTER, RSI, 0, 0, 9)]
    fake.prototypes[0] = Prototype("made", fake.item, (), 0)
    assert touched("mov %esi,4(%rdi); mov %rdi,%rax; ret") == ["item.flags"]


def test_a_callee_changes_only_the_variable_it_has_the_address_of(fake: Fake, touched: Touched) -> None:
    code = "sub $56,%rsp; mov %rdi,48(%rsp); lea 8(%rsp),%rdi; call 1f; mov 48(%rsp),%rax; mov 16(%rax),%ecx; ret"
    node = Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 9)
    for t, offset, found in ((fake.item, 8, "node.hits"), (fake.table, 8, "?"), (fake.item, 0, "node.hits")):
        fake.variables = [node, Place("i", t, PlaceKind.MEMORY, RSP, offset, 0, 99)]
        assert touched(code + "; 1: ret")[-1] == found
    fake.variables = [node]
    assert touched(code + "; 1: ret")[-1] == "?"


def test_a_pointer_to_the_frame_points_to_its_slot(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "nop; mov -8(%rsp),%rax; mov 24(%rax),%rcx; ret"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -48, 0, 99)]
    assert touched(code)[-1] == "node.owner"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -40, 0, 99)]
    assert touched(code)[-1] == "?"
    fake.variables = [Place("i", fake.graph.pointer_to(fake.item), PlaceKind.CFA_VALUE, -1, -48, 40, 99)]
    assert touched(code)[-1] == "?"


@pytest.mark.parametrize(("room", "expected"), [("node", "node.key"), ("item", "?")])
def test_a_select_of_a_frame_buffer_and_another_object_is_known(
    fake: Fake, touched: Touched, room: str, expected: str
) -> None:
    fake.variables.append(Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 1))
    fake.variables.append(Place("room", getattr(fake, room), PlaceKind.CFA, -1, -64, 0, 100))
    code = "nop\n lea -56(%rsp), %rax\n test %rsi, %rsi\n cmovne %rdi, %rax\n mov 8(%rax), %rcx\n ret"
    assert touched(code)[-1] == expected


@pytest.mark.parametrize(("other", "expected"), [("0", "frame-56"), ("1", "?")])
def test_a_frame_address_or_null_points_to_the_frame(fake: Fake, touched: Touched, other: str, expected: str) -> None:
    code = f"mov ${other}, %eax; test %rsi, %rsi; je 1f; lea -56(%rsp), %rax; 1: nop; jmp 2f; 2: mov 8(%rax), %rcx; ret"
    assert touched(code) == [expected]


def test_an_escaped_pointer_in_a_member_may_be_changed(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    code = "sub $24,%rsp; mov %rsi,8(%rsp); lea 8(%rsp),%rax; mov %rax,(%rdi); call .+99; mov 8(%rsp),%rax"
    for kept, found in ((fake.node, "node.key"), (fake.item, "?")):
        holder = graph.add(TypeRecord(Kind.STRUCT, "holder", 8, keyword="struct"))
        to_pointer = graph.pointer_to(graph.pointer_to(kept))
        graph.record(holder).members = (fake.member("indirect", 0, 8, to_pointer),)
        fake.takes((RDI, holder), (RSI, fake.node))
        assert touched(f"{code}; mov 8(%rax),%rcx; add $24,%rsp; ret")[-1] == found


@pytest.mark.parametrize(("taken", "expected"), [("link", "node.key"), ("item", "?"), ("byte", "?")])
def test_a_callee_changes_as_many_bytes_as_its_parameter_has(
    fake: Fake, touched: Touched, taken: str, expected: str
) -> None:
    graph = fake.graph
    t = graph.add(TypeRecord(Kind.INT, "char", 1)) if taken == "byte" else getattr(fake, taken)
    fake.takes((RSI, fake.node))
    code = "sub $40,%rsp; mov %rsi,24(%rsp); lea 8(%rsp),%rdi; call 1f; mov 24(%rsp),%rax; mov 8(%rax),%rcx"
    code += "; add $40,%rsp; ret; .p2align 6; 1: ret"
    fake.prototypes[0x40] = Prototype("g", 0, (("of", graph.pointer_to(t)),), 0x40)
    assert touched(code)[-1] == expected
    # What takes more later may have kept the address.
    fake.prototypes[0x80] = Prototype("h", 0, (("of", graph.pointer_to(fake.item)),), 0x80)
    more = code.replace("call 1f", "2: call 1f").replace("add $40", "lea 8(%rsp),%rdi; call 3f; jmp 2b; add $40")
    assert touched(more + "; .p2align 6; 3: ret")[-1] == "?"


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("memcpy", "lea 8(%rsp),%rdi; mov $16,%edx", "node.key"),
        ("memcpy", "lea 8(%rsp),%rdi; mov $24,%edx", "?"),
        ("memcpy", "lea 8(%rsp),%rdi; mov %ecx,%edx", "?"),
        ("memcpy", "lea 8(%rsp),%rsi; mov $24,%edx", "node.key"),
        ("other", "lea 8(%rsp),%rcx; mov $24,%edx", "node.key"),
        ("other", "lea 8(%rsp),%rdx; mov $24,%edi", "?"),
    ],
)
def test_memcpy_changes_its_size_and_escapes_nothing(
    fake: Fake, touched: Touched, name: str, code: str, expected: str
) -> None:
    graph = fake.graph
    fake.takes((RSI, fake.node))
    anything = graph.pointer_to(graph.add(TypeRecord(Kind.VOID)))
    parameters = (("to", anything), ("from", anything), ("n", fake.long if name == "memcpy" else anything))
    fake.prototypes[0x40] = Prototype(name, 0, parameters, 0x40)
    # Elsewhere something is called that takes two numbers to be there.
    fake.prototypes[0x80] = Prototype("g", 0, (("of", graph.pointer_to(fake.link)),), 0x80)
    text = f"sub $40,%rsp; mov %rsi,24(%rsp); {code}; call 1f; mov 24(%rsp),%rax; mov 8(%rax),%rcx; lea 8(%rsp),%rdi"
    text += "; call 2f; add $40,%rsp; ret; .p2align 6; 1: ret; .p2align 6; 2: ret"
    assert touched(text)[-1] == expected


@pytest.mark.parametrize(
    ("name", "code", "own", "expected"),
    [
        ("strcmp@plt", "lea 8(%rsp),%rdi", False, "node.key"),
        ("strcmp@plt", "lea 8(%rsp),%rdx", False, "node.key"),
        ("strcpy@plt", "lea 8(%rsp),%rdi", False, "?"),
        ("strcpy@plt", "lea 8(%rsp),%rsi", False, "node.key"),
        ("malloc@plt", "lea 8(%rsp),%rcx", False, "node.key"),
        ("strcmp", "lea 8(%rsp),%rdi", True, "?"),
        # Compilers call it themselves, and know what it does.
        ("memset", "lea 8(%rsp),%rdi; mov $16,%edx", True, "node.key"),
        ("compared", "lea 8(%rsp),%rdi", False, "?"),
    ],
)
def test_the_c_librarys_parameters_are_known_without_a_prototype(
    fake: Fake, touched: Touched, monkeypatch: pytest.MonkeyPatch, name: str, code: str, own: bool, expected: str
) -> None:
    fake.takes((RSI, fake.node))
    fake.prototypes[0x40] = Prototype(name, 0, (), 0x40)
    monkeypatch.setattr(fake, "function_range", lambda pc: (pc, pc + 16) if own else None)
    text = f"sub $40,%rsp; mov %rsi,24(%rsp); {code}; call 1f; mov 24(%rsp),%rax; mov 8(%rax),%rcx; add $40,%rsp; ret"
    assert touched(f"{text}; .p2align 6; 1: ret")[-1] == expected


@pytest.mark.parametrize(
    ("used", "expected"), [("mov %esi,(%rdx)", "node.key"), ("mov %rdx,(%rdi)", "?"), ("lea 8(%rdx),%rcx", "?")]
)
def test_an_address_used_to_store_arguments_does_not_escape(
    fake: Fake, touched: Touched, used: str, expected: str
) -> None:
    fake.takes((RDI, fake.node))
    code = f"sub $40,%rsp; mov %rdi,24(%rsp); mov %rsp,%rdx; {used}; mov %edi,%edx; call .+99; mov 24(%rsp),%rax"
    assert touched(f"{code}; mov 8(%rax),%rcx; add $40,%rsp; ret")[-1] == expected


@pytest.mark.parametrize(
    ("kept", "other", "expected"),
    [
        ("long", "mov %rdi, %rax", "long int."),
        ("node", "lea 8(%rdi), %rax", "long int."),
        ("node", "lea 8(%rdi,%rsi,8), %rax", "?"),
        ("node", "mov %rdi, %rax", "?"),
        ("item", "lea 8(%rdi), %rax", "?"),
    ],
)
def test_an_unnamed_slot_holds_what_other_pointers_to_it_point_to(
    fake: Fake, touched: Touched, kept: str, other: str, expected: str
) -> None:
    """If that is an integer or pointer; a first member's address may stand for the whole object."""
    said = fake.graph.pointer_to(getattr(fake, kept))
    fake.variables.append(Place("n", said, PlaceKind.REGISTER, RDI, 0, 0, 1))
    code = f"nop\n lea -56(%rsp), %rax\n test %rsi, %rsi\n je 1f\n {other}\n 1: mov (%rax), %rcx\n ret"
    assert touched(code)[-1] == expected
    # Where a variable is, that says what is there.
    fake.variables.append(Place("room", fake.double, PlaceKind.CFA, -1, -64, 0, 100))
    assert touched(code)[-1] == "?"


@pytest.mark.parametrize(("offset", "expected"), [(24, "node.key"), (16, "?"), (32, "?")])
def test_stack_parameters_keep_their_values_until_stored_to(
    fake: Fake, touched: Touched, offset: int, expected: str
) -> None:
    """A variable that is valid all the time gives the type; callees with a frame address do not change it."""
    graph = fake.graph
    fake.prototypes[0] = Prototype("f", 0, (*(("n", fake.long),) * 7, ("of", graph.pointer_to(fake.node))), 0)
    fake.variables = [
        Place("of", graph.pointer_to(fake.node), PlaceKind.MEMORY, RSP, offset, 1, 3),
        Place("n", fake.long, PlaceKind.REGISTER, RDI, 0, 0, 1),
    ]
    for store, known in (("nop", expected), ("mov %rdi,24(%rsp)", "?")):
        code = f"push %rbx; nop; nop; lea -8(%rsp),%rdi; call *%rbx; {store}; mov 24(%rsp),%rax; mov 8(%rax),%rcx; ret"
        assert touched(code, rule=lambda pc: (RSP, 16 if pc else 8))[-1] == known


@pytest.mark.parametrize(("taken", "expected"), [("link", "node.key"), ("item", "?")])
def test_a_callee_may_change_its_parameters_on_the_stack(
    fake: Fake, touched: Touched, taken: str, expected: str
) -> None:
    graph = fake.graph
    fake.takes((RSI, fake.node))
    parameters = (*(("n", fake.long),) * 6, ("of", graph.pointer_to(getattr(fake, taken))))
    fake.prototypes[0x40] = Prototype("g", 0, parameters, 0x40)
    code = "sub $40,%rsp; mov %rsi,24(%rsp); lea 8(%rsp),%rax; push %rax; call 1f; mov 32(%rsp),%rax; mov 8(%rax),%rcx"
    assert touched(f"{code}; add $48,%rsp; ret; .p2align 6; 1: ret")[-1] == expected


@pytest.mark.parametrize(
    ("added", "expected"), [("add $16,%rdx", "node.key"), ("sub $-16,%rdx", "node.key"), ("nop", "?")]
)
def test_an_address_may_be_computed_in_two_steps(fake: Fake, touched: Touched, added: str, expected: str) -> None:
    fake.takes((RDI, fake.node))
    code = (
        f"sub $40,%rsp; mov %rdi,8(%rsp); mov %rsp,%rdx; {added}; call *%rbx; mov 8(%rsp),%rax; mov 8(%rax),%rcx; ret"
    )
    assert touched(code)[-1] == expected


@pytest.mark.parametrize(("low", "high", "expected"), [(0, 99, "node.key"), (0, 5, "?"), (18, 99, "?")])
def test_an_unnamed_slot_ends_before_the_next_variable(
    fake: Fake, touched: Touched, low: int, high: int, expected: str
) -> None:
    """The one valid where the address is computed: others may share the slot later."""
    fake.variables = [
        Place("n", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 9),
        Place("i", fake.int, PlaceKind.MEMORY, RSP, 16, low, high),
    ]
    code = "sub $40,%rsp; mov %rdi,24(%rsp); lea 8(%rsp),%rdx; call *%rbx; mov 24(%rsp),%rax; mov 8(%rax),%rcx; ret"
    assert touched(code)[-1] == expected


@pytest.mark.parametrize(
    ("used", "known"),
    [
        ("mov %rcx,8(%rax); movups %xmm0,(%rax); call .+99", "node.key"),
        ("mov %rcx,8(%rax); call *%rbx", "node.key"),
        ("mov %rcx,8(%rax); call *%rax", "?"),
        ("mov %rax,8(%rdx); call .+99", "?"),
        ("movups %xmm0,(%rax); mov %rax,%rdi; call .+99", "?"),
    ],
)
def test_the_stack_pointer_at_a_call_is_no_argument(fake: Fake, touched: Touched, used: str, known: str) -> None:
    """The result's register points to nothing that the callee could know."""
    fake.takes((RDI, fake.node))
    code = f"sub $40,%rsp; mov %rdi,24(%rsp); mov %rsp,%rax; {used}; mov 24(%rsp),%rax; mov 8(%rax),%rcx; ret"
    assert touched(code)[-1] == known


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # Gone through, compared and counted on from.
        ("lea 4(%rsp),%r8; 1: movzbl (%r8),%eax; add $1,%r8; cmp %r8,%r12; test %eax,%eax; jne 1b", "node.key"),
        ("lea 4(%rsp),%r13; mov %r13,%r8; movups (%r8),%xmm0; lea 1(%r8),%r8; movb $1,(%r8)", "node.key"),
        # Stored, passed, returned, or calculated with.
        ("lea 4(%rsp),%rcx; mov %rcx,(%r12)", "?"),
        ("lea 4(%rsp),%rcx; mov %rcx,%rdx; mov %rdx,(%rcx)", "?"),
        ("lea 4(%rsp),%r9", "?"),
        ("lea 4(%rsp),%rcx; and $-8,%rcx; mov %rcx,(%r12)", "?"),
        ("lea 4(%rsp),%r13; test %eax,%eax; jne .+0x1000", "?"),
        ("lea 4(%rsp),%rcx; push %rcx", "?"),
        ("lea 4(%rsp),%rcx; xchg %rcx,%r12", "?"),
    ],
)
def test_an_address_that_does_not_escape_changes_no_slot(
    fake: Fake, touched: Touched, seen: str, expected: str
) -> None:
    fake.takes((RDI, fake.node))
    text = f"sub $40,%rsp; mov %rdi,16(%rsp); mov %rdi,%r14; {seen}; mov %r14,%r15; mov $0,%r8d; call .+99"
    again = "mov 8(%rbx),%rcx; ret"
    load = "mov 24(%rsp),%rbx" if "push" in seen else "mov 16(%rsp),%rbx"
    assert touched(f"{text}; {load}; {again}")[-1] == expected
