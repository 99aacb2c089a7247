"""BTF only: objects in the frame, elements of sorted arrays."""

from pathlib import Path

from tests.support.types.btf_programs import answers, touched

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct token { int kind, line; union { double number; int sign; } u; long place; char note[32]; };
struct tokens { struct token *v; unsigned long n; };
struct stack { struct token top[2]; int n; };
struct row { long key; int n; };
struct table { struct row rows[6]; int n; long total; };
struct owner { int id; }; struct page { long flags; struct owner *owner; };
struct message { int type; union { int place[4]; char text[16]; } u; };
struct label { long id; char name[16]; };
struct label label;
struct table table;
NOINLINE void push(struct tokens *t, struct token one) { t->v[t->n++] = one; }
NOINLINE struct token made(int kind, int line)
{ struct token t; memset(&t, 0, sizeof t); t.kind = kind; t.line = line; if (kind == 1) t.u.number = line;
  else t.u.sign = -1; return t; }
NOINLINE void scan(struct tokens *t, const char *text)
{ for (; *text; text++) { struct token one = { 0, 3 }; if (*text == 'n') { one.kind = 1; one.u.number = 2; }
    else one.u.sign = *text; one.place = text[1]; push(t, one); } }
NOINLINE int by_key(const void *a, const void *b)
{ const struct row *x = a, *y = b; return x->n != y->n ? x->n - y->n : x->key > y->key; }
NOINLINE int with_key(const void *key, const void *one) { return *(const long *)key - ((const struct row *)one)->key; }
NOINLINE long sorted(void)
{ qsort(table.rows, table.n, sizeof(struct row), by_key); long key = 3;
  struct row *found = bsearch(&key, table.rows, table.n, sizeof(struct row), with_key); return found ? found->n : 0; }
NOINLINE long filled(struct table *t) { t->total += t->rows[1].n; return t->total; }
NOINLINE long by_memory(int n)
{ struct table t; memset(&t, 0, sizeof t); t.n = n; t.rows[0].n = 3; qsort(t.rows, t.n, sizeof *t.rows, by_key);
  return filled(&t) + t.n; }
struct owner *owner(int id); struct page *page(struct owner *o);
NOINLINE long two_arrays(int n)
{ struct owner *owners[3]; struct page *pages[8]; long sum = 0; for (int i = 0; i < 3; i++) owners[i] = owner(i);
  for (int i = 0; i < 8; i++) pages[i] = page(owners[(i + n) % 3]);
  for (int i = 0; i < 8; i++) sum += pages[i]->flags + owners[i % 3]->id; return sum; }
NOINLINE int letters(const struct message *m)
{ int n = 0; for (const char *p = m->u.text; *p; p++) n += *p; return n; }
NOINLINE int copied(long id) { char name[16] = "name"; name[2] = id; memcpy(label.name, name, 16); label.id = id;
  return name[3]; }
NOINLINE int pairs(const int *v, int n) { int i, sum = 0; for (i = 0; i + 1 < n; i++) sum ^= v[i]; return sum; }
NOINLINE struct owner *owner(int id) { struct owner *o = malloc(sizeof *o); o->id = id; return o; }
NOINLINE struct page *page(struct owner *o)
{ struct page *p = malloc(sizeof *p); p->owner = o; p->flags = 1; return p; }
typedef unsigned long (*hash)(const void *key); typedef int (*drop)(void *value, void *user);
struct store { hash hash; drop drop; void *user; };
struct dropped { int count; long bytes; };
NOINLINE void store_made(struct store *s, hash h, drop d, void *user) { s->hash = h; s->drop = d; s->user = user; }
static unsigned long hash_text(const void *key)
{ unsigned long h = 5; for (const unsigned char *p = key; *p; p++) h = h * 33 + *p; return h; }
static int drop_all(void *value, void *user) { struct dropped *d = user; d->count++; d->bytes += 3; return 1; }
struct customer { int id; short rank; double arrived; struct owner *at; };
struct event { double at; int kind; struct customer *who; unsigned long number; };
struct span { int low, high; unsigned hits; struct owner *owner; };
struct session { char name[24]; long last; unsigned flags; struct owner *owner; };
struct leaf { struct leaf *left, *right; int key; };
void *found_at(const char *name); void keep(const char *name, void *value);
NOINLINE void *customers(int n)
{ struct customer *all = calloc(n, sizeof *all);
  for (int i = 0; i < n; i++) { all[i].id = i; all[i].rank = i % 3; all[i].arrived = i * 0.5; all[i].at = 0; }
  return all; }
