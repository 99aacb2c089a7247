"""Accesses through casts: of void pointers, of pointers to members, past a last array."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct job { long id; int prio; struct link { struct link *next; } link; double cost; };
struct pool { long many; int size; struct link first; char name[8]; };
struct text { int length; char text[1]; };
struct chunk { long many; struct link link; long used, free; char data[]; };
struct table { long kind; struct link link; long x, y; double z; };
NOINLINE long scanned(struct link *l, long i)
{ return *(long *)((char *)l + 8) - *(long *)((char *)l + 16) + ((signed char *)l)[i + 24]; }
NOINLINE int by_cost(const void *a, const void *b)
{ const struct job *p = *(const struct job *const *)a, *q = *(const struct job *const *)b;
  return p->cost < q->cost ? -1 : p->cost > q->cost; }
NOINLINE long as_number(const void *a) { long n = *(const long *)a; return n * n; }
NOINLINE void *kept(void *a) { void *p = *(void **)a; return p; }
NOINLINE double drained(struct link *l)
{ double s = 0; for (; l; l = l->next) { s += *(int *)((char *)l - 8); s += *(double *)((char *)l + 8); } return s; }
NOINLINE char further(struct text *t, long i) { return t->text[i + 5]; }
NOINLINE void filled(struct job *v, long n) { for (long i = 0; i < n; i++) v[i].cost = v[i].prio = i; }
NOINLINE double made(long n)
{ struct job *v = __builtin_alloca(n * sizeof *v); double s = 0; filled(v, n);
  for (struct job *p = v; p < v + n; p++) s += p->cost * p->prio;
  return s; }
int main(int argc, char **argv)
{ struct job jobs[2] = { { argc, 1, { 0 }, 2.5 }, { 2, 3, { &jobs[0].link }, 1.5 } }, *sorted[2] = { jobs, jobs + 1 };
  struct pool pool = { argc, 2, { &jobs[1].link } }; struct text *t = malloc(64); long n = argc; void *p = sorted;
  memset(t, argc, 64); qsort(sorted, 2, sizeof *sorted, by_cost);
  struct table x = { argc }; struct chunk *c = malloc(64);
  memset(c, argc, 64); argc += scanned(&c->link, x.y);
  return made(argc) + drained(pool.first.next) + as_number(&n) + further(t, argc) + (kept(&p) != 0) + sorted[0]->id; }
"""
COMPILERS = [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("casts"))


def answers(program: Path, function: str) -> set[str]:
    """The types and members that a function's memory accesses outside of its frame touch; "?" for unknown ones."""
    return {
        f"{one.type}.{one.field}".rstrip(".") if one.typed else "?"
        for one in accesses(program, function)
        if one.countable and (one.operand is None or one.operand.base not in (6, 7))
    }


def test_a_load_through_a_void_pointer_has_its_variables_type(program: Path) -> None:
    assert answers(program, "by_cost") == {"struct job*", "struct job.cost"}
    assert answers(program, "kept") <= {"?", "void*"}


def test_an_integer_through_a_void_pointer_has_its_variables_type(
    request: pytest.FixtureRequest, program: Path
) -> None:
    found = answers(program, "as_number")
    # Compilers that optimise leave the variable out.
    assert found <= {"long int", "long"} or request.node.callspec.params["program"][1] == "-O2"


def test_accesses_through_a_pointer_to_a_member_give_its_container(
    request: pytest.FixtureRequest, program: Path
) -> None:
    found = answers(program, "drained")
    if request.node.callspec.params["program"][1] == "-O2":
        assert found == {"struct link.next", "struct job.prio", "struct job.cost"}
    else:
        # There the pointer is read from the frame for each access.
        assert "struct pool.size" not in found


def test_elements_by_an_index_give_the_container_too(request: pytest.FixtureRequest, program: Path) -> None:
    found = answers(program, "scanned")
    if request.node.callspec.params["program"][1] == "-O2":
        assert {"struct chunk.used", "struct chunk.free"} <= found
    assert not [one for one in found if one.startswith("struct table")]


def test_a_last_array_of_one_element_is_a_flexible_one(program: Path) -> None:
    assert "struct text.text[]" in answers(program, "further")


def test_a_variables_pointee_in_the_frame_is_no_spill(program: Path) -> None:
    assert {"struct job.cost", "struct job.prio"} <= answers(program, "made")
