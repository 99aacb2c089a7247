"""The numbers of a page are those of a report."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.page_parts import NONE, Part, parts_of, reported, rows_of

from undwarf.cli.main import undwarf

SHIPPED = Path(__file__).parents[2] / "examples" / "recording"
NAMES = sorted(path.stem for path in SHIPPED.glob("*.data"))
FRAME_KEYS = [("sym", "dso"), ("dso",), ("srcline",), ("srcfile",)]
SAMPLE_KEYS = [("comm",), ("pid",), ("tid",), ("cpu",), ("comm", "dso", "sym")]


def options(name: str) -> list[str]:
    more = ["--kallsyms", str(SHIPPED / "kernel-symbols")] if name == "requests" else []
    return [str(SHIPPED / f"{name}.data"), "--symfs", str(SHIPPED), *more]


def run(*arguments: str) -> bytes:
    result = CliRunner().invoke(undwarf, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


@cache
def page(name: str) -> dict[str, Part]:
    return parts_of(run("view", "--types", "-o", "-", *options(name)).decode())


def report(name: str, keys: tuple[str, ...]) -> Any:
    return json.loads(run("report", "--json", "--percent-limit", "0", "--sort", ",".join(keys), *options(name)))


@pytest.mark.parametrize("keys", FRAME_KEYS + SAMPLE_KEYS, ids=" ".join)
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_a_report(name: str, keys: tuple[str, ...]) -> None:
    part = page(name)["profile"]
    events = report(name, keys)["events"]
    by_name = {measure["name"]: number for number, measure in enumerate(part.measures)}
    assert events
    for event in events:
        measure = by_name[event["event"]]
        assert part.measures[measure]["unit"] == event["unit"]
        found = rows_of(part, keys, measure)
        assert found == reported(event["rows"], keys)
        assert sum(own for own, _total, _samples in found.values()) == event["weight"]


@pytest.mark.parametrize("name", NAMES)
def test_quality_is_that_of_a_report(name: str) -> None:
    part = page(name)["profile"]
    wholeness = report(name, ("sym",))["wholeness"]
    assert part.quality == wholeness
    kinds = [part.gaps[gap]["kind"] for gap in part.row_gap]
    assert kinds.count("whole") == wholeness["whole"]
    assert kinds.count("inferred") == wholeness["inferred"]
    assert kinds.count("without_user") == wholeness["without_user"]
    early = [
        (gap["reason"], part.row_gap.count(number)) for number, gap in enumerate(part.gaps) if gap["kind"] == "early"
    ]
    assert sorted(early) == sorted((gap["reason"], gap["samples"]) for gap in wholeness["gaps"])


@pytest.mark.parametrize("name", NAMES)
def test_nodes_are_depth_first_and_used(name: str) -> None:
    part = page(name)["profile"]
    open_nodes: list[int] = []
    for node, parent in enumerate(part.node_parent):
        while open_nodes and open_nodes[-1] != parent:
            open_nodes.pop()
        assert parent == NONE or open_nodes
        open_nodes.append(node)
    passed = set()
    for node in part.row_node:
        while node != NONE:
            passed.add(node)
            node = part.node_parent[node]
    assert passed == set(range(len(part.node_parent)))


def test_siblings_are_in_order_of_falling_weight() -> None:
    part = page("words")["profile"]
    weights = [0] * len(part.node_parent)
    for node, weight in zip(part.row_node, part.row_weight, strict=True):
        while node != NONE:
            weights[node] += weight
            node = part.node_parent[node]
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(part.node_parent):
        children.setdefault(parent, []).append(weights[node])
    assert max(map(len, children.values())) > 1
    assert all(weights == sorted(weights, reverse=True) for weights in children.values())


def test_times_are_in_order_and_of_the_recording() -> None:
    part = page("words")["profile"]
    script = run("script", "-F", "time", "--ns", *options("words")).decode().split()
    times = sorted(round(float(one.rstrip(":")) * 1e9) for one in script)
    assert part.row_time == [(time - times[0]) // part.time_unit_ns for time in times]
    assert (part.time_start_ns, part.time_end_ns) == (times[0], times[-1])


def test_code_has_lines_jumps_and_weights_of_report_source() -> None:
    parts = page("particles")
    profile, code = parts["profile"], parts["code"]
    number = profile.functions.index("move_all")
    entry = code.functions[str(number)]
    shown = json.loads(run("report", "--json", "--source", "move_all", "--asm", *options("particles")))
    listing = shown["events"][0]["listings"][0]
    expected = {
        insn["address"]: (line["line"], insn["text"]) for line in listing["lines"] for insn in line["instructions"]
    }
    start = int(entry["start"], 16)
    found = {
        hex(start + offset): (code.lines[line][1], text) for offset, text, line, _jump, _types in entry["instructions"]
    }
    assert found == expected
    assert profile.files[entry["file"]] == listing["file"]
    text = code.sources[str(entry["file"])]
    assert {line["line"]: line["text"] for line in listing["lines"] if line["line"]}.items() <= {
        text["first"] + index: line for index, line in enumerate(text["text"])
    }.items()
    offsets = {insn[0] for insn in entry["instructions"]}
    jumps = [insn for insn in entry["instructions"] if insn[3] is not None]
    assert [insn[1].split()[0] for insn in jumps] == ["je", "jne"]
    assert {insn[3] for insn in jumps} < offsets


def test_operands_have_their_types() -> None:
    parts = page("particles")
    number = parts["profile"].functions.index("move_all")
    typed = {
        text[first:last]: (type_, member)
        for _offset, text, _line, _jump, operands in parts["code"].functions[str(number)]["instructions"]
        for first, last, type_, member, _at in operands or ()
    }
    assert typed == {
        "0x80(%rdi)": ("struct particle", "alive"),
        "(%rdi)": ("struct particle", "position"),
        "0x40(%rdi)": ("struct particle", "speed"),
    }


@pytest.mark.parametrize("name", ["particles", "words-sum"])
def test_types_are_those_of_types_json(name: str) -> None:
    parts = page(name)
    profile, types = parts["profile"], parts["types"]
    event = json.loads(run("types", "--json", *options(name)))["events"][0]
    weights: dict[str, int] = {}
    for access, weight in zip(types.row_access, profile.row_weight, strict=True):
        if access != NONE and types.accesses[access]["type"] is not None:
            type_ = types.types[types.accesses[access]["type"]]["name"]
            weights[type_] = weights.get(type_, 0) + weight
    assert weights == {row["type"]: row["weight"] for row in event["types"]}
    assert [one["name"] for one in types.types] == [row["type"] for row in event["types"]]
    assert (types.shares[0]["kind"], types.shares[0]["weight"]) == ("typed", event["typed"])


def test_a_type_has_its_layout_and_its_sharing() -> None:
    types = page("particles")["types"]
    particle = next(one for one in types.types if one["name"] == "struct particle")
    assert [(one["name"], one["offset"], one["size"]) for one in particle["members"]][:4] == [
        ("position", 0, 8),
        ("name", 8, 56),
        ("speed", 64, 8),
        ("history", 72, 56),
    ]
    assert [found["kind"] for found in types.sharing["found"]] == ["false sharing"]
    assert "several objects lie on one line" in types.sharing["found"][0]["advice"][0]
    assert [one["type"] for one in types.advice if one["kind"] == "spread"] == ["struct particle"]