NOINLINE void *spans(long n)
{ struct span *all = malloc(n * sizeof *all);
  for (long i = 0; i < n; i++) { all[i].low = i; all[i].hits = 1; all[i].owner = owner(i); }
  return all; }
NOINLINE void *a_table(int n) { int *v = malloc(n * 3 * sizeof *v);
  for (int i = 0; i < n; i++) { v[3 * i] = i; v[3 * i + 1] = 2; v[3 * i + 2] = 3; } return v; }
struct three { int a, b, c; }; struct three three;
NOINLINE long session(const char *name, struct owner *o)
{ struct session *s = found_at(name);
  if (!s) { s = calloc(1, sizeof *s); strncpy(s->name, name, 23); s->owner = o; keep(s->name, s); }
  s->last = 3; s->flags++; return s->last + s->owner->id; }
NOINLINE int by_low(const void *a, const void *b)
{ const struct span *x = a, *y = b; return x->low < y->low ? -1 : x->high > y->high; }
NOINLINE int by_leaf(const void *a, const void *b)
{ return (*(struct leaf *const *)a)->key - (*(struct leaf *const *)b)->key; }
NOINLINE int three_leaves(struct leaf *l)
{ struct leaf *v[3] = { l, l->left ? l->left : l, l->right ? l->right : l }; qsort(v, 3, sizeof *v, by_leaf);
  return v[0]->key; }
struct corner { float x, y, z; }; struct ball { struct corner low, high, middle; float radius; };
NOINLINE struct corner *corners(const struct ball *b, float k)
{ struct corner *c = malloc(4 * sizeof *c); for (int i = 0; i < 4; i++) c[i] = b->low; c[3].x = k; return c; }
NOINLINE float fourth(struct ball *b) { return corners(b, 2)[3].x + b->radius; }
void *kept; const char *kept_name;
NOINLINE void *found_at(const char *name) { return kept_name && !strcmp(kept_name, name) ? kept : 0; }
NOINLINE void keep(const char *name, void *value) { kept_name = name; kept = value; }
struct entry_ { int op; unsigned what; long number; }; struct journal { struct entry_ last[8]; int head; };
struct files { int errors; struct journal journal; };
NOINLINE void noted(struct files *f, int op)
{ struct entry_ *e = &f->journal.last[f->journal.head++ & 7]; e->op = op; e->what = 2; e->number++; }
struct task { int id; void *data; struct task *next; };
struct feeder { int left; double level; struct task *to; long fed[2]; };
NOINLINE int fed(struct task *t)
{ struct feeder *f = t->data; f->left--; f->level *= 2; f->fed[1] += 3; return f->to->id; }
struct rope_ { void *data; unsigned long n, room; }; struct town { char name[16]; double x, y; struct rope_ roads; };
struct quest { struct rope_ *a, *b; double *cost; long steps; int (*better)(int, int); struct quest *best; };
NOINLINE void rope_made(struct rope_ *r, unsigned long n) { r->data = 0; r->n = r->room = n; }
NOINLINE long sought(void *of) { struct quest *q = of; return q->steps + (q->a == q->b); }
static int better(int a, int b) { return a < b; }
NOINLINE long shared(int n)
{ long sum = 0;
  for (int i = 0; i < n; i++)
  { struct town t = { "a", i, i * 2 }; rope_made(&t.roads, i); sum += *(long *)found_at(t.name); }
  struct quest q = { 0, 0, 0, n, better, 0 }; sum += sought(&q); return sum + q.steps; }
