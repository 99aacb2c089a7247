"""Every limit of the type resolver, hit: what is beyond it is counted, and never wrong or endless."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.types.programs import build

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Access

PROGRAM = """
struct inner { int a, b, c, d; };
typedef struct inner inner_1; typedef inner_1 inner_2; typedef inner_2 inner_3; typedef inner_3 inner_4;
struct node { struct node *next; long key; inner_4 at[4]; char more[8]; };
struct node *head;
__attribute__((noinline)) long walk(struct node *n, int k)
{
	long s = 0;
	for (; n; n = n->next) { if (n->key & 1) s += n->at[k & 3].c; else s -= n->key; }
	return s;
}
int main(int argc, char **argv) { return (int)walk(head, argc); }
"""
SPILLED = """
struct node { struct node *next; long key; };
__attribute__((noinline)) long walk(struct node *n)
{
	long s;
	__asm__("mov %%rdi,-8(%%rsp); mov -8(%%rsp),%%rax; mov 8(%%rax),%0" : "=r"(s) : "D"(n) : "rax", "memory");
	return s + n->key;
}
int main(int argc, char **argv) { struct node n = {0, argc}; return (int)walk(&n); }
"""
"""A pointer that goes through a stack slot no variable has."""
ABSURD = """
struct huge { char a[0x7fffffff][0x7fffffff]; };
extern struct huge all; struct huge *one; long x;
typedef struct loop { struct loop *again[3]; struct { struct loop *l; } in; } loop;
loop *two;
__attribute__((noinline)) long look(loop *l) { return (long)l->again[1]->in.l; }
int main(int argc, char **argv) { return (int)look(two) + (one != 0); }
"""

Ask = Callable[..., tuple[list[Access], Defects]]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {level: build(tmp_path_factory.mktemp("limits"), PROGRAM, "limits.c", level) for level in ("-O0", "-O2")}
    if platform.machine() == "x86_64":
        made["spilled"] = build(tmp_path_factory.mktemp("limits"), SPILLED, "spilled.c", "-O1")
    return made


@pytest.fixture
def ask(programs: dict[str, Path]) -> Ask:
    """(the answers for the memory operands of `walk` within some limits, the defects that were counted)"""

    def answers(level: str = "-O2", **limits: int) -> tuple[list[Access], Defects]:
        bounds = DEFAULT._replace(**limits)
        defects = Defects()
        elf = ElfFile.open(programs[level], limits=bounds)
        resolver = open_resolver(elf, limits=bounds, defects=defects)
        assert resolver is not None
        start = next(at for at, name in resolver.source.symbols.functions.items() if name == "walk")
        found = [one for step in range(150) for one in resolver.at(start + step) if one.address == start + step]
        return [one for one in found if one.access and one.how != "stack"] or found, defects

    return answers


def test_within_the_limits_all_types_are_known(ask: Ask) -> None:
    for level in ("-O0", "-O2"):
        found, defects = ask(level)
        assert {one.type for one in found if one.how not in ("spill", "variable", "tracking", "table")} <= {
            "struct node*",
            None,
        }
        assert "struct node" in {one.type for one in found}
        assert not list(defects)


def assert_fewer(found: list[Access], whole: list[Access]) -> None:
    """Every type is that of the unlimited answers, which have more."""
    assert all(one.type in (None, other.type) for one, other in zip(found, whole, strict=True))
    assert sum(one.typed for one in found) < sum(one.typed for one in whole)


@pytest.mark.parametrize("limit", ["flow_visits", "flow_words"])
def test_a_function_past_the_limit_is_counted_and_not_guessed(ask: Ask, limit: str) -> None:
    found, defects = ask("-O2", **{limit: 0})
    assert [defect.kind for defect in defects] == ["data flow did not converge"]
    assert_fewer(found, ask("-O2")[0])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is assembly of x86-64")
def test_stack_slots_past_the_limit_are_not_followed(ask: Ask) -> None:
    found, _defects = ask("spilled", flow_slots=0)
    assert_fewer(found, ask("spilled")[0])


def test_functions_with_too_many_bytes_have_no_types(ask: Ask) -> None:
    found, _defects = ask(function_bytes=8)
    # Behind its end there is no function.
    assert {one.reason for one in found} - {"no function at this address"} == {"function too large"}
    assert "key" in {one.field for one in ask()[0]}


def test_members_past_the_limit_are_left_out(ask: Ask) -> None:
    found, defects = ask(type_members=1)
    assert "too many members" in {defect.kind for defect in defects}
    assert not {one.field for one in found} & {"key", "at[].c", "at"}
    assert {"key", "at[].c"} <= {one.field for one in ask()[0]}


def test_typedefs_past_the_depth_are_left_out(ask: Ask) -> None:
    found, defects = ask(type_depth=3)
    assert "circular typedef" in {defect.kind for defect in defects}
    assert "at[].c" not in {one.field for one in found}
    assert "at[].c" in {one.field for one in ask()[0]}


def test_visited_members_are_limited(ask: Ask) -> None:
    found, _defects = ask(type_steps=1)
    assert "at[].c" not in {one.field for one in found}
    assert "at[].c" in {one.field for one in ask()[0]}


def test_types_past_the_limit_are_left_out_and_counted(ask: Ask) -> None:
    found, defects = ask(types=3)
    assert "too many types" in {defect.kind for defect in defects}
    assert "at[].c" not in {one.field for one in found}
    assert "at[].c" in {one.field for one in ask()[0]}


def test_absurd_arrays_and_circular_types_end(tmp_path: Path) -> None:
    binary = build(tmp_path, ABSURD, "absurd.c", "-O2", "-w")
    defects = Defects()
    resolver = open_resolver(ElfFile.open(binary), defects=defects)
    assert resolver is not None
    graph = resolver.graph
    huge = resolver.source.type_named("huge")
    assert graph.size(huge) in (0, 0x7FFFFFFF * 0x7FFFFFFF)
    assert graph.member_at(huge, 5, 1) is not None or not graph.size(huge)
    start = next(at for at, name in resolver.source.symbols.functions.items() if name == "look")
    found = {one.field for step in range(20) for one in resolver.at(start + step)}
    assert {"again[]", "in.l"} <= found
