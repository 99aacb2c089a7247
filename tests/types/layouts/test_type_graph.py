"""The type graph: sizes, names, members at offsets, hostile types."""

import pytest

from undwarf.limits import Limits
from undwarf.types import Kind, Member, TypeGraph, TypeRecord
from undwarf.types.layouts.array_offsets import in_rows
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.sources import named_types
from undwarf.types.sources.named_types import structures


def member(
    name: str, offset: int, of: int, *, size: int = -1, bits: tuple[int, int] = (0, 0), base: bool = False
) -> Member:
    return Member(name, offset, size, bits[0] if bits[1] else 8 * offset, bits[1], of, base)


@pytest.fixture
def graph() -> TypeGraph:
    return TypeGraph()


def integer(graph: TypeGraph, name: str = "int", size: int = 4) -> int:
    return graph.add(TypeRecord(Kind.INT, name, size, signed=True))


def struct(graph: TypeGraph, name: str, size: int, *members: Member, kind: Kind = Kind.STRUCT) -> int:
    return graph.add(TypeRecord(kind, name, size, members=members, keyword="union" if kind == Kind.UNION else "struct"))


def array(graph: TypeGraph, of: int, count: int) -> int:
    return graph.add(TypeRecord(Kind.ARRAY, target=of, count=count))


def test_a_member_is_found_by_its_offset(graph: TypeGraph) -> None:
    word = integer(graph)
    node = struct(graph, "node", 8, member("key", 0, word), member("hits", 4, word))
    found = graph.member_at(node, 4, 4)
    assert found is not None
    assert (found.path, found.type, found.offset, found.begin) == ("hits", word, 0, 4)


def test_members_within_members_make_a_path(graph: TypeGraph) -> None:
    word = integer(graph)
    inner = struct(graph, "inner", 8, member("a", 0, word), member("b", 4, word))
    outer = struct(graph, "outer", 20, member("head", 0, word), member("in", 4, array(graph, inner, 2)))
    found = graph.member_at(outer, 16, 4)
    assert found is not None
    assert found.path == "in[].b"
    assert [(graph.canonical_name(t), at) for t, at in found.containers] == [
        ("struct outer", 16),
        ("struct inner[]", 12),
        ("struct inner", 4),
        ("int", 0),
    ]


def test_of_many_members_those_with_bytes_are_found(graph: TypeGraph) -> None:
    word, byte = integer(graph), integer(graph, "char", 1)
    none = array(graph, word, 0)
    row = [member("none", 0, none), *(member(f"m{k}", 8 * k, word) for k in range(100)), member("mark", 796, none)]
    many = struct(graph, "many", 808, *row, member("last", 800, word), member("rest", 804, array(graph, byte, -1)))
    for k in (0, 1, 50, 99):
        found = graph.member_at(many, 8 * k + 1, 1)
        assert found is not None and (found.path, found.offset) == (f"m{k}", 1)
        gap = graph.member_at(many, 8 * k + 5, 1)
        assert gap is not None and (gap.path, gap.type) == ("", many)
    for at, path in ((801, "last"), (804, "rest[]"), (5000, "rest[]")):
        found = graph.member_at(many, at, 1)
        assert found is not None and found.path == path
    # One that reaches over the next is found behind that as well.
    over = struct(graph, "over", 12, member("all", 0, array(graph, word, 3)), member("one", 4, word))
    found = graph.member_at(over, 8, 4)
    assert found is not None and found.path == "all[]"


def test_no_member_is_outside_its_type(graph: TypeGraph) -> None:
    word = integer(graph)
    node = struct(graph, "node", 8, member("key", 0, word))
    assert graph.member_at(node, 4, 4) is not None
    assert graph.member_at(node, 8, 4) is None
    assert graph.member_at(node, -4, 4) is None
    assert graph.member_at(array(graph, word, 3), 8, 4) is not None
    assert graph.member_at(array(graph, word, 3), 12, 4) is None


def test_padding_belongs_to_the_structure(graph: TypeGraph) -> None:
    node = struct(graph, "node", 8, member("key", 0, integer(graph)))
    found = graph.member_at(node, 4, 4)
    assert found is not None
    assert (found.path, found.type) == ("", node)


