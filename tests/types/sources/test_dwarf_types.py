"""Types, variables and prototypes of compiled programs: gcc, clang, rustc; DWARF 4 and 5; split, shared, type units."""

import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.types import Kind, PlaceKind
from undwarf.types.sources.from_dwarf import DwarfSource

C_SOURCE = r"""
#include <stdint.h>
struct node { struct node *next; long key; int hits; short color; double weight; };
struct flags { unsigned a : 3, b : 5; unsigned long c : 40; };
union both { struct { uint16_t low, high; } half; uint32_t raw; float f; };
typedef struct { int n; union both u; struct flags f; double data[]; } packet_t;
struct ops { struct node *(*pick)(struct node *, int); };
struct grid { int cells[4][8]; };
int counters[256];
static struct grid grid;
struct node head;
struct ops ops;
__thread int mine = 4;
const struct ops *the_ops = &ops;
__attribute__((noinline)) long walk(struct node *n, int limit) {
    long sum = 0;
    for (; n && limit; n = n->next, limit--) { long twice = 2 * n->key; sum += twice; n->hits++; }
    return sum;
}
__attribute__((noinline)) struct node *use(packet_t *p, union both *b, const struct ops *const o) {
    static long calls; calls++;
    counters[p->n & 255]++; grid.cells[p->n & 3][1]++; mine++;
    return o->pick(&head, b->raw + p->f.b + (int)p->data[1]);
}
__attribute__((noreturn, noinline)) void stop(int code) { for (;;) __asm__ volatile("" :: "r"(code)); }
int main(int argc, char **argv) {
    if (argc > 5) stop(argc);
    return (int)walk(&head, argc) + (argc > 2 && use(0, 0, the_ops));
}
"""

SIZES_SOURCE = """
typedef unsigned char byte; enum way { in, out }; struct later; typedef const struct { short a, b; } pair;
struct all { byte one; volatile long *two; int three[3][5]; pair four; enum way five; struct later *six; byte seven[7];
    union { float f; double d; } eight; pair nine[2]; const volatile byte ten; long double eleven; int rest[]; } it;
int main(void) { return it.one; }
"""
CXX_SOURCE = r"""
namespace geo {
struct Base { int id; virtual ~Base() {} virtual int area() const { return id; } };
struct Mixin { long tags; };
class Shape : public Base, public Mixin {
public:
    double w; static int count; int area() const override { return (int)w; }
};
template <class T> struct Box { T *first; T value; };
struct Crate { Box<Mixin> held; Box<Mixin (*)(Box<Mixin> &)> packs; Box<geo::Box<Mixin>> twice; };
enum class Color : short { red };
struct Late : virtual Mixin { int x; };
struct Outer { struct Inner { int deep; } inner; };
struct Deep : virtual Base { int area() const override { return id + 1; } };
}
int geo::Shape::count = 1;
geo::Late late;
geo::Deep deep;
geo::Outer outer;
geo::Crate crate;
__attribute__((noinline)) double total(geo::Shape &s, geo::Box<int> &&b, geo::Color c, geo::Shape copy) {
    return s.w + b.value + (int)c + s.tags + copy.w + late.x + crate.held.value.tags;
}
int main(int argc, char **) {
    geo::Shape s{}; geo::Box<int> b{&argc, argc};
    return (int)total(s, static_cast<geo::Box<int> &&>(b), geo::Color::red, s);
}
"""

TEMPLATES_SOURCE = r"""
#include <cstddef>
namespace ns {
struct Key { int k; };
template <class T, std::size_t N> struct Few {
    T first[N]; template <class U> struct In { U of; T both; }; In<T *> in;
};
template <bool B, class... P> struct Many { int n; };
template <template <class> class C> struct Of { C<int> c; };
template <class F> struct Call { F *f; };
template <class T> struct One { T one; };
}
ns::Few<const ns::Key *, 3> few; ns::Many<true, int, ns::Key> many; ns::Of<ns::One> of;
ns::Call<int(const ns::Key &)> call;
int main() { return few.in.both != nullptr; }
"""

