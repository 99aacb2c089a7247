"""What is told of programs of which only BTF is there: of what is counted from where something begins, and of numbers
that are one of several."""

from pathlib import Path

from tests.types.btf_programs import accesses, answers, built

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
enum side { BUY, SELL }; struct half { enum side side; int n; long total; };
struct book { struct half halves[2]; };
struct app { char name[20]; int n; }; struct key { unsigned from, to; unsigned short ports[2]; };
struct pool { unsigned char *data; unsigned long size; int n; };
struct body { float x, y, dx, dy; int seen; };
NOINLINE void opened(struct book *b)
{ for (int s = 0; s < 2; s++) { b->halves[s].side = s; b->halves[s].total = s; } }
NOINLINE int named(struct app *a, const char *text)
{ char *out = a->name; while (*text) { if (out != a->name) *out++ = '.'; *out++ = *text++; } *out = 0; return a->n; }
NOINLINE unsigned hash(const struct key *k)
{ const unsigned char *b = (const unsigned char *)k; unsigned h = 7;
  for (unsigned long i = 0; i < sizeof *k; i++) h = h * 33 ^ b[i]; return h + k->from; }
NOINLINE float moved(struct pool *p, long i)
{ struct body *b = (struct body *)(p->data + i * p->size); b->x += b->dx; b->seen++; p->n++; return b->y; }
int main(int argc, char **argv)
{ static struct book b; static struct app a; static struct key k; static struct body all[4];
  static struct pool p = { (unsigned char *)all, sizeof *all };
  opened(&b); return named(&a, argv[0]) + hash(&k) + moved(&p, argc); }
"""


def test_a_number_that_is_compared_with_sign_is_none_of_several_without(plain: Path) -> None:
    assert "enum side" not in answers(plain, "opened", "frame")
    assert "int" in answers(plain, "opened", "frame")
    assert "struct book.halves[].side" in answers(plain, "opened")


def test_a_pointer_that_goes_over_the_parts_of_an_object_is_not_known_to_lead_to_it(plain: Path) -> None:
    assert answers(plain, "named", "frame") == {"struct app*", "char*"}
    assert [one.type for one in accesses(plain, "hash") if one.how == "frame"].count("struct key*") <= 3


def test_members_of_what_is_put_into_bytes_are_no_bytes(plain: Path, optimized: Path, tmp_path: Path) -> None:
    for program in (plain, optimized, built(tmp_path, "-O1", SOURCE)):
        assert "struct pool.data" in answers(program, "moved")
        assert not [one for one in accesses(program, "moved") if one.size == 4 and one.type == "unsigned char"]
