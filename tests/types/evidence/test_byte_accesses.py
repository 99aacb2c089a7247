"""Several bytes accessed at once, and byte pointers joined with others."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, accesses, assemble, compiled, operands_of

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import OBJECT, join
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.byte_accesses import byte_run_access
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct page { unsigned char *data; char *text; int n; };
static inline unsigned four(const unsigned char *p)
{ unsigned x; memcpy(&x, p, 4); return __builtin_bswap32(x); }
NOINLINE unsigned read_four(struct page *p) { return four(p->data) + 1; }
NOINLINE void write_four(struct page *p, unsigned n) { n = __builtin_bswap32(n); memcpy(p->data, &n, 4); }
NOINLINE void write_behind_call(struct page *p, long at, const unsigned char *from, long n, unsigned child)
{ child = __builtin_bswap32(child); __asm__ volatile("" : "+r"(child));
  memcpy(p->data, from, n); memcpy(p->data + at, &child, 4); }
NOINLINE void write_three(struct page *p, long at, unsigned n)
{ unsigned short low = n; memcpy(p->data + at, &low, 2); p->data[at + 2] = n >> 16; }
NOINLINE unsigned read_three(struct page *p, long at)
{ unsigned short low; memcpy(&low, p->data + at, 2); return low + ((unsigned)p->data[at + 2] << 16); }
NOINLINE long repeated(struct page *p, long at, long last, long other)
{ for (unsigned a, b; at < last; at += 3)
  { memcpy(&a, p->data + at, 4); memcpy(&b, p->text + other, 4); do if (a == b) return at;
    while (++other & 3); }
  return -1; }
NOINLINE double number_in(const char *text, const char *point)
{ char room[100]; if (!point || strlen(text) > 90) return 0; strcpy(room, text); room[point - text] = *strerror(9);
  return strtod(room, 0); }
NOINLINE void write_text(struct page *p) { memcpy(p->text, "unistr('", 8); }
struct head { char name[16], date[12]; };
NOINLINE long trimmed(struct head *h)
{ char *e; for (e = h->name + sizeof h->name; e > h->name && e[-1] == ' ';) --e; *e = 0; return e - h->name; }
NOINLINE void write_label(struct page *p) { memcpy(p->data, "\3ip6\4arpa", 10); }
NOINLINE unsigned char *write_behind(struct page *to)
{ unsigned char *p = (unsigned char *)(to + 1); to->n = 4; memcpy(p, "\nKEY: ", 6); return p + 6; }
NOINLINE void swapped_out(unsigned char *to, const unsigned char *from, long i)
{ to -= (i + 1) * 32; from -= (i + 1) * 32; memcpy(to, from, 8); memcpy(to + 8, from + 8, 8); }
NOINLINE int is_text(struct page *p) { return memcmp(p->data, "SQLite f", 8) == 0; }
NOINLINE int is_header(struct page *p)
{ unsigned char *of = p->data; __asm__ volatile("" : "+S"(of)); unsigned n; unsigned short m;
  memcpy(&n, of, 4); __asm__ volatile("" : "+r"(n)); memcpy(&m, of + 4, 2); __asm__ volatile("" : "+r"(m));
  return (n ^ 0x694c5153) | (m ^ 0x6574); }
NOINLINE int kept(struct page *p, long i)
{ struct page *of; if (i < 0) return 1;
  memcpy(&of, p->data + i, 8); memset(p->data + i, 0, 8); if (!of) return 0; return of->n++; }
NOINLINE unsigned long chosen(struct page *p, long i)
{ unsigned char *of = p->data; long at = i; unsigned short a; unsigned long b;
  if (p->n & 1) { __asm__ volatile("" : "+S"(of), "+D"(at)); memcpy(&a, of + at, 2);
    __asm__ volatile("" : "+r"(a)); return a * 5; }
  __asm__ volatile("" : "+S"(of), "+D"(at)); memcpy(&b, of + at, 8); __asm__ volatile("" : "+r"(b)); return b * 5; }
NOINLINE unsigned long parted(struct page *p, long i)
{ unsigned char *of = p->data; long at = i; unsigned short a; unsigned long b;
  if (p->n & 1) { __asm__ volatile("" : "+S"(of), "+D"(at)); memcpy(&a, of + at, 2);
    __asm__ volatile("" : "+r"(a)); return a * 5; }
  __asm__ volatile("" : "+S"(of), "+D"(at)); memcpy(&b, of + at + 8, 8); __asm__ volatile("" : "+r"(b)); return b * 5; }
NOINLINE void copied(struct page *to, struct page *from) { memcpy(to->data, from->data, 4); }
NOINLINE int alike(struct page *one, struct page *other)
{ unsigned a, b; memcpy(&a, one->data, 4); memcpy(&b, other->data, 4); return a == b; }
NOINLINE int counted(struct page *p, unsigned n) { unsigned a; memcpy(&a, p->data, 4); return a == n || a == 7; }
NOINLINE void number(struct page *p, int n) { memcpy(p->data, &n, 4); }
NOINLINE void counts(struct page *p) { ++*(long *)(p->text + 8); }
NOINLINE int before(struct page *p) { return *(int *)(p->text - 16); }
NOINLINE void keeps(struct page *p, struct page *q) { memcpy(p->data, &q, 8); }
NOINLINE int follows(struct page *p) { struct page *q; memcpy(&q, p->data, 8); return q->n; }
NOINLINE void chained(struct page *p) { memcpy(&p->text, p->data, 8); }
NOINLINE void header(struct page *p, int n, long m) { *(int *)p->data = n; *(long *)(p->data + 8) = m; }
NOINLINE unsigned hashed(struct page *p)
{ unsigned long a, b; memcpy(&a, p->data, 8); memcpy(&b, p->data + 1, 8); unsigned c; memcpy(&c, p->data + 2, 4);
  return (unsigned)(a * 0x9e3779b97f4a7c15 >> 40) + (unsigned)(b * 0x9e3779b97f4a7c15 >> 40) + c; }
NOINLINE unsigned scattered(struct page *p)
{ return (*(const unsigned *)p->data * 0x9e3779b1u >> 20) + p->data[8]
    + (*(const unsigned long *)(p->data + 8) * 0x9e3779b97f4a7c15 >> 40); }
NOINLINE unsigned tenth(struct page *p)
{ return *(const unsigned *)p->data / 10 + *(const long *)(p->data + 8) / 1000; }
NOINLINE unsigned every_fifth(const unsigned char *p, long n)
{ unsigned s = 0; unsigned short a;
  for (long i = 0; i < n; i += 5) { memcpy(&a, p + i, 2); s += a * 0x9e3779b9u; }
  return s; }
NOINLINE void cleared(struct page *p, int n)
{ __asm__ volatile("" : "+S"(p)); n += p->n; unsigned char *to = p->data; __asm__ volatile("" : "+S"(to));
  memcpy(to, &n, 4); }
NOINLINE int answered(struct page *p, struct page **first)
{ unsigned char *from = p->data; __asm__ volatile("" : "+S"(from)); unsigned short n; memcpy(&n, from, 2);
  __asm__ volatile("" : "+S"(first) : "r"(n)); *first = p; return n; }
NOINLINE char *other(struct page *p) { p->n++; return p->text; }
NOINLINE unsigned either(struct page *p)
{ unsigned n = *(p->n > 3 ? (other(p), (const unsigned char *)p->text) : p->data); return n * 3 + (n > 127); }
struct body { float x, y; int n; };
NOINLINE float pooled(struct page *p, unsigned i)
{ struct body *b = (struct body *)(p->data + (unsigned long)i * p->n); b->x += b->y; return b->x; }
int main(int argc, char **argv)
{ struct page p = { malloc(99), malloc(99), argc }, q = { malloc(99), malloc(99), argc };
  counts(&p); keeps(&p, &q); chained(&q); header(&p, argc, 2); argc += hashed(&p) + every_fifth(p.data, argc);
  argc += before(&p) + follows(&p) + scattered(&p) + tenth(&p); write_four(&p, argc); write_text(&p);
  copied(&p, &q); counted(&p, argc); alike(&p, &q); number(&p, argc); cleared(&q, argc);
  struct page *first = 0; argc += answered(&p, &first);
  argc += is_header(&p) + kept(&p, -argc) + chosen(&p, argc) + parted(&p, argc);
  argc += trimmed(malloc(99)); write_label(&p); argc += *write_behind(malloc(99));
  write_behind_call(&p, 4, p.data, argc, 9); write_three(&p, argc, argc); argc += read_three(&p, argc);
  argc += number_in(*argv, strchr(*argv, '/')); argc += repeated(&p, argc, 9, argc);
  return read_four(&p) + is_text(&p) + either(&q) + pooled(&p, argc); }
"""
COMPILERS = [("gcc", "-O1"), ("gcc", "-O2"), ("clang", "-O1"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda one: "".join(one))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, *request.param, tmp_path_factory.mktemp("characters"))