struct order { int kind, who; union { struct { int to, amount; } hit; float where[2]; } of; };
NOINLINE int sent(struct files *f, struct order o) { f->errors += o.kind; return o.of.hit.to + o.who; }
NOINLINE int sends(struct files *f, int who)
{ struct order o = { 2, who }; o.of.hit.to = who + 1; o.of.hit.amount = 3; return sent(f, o); }
struct totals { double sum, mean; long first, last; }; struct totals totals; struct totals others;
NOINLINE long kept_totals(struct totals *t) { struct totals mine = *t; others = mine; return mine.first + mine.last; }
NOINLINE double two_words(struct totals *t)
{ double a = t->sum; double b = t->mean; long c = t->first; return a + b + c; }
struct ring { struct ring *next, *before; }; struct area { struct ring active, idle; int n; };
struct sheet { int flags; struct ring ring; int age; };
NOINLINE int aged(struct area *a)
{ int n = 0; struct ring *it;
  for (it = a->active.next; it != &a->active; it = it->next)
  { struct sheet *s = (struct sheet *)((char *)it - __builtin_offsetof(struct sheet, ring)); n += s->age++; }
  return n; }
NOINLINE long many_kept(long a, long b, long c)
{ long x = a * 3, y = b * 5, z = c * 7; struct date_ { short year; char month, day; } d = { x, y, z };
  long w = owner(d.year)->id * x; w += owner(d.month)->id * y; w += z; return w * w - owner(w)->id; }
struct lengths { int by_length[16]; long total; };
NOINLINE int counted(void *context, int length, long weight)
{ struct lengths *l = context; l->by_length[length & 15]++; l->total += weight; return 1; }
NOINLINE int each(int n, int (*seen)(void *, int, long), void *context)
{ int k = 0; for (int i = 0; i < n; i++) k += seen(context, i, 2L * i); return k; }
NOINLINE long lengths(int n)
{ struct lengths l; memset(&l, 0, sizeof l); l.by_length[3] = n; n = each(n, counted, &l);
  return l.total + l.by_length[3] + n; }
int main(int argc, char **argv)
{ argc += lengths(argc) + kept_totals(&totals) + two_words(&totals); struct area area = { { &area.active } };
  struct files files = { 0 }; noted(&files, argc); argc += sends(&files, 2);
  struct task task = { 1, &totals }; argc += fed(&task) + shared(argc);
  argc += aged(&area) + many_kept(argc, 2, 3);
  struct leaf leaf = { 0, 0, argc }; struct ball ball = { 0 }; struct span *sp = spans(argc);
  qsort(sp, argc, sizeof *sp, by_low); argc += ((int *)a_table(argc))[2] + three.a + sp[0].low;
  kept = customers(argc); struct event e = { 0, 1, kept }; argc += e.who->id + session(argv[0], owner(2));
  argc += three_leaves(&leaf) + fourth(&ball);
  struct tokens t = { malloc(64 * sizeof(struct token)) }; struct stack s = { { made(argc, 1), made(1, argc) }, 2 };
  scan(&t, argv[0]); struct message m = { argc }; struct dropped d = { 0 }; struct store st;
  store_made(&st, hash_text, drop_all, &d);
  return s.n + sorted() + by_memory(argc) + two_arrays(argc) + letters(&m) + copied(argc) + pairs(m.u.place, 4)
    + st.hash("a") + st.drop(0, st.user); }
