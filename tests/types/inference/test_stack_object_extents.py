"""BTF only: where objects in the frame start and end."""

from pathlib import Path

from tests.support.types.btf_programs import accesses, answers, touched

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct job { int id; long cost; struct job *next; };
struct tally { int codes[4]; long sum; const char *last; };
struct notice { void *context; int code; };
NOINLINE struct job *job(int id) { struct job *j = calloc(1, sizeof *j); j->id = id; j->cost = id * 3; return j; }
NOINLINE long counted(struct notice *n, int code)
{ struct tally tally = { { 0 }, 0, 0 }; struct job *members[4]; for (int i = 0; i < 4; i++) members[i] = job(i);
  n->context = &tally; n->code = code; return members[code & 3]->cost; }
struct turn { double m[3][3]; };
struct push { int to; float mass; };
struct event { double at; int kind; unsigned who; union { struct push push; long move; } u; double rest[7]; };
struct ring { struct event all[8]; unsigned n; };
NOINLINE void put(struct ring *r, struct event e) { r->all[r->n++ & 7] = e; }
NOINLINE double trace(struct turn t) { return t.m[0][0] + t.m[1][1] + t.m[2][2]; }
NOINLINE double step(struct ring *r, int i, float mass)
{ struct turn t; memset(&t, 0, sizeof t); t.m[1][1] = i; double sum = trace(t);
  struct event e = { sum, 1, i, { { i, mass } }, { 3 } }; put(r, e); return sum; }
struct token { int kind, line; double number; long place; int column; };
struct value { char ok, why[3]; int line; double number; long place; };
NOINLINE void next(void *out, long place)
{ struct token *t = out; t->kind = 1; t->line = 2; t->number = place; t->place = place; t->column = 7; }
NOINLINE void valued(void *out, const void *from, int n) { memcpy(out, from, n); }
NOINLINE double parsed(const void *from, long n)
{ double sum = 0; { struct token t; next(&t, n); sum += t.number + t.line; }
  struct value v; valued(&v, from, sizeof v); return v.ok ? v.number + sum : 0; }
struct shade { unsigned char red, green, blue, clear; };
NOINLINE void shades(struct shade *s, int n) { for (int i = 0; i < n; i++) s[i].red = i; }
NOINLINE int last_shade(long n)
{ struct shade s[4]; int all; shades(s, n); memcpy(&all, &s[n - 1], sizeof all); return all + n; }
int main(int argc, char **argv)
{ struct notice n = { 0 }; struct ring r = { 0 };
  static struct value v; step(&r, argc, 2); parsed(&v, argc); return counted(&n, argc) + last_shade(argc); }
"""


def test_arrays_end_where_an_object_with_taken_address_starts(plain: Path) -> None:
    said = [(one.insn, one.type) for one in accesses(plain, "counted") if "xmm0,-" in one.insn]
    assert said and not any(t == "struct job*[]" for _insn, t in said)
    assert "struct job*[]" in answers(plain, "counted")


def test_arguments_of_several_calls_share_a_slot(plain: Path) -> None:
    said = touched(plain, "step")
    assert {"struct event.at", "struct event.kind", "struct event.who", "struct event.u.push.to"} <= set(said)
    assert said.count("struct turn.m[][]") == 19
    assert "double" in said
    assert not any(one.type == "struct turn" for one in accesses(plain, "step")[-20:])


def test_another_call_with_a_slots_address_may_store_another_object(optimized: Path) -> None:
    found = answers(optimized, "parsed")
    assert "double" in found
    assert not any(one.startswith("struct") for one in found)


def test_an_index_from_before_an_object_is_no_array_at_its_start(optimized: Path) -> None:
    assert "int[]" not in answers(optimized, "last_shade")
    assert "double" in answers(optimized, "parsed")
