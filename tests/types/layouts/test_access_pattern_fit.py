"""Whether accesses fit a structure, and which one they fit."""

import pytest
from tests.support.types.fakes import Fake

from undwarf.types.inference.structure_matching import only_one
from undwarf.types.layouts.access_pattern_fit import PointerAccesses, fits, no_accesses
from undwarf.types.layouts.resolved_member import is_member
from undwarf.types.layouts.type_graph import Kind, Member, TypeRecord


def done(*touched: tuple[int, int]) -> PointerAccesses:
    """So many bytes are accessed at some offsets."""
    found = no_accesses()
    found.touched.update(touched)
    return found


@pytest.fixture
def fake() -> Fake:
    """Types that may have what is done."""
    return Fake()


def test_few_bytes_are_a_part_of_one_integer_only(fake: Fake) -> None:
    byte = fake.graph.add(TypeRecord(Kind.CHAR, "char", 1))
    members = (fake.member("one", 0, 1, byte), fake.member("two", 1, 1, byte), fake.member("n", 4, 4, fake.int))
    t = fake.graph.add(TypeRecord(Kind.STRUCT, "few", 8, keyword="struct", members=members))
    assert is_member(fake.graph, t, 4, 2)
    assert not is_member(fake.graph, t, 0, 2)
    assert fits(fake.graph, t, done((0, 2)), merged=True)
    assert not fits(fake.graph, t, done((0, 2)))


def test_only_bit_fields_are_stored_in_part(fake: Fake) -> None:
    bits = (Member("low", 0, 4, 0, 8, fake.int), Member("high", 0, 4, 8, 24, fake.int))
    field = fake.graph.add(TypeRecord(Kind.STRUCT, "bits", 4, keyword="struct", members=bits))
    plain = fake.graph.add(
        TypeRecord(Kind.STRUCT, "plain", 4, keyword="struct", members=(fake.member("n", 0, 4, fake.int),))
    )
    stored = done((0, 1))
    assert fits(fake.graph, plain, stored)
    stored.stored.add((0, 1))
    assert not fits(fake.graph, plain, stored)
    assert fits(fake.graph, field, stored)


def test_no_part_of_a_pointer_is_loaded(fake: Fake) -> None:
    assert not fits(fake.graph, fake.node, done((0, 1)))
    assert fits(fake.graph, fake.node, done((16, 1)))


def test_a_union_pointer_points_to_one_of_its_members_types(fake: Fake) -> None:
    graph = fake.graph
    to_node, to_item = graph.pointer_to(fake.node), graph.pointer_to(fake.item)
    function = graph.pointer_to(graph.add(TypeRecord(Kind.FUNCTION, target=fake.int)))
    members = (fake.member("n", 0, 8, to_node), fake.member("i", 0, 8, to_item), fake.member("d", 0, 8, fake.double))
    union = graph.add(TypeRecord(Kind.UNION, "either", 8, keyword="union", members=members))
    calls = graph.add(
        TypeRecord(Kind.STRUCT, "calls", 8, keyword="struct", members=(fake.member("f", 0, 8, function),))
    )
    followed = done((0, 8))
    followed.pointers.add(0)
    assert fits(graph, union, followed)
    assert not fits(graph, calls, followed)
    followed.put.add((0, (fake.item,)))
    assert fits(graph, union, followed)
    followed.put.add((0, (fake.table,)))
    assert not fits(graph, union, followed)


def test_members_accessed_together_type_a_structure_unless_copied(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [fake.node, fake.link, fake.table]
    monkeypatch.setattr("undwarf.types.inference.structure_matching.structures", lambda _graph: known)
    accessed = done((0, 16), (16, 4), (24, 8))
    assert only_one(fake.graph, accessed, wide=True) == fake.node
    assert not only_one(fake.graph, accessed)