def types_in(program: Path, function: str, size: int) -> set[str | None]:
    """The types that accesses of so many bytes in a function touch."""
    return {one.type for one in accesses(program, function) if one.countable and one.size == size}


def test_a_byte_swapped_integer_is_bytes(program: Path) -> None:
    # The value that is put together has a place as a variable of GCC's.
    assert types_in(program, "read_four", 4) <= {"unsigned char", "unsigned int"}
    assert types_in(program, "write_four", 4) <= {"unsigned char", "unsigned int"}
    # It stays where it is while something is called.
    assert types_in(program, "write_behind_call", 4) == {"unsigned char"}


def test_an_integer_of_three_bytes_is_bytes(program: Path) -> None:
    assert types_in(program, "write_three", 2) == types_in(program, "write_three", 1) == {"unsigned char"}
    assert types_in(program, "read_three", 2) == types_in(program, "read_three", 1) == {"unsigned char"}


def test_bytes_compared_with_bytes_in_a_loop_stay_bytes(program: Path) -> None:
    assert set() < types_in(program, "repeated", 4) <= {"unsigned char", "char"}


def test_text_that_is_copied_to_the_stack_is_characters(program: Path) -> None:
    assert types_in(program, "number_in", 4) | types_in(program, "number_in", 2) <= {"char", "char[]"}
    assert "char[]" in types_in(program, "number_in", 1)


