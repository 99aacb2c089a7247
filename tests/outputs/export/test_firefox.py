"""Profiles for the Firefox Profiler, beside what samply writes of the same recording."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.exports import (
    HOSTILE,
    RECORDING,
    added,
    export,
    export_of,
    hostile_profile,
    inlined_profile,
    losses,
    report,
    write,
)
from tests.support.profiles import S, make_profile

from undwarf.outputs.export.origin import Origin
from undwarf.outputs.terminal.escape import printable

SAMPLY = shutil.which("samply") or shutil.which("samply-new")
LATER = {"logicalCPUs", "importedFrom", "stackwalk", "doesNotUseFrameImplementation"}
"""Optional fields that samply does not write."""


def read(data: bytes) -> Any:
    return json.loads(gzip.decompress(data))


def stacks(thread: Any) -> Iterator[tuple[list[str], int]]:
    """The samples of a thread: functions, innermost first, and weight in ns or as it is."""
    strings, frames, nodes, samples = (thread[key] for key in ("stringArray", "frameTable", "stackTable", "samples"))
    scale = 1e6 if samples["weightType"] == "tracing-ms" else 1
    for node, weight in zip(samples["stack"], samples["weight"], strict=True):
        stack = []
        while node is not None:
            stack.append(strings[thread["funcTable"]["name"][frames["func"][nodes["frame"][node]]]])
            node = nodes["prefix"][node]
        yield stack, round(weight * scale)


def all_stacks(profile: Any) -> list[tuple[list[str], int]]:
    return [one for thread in profile["threads"] for one in stacks(thread)]


def shape(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each field by its path, with its type; entries of lists count as one."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from shape(entry, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, "list"
        for entry in value[:50]:
            yield from shape(entry, f"{path}[]")
    else:
        yield path, {"int": "number", "float": "number"}.get(type(value).__name__, type(value).__name__)


def tables(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Tables by path: objects with a length."""
    if isinstance(value, dict):
        if "length" in value:
            yield path, value
        for key, entry in value.items():
            yield from tables(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from tables(entry, f"{path}[{number}]")


@pytest.mark.skipif(SAMPLY is None, reason="samply is not installed")
def test_the_fields_are_those_that_samply_writes(tmp_path: Path) -> None:
    assert SAMPLY is not None
    target = tmp_path / "samply.json.gz"
    command = [SAMPLY, "import", "--save-only", "-o", str(target), RECORDING[0]]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    # Of mappings samply makes markers.
    other, ours = (
        {pair for pair in shape(read(data)) if ".marker" not in pair[0]}
        for data in (target.read_bytes(), export("firefox"))
    )
    missing = {path for path, _kind in other} - {path for path, _kind in ours}
    new = {path for path, _kind in ours} - {path for path, _kind in other if not path.endswith("[]")}
    assert missing == set()
    assert {path for path in new if not path.endswith("[]")} == {f".meta.{name}" for name in LATER}
    # Types of fields agree, where both have a value.
    for path in {path for path, _kind in ours}:
        found = {kind for at, kind in ours if at == path} - {"NoneType"}
        expected = {kind for at, kind in other if at == path} - {"NoneType"}
        assert not found or not expected or found == expected, path


def test_functions_have_the_weights_of_the_report() -> None:
    found = added(all_stacks(read(export("firefox"))))
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("source", ["perf-script"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(source: str) -> None:
    found = added(all_stacks(read(export_of(source, "firefox"))))
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


def test_the_total_is_that_of_the_report() -> None:
    assert sum(weight for _stack, weight in all_stacks(read(export("firefox")))) == report().total > 0


def test_all_columns_of_a_table_have_its_length() -> None:
    found = list(tables(read(export("firefox"))))
    assert len(found) == 8
    for path, table in found:
        lengths = {len(column) for column in table.values() if isinstance(column, list)}
        assert lengths <= {table["length"]}, path


def test_threads_have_their_own_time_line() -> None:
    samples = [
        S("a@app", tid=100, time=1_000_000_000, comm="one"),
        S("b@app", tid=101, time=1_000_500_001, comm="two"),
        S("c@app", tid=100, time=1_002_000_000, comm="one"),
    ]
    one, two = read(write(make_profile(samples, ("cpu-clock",)), "firefox"))["threads"]
    assert (one["name"], one["samples"]["timeDeltas"]) == ("one", [0, 2])
    assert (two["name"], two["samples"]["timeDeltas"]) == ("two", [0.500001])
    assert [one["isMainThread"], two["isMainThread"]] == [True, False]


def test_an_inlined_function_is_a_frame_of_its_caller_s_symbol() -> None:
    (thread,) = read(write(inlined_profile(), "firefox"))["threads"]
    frames, functions, strings = thread["frameTable"], thread["funcTable"], thread["stringArray"]
    symbols = [strings[thread["nativeSymbols"]["name"][symbol]] for symbol in frames["nativeSymbol"]]
    names = [strings[functions["name"][function]] for function in frames["func"]]
    files = [strings[functions["fileName"][function]] for function in frames["func"]]
    assert sorted(zip(names, symbols, files, frames["line"], frames["inlineDepth"], strict=True)) == [
        ("inner", "outer", "/src/inner.h", 3, 1),
        ("main", "main", "/src/app.c", 10, 0),
        ("outer", "outer", "/src/app.c", 20, 0),
    ]


def test_categories_are_those_of_images() -> None:
    profile = read(write(make_profile([S("main@app jit@anon read@kernel xfs@module ?@")]), "firefox"))
    (thread,) = profile["threads"]
    names = [category["name"] for category in profile["meta"]["categories"]]
    assert [names[one] for one in thread["frameTable"]["category"]] == ["User", "JIT", "Kernel", "Kernel", "Other"]


def test_a_wait_has_weight_and_no_cpu_time() -> None:
    samples = [S("a@app", period=2_000_000), S("b@app", event=1, period=7_000_000)]
    (thread,) = read(write(make_profile(samples, ("cpu-clock", "offcpu-time")), "firefox"))["threads"]
    assert (thread["samples"]["weight"], thread["samples"]["threadCPUDelta"]) == ([2, 7], [2_000_000, 0])


def test_an_event_with_another_unit_is_a_counter() -> None:
    samples = [S("a@app", period=5), S("b@app", event=1, period=7), S("b@app", event=1, period=8, time=1_000_000_100)]
    profile = make_profile(samples, ("cycles", "page-faults"))
    (counter,) = read(write(profile, "firefox"))["counters"]
    assert (counter["name"], counter["pid"], counter["samples"]["count"]) == ("page-faults", "100", [7, 8])
    assert "the stacks of 2 samples of page-faults" in losses(profile, "firefox")


def test_a_thread_that_changed_its_name_is_shown_by_each() -> None:
    threads = read(write(make_profile([S("a@app", comm="sh"), S("a@app", comm="ls")]), "firefox"))["threads"]
    assert [(thread["name"], thread["tid"], thread["isMainThread"]) for thread in threads] == [
        ("sh", "100", True),
        ("ls", "100.1", False),
    ]


def test_a_sample_without_a_stack_keeps_its_weight() -> None:
    assert all_stacks(read(write(make_profile([S("", period=5)]), "firefox"))) == [([], 5)]


def test_the_time_of_the_first_sample_is_that_of_the_profile() -> None:
    origin = Origin("perf.data", start=1_700_000_000_000_000_000, intervals=(2_000_000,))
    meta = read(write(make_profile([S("a@app")]), "firefox", origin))["meta"]
    assert (meta["startTime"], meta["interval"]) == (1_700_000_000_000, 2)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(name: str) -> None:
    assert added(all_stacks(read(write(hostile_profile(name), "firefox")))) == {
        "main": (0, 7),
        "other": (0, 7),
        printable(name): (7, 7),
    }