"""


def test_an_object_copied_from_the_frame_has_the_targets_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "made")
        assert {"struct token.kind", "struct token.line", "struct token.u.number", "struct token.u.sign"} <= found
        assert "?" not in found


def test_structures_on_the_stack_are_typed_by_the_callee(optimized: Path) -> None:
    found = answers(optimized, "scan")
    assert {"struct token.kind", "struct token.place"} <= found
    assert "?" not in found


def test_characters_copied_at_once_are_no_structure(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "copied", "frame") if one.startswith("struct label.")}
    assert "char" in answers(plain, "copied", "frame")


def test_sorted_elements_have_the_size_that_is_passed(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        for function in ("by_key", "with_key"):
            found = answers(program, function)
            assert "struct row.key" in found
            assert not {one for one in found if "table" in one}
    assert "struct row.n" in answers(plain, "sorted")
    assert "struct table*" not in answers(plain, "sorted")


def test_an_object_in_the_frame_may_be_passed_as_void_pointer_too(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct table.n", "struct row.n"} & answers(program, "by_memory")
        assert "struct table.n" in answers(program, "by_memory")


def test_arrays_in_the_frame_end_where_the_next_one_starts(plain: Path) -> None:
    found = answers(plain, "two_arrays")
    assert {"struct owner*", "struct page*"} <= {one.removesuffix("[]") for one in found}
    assert "?" not in found


def test_pointers_to_a_part_of_a_union_point_to_what_is_read(plain: Path) -> None:
    found = answers(plain, "letters")
    assert not {one for one in found if "anonymous" in one}
    assert "char*" in found


def test_sums_in_signed_comparisons_are_of_signed_integers(plain: Path) -> None:
    found = answers(plain, "pairs")
    assert "int" in found
    assert "?" not in found


def test_each_of_several_callbacks_may_take_the_stored_object(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "hash_text") if "dropped" in one}
    assert "long unsigned int" in answers(plain, "hash_text")


def test_an_allocated_array_is_typed_by_its_stride(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "customers")
        assert {"struct customer.id", "struct customer.rank", "struct customer.arrived"} <= found
        found = answers(program, "spans")
        assert {"struct span.low", "struct span.owner"} <= found
        assert not {one for one in answers(program, "a_table") if one.startswith("struct three.")}


def test_a_structure_that_starts_with_text_may_have_more(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "session")
        assert {"struct session.last", "struct session.flags", "struct session.owner", "struct owner.id"} <= found
        assert "?" not in found


def test_sorted_elements_are_the_only_structure_of_their_size(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct span.low", "struct span.high"} <= answers(program, "by_low")


def test_sorted_pointers_in_the_frame_are_an_array(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "?" not in answers(program, "three_leaves")
        assert "struct leaf.key" in answers(program, "by_leaf")


def test_memory_after_an_object_may_be_the_next_element(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "struct ball.radius" in answers(program, "fourth")
        assert len([one for one in touched(program, "fourth") if one == "struct ball.radius"]) == 1


def test_an_untyped_pointer_has_an_array_at_its_index(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "counted")
        assert {"struct lengths.by_length[]", "struct lengths.total"} <= found
        assert "?" not in found


def test_an_object_in_the_frame_has_the_callees_parameter_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "lengths")
        assert {"struct lengths.by_length[]", "struct lengths.total"} <= found


def test_two_words_copied_together_are_part_of_a_structure(plain: Path) -> None:
    found = answers(plain, "kept_totals", "frame")
    assert {"struct totals.first", "struct totals.last"} <= found
    assert "struct totals.sum" in found
    assert not {one for one in answers(plain, "two_words", "frame") if one.startswith("struct totals.")}


def test_a_list_iterator_compared_with_the_head_has_its_type(plain: Path) -> None:
    found = answers(plain, "aged")
    assert {"struct ring*", "struct ring.next"} <= found
    assert "?" not in found


def test_an_array_element_is_not_the_arrays_container(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert "struct journal*" not in answers(program, "noted")
    assert "struct entry_*" in answers(plain, "noted")


def test_an_untyped_member_is_the_only_structure_with_all_used_members(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct feeder.left", "struct feeder.level", "struct feeder.to"} <= answers(program, "fed")


def test_objects_in_the_frame_have_no_pointers_at_integer_members(optimized: Path) -> None:
    found = answers(optimized, "shared", "frame")
    assert "struct rope_.room" not in found or "struct town.roads.room" in found
    assert "struct token.kind" in answers(optimized, "scan", "frame")


def test_an_object_passed_by_value_is_loaded_from_its_source(plain: Path) -> None:
    found = answers(plain, "sends", "frame")
    assert {"struct order.kind", "struct order.who", "struct order.of.hit.to", "struct order.of.hit.amount"} <= found
