"""BTF only: list elements that are taken from their links."""

from pathlib import Path

from tests.support.types.btf_programs import touched

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
#define OWNER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))
struct link { struct link *next, *prev; };
struct square { signed char file, rank; };
struct move { struct square from, to; unsigned char promote, from_hash : 1, quiet : 1; short score; };
struct piece { struct square at; unsigned char kind, taken; unsigned short moves; };
struct step { struct move move; struct piece *mover, *victim; unsigned char rights[2]; unsigned long key;
  struct link link; };
struct game { struct piece *board[8][8]; unsigned long key; struct link done, spare; int ply; };
NOINLINE struct link *pop(struct link *l)
{ struct link *first = l->next; if (first == l) return 0; l->next = first->next; first->next->prev = l; return first; }
NOINLINE void push(struct link *l, struct link *one)
{ one->next = l->next; one->prev = l; l->next->prev = one; l->next = one; }
NOINLINE void make(struct game *g, const struct move *m)
{ struct link *l = pop(&g->spare); struct step *s = l ? OWNER(l, struct step, link) : malloc(sizeof *s);
  s->move = *m; s->key = g->key; s->mover = g->board[m->from.rank][m->from.file]; s->victim = 0;
  s->rights[0] = g->ply; s->rights[1] = g->ply + 1;
  push(&g->done, &s->link); g->ply++; s->mover->at = m->to; s->mover->moves++; }
NOINLINE void unmake(struct game *g)
{ struct step *s = OWNER(pop(&g->done), struct step, link); g->ply--;
  if (s->move.promote) s->mover->kind = 0;
  s->mover->at = s->move.from; s->mover->moves--; g->board[s->move.from.rank][s->move.from.file] = s->mover;
  if (s->victim) s->victim->taken = 0;
  g->key = s->key; push(&g->spare, &s->link); }
int main(int argc, char **argv)
{ struct game *g = calloc(1, sizeof *g); struct move m = { 0 }; struct piece *p = calloc(1, sizeof *p);
  g->done.next = g->done.prev = &g->done; g->spare.next = g->spare.prev = &g->spare; g->board[0][0] = p;
  m.to.file = argc; make(g, &m); unmake(g); make(g, &m); return g->ply + p->moves; }
"""


def test_a_container_of_a_link_is_typed_by_all_its_uses(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = touched(program, "unmake")
        assert {"struct step.mover", "struct step.victim", "struct step.key", "struct piece.moves"} <= set(found)
        # What the victim leads to is only known where a variable in the frame says what it is of.
        assert found.count("?") <= 1


def test_an_element_from_its_link_or_new_has_one_type(optimized: Path) -> None:
    found = touched(optimized, "make")
    assert {"struct step.key", "struct step.mover", "struct piece.moves"} <= set(found)
    assert "?" not in found
