"""Programs of Rust: closures, uninitialized memory, inner nodes of trees, merged functions."""

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from tests.support.types.programs import accesses_of

from undwarf.cli.main import undwarf
from undwarf.types.access import Access
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.stack_slot_variables import split_aggregate
from undwarf.types.layouts.array_offsets import is_of_smaller
from undwarf.types.layouts.type_graph import Kind, Member, TypeGraph, TypeRecord
from undwarf.types.rust_merged_functions import depends, is_merged, of_any
from undwarf.types.sources.type_source import Place, PlaceKind

SOURCE = """
use std::collections::BTreeMap;
#[derive(Clone, Copy)]
pub struct Point { pub x: f64, pub id: u32, pub tag: u16 }
#[no_mangle] #[inline(never)]
pub fn points(n: u32) -> Vec<Point> { (0..n).map(|i| Point { x: 1.0, id: i, tag: 2 }).collect() }
#[no_mangle] #[inline(never)]
pub fn ends(n: u32) -> u32 {
    let mut m = BTreeMap::new();
    for i in 0..n { m.insert(i * 7 % 50, Point { x: 0.0, id: i, tag: 1 }); }
    let mut s = 0;
    for (k, p) in m { s += k + p.id; }
    s
}
#[no_mangle] #[inline(never)]
pub fn four(n: u32) -> Vec<Point> {
    vec![Point { x: 1.0, id: n, tag: 2 }, Point { x: 2.0, id: 2, tag: n as u16 },
         Point { x: 3.0, id: n, tag: 3 }, Point { x: 4.0, id: 4, tag: n as u16 }]
}
pub struct Cell { pub row: u64, pub at: u64 }
#[no_mangle] #[inline(never)]
pub fn grown(n: u64, points: &mut Vec<Point>, cells: &mut Vec<Cell>) {
    for i in 0..n {
        points.push(Point { x: 1.0, id: i as u32, tag: 2 });
        cells.push(Cell { row: i, at: n });
    }
}
#[derive(Clone, Copy)]
pub struct Speed { x: f32, y: f32, z: f32 }
pub struct Agent { id: u64, pos: Speed, vel: Speed, energy: i16 }
#[no_mangle] #[inline(never)]
pub fn exchanged(all: &mut [Agent]) {
    for pair in all.chunks_mut(2) {
        if let [one, two] = pair { std::mem::swap(&mut one.vel, &mut two.vel) } else { pair[0].energy -= 1 }
    }
}
#[no_mangle] #[inline(never)]
pub fn found(all: &[Point], id: &u32) -> Option<usize> { all.iter().position(|one| one.id == *id) }
pub enum Shape { Circle(f64), Square(f64, f64), Poly(Vec<f64>, u32), Empty }
#[no_mangle] #[inline(never)]
pub fn area(shape: &Shape) -> f64 {
    match shape {
        Shape::Circle(r) => *r,
        Shape::Square(a, b) => a * b,
        Shape::Poly(points, n) => points.len() as f64 * *n as f64,
        Shape::Empty => 0.0,
    }
}
pub struct Link { next: Option<Box<Link>>, value: u64 }
#[no_mangle] #[inline(never)]
pub fn chained(mut link: &Link) -> u64 {
    let mut sum = link.value;
    while let Some(next) = &link.next { link = next; sum += link.value }
    sum
}
#[inline(never)]
pub fn pushed<T: Copy>(to: &mut Vec<T>, one: T) { if to.len() < to.capacity() { to.push(one) } }
fn main() {
    let (mut some, mut others) = (points(9), Vec::new());
    grown(5, &mut some, &mut others);
    pushed(&mut some, Point { x: 0.0, id: 3, tag: 1 });
    let still = Speed { x: 2.0, y: 0.0, z: 1.0 };
    println!("{:?}", found(&some, &2));
    let shapes = [Shape::Circle(2.0), Shape::Square(1.0, 2.0), Shape::Poly(vec![1.0; others.len()], 3), Shape::Empty];
    println!("{}", shapes.iter().map(area).sum::<f64>());
    println!("{}", chained(&Link { next: Some(Box::new(Link { next: None, value: 3 })), value: 1 }));
    let mut agents: Vec<Agent> = (0..5).map(|id| Agent { id, pos: still, vel: still, energy: 3 }).collect();
    exchanged(&mut agents);
    println!("{} {}", agents[2].vel.x + agents[0].pos.y + still.z, agents[4].energy as u64 + agents[1].id);
    println!("{} {} {} {}", some.len(), ends(40), four(3).len(), others.len());
}
"""


