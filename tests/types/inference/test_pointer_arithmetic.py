"""BTF only: offsets from an object's start, and integers with several candidate types."""

from pathlib import Path

from tests.support.types.btf_programs import accesses, answers, built

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
struct spare { struct spare *next; unsigned magic, number; };
struct head { unsigned number; unsigned short n, low, high, flags; unsigned sum; };
struct store { struct spare *spare; unsigned char *arena; unsigned n; };
static inline void *page(struct store *s)
{ struct spare *f = s->spare; if (f) { s->spare = f->next; s->n = f->number; return f; }
  return s->arena + s->n++ * 512; }
NOINLINE int begun(struct store *s)
{ struct head *h = page(s); if (!h) return 0;
  h->number = s->n; h->n = 0; h->flags = 1; h->low = 16; h->high = 512; h->sum = 0; return 1; }
int main(int argc, char **argv)
{ static struct store store; static struct spare spare; store.spare = &spare; argc += begun(&store);
  static struct book b; static struct app a; static struct key k; static struct body all[4];
  static struct pool p = { (unsigned char *)all, sizeof *all };
  opened(&b); return named(&a, argv[0]) + hash(&k) + moved(&p, argc); }
"""


def test_a_signed_comparison_excludes_an_enumeration(plain: Path) -> None:
    assert "enum side" not in answers(plain, "opened", "frame")
    assert "int" in answers(plain, "opened", "frame")
    assert "struct book.halves[].side" in answers(plain, "opened")


def test_a_pointer_over_an_objects_parts_does_not_point_to_the_object(plain: Path) -> None:
    assert answers(plain, "named", "frame") == {"struct app*", "char*"}
    assert [one.type for one in accesses(plain, "hash") if one.how == "frame"].count("struct key*") <= 3


def test_members_of_an_object_in_bytes_are_no_bytes(plain: Path, optimized: Path, tmp_path: Path) -> None:
    for program in (plain, optimized, built(tmp_path, "-O1", SOURCE)):
        assert "struct pool.data" in answers(program, "moved")
        assert not [one for one in accesses(program, "moved") if one.size == 4 and one.type == "unsigned char"]


def test_no_access_starts_in_the_middle_of_a_pointer(optimized: Path) -> None:
    found = answers(optimized, "begun")
    assert {"struct store.spare", "struct store.n", "struct spare.next", "struct spare.number"} <= found
    stores = [one for one in accesses(optimized, "begun") if one.access == "w" and one.countable]
    assert not [one for one in stores if one.type == "struct spare"]
