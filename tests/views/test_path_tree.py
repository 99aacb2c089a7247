"""Trees that are computed when they are unfolded have the numbers of whole trees."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.support.profiles import S, make_profile

from undwarf.views.call_tree import TreeNode, call_tree, callers
from undwarf.views.flat_profile import flat_profile
from undwarf.views.path_tree import PathNode, PathTree

Tree = list[tuple[str, int, int, "Tree"]]
SAMPLES = st.lists(
    st.builds(
        lambda names, period: S(" ".join(f"{name}@app" for name in names), period=period),
        st.lists(st.sampled_from("fghi"), min_size=1, max_size=6),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=12,
)


def whole(nodes: Sequence[TreeNode]) -> Tree:
    return [(node.name, node.weight, node.self_weight, whole(node.children)) for node in nodes]


def unfolded(nodes: Sequence[PathNode], below: Callable[[PathNode], Sequence[PathNode]]) -> Tree:
    return [(n.name, n.weight, n.self_weight, unfolded(below(n), below)) for n in nodes]


@given(SAMPLES)
def test_callees(samples: list[S]) -> None:
    profile = make_profile(samples)
    paths = PathTree(profile)
    assert unfolded(paths.roots(), paths.callees) == whole(call_tree(profile).roots)


@given(SAMPLES)
def test_callers(samples: list[S]) -> None:
    profile = make_profile(samples)
    paths = PathTree(profile)
    assert unfolded(paths.hot(), paths.callers) == whole(callers(profile).roots)


@given(SAMPLES)
def test_a_function_has_its_weight_in_the_flat_profile(samples: list[S]) -> None:
    profile = make_profile(samples)
    paths = PathTree(profile)
    for row in flat_profile(profile, ("sym", "dso")).rows:
        node = paths.function(row.key[0], row.key[1])
        assert node is not None
        assert (node.weight, node.self_weight) == (row.children_weight, row.self_weight)
    assert paths.function("j", "app") is None


@given(SAMPLES)
def test_matches_of_a_subtree_are_counted(samples: list[S]) -> None:
    paths = PathTree(make_profile(samples))

    def count(nodes: Sequence[PathNode]) -> int:
        return sum((node.name in "fg") + count(paths.callees(node)) for node in nodes)

    counts = paths.matching({"f", "g"})
    roots = paths.roots()
    assert sum(counts[place] for root in roots for place in root.places) == count(roots)


def test_a_leaf_has_no_callers_above_it() -> None:
    paths = PathTree(make_profile([S("main@app work@app")]))
    work = paths.hot()[0]
    assert paths.has_callers(work)
    assert [paths.has_callers(node) for node in paths.callers(work)] == [False]
