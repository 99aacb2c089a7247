"""Data flows of functions whose expected queries are all done are dropped, but for the last few."""

import gc
import weakref
from pathlib import Path

import pytest
from tests.support.types.fakes import compiled, resolver_of

from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.resolver import Access, Resolver

Followed = list[weakref.ref[Tracker]]

SOURCE = (
    "struct node { struct node *next; long key; };\n"
    + "".join(
        f"__attribute__((noinline)) long f{k}(struct node *n) {{ return n->key + n->next->key * {k + 3}; }}\n"
        for k in range(12)
    )
    + f"int main(int c, char **v) {{ struct node n = {{&n, c}}; return {' + '.join(f'f{k}(&n)' for k in range(12))}; }}"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "gcc", "-O1", tmp_path_factory.mktemp("let-go"))


def opened(program: Path) -> tuple[Resolver, list[list[int]]]:
    """A resolver of the program that was asked nothing, and the addresses of what accesses memory by function."""
    found = resolver_of(program)
    by_name = {name: address for address, name in found.source.symbols.functions.items()}
    functions = []
    for k in range(12):
        place = found.instruction(by_name[f"f{k}"])
        assert place is not None
        functions.append([one.address for one in place[0] if any(operand.access for operand in one.memory)])
    return resolver_of(program), functions


def alive(followed: Followed) -> int:
    return sum(one() is not None for one in followed)


def asked(resolver: Resolver, functions: list[list[int]]) -> list[Access]:
    return [resolver.sampled(address) for addresses in functions for address in addresses]


def test_a_function_is_dropped_when_all_expected_was_queried(program: Path, followed: Followed) -> None:
    whole, functions = opened(program)
    expected = asked(whole, functions)
    assert alive(followed) == len(followed) == 12
    assert sum(one.type == "struct node" for one in expected) >= 24
    del whole
    followed.clear()
    resolver, _functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    assert asked(resolver, functions) == expected
    assert (alive(followed), len(followed)) == (5, 12)
    # What is asked again is followed again.
    assert asked(resolver, functions) == expected
    assert len(followed) > 12


def test_a_function_stays_while_queries_of_it_are_expected(program: Path, followed: Followed) -> None:
    resolver, functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    late = [addresses.pop(0) for addresses in functions[:6]]
    asked(resolver, functions)
    assert len(followed) == 12
    assert any(one.type == "struct node" for one in asked(resolver, [late]))
    assert len(followed) == 12


def test_a_released_function_is_freed_without_the_cycle_collector(program: Path, followed: Followed) -> None:
    resolver, functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    gc.disable()
    try:
        resolver.sampled(functions[0][0])
        assert followed[0]() is not None
        asked(resolver, functions)
        assert followed[0]() is None
    finally:
        gc.enable()