def test_text_that_is_stored_or_compared_is_characters(program: Path) -> None:
    assert "char" in types_in(program, "write_text", 8)
    assert None not in types_in(program, "write_text", 8) | types_in(program, "is_text", 8)


def test_text_with_parts_that_are_no_letters_is_characters(program: Path) -> None:
    assert types_in(program, "write_label", 8) == {"struct page", "unsigned char"}
    assert types_in(program, "write_label", 2) == {"unsigned char"}


def test_characters_before_a_variables_pointee_are_characters(program: Path) -> None:
    assert set() < types_in(program, "trimmed", 1) <= {"struct head", "char"}


def test_text_after_a_header_is_characters(program: Path) -> None:
    assert types_in(program, "write_behind", 4) == {"struct page", "unsigned char"}


def test_text_of_merged_comparisons_is_characters(program: Path) -> None:
    assert set() < types_in(program, "is_header", 4) <= {"unsigned char", "unsigned int"}


def test_integers_at_one_offset_on_different_paths_are_no_members(program: Path) -> None:
    # The numbers have places as variables of GCC's.
    assert types_in(program, "chosen", 2) <= {"unsigned char", "short unsigned int"}
    assert types_in(program, "chosen", 8) <= {"struct page", "unsigned char", "long unsigned int"}
    assert None in types_in(program, "parted", 8)


