"""Which node type of a tree a pointer is to, by variables within the node."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#include <map>
#include <set>
#define NOINLINE __attribute__((noinline, noclone))
struct place { int row, bay; bool operator<(const place &o) const { return row < o.row; } };
struct level { long volume, count; double mean; };
NOINLINE void touched(level &, long) { __asm__ volatile("" ::: "memory"); }
extern "C" {
NOINLINE long emptied(std::map<long, level> &levels, std::map<long, double> &prices, long most)
{ long sum = 0;
  while (!levels.empty())
  { auto best = levels.begin(); level &lv = best->second;
    if (best->first > most) break;
    touched(lv, best->first); lv.volume -= most; sum += prices.begin()->second;
    if (lv.volume < 0) levels.erase(best); }
  return sum; }
NOINLINE long mixed(const std::map<place, level> &levels, const std::set<unsigned> &codes)
{ long sum = 0;
  for (const auto &[price, l] : levels) sum += price.bay * l.count;
  for (unsigned code : codes) sum ^= code;
  return sum; }
}
int main(int argc, char **)
{ std::map<long, level> levels{{argc, {argc, 1, 0}}}; std::map<long, double> prices{{1, 2.0}};
  std::set<unsigned> codes{3, 5}; std::map<place, level> at{{{1, 2}, {}}};
  return mixed(at, codes) + emptied(levels, prices, 9); }
"""


@pytest.fixture(scope="module", params=["-O1", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "g++", request.param, tmp_path_factory.mktemp("parts"))


def nodes(program: Path, function: str) -> tuple[set[str], int]:
    """The types of nodes that a function touches, and how much is unknown."""
    found = [one for one in accesses(program, function) if one.countable]
    return {one.type for one in found if one.type and "_Rb_tree_node<" in one.type}, sum(not one.typed for one in found)


def test_a_reference_into_a_node_selects_its_type(program: Path) -> None:
    found, unknown = nodes(program, "emptied")
    assert any("level" in name for name in found)
    # Of the other tree nothing says but that a number with a point is there.
    assert any("double" in name for name in found)
    assert not unknown


def test_a_variable_within_a_node_selects_its_type(program: Path) -> None:
    found, unknown = nodes(program, "mixed")
    assert any("unsigned int" in name for name in found)
    assert not unknown
