"""Classes that are only declared: their first word is the vtable if a call goes through it."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct plug { virtual void somewhere_else(); virtual long run(long); };
struct other;
extern "C" {
NOINLINE long given(plug *p, long n) { return p->run(n) + p->run(n + 1); }
NOINLINE long last(plug *p, long n) { return p->run(n); }
NOINLINE long word(other *o) { long n = *(long *)o; return n * n; }
long entry(void *, long n) { return n; }
}
int main(int argc, char **)
{ void *table[2] = { (void *)entry, (void *)entry }, *object = table; long n = argc;
  return given((plug *)&object, n) + last((plug *)&object, n) + word((other *)&n); }
"""
COMPILERS = [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("dispatches"))


def test_a_vtable_load_is_of_a_class_that_is_only_declared(program: Path) -> None:
    for function in ("given", "last"):
        found = [(one.type, one.offset, one.field) for one in accesses(program, function) if one.countable]
        assert ("struct plug", 0, "_vptr") in found


def test_a_word_that_no_call_goes_through_is_no_vtable(program: Path) -> None:
    assert any("_vptr" in one.field for one in accesses(program, "given"))
    assert all("_vptr" not in one.field for one in accesses(program, "word"))
