"""Containers of a pointee that no variable names, and virtual bases."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

AROUND = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct hook { struct hook *next, **before; };
struct timer { struct hook wheel; unsigned long expires; void (*fire)(struct timer *); };
struct job { int id, state; struct hook queue; struct timer timeout; void *owner; float weight;
             union { struct { unsigned since, tries; } held; struct { void *at; unsigned page; } run; }; };
NOINLINE void again(struct timer *t, long n) { __asm__ volatile("" :: "r"(t) : "memory"); }
NOINLINE void late(struct timer *t)
{ struct job *j = (struct job *)((char *)t - __builtin_offsetof(struct job, timeout));
  if (j->state == 2)
  { j->held.tries++; j->weight *= 1.5f; again(t, j->held.tries + 5); if (j->held.tries > 2) j->state = 0; } }
int main(int argc, char **argv)
{ static struct job j; j.state = argc; late(&j.timeout); return j.state; }
"""
VIRTUAL = r"""
struct Noted { virtual ~Noted() {} long touched = 0; int number = 1; };
struct Subject : virtual Noted { virtual void tell() {} long watchers[4] = {}; };
struct Observer : virtual Noted { virtual void told(Noted &from) { last = from.number; touched++; } int last = 0; };
struct Root final : Subject, Observer
{ void told(Noted &from) override { Observer::told(from); log += from.number; } long log = 0; };
extern "C" __attribute__((noinline)) void both(Root &r, Noted &n) { r.Observer::told(n); __asm__ volatile(""); }
int main(int argc, char **) { static Root r; both(r, r); Observer &o = r; o.told(r); return r.log; }
"""


LAST = r"""
#include <memory>
#include <vector>
struct Cargo { virtual ~Cargo() {} long weight = 3, kind = 1; };
struct Pile { std::vector<std::unique_ptr<Cargo>> all; };
extern "C" __attribute__((noinline)) long on_top(Pile &p) { return p.all.empty() ? 0 : p.all.back()->weight; }
int main(int argc, char **)
{ Pile p; for (int i = 0; i < argc; i++) p.all.push_back(std::make_unique<Cargo>()); return on_top(p); }
"""


CALLED = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct node; struct builtin { const char *name; long (*fn)(struct node *, long); int least, most; };
struct node { int kind, line; union { struct { const char *p; unsigned long n; } text;
              struct { const struct builtin *fn; struct node *args[3]; } call;
              struct { struct node *first, *rest; }; }; };
NOINLINE long value(struct node *n, long with)
{ long sum = 0;
  for (; n; n = n->rest)
  { if (n->kind == 1) return sum + n->text.p[with];
    if (n->kind == 2) return sum + n->call.fn->fn(n->call.args[0], with);
    sum += value(n->first, with + 1); }
  return sum; }
int main(int argc, char **argv)
{ static const struct builtin b[] = { { "a", value, 1, 2 } }; struct node t = { 1, 2 }; t.text.p = argv[0];
  struct node c = { 2, 3 }; c.call.fn = b; c.call.args[0] = &t; return value(&c, argc); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_memory_after_a_member_is_its_container(compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(AROUND, compiler, level, tmp_path)
    found = [one for one in accesses(program, "late") if one.countable]
    assert {one.type for one in found} == {"struct job"}
    assert {one.field for one in found} == {"state", "weight", "held.tries"}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_the_distance_selects_the_base_with_the_virtual_base(compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(VIRTUAL, compiler, level, tmp_path)
    found = [one for one in accesses(program, "both") if one.countable]
    written = {(one.type, one.field) for one in found if "w" in one.access}
    assert ("struct Noted", "touched") in written
    assert not any("vptr" in one.field for one in found if "w" in one.access)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_pointee_of_the_last_element_before_an_end_is_known(compiler: str, tmp_path: Path) -> None:
    program = compiled(LAST, compiler, "-O2", tmp_path)
    found = {(one.type, one.field) for one in accesses(program, "on_top") if one.countable}
    assert ("struct Cargo", "weight") in found, found
    assert None not in {t for t, _field in found}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_a_called_member_selects_the_unions_pointer(compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(CALLED, compiler, level, tmp_path)
    called = [one for one in accesses(program, "value") if "call" in one.insn and one.countable]
    called += [one for one in accesses(program, "value") if "jmp *" in one.insn and one.countable]
    assert [(one.type, one.field) for one in called] == [("struct builtin", "fn")]
