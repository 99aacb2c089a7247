"""BTF: every kind, both byte orders, split files, damage; the running kernel's own."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.support.types.btf_builder import BtfBuilder

from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.limits import Limits
from undwarf.types import Kind
from undwarf.types.sources.btf import BtfFile, BtfTypes, open_btf
from undwarf.types.sources.from_btf import BtfSource

KERNEL = Path("/sys/kernel/btf/vmlinux")


def types_of(builder: BtfBuilder) -> BtfTypes:
    return BtfTypes(BtfFile(builder.bytes(), "built"))


@pytest.fixture(params=["<", ">"])
def builder(request: pytest.FixtureRequest) -> BtfBuilder:
    return BtfBuilder(request.param)


def node(builder: BtfBuilder) -> tuple[int, int]:
    """struct node { struct node *next; int key; }, and a pointer to it."""
    word = builder.integer("int", 4)
    pointer = builder.pointer(3)
    return builder.struct("node", 16, ("next", pointer, 0), ("key", word, 64)), pointer


def test_a_structure_with_a_pointer_to_itself(builder: BtfBuilder) -> None:
    number, pointer = node(builder)
    types = types_of(builder)
    graph, t = types.graph, types.number(number)
    assert graph.canonical_name(t) == "struct node"
    assert [(m.name, m.offset, m.size) for m in graph.members(t)] == [("next", 0, 8), ("key", 8, 4)]
    assert graph.value_at(t, 0, 8) == types.number(pointer)
    assert graph.canonical_name(types.number(pointer)) == "struct node*"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(8, Kind.TYPEDEF), (9, Kind.VOLATILE), (10, Kind.CONST), (11, Kind.RESTRICT), (18, Kind.TAG)],
)
def test_qualifiers_and_typedefs_wrap_a_type(builder: BtfBuilder, kind: int, expected: Kind) -> None:
    word = builder.integer("int", 4)
    types = types_of_added(builder, builder.add(kind, "t", word))
    assert types[0].graph.kind(types[1]) == expected
    assert types[0].graph.canonical_name(types[1]) == "int"


def types_of_added(builder: BtfBuilder, number: int) -> tuple[BtfTypes, int]:
    types = types_of(builder)
    return types, types.number(number)


@pytest.mark.parametrize(("encoding", "kind"), [(0, Kind.INT), (1, Kind.INT), (2, Kind.CHAR), (4, Kind.BOOL)])
def test_integer_encodings_give_the_kind(builder: BtfBuilder, encoding: int, kind: Kind) -> None:
    types, t = types_of_added(builder, builder.integer("x", 1, encoding=encoding))
    assert types.graph.kind(t) == kind


@pytest.mark.parametrize(("kind", "count", "words"), [(6, 1, (0, 1)), (19, 1, (0, 1, 2))])
def test_enumerations_of_both_widths(builder: BtfBuilder, kind: int, count: int, words: tuple[int, ...]) -> None:
    types, t = types_of_added(builder, builder.add(kind, "color", 4, *words, count=count))
    assert (types.graph.canonical_name(t), types.graph.size(t)) == ("enum color", 4)


def test_bit_fields_have_their_width_in_the_offset(builder: BtfBuilder) -> None:
    word = builder.integer("int", 4)
    number = builder.struct("flags", 4, ("a", word, 3 << 24 | 0), ("b", word, 5 << 24 | 3), flag=1)
    types, t = types_of_added(builder, number)
    assert [(m.bit_offset, m.bit_size) for m in types.graph.members(t)] == [(0, 3), (3, 5)]


def test_old_bit_fields_have_an_integer_of_their_width(builder: BtfBuilder) -> None:
    narrow = builder.integer("int", 4, bits=3)
    types, t = types_of_added(builder, builder.struct("flags", 4, ("a", narrow, 0), ("b", narrow, 3)))
    assert [(m.bit_offset, m.bit_size) for m in types.graph.members(t)] == [(0, 3), (3, 3)]


def test_arrays_have_elements(builder: BtfBuilder) -> None:
    word = builder.integer("int", 4)
    types, t = types_of_added(builder, builder.array(builder.array(word, word, 3), word, 2))
    graph = types.graph
    assert (graph.size(t), graph.stride(t), graph.element_count(t), graph.canonical_name(t)) == (24, 12, 2, "int[][]")


@pytest.mark.parametrize("union", [False, True])
def test_a_declaration_is_its_definition(builder: BtfBuilder, union: bool) -> None:
    word = builder.integer("int", 4)
    builder.struct("later", 4, ("a", word, 0), union=union)
    types, t = types_of_added(builder, builder.add(7, "later", 0, flag=int(union)))
    assert types.graph.size(t) == 4


def test_a_declaration_alone_has_no_size(builder: BtfBuilder) -> None:
    types, t = types_of_added(builder, builder.add(7, "never", 0))
    assert types.graph.kind(t) == Kind.FORWARD
    assert (types.graph.canonical_name(t), types.graph.size(t)) == ("struct never", 0)


def test_parameters_are_in_registers(builder: BtfBuilder) -> None:
    number, pointer = node(builder)
    word, real = 1, builder.add(16, "double", 8)
    large = builder.struct("large", 24, ("a", builder.array(word, word, 6), 0))
    proto = builder.prototype(word, ("n", pointer), ("d", real), ("l", large), ("k", word), ("v", number))
    builder.function("walk", proto)
    types = types_of(builder)
    source = BtfSource(types)
    found = source.prototype_named("walk")
    assert found is not None
    # A double is in a vector register, the large structure in memory, the last one takes two registers.
    assert found.arguments == (
        (5, types.number(pointer), 0),
        (4, types.number(word), 0),
        (1, types.number(number), 0),
        (2, types.number(number), 8),
    )


def test_a_structure_returned_in_memory_takes_the_first_register(builder: BtfBuilder) -> None:
    word = builder.integer("int", 4)
    large = builder.struct("large", 24, ("a", builder.array(word, word, 6), 0))
    builder.function("make", builder.prototype(large, ("k", word)))
    found = BtfSource(types_of(builder)).prototype_named("make")
    assert found is not None
    assert [register for register, _t, _at in found.arguments] == [5, 4]


@pytest.mark.parametrize("name", ["walk.isra.0", "walk.constprop.0", "walk.part.1", "walk.cold"])
def test_clones_have_no_arguments(builder: BtfBuilder, name: str) -> None:
    _number, pointer = node(builder)
    builder.function("walk", builder.prototype(pointer, ("n", pointer)))
    types = types_of(builder)
    found = BtfSource(types).prototype_named(name)
    assert found is not None
    assert (found.trusted, found.arguments, found.returns) == (False, (), types.number(pointer))


@pytest.mark.parametrize(("other", "trusted"), [("long", False), ("int", True)])
def test_functions_of_one_name_with_other_prototypes_are_untrusted(
    builder: BtfBuilder, other: str, trusted: bool
) -> None:
    """Static functions of two files; what they call their parameter does not matter."""
    numbers = {"int": builder.integer("int", 4), "long": builder.integer("long", 8)}
    builder.function("show", builder.prototype(numbers["int"], ("a", builder.pointer(numbers["int"]))))
    builder.function("show", builder.prototype(numbers["int"], ("b", builder.pointer(numbers[other]))))
    found = BtfSource(types_of(builder)).prototype_named("show")
    assert found is not None
    assert (found.trusted, bool(found.arguments), bool(found.returns)) == (trusted, trusted, trusted)


def test_a_last_parameter_without_a_name_is_an_ellipsis(builder: BtfBuilder) -> None:
    word = builder.integer("int", 4)
    builder.function("print", builder.prototype(word, ("k", word), ("", 0)))
    found = BtfSource(types_of(builder)).prototype_named("print")
    assert found is not None
    assert (found.variadic, len(found.parameters)) == (True, 1)


def test_per_cpu_variables_are_found_by_their_offset(builder: BtfBuilder) -> None:
    number, _pointer = node(builder)
    variable = builder.variable("heads", number)
    builder.section(".data..percpu", (variable, 64, 16))
    source = BtfSource(types_of(builder))
    found = source.per_cpu_at(72)
    assert found is not None
    assert (found[0].name, found[1]) == ("heads", 8)
    assert source.per_cpu_at(80) is None


def test_a_split_file_continues_its_base(builder: BtfBuilder) -> None:
    number, pointer = node(builder)
    base = BtfFile(builder.bytes(), "base")
    more = BtfBuilder(builder.mark, first=1 + len(base), strings_start=len(base.strings))
    own = more.struct("own", 16, ("head", pointer, 0), ("node", number, 64))
    more.function("module_walk", more.prototype(pointer, ("own", more.pointer(own))))
    types = BtfTypes(BtfFile(more.bytes(), "module", base=base))
    graph = types.graph
    assert [(m.name, graph.canonical_name(m.type)) for m in graph.members(types.number(own))] == [
        ("head", "struct node*"),
        ("node", "struct node"),
    ]
    assert BtfSource(types).prototype_named("module_walk") is not None


@pytest.mark.parametrize(
    "data", [b"", b"\x9f\xeb", b"\x7fELF" + bytes(60), struct.pack("<HBBI4I", 0xEB9F, 2, 0, 24, 0, 0, 0, 1)]
)
def test_data_that_is_no_btf_is_an_error(data: bytes) -> None:
    with pytest.raises(UnreadableInput):
        BtfFile(data)


def test_a_truncated_file_keeps_its_whole_types(builder: BtfBuilder) -> None:
    node(builder)
    data = builder.bytes()
    file = BtfFile(data[: 24 + 16 + 12 + 5])
    assert len(file) == 2
    assert "truncated BTF" in {defect.kind for defect in file.defects}


def test_an_unknown_kind_ends_the_types(builder: BtfBuilder) -> None:
    builder.integer("int", 4)
    builder.add(25, "new", 0)
    builder.integer("never", 4)
    file = BtfFile(builder.bytes())
    assert len(file) == 1
    assert [defect.kind for defect in file.defects] == ["unknown BTF kind"]


def test_a_reference_to_no_type_is_void(builder: BtfBuilder) -> None:
    types, t = types_of_added(builder, builder.pointer(99))
    assert types.graph.target(t) == 0
    assert [defect.kind for defect in types.graph.defects] == ["dangling type reference"]


def test_types_past_the_limit_are_left_out(builder: BtfBuilder) -> None:
    for _ in range(5):
        builder.integer("int", 4)
    file = BtfFile(builder.bytes(), limits=Limits(types=3))
    assert len(file) == 2
    assert [defect.kind for defect in file.defects] == ["too many types"]


def test_variables_are_where_their_symbols_are(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no compiler")
    program = tmp_path / "p"
    (tmp_path / "p.c").write_text("int counter = 3; int main(void) { return counter; }")
    subprocess.run([compiler, "-o", program, tmp_path / "p.c"], check=True)
    builder = BtfBuilder()
    word = builder.integer("int", 4)
    builder.section(".data", (builder.variable("counter", word), 0, 4))
    builder.function("main", builder.prototype(word))
    elf = ElfFile.open(program)
    source = BtfSource(types_of(builder), elf)
    assert source.symbols is not None
    [address] = source.symbols.variables["counter"]
    found = source.global_at(address + 2)
    assert found is not None
    assert (found[0].name, found[1]) == ("counter", 2)
    start = next(at for at, name in source.symbols.functions.items() if name == "main")
    assert source.prototype_at(start) is not None


@pytest.mark.skipif(not KERNEL.exists(), reason="this kernel has no BTF")
def test_the_running_kernel_is_read_whole() -> None:
    file = open_btf(str(KERNEL))
    source = BtfSource(BtfTypes(file))
    graph = source.graph
    task = source.types.number(source.types.structures["task_struct"])
    assert "pid" in {m.name for m in graph.members(task)}
    prototype = source.prototype_named("vfs_read")
    assert prototype is not None
    assert [register for register, _t, _at in prototype.arguments] == [5, 4, 1, 2]
    assert not len(file.defects)


def test_a_type_is_found_by_its_name(builder: BtfBuilder) -> None:
    number, _pointer = node(builder)
    types = types_of(builder)
    assert types.named("node") == types.number(number)
    assert (types.named("ode"), types.named("key"), types.named("int")) == (0, 0, 0)
