"""BTF only: addresses of first members, copied members, floats passed by value."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, touched

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef struct { float r, g, b, a; } colour;
typedef struct { int kind; int *next; } base;
typedef struct { base first; double weight; void (*call)(void); long calls; } native;
typedef struct { colour middle, sum; int n; } cluster;
typedef struct { cluster all[4]; int used; } palette;
typedef struct { int *key; double value; } pair;
struct node { struct node *next, **back; };
struct entry { struct node hash; int parent; unsigned hashed; char name[8]; };
struct table { struct node *first; long n; };
union either { int *kernel; struct { float gain, bias; } tone; struct { colour tint; float much; } tint;
  double warp[6]; };
struct stage { union either of; int kind; };
struct counts { long n; int low, high; };
union target { struct node *node; long n; };
struct bounds { long low, high; };
NOINLINE void *any(size_t n) { return calloc(1, n); }
NOINLINE colour scaled(colour c, float by)
{ colour made; made.r = c.r * by; made.g = c.g * by; made.b = c.b * by; made.a = c.a * by; return made; }
NOINLINE colour mixed(colour a, colour b) { return (colour){ a.r + b.r, a.g + b.g, a.b + b.b, a.a + b.a }; }
NOINLINE colour tinted(const struct stage *s, const colour *from)
{ colour t = s->of.tint.tint, c = *from; c.r += t.r * s->of.tint.much; c.a -= t.a; return mixed(c, scaled(c, t.b)); }
NOINLINE float nearest(palette *p, const colour *of)
{ cluster *best = p->all; float least = 1e9f;
  for (cluster *c = p->all; c < p->all + p->used; c++)
    if (c->middle.r - of->r < least) { least = c->middle.r - of->r; best = c; }
  best->n++; return least; }
NOINLINE struct entry *added(struct table *t, int parent, unsigned h)
{ struct entry *e = any(sizeof *e);
  memset(e, 0, sizeof *e); e->parent = parent; e->hashed = h;
  e->hash.next = t->first; if (t->first) t->first->back = &e->hash.next;
  t->first = &e->hash; e->hash.back = &t->first; return e; }
NOINLINE base *made(size_t n) { base *b = calloc(1, n); b->kind = 3; return b; }
NOINLINE long called(base *b)
{ if (b->kind == 3) { native *n = (native *)b; n->calls++; if (n->call) n->call(); return n->calls; } return 0; }
NOINLINE long fresh(int n) { native *m = (native *)made(sizeof *m); m->calls = n; m->weight = n; return m->calls; }
NOINLINE struct counts counted(const struct counts *of, int by)
{ struct counts c = *of; c.n += by; if (by < c.low) c.low = by; return c; }
NOINLINE int low(const struct counts *of) { struct counts c = counted(of, 1); return c.low + c.high; }
NOINLINE long aimed(int kind, union target at) { return kind == 1 ? at.n : at.node->next != 0; }
NOINLINE long aim(struct table *t) { struct node *n = t->first; n->back = 0;
  return aimed(2, (union target){ .node = n }); }
NOINLINE long apart(struct bounds a, struct bounds b) { return a.high - b.low; }
NOINLINE long bounded(const struct bounds *of) { struct bounds a = *of, b = { a.high, a.low }; return apart(a, b); }
NOINLINE struct bounds turned(long low, long high) { return (struct bounds){ high, low }; }
int main(int argc, char **argv)
{ static struct table t; static palette p; static struct stage s; static struct counts c; colour x = { argc, 1, 2, 3 };
  base *b = made(sizeof(native)); p.used = 4; colour y = tinted(&s, &x); pair q = { &argc, nearest(&p, &y) };
  return added(&t, argc, 7)->parent + (added(&t, 1, 8) != 0) + called(b) + *q.key + (int)q.value + low(&c)
    + fresh(argc) + aim(&t) + bounded(&(struct bounds){ argc, 2 }) + turned(argc, 3).low; }
"""


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with optimization."""
    return built(tmp_path_factory.mktemp("parts-2"), "-O2", SOURCE)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program without optimization."""
    return built(tmp_path_factory.mktemp("parts-0"), "-O0", SOURCE)


def test_the_address_of_the_first_member_is_the_structures(optimized: Path) -> None:
    found = answers(optimized, "added")
    assert "struct entry.parent" in found
    assert not {one for one in found if one.startswith("struct node*")}


def test_an_unnamed_type_has_its_typedefs_name_everywhere(optimized: Path) -> None:
    found = answers(optimized, "called") | answers(optimized, "fresh")
    assert {"native.calls", "native.weight"} <= found
    assert "struct (anonymous).calls" not in found


def test_floats_returned_by_value_are_no_doubles(plain: Path) -> None:
    members = {f"colour.{name}" for name in "rgba"}
    assert set(touched(plain, "scaled", "frame")) == {*members, "float"}
    assert members <= answers(plain, "mixed", "frame")
    assert not {"float", "double"} & answers(plain, "mixed", "frame")


def test_a_copied_member_of_a_union_is_not_the_union(plain: Path) -> None:
    found = answers(plain, "tinted", "frame")
    assert not {one for one in found if one.startswith("union either")}
    assert {"colour.r", "colour.a"} <= found


def test_a_buffer_advanced_by_its_size_is_no_array(plain: Path) -> None:
    found = answers(plain, "nearest", "frame")
    assert "cluster*" in found
    assert "palette*" in found
    assert touched(plain, "nearest", "frame").count("palette*") < touched(plain, "nearest", "frame").count("cluster*")


def test_a_copy_is_whole_whatever_the_width_of_its_moves(plain: Path) -> None:
    assert "struct counts.n" in answers(plain, "counted", "frame")
    assert {"struct counts.low", "struct counts.high"} <= answers(plain, "low", "frame")


def test_a_pointer_passed_as_a_union_of_one_word_is_a_pointer(plain: Path) -> None:
    assert answers(plain, "aim", "frame") == {"struct table*", "struct node*"}


def test_parts_loaded_from_one_object_are_an_aggregate(plain: Path) -> None:
    assert {"struct bounds.low", "struct bounds.high"} <= answers(plain, "bounded", "frame")
    assert answers(plain, "turned", "frame") == {"long int"}
