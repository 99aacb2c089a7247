"""BTF only: variables of unoptimised code that point into byte buffers."""

from pathlib import Path

from tests.support.types.btf_programs import answers, spilled

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct __attribute__((packed)) frame { unsigned char to[6], from[6]; unsigned short kind; };
struct __attribute__((packed)) head { unsigned char size, way; unsigned short length, number;
  unsigned char life, inner; unsigned from, to; };
struct ports { unsigned short from, to, length, sum; };
struct track { unsigned short from, to; unsigned number, seen; unsigned char flags, window; unsigned short urgent; };
struct words { int n; char text[24]; unsigned sum; };
struct box { unsigned char low[4]; unsigned from, to; };
NOINLINE unsigned written(unsigned char *p, int way)
{ struct frame *f = (struct frame *)p; f->kind = 8; f->from[5] = way; struct head *h = (struct head *)(f + 1);
  h->size = 4; h->length = 60; h->from = way; h->inner = 6; unsigned char *at = (unsigned char *)(h + 1);
  if (way & 1) { struct ports *o = (struct ports *)at; o->from = 3; o->to = way; at += sizeof *o; }
  else { struct track *t = (struct track *)at; t->from = 5; t->number = way; t->flags = 2; at += sizeof *t; }
  for (int k = 0; k < 3; k++) *at++ = k;
  return at - p; }
NOINLINE int read(const unsigned char *p, unsigned n)
{ const unsigned char *q = p + n; int sum = 0; while (p < q) sum += *p++; return sum; }
NOINLINE unsigned words(const struct words *w, const struct box *b) { return w->n + w->sum + b->low[1] + b->to; }
int main(int argc, char **argv)
{ static unsigned char room[128]; static struct words w; static struct box b;
  return written(room, argc) + read(room, 9) + words(&w, &b); }
"""


def test_an_address_in_bytes_used_as_one_structure_points_to_it(plain: Path) -> None:
    found = answers(plain, "written", "frame")
    assert {"struct frame*", "struct head*", "struct track*"} <= found
    assert {"struct frame.kind", "struct head.inner", "struct track.number"} <= answers(plain, "written")


def test_bytes_that_several_structures_fit_have_no_type(plain: Path) -> None:
    assert "struct ports*" not in answers(plain, "written", "frame")
    assert any("-0x" in insn for insn in spilled(plain, "written"))


def test_bytes_that_are_used_as_bytes_are_no_structure(plain: Path) -> None:
    assert answers(plain, "read", "frame") == {"unsigned char*", "unsigned int", "int"}
