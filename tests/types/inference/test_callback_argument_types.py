"""Callbacks of the C library, and the `void *` they are called with."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, accesses, compiled

from undwarf.elf import ElfFile
from undwarf.types.layouts.array_offsets import element_at
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.data_symbols import DataSymbols

SOURCE = r"""
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct item { int key; double score; };
struct shelf { long n; struct item items[8]; };
struct name { const char *text; int length; };
struct worker { long from, to, sum; };
struct bag { long n; union { struct item *items; struct name **names; int *numbers; } u; };
static struct shelf shelf;
static int by_key(const void *a, const void *b) { return ((struct item *)a)->key - ((struct item *)b)->key; }
int by_score(const void *a, const void *b)
{ return ((struct item *)a)->score < ((struct item *)b)->score ? -1 : ((struct item *)a)->score != 1; }
static int by_length(const void *key, const void *one) { return *(const short *)key - ((struct name *)one)->length; }
static int by_first(const void *a, const void *b) { return *(int *)a - *(int *)b; }
static int by_any(const void *a, const void *b) { return *(short *)a - *(short *)b; }
static void *work(void *given)
{ ((struct worker *)given)->sum = ((struct worker *)given)->to - ((struct worker *)given)->from; return 0; }
NOINLINE int both(void *a, void *b, int (*compare)(const void *, const void *)) { return compare(a, b); }
NOINLINE void on_stack(int n)
{ struct item few[4] = { { n }, { 3 }, { n * 2 }, { 1 } }; qsort(few, 4, sizeof *few, by_score);
  shelf.items[7] = few[n & 3]; }
NOINLINE void *named(struct name *names, short length)
{ size_t n = 3; return lfind(&length, names, &n, sizeof *names, by_length); }
NOINLINE void numbers(int *all, struct item *items, long n)
{ qsort(all, n, sizeof *all, by_first); qsort(items, n, sizeof *items, by_first); }
static int by_part(const void *a, const void *b) { return ((struct item *)b)->key - ((struct item *)a)->key; }
NOINLINE void one_of(struct bag *b) { if (b->n) qsort(b->u.items, b->n, sizeof *b->u.items, by_part); }
static __attribute__((noinline)) struct item *inside(struct bag *b, int key)
{ long low = 0, high = b->n; if (b->u.items[0].key == key) return b->u.items;
  while (low < high) { long at = (low + high) / 2;
    if (b->u.items[at].key == key) return b->u.items + at;
    if (b->u.items[at].key < key) low = at + 1; else high = at; }
  return 0; }
int main(int argc, char **argv)
{ qsort(shelf.items, 8, sizeof *shelf.items, by_key); on_stack(argc);
  struct name names[] = { { "a", 1 }, { "bc", 2 }, { "abc", 3 } }; int all[] = { 2, 1, argc };
  numbers(all, shelf.items, 3); struct worker w = { 1, 5 }; pthread_t id;
  if (!pthread_create(&id, 0, work, &w)) pthread_join(id, 0);
  struct bag b = { 3, { shelf.items } }; one_of(&b);
  __asm__ volatile("" : "+m"(b)); argc += inside(&b, argc) != 0;
  return named(names, argc) != 0 && both(argv, &argc, by_any); }
"""


@pytest.fixture(scope="module", params=[("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("called"))


def types_in(program: Path, function: str) -> set[str | None]:
    """What a function touches beside its own variables."""
    return {one.type and f"{one.type}.{one.field}" for one in accesses(program, function) if one.how != "variable"}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("by_key", {"struct item.key"}),
        ("by_score", {"struct item.score"}),
        ("by_part", {"struct item.key"}),
        ("by_length", {"short.", "struct name.length"}),
        ("work", {"struct worker.from", "struct worker.to", "struct worker.sum"}),
    ],
)
def test_a_callback_takes_elements_or_its_context(program: Path, function: str, expected: set[str]) -> None:
    assert {one and one.replace("short int", "short") for one in types_in(program, function)} - {None} == expected
    counted = [one for one in accesses(program, function) if one.countable]
    assert all(one.typed for one in counted)


@pytest.mark.parametrize("function", ["by_first", "by_any"])
def test_a_callback_for_several_types_or_callers_is_unknown(program: Path, function: str) -> None:
    # A number may be told by what it is read as.
    assert types_in(program, function) <= {None, "int."}
    assert "struct item.key" in types_in(program, "by_key")


def test_a_union_member_passed_alone_is_typed_by_its_use(tmp_path: Path) -> None:
    """GCC passes the pointer and the number in place of what has them."""
    program = compiled(SOURCE, "gcc", "-O2", tmp_path)
    names = DataSymbols(ElfFile.open(program)).functions.values()
    clone = next((name for name in names if name.startswith("inside.")), None)
    if clone is None:
        pytest.skip("this gcc passes the whole")
    assert {f"{one.type}.{one.field}" for one in accesses(program, clone) if one.typed} == {"struct item.key"}


def test_the_element_type_of_an_array_member_is_found(fake: Fake) -> None:
    graph = fake.graph
    whole = graph.size(fake.node)
    array = graph.add(TypeRecord(Kind.ARRAY, target=fake.node, count=4))
    assert element_at(graph, fake.node, 0, whole) == fake.node
    assert not element_at(graph, fake.node, 8, whole)
    assert not element_at(graph, fake.node, 0, 0)
    assert element_at(graph, array, 0, whole) == element_at(graph, array, whole, whole) == fake.node
    assert not element_at(graph, array, 8, whole)
    assert not element_at(graph, array, 0, 2 * whole)
