"""BTF only: allocations, unions, casts, callbacks, variables in the frame."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct base { const char *name; long id; };
struct round { struct base base; double radius; };
struct square { struct base base; double side; int turned; };
struct plain { double weight; int count; short kind; };
struct pair { long first, second; };
struct chunk { unsigned long size; struct chunk *next; };
struct record { struct record *link; long a, b; };
struct cell { int tag; union { long number; struct { struct cell *first, *rest; };
  struct { long length; char *text; }; }; };
struct tables { struct tables *up; long keys[6], values[6]; int n; };
struct entry { struct entry *chain; unsigned hash; };
struct map { struct entry **buckets; unsigned long mask; };
struct end { unsigned head, tail; };
struct port { struct end in, out; int id; };
struct port ports[2];
NOINLINE static double by_size(void)
{ struct plain *p = malloc(sizeof *p); p->weight = 1; p->count = 2; p->kind = 3; return p->weight; }
NOINLINE static long a_row(void) { long *p = malloc(16); p[0] = 1; p[1] = 2; return p[0]; }
NOINLINE static struct base *larger(void)
{ struct round *r = calloc(1, sizeof *r); r->base.id = 3; r->radius = 4; return &r->base; }
NOINLINE static unsigned long before(void *p) { struct chunk *c = (struct chunk *)p - 1; return c->size; }
NOINLINE static long caller(struct record *r) { return r->a + before(r) + before(r->link); }
NOINLINE static int length(struct cell *c) { int n = 0; while (c && c->tag == 2) { n++; c = c->rest; } return n; }
NOINLINE static long last(struct tables *t, int key)
{ for (int i = t->n - 1; i >= 0; i--) if (t->keys[i] == key) return t->values[i]; return 0; }
NOINLINE static int find(struct map *m, unsigned hash)
{ struct entry **p = &m->buckets[hash & m->mask];
  for (; *p; p = &(*p)->chain) if ((*p)->hash == hash) return 1; return 0; }
NOINLINE static unsigned heads(int i)
{ struct end *ends[] = { &ports[i].in, &ports[i].out }; unsigned n = 0;
  for (int k = 0; k < 2; k++) n += ends[k]->head; return n; }
NOINLINE static long lengths(int i)
{ char *copy = strdup(i ? "a" : "b"); long n = strlen(copy) > 3; return n + copy[0]; }
struct triple { float x, y, z; };
struct bag { unsigned mask, last; };
NOINLINE static int longest(struct triple *v, int i)
{ struct triple a = v[i]; return a.x > a.y ? 1 : a.z > 2; }
NOINLINE static int kept(struct bag *b) { unsigned t = 0; t += 3; return (b->mask + b->last + t) & 1; }
NOINLINE static int again(struct plain *p, double (*f)(double))
{ double sum = 0; for (int i = 0; i < p->count; i++) sum += f(p->weight + i); return sum > 2; }
static double half(double x) { return x / 2; }
struct value;
struct member { const char *key; int size; struct value *value; struct member *next; };
struct value { int kind; union { double number; const char *text; struct value **items; struct member *first; }; };
NOINLINE static struct value *found(struct value *v, int size)
{ if (v->kind == 4) for (struct member *m = v->first; m; m = m->next) if (m->size == size) return m->value;
  return 0; }
union room { union room *next; struct { unsigned id, kind; double place[2]; float health; } thing;
  struct { unsigned long key; char name[16]; int uses; } used; };
struct rooms { union room *free; int used; };
NOINLINE static void give(struct rooms *r, union room *one) { one->next = r->free; r->free = one; r->used--; }
NOINLINE static long summed(struct rooms *r, union room *one)
{ long n = one->used.key + one->used.uses + one->used.name[1]; give(r, one); return n; }
NOINLINE static void cleared(char *area) { struct chunk *c = (struct chunk *)(area + 8); c->size = 0; c->next = 0; }
int main(int argc, char **argv)
{ struct record r = { &r, 1, 2 }; struct cell c = { 2 }; struct tables t = { 0 }; struct map m = { 0 };
  struct square s = { 0 }; struct triple v[2] = { { 1 } }; struct bag b = { 7, 8 }; struct plain p = { 3 };
  struct value w = { 4 }; union room u = { 0 }; struct rooms rooms = { 0 };
  argc += summed(&rooms, &u);
  argc += (found(&w, argc) != 0) + longest(v, argc) + kept(&b) + again(&p, half);
  cleared(argv[0]); s.turned = argc; struct pair q = { argc, argc };
  return by_size() + a_row() + larger()->id + caller(&r) + length(&c) + last(&t, argc) + find(&m, argc) + heads(argc)
    + lengths(argc) + s.turned + q.first; }
"""