def test_floating_point_numbers_are_no_bytes(program: Path) -> None:
    found = types_in(program, "pooled", 4)
    assert "struct page" in found
    assert "unsigned char" not in found


def test_bytes_copied_to_bytes_stay_bytes(program: Path) -> None:
    assert types_in(program, "copied", 4) == {"unsigned char"}


def test_several_bytes_are_bytes_without_other_evidence(request: pytest.FixtureRequest, program: Path) -> None:
    assert types_in(program, "number", 4) == {"unsigned char"}
    # Of which some are read twice, as no members are.
    assert None not in types_in(program, "hashed", 8) | types_in(program, "hashed", 4)
    if request.node.callspec.params["program"] != ("clang", "-O2"):
        # One turn at a time.
        assert types_in(program, "every_fifth", 2) == {"unsigned char"}


def test_scattered_integers_are_bytes(program: Path) -> None:
    assert types_in(program, "scattered", 4) == {"unsigned char"}
    assert types_in(program, "scattered", 8) == {"unsigned char", "struct page"}
    # That are divided, not.
    assert "unsigned char" not in types_in(program, "tenth", 4) | types_in(program, "tenth", 8)


def test_members_of_an_object_in_a_byte_buffer_are_no_bytes(program: Path) -> None:
    """A counter, memory before the pointer, a pointer, and one of several integers of other sizes are no bytes."""
    for function in ("counts", "keeps", "follows", "chained", "header"):
        assert types_in(program, function, 8) == {None, "struct page"}, function
    assert types_in(program, "before", 4) == types_in(program, "header", 4) == {None}


def test_members_after_a_registers_old_value_do_not_type_its_bytes(program: Path) -> None:
    assert types_in(program, "cleared", 4) == {"unsigned char", "struct page"}


def test_a_pointer_tested_for_null_is_no_bytes(program: Path) -> None:
    assert types_in(program, "kept", 8) == {"struct page", None}


def test_a_later_store_of_a_pointer_leaves_bytes_bytes(program: Path) -> None:
    assert types_in(program, "answered", 2) == {"unsigned char"}


def test_bytes_compared_with_bytes_stay_bytes(program: Path) -> None:
    assert set() < types_in(program, "alike", 4) <= {"unsigned char", "unsigned int"}
    assert set() < types_in(program, "counted", 4) <= {"unsigned char", "unsigned int"}


def test_an_unsigned_byte_is_distinguished_from_characters(request: pytest.FixtureRequest, program: Path) -> None:
    if request.node.callspec.params["program"][0] == "gcc":
        assert types_in(program, "either", 1) == {"unsigned char"}


def test_an_object_may_be_stored_in_bytes() -> None:
    fake = Fake()
    graph = fake.graph
    byte = graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    number = graph.add(TypeRecord(Kind.INT, "unsigned char", 1))
    node, somewhere = (OBJECT, fake.node, 0, 0, 0), (OBJECT, byte, 1, 0, 56)
    either = join(node, somewhere, graph)
    assert either is not None
    assert set(graph.choices(either[1])) == {fake.node, byte}
    # Nothing is lost or told again where the ways meet once more.
    assert all(join(either, one, graph) == either for one in (node, somewhere, either))
    assert not isinstance(locate(graph, either[1], 0, 24, 8), str)
    assert isinstance(locate(graph, either[1], 0, 24, 1), str)
    # A pointer to bytes that was not calculated leads to bytes.
    assert join(node, (OBJECT, byte, 0, 0, 0), graph) is None
    both = join((OBJECT, byte, 0, 0, 0), (OBJECT, number, 0, 0, 0), graph)
    assert both is not None
    assert set(graph.choices(both[1])) == {byte, number}
    assert join(both, (OBJECT, number, 0, 0, 0), graph) == both


