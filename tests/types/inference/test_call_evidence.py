"""BTF only: sums, arrays of allocated objects, callbacks with a context."""

from pathlib import Path

from tests.support.types.btf_programs import answers

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noipa))
struct dot { unsigned char r, g; unsigned short b; };
struct tally { int gone; long bytes; };
struct plate { int w, h; double ratio; };
struct person { char name[16]; long seen; unsigned flags; };
struct user { long id; struct user *next; };
typedef unsigned long (*hash)(const void *key);
typedef void (*drop)(void *value, void *user);
struct keeper { hash hash; drop drop, other; void *spare, *user; void *value; };
struct dot *dots; struct keeper *the_keeper; struct person *a_person; long id(struct user *u, char *text);
NOINLINE long total(int n, const struct plate *p)
{ unsigned long sum = 0;
  for (int i = 0; i < n; i++) { sum += p[i].w * p[i].h; if (p[i].h & 1) sum += i; } return sum != 9; }
NOINLINE int corner(double x, double y) { int c = ((int)x + (int)y) & 1; return c ? 3 : 4; }
NOINLINE char *behind(char *text, int n) { char *end; end = text + n; return end; }
NOINLINE unsigned long apart(unsigned long n, int more) { unsigned long s = n; s += more; return s / 3; }
NOINLINE int four(void)
{ struct dot *d = calloc(8, sizeof *d); dots = d; d[0].r = 1; d[7].g = 3; d[5].b = 4;
  return d[6].g + d[2].r + d[0].b + d[3].b; }
static void drop_plate(void *v, void *u)
{ struct plate *p = v; struct tally *t = u; t->gone++; t->bytes += (long)p->w * p->h; p->ratio = 0; }
static void drop_person(void *v, void *u) { struct person *p = v; struct tally *t = u; t->gone++; p->flags |= 2; }
static unsigned long hash_any(const void *key) { return (unsigned long)key / 3; }
NOINLINE struct keeper *kept(hash h, drop d, void *user)
{ struct keeper *k = calloc(1, sizeof *k); k->hash = h; k->drop = d; k->user = user; return k; }
NOINLINE void gone(struct keeper *k, long n)
{ for (; n; n--) if (k->hash(k->value) & 1) { k->spare = 0; if (k->drop) k->drop(k->value, k->user); } }
NOINLINE long keeps(struct person *p, struct tally *t)
{ struct keeper *k = kept(hash_any, drop_person, t); k->value = p; gone(k, 3); return t->gone; }
int main(int argc, char **argv)
{ struct plate p[2] = { { argc, 2 } }; struct tally t = { 0 }; the_keeper = kept(hash_any, drop_plate, &t);
  struct person q = { "a" }; a_person = &q; gone(the_keeper, 0);
  return total(argc, p) + corner(argc, 2) + *behind(argv[0], 0) + apart(argc, 2) + four() + keeps(&q, &t)
    + t.gone + t.bytes; }
"""


def test_integers_converted_from_floats_are_signed(plain: Path) -> None:
    assert "int" in answers(plain, "corner", "frame")


def test_an_addend_of_a_sign_extended_integer_may_be_unsigned(plain: Path) -> None:
    assert answers(plain, "behind") == {"char*", "int"}
    assert answers(plain, "apart") == {"int", "long unsigned int"}
    assert answers(plain, "total", "frame") == {"int", "struct plate*"}


def test_objects_allocated_as_an_array_are_all_accessed(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "four")
        assert {"struct dot.r", "struct dot.g", "struct dot.b"} <= found
        assert "?" not in found


def test_a_callback_is_called_with_a_member_beside_it(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct tally.gone", "struct tally.bytes"} <= answers(program, "drop_plate")
        assert "struct tally.gone" in answers(program, "drop_person")
        assert {"struct tally.gone", "struct tally.bytes"} <= answers(program, "main", "frame")


def test_a_computed_address_may_be_a_sum(plain: Path) -> None:
    found = answers(plain, "drop_plate")
    assert {"struct plate.w", "struct tally.bytes"} <= found
    assert not {one for one in found if one.startswith("struct person")}
