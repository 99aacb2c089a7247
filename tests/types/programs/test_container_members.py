"""Programs with DWARF: members and headers that are used as their container."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
#define OWNER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))
struct link { struct link *next, *prev; };
struct count { int n; };
struct device { struct link all, hash; struct count uses; int number; char name[12]; long size;
  void *ops, *own, *queue; };
struct request { struct link sort, all, hash; void *first; struct count uses; long sector;
  void *head, *tail, *bio, *queue; };
NOINLINE void gone(struct count *c)
{ struct device *d = OWNER(c, struct device, uses); d->all.next->prev = d->all.prev; d->all.prev->next = d->all.next;
  free(d->queue); free(d->own); free(d); }
NOINLINE void done(struct count *c) { struct request *r = OWNER(c, struct request, uses); free(r->bio); free(r); }
struct head { unsigned char kind, flags; unsigned short n; unsigned sum; unsigned long parent; };
struct inner { struct head h; struct { long key; unsigned child, rest; } cells[20]; };
struct page { int number; unsigned char data[512]; };
NOINLINE unsigned long visited(unsigned child, void *p) { return child + (p != 0); }
NOINLINE unsigned long visit(struct page *p)
{ const struct head *h = (const struct head *)p->data; unsigned long sum = 0;
  if (h->kind != 1) { const struct inner *in = (const struct inner *)h;
    for (int i = 0; i < in->h.n; i++) sum += visited(in->cells[i].child, p); }
  return sum + h->parent; }
struct knot { struct knot *next, *prev; };
struct sized { struct knot l; unsigned long n; };
struct item { long weight; };
struct boxed { struct knot l; struct item *item; };
struct roomy { struct knot l; unsigned char room[8]; };
NOINLINE long front(struct sized *head, struct boxed *last)
{ last->l.next = 0; return ((struct boxed *)head->l.next)->item->weight; }
NOINLINE long in_room(struct sized *head)
{ struct item *i; memcpy(&i, ((struct roomy *)head->l.next)->room, sizeof i); return i->weight; }
NOINLINE long length(struct boxed *b) { return ((struct sized *)b->l.next)->n * 3; }
int main(int argc, char **argv)
{ struct device *d = calloc(1, sizeof *d); struct request *r = calloc(1, sizeof *r); struct page p = { 1 };
  d->all.next = d->all.prev = &d->all; gone(&d->uses); done(&r->uses);
  struct item i = { 9 }; struct boxed b = { .item = &i };
  struct sized s = { { &b.l } }; b.l.next = &s.l;
  return visit(&p) + in_room(&s) + length(&b) + front(&s, &b); }
"""


@pytest.fixture(scope="module", params=["gcc", "clang"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, request.param, "-O2", tmp_path_factory.mktemp("containers"))


def test_an_access_wider_than_a_member_is_no_next_element(program: Path) -> None:
    for function, member in (("gone", "struct device.queue"), ("done", "struct request.bio")):
        found = {f"{one.type}.{one.field}" for one in accesses(program, function) if one.typed}
        assert member in found
        assert not {one for one in found if one.startswith("struct count")}


def test_an_index_after_a_header_is_not_of_further_headers(program: Path) -> None:
    found = [f"{one.type}.{one.field}" for one in accesses(program, "visit") if one.typed]
    assert "struct inner.h.parent" in found or "struct head.parent" in found
    assert sum(one.endswith("parent") for one in found) == 1


def test_a_header_has_an_integer_where_a_node_has_a_pointer(program: Path) -> None:
    found = [f"{one.type}.{one.field}" for one in accesses(program, "front") if one.typed]
    assert "struct boxed.item" in found
    assert "struct sized.n" not in {f"{one.type}.{one.field}" for one in accesses(program, "in_room")}
    assert {one.type for one in accesses(program, "length") if one.typed} == {"struct boxed"}
