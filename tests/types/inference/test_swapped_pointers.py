"""BTF only: swapped pointers into an array, and integers whose sums and differences have another sign."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, spilled

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct waiting { unsigned n; short at[30]; };
struct view { unsigned length, left; int shown; };
struct stream { unsigned next; int again, more; };
NOINLINE void put(struct waiting *w, int x) { w->at[w->n++ % 30] = x; }
NOINLINE int turns(int n)
{ struct waiting two[2] = { { 0 } }, *now = &two[0], *then = &two[1], *swap; put(now, n);
  for (int i = 0; i < n; i++)
  { for (unsigned t = 0; t < now->n; t++) if (now->at[t] & 1) put(then, t);
    swap = now; now = then; then = swap; }
  return now->n; }
NOINLINE void take(struct view *v, unsigned at, unsigned n) { v->left = at; v->shown += n; }
NOINLINE int cut(struct view *v, unsigned arg)
{ unsigned at = v->left, len = 1 + arg % 9; take(v, at, at + len > v->length ? v->length - at : len); return (int)len; }
NOINLINE unsigned swapped(unsigned x) { return x << 24 | x >> 24; }
NOINLINE int late(struct stream *s, const unsigned *from)
{ unsigned number = swapped(*from) + 1; s->more = number != 1;
  if ((int)(number - s->next) < 0) { s->again++; return 1; } return 0; }
int main(int argc, char **argv)
{ struct view v = { argc, 1 }; struct stream s = { 5 }; unsigned x = argc;
  return turns(argc) + cut(&v, argc) + late(&s, &x) + v.shown; }
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program without optimization."""
    return built(tmp_path_factory.mktemp("swapped"), "-O0", SOURCE)


def test_swapped_pointers_have_the_parameters_type(plain: Path) -> None:
    assert "struct waiting*" in answers(plain, "turns", "frame")
    assert not [one for one in spilled(plain, "turns") if "%rax" in one]


def test_a_signed_result_may_be_part_of_an_unsigned_sum(plain: Path) -> None:
    assert "unsigned int" in answers(plain, "cut", "frame")
    assert "int" not in answers(plain, "cut", "frame")


def test_an_unsigned_difference_may_be_used_as_signed(plain: Path) -> None:
    found = answers(plain, "late", "frame")
    assert {"struct stream*", "unsigned int*"} <= found
    assert "int" not in found