@pytest.mark.parametrize("count", [0, -1])
def test_a_flexible_array_has_any_number_of_elements(graph: TypeGraph, count: int) -> None:
    word = integer(graph)
    node = struct(graph, "node", 4, member("n", 0, word), member("data", 4, array(graph, word, count)))
    found = graph.member_at(node, 4004, 4)
    assert found is not None
    assert found.path == "data[]"


def test_a_unions_member_has_the_width_of_the_access(graph: TypeGraph) -> None:
    word, long = integer(graph), integer(graph, "long", 8)
    pair = struct(graph, "pair", 8, member("low", 0, word), member("high", 4, word))
    both = struct(graph, "both", 8, member("half", 0, pair), member("raw", 0, long), kind=Kind.UNION)
    wide, narrow = graph.member_at(both, 0, 8), graph.member_at(both, 0, 4)
    assert wide is not None and narrow is not None
    assert (wide.path, narrow.path) == ("raw", "half.low")
    assert set(wide.candidates) == {"raw", "half.low"}


def test_bit_fields_of_one_unit_are_candidates(graph: TypeGraph) -> None:
    word = integer(graph)
    flags = struct(
        graph,
        "flags",
        4,
        member("a", 0, word, bits=(0, 1)),
        member("b", 0, word, bits=(1, 3)),
        member("c", 0, word, bits=(9, 2)),
    )
    found = graph.member_at(flags, 0, 1)
    assert found is not None
    assert found.candidates == ("a", "b")


def test_a_value_of_another_width_has_no_type(graph: TypeGraph) -> None:
    word = integer(graph)
    pointer = graph.pointer_to(word)
    node = struct(graph, "node", 16, member("next", 0, pointer), member("key", 8, word))
    assert graph.value_at(node, 0, 8) == pointer
    assert graph.value_at(node, 0, 4) == 0
    assert graph.value_at(node, 2, 8) == 0


def test_pointers_of_two_types_in_a_union_have_no_type(graph: TypeGraph) -> None:
    one, two = graph.pointer_to(integer(graph)), graph.pointer_to(integer(graph, "long", 8))
    both = struct(graph, "both", 8, member("one", 0, one), member("two", 0, two), kind=Kind.UNION)
    same = struct(graph, "same", 8, member("one", 0, one), member("two", 0, one), kind=Kind.UNION)
    assert graph.value_at(same, 0, 8) == one
    assert graph.value_at(both, 0, 8) == 0


def test_names_see_through_typedefs_and_qualifiers(graph: TypeGraph) -> None:
    node = struct(graph, "node", 0)
    alias = graph.add(TypeRecord(Kind.TYPEDEF, "node_t", target=node))
    const = graph.add(TypeRecord(Kind.CONST, target=alias))
    assert graph.canonical_name(graph.pointer_to(const)) == "struct node*"
    assert graph.canonical_name(array(graph, const, 4)) == "struct node[]"


def test_an_unnamed_type_has_the_name_of_its_typedef(graph: TypeGraph) -> None:
    nameless = struct(graph, "", 4, member("a", 0, integer(graph)))
    inner = graph.add(TypeRecord(Kind.TYPEDEF, "atomic_t", target=nameless))
    outer = graph.add(TypeRecord(Kind.TYPEDEF, "counter_t", target=inner))
    assert graph.canonical_name(outer) == "atomic_t"


def test_equal_layouts_are_one_type_and_others_are_not(graph: TypeGraph) -> None:
    word = integer(graph)
    first = struct(graph, "node", 8, member("a", 0, word))
    again = struct(graph, "node", 8, member("a", 0, integer(graph)))
    other = struct(graph, "node", 8, member("a", 4, word))
    assert graph.canonical(again) == graph.canonical(first)
    assert graph.canonical(other) != graph.canonical(first)


def test_inherited_members_are_members(graph: TypeGraph) -> None:
    word = integer(graph)
    base = struct(graph, "Base", 4, member("id", 0, word))
    derived = struct(graph, "Derived", 8, member("", 0, base, base=True), member("more", 4, word))
    found = graph.member_at(derived, 0, 4)
    assert found is not None
    assert found.path == "id"


