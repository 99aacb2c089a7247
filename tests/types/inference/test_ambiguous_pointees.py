"""BTF only: union pointers, and pointers to an object or its first member."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct machine; struct cell;
struct name { const char *text; unsigned hash; struct name *next; struct cell *value; };
struct work { const char *text; struct cell *(*run)(struct machine *, struct cell *); int least, most; };
struct cell { unsigned char tag, mark; unsigned line;
  union { double number; struct name *name; struct { struct cell *first, *rest; } pair; const struct work *work;
    struct cell *free; } u; };
struct machine { struct cell *all; unsigned long done; int same; };
struct board { unsigned men[2]; unsigned char side, quiet; unsigned short turn; };
struct match { struct board now, before[8]; long moves; struct match *other; };
struct link { struct link *next, *before; };
struct slab { struct link link; unsigned short used, room; };
struct pool { const char *name; struct link full; long n; };
struct text { struct text *next; unsigned length; unsigned short n, kind; char data[]; };
int compared(const char *, const char *) __asm__("strcmp");
NOINLINE struct cell *first(struct cell *c) { return c->u.pair.first; }
NOINLINE int named(struct machine *m, struct cell *c)
{ struct cell *head = first(c); if (head->tag == 2) { const char *text = head->u.name->text;
    if (!compared(text, "if")) return 1; m->done++; if (!compared(text, "let")) return 2; } return 0; }
NOINLINE struct cell *behind(struct machine *m, struct cell *c)
{ m->done++; if (c->tag != 3) return c; struct cell *head = c->u.pair.first;
  if (head->tag == 2 && !compared(head->u.name->text, "if")) m->same++; return m->all = head; }
NOINLINE unsigned counted(const struct board *b) { return b->men[0] + b->men[1]; }
NOINLINE int played(struct match *m, int by)
{ struct board *b = &m->now; b->men[b->side] ^= by; b->turn++; b->side ^= 1; return counted(b) + b->quiet; }
NOINLINE long all(struct match *m)
{ struct match *other = m->other, *same = m; same->moves++; return other->moves + same->now.turn; }
NOINLINE int turns(struct match *m) { struct match *at = m; int n = 0; while (at) { n += at->now.turn; at = at->other; }
  return n; }
NOINLINE long walked(struct pool *p)
{ long n = 0; for (struct link *l = p->full.next; l != &p->full; l = l->next) n += ((struct slab *)l)->used;
  return n; }
NOINLINE struct text *fresh(int n) { struct text *t = calloc(1, sizeof *t + n); t->length = n; return t; }
NOINLINE int begun(int n) { struct text *t = fresh(n); return t->data[0] + t->length; }
int main(int argc, char **argv)
{ static struct machine m; static struct cell c, d = { 2 }; static struct match one; static struct pool p;
  struct name n = { "a" };
  c.u.pair.first = &d; d.u.name = &n; p.full.next = p.full.before = &p.full; one.other = &one; c.tag = argc;
  return named(&m, &c) + (behind(&m, &c) != 0) + played(&one, argc) + all(&one) + turns(&one) + walked(&p) + begun(3); }
"""


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with optimization."""
    return built(tmp_path_factory.mktemp("meant-1"), "-O1", SOURCE)


def test_a_candidate_with_small_members_is_not_copied_whole(plain: Path) -> None:
    found = answers(plain, "named", "frame")
    assert {"struct cell*", "struct machine*"} <= found
    assert not {one for one in found if one.startswith("struct cell.")}


def test_a_unions_pointer_is_chosen_by_the_size_of_the_members_read(optimized: Path) -> None:
    found = answers(optimized, "behind")
    assert not {one for one in found if one.startswith("struct work")}
    assert "struct cell.tag" in found


def test_a_copy_used_for_its_first_member_only_points_to_that(plain: Path) -> None:
    found = answers(plain, "played", "frame")
    assert "struct board*" in found
    assert "struct match*" in found
    assert "struct board*" not in answers(plain, "all", "frame") | answers(plain, "turns", "frame")
    assert "struct match*" in answers(plain, "turns", "frame")


def test_a_value_stored_more_than_once_is_not_cast_each_time(plain: Path) -> None:
    found = answers(plain, "walked", "frame")
    assert "struct pool*" in found
    assert "struct slab*" not in found


def test_bytes_after_an_object_are_of_its_last_array(plain: Path) -> None:
    assert "struct text*" in answers(plain, "begun", "frame")
