"""What is told of programs of which only BTF is there: allocations, unions, casts, variables in the frame."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.types.opening import open_resolver
from undwarf.types.resolve import Resolver

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct base { const char *name; long id; };
struct round { struct base base; double radius; };
struct square { struct base base; double side; int turned; };
struct plain { double weight; int count; short kind; };
struct pair { long first, second; };
struct chunk { unsigned long size; struct chunk *next; };
struct record { struct record *link; long a, b; };
struct cell { int tag; union { long number; struct { struct cell *first, *rest; };
  struct { long length; char *text; }; }; };
struct tables { struct tables *up; long keys[6], values[6]; int n; };
struct entry { struct entry *chain; unsigned hash; };
struct map { struct entry **buckets; unsigned long mask; };
struct end { unsigned head, tail; };
struct port { struct end in, out; int id; };
struct port ports[2];
NOINLINE static double by_size(void)
{ struct plain *p = malloc(sizeof *p); p->weight = 1; p->count = 2; p->kind = 3; return p->weight; }
NOINLINE static long a_row(void) { long *p = malloc(16); p[0] = 1; p[1] = 2; return p[0]; }
NOINLINE static struct base *larger(void)
{ struct round *r = calloc(1, sizeof *r); r->base.id = 3; r->radius = 4; return &r->base; }
NOINLINE static unsigned long before(void *p) { struct chunk *c = (struct chunk *)p - 1; return c->size; }
NOINLINE static long caller(struct record *r) { return r->a + before(r) + before(r->link); }
NOINLINE static int length(struct cell *c) { int n = 0; while (c && c->tag == 2) { n++; c = c->rest; } return n; }
NOINLINE static long last(struct tables *t, int key)
{ for (int i = t->n - 1; i >= 0; i--) if (t->keys[i] == key) return t->values[i]; return 0; }
NOINLINE static int find(struct map *m, unsigned hash)
{ struct entry **p = &m->buckets[hash & m->mask];
  for (; *p; p = &(*p)->chain) if ((*p)->hash == hash) return 1; return 0; }
NOINLINE static unsigned heads(int i)
{ struct end *ends[] = { &ports[i].in, &ports[i].out }; unsigned n = 0;
  for (int k = 0; k < 2; k++) n += ends[k]->head; return n; }
NOINLINE static long lengths(int i)
{ char *copy = strdup(i ? "a" : "b"); long n = strlen(copy) > 3; return n + copy[0]; }
NOINLINE static void cleared(char *area) { struct chunk *c = (struct chunk *)(area + 8); c->size = 0; c->next = 0; }
int main(int argc, char **argv)
{ struct record r = { &r, 1, 2 }; struct cell c = { 2 }; struct tables t = { 0 }; struct map m = { 0 };
  struct square s = { 0 };
  cleared(argv[0]); s.turned = argc; struct pair q = { argc, argc };
  return by_size() + a_row() + larger()->id + caller(&r) + length(&c) + last(&t, argc) + find(&m, argc) + heads(argc)
    + lengths(argc) + s.turned + q.first; }
"""


def built(folder: Path, level: str) -> Path:
    (folder / "a.c").write_text(SOURCE)
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    command = ["gcc", level, "-gbtf", "-o", folder / "a", folder / "a.c"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or ElfFile.open(folder / "a").section_data(".BTF") is None:
        pytest.skip("this gcc makes no BTF")
    if ElfFile.open(folder / "a").machine != 62:
        pytest.skip("for x86-64 only")
    return folder / "a"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("plain"), "-O0")


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("optimized"), "-O1")


def answers(program: Path, function: str) -> set[str]:
    """All that the memory accesses of a function are said to touch, by type and member; "?" for unknown ones."""
    resolver = open_resolver(ElfFile.open(program))
    assert isinstance(resolver, Resolver)
    symbols = resolver.source.symbols  # type: ignore[attr-defined]
    low = next(address for address, name in symbols.functions.items() if name == function)
    flow = resolver.flow_at(low)
    assert flow is not None
    found = [one for k in range(len(flow.instructions)) for one in resolver.at(flow.instructions.address_of(k))]
    return {f"{one.type}.{one.field}".rstrip(".") if one.typed else "?" for one in found if one.countable}


def test_allocations_are_told_by_size_and_members(plain: Path) -> None:
    told = answers(plain, "by_size")
    assert {"struct plain.weight", "struct plain.count", "struct plain.kind"} <= told
    assert "?" not in told


def test_numbers_in_a_row_are_no_structure(plain: Path) -> None:
    assert "struct pair.first" not in answers(plain, "a_row")


def test_what_is_allocated_is_larger_than_what_is_returned(plain: Path) -> None:
    assert {"struct round.base.id", "struct round.radius"} <= answers(plain, "larger")


def test_what_lies_before_what_callers_pass_is_not_known(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "before") if one.startswith("struct record.")}


def test_a_member_of_a_union_is_what_the_loop_goes_on_with(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        told = answers(program, "length")
        assert "struct cell.tag" in told
        assert "?" not in told


def test_an_index_less_one_is_in_the_array_that_is_written_of(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        told = answers(program, "last")
        assert {"struct tables.keys[]", "struct tables.values[]"} <= told


def test_pointers_to_pointers_walk_through_chains(plain: Path) -> None:
    told = answers(plain, "find")
    assert "struct entry.hash" in told
    assert "struct entry.chain" not in told


def test_elements_that_are_stored_one_by_one_tell_of_the_array(plain: Path) -> None:
    told = answers(plain, "heads")
    assert "struct end.head" in told
    assert not {one for one in told if one.startswith("struct port*")}


def test_what_functions_of_the_c_library_take_and_return(plain: Path) -> None:
    told = answers(plain, "lengths")
    assert "char" in told
    assert "?" not in told


def test_bytes_that_are_used_as_more_are_no_characters(plain: Path) -> None:
    assert "char" not in answers(plain, "cleared")
