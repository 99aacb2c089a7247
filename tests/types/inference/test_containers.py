"""BTF only: containers of links and headers, byte buffers used as other types."""

from pathlib import Path

from tests.support.types.btf_programs import answers, touched

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noipa))
struct link { struct link *next, *prev; };
struct lock { unsigned short owner, next; };
struct room { struct link list; char *memory; void *free; unsigned short inuse, total; };
struct cache { const char *name; unsigned size; struct link partial, full; struct lock lock; unsigned long n; };
struct node { unsigned long colour; struct node *right, *left; };
struct root { struct node *node; };
struct job { struct node node; unsigned long when; };
struct head { unsigned char kind, flags; unsigned short n; unsigned crc, parent; };
struct leaf { struct head h; unsigned short top, free; struct { long key, at; } slots[20]; };
struct page { int number; unsigned char data[512]; };
struct key { double when, eye[3]; };
struct task { struct link list; int weight; unsigned char done : 1, late : 1; long began; };
struct other { struct link list; int weight, done; long began; } *others;
struct queue { struct link tasks; unsigned n; };
NOINLINE long began(struct queue *q)
{ long sum = 0;
  for (struct task *t = (struct task *)q->tasks.next; &t->list != &q->tasks; t = (struct task *)t->list.next)
    if (!t->done) sum += t->began * t->weight;
  return sum; }
NOINLINE void unlinked(struct link *l) { l->next->prev = l->prev; l->prev->next = l->next; l->next = l->prev = l; }
NOINLINE struct room *fresh(struct cache *c)
{ struct room *r = calloc(1, sizeof *r); r->list.next = r->list.prev = &r->list; r->total = c->size;
  r->free = &r->memory; return r; }
NOINLINE void *taken(struct cache *c)
{ struct room *r = (struct room *)c->partial.next; void *found;
  if (c->partial.next == &c->partial) r = fresh(c);
  found = r->free; r->free = *(void **)found; r->inuse++; c->n++;
  if (r->inuse == r->total) unlinked(&r->list);
  return found; }
NOINLINE void emptied(struct cache *c)
{ while (c->full.next != &c->full) { struct room *r = (struct room *)c->full.next; unlinked(&r->list); free(r); } }
NOINLINE void added(struct root *roots, struct job *j, int which)
{ struct node **p = &roots[which].node, *up = 0;
  while (*p) { struct job *o = (struct job *)*p; up = *p; p = j->when < o->when ? &up->left : &up->right; }
  j->node.colour = (unsigned long)up; j->node.right = j->node.left = 0; *p = &j->node; }
NOINLINE long checked(struct page *p)
{ const struct head *h = (const struct head *)p->data; long sum = 0;
  if (h->kind == 1) { const struct leaf *l = (const struct leaf *)h;
    for (int i = 0; i < l->h.n; i++) sum += l->slots[i].at; }
  return sum; }
NOINLINE void begun(struct page *p, int kind)
{ struct head *h; memset(p->data, 0, 512); h = (struct head *)p->data; h->kind = kind; h->parent = p->number;
  if (kind == 1) ((struct leaf *)h)->top = 512; }
NOINLINE double weighed(const double (*rows)[4], const struct key *keys, int n)
{ double sum = 0;
  for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) sum += rows[i][j] * keys[i].when; return sum; }
NOINLINE double fitted(const struct key *keys, int n)
{ double (*rows)[4] = malloc(n * sizeof *rows), sum;
  for (int i = 0; i < n; i++)
  { rows[i][0] = 1; for (int j = 1; j < 4; j++) rows[i][j] = rows[i][j - 1] * keys[i].when; }
  sum = weighed((const double (*)[4])rows, keys, n); free(rows); return sum; }
int main(int argc, char **argv)
{ struct cache c = { "c", 40 }; struct root roots[2] = { 0 }; struct job *j = calloc(2, sizeof *j);
  struct key k = { argc };
  struct page *p = calloc(1, sizeof *p);
  c.partial.next = c.partial.prev = &c.partial; c.full.next = c.full.prev = &c.full; taken(&c); emptied(&c);
  struct queue q = { { &q.tasks, &q.tasks } }; argc += began(&q);
  added(roots, j, argc & 1); added(roots, j + 1, argc & 1); begun(p, argc); return checked(p) + fitted(&k, 1); }
"""


def test_a_lists_first_element_or_a_new_one_is_an_element(optimized: Path) -> None:
    found = answers(optimized, "taken")
    assert {"struct room.free", "struct room.inuse", "struct room.total"} <= found
    assert not {one for one in found if "full" in one or "lock" in one}


def test_a_list_iteration_takes_each_element_from_its_link(plain: Path) -> None:
    found = answers(plain, "began")
    assert {"struct task*", "struct task.done", "struct task.weight", "struct task.began"} <= found
    assert "struct link*" not in found


def test_a_freed_object_is_no_lone_link(plain: Path) -> None:
    assert answers(plain, "emptied") == {"struct cache*", "struct cache.full.next"}


def test_an_address_in_one_structure_is_not_of_the_one_used_with_it(plain: Path) -> None:
    found = touched(plain, "added")
    assert found.count("struct node**") > found.count("struct root*") > 0


def test_a_pointer_passed_to_member_accesses_is_no_byte_pointer(plain: Path) -> None:
    found = answers(plain, "checked")
    assert {"struct page*", "struct page.data[]"} <= found
    assert "unsigned char*" not in found


def test_a_cast_to_a_common_base_is_not_typed_by_what_follows_it(plain: Path) -> None:
    found = answers(plain, "begun")
    assert {"struct page*", "struct page.number"} <= found
    assert not {one for one in found if "leaf" in one}


def test_an_argument_for_a_pointer_to_rows_is_one(plain: Path) -> None:
    found = answers(plain, "fitted")
    assert "double[]*" in found
    assert "double*" not in found
