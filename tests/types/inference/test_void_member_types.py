"""BTF only: `void *` members that an ops table's functions use for private data."""

from pathlib import Path

from tests.support.types.btf_programs import answers

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
struct line; struct verdict { int keep; unsigned bytes; const char *why; };
struct kind { const char *name; int (*open)(struct line *); int (*data)(struct line *, const char *, unsigned);
  void (*close)(struct line *, struct verdict *); };
struct line { unsigned from, to; unsigned long in; const struct kind *kind; void *own; struct line *next;
  double when; };
struct echo { unsigned lines; unsigned char last; unsigned long sum; };
struct page { int got, put; char path[24]; unsigned long length; };
struct pair { unsigned short from; unsigned long at; };
static int echo_open(struct line *l) { struct echo *e = calloc(1, sizeof *e); l->own = e; return 0; }
static int echo_data(struct line *l, const char *p, unsigned n)
{ struct echo *e = l->own; for (unsigned i = 0; i < n; i++) { e->sum += p[i]; if (p[i] == 10) e->lines++; }
  if (n) e->last = p[n - 1]; l->in += n; return e->lines; }
static void echo_close(struct line *l, struct verdict *v) { struct echo *e = l->own; v->bytes += e->lines; }
static int page_open(struct line *l) { struct page *h = calloc(1, sizeof *h); h->got = 1; l->own = h; return 1; }
static int page_data(struct line *l, const char *p, unsigned n)
{ struct page *h = l->own; h->path[l->in & 15] = *p; h->length += n; h->put++; return h->got; }
static void page_close(struct line *l, struct verdict *v)
{ struct page *h = l->own; v->keep = h->got > h->put; free(h); }
static void any_close(struct line *l, struct verdict *v) { long *h = l->own; v->keep = *h; }
static int none_open(struct line *l) { return l->own == 0; }
static const struct kind kinds[3] = { { "echo", echo_open, echo_data, echo_close },
  { "page", page_open, page_data, page_close }, { "none", none_open, 0, any_close } };
NOINLINE int served(struct line *l, const char *p, unsigned n)
{ struct verdict v = { 0 }; int r = l->kind->open(l);
  if (l->kind->data) r += l->kind->data(l, p, n); l->kind->close(l, &v);
  return r + v.keep + v.bytes; }
int main(int argc, char **argv)
{ struct line l = { argc, 2, 3, &kinds[argc & 1], 0, 0 }; struct pair p = { argc, 3 };
  return served(&l, argv[0], 3) + p.at; }
"""


def test_a_private_pointer_is_typed_by_its_tables_functions(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        assert {"struct echo.lines", "struct echo.last", "struct echo.sum"} <= answers(program, "echo_data")
        assert "struct echo.lines" in answers(program, "echo_close")
        assert {"struct page.got", "struct page.put"} <= answers(program, "page_close")
        assert "?" not in answers(program, "page_data")
    assert "struct echo*" in answers(plain, "echo_close", "frame")


def test_another_tables_private_pointer_has_another_type(plain: Path, optimized: Path) -> None:
    for program in (plain, optimized):
        found = answers(program, "any_close")
        assert {"struct line.own", "struct verdict.keep"} <= found
        assert not {one for one in found if one.startswith(("struct echo", "struct page"))}
