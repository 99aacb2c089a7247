"""Weights of functions that occur anywhere in a stack, in the two ways in which they are summed up."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from undwarf.ordering import group
from undwarf.profile.stack_order import depth_first
from undwarf.views.kernels.stack_tree import inclusive, inclusive_by_group

NONE = 0xFFFFFFFF
ENTITIES, GROUPS = 3, 3


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """(the parent, the entity of each node)."""
    size = draw(st.integers(1, 8))
    parents = [draw(st.sampled_from([NONE, *range(node)])) for node in range(size)]
    return parents, [draw(st.integers(0, ENTITIES - 1)) for _node in range(size)]


@given(trees(), st.data())
def test_both_ways_give_the_same(tree: tuple[list[int], list[int]], data: st.DataObject) -> None:
    parent, entity = (memoryview(array("I", column)) for column in tree)
    stack = st.tuples(st.integers(0, GROUPS - 1), st.sampled_from([NONE, *range(len(parent))]), st.integers(0, 2**40))
    stacks = data.draw(st.lists(stack))
    groups, nodes, weights = (
        memoryview(array(code, [one[place] for one in stacks])) for place, code in enumerate("IIQ")
    )
    expected = inclusive(groups, nodes, weights, parent, entity, ENTITIES)
    *_rest, repeated = depth_first(parent, entity, ENTITIES)
    rows, starts = group(groups, GROUPS)
    found = inclusive_by_group(starts[: GROUPS + 1], rows, nodes, weights, parent, entity, ENTITIES, repeated)
    assert sorted(zip(*found, strict=True)) == sorted(zip(*expected, strict=True))
