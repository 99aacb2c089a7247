"""BTF only: objects that share a stack slot one after the other."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.types.btf_programs import accesses, answers, built

from undwarf.types.inference.stack_slot_liveranges import FrameAccess, live_ranges

SOURCE = r"""
#define NOINLINE __attribute__((noipa))
struct one { long a; int b, c; double d[3]; };
struct two { double x; char name[16]; long y, z; };
typedef struct { long left, right, middle; } piece;
struct pair { piece first, second; };
NOINLINE void one(struct one *o, int n) { o->a = n; o->b = 2; o->c = 3; o->d[0] = n; o->d[1] = o->d[2] = 1; }
NOINLINE void two(struct two *t, int n) { t->x = n; t->name[0] = n; t->y = n; t->z = 3; }
NOINLINE piece made(int n) { piece p = { n, n + 1, n * 2 }; return p; }
NOINLINE long both(struct pair *p) { long n = p->first.left + p->second.middle; p->first.right = n; return n; }
NOINLINE long shared(int n)
{ long sum = 0;
  { struct one o; one(&o, n); sum += o.a + o.b + o.d[1]; }
  { struct two t; two(&t, n); sum += t.x + t.y + t.name[0]; }
  return sum; }
NOINLINE long begins(int n)
{ long sum = 0;
  { piece p = made(n); sum += p.right; }
  { struct pair q = { { n, 2, 3 }, { n, 5, 6 } }; sum += both(&q); sum += q.first.right; }
  return sum; }
NOINLINE long one_thing(int n)
{ struct pair q = { { n, 2, 3 } }; q.second = made(n); return both(&q) + q.second.middle; }
struct verdict { int kept; unsigned bytes; const char *why; };
NOINLINE void judged(struct verdict *v) { v->bytes++; }
NOINLINE struct verdict verdict(int n, int (*f)(void *))
{ struct verdict v = { 1, n, "why" }; if (n > 3) v.kept = f(&v); return v; }
static int half(void *p) { struct verdict *v = p; judged(v); return v->kept / 2; }
struct reader { const char *pos; unsigned line; long tokens[4]; struct answer *last; };
struct answer { int tag; long number; };
void (*digest)();
NOINLINE long reader_next(struct reader *r) { r->line += *r->pos++ == 'n'; r->tokens[1]++; return r->tokens[0]; }
NOINLINE long read_all(const char *text, int n)
{ long sum = 0;
  for (int i = 0; i < n; i++)
  { { struct reader r = { text, 1 }; while (*r.pos) sum += reader_next(&r); sum += r.line; }
    { struct answer a; a.tag = n; a.number = sum; digest(&a); sum += a.tag; } }
  return sum; }
static void no_digest(struct answer *a) { a->tag = 0; }
int main(int argc, char **argv) { digest = no_digest; argc += read_all("n", argc); argc += verdict(argc, half).bytes;
  return shared(argc) + begins(argc) + one_thing(argc); }
"""


@pytest.fixture(scope="module", params=["-O1", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("shared"), request.param, SOURCE)


def test_objects_in_one_slot_after_each_other_are_distinguished(program: Path) -> None:
    found = answers(program, "shared", "frame")
    assert {"struct one.a", "struct one.b", "struct two.x", "struct two.y", "struct two.name[]"} <= found


def test_an_object_in_the_slot_of_a_larger_one_is_distinguished(program: Path) -> None:
    found = answers(program, "begins", "frame")
    assert {"piece.right", "struct pair.first.right"} <= found


def test_a_callee_with_an_address_has_only_the_object_there(program: Path) -> None:
    """What another object leaves in the same place is not read by that."""
    assert {"struct reader.pos", "struct reader.line"} <= answers(program, "read_all", "frame")


def test_no_part_of_a_pointer_is_accessed(program: Path) -> None:
    """It is another object that has its place there."""
    sizes = {one.size for one in accesses(program, "read_all") if one.how == "frame" and one.field == "pos"}
    assert sizes == {8}


def test_a_part_filled_before_the_object_is_passed_is_a_part(program: Path) -> None:
    found = answers(program, "one_thing", "frame")
    assert "struct pair.second.middle" in found


def test_a_returned_object_is_loaded_from_its_slot(program: Path) -> None:
    found = answers(program, "verdict", "frame")
    assert {"struct verdict.kept", "struct verdict.bytes", "struct verdict.why"} <= found


class _Blocks:
    """Blocks of ten instructions each."""

    def __init__(self, *ways: tuple[int, int]) -> None:
        self.ways = ways

    def of(self, k: int) -> int:
        return k // 10

    def predecessors(self, block: int) -> list[int]:
        return [source for source, target in self.ways if target == block]


def webs(
    accesses: list[tuple[int, int, int, str]], *ways: tuple[int, int], apart: tuple[int, int] | None = None
) -> list[set[int]]:
    """By web, the instructions that are of it; ``apart`` are two accesses that are not of one object."""
    blocks: Any = _Blocks(*ways)
    found: dict[int, set[int]] = {}
    every = [FrameAccess(*one) for one in accesses]
    for one, web in zip(every, live_ranges(blocks, every, lambda *two: two != apart), strict=True):
        found.setdefault(web, set()).add(one.k)
    return sorted(found.values(), key=min)


def test_stores_that_fill_a_slot_start_a_live_range() -> None:
    accesses = [(0, 0, 8, "w"), (1, 0, 8, "r"), (2, 0, 8, "w"), (3, 0, 4, "r")]
    assert webs(accesses) == [{0, 1}, {2, 3}]


def test_a_store_to_a_part_keeps_the_live_range_of_the_rest() -> None:
    assert webs([(0, 0, 16, "w"), (1, 0, 8, "w"), (2, 8, 16, "r"), (3, 0, 8, "r")]) == [{0, 2}, {1, 3}]


def test_a_possible_store_keeps_the_live_range() -> None:
    assert webs([(0, 0, 8, "w"), (1, 0, 8, "rw"), (2, 0, 8, "r")]) == [{0, 1, 2}]


def test_definitions_on_several_paths_are_one_live_range() -> None:
    stored = [(0, 0, 8, "w"), (10, 0, 8, "w"), (20, 0, 8, "r")]
    assert webs(stored, (0, 2), (1, 2)) == [{0, 10, 20}]
    # What nobody reads there is none of it.
    assert webs([*stored[:2], (20, 0, 8, "w")], (0, 2), (1, 2)) == [{0}, {10}, {20}]


def test_a_live_range_spans_blocks_and_loops() -> None:
    assert webs([(0, 0, 8, "w"), (20, 0, 8, "r"), (25, 0, 8, "w")], (0, 1), (1, 2), (2, 1)) == [{0, 20, 25}]


def test_a_slot_used_as_another_type_starts_a_live_range() -> None:
    accesses = [(0, 0, 8, "rw"), (1, 0, 8, "r"), (10, 0, 8, "rw"), (11, 0, 8, "r")]
    assert webs(accesses, (0, 1)) == [{0, 1, 10, 11}]
    assert webs(accesses, (0, 1), apart=(2, 0)) == [{0, 1}, {10, 11}]
