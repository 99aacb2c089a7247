"""Call trees."""

from tests.support.profiles import S, make_profile

from undwarf.views.call_tree import TreeNode, call_tree, callers

SAMPLES = [
    S("main@app a@app leaf@app", period=50),
    S("main@app b@app leaf@app", period=30),
    S("main@app b@app", period=15),
    S("main@app c@app", period=5),
]
PROFILE = make_profile(SAMPLES)


def shape(nodes: list[TreeNode]) -> dict[str, object]:
    return {node.name: (node.weight, node.self_weight, shape(node.children)) for node in nodes}


def test_from_the_callers_down() -> None:
    assert shape(call_tree(PROFILE).roots) == {
        "main": (100, 0, {"a": (50, 0, {"leaf": (50, 50, {})}), "b": (45, 15, {"leaf": (30, 30, {})}), "c": (5, 5, {})})
    }


def test_heavier_children_come_first() -> None:
    assert [child.name for child in call_tree(PROFILE).roots[0].children] == ["a", "b", "c"]


def test_light_branches_are_left_out() -> None:
    assert shape(call_tree(PROFILE, min_share=0.4).roots) == {
        "main": (100, 0, {"a": (50, 0, {"leaf": (50, 50, {})}), "b": (45, 15, {})})
    }


def test_from_the_hot_functions_up() -> None:
    assert shape(callers(PROFILE).roots) == {
        "leaf": (80, 80, {"a": (50, 0, {"main": (50, 0, {})}), "b": (30, 0, {"main": (30, 0, {})})}),
        "b": (15, 15, {"main": (15, 0, {})}),
        "c": (5, 5, {"main": (5, 0, {})}),
    }


def test_light_callers_are_left_out() -> None:
    assert shape(callers(PROFILE, min_share=0.4).roots) == {"leaf": (80, 80, {"a": (50, 0, {"main": (50, 0, {})})})}


def test_callers_of_functions_by_name() -> None:
    assert list(shape(callers(PROFILE, only=["c"]).roots)) == ["c"]


def test_one_event() -> None:
    profile = make_profile([S("f@app", period=3), S("g@app", event=1)], ("cycles", "faults"))
    assert shape(call_tree(profile, event=0).roots) == {"f": (3, 3, {})}


def test_no_samples() -> None:
    assert (call_tree(make_profile([])).roots, callers(make_profile([])).roots) == ([], [])
