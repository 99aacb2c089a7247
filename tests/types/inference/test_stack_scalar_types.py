"""BTF only: text, integers and pointers in the frame of unoptimised code, objects passed with their size."""

from pathlib import Path

from tests.support.types.btf_programs import accesses, answers, spilled, touched

SOURCE = r"""
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
/* What a program calls of the C library is not described. */
char *found(const char *, int) __asm__("strchr"); void *found_byte(const void *, int, unsigned long) __asm__("memchr");
struct line { const char *text; int length; };
struct lines { struct line *first; int n; unsigned used, free; unsigned char map[16]; };
struct corner { float x, y, z; };
struct shape { struct corner *corners; int n; float m[4]; };
struct name { unsigned number; unsigned char length, type; char name[14]; };
struct file;
struct ways { int (*read)(struct file *, void *, unsigned); int (*write)(struct file *, const void *, unsigned); };
struct file { const struct ways *ways; unsigned long at; char *bytes; };
NOINLINE void note(struct lines *l, const char *text, unsigned long n) { l->first->text = text; l->used += n; }
NOINLINE int parts(struct lines *l, const char *s, unsigned long n)
{ const char *p = s, *end = s + n;
  for (int i = 0; i < l->n; i++) { const char *q = p; while (q < end && *q != ',') q++; note(l, p, q - p); p = q + 1; }
  return l->used; }
NOINLINE int parsed(struct lines *l, const char *text)
{ for (const char *p = text; *p; )
  { const char *end = found(p, '\n'); const char *equals = found_byte(p, '=', 9); l->used += equals - p;
    if (end) l->n += end - p;
    p += l->free + (end != 0); }
  return l->n; }
NOINLINE unsigned taken(struct lines *l)
{ for (unsigned i = 1; i < l->free; i++) if (!(l->map[i >> 3] & 1 << (i & 7)) && l->map[3] >> (i & 3)) return i;
  return 0; }
NOINLINE float moved(struct shape *s)
{ float sum = 0; for (int i = 0; i < s->n; i++) { sum += s->corners[i].x; s->corners[i].z = s->m[0]; } return sum; }
NOINLINE void said(struct lines *l, int n, ...)
{ va_list list; va_start(list, n); l->n += va_arg(list, int); va_end(list); }
NOINLINE int put(struct file *f, unsigned number, const char *text)
{ struct name n = { number, strlen(text), 1 }; int done = f->ways->write(f, &n, sizeof n); f->at++; return done; }
NOINLINE unsigned got(struct file *f, const char *text)
{ struct name n; unsigned found = 0; unsigned long length = strlen(text);
  while (f->ways->read(f, &n, sizeof n) == sizeof n) if (n.length == length) { found = n.number; break; }
  return found; }
NOINLINE struct corner *corners(struct shape *s) { return s->corners; }
NOINLINE float behind(struct shape *s) { struct corner *c = corners(s); return c[0].x + c[2].y; }
NOINLINE int nothing_read(struct file *f, void *to, unsigned n) { memset(to, 0, n); f->at += n; return n; }
NOINLINE int nothing_written(struct file *f, const void *from, unsigned n) { f->bytes = (char *)from; return n; }
static const struct ways ways = { nothing_read, nothing_written };
struct lantern { double at, power; struct room *in; }; struct lantern lantern;
struct edge { int from, to; float weight; int kind; }; struct rope { void *data; unsigned long n, size; };
struct town { char name[16]; struct rope roads; int seen; double x; };
NOINLINE int walked(struct rope *towns, struct rope *edges, int at)
{ struct town *t = (void *)((char *)towns->data + at * towns->size); t->seen++; t->x *= 2; int n = 0;
  for (unsigned long i = 0; i < t->roads.n; i++)
  { struct edge *e = (struct edge *)edges->data + ((int *)t->roads.data)[i];
    n += e->from == at ? e->to : e->from; n += e->weight > 2; }
  return n; }
struct head { unsigned short id, flags; }; struct packet { unsigned char *bytes; int n; };
NOINLINE int headed(struct packet *p) { struct head *h = (struct head *)p->bytes; h->flags = h->id; return p->n; }
struct axes { double x, y, z; }; struct ray { struct axes from, to; };
NOINLINE double longest(struct ray *r)
{ double *to = &r->from.x, most = 0; for (int i = 0; i < 3; i++) if (to[i] > most) most = to[i]; return most; }
struct object { const char *name; int id; }; struct ball { struct object base; double radius; long turns; };
NOINLINE double size(struct object *o)
{ struct ball *b = (struct ball *)o; b->turns++; return b->radius * 2; }
struct link { struct link *next, *prev; };
struct page { struct link link; unsigned char order, free; unsigned short n; long more; };
struct pages { struct page all[8]; struct link free[4]; };
NOINLINE int halved(struct pages *p, int order)
{ struct page *one = (struct page *)p->free[order].next; struct page *other = one + (1 << order);
  other->order = order; other->free = 1; return one->n; }
struct lamp { double at, power; struct lamp *next; }; struct room { struct lamp *lamps; long n; double lit; };
NOINLINE double lit(struct room *r) { for (struct lamp *l = r->lamps; l; l = l->next) r->lit += l->at; return r->lit; }
NOINLINE double rooms(int n)
{ struct room r = { 0 }; for (int i = 0; i < n; i++)
  { struct lamp *l = malloc(sizeof *l); l->at = 1; l->power = 2; l->next = r.lamps; r.lamps = l; }
  return lit(&r) + r.n; }
int main(int argc, char **argv)
{ struct corner c[3] = { { argc } }; struct shape s = { c, 3 }; struct lines l = { 0, argc }; struct file f = { &ways };
  struct edge e = { 1, 2, 3 };
  struct packet packet = { (unsigned char *)&f }; struct ray ray = { { 1 } };
  struct ball ball = { { "b" } }; struct pages pages = { 0 };
  pages.free[1].next = &pages.all[0].link; struct town t = { "a" };
  struct rope towns = { &t, 1, sizeof t }, edges = { &e, 1 };
  struct line first = { argv[0], 1 }; l.first = &first; said(&l, 2, argc);
  return parsed(&l, argv[0]) + parts(&l, argv[0], 3) + taken(&l) + moved(&s) + put(&f, 3, argv[0]) + got(&f, argv[0])
    + behind(&s) + walked(&towns, &edges, argc) + headed(&packet) + longest(&ray)
    + rooms(argc) + (lantern.in != 0) + size(&ball.base) + halved(&pages, 1); }
"""