def answers(folder: Path, level: str, *parts: str) -> list[dict[str, Any]]:
    """The answers for functions whose symbols have these parts."""
    if shutil.which("rustc") is None or shutil.which("nm") is None:
        pytest.skip("no rustc or nm")
    (folder / "made.rs").write_text(SOURCE)
    binary = folder / "made"
    flags = ["-g", "-C", f"opt-level={level}", "-C", "overflow-checks=off"]
    done = subprocess.run(["rustc", *flags, "-o", binary, folder / "made.rs"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("rustc does not build this")
    text = subprocess.run(["nm", "-S", binary], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines() if all(part in line for part in parts)]
    at = ",".join(f"{a:x}" for row in rows if len(row) == 4 for a in range(int(row[0], 16), sum(_numbers(row))))
    if not at:
        pytest.skip("no such function is left")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", at, "--json"])
    assert result.exit_code == 0, result.output
    return [one for one in accesses_of(result.stdout) if one["access"]]


def _numbers(row: list[str]) -> tuple[int, int]:
    return int(row[0], 16), int(row[1], 16)


def test_a_closures_captured_variables_are_members(tmp_path: Path) -> None:
    said = answers(tmp_path, "0", "extend_trusted", "closure")
    environment = {one["field"] for one in said if str(one["type"]).split("<")[0].endswith("{closure_env#0}")}
    assert {"ptr", "local_len.local_len"} <= environment
    written = {one["field"] for one in said if one["type"] == "made::Point" and one["access"] == "w"}
    assert written >= {"x"}
    assert not [one for one in said if one["type"] == "usize" and one["how"] != "variable"]


def test_a_single_captured_variable_is_a_member_of_its_closure(tmp_path: Path) -> None:
    said = answers(tmp_path, "0", "found", "closure")
    captured = [one for one in said if str(one["type"]).endswith("::{closure_env#0}")]
    assert [(one["type"], one["field"]) for one in captured] == [("made::found::{closure_env#0}", "_ref__id")]


@pytest.mark.parametrize("level", ["0", "2"])
def test_a_discriminant_in_a_capacity_is_the_discriminant(tmp_path: Path, level: str) -> None:
    begin = [
        one for one in answers(tmp_path, level, " area") if (one["type"], one["offset_bytes"]) == ("made::Shape", 0)
    ]
    assert begin
    for one in begin:
        assert one["field"] == "discriminant"
        assert [name.partition(".")[0] for name in one["candidates"]] == ["discriminant", "Poly"]


@pytest.mark.parametrize("level", ["0", "2"])
def test_an_optional_pointer_is_a_pointer(tmp_path: Path, level: str) -> None:
    said = answers(tmp_path, level, " chained")
    begin = {
        (one["field"], tuple(one["candidates"]))
        for one in said
        if one["type"] == "made::Link" and not one["offset_bytes"]
    }
    assert begin == {("next.Some.__0", ())}


def test_swapped_bytes_have_the_variables_type(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "exchanged")
    assert said
    assert {str(one["type"]) for one in said if one["how"] != "stack"} <= {"made::Agent", "made::Speed"}


def test_nodes_under_construction_are_nodes(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "btree")
    names = {str(one["type"]) for one in said}
    assert any("LeafNode<" in name for name in names)
    wrapped = [name for name in names if name.startswith("core::mem::maybe_uninit::MaybeUninit<alloc::")]
    assert not wrapped


def test_inner_nodes_continue_after_their_leaf(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "dying_next")
    inner = [one for one in said if "InternalNode<" in str(one["type"]) and "edges" in one["field"]]
    assert inner
    # What lies behind a leaf is not the next leaf's begin.
    leaves = [one for one in said if "::LeafNode<" in str(one["type"]) and one["offset_bytes"] == 0]
    assert not [one for one in leaves if re.search(r"\b0x[0-9A-Fa-f]{2,}\(", one["instruction"])]


def graph_of_slice() -> tuple[TypeGraph, int, int, int]:
    """A graph, a number, a fat pointer of an address and such a number, an array of characters."""
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "usize", 8))
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    to = graph.pointer_to(character)
    members = (Member("data_ptr", 0, -1, 0, 0, to), Member("length", 8, -1, 64, 0, number))
    fat = graph.add(TypeRecord(Kind.STRUCT, "&[u8]", 16, members=members))
    return graph, number, fat, graph.add(TypeRecord(Kind.ARRAY, target=character, count=66))