def test_records_are_loaded_at_first_use() -> None:
    asked: list[int] = []

    class Numbers:
        def load(self, key: int) -> TypeRecord | None:
            asked.append(key)
            return TypeRecord(Kind.INT, f"i{key}", 4)

        def keys(self, kinds: frozenset[Kind]) -> list[int]:
            return [1, 3, 9] if Kind.INT in kinds else []

    graph = TypeGraph()
    before = integer(graph)
    first = graph.reserve_many(Numbers(), 10)
    after = integer(graph)
    assert graph.name(first + 3) == "i3"
    assert graph.size(first + 3) == 4
    assert graph.of_kinds(frozenset({Kind.INT})) == [before, first + 1, first + 3, first + 9, after]
    assert graph.of_kinds(frozenset({Kind.STRUCT})) == []
    assert asked == [3]


def test_a_typedef_of_itself_is_counted(graph: TypeGraph) -> None:
    t = graph.add(TypeRecord(Kind.TYPEDEF, "loop", target=1))
    assert graph.strip(t) == 0
    assert graph.size(t) == 0
    assert [defect.kind for defect in graph.defects] == ["circular typedef"]


def test_a_structure_that_contains_itself_ends(graph: TypeGraph) -> None:
    t = struct(graph, "loop", 8, member("self", 0, 1), member("again", 0, 1))
    graph.member_at(t, 0, 4)
    assert "types nested too deeply" in {defect.kind for defect in graph.defects}


def test_an_array_of_itself_ends(graph: TypeGraph) -> None:
    t = array(graph, 1, 2)
    assert graph.size(t) == 0
    assert graph.canonical_name(t).endswith("[]")
    assert graph.member_at(t, 0, 1) is None


def test_an_array_of_itself_has_as_many_dimensions_as_the_limit() -> None:
    graph = TypeGraph(limits=Limits(type_depth=5))
    t = array(graph, 1, 2)
    assert graph.dimensions(t) == [t] * 5
    assert in_rows(graph, t, 8, 4) is None


def test_dimensions_are_those_of_nested_arrays(graph: TypeGraph) -> None:
    row = array(graph, integer(graph), 3)
    rows = array(graph, row, 2)
    assert graph.dimensions(rows) == [rows, row]
    assert graph.dimensions(integer(graph)) == []


def unions(graph: TypeGraph, levels: int) -> int:
    """Unions of two members of the union before, around one of two numbers."""
    inner = struct(graph, "u0", 8, *(member(name, 0, integer(graph, "long", 8)) for name in "xy"), kind=Kind.UNION)
    for level in range(1, levels):
        inner = struct(graph, f"u{level}", 8, member("a", 0, inner), member("b", 0, inner), kind=Kind.UNION)
    return inner


def test_nested_unions_are_visited_once_a_type(graph: TypeGraph) -> None:
    # All 2^40 paths lead to two numbers.
    t = unions(graph, 40)
    assert locate(graph, t, 5, 0, 4) == "unresolved array index"
    assert graph.alignment(t) == 8


def test_a_union_inside_of_itself_ends(graph: TypeGraph) -> None:
    t = struct(graph, "v", 8, member("a", 0, 1), member("b", 0, 1), kind=Kind.UNION)
    assert t == 1
    assert locate(graph, t, 5, 0, 4) == "unresolved array index"
    assert graph.alignment(t) == 1


@pytest.mark.parametrize("limits", [Limits(type_depth=4), Limits(type_steps=4)])
def test_unions_past_the_limits_are_counted(limits: Limits) -> None:
    graph = TypeGraph(limits=limits)
    assert locate(graph, unions(graph, 10), 5, 0, 4) == "unresolved array index"
    assert "types nested too deeply" in {defect.kind for defect in graph.defects}


@pytest.mark.parametrize(
    ("size", "bits", "path", "candidates"),
    [
        (1, 0b10, "b", ()),
        (1, 0b11, "a", ("a", "b")),
        (1, 0x80, "f", ()),
        (2, 0x8000, "f", ()),
        (4, 1 << 16, "g", ()),
    ],
)
def test_a_mask_selects_bit_fields(
    graph: TypeGraph, size: int, bits: int, path: str, candidates: tuple[str, ...]
) -> None:
    number = integer(graph, "unsigned int")
    fields = {"a": (0, 1), "b": (1, 1), "c": (2, 5), "f": (7, 9), "g": (16, 1)}
    t = struct(graph, "flags", 4, *(member(name, 0, number, bits=at) for name, at in fields.items()))
    found = graph.bits_at(t, 0, size, bits)
    assert found is not None
    assert (found.path, found.candidates) == (path, candidates)