def test_integers_of_two_sizes_in_bytes_are_typed_by_variables(tmp_path: Path) -> None:
    fake = Fake()
    byte = fake.graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    loop = "jmp 2f; 1: mov (%rdi),%rax; add $8,%rdi; 2: cmp %rdi,%rsi; jne 1b"
    code = assemble(f"{loop}; mov (%rdi),%eax; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    fake.variables = [Place("from", fake.graph.pointer_to(byte), PlaceKind.REGISTER, 5, 0, 0, 1)]
    operands = operands_of(fake)
    made = flow.instructions[5]
    for said in (None, "int"):
        tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
        tracker.before(5)
        found = operands.resolve(tracker, 5, made, 0, made.memory[0])
        assert (found.type, found.size) == (said, 4)
        fake.variables.append(Place("x", fake.int, PlaceKind.MEMORY, 5, 0, made.address, 99))


@pytest.mark.parametrize("named", [False, True])
def test_a_spilled_integer_compared_with_bytes_is_bytes(tmp_path: Path, named: bool) -> None:
    fake = Fake()
    char = fake.graph.pointer_to(fake.graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True)))
    fake.variables = [Place(name, char, PlaceKind.REGISTER, 4 + at, 0, 0, 99) for at, name in enumerate("pq")]
    if named:
        fake.variables.append(Place("n", fake.table, PlaceKind.CFA, 7, -24, 0, 99))
    waits = "mov (%rsi),%rax; mov %rax,-16(%rsp); mov (%rdi),%rax; cmp %rax,-16(%rsp); je 1b"
    code = assemble(f"1: add $8,%rsi; add $8,%rdi; {waits}; ret", tmp_path)
    tracker = Tracker(ProgramContext(fake, MACHINE), FunctionFlow(MACHINE.listing(code, 0), MACHINE), 0, len(code))
    tracker.before(2)
    where = tracker.address_of(2, 0)
    assert where is not None
    # What goes to a variable may be anything.
    assert (byte_run_access(tracker, 2, 0, where, 8) is None) is named


@pytest.mark.parametrize(("named", "expected"), [(False, "char"), (True, None)])
def test_unnamed_constants_stored_in_bytes_are_bytes(tmp_path: Path, named: bool, expected: str | None) -> None:
    fake = Fake()
    char = fake.graph.add(TypeRecord(Kind.CHAR, "char", 1, signed=True))
    fake.variables = [Place("p", fake.graph.pointer_to(char), PlaceKind.REGISTER, 5, 0, 0, 99)]
    if named:
        fake.globals = [GlobalVariable("n", fake.table, 0x100, 72)]
    code = assemble("mov 0x100(%rip),%rcx; mov %rcx,(%rdi); mov 0x110(%rip),%ecx; mov %ecx,8(%rdi); ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
    tracker = Tracker(ProgramContext(fake, MACHINE), flow, 0, len(code))
    made = flow.instructions[1]
    tracker.before(1)
    operands = operands_of(fake)
    assert operands.resolve(tracker, 1, made, 0, made.memory[0]).type == expected


def test_memory_before_the_start_of_bytes_is_unknown(fake: Fake) -> None:
    byte = fake.graph.add(TypeRecord(Kind.INT, "u8", 1))
    assert isinstance(locate(fake.graph, byte, 32, 0, 16), ResolvedMember)
    assert isinstance(locate(fake.graph, byte, -16, 0, 16), ResolvedMember)
    assert locate(fake.graph, byte, -32, -32, 16) == "access wider than its type"


def test_words_before_bytes_are_no_bytes_though_copied_as_such(tmp_path: Path) -> None:
    made = compiled(SOURCE, "gcc", "-O1", tmp_path)
    found = [one for one in accesses(made, "swapped_out") if one.countable]
    assert found
    assert "unsigned char" in types_in(made, "alike", 4)
    assert {one.type for one in found} == {None}
