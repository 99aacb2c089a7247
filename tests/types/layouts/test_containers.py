"""Containers of a type, found by name before layouts are compared."""

import pytest

from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.unit_types import _Relations


class Parts:
    """A base class of two classes."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def wholes(self, _t: int, *, bases_only: bool) -> dict[int, list[int]]:
        assert not bases_only
        return {t: [8 * k] for k, t in enumerate(self.names)}

    def named(self, name: str) -> list[int]:
        return [t for t, one in self.names.items() if one == name]


def aggregate(graph: TypeGraph, name: str, *members: Member) -> int:
    return graph.add(TypeRecord(Kind.CLASS, name, 32, members=members))


def test_templates_are_found_by_their_names() -> None:
    graph = TypeGraph()
    base = aggregate(graph, "base")
    vector, other = aggregate(graph, "std::vector<a::b>"), aggregate(graph, "std::set<a::b>")
    parts = Parts({vector: "vector<a::b>", other: "set<a::b>"})
    whole = Containers(graph, lambda: (), wanted_only=True, parts=parts)
    assert whole.preferring(lambda: frozenset({graph.canonical(other)})).of(base) == [(other, 8)]
    assert whole.preferring(lambda: frozenset({graph.canonical(vector)})).of(base) == [(vector, 0)]


def test_a_type_of_a_unique_name_is_known_without_its_members() -> None:
    class Never:
        def load(self, key: int) -> TypeRecord:
            raise AssertionError(f"member {key} was looked at")

    graph = TypeGraph()
    member = graph.reserve(Never(), 1)
    alone = aggregate(graph, "alone", Member("a", 0, 4, 0, 0, member))
    assert graph.canonical(alone) == alone


@pytest.mark.parametrize("named", [False, True])
def test_character_access_does_not_exclude_a_container_with_flags(named: bool) -> None:
    """Bytes of integers are accessed to test flags; a member of one byte is better evidence."""
    graph = TypeGraph()
    char, number = graph.add(TypeRecord(Kind.INT, "char", 1)), graph.add(TypeRecord(Kind.INT, "int", 4))
    long = graph.add(TypeRecord(Kind.INT, "long", 8))
    link = graph.add(TypeRecord(Kind.STRUCT, "link", 8, members=(Member("next", 0, 8, 0, 0, long),)))
    text = graph.add(TypeRecord(Kind.ARRAY, target=char, count=8))
    first = Member("link", 0, 8, 0, 0, link)
    last = Member("kind", 9, 1, 72, 0, char) if named else Member("name", 8, 8, 64, 0, text)
    task = graph.add(TypeRecord(Kind.STRUCT, "task", 16, members=(first, last)))
    flags = Member("flags", 8, 4, 64, 0, number)
    pmu = graph.add(TypeRecord(Kind.STRUCT, "pmu", 16, members=(first, flags)))
    both, one = Containers(graph, lambda: [task, pmu]), Containers(graph, lambda: [pmu])
    found = locate(graph, link, 0, 9, 1, both)
    assert (found.type if isinstance(found, ResolvedMember) else 0) == (task if named else 0)
    found = locate(graph, link, 0, 9, 1, one)
    assert isinstance(found, ResolvedMember) and (found.type, found.field.path) == (pmu, "flags")


@pytest.mark.parametrize("embedded", [False, True])
def test_a_last_array_of_one_ends_where_its_container_continues(embedded: bool) -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "unsigned long", 8))
    flags = graph.add(TypeRecord(Kind.ARRAY, target=number, count=1))
    device = aggregate(graph, "device", Member("n", 0, 8, 0, 0, number), Member("flags", 8, 8, 64, 0, flags))
    graph.record(device).size = 16
    parts = (Member("device", 8, 16, 64, 0, device), Member("disk", 40, 8, 320, 0, number))
    block = graph.add(TypeRecord(Kind.STRUCT, "block", 48, members=parts))
    found = locate(graph, device, 0, 32, 8, Containers(graph, lambda: [block] if embedded else []))
    assert isinstance(found, ResolvedMember)
    assert (found.type, found.field.path) == ((block, "disk") if embedded else (device, "flags[]"))


def test_containers_do_not_depend_on_the_order_of_units() -> None:
    # (part, whole, offset) by unit: 1 lies in 2 and 3, these in 4, which a later unit puts into 5 beside a 1.
    units = [[(1, 2, 8), (1, 3, 0), (2, 3, 16)], [(2, 4, 0), (3, 4, 32)], [(4, 5, 8), (1, 5, 0), (6, 5, 1 << 62)]]
    at_once, in_turns = _Relations(), _Relations()
    for added in units:
        for one in added:
            at_once.add(*one)
            in_turns.add(*one)
        for part in (1, 2, 3, 4, 6):
            for bases_only in (False, True):
                in_turns.wholes(part, bases_only=bases_only)
    for part in (1, 2, 3, 4, 6):
        for bases_only in (False, True):
            found = at_once.wholes(part, bases_only=bases_only)
            assert in_turns.wholes(part, bases_only=bases_only) == found
    assert at_once.wholes(1, bases_only=False) == {2: [8], 3: [0, 24], 4: [8, 32, 56], 5: [0, 16, 40, 64]}
    assert at_once.wholes(6, bases_only=True) == {5: [0]} and not at_once.wholes(1, bases_only=True)


def test_a_type_inferred_from_uses_alone_is_no_container() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "int", 4))
    link = aggregate(graph, "link", Member("n", 0, 4, 0, 0, number))
    whole = aggregate(graph, "whole", Member("link", 8, 32, 0, 0, link))
    other = aggregate(graph, "other", Member("m", 4, 4, 0, 0, number))
    several = graph.one_of((whole, other))
    assert graph.choices(several) == (whole, other)
    kinds = frozenset((Kind.CLASS, Kind.UNION))
    assert graph.of_kinds(kinds) == [link, whole, other]
    assert Containers(graph, lambda: graph.of_kinds(kinds)).around(link) == [(whole, 8)]