CALLED_BACK = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct counter { long total; int calls; double mean; };
struct limits { int low, high; unsigned hits; struct counter *counter; };
struct listener { struct listener *next; int (*heard)(void *context, int value); void *context; };
struct listener *listeners;
static int count(void *context, int value)
{ struct counter *c = context; c->total += value; c->calls++; c->mean = c->mean * 0.5 + value; return 1; }
static int limit(void *context, int value)
{ struct limits *l = context; if (value >= l->low && value < l->high) l->hits++; l->counter->calls++; return 0; }
static int each_of(void *context, int value) { struct counter *c = context; c->calls += value; return 2; }
struct tally { long sum; int n, most; };
struct bins { unsigned bins[8], other; };
static int tallied(void *context, int value)
{ struct tally *t = context; t->sum += value; t->n++; if (value > t->most) t->most = value; return 1; }
static int binned(void *context, int value)
{ struct bins *b = context; if (value < 8) b->bins[value]++; else b->other++; return 1; }
NOINLINE void listen(int (*heard)(void *, int), void *context)
{ struct listener *l = malloc(sizeof *l); l->heard = heard; l->context = context; l->next = listeners; listeners = l; }
NOINLINE int say(int value)
{ int n = 0; for (struct listener *l = listeners; l; l = l->next) n += l->heard(l->context, value); return n; }
NOINLINE int visit(int n, int (*visited)(void *, int), void *context)
{ return n ? visited(context, n) + visit(n - 1, visited, context) : 0; }
struct shape; struct drawing { double (*area)(const struct shape *s); void (*grow)(struct shape *s, double by); };
struct shape { const struct drawing *drawing; int id; struct shape *next; };
struct disk { struct shape shape; double radius; };
struct slab { struct shape shape; double width, height; int turned; };
static double disk_area(const struct shape *s) { const struct disk *d = (const struct disk *)s; return d->radius * 3; }
static void disk_grow(struct shape *s, double by) { struct disk *d = (struct disk *)s; d->radius *= by; s->id++; }
static double slab_area(const struct shape *s)
{ const struct slab *b = (const struct slab *)s; return b->width * b->height; }
static void slab_grow(struct shape *s, double by) { struct slab *b = (struct slab *)s; b->width *= by; b->turned++; }
static const struct drawing disks = { disk_area, disk_grow }, slabs = { slab_area, slab_grow };
NOINLINE static struct shape *new_disk(struct shape *next)
{ struct disk *d = malloc(sizeof *d); d->shape.drawing = &disks; d->shape.id = 1; d->shape.next = next; d->radius = 2;
  return &d->shape; }
NOINLINE static struct shape *new_slab(struct shape *next)
{ struct slab *d = malloc(sizeof *d); d->shape.drawing = &slabs; d->shape.id = 1; d->shape.next = next; d->width = 2;
  d->height = 1; d->turned = 0; return &d->shape; }
struct link { struct link *next, *before; };
struct piece { struct link link; size_t offset, length; unsigned char bytes[32]; };
struct line { int number; struct link out, all; long sent[4]; };
NOINLINE long sent(struct line *l) { return l->sent[l->number & 3] + (l->out.next != &l->out); }
NOINLINE void append(struct link *to, struct link *one)
{ one->next = to; one->before = to->before; to->before->next = one; to->before = one; }
NOINLINE static void piece(struct link *to, size_t length)
{ struct piece *p = malloc(sizeof *p); p->offset = 0; p->length = length; append(to, &p->link); }
struct room { size_t used; char bytes[4000]; };
struct word { int length; const char *text; short kind; };
NOINLINE void *taken(struct room *r, size_t n) { void *p = r->bytes + r->used; r->used += n; return p; }
NOINLINE static int word(struct room *r, const char *text)
{ struct word *w = taken(r, sizeof *w); w->length = 1; w->text = text; w->kind = 2; return w->length + w->text[0]; }
NOINLINE static struct counter *new_counter(void)
{ struct counter *c = calloc(1, sizeof *c); c->calls = 1; c->mean = 0; return c; }
NOINLINE static struct limits *new_limits(int low, int high)
{ struct limits *l = malloc(sizeof *l); l->low = low; l->high = high; l->hits = 0; l->counter = new_counter();
  return l; }
int main(int argc, char **argv)
{ static struct room room; struct shape *s = new_slab(new_disk(0)); struct counter *c = new_counter();
  struct tally total = { 0 }; struct bins *b = calloc(1, sizeof *b); listen(binned, b);
  visit(argc, tallied, &total); struct link pieces = { &pieces, &pieces }; piece(&pieces, argc);
  struct line line = { 1 }; argc += sent(&line);
  listen(count, c); listen(limit, new_limits(argc, 9)); double t = 0;
  for (; s; s = s->next) { s->drawing->grow(s, argc); t += s->drawing->area(s); }
  return say(argc) + t + visit(argc, each_of, c) + word(&room, argv[0]); }
