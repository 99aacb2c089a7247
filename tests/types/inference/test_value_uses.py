"""BTF only: types from a value's uses: where it is passed, its sign, float arithmetic."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built, touched

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef struct { int kind; unsigned char marked; void *next; } object;
typedef struct { object head; short length; char text[6]; } string;
typedef struct { object head; void (*call)(int); int arity; long calls; } native;
typedef struct { int kind; union { double number; object *object; int truth; } as; } value;
typedef struct { object *at; } place;
typedef struct { string *key; value kept; } entry;
typedef struct { value all[16], *top; entry named[4]; } stack;
struct sink { void (*note)(struct sink *, double); struct sink *next; };
struct sums { double low, high; long n; };
struct summing { struct sink base; struct sums sums; };
struct counting { struct sink base; long n; };
NOINLINE int length(const string *s) { return s->length; }
NOINLINE int both(const string *a, const string *b) { return a->length + b->length; }
NOINLINE int joined(const place *v) { string *a = (string *)v->at, *b = (string *)v[1].at;
  if (!a || !b) return 0; return both(a, b) + both(b, a); }
NOINLINE int either(const place *v) { object *o = v->at; if (o->kind == 1) return length((string *)o); return 0; }
NOINLINE object *made(size_t n) { object *o = calloc(1, n); o->kind = 2; return o; }
NOINLINE void push(stack *s, value v) { *s->top++ = v; }
NOINLINE value of(void *o) { value v = { 2, { .object = (object *)o } }; return v; }
NOINLINE int defined(stack *s, void (*call)(int), int arity)
{ native *n = (native *)made(sizeof *n); n->call = call; n->arity = arity; push(s, of(n)); return arity; }
NOINLINE void sum(struct sums *s, double x) { s->n++; s->high += x; }
NOINLINE void summed(struct sink *self, double x) { struct summing *s = (struct summing *)self; sum(&s->sums, x); }
NOINLINE void counted(struct sink *self, double x) { struct counting *c = (struct counting *)self; c->n++; }
NOINLINE double negative(stack *s) { value *top = s->top; top[-1].as.number = -top[-1].as.number;
  return top[-1].as.number; }
NOINLINE int found(const unsigned *blocks, int n) { int at = n > 3 ? (int)blocks[1] : -1; if (at < 0) return 9;
  return blocks[at & 1]; }
typedef struct { unsigned day : 5, month : 4, year : 12, flags : 11; } date;
union hole { union hole *next; object *filled; };
NOINLINE date date_of(int y, int m, int d) { date made = { .day = d, .month = m, .year = y, .flags = 0 }; return made; }
NOINLINE union hole *open_hole(object **at) { union hole *h = (union hole *)at; h->next = 0; return h; }
NOINLINE unsigned count(const char *s) { unsigned n = 0; unsigned char low = *s++, high = low; high += low;
  for (unsigned c = low; c <= high; c++) n += c; return n; }
NOINLINE int scan(int n) { union { struct { unsigned char mode, level; } of; unsigned short both; } t;
  t.of.mode = 0; t.of.level = n; unsigned made = t.both; return made / 3; }
static void nothing(int n) { (void)n; }
int main(int argc, char **argv)
{ static stack s; static place v[2]; static struct summing a = { { summed } };
  static struct counting c = { { counted } };
  static string text; static unsigned blocks[4]; s.top = s.all + argc; v[0].at = v[1].at = &text.head;
  a.base.next = &c.base; for (struct sink *k = &a.base; k; k = k->next) k->note(k, argc);
  return joined(v) + either(v) + defined(&s, nothing, argc) + (s.named[0].key != 0) + (int)negative(&s)
    + found(blocks, argc) + date_of(argc, 2, 3).year + (open_hole(&v[0].at) != 0) + count("b") + scan(argc); }
"""


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with optimization."""
    return built(tmp_path_factory.mktemp("by-2"), "-O2", SOURCE)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program without optimization."""
    return built(tmp_path_factory.mktemp("by-0"), "-O0", SOURCE)


def test_a_variable_that_is_only_cast_has_the_casts_type(plain: Path) -> None:
    assert answers(plain, "joined", "frame") == {"place*", "string*"}
    assert "string*" not in answers(plain, "either", "frame")


def test_a_variable_whose_later_part_escapes_is_larger(plain: Path) -> None:
    assert answers(plain, "summed", "frame") == {"struct sink*", "struct summing*", "double"}
    assert touched(plain, "summed", "frame").count("struct sink*") == 2


def test_code_that_saves_registers_and_reloads_is_not_optimized(plain: Path) -> None:
    assert "object*" not in answers(plain, "defined", "frame")
    assert {"native.call", "native.arity"} <= answers(plain, "defined")


def test_a_float_is_in_no_container_of_a_pointer(optimized: Path, plain: Path) -> None:
    for program in (optimized, plain):
        found = answers(program, "negative")
        assert "value.as.number" in found
        assert not {one for one in found if one.startswith("entry")}


def test_a_value_tested_for_its_sign_is_signed(plain: Path) -> None:
    assert answers(plain, "found", "frame") == {"unsigned int*", "int"}


def test_returned_bit_fields_are_an_aggregate(plain: Path) -> None:
    assert "int" in answers(plain, "date_of", "frame")
    assert {one.partition(".")[0] for one in touched(plain, "date_of", "frame")} == {"int", "date"}


def test_a_union_pointers_address_is_typed_by_neither_member(plain: Path) -> None:
    assert touched(plain, "open_hole", "frame").count("object**") == 2


def test_a_zero_extended_value_is_unsigned(plain: Path) -> None:
    found = touched(plain, "count", "frame")
    assert {"char*", "unsigned int"} <= set(found)
    assert "char" not in found


def test_a_slot_written_in_parts_is_no_integer(plain: Path) -> None:
    found = answers(plain, "scan", "frame")
    assert {"int", "unsigned int"} <= found
    assert "short unsigned int" not in found
