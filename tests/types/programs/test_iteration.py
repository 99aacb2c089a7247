"""Programs with DWARF whose accesses have several paths: selects and iterations."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, answers, compiled

from undwarf.disasm import Flow
from undwarf.elf import ElfFile
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

SOURCE = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct tree { struct tree *left, *right, *up; long key; };
NOINLINE struct tree *found(struct tree *t, long key)
{ while (t->key != key) t = *(&t->left + (t->key < key)); return t; }
struct inode { short kind, links; int size, block[6], later; long when; };
struct files { long n; struct inode *all; int *free; };
NOINLINE void removed(struct files *f, unsigned i)
{ struct inode *p = &f->all[i];
  if (--p->links == 0) for (int k = 0; k < 6; k++) if (p->block[k]) f->free[p->block[k]] = 1; }
struct filter { double b[3], a[2]; double z1, z2; };
struct channel { struct filter filters[3]; float gain, pan; long bits; };
struct mixer { struct channel channels[4]; int n; float master[2]; };
NOINLINE void opened(struct mixer *m)
{ for (int c = 0; c < 4; c++) { m->channels[c].gain = c; m->channels[c].filters[0].b[0] = .5; } }
struct queue { int n; };
struct server { void *current; struct queue *waiting; double busy; int done; };
struct simulation { void *events; struct server servers[3]; double now; int done; };
NOINLINE int serve(struct simulation *s, struct server *v, void *c) { v->current = c; return ++s->done; }
NOINLINE int shortest(struct simulation *s, void *c)
{ struct server *best = 0;
  for (int i = 0; i < 3; i++)
  { struct server *v = &s->servers[i];
    if (!v->current) return serve(s, v, c);
    if (!best || v->waiting->n < best->waiting->n) best = v; }
  return best->done; }
NOINLINE long checked(struct queue *q, int e) { if (e) __assert_perror_fail(e, "", 0, ""); return q->n; }
static int seen[8];
NOINLINE void picked(struct queue *q, int kind)
{ switch (kind)
  { case 0: seen[0]++; q->n = 3; break; case 1: seen[1] += 5; q->n++; break; case 2: seen[2] -= q->n; break;
    case 3: seen[3] *= 7; break; case 4: q->n = seen[4]; break; case 5: seen[5] = seen[1] + q->n; break;
    case 6: q->n = -q->n; break; case 7: seen[7] ^= 9; } }
NOINLINE void given(struct queue *q, int kind, void (*done)(struct queue *, int)) { q->n++; done(q, kind); }
struct entry { struct tree *of; char *as; int kind, at; };
struct list { int n, room; struct entry a[1]; };
NOINLINE long keyed(struct tree *t) { return t->key; }
NOINLINE long apart(const struct list *l)
{ long s = 0; for (int i = 0; i < l->n - 1; i += 2) { s += keyed(l->a[i].of); s -= keyed(l->a[i + 1].of); } return s; }
struct value { union { long i; double r; } u; char *z; int n; unsigned short flags; };
NOINLINE long taken(struct value *v) { long x = 0; memcpy(&x, &v->u, (v->flags & 4) * 2); return x; }
int main(int argc, char **argv)
{ struct value v = { .flags = argc }; struct list *l = calloc(1, 99); argc += taken(&v) + apart(l) + keyed(malloc(99));
  struct tree one = { 0, 0, 0, 1 }, two = { &one, &one, 0, 2 }; struct inode i = { 1, 1, 1, { argc } }; int free[9];
  struct files f = { 1, &i, free }; struct mixer m = { 0 }; struct queue q = { argc };
  struct simulation s = { 0, { { &m, &q }, { &m, &q }, { &m, &q } } };
  picked(&q, argc); given(&q, argc, picked); removed(&f, argc - 1); opened(&m);
  return found(&two, argc)->key + shortest(&s, &m) + checked(&q, argc - 1); }
"""
COMPILERS = [("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-Os"), ("clang", "-O0"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("walked"))


def test_a_select_of_two_members_is_one_of_them(request: pytest.FixtureRequest, program: Path) -> None:
    if request.node.callspec.params["program"][1] == "-O0":
        pytest.skip("the members are gone through one by one")
    (found,) = [one for one in accesses(program, "found") if one.candidates]
    assert (found.type, found.reason) == (None, "ambiguous member")
    assert found.candidates == ("struct tree.left", "struct tree.right")


def test_an_array_in_an_element_is_iterated(program: Path) -> None:
    found = answers(program, "removed")
    assert "struct inode.block[]" in found
    assert "?" not in found


def test_strides_do_not_exceed_the_array_of_the_elements(program: Path) -> None:
    found = answers(program, "opened")
    assert {"struct mixer.channels[].gain", "struct channel.gain"} & found
    assert "?" not in found


def test_the_second_element_joins_with_later_ones(program: Path) -> None:
    found = answers(program, "shortest")
    assert {"struct server.current", "struct simulation.servers[].current"} & found
    assert "?" not in found


def test_a_call_that_exits_has_no_successor(program: Path) -> None:
    resolver = open_resolver(ElfFile.open(program))
    assert isinstance(resolver, Resolver)
    # Where the call stands apart, as what is not expected to run.
    parts = [resolver.binary.symbols.address_of_name(name) for name in (b"checked", b"checked.cold")]
    flows = [resolver.flow_at(low) for low in parts if low is not None]
    made = [one for flow in flows if flow is not None for one in flow.instructions]
    calls = [one.target for one in made if one.flow == Flow.CALL and one.target is not None]
    assert [resolver.binary.never_returns(target) for target in calls] == [True]


def test_a_switch_stays_in_the_function_and_a_pointer_call_does_not(program: Path) -> None:
    resolver = open_resolver(ElfFile.open(program))
    assert isinstance(resolver, Resolver)
    picked, given = (resolver.binary.symbols.address_of_name(name) for name in (b"picked", b"given"))
    assert picked is not None
    assert given is not None
    changed = resolver.binary.changed_by(picked)
    assert changed is not None
    assert not changed & {8, 9, 10, 11}
    assert resolver.binary.changed_by(given) is None


def test_every_second_element_of_a_flexible_array_is_an_element(program: Path) -> None:
    found = [one for one in accesses(program, "apart") if one.type_size > 8 and one.size == 8]
    assert {one.field for one in found if one.type == "struct list"} == {"a[].of"}
    assert {one.type for one in found} <= {"struct list", "struct entry"} and all(one.typed for one in found)


def test_words_copied_by_a_byte_index_are_of_the_copied_type(tmp_path: Path) -> None:
    """GCC copies so few bytes, of which it is not known how many, by a loop of its own."""
    program = compiled(SOURCE, "gcc", "-O2", tmp_path)
    loops = [one for one in accesses(program, "taken") if "(%rdi,%r" in one.insn and one.insn.startswith("mov (")]
    assert [(one.type, one.field) for one in loops] == [("struct value", "u.i")]
