"""Unoptimised variables' locations that hold for the whole scope, though the register holds something else by then."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.types.fakes import accesses

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct one { int a, b; struct one *next; long c, d[9]; };
struct two { long x, y; struct two *next; int z; };
struct one *volatile ones; struct two *volatile twos;
void *volatile any;
NOINLINE void *give(int n) { return n ? any : 0; }
static inline long within(struct one *q)
{ long s = q->c; for (int i = 0; i < 3; i++) s += ((struct two *)give(s))->z; return s; }
NOINLINE long over(int n)
{ long s = 0; { struct one *v = ones; s += within(v); }
  s += ((long *)give(n))[1];
  { struct one *v = ones; s += within(v); } return s; }
NOINLINE void take(void *p) { any = p; }
NOINLINE long given(struct one *p, int n)
{ long s = 0;
  for (int i = 0; i < n; i++) {
    struct one *q = ones; s += q->a; s += q->c;
    if (s & 1) { struct two *t = give(n); s += t->x + t->z; take(t); }
    else { struct two *t = twos; s += t->y; }
    struct two *u = give(i); s += u->x;
    s += ((struct one *)give(s))->c; }
  return s + p->b; }
NOINLINE long inner(int n)
{ struct one *q = any; long s = q->a; s += q->c;
  do { struct two *t = any; s += t->z; s += t->y; } while (s & 1);
  return s + n; }
int main(int argc, char **argv)
{ struct two t = { argc }; t.next = &t; any = &t; struct one o = { argc }; ones = &o; twos = &t;
  return over(argc) + given(&o, argc) + inner(argc); }
"""


@pytest.fixture(scope="module", params=["-O2", "-O1"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("untracked")
    (folder / "a.c").write_text(SOURCE)
    command = ["gcc", request.param, "-g", "-fno-var-tracking", "-o", folder / "a", folder / "a.c"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("gcc does not build this")
    return folder / "a"


def types_in(program: Path, function: str) -> list[str]:
    """What the accesses of a function that are typed touch, by type and offset."""
    return [f"{one.type}+{one.offset}" for one in accesses(program, function) if one.typed and one.countable]


def test_a_call_refutes_a_variable_in_a_register_it_clobbers(program: Path) -> None:
    found = types_in(program, "over")
    assert "struct one+16" in found
    # What is read behind the calls are other objects.
    assert {"struct one+0", "struct one+8", "struct one+24"}.isdisjoint(found)


def test_members_of_a_returned_object_are_not_the_stale_variables(program: Path) -> None:
    found = types_in(program, "given")
    # q->a and q->c, each once; what comes behind a call is told of what that returned, or not at all.
    assert found.count("struct one+0") == 1
    assert found.count("struct one+16") == 1


def test_of_two_variables_in_one_register_the_inner_counts_at_stores(program: Path) -> None:
    found = types_in(program, "inner")
    assert {"struct one+0", "struct one+16"} <= set(found)
    assert {"struct two+24", "struct two+8"} <= set(found)
    assert "struct one+24" not in found
