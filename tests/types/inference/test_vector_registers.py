"""Vector registers that are loaded with several members at once."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, touched

SOURCE = r"""
#define NOINLINE __attribute__((noipa))
#define TWO_AT_ONCE(how, members) __asm__ volatile(how " %0, %%xmm0" : : "m"(members) : "xmm0")
struct grid { int width, height; float scale; struct cell *cells; long steps[12]; };
struct store { void **slots; unsigned hot, cold; unsigned long used, hits; };
extern void *calloc(unsigned long, unsigned long);
NOINLINE long told(int n)
{ static struct grid g; g.width = n; g.scale = n; g.steps[2]++; TWO_AT_ONCE("movsd", g.width); return g.height; }
NOINLINE void count(struct store *s) { s->hits++; }
NOINLINE long counted(int n)
{ struct store s = { 0 }; s.hot = n; s.used = 3; count(&s); TWO_AT_ONCE("movq", s.hot); count(&s);
  return s.hits + s.cold; }
NOINLINE double weighed(const int *of, int n)
{ double *w = calloc(n, 8), *all = calloc(n, sizeof *all), sum = 0; long *ids = calloc(n, 8);
  for (int i = 0; i < n; i++) { w[i] += of[i] * 0.5; all[i] *= 2 - w[i]; sum += all[i] / w[i]; ids[i] += n; }
  return sum + ids[n - 1]; }
NOINLINE double summed(int n)
{ double *w = calloc(n, 8), sum = 0; long *ids = calloc(n, 8);
  for (int i = 0; i < n; i++) { double one = w[i]; __asm__ volatile("" : "+x"(one)); sum += one; ids[i] += n; }
  return sum + ids[n - 1]; }
int main(int argc, char **argv) { return told(argc) + counted(argc) + weighed(&argc, 1) + summed(1); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("vectors"), "-O2", SOURCE)


def test_integers_are_moved_through_float_registers(program: Path) -> None:
    """Clang loads two integers so, to calculate with both at once."""
    assert {"struct grid.width", "struct grid.height", "struct grid.scale"} <= answers(program, "told")


def test_a_vector_load_is_more_than_one_member(program: Path) -> None:
    assert {"struct store.hot", "struct store.cold", "struct store.hits"} <= answers(program, "counted", "frame")


def test_float_arithmetic_types_members(program: Path) -> None:
    found = touched(program, "weighed")
    assert found.count("double") >= 4
    assert "?" in found  # whether the others have a sign


def test_operands_of_arithmetic_may_have_been_loaded_before(program: Path) -> None:
    found = touched(program, "summed")
    assert found.count("double") == 1
    assert "?" in found
