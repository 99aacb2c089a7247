"""BTF only: answers do not depend on the order of queries."""

from itertools import permutations
from pathlib import Path

import pytest
from tests.support.types.btf_programs import accesses, accesses_of, built

from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
typedef int (*visit)(int, void *);
struct tree { struct tree *left, *right; int key; };
struct sum { long total; int n, most; };
struct row { int at; int *all; };
NOINLINE int each(struct tree *t, visit f, void *data)
{ int n = 0; while (t) { n += each(t->left, f, data) + f(t->key, data); t = t->right; } return n; }
static int add(int v, void *data)
{ struct sum *s = data; s->total += v; s->n++; if (v > s->most) s->most = v; return 1; }
static int fill(int v, void *data) { struct row *r = data; r->all[r->at++] = v; return 0; }
int main(int argc, char **argv)
{ struct tree two = { 0, 0, argc }, one = { &two, 0, 3 }; struct sum s = { 0 }; int all[4]; struct row r = { 0, all };
  int n = each(&one, add, &s) + each(&one, fill, &r);
  return n + s.total + s.most + s.n + all[1]; }
"""


def test_answers_do_not_depend_on_the_function_queried_first(plain: Path) -> None:
    alone = [(one.address, one.type, one.field, one.how) for one in accesses(plain, "main")]
    assert "struct sum" in {t for _address, t, _field, _how in alone}
    for first in ("each", "add", "fill"):
        resolver = open_resolver(ElfFile.open(plain))
        assert isinstance(resolver, Resolver)
        accesses_of(resolver, first)
        after = [(one.address, one.type, one.field, one.how) for one in accesses_of(resolver, "main")]
        assert after == alone


# Functions that call each other: who asks for one is told less of those that ask for the other.
AROUND = r"""
#define NOINLINE __attribute__((noinline))
struct one { long n; int k; };
struct two { struct two *next; long m; int j; };
static struct one first; static struct two second;
static NOINLINE void *inner(void *a, void *b, int n);
static NOINLINE void *outer(void *a, void *b, int n)
{ if (((struct two *)b)->next) n--;
  ((struct one *)a)->k--; ((struct two *)b)->j += n;
  if (n > 4) inner(a, &second, n - 1);
  if (n > 4) outer(a, b, n - 1);
  return a; }
static NOINLINE void *inner(void *a, void *b, int n)
{ ((struct one *)a)->k--; ((struct two *)b)->m++;
  if (n > 1) outer(a, b, n - 1);
  return a; }
int main(int argc, char **argv)
{ struct one o = { argc }; struct two t = { 0, argc }; (void)argv;
  inner(&first, &t, argc); return o.n + t.m; }
"""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("around"), "-O1", AROUND)


def test_answers_in_mutual_recursion_do_not_depend_on_the_order(around: Path) -> None:
    answers = set()
    for order in permutations(("inner", "outer", "main")):
        resolver = open_resolver(ElfFile.open(around))
        assert isinstance(resolver, Resolver)
        found = {(one.address, one.type, one.field) for name in order for one in accesses_of(resolver, name)}
        answers.add(frozenset(found))
    (same,) = answers
    assert any(name for _address, name, _field in same)


# Functions that pass on what they are given: one to the other and back, and through more than are looked into deeply.
PASSED = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct one { long n; int k; double d; };
struct two { struct two *next; long m; int j; };
static long total; static struct one first; static struct two second;
NOINLINE void odd(void *data, int n);
NOINLINE void even(void *data, int n)
{ ((struct one *)data)->n += n; if (n > 1) odd(data, n - 1); }
NOINLINE void odd(void *data, int n)
{ ((struct one *)data)->k += n; if (n > 1) even(data, n - 1); total++; }
NOINLINE void sixth(void *p) { ((struct two *)p)->m++; }
NOINLINE void fifth(void *p) { if (p) sixth(p); total++; }
NOINLINE void fourth(void *p) { fifth(p); total--; }
NOINLINE void third(void *p) { fourth(p); total += 2; }
NOINLINE void whole(void *p) { third(p); total += 3; }
NOINLINE void either(void *p) { ((struct two *)p)->m--; }
NOINLINE void gives(void *p) { either(p); total += 4; }
int main(int argc, char **argv)
{ (void)argv; even(&first, argc); whole(&second); gives(&second); gives(&first);
  return first.n + first.k + second.m + total; }
"""


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("passed"), "-O1", PASSED)


def _members(path: Path, function: str) -> set[str]:
    found = (one for one in accesses(path, function) if one.type is not None and one.type.startswith("struct"))
    return {f"{one.type}.{one.field}" for one in found}


def test_an_argument_only_passed_in_a_cycle_is_no_evidence(passed: Path) -> None:
    assert _members(passed, "even") == {"struct one.n"}
    assert _members(passed, "odd") == {"struct one.k"}


def test_an_argument_passed_through_a_chain_of_calls_keeps_its_type(passed: Path) -> None:
    assert _members(passed, "sixth") == {"struct two.m"}


def test_arguments_of_two_types_passed_on_are_ambiguous(passed: Path) -> None:
    assert _members(passed, "either") == set()
    assert _members(passed, "sixth") == {"struct two.m"}


def test_answers_do_not_depend_on_earlier_queries_at_the_limit(passed: Path, around: Path) -> None:
    """As few as are looked into for one: what others were asked for must not count for it."""
    limits = DEFAULT._replace(callers_followed=2)
    for path, names in ((passed, ("sixth", "fifth", "even", "odd", "third")), (around, ("inner", "outer", "main"))):
        answers = set()
        for order in (names, names[::-1], names[2:] + names[:2]):
            resolver = open_resolver(ElfFile.open(path, limits=limits), limits=limits)
            assert isinstance(resolver, Resolver)
            answers.add(
                frozenset((one.address, one.type, one.field) for name in order for one in accesses_of(resolver, name))
            )
        (found,) = answers
        assert any(name for _address, name, _field in found)
