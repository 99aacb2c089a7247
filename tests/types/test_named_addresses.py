"""Memory that is handed out as bytes, and packets of several parts: what a variable was said to lead to is still known
where the compiler counts from the begin of the bytes."""

from pathlib import Path

import pytest
from fakes import accesses, compiled

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
