"""What else a part may be in: told by name before anything is asked of layouts."""

from undwarf.types.layouts.embedders import Embedders
from undwarf.types.layouts.model import Kind, Member, TypeGraph, TypeRecord


class Parts:
    """A base class of two classes."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def wholes(self, _t: int, *, bases_only: bool) -> list[tuple[int, int]]:
        assert not bases_only
        return [(t, 8 * k) for k, t in enumerate(self.names)]

    def plain_name(self, t: int) -> str:
        return self.names[t]


def aggregate(graph: TypeGraph, name: str, *members: Member) -> int:
    return graph.add(TypeRecord(Kind.CLASS, name, 32, members=members))


def test_templates_are_found_by_their_names() -> None:
    graph = TypeGraph()
    base = aggregate(graph, "base")
    vector, other = aggregate(graph, "std::vector<a::b>"), aggregate(graph, "std::set<a::b>")
    parts = Parts({vector: "vector<a::b>", other: "set<a::b>"})
    whole = Embedders(graph, lambda: (), wanted_only=True, parts=parts)
    assert whole.preferring(lambda: frozenset({graph.canonical(other)})).of(base) == [(other, 8)]
    assert whole.preferring(lambda: frozenset({graph.canonical(vector)})).of(base) == [(vector, 0)]


def test_a_type_alone_of_its_name_is_known_without_its_members() -> None:
    class Never:
        def load(self, key: int) -> TypeRecord:
            raise AssertionError(f"member {key} was looked at")

    graph = TypeGraph()
    member = graph.reserve(Never(), 1)
    alone = aggregate(graph, "alone", Member("a", 0, 4, 0, 0, member))
    assert graph.canonical(alone) == alone
