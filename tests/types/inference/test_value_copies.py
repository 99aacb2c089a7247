"""BTF only: pointees of copied pointers, from where the copies go and how they are used."""

from pathlib import Path

from tests.support.types.btf_programs import answers

from undwarf.types.inference.value_copies import ValueCopies
from undwarf.types.inference.value_node import Node, added

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct ring { struct ring *next, *before; };
struct line { struct ring ring; unsigned long in; unsigned errors, state; unsigned long bytes; };
struct loop { struct ring ring, dead; unsigned n, ticks; unsigned long done, bytes; };
struct thing { struct thing *next; unsigned char kind, marked; unsigned size; };
struct text { struct thing thing; unsigned hash; char s[20]; };
struct row { struct thing thing; int n, room; double *all; };
static struct ring lines = { &lines, &lines }; static unsigned long seen;
NOINLINE void closed(struct line *l, int why) { l->state = why; }
NOINLINE struct line *busiest(struct ring *all)
{ struct line *best = 0;
  for (struct ring *r = all->next; r != all; r = r->next)
  { struct line *l = (struct line *)r; if (!best || l->in > best->in) best = l; }
  return best; }
NOINLINE void tick(struct ring *all)
{ for (struct ring *r = all->next; r != all; r = r->next)
  { struct line *l = (struct line *)r; if (l->errors > 3) { closed(l, 2); seen += l->bytes; } } }
NOINLINE double sum(struct thing **all, unsigned n)
{ double s = 0;
  for (unsigned i = 0; i < n; i++)
  { struct thing *t = all[i]; struct row *r = (struct row *)t; for (int k = 0; k < r->n; k++) s += r->all[k]; }
  return s; }
NOINLINE unsigned mark(struct thing *t)
{ if (t->marked) return 0;
  t->marked = 1;
  if (t->kind == 2) { struct row *r = (struct row *)t; for (int i = 0; i < r->n; i++) seen += r->all[i]; }
  return t->size; }
int main(int argc, char **argv)
{ struct line *l = calloc(1, sizeof *l); l->ring.next = l->ring.before = &lines; if (argc > 1) lines.next = &l->ring;
  struct row *r = calloc(1, sizeof *r); struct thing *t = &r->thing; tick(&lines);
  static struct text x; static struct loop o; x.hash = o.ticks = argc;
  return (busiest(&lines) != 0) + sum(&t, 1) + mark(t) + mark(&x.thing) + o.n; }
"""


def test_a_links_container_is_what_it_is_returned_or_passed_as(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "struct line.in" in answers(program, "busiest")
        assert {"struct line.errors", "struct line.bytes"} <= answers(program, "tick")
        assert "?" not in answers(program, "tick")


def test_all_uses_of_a_value_type_it(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct row.n", "struct row.all"} <= answers(program, "sum")
        assert "?" not in answers(program, "sum")


def test_an_ambiguous_pointee_is_the_common_first_member(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "mark")
        assert {
            "struct thing.marked",
            "struct thing.kind",
            "struct thing.size",
            "struct row.n",
            "struct row.all",
        } <= found


def test_the_holders_of_a_copied_value_are_found() -> None:
    first, same, other, behind, foreign = (Node(("made", k, 0)) for k in range(5))
    ways = [(first, same), (same, other), (foreign, other), (other, behind)]
    further: dict[Node, list[tuple[Node, int]]] = {}
    for k, (one, to) in enumerate(ways):
        to.origins = added(to.origins, one)
        further.setdefault(one, []).append((to, 0))
        to.follow(8 * k, 4, floating=False, number=False)
    # What has another value as well is none of these, nor is what has its value.
    assert ValueCopies(first, further).touched() == {(0, 4)}
    assert ValueCopies(behind, further).touched() == {(8, 4), (16, 4), (24, 4)}
