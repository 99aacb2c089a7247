"""Programs with DWARF that use memory as another type: headers in bytes, pools, arenas, adjacent objects."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, answers, compiled

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct val { int t; long i; };
struct entry { struct val k, v; };
struct vm { struct entry *globals; struct val *top, stack[8]; };
NOINLINE long add(struct vm *v) { struct val y = *--v->top, *x = v->top - 1; if (x->t == y.t) x->i += y.i;
  return x->i; }
struct blk { size_t size; struct blk *next; char data[16]; };
static _Alignas(16) char pool[1024]; struct blk *freelist;
NOINLINE void fill(int n)
{ for (int i = 0; i < n; i++)
  { struct blk *b = (struct blk *)(pool + i * 64); b->size = 48 + i; b->next = freelist; freelist = b; } }
NOINLINE void release(void *p)
{ struct blk *b = (struct blk *)((char *)p - offsetof(struct blk, data)); b->size--; b->next = freelist;
  freelist = b; }
struct eth { uint16_t dst[3], src[3], type; };
struct ip { uint8_t head, tos; uint16_t len; uint8_t ttl, proto; uint16_t sum; uint32_t from, to; };
struct tcp { uint16_t from, to; uint32_t seq, ack; uint16_t bits, win; }; struct udp { uint16_t from, to, len, sum; };
struct packet { struct eth *eth; struct ip *ip; union { struct tcp *tcp; struct udp *udp; uint8_t *raw; } up;
  int kind; };
NOINLINE int parse(struct packet *p, uint8_t *b)
{ p->eth = (struct eth *)b; if (p->eth->type != 8) return -1;
  p->ip = (struct ip *)(p->eth + 1); if (p->ip->tos) return -2;
  uint8_t *up = (uint8_t *)p->ip + (p->ip->head & 15) * 4;
  if (p->ip->proto == 6) { p->kind = 1; p->up.tcp = (struct tcp *)up; return p->up.tcp->bits; }
  p->kind = 2; p->up.udp = (struct udp *)up; return p->up.udp->len; }
struct link { struct link *next, *prev; };
struct page { struct link link; unsigned short order, free, used, part; void *owner; };
struct buddy { struct page pages[64]; struct link free[7]; unsigned n; };
static inline void alone(struct link *l) { l->next = l->prev = l; }
NOINLINE void opened(struct buddy *b)
{ for (int i = 0; i < 7; i++) alone(&b->free[i]);
  for (int i = 0; i < 64; i++) { alone(&b->pages[i].link); b->pages[i].used = 0; }
  b->n = 64; }
struct item { long (*cost)(struct item *); long id; };
struct tree { double low[3], high[3]; union { struct tree *kid[2]; struct { struct item **at; int n; } leaf; };
  int last; };
NOINLINE long costs(struct tree *t)
{ long s = 0;
  if (t->last) { for (int i = 0; i < t->leaf.n; i++) s += t->leaf.at[i]->id; return s; }
  return costs(t->kid[0]) + costs(t->kid[1]); }
struct __attribute__((packed)) short_head { uint8_t used, room; unsigned char kind; char text[]; };
struct __attribute__((packed)) mid_head { uint16_t used, room; unsigned char kind; char text[]; };
struct __attribute__((packed)) long_head { uint64_t used, room; unsigned char kind; char text[]; };
#define HEAD(kind, s) ((struct kind##_head *)((s) - sizeof(struct kind##_head)))
NOINLINE size_t used(const char *s)
{ switch (s[-1]) { case 0: return HEAD(short, s)->used; case 1: return HEAD(mid, s)->used;
  case 2: return HEAD(long, s)->used; } return 0; }
NOINLINE int end_of(const char *s) { return s[-3] + s[-1]; }
NOINLINE char *text_of(struct long_head *h, int n)
{ h->used = n; h->room = 2 * n; h->kind = 2; return h->text + (n < 0 ? n : 0); }
int main(int argc, char **argv)
{ static long long room[8]; char *text = text_of((struct long_head *)room, argc);
  struct vm vm = { 0, vm.stack + 3 }; struct item one = { 0, argc }, *all[2] = { &one, &one };
  struct tree leaf = { { 1 }, { 2 }, .leaf = { all, argc }, .last = 1 };
  struct tree t = { { 1 }, { 2 }, { { &leaf, &leaf } } }; uint8_t bytes[64] = { 0 };
  static struct buddy buddy; opened(&buddy);
  struct packet p = { 0 }; fill(argc); release(freelist->data);
  return add(&vm) + parse(&p, bytes) + costs(&t) + used(text) + end_of(text); }
"""
COMPILERS = [("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-Os"), ("clang", "-O1"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("cast"))


def test_an_object_before_another_is_an_element_despite_pairs(program: Path) -> None:
    assert answers(program, "add") <= {"struct vm.top", "struct val.t", "struct val.i", "?"}
    assert "struct val.i" in answers(program, "add")


def test_an_object_in_plain_bytes_has_its_variables_type(request: pytest.FixtureRequest, program: Path) -> None:
    stores = [one for one in accesses(program, "fill") if one.access == "w" and one.size == 8 and one.how != "stack"]
    if request.node.callspec.params["program"][0] == "clang" and len(stores) > 2:
        pytest.skip("no variable is left of the loop's turns that are made one")
    assert "struct blk.next" in answers(program, "fill")
    assert not any(one.startswith("char") for one in answers(program, "fill"))


def test_memory_before_a_void_pointer_is_typed_by_the_variable(program: Path) -> None:
    assert "struct blk.next" in answers(program, "release")
    assert answers(program, "release") <= {"struct blk.size", "struct blk.next", "struct blk*", "?"}


def test_bytes_are_headers_once_stored_as_such(program: Path) -> None:
    found = answers(program, "parse")
    assert found >= {"struct eth.type", "struct ip.tos", "struct packet.up.tcp"}
    if len([one for one in accesses(program, "parse") if one.field == "kind"]) == 2 and "unsigned char" not in found:
        assert found >= {"struct tcp.bits", "struct udp.len"}
    assert not any(one.startswith("struct eth.") and one != "struct eth.type" for one in found)


def test_an_indexed_load_that_is_dereferenced_is_no_integer(program: Path) -> None:
    found = answers(program, "costs")
    assert "struct item.id" in found
    assert not any("low" in one or "high" in one for one in found)


def test_no_part_of_a_pointer_is_written(program: Path) -> None:
    found = accesses(program, "opened")
    stores = [one for one in found if one.access == "w" and one.size == 2]
    assert stores and any(one.typed for one in found)
    assert all(one.type is None or one.field.endswith("used") for one in stores)


OPAQUE = r"""
#include <stdlib.h>
struct handle; typedef struct handle handle;
struct file { long at; int mode, left; struct file *next; }; struct other { long at; short mode; };
#define UNFOLLOWED __attribute__((noinline, noclone, optimize("no-var-tracking")))
UNFOLLOWED int moved(handle *h, long n)
{ struct file *f = (struct file *)h; f->at += n; return f->mode; }
UNFOLLOWED long only(handle *h) { struct file *f = (struct file *)h; return f->at; }
__attribute__((noinline, noclone)) int unspoken(handle *h) { return ((long *)h)[0] + ((int *)h)[2]; }
int main(int argc, char **argv)
{ struct file f = { argc, 2 }; handle *h = (handle *)&f; return moved(h, argc) + only(h) + unspoken(h); }
"""


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_an_incomplete_type_is_the_one_the_function_mentions(tmp_path: Path, level: str) -> None:
    program = compiled(OPAQUE, "gcc", level, tmp_path)
    assert {one.type for one in accesses(program, "moved") if one.countable} == {"struct file"}
    for function in ("only", "unspoken"):
        assert {one.type for one in accesses(program, function) if one.countable} == {None}


def test_memory_before_a_strings_characters_is_its_header(program: Path) -> None:
    assert answers(program, "used") == {
        "char",
        "struct short_head.used",
        "struct mid_head.used",
        "struct long_head.used",
    }
    # Characters that are counted from the end.
    assert answers(program, "end_of") == {"char"}