def test_a_mask_counts_from_the_accessed_byte(graph: TypeGraph) -> None:
    number = integer(graph, "unsigned int")
    t = struct(graph, "flags", 4, member("f", 0, number, bits=(0, 9)), member("g", 0, number, bits=(9, 3)))
    paths = [found.path for bits in (1, 2) if (found := graph.bits_at(t, 1, 1, bits)) is not None]
    assert paths == ["f", "g"]
    assert graph.bits_at(t, 1, 1, 0x80) is None


def test_strides_of_an_unbounded_array_are_at_its_first_element(graph: TypeGraph) -> None:
    entry = struct(graph, "entry", 16, member("hash", 0, integer(graph)), member("used", 4, integer(graph)))
    t = struct(graph, "vec", 16, member("n", 0, integer(graph)), member("slots", 16, array(graph, entry, -1), size=0))
    found = locate(graph, t, 16, 16 * 18581050327 + 20, 4)
    assert isinstance(found, ResolvedMember)
    assert (found.offset, found.field.path) == (20, "slots[].used")


def test_an_array_larger_than_memory_is_counted(graph: TypeGraph) -> None:
    t = array(graph, array(graph, integer(graph), 1 << 40), 1 << 40)
    assert graph.size(t) == 0
    assert [defect.kind for defect in graph.defects] == ["type larger than memory"]


def test_types_past_the_limit_are_void() -> None:
    graph = TypeGraph(limits=Limits(types=2))
    assert integer(graph) == 1
    assert integer(graph) == 0
    assert graph.reserve_many(_Nothing(), 5) == 2
    assert len(graph) == 2


class _Nothing:
    def load(self, key: int) -> TypeRecord | None:
        return None

    def keys(self, kinds: frozenset[Kind]) -> list[int]:
        return []


def test_a_type_without_a_description_is_counted(graph: TypeGraph) -> None:
    t = graph.reserve(_Nothing(), 7)
    assert graph.kind(t) == Kind.OTHER
    assert [defect.kind for defect in graph.defects] == ["type without a description"]


def test_many_members_are_found_as_few_are() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "int", 4))
    empty = graph.add(TypeRecord(Kind.ARRAY, target=number, count=0))
    members = [Member(f"m{k}", 8 * k, -1, 64 * k, 0, number) for k in range(40)]
    members.insert(7, Member("none", 56, -1, 448, 0, empty))
    wide = graph.add(TypeRecord(Kind.STRUCT, "wide", 320, members=(*members, Member("rest", 316, -1, 0, 0, empty))))
    paths = [graph.member_at(wide, at, 4) for at in (0, 56, 312, 60, 316, 400)]
    assert [one.path if one is not None else None for one in paths] == ["m0", "m7", "m39", "", "rest[]", "rest[]"]
    assert graph.member_at(wide, 320, 4) is not None


