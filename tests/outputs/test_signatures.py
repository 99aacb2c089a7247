"""Long names in few columns."""

import pytest

from undwarf.outputs.signatures import shorten

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
