"""Memory that is handed out as bytes, and packets of several parts: what a variable was said to lead to is still known
where the compiler counts from the begin of the bytes."""

from pathlib import Path

import pytest
from fakes import Fake, accesses, assemble, compiled
from tracked import RAX, RDI

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.layouts.records import Kind, TypeRecord
from undwarf.types.sources.places import Place, PlaceKind
from undwarf.types.uses.named_addresses import named_there

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


def test_what_is_handed_out_is_what_a_variable_says(program: Path) -> None:
    found = {f"{one.type}.{one.field}" for one in accesses(program, "handed_out") if one.countable}
    assert {"struct thing.key", "struct thing.n", "struct thing.m"} <= found
    assert not any("mem" in one or "None" in one for one in found), found


def test_parts_of_a_packet_are_told_apart_by_where_their_variables_are(program: Path) -> None:
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


@pytest.mark.parametrize("registers", ["(%rdi,%rsi)", "(%rsi,%rdi)"])
def test_either_register_of_an_address_may_be_the_index(registers: str, fake: Fake, tmp_path: Path) -> None:
    graph, member = fake.graph, fake.member
    byte = graph.add(TypeRecord(Kind.INT, "unsigned char", 1))
    room = graph.add(TypeRecord(Kind.ARRAY, target=byte, count=400))
    members = (member("used", 0, 8, fake.long), member("mem", 8, 400, room))
    arena = graph.add(TypeRecord(Kind.STRUCT, "arena", 408, keyword="struct", members=members))
    code = assemble(f"mov 24(%rdx),%rsi; lea 8{registers},%rax; nop; mov %rcx,16(%rdi,%rsi); ret", tmp_path)
    fake.variables = [
        Place("a", graph.pointer_to(arena), PlaceKind.REGISTER, RDI, 0, 0, len(code)),
        Place("n", graph.pointer_to(fake.node), PlaceKind.REGISTER, RAX, 0, 9, len(code)),
    ]
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(Program(fake, MACHINE, complete=False), flow, 0, len(code))
    tracker.before(3)
    where = tracker.address_of(3, 0)
    assert where is not None
    located = named_there(tracker, 3, flow.instructions[3].memory[0], where, 8)
    assert located is not None
    assert (located.type, located.field.path) == (fake.node, "key")
