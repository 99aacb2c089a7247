"""Long names in few columns."""

import pytest

from undwarf.outputs.terminal.short_names import Distinct, shorten, shorten_type
from undwarf.outputs.terminal.style import cells

SORT = "void std::__introsort_loop<std::pair<int, int>*, long>(std::pair<int, int>*, std::pair<int, int>*, long)"


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        (SORT, 200, SORT),
        (SORT, 60, "void std::__introsort_loop<std::pair<int, int>*, long>(…)"),
        (SORT, 40, "void std::__introsort_loop<…>(…)"),
        (SORT, 12, "void std::_…"),
        ("operator<<(std::ostream&, std::string const&)", 20, "operator<<(…)"),
        ("Functor::operator()(int, int, int) const", 30, "Functor::operator()(…) const"),
        ("(anonymous namespace)::helper(int, char)", 35, "(anonymous namespace)::helper(…)"),
        ("call<fn(u8) -> u16>::{closure#0}", 25, "call<…>::{closure#0}"),
        ("a<b", 2, "a…"),
        ("short(", 6, "short("),
    ],
)
def test_shorten(name: str, room: int, shown: str) -> None:
    assert shorten(name, room) == shown


HASH_NODE = "struct std::_Hash_node<std::pair<long unsigned int const, Order*>, false>"


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        (HASH_NODE, 80, HASH_NODE),
        (HASH_NODE, 40, "struct std::_Hash_node<…>"),
        (HASH_NODE, 20, "struct std::_Hash_n…"),
        (f"{HASH_NODE} +8 (first.id) [inferred]", 60, "struct std::_Hash_node<…> +8 (first.id) [inferred]"),
        (f"{HASH_NODE} +8 (first.id) [inferred]", 48, "struct std::_Hash_node… +8 (first.id) [inferred]"),
        (f"{HASH_NODE} +8 (first.id) [inferred]", 32, "struct std::_… +8 (first.id) [i…"),
        (f"{HASH_NODE}: cache-line 0", 32, "struct std::_Hash…: cache-line 0"),
    ],
)
def test_a_type_gives_way_before_its_member(name: str, room: int, shown: str) -> None:
    assert shorten_type(name, room) == shown


LONG = [
    "std::vector<int, std::allocator<int> >::push_back(int const&)",
    "std::vector<double, std::allocator<double> >::push_back(double const&)",
    "std::vector<float, std::allocator<float> >::push_back(float const&)",
    *("x" * 40 + f"{i}" + "y" * 40 for i in range(12)),
]


@pytest.mark.parametrize("room", [12, 20, 33, 50])
def test_different_names_stay_different(room: int) -> None:
    distinct = Distinct()
    shown = [distinct(name, room) for name in LONG]
    assert len(set(shown)) == len(LONG)
    assert max(map(cells, shown)) <= room


def test_what_tells_names_apart_is_kept() -> None:
    distinct = Distinct()
    assert distinct("f(int, a_long_type)", 12) == "f(…)"
    assert distinct("f(long, a_long_type)", 14) == "f(…)…long, …"


def test_a_name_is_shortened_the_same_each_time() -> None:
    distinct = Distinct()
    first = [distinct(name, 12) for name in LONG]
    assert first == [distinct(name, 12) for name in LONG]
