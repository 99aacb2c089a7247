"""Programs with DWARF: arrays, and containers of their element types."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, answers, compiled

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct point { float x, y, z; };
struct box { struct point low, high; };
struct mesh { struct box box; struct point center; float radius; int count; struct point *points; };
struct head { int kind, length; };
struct message { struct head head; long number; };
NOINLINE struct point *copied(const struct mesh *m)
{ struct point *p = malloc(8 * sizeof *p); for (int i = 0; i < 8; i++) p[i] = m->points[i]; return p; }
NOINLINE float third(struct mesh *m) { struct point *p = copied(m); return m->center.x + p[3].x; }
NOINLINE float corners(struct mesh *m)
{ struct point *p = copied(m); float r = 0;
  p[0].x = m->box.low.x; p[1].y = m->box.low.y; p[2].z = m->box.high.z; p[3].x = m->center.x;
  for (int i = 0; i < 4; i++) r += p[i].x * p[i].y;
  m->radius = r; return r; }
NOINLINE long number(struct head *h) { struct message *m = (struct message *)h; return h->kind ? m->number : 0; }
struct tree { long n, keys[5], values[5]; };
struct frame { unsigned char from[6], to[6]; unsigned short kind; };
NOINLINE void fill(struct frame *f, int n)
{ f->kind = 8; *((unsigned char *)f + 14) = n; *(int *)((char *)f + 26) = n; *((unsigned char *)f + 23) = 1; }
NOINLINE int both(struct frame *f, int n) { f[1].from[0] = n; f[1].kind = 2; return f->kind; }
NOINLINE long before(struct tree *t, long i) { return t->values[i - 1]; }
NOINLINE void count(long *v) { for (long i = 0; i < 6; i++) v[i] = i; }
NOINLINE long last(long n) { long seen[6]; count(seen); return seen[n - 1]; }
struct pages { unsigned char *data; long n; };
static inline unsigned four(const unsigned char *p)
{ unsigned x; __builtin_memcpy(&x, p, 4); return __builtin_bswap32(x); }
NOINLINE unsigned first(struct pages *p) { unsigned n = four(p->data + 8); return n == 7 ? four(p->data) : p->data[4]; }
struct leaf { int kind, length; char text[8]; };
struct inner { int kind; union { struct leaf *leaf; struct inner *inner; char *text; } to; };
NOINLINE long deep(struct inner *p) { return p->kind == 2 ? p->to.inner->to.leaf->length : 0; }
struct short_head { int kind; unsigned from, to; };
struct long_head { int kind; union { unsigned char bytes[16]; unsigned words[4]; } from, to; };
struct packed { int kind; union { struct short_head *s; struct long_head *l; void *any; } head; };
NOINLINE void ends(const struct packed *p, unsigned char *to, unsigned *at)
{ if (p->kind == 4) { at[0] = p->head.s->from; at[1] = p->head.s->to; return; }
  for (int i = 0; i < 16; i++) to[i] = p->head.l->to.bytes[i] + p->head.l->from.bytes[i]; }
NOINLINE void *room(int zone, unsigned long size) { return zone ? malloc(size) : 0; }
static inline void *zeroed(int zone, unsigned long size)
{ void *p = room(zone, size); if (p) __builtin_memset(p, 0, size); return p; }
NOINLINE struct leaf *grown(int zone)
{ struct leaf *l = zeroed(zone, sizeof *l); if (l) l->length = zone; return l; }
struct room
{ int n; union { struct { struct { } none; char bytes[]; }; struct { struct { } nothing; void *each[]; }; }; };
NOINLINE void *at(struct room *r, unsigned k) { return r->each[k]; }
struct short_one { struct short_one *next; char kind, mark; };
struct long_one { struct short_one *next; char kind, mark; long value; };
struct other_one { struct short_one *next; short kind; int value; };
NOINLINE void marked(int c, struct short_one *p, struct long_one *q)
{ void *v = c ? (void *)p : (void *)q; ((struct short_one *)v)->mark |= 4; }
NOINLINE int either(int c, struct short_one *p, struct other_one *q)
{ void *v = c ? (void *)p : (void *)q; return ((struct short_one *)v)->mark; }
struct thing { long uses; void *kind; };
struct row { struct thing thing; long length; struct thing *each[1]; };
struct collected { long next, previous; };
static struct { long n; struct collected header; struct row row; } empty;
NOINLINE int has(struct row *r, struct thing *t) { return r->length > 2 && (r->each[1] == t || r->each[2] == t); }
NOINLINE void forgotten(struct row *r)
{ struct collected *c = (struct collected *)r - 1; r->length = c->next; c->previous &= 1; }
struct link { struct link *next, *prev; };
struct cached { void *ops; struct link lru; long weight; };
struct counter { long hits; struct cached base; int step; struct link changed; };
struct blob { struct cached base; long length; };
NOINLINE void bumped(struct cached *c, struct link *head)
{ struct counter *k = (struct counter *)((char *)c - 8); c->weight++; k->changed.next = head; k->changed.prev = head; }
int main(int argc, char **argv)
{ struct tree t = { 0 }; struct counter k = { argc }; bumped(&k.base, &k.changed);
  static char rows[200]; forgotten((struct row *)(rows + 64));
  if (has((struct row *)rows, 0)) return has(&empty.row, 0);
  struct frame frames[9] = { 0 }; fill(frames, argc); both(frames, argc); last(argc);
  struct point points[8] = { { argc } }; struct mesh m = { .points = points }; struct message a = { { argc, 1 }, 2 };
  struct pages g = { (unsigned char *)&m, 8 }; struct leaf l = { argc };
  struct inner i = { 1, { &l } }, o = { 1, { .inner = &i } };
  static long r[9]; if (at((struct room *)r, argc)) return 1;
  struct short_one s = { 0 }; struct long_one w = { 0 }; struct other_one v = { 0 };
  marked(argc, &s, &w); if (either(argc, &s, &v)) return 1;
  if (!grown(argc)) return 1;
  struct long_head h = { argc }; struct packed e = { argc, { .l = &h } }; unsigned at[2];
  ends(&e, h.from.bytes, at); if (at[0] == 5) return 1;
  return third(&m) + corners(&m) + number(&a.head) + before(&t, argc) + first(&g) + deep(&o); }
"""
COMPILERS = [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang", "-O0"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("described"))


def test_later_elements_are_no_members_of_a_container(program: Path) -> None:
    found = answers(program, "third")
    assert {"struct point.x", "struct mesh.center.x"} <= found
    assert "struct mesh.radius" not in found
    found = answers(program, "corners")
    assert "struct point.x" in found
    assert "?" not in found
    assert {one for one in found if one.startswith("struct mesh.")} <= {
        "struct mesh.box.low.x",
        "struct mesh.box.low.y",
        "struct mesh.box.high.z",
        "struct mesh.center.x",
        "struct mesh.radius",
    }


def test_memory_after_an_object_with_links_is_its_container(program: Path) -> None:
    found = answers(program, "bumped")
    assert not any(one.startswith("struct cached.lru") for one in found)
    assert any(one.startswith("struct counter.changed") for one in found)


def test_an_integer_assembled_from_bytes_is_its_variable(request: pytest.FixtureRequest, program: Path) -> None:
    found = answers(program, "first")
    assert {"struct pages.data", "unsigned char"} <= found
    if request.node.callspec.params["program"][0] == "gcc":
        assert "unsigned int" in found


def test_flexible_arrays_may_share_the_end_of_a_structure(program: Path) -> None:
    found = answers(program, "at")
    assert "struct room.each[]" in found
    assert "struct room.n" not in found


def test_an_array_of_one_at_a_structures_end_is_flexible(program: Path) -> None:
    found = {(one.field, one.offset) for one in accesses(program, "has") if one.type == "struct row"}
    assert found == {("length", 16), ("each[]", 32), ("each[]", 40)}


def test_a_variable_before_an_object_is_not_its_container(program: Path) -> None:
    found = answers(program, "forgotten")
    assert {"struct collected.next", "struct collected.previous", "struct row.length"} <= found
    assert "?" not in found


def test_of_two_structures_with_one_prefix_the_shorter_counts(request: pytest.FixtureRequest, program: Path) -> None:
    if request.node.callspec.params["program"][1] == "-O0":
        pytest.skip("which it is, is in a variable that says nothing")
    assert answers(program, "marked") == {"struct short_one.mark"}
    # Of what only begins with the same pointer it is not known.
    assert answers(program, "either") == {"?"}


def test_a_load_through_a_union_pointer_fits_its_use(program: Path) -> None:
    found = answers(program, "deep")
    assert {"struct inner.to.leaf", "struct leaf.length"} <= found
    assert "?" not in found


def test_each_path_selects_its_union_pointer(request: pytest.FixtureRequest, program: Path) -> None:
    found = answers(program, "ends")
    assert "struct long_head.to.bytes[]" in found
    # Both have such numbers where the short one has its own: nothing may be said of it by the loop.
    assert not {"struct long_head.from.words[]", "struct long_head.to.words[]"} & found
    # What says that it may be one of several is no type.
    assert not any("anonymous" in one for one in found)
    if request.node.callspec.params["program"][1] == "-O0":
        assert "?" in found


def test_memory_of_a_programs_allocator_has_its_stored_type(request: pytest.FixtureRequest, program: Path) -> None:
    found = answers(program, "grown")
    assert "struct leaf.length" in found
    if request.node.callspec.params["program"][1] != "-O0":
        # What is zeroed before a variable has it, too.
        assert "struct leaf.kind" in found
        assert "?" not in found


def test_a_structure_that_starts_with_an_object_is_its_cast(program: Path) -> None:
    assert "struct message.number" in answers(program, "number")


def test_memory_before_an_array_is_its_element_minus_one(program: Path) -> None:
    found = answers(program, "before")
    assert "struct tree.values[]" in found
    assert "struct tree.keys[]" not in found


def test_an_access_across_an_objects_end_is_in_no_array_of_it(program: Path) -> None:
    assert answers(program, "fill") & {"struct frame.from[]", "struct frame.to[]"} == set()
    assert {"struct frame.from[]", "struct frame.kind"} <= answers(program, "both")


def test_an_array_in_the_frame_is_read_by_an_index_minus_one(program: Path) -> None:
    assert answers(program, "last") & {"long int[]", "long[]"}


ASTRAY = """
struct page { long flags; void *index; long counted; };
struct slab { long bits; void *free; long used; };
static inline long zone(struct page *p) { struct page *here = p; return here->flags >> 3; }
__attribute__((noinline)) long work(struct slab *s, long *out, void *end)
{
	out[0] = zone((struct page *)s);
	if (s->free == end) { out[1] = 3; s->used++; }
	s->free = out;
	return s->used;
}
struct slab first;
int main(void) { long out[2]; return work(&first, out, out + 1); }
"""


def test_an_inlined_functions_object_ends_with_it(tmp_path: Path) -> None:
    found = accesses(compiled(ASTRAY, "gcc", "-O2", tmp_path), "work")
    assert {(one.type, one.field) for one in found if one.typed and one.type != "long int"} >= {
        ("struct slab", "free"),
        ("struct slab", "used"),
    }
    assert not {one.field for one in found if one.typed and one.type == "struct page"} & {"index", "counted"}


LINKED = """
#include <stdlib.h>
struct link { struct link *next, *prev; };
struct box { struct link link; struct box *parent; };
__attribute__((noinline)) void *parent_of(struct link *l) { return *(void **)((char *)l + 16); }
int main(int argc, char **argv) { struct box *b = calloc(1, sizeof *b); return parent_of(&b->link) != NULL; }
"""


@pytest.mark.parametrize("level", ["-O0", "-flto"])
def test_link_time_optimised_code_has_its_sources_types(tmp_path: Path, level: str) -> None:
    found = answers(compiled(LINKED, "gcc", level, tmp_path), "parent_of")
    assert "struct box.parent" in found and not any(one.startswith("struct link.") for one in found)


NUMBERED = """
#include <ctype.h>
#include <errno.h>
__attribute__((noinline)) int failed(int n) { return errno == n; }
__attribute__((noinline)) int spaces(const char *s)
{ int n = 0; while (*s) n += !!isspace((unsigned char)*s++); return n; }
int main(int argc, char **argv) { return failed(argc) + spaces(argv[0]); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_c_librarys_character_macros_load_integers(tmp_path: Path, compiler: str) -> None:
    program = compiled(NUMBERED, compiler, "-O2", tmp_path)
    assert answers(program, "failed") == {"int"}
    assert {one.replace("short unsigned int", "unsigned short") for one in answers(program, "spaces")} >= {
        "char",
        "unsigned short",
    }
