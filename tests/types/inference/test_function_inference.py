"""Types of unnamed stack slots, from what is stored in them and how they are used."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import OBJECT
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.function_inference import FunctionBody, Inference
from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.container_of import container_of_accesses
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import Prototype

RDI, RSI = 5, 4
FRAME = "push %rbp\n mov %rsp, %rbp\n"
END = "\n pop %rbp\n ret"

Slots = Callable[..., str]


@pytest.fixture
def slot(fake: Fake, tmp_path: Path) -> Slots:
    """The type of the variable at an offset from the frame pointer."""

    def run(
        text: str, offset: int, size: int = 8, *, arguments: tuple[tuple[int, int], ...] = (), returns: int = 0
    ) -> str:
        fake.prototypes[0] = Prototype(
            "f",
            returns,
            tuple(("", t) for _register, t in arguments),
            0,
            arguments=tuple((register, t, 0) for register, t in arguments),
        )
        code = assemble(FRAME + text + END, tmp_path)
        flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
        tracker = Inference(
            ProgramContext(fake, MACHINE, complete=True), FunctionBody(flow, 0, len(code), fake.prototypes[0])
        ).tracker
        tracker.before(0)
        found = tracker.stack_variable(0, offset - 16)
        if found is None:
            return "?"
        return fake.graph.canonical_name(found[0].type) + (f"+{found[1]}" if found[1] else "")

    return run


def test_a_spilled_parameter_has_its_type(fake: Fake, slot: Slots) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    text = "mov %rdi, -24(%rbp)\n mov %rsi, -32(%rbp)\n mov -24(%rbp), %rax"
    assert slot(text, -24, arguments=((RDI, to_node), (RSI, fake.long))) == "struct node*"
    assert slot(text, -32, arguments=((RDI, to_node), (RSI, fake.long))) == "long int"


def test_an_overwritten_register_is_no_parameter(fake: Fake, slot: Slots) -> None:
    assert slot("xor %esi, %esi\n mov %rdi, -24(%rbp)", -24, arguments=((RDI, fake.long),)) == "long int"
    assert slot("xor %edi, %edi\n mov %rdi, -24(%rbp)", -24, arguments=((RDI, fake.long),)) == "?"


def test_a_loaded_pointer_has_its_pointee(fake: Fake, slot: Slots) -> None:
    text = "mov 24(%rdi), %rax\n mov %rax, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, fake.graph.pointer_to(fake.node)),)) == "struct item*"


def test_the_address_of_a_structure_may_be_its_first_members(fake: Fake, slot: Slots) -> None:
    to_node = fake.graph.pointer_to(fake.node)
    to_pointer = fake.graph.pointer_to(to_node)
    text = "mov %rsi, -8(%rbp)\n mov %rdi, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, to_node), (RSI, to_pointer))) == "?"
    text = "mov %rsi, -24(%rbp)\n mov -24(%rbp), %rax\n mov %rax, -8(%rbp)\n mov (%rax), %rax\n mov %rax, -8(%rbp)"
    assert slot(text, -8, arguments=((RSI, to_pointer),)) == "struct node**"


def test_frames_with_saved_registers_are_understood(fake: Fake, slot: Slots) -> None:
    arguments = ((RDI, fake.graph.pointer_to(fake.node)),)
    kept = "push %r12\n push %rbx\n sub $32, %rsp\n mov %rdi, -40(%rbp)\n "
    assert slot(kept + "mov -40(%rbp), %rax\n mov 8(%rax), %rax", -40, arguments=arguments) == "struct node*"
    # An optimizer has it in the register still.
    assert slot(kept + "mov 8(%rdi), %rax", -40, arguments=arguments) == "?"


def test_a_returned_value_has_the_return_type(fake: Fake, slot: Slots) -> None:
    assert slot("movq $0, -8(%rbp)\n mov -8(%rbp), %rax", -8, returns=fake.long) == "long int"


def test_floats_and_signed_comparisons_type_slots(fake: Fake, slot: Slots) -> None:
    assert slot("movsd %xmm0, -8(%rbp)", -8) == "double"
    assert slot("cmpl $3, -4(%rbp)\n jl 1f\n nop\n 1: nop", -4, 4) == "int"
    assert slot("cmpl $3, -4(%rbp)\n jb 1f\n nop\n 1: nop", -4, 4) == "?"


def test_two_types_in_one_slot_are_ambiguous(fake: Fake, slot: Slots) -> None:
    to_item = fake.graph.pointer_to(fake.item)
    text = "mov %rdi, -8(%rbp)\n mov %rsi, -8(%rbp)"
    assert slot(text, -8, arguments=((RDI, to_item), (RSI, to_item))) == "struct item*"
    assert slot(text, -8, arguments=((RDI, to_item), (RSI, fake.long))) == "?"


def test_an_object_whose_address_is_passed_has_the_parameters_type(fake: Fake, slot: Slots, tmp_path: Path) -> None:
    code = "lea -48(%rbp), %rdi\n call 1f\n jmp 2f\n 1: ret\n 2: nop"
    at = len(assemble(FRAME + "lea -48(%rbp), %rdi\n call 1f\n 1:", tmp_path)) + 2
    fake.takes((RDI, fake.item), at=at)
    assert slot(code, -48 + 8) == "struct item+8"


@pytest.mark.parametrize(
    ("begins", "expected"),
    [
        ((-64,), "struct item+8"),
        # Past the return address, and below the stack pointer.
        ((-24,), "?"),
        ((-88,), "?"),
        # Parts of one another they are not.
        ((-64, -48), "?"),
        ((-64, -48, -24), "?"),
    ],
)
def test_objects_are_within_the_frame_and_do_not_overlap(
    fake: Fake, slot: Slots, tmp_path: Path, begins: tuple[int, ...], expected: str
) -> None:
    code = "push %r12\n push %rbx\n sub $64, %rsp\n"
    for begin in begins:
        before = code + f" lea {begin}(%rbp), %rdi\n"
        at = len(assemble(FRAME + before + "call 1f\n 1:", tmp_path)) + 2
        fake.takes((RDI, fake.item), at=at)
        code = before + "call 1f\n jmp 2f\n 1: ret\n 2: nop\n"
    assert slot(code, begins[0] + 8) == expected


def test_arithmetic_types_integers(fake: Fake, slot: Slots) -> None:
    assert slot("mov -8(%rbp), %rax\n cqto\n idivq -8(%rbp)", -8) == "long int"
    assert slot("mov -8(%rbp), %rax\n mul %rdi\n mov %rax, -8(%rbp)", -8) == "?"
    assert slot("movslq -4(%rbp), %rax", -4, 4) == "int"


def test_a_cast_to_a_larger_type_is_no_evidence(fake: Fake, slot: Slots) -> None:
    to_link = fake.graph.pointer_to(fake.link)
    stored = "mov %rdi, -24(%rbp)\n mov -24(%rbp), %rax\n mov %rax, -8(%rbp)\n mov -8(%rbp), %rax\n "
    assert slot(stored + "mov 8(%rax), %rax", -8, arguments=((RDI, to_link),)) == "struct link*"
    assert slot(stored + "mov 24(%rax), %rax", -8, arguments=((RDI, to_link),)) == "?"


def test_an_array_ends_before_the_next_variable(fake: Fake, slot: Slots) -> None:
    text = "cltq\n movsd -96(%rbp,%rax,8), %xmm0\n movsd %xmm0, -32(%rbp)\n cmpl $3, -8(%rbp)\n jl 1f\n nop\n 1: nop"
    assert slot(text, -96) == "double[]"
    assert slot(text, -40) == "double[]+56"
    assert slot(text, -32) == "double"
    assert slot(text, -8, 4) == "int"


@pytest.fixture
def inferred(fake: Fake, tmp_path: Path) -> Callable[..., str]:
    """What the last memory operand of some code touches."""

    def run(text: str, *, callees: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()) -> str:
        body = text + "".join(f"\n {name}: ret" for name, _taken in callees)
        code = assemble(body, tmp_path)
        at = len(code) - len(callees)
        for k, (_name, taken) in enumerate(callees):
            fake.takes(*taken, at=at + k)
        flow = FunctionFlow(MACHINE.listing(code[:at], 0), MACHINE)
        tracker = Inference(ProgramContext(fake, MACHINE), FunctionBody(flow, 0, at, None)).tracker
        answer = "?"
        for k in range(len(flow.instructions)):
            for number, operand in enumerate(flow.instructions[k].memory):
                if operand.access and not operand.implicit:
                    tracker.before(k)
                    where = tracker.address_of(k, number)
                    answer = "?"
                    if where is not None and where[0] == OBJECT:
                        answer = f"{fake.graph.canonical_name(where[1])}+{where[4]}"
        return answer

    return run


def test_an_allocation_passed_on_has_the_parameters_type(fake: Fake, inferred: Callable[..., str]) -> None:
    text = "push %rbx\n call malloc\n mov %rax, %rbx\n mov %rbx, %rdi\n call take\n movl $3, 16(%rbx)\n pop %rbx\n ret"
    callees = (("malloc", ()), ("take", ((RDI, fake.node),)))
    assert inferred(text, callees=callees) == "struct node+16"
    # Also before it is passed.
    text = "push %rbx\n call malloc\n mov %rax, %rbx\n movl $3, 16(%rbx)\n mov %rbx, %rdi\n call take\n pop %rbx\n ret"
    assert inferred(text, callees=callees) == "struct node+16"


def test_an_allocation_passed_as_two_types_is_unknown(fake: Fake, inferred: Callable[..., str]) -> None:
    text = "push %rbx\n call malloc\n mov %rax, %rbx\n movl $3, 16(%rbx)\n mov %rbx, %rdi\n call take\n"
    text += "mov %rbx, %rdi\n call put\n pop %rbx\n ret"
    malloc, take = ("malloc", ()), ("take", ((RDI, fake.node),))
    assert inferred(text, callees=(malloc, take, ("put", ((RDI, fake.node),)))) == "struct node+16"
    assert inferred(text, callees=(malloc, take, ("put", ((RDI, fake.item),)))) == "?"


def test_evidence_on_one_path_is_enough_at_a_join(fake: Fake, inferred: Callable[..., str]) -> None:
    text = "push %rbx\n test %esi, %esi\n je 1f\n call malloc\n jmp 2f\n 1: call calloc\n 2: mov %rax, %rbx\n"
    text += "movl $3, 16(%rbx)\n mov %rbx, %rdi\n call take\n pop %rbx\n ret"
    callees = (("malloc", ()), ("calloc", ()), ("take", ((RDI, fake.node),)))
    assert inferred(text, callees=callees) == "struct node+16"


def test_accesses_together_give_a_members_container(fake: Fake) -> None:
    graph = fake.graph
    members = (fake.member("link", 8, 16, fake.link), fake.member("first", 24, 8, fake.long))
    box = graph.add(TypeRecord(Kind.STRUCT, "box", 48, keyword="struct", members=members))
    around = Containers(graph, lambda: (fake.item, box))
    # Both have a number of eight bytes behind the link, one only two of four before it.
    assert container_of_accesses(graph, fake.link, [(16, 8)], around) is None
    assert container_of_accesses(graph, fake.link, [(16, 8), (-8, 4)], around) == (fake.item, 8)
    assert container_of_accesses(graph, fake.link, [(16, 8), (-8, 4), (-2, 8)], around) is None


def test_a_member_pointer_minus_its_offset_is_the_containers(fake: Fake, slot: Slots) -> None:
    text = "mov %rdi, -24(%rbp)\n mov -24(%rbp), %rax\n sub $8, %rax\n mov %rax, -8(%rbp)\n mov -8(%rbp), %rax\n "
    arguments = ((RDI, fake.graph.pointer_to(fake.link)),)
    assert slot(text + "mov 24(%rax), %rax", -8, arguments=arguments) == "struct item*"
    assert slot(text + "mov 100(%rax), %rax", -8, arguments=arguments) == "?"


def test_a_value_in_an_unsigned_comparison_may_be_an_address(fake: Fake, slot: Slots) -> None:
    compared = "mov -8(%rbp), %rax\n cmp %rax, -16(%rbp)\n jb 1f\n nop\n 1: nop\n"
    assert slot(compared, -8) == "?"
    unsigned = fake.graph.add(TypeRecord(Kind.INT, "long unsigned int", 8))
    assert slot(compared + "mov -16(%rbp), %rax\n mov (%rdi,%rax,8), %rax", -8) == "long unsigned int"
    assert slot("mov -8(%rbp), %rax\n shr $63, %rax", -8) == "?"
    assert slot("mov -8(%rbp), %rax\n shr $3, %rax", -8) == "?"
    assert slot("mov %rdi, -8(%rbp)", -8, arguments=((RDI, unsigned),)) == "long unsigned int"


def test_a_slot_that_callees_fill_is_no_plain_integer(fake: Fake, slot: Slots) -> None:
    text = "movslq 16(%rdi), %rax\n mov 8(%rdi), %rcx\n mov %rcx, -40(%rbp)\n"
    arguments = ((RDI, fake.graph.pointer_to(fake.node)),)
    assert slot(text, -40, arguments=arguments) == "long int"
    filled = "lea -64(%rbp), %rdi\n call 1f\n jmp 2f\n 1: ret\n 2: nop"
    assert slot(text + filled, -40, arguments=arguments) == "?"


def test_released_inference_is_freed_without_the_cycle_collector(fake: Fake, tmp_path: Path) -> None:
    """Thousands of functions, each of hundreds of nodes, are followed in one run."""

    def nodes() -> int:
        return sum(type(one) is Node for one in gc.get_objects())

    # What goes through a loop flows into where it came from.
    loop = "1: test %rsi, %rsi\n je 2f\n mov (%rdi), %rax\n 2: dec %rcx\n jne 1b\n mov (%rdi), %rdx\n ret"
    code = assemble(loop, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    gc.collect()
    gc.disable()
    try:
        before = nodes()
        made = Inference(ProgramContext(fake, MACHINE, complete=True), FunctionBody(flow, 0, len(code), None))
        assert nodes() > before
        made.release()
        del made
        assert nodes() == before
    finally:
        gc.enable()


def test_nodes_share_no_evidence() -> None:
    one, other = Node(("in", 0, 0)), Node(("in", 0, 1))
    one.sign(1)
    one.sign(-1)
    one.follow(8, 4, floating=True, number=True)
    one.follow(16, 4, floating=False, number=False)
    one.add_pointee(0, 3)
    one.add_pointee(0, 4)
    one.puts(24, (5,))
    one.row(12, other)
    assert (one.signs, one.touched, one.floating, one.numbers) == ({1, -1}, {(8, 4), (16, 4)}, {(8, 4)}, {(8, 4)})
    assert (one.leads, one.put, one.elements) == ({0: [3, 4]}, {(24, (5,))}, {12: other})
    assert not (other.signs or other.touched or other.floating or other.numbers)
    assert not (other.leads or other.put or other.elements)
