"""`undwarf types --binary --at` on programs compiled here."""

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.types.programs import LIST, accesses_of, answers, build, function_of, guarded

from undwarf.cli.main import undwarf
from undwarf.types.sources.parameter_registers import thunk_of, virtual_thunk_of
from undwarf.views.tables.dump import Binary


@pytest.mark.parametrize("place", ["program.debug", ".debug/program.debug"])
@pytest.mark.parametrize("named", ["program", "./program", "../here/program", "link"])
def test_the_debug_file_beside_a_program_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, named: str
) -> None:
    (tmp_path / "here").mkdir()
    binary = build(tmp_path / "here", LIST, "list.c", "-O2", "-Wl,--build-id=none")
    if shutil.which("objcopy") is None:
        pytest.skip("no objcopy")
    start, size = function_of(binary, "walk")
    debug = tmp_path / "here" / place
    debug.parent.mkdir(exist_ok=True)
    for command in (["--only-keep-debug", binary, debug], ["--strip-all", f"--add-gnu-debuglink={debug}", binary]):
        subprocess.run(["objcopy", *command], check=True, capture_output=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(binary)
    monkeypatch.chdir(tmp_path / ("elsewhere" if named == "link" else "here"))
    addresses = ",".join(f"{at:x}" for at in range(start, start + size))
    result = CliRunner().invoke(undwarf, ["types", "--binary", named, "--at", addresses, "--json"])
    assert result.exit_code == 0, result.output
    assert "struct node" in {one["type"] for one in accesses_of(result.stdout)}
    assert Binary.open(named).debug_elf() is not None


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_members_of_a_list_are_found(tmp_path: Path, compiler: str, level: str) -> None:
    binary = build(tmp_path, LIST, "list.c", level, compiler=compiler)
    found = {(one["type"], one["field"], one["access"]) for one in answers(binary, "walk")}
    assert ("struct node", "key", "r") in found
    assert ("struct node", "next", "r") in found
    assert any(t in ("int[]", "int") and "w" in access for t, _field, access in found)
    unknown = [one for one in answers(binary, "walk") if one["type"] is None and one["how"] == ""]
    assert not unknown


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_line_tables_alone_have_no_types(tmp_path: Path, compiler: str) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2", "-g1", compiler=compiler)
    found = [one for one in answers(binary, "walk") if one["how"] not in ("stack", "spill")]
    assert not any(one["type"] for one in found)
    # Global variables are known by their addresses.
    assert {one["reason"] for one in found} - {"no variable at this address"} == {"no types for this function"}


def test_all_bit_fields_of_a_unit_are_candidates(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    stored = [one for one in answers(binary, "walk") if one["field"].startswith("tail[]")]
    assert stored
    assert all(set(one["candidates"]) == {"tail[].low", "tail[].high"} for one in stored)


def test_an_address_within_an_instruction_has_a_reason(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    start, _size = function_of(binary, "main")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", f"{start + 1:x}", "--json"])
    (one,) = accesses_of(result.stdout)
    assert one["type"] is None
    assert one["reason"] == "not the start of an instruction"


def test_a_binary_without_types_is_an_error(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-g0")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", "1000"])
    assert result.exit_code != 0
    assert "no type information" in str(result.exception)


CONTAINERS = """
#include <map>
#include <vector>
#include <cstdlib>
struct Item { int key; double weight; short flags; };
struct Base { virtual ~Base() {} long id; };
struct Sized : Base { double side; };
__attribute__((noinline)) long find(const std::map<int, Item> &m, int k)
{
	auto it = m.find(k);
	return it == m.end() ? 0 : it->second.key + it->second.flags;
}
__attribute__((noinline)) double total(const std::vector<Item> &v)
{
	double s = 0;
	for (auto &i : v) s += i.weight;
	return s;
}
__attribute__((noinline)) double sized(const Sized &s) { return s.side * s.id; }
int main(int argc, char **)
{
	std::map<int, Item> m;
	m[argc] = Item{1, 2, 3};
	std::vector<Item> v(4);
	Sized s;
	return find(m, argc) + total(v) + sized(s);
}
"""

RUST = """
use std::collections::BTreeMap;
pub struct Body { pub mass: f64, pub id: u32, pub live: bool }
pub struct World { pub bodies: Vec<Body>, pub rows: Vec<Vec<u32>>, pub index: BTreeMap<u32, Body> }
pub enum Shape { Circle(f64), Square { side: u32, wide: u64 } }
#[no_mangle] #[inline(never)] pub fn masses(b: &[Body]) -> f64 {
    let mut s = 0.0; for x in b { if x.live { s += x.mass } } s
}
#[no_mangle] #[inline(never)]
pub fn rows(w: &World) -> u32 { w.rows.iter().flatten().sum() }
#[no_mangle] #[inline(never)]
pub fn bodies(w: &World) -> f64 { w.bodies.iter().map(|b| b.mass).sum() }
#[no_mangle] #[inline(never)]
pub fn look(w: &World, k: u32) -> f64 { w.index.get(&k).map_or(0.0, |b| b.mass) }
#[no_mangle] #[inline(never)] pub fn area(s: &Shape) -> f64 {
    match s { Shape::Circle(r) => r * r, Shape::Square { side, wide } => (*side as u64 + wide) as f64 }
}
fn main() {
    let w = World { bodies: vec![], rows: vec![vec![1]], index: BTreeMap::new() };
    let s = if w.rows.len() > 1 { Shape::Circle(1.0) } else { Shape::Square { side: 1, wide: 2 } };
    println!("{}", masses(&w.bodies) + rows(&w) as f64 + bodies(&w) + look(&w, 1) + area(&s));
}
"""


def touched(binary: Path, name: str) -> set[tuple[str, str]]:
    """(type, member) of what a function touches that is not the stack's, tables' or constants'."""
    found = [one for one in answers(binary, name) if one["how"] not in ("stack", "constant", "table", "spill")]
    return {(one["type"], one["field"]) for one in found}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_cxx_bases_references_and_containers_have_types(tmp_path: Path, level: str) -> None:
    binary = build(tmp_path, CONTAINERS, "containers.cc", level, compiler="g++")
    total = touched(binary, "_Z5totalRKSt6vectorI4ItemSaIS0_EE")
    assert ("struct Item", "weight") in total or level == "-O0"
    sized = touched(binary, "_Z5sizedRK5Sized")
    assert {("struct Sized", "side"), ("struct Sized", "id")} <= sized
    found = {field for _t, field in touched(binary, "_Z4findRKSt3mapIi4ItemSt4lessIiESaISt4pairIKiS0_EEEi")}
    assert any(field.endswith("flags") for field in found)
    assert None not in found


@pytest.mark.parametrize("level", ["0", "2"])
def test_rust_slices_vectors_trees_and_enums_have_types(tmp_path: Path, level: str) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc")
    (tmp_path / "world.rs").write_text(RUST)
    flags = ["-g", "-C", f"opt-level={level}", "-C", "overflow-checks=off"]
    made = tmp_path / "program"
    done = subprocess.run(["rustc", *flags, "-o", made, tmp_path / "world.rs"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("rustc does not build this")
    fields = {(t, field) for name in ("masses", "bodies", "area") for t, field in touched(made, name) if t}
    assert {("world::Body", "mass"), ("world::Body", "live")} <= fields or level == "0"
    assert any(t == "world::Shape" for t, _field in fields)
    if level == "2":
        assert not [one for one in touched(made, "masses") | touched(made, "bodies") if one[0] is None]
        assert ("u32", "") in touched(made, "rows")


def test_a_kernel_is_recognised_by_its_per_cpu_variables(tmp_path: Path) -> None:
    source = """
    __attribute__((section(".data..percpu"))) long mine;
    long guard(void) { long x; __asm__("movq %%gs:40, %0" : "=r"(x)); return x; }
    int main(void) { return mine == 1 ? (int)guard() : 0; }
    """
    kernel = build(tmp_path, source, "kernel.c", "-O2", "-Wl,--unique=.data..percpu")
    assert "canary" in {one["how"] for one in answers(kernel, "guard")}
    plain = build(tmp_path, source.replace('section(".data..percpu")', "used"), "plain.c", "-O2")
    assert "canary" not in {one["how"] for one in answers(plain, "guard")}


def test_a_kernels_canary_is_a_member_of_its_per_cpu_variable(tmp_path: Path) -> None:
    kernel = guarded(tmp_path)
    found = answers(kernel, "guard")
    types = [(one["type"], one["field"], one["offset_bytes"]) for one in found if one["how"] == "canary"]
    assert types == [("struct fixed", "canary", 40)]
    subprocess.run(["strip", "-N", "fixed", kernel], check=True)
    # What else is said to be at address 0 was dropped.
    assert [one["type"] for one in answers(kernel, "guard") if one["how"] == "canary"] == [None]


CLASSES = """
#include <new>
struct Stream { int fd; unsigned state; virtual ~Stream() {} };
struct In : virtual Stream { int at; virtual int get(); };
struct Out : virtual Stream { long put; };
struct Both : In, Out { long copied; int get() override; };
struct Point { int x, y; };
union Either { long number; Point *point; };
int In::get() { state |= 1; return at; }
int Both::get() { copied++; return fd; }
extern "C" __attribute__((noinline)) Point *made(Point *at, int x) { return new (at) Point { x, 2 }; }
extern "C" __attribute__((noinline)) int either(Either *e) { return e->point->y; }
int main() { Both b; Point p; Either e; e.point = made(&p, 1); return b.get() + either(&e); }
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_virtual_bases_placement_new_and_union_pointers_are_typed(tmp_path: Path, level: str) -> None:
    binary = build(tmp_path, CLASSES, "classes.cc", level, compiler="g++")

    def said(name: str) -> set[str]:
        return {f"{one['type']}.{one['field']}" for one in answers(binary, name) if one["type"]}

    assert "struct Stream.state" in said("_ZN2In3getEv")
    assert "struct Stream.fd" in said("_ZN4Both3getEv")
    assert "struct Point.x" in said("made")
    assert "struct Point.y" in said("either")


IN_FRAME = """
struct Stream { int fd = 1; unsigned state = 0; virtual ~Stream() {} };
struct In : virtual Stream { int at = 3; int get(); void put(int); };
struct Out { long out = 1; virtual ~Out() {} };
struct File : Out, virtual Stream { long put = 2; };
struct Side : virtual Stream { int side = 4; };
struct Both : In, Side { long copied = 5; };
struct Wide { unsigned state = 0; long behind[4]; virtual ~Wide() {} };
struct Left : virtual Wide { int left = 3; };
struct Right : virtual Wide { int right = 4; };
struct Vague : Left, Right { long copied = 5; };
extern "C" void filled(void *);
extern "C" int one(void) { In in; filled(&in); return in.state + in.get() + ((Stream &)in).fd; }
extern "C" int second(void) { File file; filled(&file); return file.state; }
extern "C" int either(void) { Both both; filled(&both); return ((Side &)both).state + both.at; }
extern "C" int vague(void) { Vague both; filled(&both); return ((Right &)both).state + both.left; }
"""


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_virtual_bases_of_frame_objects_are_found_by_vtables(tmp_path: Path, level: str) -> None:
    binary = build(tmp_path, IN_FRAME, "frame.cc", level, "-shared", "-fPIC", compiler="clang++")

    def said(name: str) -> list[str]:
        indexed = [one for one in answers(binary, name) if "(%rsp,%r" in one["instruction"]]
        return [f"{one['type']}.{one['field']}" for one in indexed]

    assert said("one") == ["struct Stream.state", "struct Stream.fd"]
    assert said("second") == said("either") == ["struct Stream.state"]
    # So far behind the class's begin may be a member as well.
    assert said("vague") == ["None."]


THUNK = """
struct shape { int id; virtual long area(long k) { return id * k; } };
struct moving { long speed = 1; virtual long move(long k) = 0; };
struct big { long values[4]; };
struct sized { virtual big size(big *from) = 0; };
struct car : shape, moving, sized {
    long way = 0, turns = 0;
    long move(long k) override { way += speed * k; return ++turns; }
    big size(big *from) override { big made = *from; made.values[1] = way; return made; }
};
moving *make() { return new car; }
"""


def test_a_thunk_takes_a_base_of_its_object(tmp_path: Path) -> None:
    binary = build(tmp_path, THUNK, "thunk.cpp", "-O2", "-shared", "-fPIC", compiler="clang++")
    moved = [one for one in answers(binary, "_ZThn16_N3car4moveEl") if one["how"] != "stack"]
    assert {(one["type"], one["field"]) for one in moved} == {
        ("struct car", name) for name in ("speed", "way", "turns")
    }
    other = answers(binary, "_ZThn32_N3car4sizeEP3big")
    assert {one["type"] for one in other if one["how"] != "stack"} == {"struct car", "struct big"}


ALLOCATED = """
struct shape { double x = 0, y = 0; int moves = 0; virtual double area() const = 0; virtual ~shape() {} };
struct disk : shape { double r; disk(double r) : r(r) {} double area() const override { return 3 * r * r; } };
struct board { int cells[64]; long rounds; };
extern "C" void keep(const void *what, int one);
double many(int n)
{
    double all = 0;
    for (int i = 0; i < n; i++) { disk *d = new disk(i); keep("disk", n); keep(d, 1); all += d->r; }
    return all;
}
long rounds(int n) { board *b = new board{}; keep("board", n); b->rounds += n; keep(b, 2); return b->rounds; }
"""


def test_an_allocation_has_its_later_variables_type(tmp_path: Path) -> None:
    binary = build(tmp_path, ALLOCATED, "new.cpp", "-O2", "-shared", "-fPIC", compiler="g++")
    written = [
        one for one in answers(binary, "_Z4manyi") if one["access"] == "w" and "(%rsp)" not in one["instruction"]
    ]
    types = {(one["type"], one["field"]) for one in written if one["how"] != "stack"}
    assert ("struct disk", "r") in types
    assert {t for t, _field in types} == {"struct disk"}
    found = [one for one in answers(binary, "_Z6roundsi") if one["how"] not in ("stack", "none")]
    types = {(one["type"], one["field"]) for one in found}
    # Newer compilers call memset for the cells.
    cleared = {("struct board", "cells[]")} if any(one["access"] == "w" for one in found) else set()
    assert {("struct board", "rounds"), *cleared} == types


VIRTUAL_THUNK = """
struct node { long id = 1; virtual long weight() { return id; } };
struct named : virtual node { long uses = 0; long weight() override { return ++uses; } };
struct sized : virtual node { long size = 2; long weight() override { return size + id; } };
struct file : named, sized { long reads = 0; long weight() override { reads++; return uses + size + id; } };
node *make() { return new file; }
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_thunk_takes_a_virtual_base_of_its_object(tmp_path: Path, compiler: str) -> None:
    binary = build(tmp_path, VIRTUAL_THUNK, "thunk.cpp", "-O2", "-shared", "-fPIC", compiler=compiler)
    found = [one for one in answers(binary, "_ZTv0_n24_N4file6weightEv") if one["how"] not in ("stack", "table")]
    assert {("struct file", "reads"), ("struct file", "uses"), ("struct file", "size"), ("struct node", "id")} <= {
        (one["type"], one["field"]) for one in found
    }
    assert all(one["type"] for one in found)


ONE_TYPE_A_UNIT = """
#include <list>
#include <vector>
struct animal { int legs = 4; virtual ~animal() {} virtual int step(int n) { legs += n; return legs; } };
struct eater { double energy = 1; virtual ~eater() {} virtual bool eat(int n) { energy += n; return energy > 3; } };
struct wolf : animal, eater { long kills = 0; bool eat(int n) override { kills++; energy += n; return kills > legs; } };
struct herd { std::list<wolf *> all; std::vector<int> seen; };
extern "C" __attribute__((noinline)) long hunt(herd *h, int n) {
    long sum = 0;
    for (wolf *w : h->all) { sum += w->kills; h->seen.push_back(n); w->legs--; }
    return sum;
}
extern "C" __attribute__((noinline)) long derived(eater *e) { return static_cast<wolf *>(e)->legs; }
int main(int argc, char **) {
    herd h; wolf *w = new wolf; h.all.push_back(w); eater *e = w;
    return hunt(&h, argc) + e->eat(argc) + derived(e) + h.seen[0];
}
"""


@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_one_types_units_agree(tmp_path: Path, version: str) -> None:
    found = []
    for flags in ((), ("-fdebug-types-section",)):
        binary = build(tmp_path, ONE_TYPE_A_UNIT, "wolf.cpp", "-O2", version, *flags, compiler="g++")
        names = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
        grown = [line.split()[2] for line in names.splitlines() if "_M_realloc_" in line]
        functions = ("hunt", "derived", "_ZThn16_N4wolf3eatEi", "_ZN4wolf3eatEi", *grown)
        found.append(
            {
                name: [(one["instruction"], one["type"], one["field"]) for one in answers(binary, name)]
                for name in functions
            }
        )
    whole, apart = found
    assert ("struct wolf", "kills") in {one[1:] for one in whole["_ZThn16_N4wolf3eatEi"]}
    assert ("struct wolf", "legs") in {one[1:] for one in whole["derived"]}
    for name in whole:
        assert apart[name] == whole[name]


TWO_BASES = """
namespace zoo {
struct node { char id[12]; virtual ~node() {} virtual long weight() const { return id[0]; } };
struct cell { double q = 2; virtual double pull(double by) const { return q * by; } virtual ~cell() {} };
struct part : virtual node { long uses = 1; };
struct whole : part, virtual cell { long reads = 0;
    long weight() const override { return uses + id[1]; }
    double pull(double by) const override { return q + reads * by; } };
node *make() { return new whole; } cell *other() { return new whole; }
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_thunk_takes_the_virtual_base_of_its_method(tmp_path: Path, compiler: str) -> None:
    binary = build(tmp_path, TWO_BASES, "thunk.cpp", "-O2", "-shared", "-fPIC", compiler=compiler)
    for thunk, expected in (
        ("_ZTv0_n32_NK3zoo5whole6weightEv", {("struct zoo::whole", "uses"), ("struct zoo::node", "id[]")}),
        ("_ZTv0_n24_NK3zoo5whole4pullEd", {("struct zoo::whole", "reads"), ("struct zoo::cell", "q")}),
    ):
        found = [one for one in answers(binary, thunk) if one["how"] not in ("stack", "table")]
        assert expected <= {(one["type"], one["field"]) for one in found}
        assert all(one["type"] for one in found)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("_ZTv0_n24_N3car4moveEl", ("_ZN3car4moveEl", -24)),
        ("_ZThn16_N3car4moveEl", None),
        ("_ZTv0_n_N3car4moveEl", None),
    ],
)
def test_names_of_virtual_thunks_give_the_method_and_offset(name: str, method: tuple[str, int] | None) -> None:
    assert virtual_thunk_of(name) == method


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("_ZThn16_N3car4moveEl", ("_ZN3car4moveEl", 16)),
        ("_ZTh8_N3car4moveEl", ("_ZN3car4moveEl", -8)),
        ("_ZTv0_n24_N3car4moveEl", None),
        ("_ZN3car4moveEl", None),
    ],
)
def test_names_of_thunks_give_the_method_and_offset(name: str, method: tuple[str, int] | None) -> None:
    assert thunk_of(name) == method


INDEXED = """
struct rows { int n; struct { int hash; short len, flags; } keys[15]; long vals[15]; struct rows *kids[16]; };
struct rows *moved(struct rows *r, long i) { return r->kids[i - 1]; }
"""


def test_an_index_less_one_before_an_array_is_not_the_end_of_another(tmp_path: Path) -> None:
    binary = build(tmp_path, INDEXED, "indexed.c", "-O2", "-shared", "-fPIC")
    [said] = [one for one in answers(binary, "moved") if one["how"] != "stack"]
    assert "0xf0(%rdi,%rsi,8)" in said["instruction"].lower()
    assert (said["type"], said["reason"]) == (None, "unresolved array index")


NAMELESS = """
struct pair { long first, second; pair(long k) : first(k), second(k * 3) {} };
__attribute__((noinline)) long use(const pair &p) { asm volatile("" : : "r"(&p) : "memory"); return p.first; }
int main(int argc, char **argv) { return (int)use(pair(argc)); }
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_unnamed_object_is_typed_by_inlined_methods(tmp_path: Path, compiler: str) -> None:
    binary = build(tmp_path, NAMELESS, "nameless.cpp", "-O2", compiler=compiler)
    found = {(one["type"], one["field"], one["how"]) for one in answers(binary, "main") if one["how"] == "variable"}
    # What is stored before the compiler says where `this` is stays unknown.
    both = {("struct pair", "first", "variable"), ("struct pair", "second", "variable")}
    assert found & both
    assert found <= both