def test_overlapping_members_are_all_found() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "int", 4))
    members = tuple(Member(f"m{k}", 4 * (k // 2), -1, 0, 0, number) for k in range(40))
    found = graph.member_at(graph.add(TypeRecord(Kind.UNION, "over", 80, members=members)), 40, 4)
    assert found is not None
    assert found.candidates == ("m20", "m21")


def test_an_object_is_found_in_any_variant(graph: TypeGraph) -> None:
    word, pointer = integer(graph, "long", 8), graph.pointer_to(integer(graph))
    either = struct(graph, "either", 8, member("n", 0, word), member("p", 0, pointer), kind=Kind.UNION)
    outer = struct(graph, "outer", 16, member("tag", 0, word), member("u", 8, either))
    assert graph.object_at(outer, 8, pointer) and graph.object_at(outer, 8, word)
    assert not graph.object_at(outer, 0, pointer) and not graph.object_at(outer, -8, word)


def test_alignment_is_that_of_the_largest_member_unless_packed(graph: TypeGraph) -> None:
    byte, word = integer(graph, "char", 1), integer(graph, "long", 8)
    even = struct(graph, "even", 16, member("c", 0, byte), member("n", 8, array(graph, word, 1)))
    packed = struct(graph, "packed", 9, member("c", 0, byte), member("n", 1, word))
    assert [graph.alignment(t) for t in (even, packed, array(graph, even, 3), byte)] == [8, 1, 8, 1]


def test_maybe_uninit_is_the_type_it_wraps(graph: TypeGraph) -> None:
    point = struct(graph, "point", 8, member("x", 0, integer(graph)), member("y", 4, integer(graph)))
    nothing = struct(graph, "()", 0)
    dropped = struct(graph, "core::mem::manually_drop::ManuallyDrop<point>", 8, member("value", 0, point))
    name = "core::mem::maybe_uninit::MaybeUninit<point>"
    maybe = struct(graph, name, 8, member("uninit", 0, nothing), member("value", 0, dropped), kind=Kind.UNION)
    assert graph.unwrapped(maybe) == point
    assert graph.unwrapped(point) == point
    number = struct(graph, "core::mem::manually_drop::ManuallyDrop<int>", 4, member("value", 0, integer(graph)))
    assert graph.unwrapped(number) == number


def test_offsets_and_sizes_beyond_memory_are_bounded() -> None:
    graph = TypeGraph()
    byte = graph.add(TypeRecord(Kind.CHAR, "char", 1))
    flexible = graph.add(TypeRecord(Kind.ARRAY, target=byte))
    pointers = graph.add(TypeRecord(Kind.ARRAY, target=graph.pointer_to(byte), count=1 << 63))
    far = graph.add(TypeRecord(Kind.STRUCT, "far", 8, members=(Member("at", 1 << 70, 1, 0, 0, byte),)))
    assert graph.size(pointers) == 0
    assert [defect.kind for defect in graph.defects] == ["type larger than memory"]
    assert graph.member_at(flexible, 1 << 80, 1) is None
    assert graph.value_at(byte, 0, 1 << 80) == 0
    found = graph.member_at(far, 0, 1)
    assert found is not None
    assert found.path == ""


def test_empty_nested_members_are_visited_once(graph: TypeGraph) -> None:
    # Ten thousand members, each of ten thousand, four times: no file of that size may take so long.
    inner = struct(graph, "", 0, member("", 0, integer(graph)))
    for _level in range(4):
        inner = struct(graph, "", 0, *[member("", 0, inner, size=0)] * 10_000)
    whole = struct(graph, "whole", 4, member("n", 0, integer(graph)), member("rest", 4, inner, size=0))
    assert graph.member_at(whole, 0, 4) is not None
    assert graph.member_at(whole, 4, 4) is None


def test_a_pointer_to_an_unknown_type_is_void(graph: TypeGraph) -> None:
    void = graph.add(TypeRecord(Kind.CONST, target=0))
    word = integer(graph)
    assert graph.is_void_pointer(graph.pointer_to(0))
    assert graph.is_void_pointer(graph.add(TypeRecord(Kind.TYPEDEF, "any", target=graph.pointer_to(void))))
    assert not any(map(graph.is_void_pointer, (0, word, graph.pointer_to(word), graph.pointer_to(graph.pointer_to(0)))))


def test_named_types_are_complete_only_when_all_are_loaded(graph: TypeGraph) -> None:
    class Known:
        def load(self, key: int) -> TypeRecord:
            return TypeRecord(Kind.STRUCT, f"s{key}", 8, keyword="struct")

        def keys(self, kinds: frozenset[Kind]) -> list[int]:
            return [0, 1] if Kind.STRUCT in kinds else []

    struct(graph, "node", 8, member("key", 0, integer(graph)))
    assert not graph.complete
    assert structures(graph) == []
    whole = TypeGraph()
    first = whole.reserve_many(Known(), 2)
    assert whole.complete
    assert structures(whole) == [first, first + 1]


def test_type_numbers_do_not_depend_on_earlier_queries() -> None:
    """Where types are found one by one, a number is one of C, whoever asks first."""
    types = []
    for before in (0, 1):
        graph = TypeGraph()
        if before:
            integer(graph, "short int", 8)
            integer(graph, "int", 2)
        found = [named_types.integer(graph, size, signed=True) for size in (2, 4, 8)]
        found += [named_types.integer(graph, 1, signed=False), named_types.floating_number(graph, 8)]
        types.append([(graph.name(t), graph.size(t)) for t in found])
        count = len(graph)
        named_types.number_types(TypeGraph())
        assert named_types.integer(graph, 4, signed=True) == found[1] and len(graph) == count
    assert types[0] == types[1] == [
        ("short int", 2), ("int", 4), ("long int", 8), ("unsigned char", 1), ("double", 8),
    ]  # fmt: skip  # a table
