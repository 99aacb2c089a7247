"""BTF only: adjacent members and arrays of unions, and unique structures."""

from pathlib import Path

from tests.support.types.btf_programs import answers, spilled, touched

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct shelf; struct pair { const char *name; struct pair *next; };
struct shelf { int kind; union { double number; struct { struct shelf **all; unsigned long n, room; } list;
  struct { struct pair *first, *last; unsigned n; } pairs; }; };
typedef struct { double least, most, sum; unsigned n; } extremes;
struct cell { long kind; union { long number; double real; struct box *box; } as; };
struct box { struct box *next; unsigned char kind, mark; unsigned size; };
struct call { struct box *of; const char *at; struct cell *base; unsigned long line; };
struct machine { struct cell stack[16]; struct cell *top; struct call calls[4]; long depth; };
struct header { struct header *before; unsigned used, room; };
struct leaf { unsigned short n;
  union { struct leaf *inner[4]; struct { unsigned page; unsigned short at, size; } row[4]; } u; };
enum state { NEW, OLD }; struct worker { enum state state; unsigned done; long spare; };
struct tally { unsigned n; unsigned long mix; };
struct list { struct list *next; long value; }; struct group { struct list *first; long n; };
typedef struct { unsigned char how, where; short far; } step;
struct packet { unsigned short size; unsigned char kind, flags; unsigned stream; };
struct context { long first; unsigned counts[4]; };
struct visitor { void (*visit)(struct visitor *, long); void *data; };
NOINLINE unsigned long lists(const struct shelf *s)
{ unsigned long found = 0; for (unsigned long i = 0; i < s->list.n; i++) if (s->list.all[i]) found++; return found; }
NOINLINE unsigned pairs(struct shelf *s)
{ unsigned n = 0; for (struct pair *p = s->pairs.first; p; p = p->next) n++; s->pairs.n = n; return n; }
NOINLINE void extreme(struct visitor *v, long n)
{ extremes *e = v->data; if (n < e->least) e->least = n; if (n > e->most) e->most = n; e->sum += n; e->n++; }
NOINLINE void counted(struct visitor *v, long n) { struct context *c = v->data; c->counts[n & 3]++; c->first = n; }
NOINLINE unsigned long runs(struct machine *m)
{ struct call *c = &m->calls[m->depth - 1]; c->line++; c->base = m->top; return c->line; }
NOINLINE char *room(struct header *h, unsigned n) { char *begin = (char *)(h + 1); h->used += n; return begin + n; }
NOINLINE unsigned rows(struct leaf *l, int i) { __typeof__(&l->u.row[0]) r = &l->u.row[i]; return r->page + r->at; }
NOINLINE void drop(struct box *b, void *user) { struct tally *t = user; t->n++; t->mix = t->mix * 31 + b->size; }
NOINLINE long follow(const step *s)
{ long at = 0; for (;;) { step one = *s++; if (!one.how) return at; at += one.far; if (one.where > 3) at++; } }
NOINLINE int put(struct machine *m, const void *p, unsigned n) { m->depth += n + *(const char *)p; return p != 0; }
NOINLINE int packed(struct machine *m, unsigned char kind)
{ struct packet p = { 4, kind, kind & 1, 7 }; if (put(m, &p, sizeof p)) m->depth += p.size; return 0; }
int main(int argc, char **argv)
{ static struct machine m; static struct shelf s; static struct leaf l; struct tally t = { 0 }; extremes e = { 0 };
  struct context c = { 0 }; struct visitor v = { argc > 1 ? extreme : counted, argc > 1 ? (void *)&e : (void *)&c };
  static const step way[] = { { 1, 1, 2 }, { 0, 0, 0 } }; v.visit(&v, argc); drop(calloc(1, sizeof(struct box)), &t);
  struct header *h = calloc(1, 99); m.depth = 1; static struct worker w; w.done++; static struct group g; g.n++;
  return lists(&s) + pairs(&s) + runs(&m) + *room(h, 3) + rows(&l, 1) + t.n + follow(way) + packed(&m, 3); }
"""


def test_an_integer_in_a_union_is_no_copy_of_the_union(plain: Path) -> None:
    for function in ("lists", "pairs"):
        assert not {one for one in answers(plain, function, "frame") if one.startswith("union")}
        assert set() < answers(plain, function)
        assert "?" not in answers(plain, function)


def test_a_slot_of_pointer_and_integer_types_no_comparison(plain: Path) -> None:
    found = answers(plain, "lists", "frame")
    assert {"long unsigned int", "struct shelf*"} <= found
    assert "struct pair*" not in found
    assert not spilled(plain, "lists")


def test_an_unnamed_structure_has_the_name_of_its_typedef(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"extremes.least", "extremes.most", "extremes.sum", "extremes.n"} <= answers(program, "extreme")


def test_an_unknown_index_is_still_into_an_array(optimized: Path) -> None:
    assert {"struct context.first", "struct context.counts[]"} <= answers(optimized, "counted")


def test_strides_past_an_array_are_of_the_next_one(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "runs")
        assert "struct machine.calls[].line" in found or "struct call.line" in found
        assert not {one for one in found if "stack" in one}


def test_memory_after_a_header_is_no_further_header(plain: Path) -> None:
    assert "struct header*" in answers(plain, "room", "frame")
    assert len([one for one in touched(plain, "room", "frame") if one == "struct header*"]) == 4
    assert len(spilled(plain, "room")) == 2


def test_an_offset_in_two_arrays_of_a_union_is_ambiguous(plain: Path) -> None:
    found = answers(plain, "rows", "frame")
    assert {"struct leaf*", "struct worker*"} <= found
    assert "struct leaf**" not in found


def test_an_incremented_value_is_no_pointer_and_no_enumeration(plain: Path, optimized: Path) -> None:
    assert {"struct tally.n", "struct tally.mix"} <= answers(optimized, "drop")
    assert not {one for one in answers(plain, "drop") if one.startswith(("struct worker", "struct group"))}


def test_a_small_structure_is_copied_as_a_whole(plain: Path) -> None:
    assert {"step.how", "step.where", "step.far"} <= answers(plain, "follow", "frame")
    assert not spilled(plain, "follow")


def test_bytes_passed_with_their_size_are_typed_as_the_structure(plain: Path) -> None:
    found = answers(plain, "packed", "frame")
    assert {"struct packet.size", "struct packet.kind", "struct packet.flags", "struct packet.stream"} <= found
