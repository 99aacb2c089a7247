"""Of functions of which all that was expected has been asked, only the last ones are kept."""

import gc
import weakref
from pathlib import Path

import pytest
from tests.support.types.fakes import compiled, resolver_of

from undwarf.types.resolver import Access, Resolver

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


def asked(resolver: Resolver, functions: list[list[int]]) -> list[Access]:
    return [resolver.sampled(address) for addresses in functions for address in addresses]


def test_a_function_is_let_go_when_all_of_it_has_been_asked(program: Path) -> None:
    whole, functions = opened(program)
    expected = asked(whole, functions)
    assert len(whole._functions) == 12
    assert sum(one.type == "struct node" for one in expected) >= 24
    resolver, _functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    assert asked(resolver, functions) == expected
    assert len(resolver._functions) == 5
    # What is asked again is followed again.
    assert asked(resolver, functions) == expected


def test_a_function_is_kept_while_something_of_it_is_expected(program: Path) -> None:
    resolver, functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    late = [addresses.pop() for addresses in functions[:6]]
    asked(resolver, functions)
    followed = list(resolver._functions.values())[:6]
    asked(resolver, [late])
    assert list(resolver._functions.values())[-6:] == followed


def test_a_released_function_is_freed_without_the_cycle_collector(program: Path) -> None:
    resolver, functions = opened(program)
    resolver.expect(address for addresses in functions for address in addresses)
    gc.disable()
    try:
        resolver.sampled(functions[0][0])
        kept = weakref.ref(next(iter(resolver._functions.values())).tracker.oracle)
        assert kept() is not None
        asked(resolver, functions)
        assert kept() is None
    finally:
        gc.enable()
