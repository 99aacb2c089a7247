"""Recordings of several events with different skid: at the access, late, after it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.perfdata.build import IDENTIFIER, PLAIN, Attr, Build
from tests.support.types.programs import accesses_of, build, function_of
from tests.support.types.recordings import memory_recording, place

from undwarf.api import open_recording
from undwarf.cli.main import undwarf

SERVE = """
struct stats { long count; };
struct request { long kind; };
__attribute__((noinline))
long serve(struct stats *s, struct request *r) { long k = r->kind; s->count = 7; return k * 3; }
int main(int argc, char **argv) { struct stats s; struct request r = {argc}; return (int)serve(&s, &r) + (int)s.count; }
"""
TIMER = Attr(sample_type=PLAIN | IDENTIFIER, type=1, config=0, ids=[7], size=128)
BREAKPOINT = Attr(sample_type=PLAIN | IDENTIFIER, type=5, ids=[8], size=128)
CYCLES = Attr(sample_type=PLAIN | IDENTIFIER, type=0, ids=[8], size=128)
ARCH = 6
EXACT = 2 | 1 << 14


@pytest.fixture
def behind(tmp_path: Path) -> tuple[Path, int]:
    """(program, address right after the store to the count): the computation there needs the request's kind."""
    binary = build(tmp_path, SERVE, "serve.c", "-O1")
    store = place(binary, "serve", "struct stats", "count", "w")
    load = place(binary, "serve", "struct request", "kind", "r")
    after = [one for one in answers_at(binary, range(store + 1, store + 12)) if "start of" not in one["reason"]]
    if load > store or after[0]["reason"] != "no memory access":
        pytest.skip("the compiler made something else of it")
    return binary, int(after[0]["address"], 16)


def answers_at(binary: Path, addresses: range) -> list[dict[str, Any]]:
    text = ",".join(f"{one:x}" for one in addresses)
    return accesses_of(CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", text, "--json"]).stdout)


def members(event: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    return [
        (row["type"], one["field"], one["samples"], one["inferred"]) for row in event["types"] for one in row["fields"]
    ]


def test_breakpoint_and_timer_samples_at_one_address_are_distinguished(
    behind: tuple[Path, int], tmp_path: Path
) -> None:
    binary, after = behind
    samples = [{"ip": after, "ident": ident, "misc": 2} for ident in (7, 8, 7, 8, 8)]
    data = memory_recording(tmp_path, binary, samples, TIMER, BREAKPOINT)
    report = json.loads(CliRunner().invoke(undwarf, ["types", "--json", "--skid", str(data)]).stdout)
    timer, breakpoint = report["events"]
    assert members(timer) == [("struct request", "kind", 2, 2000)]
    assert members(breakpoint) == [("struct stats", "count", 3, 3000)]
    again = json.loads(CliRunner().invoke(undwarf, ["types", "--json", "--skid", str(data)]).stdout)
    assert again == report
    text = CliRunner().invoke(undwarf, ["report", "-g", "none", "--json", "-s", "typeoff", "--skid", str(data)]).stdout
    rows = [{row["typeoff"]: row["self"] for row in event["rows"]} for event in json.loads(text)["events"]]
    assert rows == [
        {"struct request +0 (kind) [inferred]": 2000},
        {"struct stats +0 (count) [inferred]": 3000},
    ]
    fold = ["fold", "--root", "none", "--by", "type", "--skid", str(data)]
    for event, line in zip(
        report["events"],
        ("struct request [inferred];.kind;serve 2", "struct stats [inferred];.count;serve 3"),
        strict=True,
    ):
        assert CliRunner().invoke(undwarf, [*fold, "--event", event["event"]]).stdout.splitlines() == [line]


def test_nothing_is_inferred_of_exact_samples_beside_others(behind: tuple[Path, int], tmp_path: Path) -> None:
    binary, after = behind
    samples = [{"ip": after, "ident": 7, "misc": 2}, {"ip": after, "ident": 8, "misc": EXACT}]
    data = memory_recording(tmp_path, binary, samples, TIMER, CYCLES)
    timer, exact = json.loads(CliRunner().invoke(undwarf, ["types", "--json", "--skid", str(data)]).stdout)["events"]
    assert members(timer) == [("struct request", "kind", 1, 1000)]
    assert (exact["types"], exact["no_data"]) == ([], {"no memory access": 1000})


def shown(data: Path, *options: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(undwarf, ["types", "--json", *options, str(data)])
    assert result.exit_code == 0, result.output
    events: list[dict[str, Any]] = json.loads(result.stdout)["events"]
    return events


@pytest.mark.parametrize("options", [(), ("--skid",)])
def test_the_instruction_after_a_watched_access_is_not_charged(tmp_path: Path, options: tuple[str, ...]) -> None:
    # Not optimised, so that each line begins with a load from the frame.
    binary = build(tmp_path, SERVE, "serve.c", "-O0")
    store = place(binary, "serve", "struct stats", "count", "w")
    after = [one for one in answers_at(binary, range(store + 1, store + 12)) if "start of" not in one["reason"]]
    assert after[0]["access"] == "r"
    samples = [{"ip": int(after[0]["address"], 16), "ident": 7, "misc": 2}]
    watching = Attr(sample_type=PLAIN | IDENTIFIER, type=5, ids=[7], size=128)
    (event,) = shown(memory_recording(tmp_path, binary, samples, watching), *options)
    assert members(event) == [("struct stats", "count", 1, 1000)]
    assert event["inferred_with_high_confidence"] == 1000


@pytest.mark.parametrize("options", [(), ("--skid",)])
def test_a_breakpoint_sample_at_a_functions_start_has_no_type(tmp_path: Path, options: tuple[str, ...]) -> None:
    binary = build(tmp_path, SERVE, "serve.c", "-O1")
    watching = Attr(sample_type=PLAIN | IDENTIFIER, type=5, ids=[7], size=128)
    samples = [{"ip": function_of(binary, "serve")[0], "ident": 7, "misc": 2}]
    (event,) = shown(memory_recording(tmp_path, binary, samples, watching), *options)
    assert (event["types"], event["untyped"]) == ([], {"no access known before a breakpoint's sample": 1000})


@pytest.mark.parametrize(("machine", "kinds"), [("x86_64", ({0}, set())), ("aarch64", (set(), {0}))])
def test_watchpoints_of_aarch64_stop_at_the_access(tmp_path: Path, machine: str, kinds: tuple[set[int], ...]) -> None:
    b = Build()
    watching = Attr(sample_type=PLAIN, type=5)
    path = tmp_path / "perf.data"
    path.write_bytes(b.file([watching], [b.sample(watching)], {ARCH: b.string(machine)}))
    with open_recording(path) as recording:
        assert (recording.event_stops.after, recording.event_stops.at) == kinds
        assert not recording.event_stops.executed


@pytest.mark.parametrize(("config", "name"), [(0, "a timer"), (2, "page faults"), (6, "major faults")])
def test_faults_are_charged_to_the_faulting_access(
    behind: tuple[Path, int], tmp_path: Path, config: int, name: str
) -> None:
    binary, after = behind
    faults = Attr(sample_type=PLAIN | IDENTIFIER, type=1, config=config, ids=[7], size=128)
    (event,) = shown(memory_recording(tmp_path, binary, [{"ip": after, "ident": 7, "misc": 2}], faults), "--skid")
    assert (event["no_data"] == {"no memory access": 1000}) == (config != 0), name