def test_a_split_aggregates_part_is_its_member() -> None:
    graph, number, fat, _array = graph_of_slice()
    whole = Place("v", fat, PlaceKind.MEMORY, 7, 40, 0, 100, 8, 8)
    part = Place("len", number, PlaceKind.MEMORY, 7, 40, 0, 100)
    ended = whole._replace(high=4)
    for there, expected in ((whole, (whole, 8)), (ended, (part, 0))):
        valid = [place for place in (there, part) if place.low <= 8 < place.high]
        oracle = SimpleNamespace(frame_places_at={8: valid}.__getitem__)
        tracker = cast(Tracker, SimpleNamespace(graph=graph, oracle=oracle))
        assert split_aggregate(tracker, 8, part, 0) == expected


def test_a_reference_to_a_members_pointee_is_that_member() -> None:
    graph, _number, fat, _array = graph_of_slice()
    character = graph.target(graph.members(fat)[0].type)
    whole = Place("v", fat, PlaceKind.MEMORY, 7, 40, 0, 100)
    for target, expected in ((character, whole), (fat, None)):
        reference = graph.add(TypeRecord(Kind.REFERENCE, size=8, target=target))
        part = Place("c", reference, PlaceKind.MEMORY, 7, 40, 0, 100)
        oracle = SimpleNamespace(frame_places_at={8: [whole, part]}.__getitem__)
        tracker = cast(Tracker, SimpleNamespace(graph=graph, oracle=oracle))
        assert split_aggregate(tracker, 8, part, 0) == (expected or part, 0)


def test_a_reference_to_an_objects_start_is_its_pointer_member() -> None:
    graph, number, _fat, _array = graph_of_slice()
    inner = graph.add(TypeRecord(Kind.STRUCT, "Vec", 8, members=(Member("len", 0, 8, 0, 0, number),)))
    outer = graph.add(TypeRecord(Kind.STRUCT, "String", 8, members=(Member("vec", 0, 8, 0, 0, inner),)))
    members = (Member("key", 0, 8, 0, 0, graph.pointer_to(outer)),)
    closure = graph.add(TypeRecord(Kind.STRUCT, "closure", 8, members=members))
    whole = Place("eq", closure, PlaceKind.MEMORY, 7, 40, 0, 100)
    for target, expected in ((inner, whole), (closure, None)):
        part = Place("other", graph.pointer_to(target), PlaceKind.MEMORY, 7, 40, 0, 100)
        oracle = SimpleNamespace(frame_places_at={8: [whole, part]}.__getitem__)
        tracker = cast(Tracker, SimpleNamespace(graph=graph, oracle=oracle))
        assert split_aggregate(tracker, 8, part, 0)[0] == (expected or part)


