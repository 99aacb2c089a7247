"""Types of allocated memory and of parameters, from the callees and variables that they reach."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, answers, assemble, compiled

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.allocation_types import allocation_types
from undwarf.types.sources.type_source import Place, PlaceKind, Prototype

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
#define EVERYTHING "rbx", "rbp", "r12", "r13", "r14", "r15", "rax", "rdi", "memory"
struct entry { struct entry *before, *next; int key; short a, b; };
struct lru { struct entry *first, *last; int n, most; };
NOINLINE int used(struct lru *l, int key)
{ struct entry *e = l->n < l->most ? calloc(1, sizeof *e) : l->last;
  e->key = key; e->a = 0; e->next = l->first; l->first = e; return ++l->n; }
struct item { long weight; int kind; short left, right; };
NOINLINE long taken(struct item *i) { return i->weight + i->kind; }
NOINLINE long put_aside(int kind)
{ void *v = malloc(sizeof(struct item)); __asm__ volatile("" ::: EVERYTHING);
  ((struct item *)v)->kind = kind; ((struct item *)v)->weight = 3; __asm__ volatile("" ::: EVERYTHING);
  return taken(v); }
#ifdef __clang__
#define PLAIN __attribute__((optnone, noinline))
#else
#define PLAIN __attribute__((optimize("O0"), noinline))
#endif
PLAIN long kept(struct item *i, int n) { return i->weight + n; }
NOINLINE long plain(int kind)
{ void *v = malloc(sizeof(struct item)); ((struct item *)v)->kind = kind; ((struct item *)v)->weight = 3;
  return kept(v, 1) + 1; }
struct code { int op; struct code *x; };
struct list { struct code *code; int n; };
struct tree { int kind; struct tree *left, *right; };
NOINLINE struct code *emit(struct list *l, int op)
{ struct code *c = &l->code[l->n++]; c->op = op; return c; }
NOINLINE void gather(struct list *l, struct tree *t)
{ struct code *a;
  switch (t->kind)
  { case 0: emit(l, 1); break;
    case 1: gather(l, t->left); gather(l, t->right); break;
    case 2: a = emit(l, 2); gather(l, t->left); a->x = l->code + l->n; break; } }
NOINLINE long counted(int kind)
{ char *v = malloc(16 + sizeof(struct item)); *(long *)v = 1; ((struct item *)(v + 16))->kind = kind;
  ((struct item *)(v + 16))->right = 2; return taken((struct item *)(v + 16)); }
static inline struct item *make(void) { return malloc(sizeof(struct item)); }
NOINLINE void *boxed(int kind)
{ void *v = make(); __asm__ volatile("" ::: "memory"); ((struct item *)v)->kind = kind;
  ((struct item *)v)->weight = 3; return v; }
NOINLINE long copied(long kind)
{ unsigned char *p = malloc(4 * sizeof(struct item)); void *q;
  __asm__ volatile("" :: "r"(p) : "memory"); __asm__ volatile("mov %1, %0" : "=r"(q) : "r"(p) : "memory");
  struct item *i = (struct item *)p; i->weight = kind; __asm__ volatile("" :: "r"(i) : "memory");
  ((long *)q)[2] = kind; ((int *)q)[6] = kind; __asm__ volatile("" :: "r"(i), "r"(q) : "memory");
  return i->kind + (long)q; }
NOINLINE void *made(unsigned long n) { return malloc(n + 8); }
NOINLINE long through(int kind)
{ void *call; __asm__ volatile("lea made(%%rip), %0" : "=r"(call) :: "memory");
  __asm__ volatile("" ::: EVERYTHING); void *v = ((void *(*)(unsigned long))call)(sizeof(struct item));
  ((struct item *)v)->kind = kind; ((struct item *)v)->weight = 3; __asm__ volatile("" ::: EVERYTHING);
  return taken(v); }
struct crate { long serial; struct item what; long pad; int code; };
NOINLINE long rowed(struct crate *c, int kind)
{ void *v = malloc(3 * sizeof(struct item)); __asm__ volatile("" ::: EVERYTHING);
  ((struct item *)v)[1].kind = kind; ((struct item *)v)->weight = 3; __asm__ volatile("" ::: EVERYTHING);
  return taken(v) + c->serial; }
int main(int argc, char **argv)
{ struct entry one = { 0, 0, 1 }; struct lru l = { &one, &one, argc, 3 };
  struct tree leaf = { argc - 1 }, t = { 1, &leaf, &leaf }; struct code code[9];
  struct list all = { code }; gather(&all, &t);
  return used(&l, argc) + put_aside(argc) + copied(argc) + *(long *)boxed(argc) +
    through(argc) + rowed(&(struct crate){ argc }, argc) + (long)made(3) + counted(argc) + plain(argc) + all.n; }
"""
COMPILERS = [("gcc", "-O1"), ("gcc", "-O2"), ("clang", "-O1"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("allocation_types"))


def test_an_allocation_on_one_path_has_the_type_it_is_stored_as(program: Path) -> None:
    found = answers(program, "used")
    assert found >= {"struct entry.key", "struct entry.a", "struct entry.next"}
    assert "?" not in found


def test_a_spilled_allocation_has_the_parameters_type(program: Path) -> None:
    assert answers(program, "put_aside") >= {"struct item.weight", "struct item.kind"}


def test_an_argument_of_unoptimised_code_has_the_parameters_type(program: Path) -> None:
    assert answers(program, "plain") >= {"struct item.weight", "struct item.kind"}


def test_parameters_of_a_tail_recursive_loop_are_in_registers(program: Path) -> None:
    found = answers(program, "gather")
    assert found >= {"struct list.n", "struct list.code", "struct tree.left", "struct tree.right"}
    assert "?" not in found


def test_memory_after_a_header_has_the_parameters_type(program: Path) -> None:
    assert answers(program, "counted") >= {"struct item.kind"}


def test_an_allocation_has_an_inlined_functions_return_type(program: Path) -> None:
    assert answers(program, "boxed") == {"struct item.weight", "struct item.kind"}


def test_a_copy_of_a_variables_value_points_there_too(program: Path) -> None:
    assert answers(program, "copied") == {"struct item.weight", "struct item.kind"}


@pytest.mark.parametrize("name", ["malloc", "_ZnwmSt11align_val_t", "_ZnamRKSt9nothrow_t@GLIBCXX_3.4"])
def test_a_variable_in_the_frame_may_start_after_its_store(tmp_path: Path, name: str) -> None:
    fake = Fake()
    text = "mov $64,%edi; call 1f; mov %rax,-24(%rsp); lea 14(%rax),%rbx; nop; mov %cx,(%rbx); ret; 1: ret"
    code = assemble(text, tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    behind = flow.instructions.address_of(4)
    fake.variables = [Place("p", fake.graph.pointer_to(fake.node), PlaceKind.CFA, -1, -32, behind, len(code))]
    program = ProgramContext(fake, MACHINE, callee=lambda _address: Prototype(name, 0, ()))
    # Room for two of 32 bytes.
    assert allocation_types(Tracker(program, flow, 0, len(code))) == {1: (0, fake.graph.array_of(fake.node, 2), 0)}
    fake.variables = [Place("p", fake.graph.pointer_to(fake.item), PlaceKind.CFA, -1, -32, behind, len(code))]
    assert not allocation_types(Tracker(program, flow, 0, len(code)))


def test_a_callee_may_be_in_a_register(program: Path) -> None:
    assert answers(program, "through") >= {"struct item.weight", "struct item.kind"}


def test_memory_after_the_first_element_is_the_next_one(program: Path) -> None:
    found = answers(program, "rowed")
    assert found >= {"struct item.weight", "struct item.kind", "struct crate.serial"}
    assert not found & {"struct crate.code", "struct crate.what.kind", "?"}


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("mov %rsi,(%rbx,%rdx,8); mov (%rbx,%rdx,8),%rax", True),
        ("mov %rsi,8(%rbx,%rdx,8); mov (%rbx,%rdx,8),%rax", True),
        # Nothing goes over it, or what is there has a header, or numbers.
        ("mov %rsi,(%rbx); mov 8(%rbx),%rax", False),
        ("mov %rsi,16(%rbx,%rdx,8); mov (%rbx),%rax", False),
        ("mov %rsi,(%rbx,%rdx,8); mov %ecx,4(%rbx)", False),
    ],
)
def test_an_array_of_pointers_is_typed_by_what_is_stored(tmp_path: Path, then: str, expected: bool) -> None:
    """Optimisers split the structure that points to it, and no variable does."""
    fake = Fake()
    code = assemble(f"mov $64,%edi; call 1f; mov %rax,%rbx; {then}; ret; 1: ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    stored = flow.instructions.address_of(3)
    fake.variables = [Place("p", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, 4, 0, stored, len(code))]
    program = ProgramContext(fake, MACHINE, callee=lambda _address: Prototype("malloc", 0, ()))
    found = allocation_types(Tracker(program, flow, 0, len(code)))
    assert found == ({1: (0, fake.graph.pointer_to(fake.node), 0)} if expected else {})


def test_an_array_of_pointers_is_typed_by_the_loop_that_fills_it(tmp_path: Path) -> None:
    fake = Fake()
    loop = "1: mov %rbp,(%rbx,%rdx,8); mov 8(%rbx),%rbp; dec %rdx; jnz 1b"
    code = assemble(f"mov $64,%edi; call 2f; mov %rax,%rbx; mov %rcx,%rbp; nop; {loop}; ret; 2: ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    begin, end = (flow.instructions.address_of(k) for k in (4, 5))
    fake.variables = [Place("p", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, 6, 0, begin, end)]
    program = ProgramContext(fake, MACHINE, callee=lambda _address: Prototype("malloc", 0, ()))
    assert allocation_types(Tracker(program, flow, 0, len(code))) == {1: (0, fake.graph.pointer_to(fake.node), 0)}
