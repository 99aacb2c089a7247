"""BTF only: variables that are cast, and objects in byte buffers."""

from pathlib import Path

from tests.support.types.btf_programs import answers, spilled, touched

SOURCE = r"""
#include <stdarg.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct chunk { struct chunk *next; unsigned long used, room; char data[]; };
struct name { const char *text; unsigned hash; int kind; long at; struct name *alias; };
struct link { struct link *next, **back; };
struct task { struct link link; int number, state; unsigned long ran, ticks; double load; };
struct thing { struct thing *next; unsigned char kind, mark; unsigned size; };
struct row { struct thing thing; long n; double *all; };
struct setting { const char *name; unsigned long at; unsigned bit; };
struct options { int depth, many; double factor; unsigned flags; };
struct spot { float x, y, z; }; struct ball { struct spot at, speed; float weight; };
struct body { struct spot at; float weight; };
struct counter { int left; unsigned long total; };
static unsigned long seen; static struct name *last;
NOINLINE void known(struct name *n) { last = n; }
NOINLINE struct name *named(struct chunk *c, const char *text, int kind)
{ struct name *n = (struct name *)(c->data + c->used); c->used += sizeof *n;
  n->text = text; n->kind = kind; n->hash = kind * 31; n->alias = 0; known(n); return n; }
struct entry { const char *text; unsigned hash; short length; };
NOINLINE void noted(struct chunk *c, const char *text, unsigned hash, short length)
{ unsigned long at = c->used; struct entry *e = (struct entry *)(c->data + at); c->used = at + sizeof *e;
  if (at + sizeof *e > c->room) abort();
  e->hash = hash; e->length = length; e->text = text; }
NOINLINE struct task *picked(struct link *all)
{ struct task *best = 0;
  for (struct link *l = all->next; l; l = l->next)
  { struct task *t = (struct task *)l; if (!best || t->ticks < best->ticks) best = t; }
  return best; }
NOINLINE void swept(struct thing **all)
{ while (*all)
  { struct thing *t = *all;
    if (t->mark) { all = &t->next; continue; }
    *all = t->next; seen += t->size; if (t->kind == 2) free(((struct row *)t)->all); } }
NOINLINE void set(struct options *o, const struct setting *s, int value)
{ char *base = (char *)o; if (s->bit) *(unsigned *)(base + s->at) |= s->bit; else *(int *)(base + s->at) = value; }
NOINLINE float lowest(const struct ball *b, unsigned long n)
{ float low = 1e9f;
  for (unsigned long i = 0; i < n; i++) { const struct spot *s = &b[i].at; if (s->x < low) low = s->x + s->y; }
  return low; }
NOINLINE const struct body *heavy(const struct body *b, unsigned long n)
{ const struct body *best = 0;
  for (unsigned long i = 0; i < n; i++) { const struct body *o = &b[i]; if (o->at.x > o->at.y) best = o; }
  return best; }
NOINLINE int cut(char *to, const char *text)
{ char part[16]; unsigned long n = 0;
  while (*text && n < 15) part[n++] = *text++; part[n] = 0; *to = part[0]; return n; }
NOINLINE int counted(struct task *t, void *state)
{ struct counter *c = state; if (c->left-- <= 0) return 0; c->total += t->ran; return 1; }
NOINLINE int most(int n, ...) { va_list l; va_start(l, n); int m = va_arg(l, int); va_end(l); return m; }
enum sight { NONE, SOME, ALL }; static const short marks[3] = { 5, 6, 7 };
NOINLINE int marked(unsigned bits)
{ enum sight s = bits & 2 ? ALL : bits & 1 ? SOME : NONE; return marks[s]; }
int main(int argc, char **argv)
{ struct chunk *c = calloc(1, 200); struct name *n = named(c, argv[0], 2); struct task *t = calloc(1, sizeof *t);
  struct row *r = calloc(1, sizeof *r); struct thing *first = &r->thing; swept(&first); struct options o = { 0 };
  struct setting s = { "a", 4, argc }; set(&o, &s, 3); struct ball b[2] = { 0 }; struct body y[2] = { 0 };
  char to[4]; struct counter k = { 3, 0 };
  noted(c, argv[0], argc, 3);
  return n->kind + (picked(&t->link) != 0) + lowest(b, 2) + (heavy(y, 2) != 0) + cut(to, argv[0]) + counted(t, &k) +
    most(1, 2) + marked(argc); }
"""


def test_an_object_in_bytes_has_its_pointers_parameter_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "named")
        assert {"struct name.text", "struct name.kind", "struct name.hash", "struct name.alias"} <= found
        assert "struct chunk.data[]" not in found


def test_indexed_memory_with_members_of_several_sizes_is_no_text(optimized: Path) -> None:
    found = answers(optimized, "noted")
    assert {"struct chunk.used", "struct chunk.room"} <= found
    assert "struct chunk.data[]" not in found


def test_a_variable_points_to_what_it_is_returned_as(plain: Path) -> None:
    found = touched(plain, "picked", "frame")
    assert found.count("struct task*") > 4
    assert "struct task.ticks" in answers(plain, "picked")


def test_a_variable_used_at_its_start_only_is_no_more_than_that(plain: Path) -> None:
    assert answers(plain, "swept", "frame") == {"struct thing**", "struct thing*"}
    assert not spilled(plain, "swept")


def test_the_base_of_a_byte_index_points_to_bytes(plain: Path) -> None:
    assert touched(plain, "set", "frame").count("struct options*") == 2
    assert len(spilled(plain, "set")) == 4


def test_an_array_element_may_stand_for_its_first_member(plain: Path) -> None:
    assert touched(plain, "lowest", "frame").count("struct ball*") == 2
    found = touched(plain, "heavy", "frame")
    assert found.count("struct body*") > 6
    assert not spilled(plain, "heavy") or "struct spot*" not in found


def test_eight_bytes_compared_with_an_unsigned_integer_are_typed(plain: Path) -> None:
    assert "long unsigned int" in answers(plain, "cut", "frame")


def test_a_va_list_is_passed_as_nothing_else(optimized: Path) -> None:
    assert {"struct counter.left", "struct counter.total"} <= answers(optimized, "counted")


def test_an_array_index_may_be_an_enumeration(plain: Path) -> None:
    turns, rest = divmod(touched(plain, "marked", "frame").count("unsigned int"), 3)
    assert turns and not rest
    # Newer compilers make two turns one, and keep nothing.
    assert turns > 1 or len(spilled(plain, "marked")) == 2
