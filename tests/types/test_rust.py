"""Programs of Rust: closures, what may not be initialized, trees' inner nodes."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from undwarf.cli.main import undwarf
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.layouts.arrays import is_of_smaller
from undwarf.types.layouts.model import Kind, Member, TypeGraph, TypeRecord
from undwarf.types.sources.places import Place, PlaceKind
from undwarf.types.uses.homes import taken_apart

SOURCE = """
use std::collections::BTreeMap;
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
fn main() { println!("{} {} {}", points(9).len(), ends(40), four(3).len()); }
"""


def answers(folder: Path, level: str, *parts: str) -> list[dict[str, Any]]:
    """What is said of the functions whose symbols have these parts."""
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
    return [one for one in json.loads(result.stdout) if one["access"]]


def _numbers(row: list[str]) -> tuple[int, int]:
    return int(row[0], 16), int(row[1], 16)


def test_a_closures_captured_variables_are_parts_of_one_structure(tmp_path: Path) -> None:
    said = answers(tmp_path, "0", "extend_trusted", "closure")
    environment = {one["field"] for one in said if str(one["type"]).split("<")[0].endswith("{closure_env#0}")}
    assert {"ptr", "local_len.local_len"} <= environment
    written = {one["field"] for one in said if one["type"] == "made::Point" and one["access"] == "w"}
    assert written >= {"x"}
    assert not [one for one in said if one["type"] == "usize" and one["how"] != "variable"]


def test_nodes_that_are_being_made_are_nodes(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "btree")
    names = {str(one["type"]) for one in said}
    assert any("LeafNode<" in name for name in names)
    wrapped = [name for name in names if name.startswith("core::mem::maybe_uninit::MaybeUninit<alloc::")]
    assert not wrapped


def test_inner_nodes_go_on_behind_the_leaf_they_begin_with(tmp_path: Path) -> None:
    said = answers(tmp_path, "2", "dying_next")
    inner = [one for one in said if "InternalNode<" in str(one["type"]) and "edges" in one["field"]]
    assert inner
    # What lies behind a leaf is not the next leaf's begin.
    leaves = [one for one in said if "::LeafNode<" in str(one["type"]) and one["offset"] == 0]
    assert not [one for one in leaves if re.search(r"\b0x[0-9A-Fa-f]{2,}\(", one["insn"])]


def graph_of_slice() -> tuple[TypeGraph, int, int, int]:
    """A graph, a number, a fat pointer of an address and such a number, an array of characters."""
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "usize", 8))
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    to = graph.pointer_to(character)
    members = (Member("data_ptr", 0, -1, 0, 0, to), Member("length", 8, -1, 64, 0, number))
    fat = graph.add(TypeRecord(Kind.STRUCT, "&[u8]", 16, members=members))
    return graph, number, fat, graph.add(TypeRecord(Kind.ARRAY, target=character, count=66))


def test_a_part_of_a_structure_that_was_taken_apart_is_of_that() -> None:
    graph, number, fat, _array = graph_of_slice()
    whole = Place("v", fat, PlaceKind.MEMORY, 7, 40, 0, 100, 8, 8)
    part = Place("len", number, PlaceKind.MEMORY, 7, 40, 0, 100)
    ended = whole._replace(high=4)
    for there, expected in ((whole, (whole, 8)), (ended, (part, 0))):
        valid = [place for place in (there, part) if place.low <= 8 < place.high]
        questions = SimpleNamespace(frame_places_at={8: valid}.__getitem__)
        tracker = cast(Tracker, SimpleNamespace(graph=graph, questions=questions))
        assert taken_apart(tracker, 8, part, 0) == expected


def test_a_reference_to_what_a_part_leads_to_is_that_part() -> None:
    graph, _number, fat, _array = graph_of_slice()
    character = graph.target(graph.members(fat)[0].type)
    whole = Place("v", fat, PlaceKind.MEMORY, 7, 40, 0, 100)
    for target, expected in ((character, whole), (fat, None)):
        reference = graph.add(TypeRecord(Kind.REFERENCE, size=8, target=target))
        part = Place("c", reference, PlaceKind.MEMORY, 7, 40, 0, 100)
        questions = SimpleNamespace(frame_places_at={8: [whole, part]}.__getitem__)
        tracker = cast(Tracker, SimpleNamespace(graph=graph, questions=questions))
        assert taken_apart(tracker, 8, part, 0) == (expected or part, 0)


def test_an_index_of_larger_scalars_is_not_into_characters() -> None:
    graph, _number, _fat, array = graph_of_slice()
    assert is_of_smaller(graph, array, 8)
    assert not is_of_smaller(graph, array, 1)


def test_what_is_allocated_is_what_a_vector_holds(tmp_path: Path) -> None:
    found = [one for one in answers(tmp_path, "3", "four") if one["access"] == "w" and "%rsp" not in one["insn"]]
    told = {one["type"] for one in found if one["how"] not in ("stack", "spill")}
    assert any(t and t.endswith("Point") for t in told)
    assert None not in told
