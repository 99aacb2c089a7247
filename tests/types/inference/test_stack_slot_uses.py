"""BTF only: parameters and pointers that optimised code spills."""

from pathlib import Path

from tests.support.types.btf_programs import answers

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct board { unsigned men[2]; int side; };
struct table { struct board *of; long hits; int (*turn)(struct board *, int); };
NOINLINE int made(struct board *b, int n) { b->men[n & 1] ^= n; b->side ^= 1; return b->side + n; }
NOINLINE int searched(struct table *t, struct board *b, int depth, int low, int high)
{ int best = low, sum = 0;
  if (!depth) return made(b, high);
  for (int i = 0; i < 4; i++)
  { int a = made(b, i), c = made(b, a), d = made(b, c + depth), e = made(b, d ^ low), f = made(b, e - high);
    sum += a * c + d * e + f * depth; best += searched(t, b, depth - 1, sum, best) + high * a + low * c;
    t->hits += best + d + e + f; }
  return best + sum; }
NOINLINE int changed(int n, int m)
{ int sum = 0; volatile int kept = n; for (int i = 0; i < 3; i++) { kept += m; sum += kept; } return sum; }
NOINLINE struct board *fresh(struct table *t) { struct board *b = t->of; t->hits++; return b; }
NOINLINE int kept(struct table *t, int n)
{ struct board *b = fresh(t); int (*f)(struct board *, int) = t->turn;
  int sum = 0, a = f(b, 1), c = f(b, a), d = f(b, c), e = f(b, d);
  for (int i = 0; i < n; i++) { int g = f(t->of, a + i), h = f(t->of, g + c); sum += g * c + h * d + e * i; d ^= h; }
  return sum + b->side + f(b, a + c + d + e); }
int main(int argc, char **argv)
{ struct board b = { { 1, 2 }, 0 }; struct table t = { &b, 0, made };
  return searched(&t, &b, 2, argc, 5) + changed(argc, 2) +
    kept(&t, argc); }
"""


def test_a_spilled_parameter_is_a_variable_in_the_frame(optimized: Path) -> None:
    assert "int" in answers(optimized, "searched", "frame")


def test_a_spilled_parameter_that_changes_is_unknown(optimized: Path) -> None:
    assert "int" in answers(optimized, "searched", "frame")
    assert not answers(optimized, "changed", "frame")


def test_a_spilled_pointer_is_a_pointer_in_the_frame(optimized: Path) -> None:
    assert "struct board*" in answers(optimized, "kept", "frame")
