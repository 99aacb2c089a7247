"""BTF only: functions in a table that a loop calls, text, variants of a union."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, spilled

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct totals { long whole; double money; int words; char last[12]; };
struct report { long whole; double money; int words; char last[12]; long more; };
struct found { const char *begin, *end; };
struct rule { const char *name; long (*act)(const struct rule *, const struct found *, void *); unsigned long tried; };
typedef struct { double m[2][3]; } affine;
struct step { int kind; union { int *kernel; struct { float gain, bias; } tone; affine warp; } of; };
static long number(const struct rule *r, const struct found *f, void *user)
{ struct totals *t = user; t->whole += f->end - f->begin; t->words++; return t->whole; }
static long money(const struct rule *r, const struct found *f, void *user)
{ struct totals *t = user; t->money += *f->begin / 2.0; return t->words; }
static struct rule rules[] = { { "number", number, 0 }, { "money", money, 0 } };
NOINLINE long all(const char *s, struct totals *t)
{ long n = 0; for (struct rule *r = rules; r < rules + 2; r++) { struct found f = { s, s + 2 }; r->tried++;
    n += r->act(r, &f, t); } return n; }
NOINLINE const char *word(const char *s, const char *end)
{ const char *c = s; for (; c < end; c++) if (*c == 'x' && c[-1] == 'y') break;
  const char *r = c < end ? c : 0; return r ? r : s; }
NOINLINE const char *kept(const char *s, const char *end) { const char *r = word(s, end), *k = r; return k; }
NOINLINE double moved(const struct step *s, int x)
{ const affine *m = &s->of.warp; return m->m[0][0] * x + m->m[0][2] + m->m[1][1] * x; }
int main(int argc, char **argv)
{ struct totals t = { argc }; struct report r = { argc, 2, 3 }; struct step s = { 1, { .warp = { { { argc } } } } };
  return all(argv[0], &t) + (int)t.money + r.words + (kept(argv[0], argv[0] + 3) != 0) + (int)moved(&s, argc); }
"""


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with optimization."""
    return built(tmp_path_factory.mktemp("rules-2"), "-O2", SOURCE)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program without optimization."""
    return built(tmp_path_factory.mktemp("rules-0"), "-O0", SOURCE)


def test_functions_of_a_table_take_what_its_loop_passes(optimized: Path, plain: Path) -> None:
    for program in (optimized, plain):
        assert {"struct totals.whole", "struct totals.words"} <= answers(program, "number")
        assert {"struct totals.money", "struct totals.words"} <= answers(program, "money")
    assert "struct totals*" in answers(plain, "money", "frame")


def test_text_is_also_read_before_a_variables_pointee(plain: Path) -> None:
    assert {"char", "char*"} <= answers(plain, "word")
    assert not spilled(plain, "word")


def test_text_is_what_a_variable_returned_as_text_holds(plain: Path) -> None:
    assert "char*" in answers(plain, "kept")
    assert not spilled(plain, "kept")


def test_a_variable_points_to_the_union_member_with_all_uses(plain: Path) -> None:
    assert "affine*" in answers(plain, "moved", "frame")