def test_an_index_of_larger_scalars_is_not_into_characters() -> None:
    graph, _number, _fat, array = graph_of_slice()
    assert is_of_smaller(graph, array, 8)
    assert not is_of_smaller(graph, array, 1)


def test_an_allocation_has_its_vectors_element_type(tmp_path: Path) -> None:
    found = [one for one in answers(tmp_path, "3", "four") if one["access"] == "w" and "%rsp" not in one["instruction"]]
    types = {one["type"] for one in found if one["how"] not in ("stack", "spill")}
    assert any(t and t.endswith("Point") for t in types)
    assert None not in types


def test_merged_generic_functions_have_no_type_arguments(tmp_path: Path) -> None:
    said = [one for one in answers(tmp_path, "2", "grow_one", "17h") if one["type"] is not None]
    assert {one["field"] for one in said} >= {"cap.__0"}
    assert not any("Point" in one["type"] or "Cell" in one["type"] for one in said)


@pytest.mark.parametrize(
    ("names", "merged"),
    [
        ([b"_ZN3vec4grow17h0123456789abcdefE"], False),
        ([b"_ZN3vec4grow17h0123456789abcdefE", b"_ZN3vec4grow17h0123456789abcdeaE"], True),
        ([b"_ZN3vec4grow17h0123456789abcdefE", b"grow"], False),
        ([b"_ZN1AC1Ev", b"_ZN1AC2Ev"], False),
        ([b"_RNvMs3_4RawVecPaE4grow", b"_RNvMs3_4RawVecPhE4grow"], True),
    ],
)
def test_merged_functions_have_several_symbols_of_rust(names: list[bytes], merged: bool) -> None:
    assert is_merged(names) == merged


def test_a_generic_functions_accesses_have_its_type_arguments(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "pushed", "17h")
    assert any(one["field"] == "len" and "Vec<made::Point" in str(one["type"]) for one in said)


def test_a_merged_functions_own_types_are_left_out() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "u64", 8, keyword=""))
    inner = graph.add(TypeRecord(Kind.STRUCT, "Inner", 8, members=(Member("cap", 0, 8, 0, 0, number),)))
    given = graph.add(TypeRecord(Kind.STRUCT, "Point", 8, members=(Member("x", 0, 8, 0, 0, number),)))
    members = (Member("inner", 8, 8, 64, 0, inner), Member("held", 0, 8, 0, 0, given))
    whole = graph.add(TypeRecord(Kind.STRUCT, "Vec<Point>", 16, members=members))

    def types_in(t: int, name: str, offset: int) -> tuple[str | None, int | None, str]:
        one = of_any(graph, Access(0, "", "r", name, offset, "", 8, "variable", type_number=t), [given])
        return one.type, one.offset, one.field

    assert types_in(whole, "Vec<Point>", 8) == ("Inner", 0, "cap")
    assert types_in(whole, "Vec<Point>", 0) == (None, None, "")
    assert types_in(inner, "Inner", 0) == ("Inner", 0, "")


def test_a_function_that_accesses_its_type_argument_depends_on_it() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "u64", 8, keyword=""))
    inner = graph.add(TypeRecord(Kind.STRUCT, "Inner", 8, members=(Member("cap", 0, 8, 0, 0, number),)))
    given = graph.add(TypeRecord(Kind.STRUCT, "Handle", 8, members=(Member("inner", 0, 8, 0, 0, inner),)))
    whole = graph.add(TypeRecord(Kind.STRUCT, "Raw<Handle>", 8, members=(Member("inner", 0, 8, 0, 0, inner),)))
    of_given = Access(0, "", "r", "Handle", 0, "inner.cap", 8, "variable", type_number=given)
    of_generic = Access(0, "", "r", "Raw<Handle>", 0, "inner.cap", 8, "variable", type_number=whole)
    assert depends(graph, [of_generic, of_given], [given])
    assert not depends(graph, [of_generic], [given])
