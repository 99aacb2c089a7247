"""BTF only: structures with one prefix, and results of tail calls."""

from pathlib import Path

from tests.support.types.btf_programs import answers

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct file;
struct calls { int (*at)(struct file *); int (*drop)(struct file *); int (*many)(struct file *); };
struct file { const struct calls *calls; };
struct disk { const struct calls *calls; long at; short mode; int handle; double speed; };
struct text { const struct calls *calls; char *bytes; long used, room; unsigned short lines; };
struct copy { const struct calls *calls; char *bytes; long used, spare; };
struct slot { struct slot *next; };
struct room { struct slot *open; long out; };
struct order { long number; int parts; };
static struct order orders[4];
static long seen;
NOINLINE int disk_at(struct file *f) { struct disk *d = (struct disk *)f; d->at++; d->mode = 2; return d->handle; }
NOINLINE int text_drop(struct file *f) { struct text *t = (struct text *)f;
  t->lines = 0; t->room--; return t->used > 4; }
NOINLINE int copy_many(struct file *f) { struct copy *c = (struct copy *)f; c->spare = 1; return c->used > 4; }
static const struct calls disk = { disk_at, 0, 0 }, text = { 0, text_drop, copy_many };
NOINLINE void *more(struct room *r, long bytes) { r->out += bytes; return malloc(bytes); }
NOINLINE void *taken(struct room *r, long bytes)
{ struct slot *s = r->open; if (!s) return more(r, bytes); r->open = s->next; return s; }
NOINLINE struct order *ordered(void) { return orders; }
NOINLINE void *first(long n) { seen += n; return ordered(); }
NOINLINE long fill(struct room *r) { long *one = taken(r, 16); one[0] = seen; one[1] = 4; return seen; }
NOINLINE int count(long n) { struct order *o = first(n); return o->parts; }
struct pool { char *bytes; long used; }; struct flags { unsigned char first, second; };
static struct pool pool;
NOINLINE void *put(long n) { pool.used += n; return pool.bytes; }
NOINLINE int far(void) { struct flags *one = put(2); return one->second; }
int main(int argc, char **argv)
{ struct disk d = { &disk, argc }; struct text t = { &text, argv[0], argc }; struct room r = { 0, argc };
  return d.calls->at((void *)&d) + t.calls->drop((void *)&t) + t.calls->many((void *)&t) + fill(&r) + count(argc)
    + far(); }
"""


def test_structures_may_start_with_the_same_ops_table_pointer(optimized: Path) -> None:
    assert answers(optimized, "disk_at") == {"struct disk.at", "struct disk.mode", "struct disk.handle"}
    assert answers(optimized, "text_drop") == {"struct text.lines", "struct text.room", "struct text.used"}


def test_one_of_several_types_with_that_start_is_no_array(optimized: Path) -> None:
    assert answers(optimized, "copy_many") == {"?"}
    assert "struct text.lines" in answers(optimized, "text_drop")


def test_a_function_that_ends_in_a_tail_call_returns_its_type(optimized: Path) -> None:
    assert "struct order.parts" in answers(optimized, "count")
    assert not {one for one in answers(optimized, "fill") if one.startswith("struct slot")}


def test_bytes_returned_as_a_void_pointer_are_a_buffer(optimized: Path) -> None:
    assert answers(optimized, "far") == {"?"}
    assert "struct order.parts" in answers(optimized, "count")
