"""Objects around what a pointer leads to that no variable is there for, and virtual bases of a part of an object."""

from pathlib import Path

import pytest
from fakes import accesses, compiled

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


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_behind_a_part_is_what_is_around_it(compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(AROUND, compiler, level, tmp_path)
    found = [one for one in accesses(program, "late") if one.countable]
    assert {one.type for one in found} == {"struct job"}
    assert {one.field for one in found} == {"state", "weight", "held.tries"}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_which_part_has_the_virtual_base_is_told_by_the_distance(compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(VIRTUAL, compiler, level, tmp_path)
    found = [one for one in accesses(program, "both") if one.countable]
    written = {(one.type, one.field) for one in found if "w" in one.access}
    assert ("struct Noted", "touched") in written
    assert not any("vptr" in one.field for one in found if "w" in one.access)
