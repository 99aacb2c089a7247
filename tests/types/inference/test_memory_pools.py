"""Objects that a program's own allocator puts into an array of bytes."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noipa))
struct room { struct room *prev; unsigned long used; char data[2000]; };
struct tree { unsigned char kind; short line; unsigned visits; struct tree *left, *right; };
struct tree *kept;
void *given;
struct room first;
NOINLINE struct tree *grown(struct room *r, struct tree *left, int line)
{ unsigned long at = r->used; r->used = at + sizeof(struct tree);
  struct tree *t = (struct tree *)(r->data + at); t->kind = 1; t->line = line; t->left = left; t->right = 0; return t; }
NOINLINE struct tree *counted(struct room *r, unsigned long at, int line)
{ struct tree *t = (struct tree *)(r->data + at); __asm__ volatile("" : : "r"(t));
  __asm__ volatile("movw %w2, 0x12(%0,%1)" : : "r"(r), "r"(at), "r"(line) : "memory"); return t; }
NOINLINE void lent(struct room *r, unsigned long at, struct tree *left)
{ void *t = r->data + at; __asm__ volatile("" : : "r"(t));
  __asm__ volatile("mov %2, 0x18(%0,%1)" : : "r"(r), "r"(at), "r"(left) : "memory"); given = t; }
NOINLINE char *text(struct room *r)
{ unsigned long at = r->used; r->used = at + 8; char *t = r->data + at; memcpy(t, "a word", 7); return t; }
struct town { char name[12]; int number; unsigned long seen; unsigned roads; };
NOINLINE int by_roads(const void *x, const void *y)
{ const struct town *a = *(struct town *const *)x, *b = *(struct town *const *)y;
  if (a->roads != b->roads) return a->roads < b->roads ? 1 : -1; return strcmp(a->name, b->name); }
NOINLINE long nearest(struct town *first, int n)
{ struct town **of = malloc(n * sizeof *of); long seen = 0; of[0] = first; int at = 0;
  for (int kid; (kid = 2 * at + 1) < n; at = kid)
  { of[kid] = of[at]; if (kid + 1 < n && of[kid + 1]->roads < of[kid]->roads) kid++; seen += of[kid]->seen; }
  free(of); return seen; }
int compared(const void *x, const void *y) { return by_roads(x, y); }
int main(int argc, char **argv)
{ lent(&first, 8, kept); counted(&first, 8, argc); argc += nearest(given, argc);
  return grown(&first, kept, argc)->line + *text(&first); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("rooms"), "-O2", SOURCE)


def test_memory_from_a_pool_has_the_return_type(program: Path) -> None:
    found = answers(program, "grown")
    assert {"struct tree.kind", "struct tree.line", "struct tree.left", "struct tree.right"} <= found
    assert not any(one.startswith("struct room.data") for one in found)


def test_a_sum_of_registers_has_the_return_type(program: Path) -> None:
    """Clang has the sum in a register as well, but counts from the two."""
    assert answers(program, "counted") == {"struct tree.line"}


def test_memory_that_addresses_are_stored_in_is_no_bytes(program: Path) -> None:
    found = answers(program, "lent")
    assert "void*" in found
    assert not any(one.startswith("struct room.data") for one in found)


def test_an_array_of_pointers_may_be_a_heap(program: Path) -> None:
    """The number of an element is twice that of another one."""
    assert answers(program, "nearest") == {"struct town*", "struct town.roads", "struct town.seen"}


def test_text_in_a_pool_is_bytes(program: Path) -> None:
    assert "struct room.data[]" in answers(program, "text")


def test_an_access_from_within_text_is_no_text(program: Path) -> None:
    """Only its name, which it starts with, shows that it points to text."""
    assert "struct room.data[]" in answers(program, "text")
    assert "char" not in answers(program, "by_roads")