def test_text_is_what_is_found_in_or_compared_with_text(plain: Path) -> None:
    for function in ("parts", "parsed"):
        assert "char*" in answers(plain, function, "frame")
        assert not spilled(plain, function)


def test_a_variable_returned_on_one_of_two_paths_has_the_return_type(plain: Path) -> None:
    assert answers(plain, "taken", "frame") == {"unsigned int", "struct lines*"}
    assert not spilled(plain, "taken")


def test_a_va_list_is_found_by_what_is_stored_in_it(plain: Path) -> None:
    assert {"struct __va_list_tag.gp_offset", "struct __va_list_tag.reg_save_area"} <= answers(plain, "said")


def test_an_object_is_the_only_structure_of_the_size_passed_with_it(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct name.number", "struct name.length", "struct name.type"} <= answers(program, "put")
        assert {"struct name.number", "struct name.length"} <= answers(program, "got")
    assert not spilled(plain, "put") and not spilled(plain, "got")


def test_a_pointer_may_point_to_several_objects(plain: Path) -> None:
    found = answers(plain, "behind")
    assert {"struct corner*", "struct corner.x", "struct corner.y"} <= found
    assert not spilled(plain, "behind")


def test_array_elements_behind_a_void_pointer_are_typed_by_members(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "walked")
        assert {"struct edge.from", "struct edge.to", "struct edge.weight"} <= found
        assert {"struct town.seen", "struct town.x", "struct town.roads.data", "struct town.roads.n"} <= found


def test_bytes_used_as_another_type_are_no_integers(plain: Path) -> None:
    assert answers(plain, "headed", "frame") == {"struct packet*"}


def test_a_scaled_index_gives_the_pointees_size(plain: Path) -> None:
    assert "double*" in answers(plain, "longest", "frame")
    assert len([one for one in touched(plain, "longest", "frame") if one == "struct ray*"]) == 2


def test_a_variable_points_to_what_it_is_cast_to(plain: Path) -> None:
    assert answers(plain, "size", "frame") == {"struct object*", "struct ball*"}
    assert not spilled(plain, "size")


def test_no_part_of_an_address_is_accessed(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = accesses(program, "halved")
        small = [one for one in found if one.size == 1]
        assert len(small) == 2
        assert {one.type for one in found if one.size > 1 and one.typed}
        assert "struct link" not in {one.type for one in small}


def test_a_value_stored_into_a_frame_object_has_its_members_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "rooms")
        assert {"struct lamp.at", "struct lamp.next"} <= found
        assert "?" not in found