RUST_SOURCE = r"""
pub struct Node { key: u64, next: Option<Box<Node>>, tag: u8 }
pub enum Shape { Circle(f64), Rect { w: f64, h: f64 }, Nothing }
#[inline(never)] pub fn sum(xs: &[u32]) -> u64 { let mut t = 0; for x in xs { t += *x as u64; } t }
#[inline(never)] pub fn walk(n: &Node) -> u64 {
    let mut t = n.key;
    let mut c = &n.next;
    while let Some(b) = c { t += b.key + b.tag as u64; c = &b.next; }
    t
}
#[inline(never)] pub fn area(s: &Shape) -> f64 {
    match s { Shape::Circle(r) => *r, Shape::Rect { w, h } => w * h, Shape::Nothing => 0.0 }
}
fn main() {
    let n = std::env::args().count() as u64;
    let xs: Vec<u32> = (0..n as u32).collect();
    let all = area(&Shape::Rect { w: n as f64, h: 1.0 }) + area(&Shape::Circle(1.0)) + area(&Shape::Nothing);
    println!("{} {} {}", sum(&xs), walk(&Node { key: n, next: None, tag: 1 }), all);
}
"""

Build = Callable[..., DwarfSource]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The DWARF types of a source, compiled once for each compiler and flags."""
    made: dict[tuple[str, ...], Path] = {}
    place = tmp_path_factory.mktemp("programs")

    def program(compiler: str, source: str, *flags: str) -> Path:
        key = (compiler, source, *flags)
        if key not in made:
            tool = shutil.which(compiler) or shutil.which(str(Path.home() / ".cargo/bin" / compiler))
            if tool is None:
                pytest.skip(f"no {compiler}")
            suffix = {"g++": "cc", "clang++": "cc", "rustc": "rs"}.get(compiler, "c")
            text = place / f"p{len(made)}.{suffix}"
            text.write_text(source)
            made[key] = text.with_suffix("")
            subprocess.run([tool, "-g", *flags, "-o", made[key], text], check=True, cwd=place, capture_output=True)
        return made[key]

    def source_of(compiler: str, source: str, *flags: str) -> DwarfSource:
        elf = ElfFile.open(program(compiler, source, *flags))

        def find_split(name: str, directory: str, identity: int) -> list[ElfFile]:
            path = Path(directory) / name
            return [ElfFile.open(path)] if path.exists() else []

        found = DwarfSource.open(elf, find_split=find_split)
        assert found is not None
        return found

    return source_of


C_BUILDS = [
    ("gcc", "-O2"),
    ("gcc", "-O0"),
    ("gcc", "-O2", "-gdwarf-4"),
    ("gcc", "-O2", "-gdwarf-4", "-fdebug-types-section"),
    ("gcc", "-O2", "-fdebug-types-section"),
    ("gcc", "-O2", "-gsplit-dwarf"),
    ("gcc", "-O2", "-gdwarf-4", "-gsplit-dwarf"),
    ("gcc", "-O2", "-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section"),
    ("gcc", "-O2", "-gsplit-dwarf", "-fdebug-types-section"),
    ("clang", "-O2"),
    ("clang", "-O0"),
    ("clang", "-O2", "-gdwarf-4"),
    ("clang", "-O2", "-gsplit-dwarf", "-gdwarf-5"),
]


@pytest.fixture(params=C_BUILDS, ids=" ".join)
def c_program(request: pytest.FixtureRequest, build: Build) -> DwarfSource:
    compiler, *flags = request.param
    return build(compiler, C_SOURCE, *flags)


def start_of(source: DwarfSource, name: str) -> int:
    return next(at for at, symbol in source.symbols.functions.items() if name in symbol and "cold" not in symbol)


def parameter(source: DwarfSource, function: str, name: str) -> int:
    prototype = source.prototype_at(start_of(source, function))
    assert prototype is not None
    return dict(prototype.parameters)[name]


def test_a_structure_has_its_members(c_program: DwarfSource) -> None:
    graph = c_program.graph
    node = graph.target(parameter(c_program, "walk", "n"))
    assert graph.canonical_name(node) == "struct node"
    assert [(m.name, m.offset, m.size) for m in graph.members(node)] == [
        ("next", 0, 8),
        ("key", 8, 8),
        ("hits", 16, 4),
        ("color", 20, 2),
        ("weight", 24, 8),
    ]


def test_bit_fields_unions_and_a_flexible_array(c_program: DwarfSource) -> None:
    graph = c_program.graph
    packet = graph.target(parameter(c_program, "use", "p"))
    assert graph.canonical_name(packet) == "packet_t"
    flags = next(m for m in graph.members(packet) if m.name == "f")
    assert [(m.name, m.bit_offset, m.bit_size) for m in graph.members(flags.type)] == [
        ("a", 0, 3),
        ("b", 3, 5),
        ("c", 8, 40),
    ]
    data = graph.member_at(packet, graph.size(packet) + 8, 8)
    assert data is not None
    assert data.path == "data[]"
    shared = graph.member_at(packet, 4, 4)
    assert shared is not None
    assert graph.name(graph.strip(shared.type)) in ("unsigned int", "float")


def test_globals_are_found_by_address(c_program: DwarfSource) -> None:
    graph = c_program.graph
    for name, offset, expected, size in (
        ("counters", 800, "int[]", 1024),
        ("grid", 36, "struct grid", 128),
        ("head", 8, "struct node", 32),
        ("the_ops", 0, "struct ops*", 8),
        ("calls", 0, "long int", 8),
    ):
        [address] = [
            at for symbol, places in c_program.symbols.variables.items() if name in symbol.split(".") for at in places
        ]
        found = c_program.global_at(address + offset)
        assert found is not None, name
        variable, within = found
        spelt = graph.canonical_name(variable.type).replace("long int", "long").replace("long", "long int")
        assert (variable.name, spelt, variable.size, within) == (name, expected, size, offset)


def test_thread_local_variables_are_found_by_offset(c_program: DwarfSource) -> None:
    found = c_program.thread_local_at(2)
    assert found is not None
    assert (found[0].name, found[1]) == ("mine", 2)


def test_prototypes_have_the_return_type(c_program: DwarfSource) -> None:
    graph = c_program.graph
    used = c_program.prototype_at(start_of(c_program, "use"))
    stop = c_program.prototype_at(start_of(c_program, "stop"))
    assert used is not None and stop is not None
    assert graph.canonical_name(used.returns) == "struct node*"
    assert stop.noreturn
    ops = graph.target(dict(used.parameters)["o"])
    pick = graph.value_at(ops, 0, 8)
    assert graph.canonical_name(graph.returns(pick)) == "struct node*"


def test_the_first_parameter_has_a_location(c_program: DwarfSource) -> None:
    low, high = c_program.function_range(start_of(c_program, "walk")) or (0, 0)
    assert low < high
    places = [place for place in c_program.function_places(low, high) if place.name == "n"]
    assert places
    kinds = {place.kind for place in places}
    # Without optimization it is in the frame, by the call frame address or by a frame register.
    assert kinds <= {PlaceKind.REGISTER, PlaceKind.CFA, PlaceKind.MEMORY}
    first = c_program.places(low)
    if PlaceKind.REGISTER in kinds:
        assert (5, "struct node*") in {
            (place.register, c_program.graph.canonical_name(place.type)) for scope in first for place in scope
        }


def test_scopes_are_innermost_first(build: Build) -> None:
    source = build("gcc", C_SOURCE, "-O0")
    low, high = source.function_range(start_of(source, "walk")) or (0, 0)
    names = [[place.name for place in scope] for pc in range(low, high) for scope in [*source.places(pc)][:1]]
    assert ["twice"] in names
    inside = next(source.places(pc) for pc in range(low, high) if [p.name for p in source.places(pc)[0]] == ["twice"])
    assert {place.name for place in inside[1]} == {"n", "limit", "sum"}


def test_clones_are_not_trusted(build: Build) -> None:
    source = build("gcc", C_SOURCE, "-O2")
    prototypes = [source.prototype_at(at) for at, name in source.symbols.functions.items() if ".constprop" in name]
    assert all(one is not None and not one.trusted for one in prototypes)


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("g++", ("-O2",)),
        ("g++", ("-O0", "-fdebug-types-section")),
        ("g++", ("-O2", "-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section")),
        ("clang++", ("-O2",)),
        ("clang++", ("-O2", "-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section")),
    ],
)
class TestCxx:
    def test_bases_are_members(self, build: Build, compiler: str, flags: tuple[str, ...]) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        graph = source.graph
        reference = parameter(source, "_Z5total", "s")
        shape = graph.target(reference)
        assert graph.kind(graph.strip(reference)) == Kind.REFERENCE
        assert graph.canonical_name(shape) == "class geo::Shape"
        paths = [graph.member_at(shape, at, size) for at, size in ((8, 4), (16, 8), (24, 8))]
        assert [one.path for one in paths if one is not None] == ["id", "tags", "w"]
        assert "count" not in {m.name for m in graph.members(shape)}

    def test_templates_keep_their_arguments(self, build: Build, compiler: str, flags: tuple[str, ...]) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        assert source.graph.canonical_name(parameter(source, "_Z5total", "b")) == "struct geo::Box<int>&&"
        assert source.graph.canonical_name(parameter(source, "_Z5total", "c")) == "enum geo::Color"

    @pytest.mark.parametrize(
        "name", ["Box<geo::Mixin>", "geo::Box<geo::Mixin>", "geo::Box<geo::Box<geo::Mixin> >", "Mixin", "geo::Mixin"]
    )
    def test_types_of_all_languages_are_found_by_name(
        self, build: Build, compiler: str, flags: tuple[str, ...], name: str
    ) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        # gcc and clang write the names of templates of templates differently.
        found = [source.type_named(one) for one in {name, name.replace("> >", ">>")}]
        types = {source.graph.canonical_name(t).replace("> >", ">>") for t in found if t}
        assert types == {"struct geo::" + name.removeprefix("geo::").replace("> >", ">>")}
        assert not source.type_named(f"other::{name}")

    def test_a_virtual_base_has_no_fixed_offset(self, build: Build, compiler: str, flags: tuple[str, ...]) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        found = source.global_at(source.symbols.variables["late"][0])
        assert found is not None
        assert [m.name for m in source.graph.members(found[0].type) if not m.name.startswith("_vptr")] == ["x"]

    def test_types_are_found_by_their_names(self, build: Build, compiler: str, flags: tuple[str, ...]) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        names = {name: source.graph.canonical_name(source.type_named(name)) for name in ("geo::Shape", "Late", "Inner")}
        expected = {"geo::Shape": "class geo::Shape", "Late": "struct geo::Late", "Inner": "struct geo::Outer::Inner"}
        assert names == expected

    def test_a_thunks_argument_is_a_base_of_its_methods_object(
        self, build: Build, compiler: str, flags: tuple[str, ...]
    ) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        thunk = source.prototype_at(start_of(source, "_ZTv0_n32_NK3geo4Deep4areaEv"))
        assert thunk is not None
        assert thunk.whole is not None
        [(_register, this, _piece)] = thunk.arguments
        assert source.graph.canonical_name(source.graph.target(this)) == "struct geo::Base"
        assert source.graph.canonical_name(thunk.whole[1]) == "struct geo::Deep"

    def test_static_members_are_variables(self, build: Build, compiler: str, flags: tuple[str, ...]) -> None:
        source = build(compiler, CXX_SOURCE, *flags)
        [address] = source.symbols.variables["_ZN3geo5Shape5countE"]
        found = source.global_at(address)
        assert found is not None
        assert (found[0].name, source.graph.canonical_name(found[0].type)) == ("count", "int")


@pytest.mark.parametrize("flags", [(), ("-gsimple-template-names",)])
def test_templates_are_named_with_their_arguments(build: Build, flags: tuple[str, ...]) -> None:
    try:
        source = build("clang++", TEMPLATES_SOURCE, "-O0", *flags)
    except subprocess.CalledProcessError:
        pytest.skip("this clang does not know the option")
    graph = source.graph
    found = {}
    for name in ("few", "many", "of", "call"):
        held = source.global_at(source.symbols.variables[name][0])
        assert held is not None
        found[name] = graph.canonical_name(held[0].type)
        if name == "few":
            found["in"] = graph.canonical_name(graph.members(held[0].type)[1].type)
    assert found == {
        "few": "struct ns::Few<const ns::Key *, 3UL>",
        "in": "struct ns::Few<const ns::Key *, 3UL>::In<const ns::Key **>",
        "many": "struct ns::Many<true, int, ns::Key>",
        "of": "struct ns::Of<ns::One>",
        "call": "struct ns::Call<int (const ns::Key &)>",
    }


@pytest.mark.timeout(20)
def test_function_types_as_parameters_are_named_once_each(build: Build) -> None:
    # All that the last one takes are 8^8 functions, for which the compiler itself takes most of a second.
    takes = "".join(f"typedef void (*F{n})({', '.join([f'F{n - 1}'] * 8)});" for n in range(1, 9))
    text = f"typedef void (*F0)(int); {takes} template <class T> struct S {{ T x; }}; S<F8> one; int main() {{}}"
    try:
        source = build("clang++", text, "-O0", "-gsimple-template-names")
    except subprocess.CalledProcessError:
        pytest.skip("this clang does not know the option")
    held = source.global_at(source.symbols.variables["one"][0])
    assert held is not None
    name = source.graph.canonical_name(held[0].type)
    assert name.startswith("struct S<void (void (") and len(name) < 4200


class TestRust:
    def test_types_of_all_languages_are_found_by_name(self, build: Build) -> None:
        source = build("rustc", RUST_SOURCE, "-O")
        # Their own module is called as the file is.
        name = source.graph.canonical_name(source.graph.target(parameter(source, "4walk17h", "n")))
        name = f"core::option::Option<alloc::boxed::Box<{name}, alloc::alloc::Global>>"
        assert source.graph.canonical_name(source.type_named(name)) == name
        assert source.type_named(name.removeprefix("core::option::"))

    def test_a_slice_is_in_two_registers(self, build: Build) -> None:
        source = build("rustc", RUST_SOURCE, "-O")
        graph = source.graph
        low, high = source.function_range(start_of(source, "3sum17h")) or (0, 0)
        pieces = {
            (place.register, place.piece_offset, place.piece_size)
            for place in source.function_places(low, low + 1)
            if place.name == "xs"
        }
        assert pieces == {(5, 0, 8), (4, 8, 8)}
        slice_type = parameter(source, "3sum17h", "xs")
        assert graph.canonical_name(graph.target(graph.value_at(slice_type, 0, 8))) == "u32"
        assert high > low

    def test_the_pointer_in_an_option_is_a_pointer(self, build: Build) -> None:
        source = build("rustc", RUST_SOURCE, "-O")
        graph = source.graph
        node = graph.target(parameter(source, "4walk17h", "n"))
        assert graph.canonical_name(node).endswith("::Node")
        next_member = next(m for m in graph.members(node) if m.name == "next")
        assert graph.kind(next_member.type) == Kind.VARIANT
        assert graph.canonical(graph.target(graph.value_at(node, next_member.offset, 8))) == graph.canonical(node)

    def test_variants_overlap(self, build: Build) -> None:
        source = build("rustc", RUST_SOURCE, "-O")
        graph = source.graph
        shape = graph.target(parameter(source, "4area17h", "s"))
        found = graph.member_at(shape, 8, 8)
        assert found is not None
        assert {"Circle.__0", "Rect.w"} <= set(found.candidates)


def test_declarations_are_resolved_in_other_units(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (tmp_path / "a.c").write_text(
        "struct late; long use(struct late *p); struct late *kept;\nint main(void) { return (int)use(kept); }"
    )
    (tmp_path / "b.c").write_text("struct late { long a, b; };\nlong use(struct late *p) { return p ? p->b : 0; }")
    subprocess.run(["gcc", "-g", "-o", "p", "a.c", "b.c"], check=True, cwd=tmp_path)
    source = DwarfSource.open(ElfFile.open(tmp_path / "p"))
    assert source is not None
    found = source.global_at(source.symbols.variables["kept"][0])
    assert found is not None
    assert [m.name for m in source.graph.members(source.graph.target(found[0].type))] == ["a", "b"]


def test_partial_units_that_dwz_moved_are_found(tmp_path: Path) -> None:
    if shutil.which("gcc") is None or shutil.which("dwz") is None:
        pytest.skip("no gcc or no dwz")
    (tmp_path / "p.c").write_text(C_SOURCE)
    for name in ("p1", "p2"):
        subprocess.run(["gcc", "-g", "-O1", "-o", name, "p.c"], check=True, cwd=tmp_path)
    subprocess.run(["dwz", "-m", "common", "p1", "p2"], check=True, cwd=tmp_path)
    source = DwarfSource.open(ElfFile.open(tmp_path / "p1"), find_alt=lambda _elf: ElfFile.open(tmp_path / "common"))
    assert source is not None
    graph = source.graph
    node = graph.target(parameter(source, "walk", "n"))
    assert [m.name for m in graph.members(node)] == ["next", "key", "hits", "color", "weight"]
    assert graph.canonical_name(node) == "struct node"


def compiled(place: Path, compiler: str, text: str, *flags: str, suffix: str = "c") -> DwarfSource:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (place / f"p.{suffix}").write_text(text)
    subprocess.run([compiler, "-g", *flags, "-o", "p", f"p.{suffix}"], check=True, cwd=place)
    source = DwarfSource.open(ElfFile.open(place / "p"))
    assert source is not None
    return source


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_unnamed_type_has_the_name_of_the_typedef_beside_it(tmp_path: Path, compiler: str) -> None:
    text = """
    namespace n { typedef struct { int x, y; } point_t; }
    template <class T> struct Row { typedef T value_type; value_type *first; value_type last; };
    Row<n::point_t> row; n::point_t one; int main() { return row.last.y + one.x; }
    """
    source = compiled(tmp_path, compiler, text, suffix="cc")
    graph = source.graph
    found = source.global_at(source.symbols.variables["row"][0])
    assert found is not None
    first, last = graph.members(found[0].type)
    assert graph.canonical_name(last.type) == "n::point_t"
    assert graph.canonical_name(first.type) == "n::point_t*"


def test_a_variable_in_pieces_has_a_location_for_each(tmp_path: Path) -> None:
    text = """
    static struct { int a, b; long *p; } pair = {1, 2, 0};
    __attribute__((noinline)) int add(int k) { pair.a += k; return pair.a; }
    __attribute__((noinline)) long set(long *k) { pair.p = k; return *pair.p; }
    int main(int c, char **v) { long l = c; return add(c) + set(&l); }
    """
    source = compiled(tmp_path, "clang", text, "-O2")
    places = [at for name, ats in source.symbols.variables.items() if name.startswith("pair") for at in ats]
    if len(places) < 2:
        pytest.skip("the compiler left the variable whole")
    found = [source.global_at(at) for at in sorted(places)]
    assert {(one[0].name, one[1]) for one in found if one is not None} >= {("pair", 0), ("pair", 8)}


def test_an_aligned_buffer_of_the_library_holds_an_object(tmp_path: Path) -> None:
    text = """
    #include <map>
    struct Order { int id; double price; };
    __attribute__((noinline)) double sum(std::map<int, Order> &m) {
        double s = 0; for (auto &p : m) s += p.second.price; return s;
    }
    int main(int c, char **) { std::map<int, Order> m; m[c].price = c; return sum(m); }
    """
    source = compiled(tmp_path, "g++", text, "-O0", suffix="cc")
    graph = source.graph
    pc = next(at for at, name in source.symbols.functions.items() if name.startswith("_ZNSt13_Rb_tree_nodeI"))
    direct = source.related(pc)[0]
    [node] = [t for t in direct if graph.name(t).startswith("std::_Rb_tree_node<")]
    found = graph.member_at(node, 48, 8)
    assert found is not None
    assert (graph.name(found.type), found.path.rpartition(".")[2]) == ("double", "price")


def test_a_function_mentions_what_its_variables_point_to(tmp_path: Path) -> None:
    text = """
    struct Inner { int a; }; struct Base { Base *next; }; template <class T> struct Node : Base { T value; };
    template <class T> struct List { typedef Node<T> node_type; Base *head; node_type *at(int); };
    __attribute__((noinline)) int first(List<Inner> *l) { return ((Node<Inner> *)l->head)->value.a; }
    int main() { Node<Inner> n{}; List<Inner> l{&n}; return first(&l); }
    """
    source = compiled(tmp_path, "g++", text, "-O2", suffix="cc")
    graph = source.graph
    direct, named, further = ([graph.name(t) for t in group] for group in source.related(start_of(source, "first")))
    assert direct == ["List<Inner>"]
    assert set(named) == {"Node<Inner>", "Inner"}
    assert {"List<Inner>", "Node<Inner>", "Inner", "Base"} == set(further)


def test_parameters_in_a_pack_are_parameters(tmp_path: Path) -> None:
    text = """
    struct Order { int id; double price; };
    template <class... A> __attribute__((noinline)) double sum(int k, A &&...a) { return (a.price + ... + k); }
    int main(int c, char **) { Order x{c, 1}, y{c, 2}; return sum(c, x, y); }
    """
    source = compiled(tmp_path, "g++", text, "-O1", "-std=c++17", suffix="cc")
    graph = source.graph
    low = start_of(source, "_Z3sum")
    prototype = source.prototype_at(low)
    assert prototype is not None
    assert [graph.canonical_name(t) for _name, t in prototype.parameters] == ["int", "struct Order&", "struct Order&"]
    assert {place.register for scope in source.places(low) for place in scope if graph.is_pointer(place.type)} == {4, 1}


def test_answers_do_not_depend_on_the_cache_size(build: Build, tmp_path: Path) -> None:
    small = Limits(dwarf_bytes=1)
    path = build("gcc", C_SOURCE, "-O2").graph.subject
    sources = [DwarfSource.open(ElfFile.open(path), limits=limits) for limits in (small, Limits())]
    found = []
    for source in sources:
        assert source is not None
        starts = [start_of(source, name) for name in ("walk", "use", "main", "walk")]
        found.append(
            [
                [(place.name, place.kind, source.graph.canonical_name(place.type)) for place in scope]
                for start in starts
                for scope in source.places(start)
            ]
        )
    assert found[0] == found[1]
    assert sources[0] is not None and sources[1] is not None
    # Private: a cache is not seen but for its size.
    assert (len(sources[0]._functions), len(sources[1]._functions)) == (1, 3)


def test_a_closure_is_preferred_to_its_captured_variables(tmp_path: Path) -> None:
    text = """
    template <class F> __attribute__((noinline)) long each(long n, F f) { long s = 0; while (n) s += f(n--); return s; }
    int main(int c, char **) { long a = c, b = 2; return each(c, [&a, &b](long k) { return a * k + b; }); }
    """
    source = compiled(tmp_path, "g++", text, "-O0", suffix="cc")
    pc = next(at for at, name in source.symbols.functions.items() if "ENKUl" in name)
    low, high = source.function_range(pc) or (0, 0)
    here = [place for place in source.function_places(low, high) if place.offset == place_of_closure(source, low, high)]
    assert here[-1].name == "__closure"


def place_of_closure(source: DwarfSource, low: int, high: int) -> int:
    return next(place.offset for place in source.function_places(low, high) if place.name == "__closure")


@pytest.mark.parametrize("flags", ["-gdwarf-5", "-gdwarf-4", "-gdwarf-2"])
def test_member_sizes_are_known_without_their_types_records(build: Build, flags: str) -> None:
    source = build("gcc", SIZES_SOURCE, "-O1", flags)
    graph = source.graph
    whole = source.type_named("all")
    members = graph.members(whole)
    if flags == "-gdwarf-5":
        # Of the others some are told in ways that are left to the records.
        assert {graph.strip(whole), 0} >= {t for t in graph.loaded() if graph.kind(t) != Kind.TYPEDEF}
    assert {m.name: m.size for m in members} == {
        "one": 1, "two": 8, "three": 60, "four": 4, "five": 4, "six": 8, "seven": 7, "eight": 8, "nine": 8, "ten": 1,
        "eleven": 16, "rest": 0,
    }  # fmt: skip  # a table
    assert [m.size for m in members] == [graph.size(m.type) for m in members]


@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cc")])
def test_members_are_read_when_they_are_queried(tmp_path: Path, compiler: str, suffix: str) -> None:
    text = "struct in { int x; }; struct t { long a; struct in b; } whole; int main(void) { return whole.b.x; }"
    graph = (source := compiled(tmp_path, compiler, text, suffix=suffix)).graph
    t = source.type_named("t")
    assert (graph.canonical_name(t), graph.size(t), graph.canonical(t)) == ("struct t", 16, t)
    given_out = len(graph)
    assert [(member.name, member.offset) for member in graph.members(t)] == [("a", 0), ("b", 8)]
    # The types of the members have numbers now.
    assert len(graph) == given_out + 2


def test_equal_members_of_two_units_have_one_shape(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    members = (
        "typedef int word; struct in { word x; }; struct t { word a; struct in *p; char c[4][2]; unsigned b : 3; };"
    )
    changes = {"b": ("", ""), "c": ("[4][2]", "[4]"), "d": ("in *p", "in **p"), "e": (" a;", " n;")}
    for name, (old, new) in changes.items():
        text = f"{members.replace(old, new)}\nlong use_{name}(struct t *t) {{ return (long)t->p; }}\n"
        (tmp_path / f"{name}.c").write_text(text + ("int main(void) { return 0; }" if name == "b" else ""))
    # What is only declared is called the same.
    members = members.replace("struct in { word x; };", "struct in;")
    (tmp_path / "f.c").write_text(f"#include <stddef.h>\n{members}\nlong use_f(struct t *t) {{ return (long)t->p; }}")
    subprocess.run(["gcc", "-g", "-o", "p", *(f"{name}.c" for name in "bcdef")], check=True, cwd=tmp_path)
    source = DwarfSource.open(ElfFile.open(tmp_path / "p"))
    assert source is not None
    graph = source.graph
    found = [graph.target(parameter(source, f"use_{name}", "t")) for name in "bcdef"]
    unread = [graph.record(t).unread for t in found]
    shapes = [one.shape() for one in unread if one is not None]
    assert len(shapes) == 5 and all(shapes) and shapes[0] == shapes[4] and len(set(shapes)) == 4
    assert [graph.layout(t) == graph.layout(found[0]) for t in found] == [True, False, False, False, True]
    assert graph.canonical(found[0]) == graph.canonical(found[4])


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_frame_bases_and_lists_of_dwarf_2_are_understood(tmp_path: Path, level: str) -> None:
    text = """
    struct pair { long a, b; };
    void seen(struct pair *p, long n) { __asm__ volatile("" :: "r"(p) : "memory"); p->b = n; }
    __attribute__((noinline)) long both(struct pair *p, struct pair *q)
    { struct pair here = { q->a, 2 }; seen(&here, q->b); seen(p, here.b); return here.a + p->b; }
    int main(int argc, char **argv) { struct pair one = { argc, 1 }; return both(&one, &one); }
    """
    if shutil.which("gcc") is None or platform.machine() != "x86_64":
        pytest.skip("no gcc for x86-64")
    types = []
    for flags in (("-gdwarf-2", "-gstrict-dwarf"), ("-gdwarf-4",)):
        source = compiled(tmp_path, "gcc", text, level, *flags)
        low = next(address for address, name in source.symbols.functions.items() if name == "both")
        low, high = source.function_range(low) or (0, 0)
        # What is computed cannot be told in DWARF 2.
        found = [one for one in source.function_places(low, high) if one.kind in (PlaceKind.REGISTER, PlaceKind.CFA)]
        types.append({(place.name, place.kind, place.register, place.offset) for place in found})
    assert {one[0] for one in types[0]} >= ({"p", "q", "here"} if level == "-O0" else {"p", "q"})
    assert types[0] <= types[1]


@pytest.mark.parametrize("how", ["Expressions", "Form"])
def test_functions_may_start_at_an_offset_from_an_indexed_address(tmp_path: Path, how: str) -> None:
    text = """
    struct pair { long a, b; };
    __attribute__((noinline)) long first(struct pair *p, long n) { return p->a * n; }
    __attribute__((noinline)) long second(struct pair *q, long m)
    { if (m > 3) { long k = q->b; return k * k; } return m; }
    int main(int argc, char **argv) { struct pair one = { argc, 1 }; return first(&one, argc) + second(&one, argc); }
    """
    flags = ["-O1", "-gdwarf-5", "-mllvm", f"-minimize-addr-in-v5={how}"]
    try:
        source = compiled(tmp_path, "clang", text, *flags)
    except subprocess.CalledProcessError:
        pytest.skip("clang does not know how to")
    starts = {name: address for address, name in source.symbols.functions.items()}
    for function, name in (("first", "p"), ("second", "q")):
        low, high = source.function_range(starts[function]) or (0, 0)
        assert low == starts[function]
        assert name in {place.name for place in source.function_places(low, high)}
