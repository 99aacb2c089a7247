"""BTF only: functions of one ops table, arrays of pointers, static locals."""

from pathlib import Path

from tests.support.types.btf_programs import accesses_of, answers

from undwarf.elf import ElfFile
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
/* What a program calls of the C library is not described. */
void sorted(void *, unsigned long, unsigned long, int (*)(const void *, const void *)) __asm__("qsort");
struct link; struct ways { void (*read)(struct link *, void *user); void (*done)(struct link *, void *user, int why);
  void (*drop)(struct link *, void *bytes); };
struct link { struct link *next; const struct ways *ways; void *user; unsigned long bytes; };
struct meeting { unsigned rooms[4]; unsigned n; unsigned long sum; int why; };
struct trip { int id; unsigned left; double cost; };
struct other { unsigned rooms[4]; unsigned n; unsigned long sum; };
struct town { unsigned number; unsigned short len; char name[10]; struct town *next; };
struct machine { long stack[20]; struct town *first; int depth, limit; };
struct spot { float x, y; double turn[2]; }; struct map { struct spot spots[6]; int n; };
static unsigned long seen;
static void meet(struct link *l, void *user)
{ struct meeting *m = user; m->rooms[l->bytes & 3]++; m->n++; m->sum = m->sum * 131 + l->bytes; }
static void met(struct link *l, void *user, int why) { struct meeting *m = user; m->why = why; seen += l->bytes; }
static void forget(struct link *l, void *bytes) { char *b = bytes; seen += *b; }
static const struct ways meets = { meet, met, forget };
static void go(struct link *l, void *user) { struct trip *t = user; t->left--; t->cost += l->bytes; }
static void gone(struct link *l, void *user, int why) { struct trip *t = user; t->id = -why; seen++; }
static const struct ways goes = { go, gone, forget };
NOINLINE void all(struct link *l)
{ for (; l; l = l->next) { l->ways->read(l, l->user); l->ways->done(l, l->user, 3); } }
static int by_number(const void *a, const void *b)
{ const struct town *x = *(struct town *const *)a, *y = *(struct town *const *)b; return x->number < y->number; }
NOINLINE unsigned towns(struct town *first, unsigned long most)
{ struct town **all = malloc(most * sizeof *all); unsigned n = 0, bad = 0;
  for (struct town *t = first; t; t = t->next) all[n++] = t;
  sorted(all, n, sizeof *all, by_number);
  for (unsigned i = 1; i < n; i++) if (all[i]->len > all[i - 1]->len) bad++;
  return bad; }
NOINLINE void starts(struct machine *m) { m->depth = 0; m->stack[0] = 1; }
NOINLINE int runs(struct town *t)
{ static struct machine m; m.limit = 8; m.first = t; starts(&m); return m.depth + m.first->len; }
/* Whether it is asked before or after the other one. */
static inline __attribute__((always_inline)) long counted(int anew, int by)
{ static struct machine kept; if (anew) starts(&kept); else kept.limit += by; return kept.depth; }
NOINLINE long anew(int by) { return counted(1, by); }
NOINLINE long again(int by) { return counted(0, by); }
NOINLINE void turned(void *what, double how) { double *by = what; by[0] = how; by[1] = -how; }
NOINLINE void turn(struct map *m, double how) { for (int i = 0; i < m->n; i++) turned(m->spots[i].turn, how); }
int main(int argc, char **argv)
{ struct link *l = calloc(2, sizeof *l); l->ways = argc > 1 ? &meets : &goes; l[1].ways = &meets; all(l);
  struct map *m = calloc(1, sizeof *m); turn(m, argc); struct other o; o.n = argc;
  return towns(0, argc) + runs(0) + seen + o.n + anew(argc) + again(argc); }
"""


def test_functions_of_one_table_take_one_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "struct meeting.why" in answers(program, "met")
        assert "struct trip.id" in answers(program, "gone")


def test_only_slots_of_one_name_take_one_type(plain: Path) -> None:
    found = answers(plain, "forget")
    assert "struct link*" in found
    assert not {one for one in found if one.startswith(("struct meeting", "struct trip"))}


def test_memory_that_pointers_are_stored_in_is_an_array_of_them(plain: Path, optimized: Path) -> None:
    assert "struct town**" in answers(plain, "towns", "frame")
    for program in (plain, optimized):
        assert "struct town.number" in answers(program, "by_number")
        assert {"struct town.len", "struct town*"} <= answers(program, "towns")


def test_a_static_local_is_what_its_address_is_passed_as(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "runs")
        assert {"struct machine.limit", "struct machine.first", "struct machine.depth"} <= found
        assert "?" not in found


def test_the_order_of_queries_makes_no_difference(optimized: Path) -> None:
    found = []
    for order in (("anew", "again"), ("again", "anew")):
        resolver = open_resolver(ElfFile.open(optimized))
        assert isinstance(resolver, Resolver)
        found.append({name: accesses_of(resolver, name) for name in order})
    assert found[0] == found[1]
    assert "struct machine" in {one.type for one in found[0]["anew"]}


def test_a_member_of_an_element_is_not_the_element(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "double" in answers(program, "turned")
        assert not {one for one in answers(program, "turned") if one.startswith("struct")}
