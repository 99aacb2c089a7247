"""Variables of unoptimised code: of less than four bytes, of a type's first member, of bytes."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import accesses, answers, built

SOURCE = r"""
#define NOINLINE __attribute__((noipa))
#define AS_CLANG __attribute__((naked, noipa))
struct item { unsigned char kind; unsigned short len; _Bool on; unsigned long n; };
AS_CLANG void narrow(struct item *i, unsigned char kind, unsigned short len, _Bool on)
{ __asm__("push %rbp; mov %rsp,%rbp; mov %cl,%al; mov %dx,%cx; mov %sil,%dl; mov %rdi,-8(%rbp); mov %dl,-9(%rbp);"
          "mov %cx,-12(%rbp); and $1,%al; mov %al,-13(%rbp); mov -8(%rbp),%rax; mov -9(%rbp),%cl; mov %cl,(%rax);"
          "mov -12(%rbp),%cx; mov %cx,2(%rax); mov -13(%rbp),%cl; and $1,%cl; mov %cl,4(%rax); pop %rbp; ret"); }
AS_CLANG unsigned long counted(unsigned long n)
{ __asm__("push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp); movq $0,-16(%rbp);"
          "1: mov -16(%rbp),%rcx; xor %eax,%eax; cmp -8(%rbp),%rcx; mov %al,-17(%rbp); jae 2f;"
          "mov -16(%rbp),%rax; add $1,%rax; mov %rax,-16(%rbp); jmp 1b; 2: mov -17(%rbp),%al; pop %rbp; ret"); }
AS_CLANG void cut(struct item *i, unsigned id)
{ __asm__("push %rbp; mov %rsp,%rbp; mov %rdi,-16(%rbp); mov %esi,-4(%rbp); mov -4(%rbp),%cx; mov -16(%rbp),%rax;"
          "mov %cx,2(%rax); mov -4(%rbp),%eax; mov %rax,%rcx; mov -16(%rbp),%rax; mov %rcx,8(%rax); pop %rbp; ret"); }
struct parts { int count, room; float *x, *y, *z; };
struct world { struct parts parts; long step[20]; float all; };
NOINLINE float moved(struct world *w, int i)
{ struct parts *p = &w->parts; p->count++; p->x[i] += w->all; p->y[i] -= w->all; p->z[i] = 1; return p->x[i]; }
NOINLINE float alone(struct world *w) { struct world *p = w; p->parts.count++; return p->all; }
union entry { struct { unsigned present : 1, dirty : 1, frame : 30; }; unsigned word; };
struct task { long id; union entry pages[16]; };
NOINLINE unsigned swept(struct task *t)
{ unsigned n = 0; for (unsigned long i = 0; i < 16; i++) { union entry *e = t->pages + i;
    if (e->present && !e->dirty) { e->word = 0; n++; } e->dirty = 0; } return n; }
NOINLINE unsigned hashed(const void *data, unsigned long n)
{ const unsigned char *p = data; unsigned h = 5; while (n--) h = h * 33 + *p++; return h; }
struct candidate { double distance; _Bool found; union { struct task *task; char *name; }; };
NOINLINE double nearest(struct candidate *all, int n)
{ struct candidate best = all[0], last = all[n]; if (last.found) all[0] = last; return best.distance + best.found; }
char text[] = "text";
int main(int argc, char **argv)
{ struct item i; static struct world w; static struct task t;
  static struct candidate c; narrow(&i, argc, argc, argc); cut(&i, argc);
  return hashed(text, counted(4)) + moved(&w, 0) + alone(&w) + swept(&t) + nearest(&c, 0); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("narrow"), "-O0", SOURCE)


def frame(program: Path, function: str) -> set[str]:
    """Types of variables in a function's frame."""
    return {str(one.type) for one in accesses(program, function) if one.how == "frame"}


def test_parameters_of_less_than_four_bytes_have_their_type(program: Path) -> None:
    """Clang takes no more of a register than that."""
    assert {"unsigned char", "short unsigned int", "_Bool"} <= frame(program, "narrow")


def test_a_narrow_read_of_a_wider_integer_is_a_part_of_it(program: Path) -> None:
    """Clang cuts a number short where it loads it."""
    found = [one for one in accesses(program, "cut") if "-4(%rbp)" in one.insn or "-0x4(%rbp)" in one.insn]
    assert [str(one.type) for one in found] == ["unsigned int"] * 3


def test_a_value_may_be_spilled_between_a_comparison_and_its_jump(program: Path) -> None:
    found = [one for one in accesses(program, "counted") if one.insn.endswith(("-16(%rbp)", "-0x10(%rbp)"))]
    assert found
    assert {one.type for one in found} == {"long unsigned int"}


def test_a_pointer_used_for_the_first_member_only_points_to_that(program: Path) -> None:
    assert "struct parts*" in frame(program, "moved")
    assert "struct parts*" not in frame(program, "alone")


def test_no_variable_points_to_an_unnamed_type(program: Path) -> None:
    assert "union entry*" in frame(program, "swept")


def test_callers_do_not_type_parameters_used_as_bytes(program: Path) -> None:
    assert "struct parts*" in frame(program, "moved")
    assert "char*" not in frame(program, "hashed")


def test_padding_between_members_is_copied_with_them(program: Path) -> None:
    assert {"struct candidate.distance", "struct candidate.found"} <= answers(program, "nearest", "frame")