"""


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("optimized"), "-O1", SOURCE)


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def called_back(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("called"), request.param, CALLED_BACK)


def test_allocations_are_typed_by_size_and_members(plain: Path) -> None:
    found = answers(plain, "by_size")
    assert {"struct plain.weight", "struct plain.count", "struct plain.kind"} <= found
    assert "?" not in found


def test_consecutive_integers_are_no_structure(plain: Path) -> None:
    assert "struct plain.weight" in answers(plain, "by_size")
    assert answers(plain, "a_row") == {"?"}


def test_an_allocation_larger_than_the_return_type_contains_it(plain: Path) -> None:
    assert {"struct round.base.id", "struct round.radius"} <= answers(plain, "larger")


def test_memory_before_an_argument_is_unknown(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "before") if one.startswith("struct record.")}
    assert "void*" in answers(plain, "before")


def test_a_unions_member_is_what_the_loop_iterates_on(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "length")
        assert "struct cell.tag" in found
        assert "?" not in found


def test_an_index_minus_one_is_in_the_accessed_array(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "last")
        assert {"struct tables.keys[]", "struct tables.values[]"} <= found


def test_pointers_to_pointers_iterate_over_chains(plain: Path) -> None:
    found = answers(plain, "find")
    assert "struct entry.hash" in found
    assert "struct entry.chain" not in found


def test_elements_stored_one_by_one_type_the_array(plain: Path) -> None:
    found = answers(plain, "heads")
    assert "struct end.head" in found
    assert not {one for one in found if one.startswith("struct port*")}


def test_the_c_librarys_functions_type_arguments_and_results(plain: Path) -> None:
    found = answers(plain, "lengths")
    assert "char" in found
    assert "?" not in found


def test_bytes_used_as_another_type_are_no_characters(plain: Path) -> None:
    assert answers(plain, "cleared") == {"char*", "?"}


def test_a_copy_of_several_members_at_once_is_a_structure(plain: Path) -> None:
    found = answers(plain, "longest")
    assert {"struct triple.x", "struct triple.y", "struct triple.z"} <= found
    assert "float" not in found


def test_union_pointers_are_to_the_type_that_fits_all_uses(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "found")
        assert {"struct member.size", "struct member.value", "struct member.next"} <= found
        assert "?" not in found


def test_a_sum_with_a_possible_address_has_no_type(plain: Path) -> None:
    found = answers(plain, "summed")
    assert {"long int", "union room.next"} <= found
    assert not {one for one in found if one.startswith("double")}


def test_integers_joined_with_unsigned_ones_are_unsigned(plain: Path) -> None:
    found = answers(plain, "kept")
    assert {"struct bag.last", "struct bag.mask"} <= found
    assert "int" not in found


def test_floats_in_the_frame_have_their_type(optimized: Path) -> None:
    assert "double" in answers(optimized, "again")


def test_callbacks_take_the_context_stored_with_their_address(called_back: Path) -> None:
    found = answers(called_back, "count")
    assert {"struct counter.total", "struct counter.calls", "struct counter.mean"} <= found
    assert "?" not in found
    found = answers(called_back, "limit")
    assert {"struct limits.low", "struct limits.high", "struct limits.hits", "struct counter.calls"} <= found
    assert "?" not in found


def test_callbacks_take_what_passes_through_their_caller(called_back: Path) -> None:
    assert "struct counter.calls" in answers(called_back, "each_of")


def test_functions_of_a_table_take_objects_that_have_it(called_back: Path) -> None:
    for function, member in (("area", "radius"), ("grow", "radius")):
        assert f"struct disk.{member}" in answers(called_back, f"disk_{function}")
    found = answers(called_back, "slab_area")
    assert {"struct slab.width", "struct slab.height"} <= found
    assert {"struct slab.width", "struct slab.turned"} <= answers(called_back, "slab_grow")


def test_stores_and_pointers_distinguish_structures_of_one_size(called_back: Path) -> None:
    found = answers(called_back, "new_limits")
    assert {"struct limits.low", "struct limits.counter"} <= found
    assert not {one for one in found if one.startswith("struct counter")}


def test_an_untyped_pointee_is_the_only_type_with_all_members(called_back: Path) -> None:
    found = answers(called_back, "word")
    assert {"struct word.length", "struct word.text", "struct word.kind"} <= found


def test_integers_used_in_arithmetic_are_one_type(tmp_path: Path) -> None:
    found = answers(built(tmp_path, "-O2", CALLED_BACK), "tallied")
    assert {"struct tally.sum", "struct tally.n", "struct tally.most"} <= found
    assert "?" not in found


def test_an_allocation_has_the_type_of_where_it_is_stored(called_back: Path) -> None:
    assert {"struct bins.bins[]", "struct bins.other"} <= answers(called_back, "binned")


def test_a_structure_that_starts_with_a_link_is_no_array_of_links(called_back: Path) -> None:
    assert {"struct piece.offset", "struct piece.length"} <= answers(called_back, "piece")
