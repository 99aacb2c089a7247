"""Accesses past a base class, in the derived class."""

from undwarf.types.layouts.class_hierarchy import ClassHierarchy
from undwarf.types.layouts.type_graph import Kind, Member, TypeGraph, TypeRecord


def build() -> tuple[TypeGraph, int, int, int, int]:
    """A base of 8 bytes; two nodes derived from it, with an int or a long after it; one derived from the first node."""
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "int", 4))
    large = graph.add(TypeRecord(Kind.INT, "long", 8))
    base = graph.add(TypeRecord(Kind.STRUCT, "base", 8, members=(Member("next", 0, -1, 0, 0, large),)))
    nodes = [
        graph.add(
            TypeRecord(
                Kind.STRUCT,
                f"node{size}",
                16,
                members=(Member("", 0, -1, 0, 0, base, base=True), Member("value", 8, -1, 64, 0, t)),
            )
        )
        for size, t in ((4, number), (8, large))
    ]
    further = graph.add(TypeRecord(Kind.STRUCT, "further", 24, members=(Member("", 0, -1, 0, 0, nodes[0], base=True),)))
    return graph, base, nodes[0], nodes[1], further


def test_the_only_derived_class_is_selected() -> None:
    graph, base, node, _other, _further = build()
    found = ClassHierarchy(graph, lambda: ([node], [])).locate(base, 8, 4)
    assert found is not None
    assert (found.type, found.offset, found.field.path) == (node, 8, "value")


def test_the_size_of_the_access_tells_classes_apart() -> None:
    graph, base, node, other, _further = build()
    kin = ClassHierarchy(graph, lambda: ([node, other], []))
    located = [kin.locate(base, 8, size) for size in (4, 8)]
    assert [one.type for one in located if one is not None] == [node, other]


def test_two_derived_classes_that_fit_are_ambiguous() -> None:
    graph, base, node, other, _further = build()
    assert ClassHierarchy(graph, lambda: ([node, other], [])).locate(base, 8, 4) is not None
    assert ClassHierarchy(graph, lambda: ([node, other], [])).locate(base, 8, 2) is None


def test_of_an_inheritance_chain_the_first_class_counts() -> None:
    graph, base, node, _other, further = build()
    found = ClassHierarchy(graph, lambda: ([further, node], [])).locate(base, 8, 4)
    assert found is not None and found.type == node


def test_classes_of_variables_are_preferred_to_mentioned_ones() -> None:
    graph, base, node, other, _further = build()
    found = ClassHierarchy(graph, lambda: ([other], [node])).locate(base, 8, 4)
    assert found is not None and found.type == other


def test_without_a_derived_class_nothing_is_found() -> None:
    graph, base, node, _other, _further = build()
    assert ClassHierarchy(graph, lambda: ([base, node], [])).locate(base, 8, 4) is not None
    assert ClassHierarchy(graph, lambda: ([base], [])).locate(base, 8, 4) is None
    assert ClassHierarchy(graph, lambda: ([], [])).locate(base, 200, 4) is None


def test_a_member_of_a_derived_class_is_found_beside_other_classes() -> None:
    graph, base, node, other, _further = build()
    kin = ClassHierarchy(graph, lambda: ([node, other], []))
    [number, large] = [graph.members(one)[1].type for one in (node, other)]
    assert kin.is_part(base, 8, number) and kin.is_part(base, 8, large)
    assert not kin.is_part(base, 12, number)


def tree() -> tuple[TypeGraph, int, int, int]:
    """A leaf of 8 bytes; types that start with one, followed by two pointers to leaves or by two integers."""
    graph = TypeGraph()
    large = graph.add(TypeRecord(Kind.INT, "long", 8))
    leaf = graph.add(TypeRecord(Kind.STRUCT, "leaf", 8, members=(Member("key", 0, -1, 0, 0, large),)))
    wholes = []
    for name, t in (("inner", graph.pointer_to(leaf)), ("other", large)):
        behind = graph.add(TypeRecord(Kind.ARRAY, target=t, count=2))
        members = (Member("data", 0, -1, 0, 0, leaf), Member("behind", 8, -1, 64, 0, behind))
        wholes.append(graph.add(TypeRecord(Kind.STRUCT, name, 24, members=members)))
    return graph, leaf, *wholes


