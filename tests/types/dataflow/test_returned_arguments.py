"""Functions that return one of their arguments."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, assemble, compiled

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.returned_arguments import returned_argument

RSI, RDI = 4, 5
FRAME = "push %rbp; mov %rsp,%rbp; sub $32,%rsp; "


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mov %rdi,%rax; ret", (RDI, 0)),
        ("lea 16(%rsi),%rax; ret", (RSI, 16)),
        ("push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp); mov -8(%rbp),%rax; add $24,%rax; pop %rbp; ret", (RDI, 24)),
        (FRAME + "mov %rdi,-8(%rbp); mov -8(%rbp),%rdi; call 1f; leave; ret; 1: ret", (RDI, 8)),
        ("push %rdi; mov $3,%edi; pop %rax; ret", (RDI, 0)),
        # What lies where it leads to, a part of it, and something that depends are none.
        ("mov (%rdi),%rax; ret", None),
        ("mov %edi,%eax; ret", None),
        ("mov %rdi,%rax; test %rsi,%rsi; jz 1f; mov %rsi,%rax; 1: ret", None),
        ("lea (%rdi,%rsi,8),%rax; ret", None),
        ("ret", None),
        # What was kept is written over, by the function or by one that is given its place.
        ("mov %rdi,-8(%rsp); movl $0,-4(%rsp); mov -8(%rsp),%rax; ret", None),
        (FRAME + "mov %rdi,-8(%rbp); lea -8(%rbp),%rdi; call 1f; mov -8(%rbp),%rax; leave; ret; 1: ret", None),
        (FRAME + "mov %rdi,%rcx; call 1f; mov %rcx,%rax; leave; ret; 1: ret", None),
        # An address in the function's own frame, and a stack that is not known.
        ("lea -8(%rsp),%rax; ret", None),
        ("mov %rdi,%rsp; mov %rdi,%rax; ret", None),
    ],
)
def test_a_returned_argument_is_found(tmp_path: Path, text: str, found: tuple[int, int] | None) -> None:
    code = assemble(text, tmp_path)
    assert returned_argument(MACHINE.listing(code, 0), MACHINE, lambda _target: (RDI, 8)) == found


SOURCE = """
struct pair { long first; int second, third; }; struct many { int n; struct pair of[3]; };
int *second(struct pair *p) { return &p->second; }
struct pair *same(struct pair *p) { return p; }
int *third(struct pair *p) { return second(same(p)) + 1; }
int told(struct many *m, int k) { return *second(&m->of[k]) + *third(&m->of[1]); }
int own(void) { struct pair p = { 1, 2, 3 }; return *second(&p); }
int main(int argc, char **argv) { struct many m = { argc }; return told(&m, argc) + own(); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_references_to_members_point_into_their_object(tmp_path: Path, compiler: str) -> None:
    program = compiled(SOURCE, compiler, "-O0", tmp_path)

    def said(function: str) -> set[str]:
        return {f"{one.type}.{one.field}" for one in accesses(program, function) if one.typed}

    assert {"struct pair.second", "struct pair.third"} <= said("told") or {
        "struct many.of[].second",
        "struct many.of[].third",
    } <= said("told")
    assert "struct pair.second" in said("own")
    assert "int." not in said("own")
