"""Which functions' data flow is computed, and when: only where an answer needs it."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.types.fakes import compiled, resolver_of

SOURCE = """
struct node { struct node *next; long key; };
extern long first(struct node *n);
__asm__(".text; .globl first; .type first, @function; first: mov 8(%rdi), %rax; ret; .size first, .-first");
struct node head = {&head, 3};
__attribute__((noinline)) long none(void) { return head.key * 3; }
__attribute__((noinline)) long sum(struct node *n, long times)
{
    long found = 0;
    while (times--)
        if (n->key != times)
            found += times * 3;
        else
            n = n->next;
    return found;
}
int main(int c, char **v) { struct node n = {&n, c}; return sum(&n, c) + first(&n) + none(); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "gcc", "-O1", tmp_path_factory.mktemp("followed"))


def code_of(program: Path, name: str) -> list[tuple[int, bool]]:
    """The addresses of a function's instructions, each with whether it has an operand in memory beside the stack."""
    resolver = resolver_of(program)
    by_name = {name: address for address, name in resolver.source.symbols.functions.items()}
    place = resolver.instruction(by_name[name])
    assert place is not None
    return [(one.address, any(m.access and not m.implicit for m in one.memory)) for one in place[0]]


def test_no_data_flow_for_addresses_without_memory_operands(program: Path, followed: list[object]) -> None:
    code = code_of(program, "sum")
    resolver = resolver_of(program)
    resolver.expect(address for address, touches in code if not touches)
    found = [resolver.at(address)[0].how for address, touches in code if not touches]
    assert set(found) <= {"none", "stack"} and "none" in found
    assert not followed
    resolver.at(next(address for address, touches in code if touches))
    assert len(followed) == 1


def test_expected_addresses_do_not_change_answers(program: Path) -> None:
    found: set[str | None] = set()
    for name in ("sum", "none", "main", "first"):
        code = code_of(program, name)
        whole = resolver_of(program)
        resolver, late = resolver_of(program), resolver_of(program)
        resolver.expect(address for address, _touches in code)
        late.expect((address for address, _touches in code), late=True)
        for address, _touches in code:
            expected = whole.sampled(address)
            found.add(expected.type)
            assert resolver.sampled(address) == late.sampled(address) == expected
    assert "struct node" in found


def test_a_branch_fused_with_a_memory_comparison_is_resolved(program: Path) -> None:
    code = code_of(program, "sum")
    branches = [address for (_before, touches), (address, _own) in pairwise(code) if touches]
    resolver = resolver_of(program)
    resolver.expect(branches)
    assert "key" in {resolver.sampled(address).field for address in branches}


def test_a_late_sample_is_charged_to_the_load_before_it(program: Path) -> None:
    code = code_of(program, "sum")
    resolver = resolver_of(program)
    resolver.expect((address for address, _touches in code), late=True)
    found = [resolver.producer(address) for address, touches in code if not touches]
    assert "key" in {one[0].field for one in found if one is not None}


def test_callers_of_assembly_functions_are_not_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "undwarf.types.inference.interprocedural.with_inferred_types", lambda *of: asked.append(of[2]) or of[-1]
    )
    compiled(SOURCE, "gcc", "-O1", tmp_path)
    (tmp_path / "a.s").write_text(
        ".globl last\n.type last, @function\nlast: mov 8(%rdi), %rax\nret\n.size last, .-last\n"
    )
    (tmp_path / "a.c").write_text(SOURCE.replace("long first(", "long last(").replace("first(&n)", "last(&n)"))
    subprocess.run(["gcc", "-g", "-O1", "-o", "p", "a.s", "a.c"], check=True, cwd=tmp_path)
    resolver = resolver_of(tmp_path / "p")
    symbols = {name: address for address, name in resolver.source.symbols.functions.items()}
    if not resolver.source.by_assembler(symbols["last"]):
        pytest.skip("this assembler does not describe functions")
    found = resolver.at(symbols["last"])[0]
    assert (found.type, found.reason) == (None, "no types for this function")
    assert not asked
    assert not resolver.source.by_assembler(symbols["sum"])
