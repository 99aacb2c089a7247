"""Static locals, which BTF does not describe, from their uses."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, spilled

SOURCE = r"""
#define NOINLINE __attribute__((noipa))
struct shop { long sold; int open; short floors; char name[26]; double income; };
struct lone { int a, b, c, d, e, f; };
struct entry { char name[12]; short size, kind; struct entry *next; };
struct pair;
struct answer { int tag; union { long number; double real; struct pair *where; } u; };
struct pair { struct answer head, tail; struct pair *all; int marked; };
extern void *calloc(unsigned long, unsigned long);
struct pair *pairs;
NOINLINE long told(int n)
{ static struct shop s; s.sold += n; s.open = n; s.floors++; s.income += n; return s.sold; }
NOINLINE long numbers(int n) { static int all[6]; all[0] += n; all[3] = n; return all[1]; }
NOINLINE long apart(struct entry *first)
{ static struct entry table[5]; struct entry *e = &table[0];
  while (e->next && e->size) e = e->next; e->kind = 1; return e - table; }
NOINLINE struct answer answered(const struct answer *head, const struct answer *tail)
{ struct pair *p = calloc(1, sizeof *p); p->head = *head; p->tail = *tail; p->all = pairs; pairs = p;
  return (struct answer){ 4, { .where = p } }; }
int main(int argc, char **argv)
{ struct answer one = { argc }; return told(argc) + numbers(argc) + apart(0) + answered(&one, &one).tag; }
"""


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("statics"), request.param, SOURCE)


def test_the_only_structure_of_its_size_that_has_all_members(program: Path) -> None:
    assert {"struct shop.sold", "struct shop.open", "struct shop.floors", "struct shop.income"} <= answers(
        program, "told"
    )


def test_consecutive_integers_are_no_structure(program: Path) -> None:
    assert "struct shop.sold" in answers(program, "told")
    assert not any(one.startswith("struct lone") for one in answers(program, "numbers"))


@pytest.mark.parametrize("program", ["-O0"], indirect=True)
def test_a_value_in_a_pointer_difference_is_a_pointer(program: Path) -> None:
    """Differences of addresses are divided as numbers with a sign are."""
    assert {"struct entry*", "struct entry.next"} <= answers(program, "apart")
    spills = spilled(program, "apart")
    assert len([one for one in spills if "(%rbp)" in one]) <= 2, spills  # -O0's parameter, the frame's pointer


def test_a_static_stored_in_the_result_is_no_part_of_it(program: Path) -> None:
    assert "struct pair.all" in answers(program, "answered")
    assert not any(one.startswith("struct answer.") for one in answers(program, "answered", "frame"))
