"""What is told of programs of which only BTF is there: objects in the frame, elements of arrays that are sorted."""

from pathlib import Path

import pytest
from tests.types.test_inferred_programs import answers, built

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct token { int kind, line; union { double number; int sign; } u; long place; };
struct tokens { struct token *v; unsigned long n; };
struct stack { struct token top[2]; int n; };
struct row { long key; int n; };
struct table { struct row rows[6]; int n; long total; };
struct owner { int id; }; struct page { long flags; struct owner *owner; };
struct message { int type; union { int place[4]; char text[16]; } u; };
struct label { long id; char name[16]; };
struct label label;
struct table table;
NOINLINE void push(struct tokens *t, struct token one) { t->v[t->n++] = one; }
NOINLINE struct token made(int kind, int line)
{ struct token t; memset(&t, 0, sizeof t); t.kind = kind; t.line = line; if (kind == 1) t.u.number = line;
  else t.u.sign = -1; return t; }
NOINLINE void scan(struct tokens *t, const char *text)
{ for (; *text; text++) { struct token one = { 0, 3 }; if (*text == 'n') { one.kind = 1; one.u.number = 2; }
    else one.u.sign = *text; one.place = text[1]; push(t, one); } }
NOINLINE int by_key(const void *a, const void *b)
{ const struct row *x = a, *y = b; return x->n != y->n ? x->n - y->n : x->key > y->key; }
NOINLINE int with_key(const void *key, const void *one) { return *(const long *)key - ((const struct row *)one)->key; }
NOINLINE long sorted(void)
{ qsort(table.rows, table.n, sizeof(struct row), by_key); long key = 3;
  struct row *found = bsearch(&key, table.rows, table.n, sizeof(struct row), with_key); return found ? found->n : 0; }
NOINLINE long filled(struct table *t) { t->total += t->rows[1].n; return t->total; }
NOINLINE long by_memory(int n)
{ struct table t; memset(&t, 0, sizeof t); t.n = n; t.rows[0].n = 3; qsort(t.rows, t.n, sizeof *t.rows, by_key);
  return filled(&t) + t.n; }
struct owner *owner(int id); struct page *page(struct owner *o);
NOINLINE long two_arrays(int n)
{ struct owner *owners[3]; struct page *pages[8]; long sum = 0; for (int i = 0; i < 3; i++) owners[i] = owner(i);
  for (int i = 0; i < 8; i++) pages[i] = page(owners[(i + n) % 3]);
  for (int i = 0; i < 8; i++) sum += pages[i]->flags + owners[i % 3]->id; return sum; }
NOINLINE int letters(const struct message *m)
{ int n = 0; for (const char *p = m->u.text; *p; p++) n += *p; return n; }
NOINLINE int copied(long id) { char name[16] = "name"; name[2] = id; memcpy(label.name, name, 16); label.id = id;
  return name[3]; }
NOINLINE int pairs(const int *v, int n) { int i, sum = 0; for (i = 0; i + 1 < n; i++) sum ^= v[i]; return sum; }
NOINLINE struct owner *owner(int id) { struct owner *o = malloc(sizeof *o); o->id = id; return o; }
NOINLINE struct page *page(struct owner *o)
{ struct page *p = malloc(sizeof *p); p->owner = o; p->flags = 1; return p; }
typedef unsigned long (*hash)(const void *key); typedef int (*drop)(void *value, void *user);
struct store { hash hash; drop drop; void *user; };
struct dropped { int count; long bytes; };
NOINLINE void store_made(struct store *s, hash h, drop d, void *user) { s->hash = h; s->drop = d; s->user = user; }
static unsigned long hash_text(const void *key)
{ unsigned long h = 5; for (const unsigned char *p = key; *p; p++) h = h * 33 + *p; return h; }
static int drop_all(void *value, void *user) { struct dropped *d = user; d->count++; d->bytes += 3; return 1; }
int main(int argc, char **argv)
{ struct tokens t = { malloc(64 * sizeof(struct token)) }; struct stack s = { { made(argc, 1), made(1, argc) }, 2 };
  scan(&t, argv[0]); struct message m = { argc }; struct dropped d = { 0 }; struct store st;
  store_made(&st, hash_text, drop_all, &d);
  return s.n + sorted() + by_memory(argc) + two_arrays(argc) + letters(&m) + copied(argc) + pairs(m.u.place, 4)
    + st.hash("a") + st.drop(0, st.user); }
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("plain"), "-O0", SOURCE)


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("optimized"), "-O2", SOURCE)


def test_what_is_copied_from_the_frame_as_a_whole_is_what_it_is_copied_to(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        told = answers(program, "made")
        assert {"struct token.kind", "struct token.line", "struct token.u.number", "struct token.u.sign"} <= told
        assert "?" not in told


def test_structures_on_the_stack_are_told_by_who_is_called(optimized: Path) -> None:
    told = answers(optimized, "scan")
    assert {"struct token.kind", "struct token.place"} <= told
    assert "?" not in told


def test_characters_that_are_copied_at_once_are_no_structure(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "copied", "frame") if one.startswith("struct label.")}


def test_elements_that_are_sorted_have_the_size_that_is_said(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        for function in ("by_key", "with_key"):
            told = answers(program, function)
            assert "struct row.key" in told
            assert not {one for one in told if "table" in one}
    assert "struct row.n" in answers(plain, "sorted")
    assert "struct table*" not in answers(plain, "sorted")


def test_an_object_in_the_frame_may_also_go_where_anything_is_taken(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct table.n", "struct row.n"} & answers(program, "by_memory")
        assert "struct table.n" in answers(program, "by_memory")


def test_arrays_in_the_frame_end_where_another_one_begins(plain: Path) -> None:
    told = answers(plain, "two_arrays")
    assert {"struct owner*", "struct page*"} <= {one.removesuffix("[]") for one in told}
    assert "?" not in told


def test_pointers_to_a_part_of_a_union_lead_to_what_is_read(plain: Path) -> None:
    told = answers(plain, "letters")
    assert not {one for one in told if "anonymous" in one}
    assert "char*" in told


def test_sums_that_are_compared_with_sign_are_of_numbers_with_sign(plain: Path) -> None:
    assert "?" not in answers(plain, "pairs")


def test_of_several_functions_each_may_go_with_what_is_kept(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert not {one for one in answers(program, "hash_text") if "dropped" in one}
