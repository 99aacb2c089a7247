"""Column operations and stack trees, compared with plain Python."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.profile import grouping
from undwarf.views.kernels import stack_tree

NONE = 0xFFFFFFFF
U32 = st.one_of(st.integers(0, 5), st.integers(0, NONE))


def column(values: list[int], typecode: str = "I") -> memoryview:
    return memoryview(array(typecode, values))


@given(st.lists(st.tuples(U32, U32)))
def test_pairs_are_numbered_as_they_come(values: list[tuple[int, int]]) -> None:
    pairs = grouping.Pairs()
    numbers = pairs.column(column([a for a, _b in values]), column([b for _a, b in values]))
    expected: dict[tuple[int, int], int] = {}
    assert numbers.tolist() == [expected.setdefault(value, len(expected)) for value in values]
    assert list(zip(pairs.high(), pairs.low(), strict=True)) == list(expected)


def test_many_pairs_grow_the_table() -> None:
    pairs = grouping.Pairs(1)
    many = column(list(range(100_000)))
    assert pairs.column(many, many).tolist() == many.tolist()
    assert pairs.column(many, many).tolist() == many.tolist()


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    size = draw(st.integers(0, 30))
    parents = [draw(st.one_of(st.just(NONE), st.integers(0, i - 1))) if i else NONE for i in range(size)]
    return parents, [draw(st.integers(0, 3)) for _ in range(size)]


@given(trees())
def test_preorder_is_the_order_of_paths(tree: tuple[list[int], list[int]]) -> None:
    parents, entities = tree
    _of, parent, entity = stack_tree.collapse(column(parents), column(list(range(len(parents)))), column(entities))
    paths: list[tuple[int, ...]] = []
    for up, what in zip(parent, entity, strict=True):
        paths.append((*(paths[up] if up != NONE else ()), what))
    place = stack_tree.preorder(parent, entity, 4)
    assert [path for _place, path in sorted(zip(place, paths, strict=True))] == sorted(paths)


@given(trees())
def test_collapsed_paths_are_the_paths(tree: tuple[list[int], list[int]]) -> None:
    parents, entities = tree
    of, parent, entity = stack_tree.collapse(column(parents), column(list(range(len(parents)))), column(entities))

    def path(node: int, up: memoryview | list[int], what: memoryview | list[int]) -> list[int]:
        found = []
        while node != NONE:
            found.append(what[node])
            node = up[node]
        return found

    for node in range(len(parents)):
        assert path(of[node], parent, entity) == path(node, parents, entities)


def test_a_node_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="before its parent"):
        stack_tree.collapse(column([1, NONE]), column([0, 0]), column([0]))


def test_numbers_outside_a_table_are_refused() -> None:
    with pytest.raises(IndexError):
        grouping.look_up(column([3]), column([0, 1]))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_order_sorts_by_both(values: list[tuple[int, int]]) -> None:
    found = grouping.order(column([a for a, _b in values]), 5, column([b for _a, b in values]), 5)
    assert found.tolist() == sorted(range(len(values)), key=lambda i: values[i])


@pytest.mark.parametrize(("typecode", "values"), [("i", [-1, 5]), ("H", [65535, 1]), ("B", [255, 0])])
def test_columns_are_widened(typecode: str, values: list[int]) -> None:
    assert grouping.widen(column(values, typecode)).tolist() == [value & NONE for value in values]
