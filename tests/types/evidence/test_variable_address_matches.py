"""Memory pools and packets: a variable's type holds where code counts from the start of the bytes."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, accesses, assemble, compiled
from tests.support.types.tracked import RAX, RBX, RDI

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.variable_address_matches import member_by_variable_address
from undwarf.types.layouts.type_records import Kind, TypeRecord
from undwarf.types.sources.type_source import Place, PlaceKind

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct arena { struct arena *prev; unsigned long used; unsigned char mem[4000]; };
struct thing { long key; struct thing *next; int n, m; };
struct head { unsigned char to[6], from[6]; unsigned short type; };
#define PACKED __attribute__((packed))
struct four { unsigned char length, service; unsigned short whole; unsigned source, target; } PACKED;
struct six { unsigned flow; unsigned short length; unsigned char next, hops; unsigned source[4]; } PACKED;
NOINLINE void seen(void *p, long n) { __asm__ volatile("" :: "r"(p) : "memory"); }
NOINLINE long handed_out(struct arena **all, long key)
{ struct arena *a = *all;
  struct thing *t = (struct thing *)(a->mem + a->used);
  a->used += sizeof *t;
  seen(t, key);
  t->key = key; t->n = 3; t->m = key;
  seen(a, a->used);
  return t->key; }
NOINLINE long built(unsigned char *out, int long_one, unsigned n)
{ struct head *h = (struct head *)out;
  h->type = long_one;
  if (long_one)
  { struct six *s = (struct six *)(out + sizeof *h); seen(s, 1);
    s->source[3] = ~n; s->flow = n * 7; s->hops = n; seen(s, 3); }
  else
  { struct four *f = (struct four *)(out + sizeof *h); seen(f, 2);
    f->service = n; f->source = n * 3; f->target = n; seen(f, 4); }
  return h->from[2]; }
int main(int argc, char **argv)
{ static struct arena first; struct arena *all = &first; static unsigned char out[100];
  return handed_out(&all, argc) + built(out, argc & 1, argc); }
"""


@pytest.fixture(scope="module", params=[("gcc", "-O1"), ("gcc", "-O2"), ("clang", "-O1"), ("clang", "-O2")])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler, level = request.param
    return compiled(SOURCE, compiler, level, tmp_path_factory.mktemp("named"))


def test_memory_from_a_pool_is_what_a_variable_says(program: Path) -> None:
    found = {f"{one.type}.{one.field}" for one in accesses(program, "handed_out") if one.countable}
    assert {"struct thing.key", "struct thing.n", "struct thing.m"} <= found
    assert not any("mem" in one or "None" in one for one in found), found


def test_parts_of_a_packet_are_those_their_variables_point_to(program: Path) -> None:
    found = [one for one in accesses(program, "built") if one.countable]
    assert {f"{one.type}.{one.field}" for one in found} >= {
        "struct six.flow",
        "struct six.hops",
        "struct six.source[]",
        "struct four.service",
        "struct four.source",
        "struct four.target",
        "struct head.type",
    }
    assert all(one.typed for one in found)


def member_there(fake: Fake, tmp_path: Path, text: str, k: int, *variables: tuple[int, int, int]) -> tuple[int, str]:
    """(type, member) of instruction ``k``; the variables are (pointed-to type, register, from which instruction on)."""
    code = assemble(text, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    fake.variables = [
        Place(
            f"v{at}",
            fake.graph.pointer_to(t),
            PlaceKind.REGISTER,
            register,
            0,
            flow.instructions[at].address,
            len(code),
        )
        for t, register, at in variables
    ]
    tracker = Tracker(ProgramContext(fake, MACHINE, complete=False), flow, 0, len(code))
    tracker.before(k)
    where = tracker.address_of(k, 0)
    assert where is not None
    operand = flow.instructions[k].memory[0]
    located = member_by_variable_address(tracker, k, operand, where, operand.size)
    return (located.type, located.field.path) if located is not None else (0, "")


@pytest.fixture
def arena(fake: Fake) -> int:
    graph, member = fake.graph, fake.member
    byte = graph.add(TypeRecord(Kind.INT, "unsigned char", 1))
    room = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=400))
    members = (member("used", 0, 8, fake.long), member("mem", 8, 400, room))
    return graph.add(TypeRecord(Kind.STRUCT, "arena", 408, keyword="struct", members=members))


@pytest.mark.parametrize("registers", ["(%rdi,%rsi)", "(%rsi,%rdi)"])
def test_either_register_of_an_address_may_be_the_index(registers: str, arena: int, fake: Fake, tmp_path: Path) -> None:
    text = f"mov 24(%rdx),%rsi; lea 8{registers},%rax; nop; mov %rcx,16(%rdi,%rsi); ret"
    assert member_there(fake, tmp_path, text, 3, (arena, RDI, 0), (fake.node, RAX, 2)) == (fake.node, "key")


@pytest.mark.parametrize("registers", ["(%rdi,%rsi)", "(%rsi,%rdi)"])
def test_a_sum_in_bytes_is_what_a_variable_says(registers: str, arena: int, fake: Fake, tmp_path: Path) -> None:
    text = f"mov 24(%rdx),%rsi; lea {registers},%rax; add $8,%rax; nop; nop; mov %rcx,16(%rdi,%rsi); ret"
    byte = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    variables = [(arena, RDI, 0), (byte, RAX, 3), (fake.node, RAX, 4)]
    assert member_there(fake, tmp_path, text, 5, *variables) == (fake.node, "key")


def test_a_sum_of_changed_registers_is_not_the_variables(arena: int, fake: Fake, tmp_path: Path) -> None:
    text = "mov 24(%rdx),%rsi; lea (%rdi,%rsi),%rax; add $8,%rax; nop; nop; {}; mov %rcx,16(%rdi,%rsi); ret"
    byte = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    variables = [(arena, RDI, 0), (byte, RAX, 3), (fake.node, RAX, 4)]
    assert member_there(fake, tmp_path, text.format("nop"), 6, *variables) == (fake.node, "key")
    for change in ("mov 32(%rdx),%rsi", "add $1,%rsi", "mov 32(%rdx),%rdi"):
        assert member_there(fake, tmp_path, text.format(change), 6, *variables) == (0, ""), change


def test_variables_that_point_to_members_give_the_same(arena: int, fake: Fake, tmp_path: Path) -> None:
    text = "mov 24(%rdx),%rsi; lea (%rdi,%rsi),%rax; nop; lea 8(%rdi,%rsi),%rbx; nop; mov %rcx,16(%rdi,%rsi); ret"
    variables = [(arena, RDI, 0), (fake.item, RAX, 2)]
    assert member_there(fake, tmp_path, text, 5, *variables, (fake.link, RBX, 4)) == (fake.item, "link.prev")
    # A node is no part of an item.
    assert member_there(fake, tmp_path, text, 5, *variables, (fake.node, RBX, 4)) == (0, "")


@pytest.mark.parametrize(
    ("between", "found"),
    [("nop", True), ("je 2f", False)],
    ids=["the only way on", "one of two ways"],
)
def test_cleared_memory_has_the_type_of_the_loop_after_it(
    between: str, found: bool, arena: int, fake: Fake, tmp_path: Path
) -> None:
    text = f"mov 24(%rdx),%rbx; add %rdi,%rbx; movups %xmm0,(%rbx); {between}; 1: nop; dec %rcx; jne 1b; 2: ret"
    byte = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    variables = [(arena, RDI, 0), (byte, RBX, 2), (fake.node, RBX, 4)]
    assert member_there(fake, tmp_path, text, 2, *variables)[0] == (fake.node if found else 0)