def test_pointers_after_a_leaf_are_an_inner_nodes() -> None:
    graph, leaf, inner, _other = tree()
    found, may = ClassHierarchy(graph, lambda: ([inner],)).continued(leaf, 8, 8)
    assert found is not None and may
    assert (found.type, found.offset, found.field.path) == (inner, 8, "behind[]")


def test_integers_after_a_leaf_may_be_the_next_leafs() -> None:
    graph, leaf, _inner, other = tree()
    assert ClassHierarchy(graph, lambda: ([other],)).continued(leaf, 8, 8) == (None, True)


def test_a_class_that_starts_no_other_has_no_larger_one() -> None:
    graph, leaf, inner, _other = tree()
    assert ClassHierarchy(graph, lambda: ([leaf],)).continued(leaf, 8, 8) == (None, False)
    assert ClassHierarchy(graph, lambda: ([inner],)).continued(leaf, 24, 8) == (None, False)


def test_an_object_after_the_first_of_a_pair_is_the_second() -> None:
    graph, leaf, _inner, _other = tree()
    both = Member("first", 0, -1, 0, 0, leaf), Member("second", 8, -1, 64, 0, leaf)
    pair = graph.add(TypeRecord(Kind.STRUCT, "pair", 16, members=both))
    assert ClassHierarchy(graph, lambda: ([pair],)).continued(leaf, 8, 8) == (None, False)


def test_an_access_to_several_members_starts_with_a_whole_one() -> None:
    graph, base, node, _other, _further = build()
    number = graph.members(node)[1].type
    pair = Member("first", 8, -1, 64, 0, number), Member("second", 12, -1, 96, 0, number)
    wide = graph.add(
        TypeRecord(Kind.STRUCT, "wide", 16, members=(Member("", 0, -1, 0, 0, base, base=True), *pair)),
    )
    kin = ClassHierarchy(graph, lambda: ([wide], []))
    found = kin.locate(base, 8, 8)
    assert found is not None and (found.type, found.field.path) == (wide, "first")
    assert kin.locate(base, 10, 4) is None
    assert kin.locate(base, 12, 8) is None


def test_wide_accesses_are_members_unless_a_class_has_their_size() -> None:
    graph, base, node, other, _further = build()
    number = graph.members(node)[1].type
    pair = Member("first", 8, -1, 64, 0, number), Member("second", 12, -1, 96, 0, number)
    wide = graph.add(
        TypeRecord(Kind.STRUCT, "wide", 16, members=(Member("", 0, -1, 0, 0, base, base=True), *pair)),
    )
    found = ClassHierarchy(graph, lambda: ([wide], [other])).locate(base, 8, 8)
    assert found is not None and found.type == other


def test_a_part_of_a_pointer_is_no_access() -> None:
    graph, base, node, _other, _further = build()
    leads = Member("value", 8, -1, 64, 0, graph.pointer_to(node))
    holder = graph.add(
        TypeRecord(Kind.STRUCT, "holder", 16, members=(Member("", 0, -1, 0, 0, base, base=True), leads)),
    )
    assert ClassHierarchy(graph, lambda: ([holder], [])).locate(base, 8, 4) is None
    found = ClassHierarchy(graph, lambda: ([holder], [node])).locate(base, 8, 4)
    assert found is not None and found.type == node


def test_mentioned_types_are_queried_once() -> None:
    graph, base, node, _other, _further = build()
    asked = []

    def mentioned() -> tuple[list[int], list[int]]:
        asked.append(1)
        return [node], []

    kin = ClassHierarchy(graph, mentioned)
    assert kin.locate(base, 8, 4) is not None
    assert not kin.beginning_with(base)
    assert kin.locate(base, 16, 4) is None
    assert len(asked) == 1
