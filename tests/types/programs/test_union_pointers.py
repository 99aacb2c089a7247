"""Pointers loaded from unions, by all their uses."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#define NOINLINE __attribute__((noipa))
#include <stdint.h>
struct text { struct text *next; uint32_t hash; uint16_t size; int16_t kind; char bytes[]; };
struct pair;
struct value { int tag; union { long i; struct text *t; struct pair *p; } u; };
struct pair { struct value head, tail; };
struct shape { double left, right; unsigned number; };
struct node { struct node *parent; uint16_t level, count; struct shape *shapes[4]; };
struct branch { double at[2]; union { struct node *node; struct shape *shape; } to; };
struct step { unsigned block; struct step *next[]; };
struct run { unsigned id, blocks; unsigned long filter[4]; };
struct place { int kind; union { const struct run *run; const struct step *step; } at; };
NOINLINE void head(struct value *v, struct value *from) { *v = from->u.p->head; }
NOINLINE void tail(struct value *v, struct value *from) { *v = from->u.p->tail; }
NOINLINE void under(struct node *n, struct branch b) { if (n->level) b.to.node->parent = n; }
NOINLINE int many(struct branch *b)
{ volatile struct branch c = *b; return c.to.node->count; }
struct array;
struct calls { void (*clear)(struct array *); void (*stored)(struct array *, long); };
struct array { long kind, references, length; union { const struct calls *calls; struct array *outer; } u; };
NOINLINE void put(struct array *a, long at)
{ a->length = at; if (a->u.calls->stored) a->u.calls->stored(a, at); }
NOINLINE void emptied(struct array *a, long at) { a->length = at; a->references--; }
NOINLINE const struct step *after(const struct place *p) { return p->at.step->next[0]; }
union object;
#define HEAD union object *after; unsigned char type, marked
struct upper { HEAD; union object *of; };
struct name { HEAD; long size; };
union object { struct upper upper; struct name name; };
struct slot { union { union object *object; double d; } u; int type; };
struct closure { HEAD; unsigned char count; union { struct slot slots[1]; struct upper *uppers[1]; } u; };
struct state { union object *grey; int n; };
NOINLINE void reached(struct state *s, union object *o) { s->grey = o; s->n++; }
NOINLINE void marks(struct state *s, struct closure *c)
{ for (int i = 0; i < c->count; i++)
    if (c->u.slots[i].type > 3 && (c->u.slots[i].u.object->name.marked & 3)) reached(s, c->u.slots[i].u.object); }
struct counted { long key, pad[2], count; };
struct ops { void (*open)(void), (*read)(void), (*write)(void), (*close)(void); };
struct held { long kind; union { struct counted *counted; const struct ops *ops; } u; };
NOINLINE void referred(struct held *h) { if (h->kind) h->u.counted->count++; }
int main(int argc, char **argv)
{ struct counted n_of = { 1 }; struct held held = { 1, { &n_of } }; referred(&held); held.u.ops = 0;
  struct closure k = { .count = argc - 1 }; struct state g = { 0 }; marks(&g, &k);
  struct value v = { argc }, w = v; struct pair p = { v, w }; v.u.p = &p;
  struct node n = { 0 }, m = { 0, 1 }; struct branch b = { .to.node = &n };
  static struct { struct step s; struct step *room[2]; } s; struct place q = { 1, { .step = &s.s } };
  static const struct calls c = { .stored = emptied }; struct array a = { .u.calls = &c }; put(&a, argc);
  head(&w, &v); tail(&w, &v); under(&m, b); return many(&b) + w.tag + (after(&q) != 0); }
"""


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "gcc", request.param, tmp_path_factory.mktemp("unions"))


def types_in(program: Path, function: str) -> set[str]:
    return {f"{one.type}.{one.field}" for one in accesses(program, function) if one.typed and one.type_size > 8}


def test_a_copy_past_a_member_is_no_copy_of_two_members(program: Path) -> None:
    assert "struct pair.head.tag" in types_in(program, "head")
    assert "struct pair.tail.tag" in types_in(program, "tail")
    for function in ("head", "tail"):
        assert not any(one.startswith("struct text") for one in types_in(program, function))


def test_an_address_is_stored_where_no_float_is(program: Path) -> None:
    assert "struct node.parent" in types_in(program, "under")


def test_a_union_in_the_frame_holds_one_of_its_pointers(program: Path) -> None:
    assert "struct node.count" in types_in(program, "many")


def test_a_called_pointer_is_a_unions_function_pointer(program: Path) -> None:
    """A `struct array` has a number there."""
    assert "struct calls.stored" in types_in(program, "put")


def test_a_flexible_array_counts_as_well(program: Path) -> None:
    """Behind a `struct step` are its pointers; at that place of a `struct run` are numbers of that size."""
    found = types_in(program, "after")
    assert "struct place.at.run" in found
    assert not any(one.startswith("struct run") for one in found)


def test_an_argument_is_a_union_pointee_not_its_member(request: pytest.FixtureRequest, program: Path) -> None:
    """An object may be one of a larger type that starts with it."""
    found = [one.type for one in accesses(program, "marks") if one.field.endswith("marked")]
    # What is not optimised loads it once more to pass it.
    assert found == (["union object"] if request.node.callspec.params["program"] == "-O2" else [])


def test_no_arithmetic_on_function_pointers(request: pytest.FixtureRequest, program: Path) -> None:
    # What is not optimized loads, adds and stores.
    counts = request.node.callspec.params["program"] == "-O2"
    assert ("struct counted.count" in types_in(program, "referred")) is counts
