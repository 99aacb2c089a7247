"""pprof, as `go tool pprof` reads it."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.exports import (
    HOSTILE,
    RECORDING,
    export,
    export_of,
    hostile_profile,
    inlined_profile,
    losses,
    report,
    run,
    write,
)
from tests.support.profiles import S, make_profile

from undwarf.outputs.terminal.escape import printable

GO = shutil.which("go")
needs_go = pytest.mark.skipif(GO is None, reason="go is not installed")


def pprof(data: bytes, folder: Path, *options: str) -> str:
    """What `go tool pprof` prints of a profile."""
    assert GO is not None
    path = folder / "profile.pb.gz"
    path.write_bytes(data)
    command = [GO, "tool", "pprof", *options, str(path)]
    environment = {"PATH": str(Path(GO).parent), "HOME": str(folder), "PPROF_TMPDIR": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60).stdout


def top(data: bytes, folder: Path, *options: str) -> dict[str, tuple[int, int]]:
    """By function the flat and cumulative weight."""
    whole = ("-top", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-unit=nanoseconds")
    lines = re.findall(
        r"^ *(\d+)(?:[a-z]+)? +\S+ +\S+ +(\d+)(?:[a-z]+)? +\S+ +(.*?)(?: \((?:partial-)?inline\))?$",
        pprof(data, folder, *whole, *options),
        re.MULTILINE,
    )
    return {name: (int(flat), int(cumulative)) for flat, cumulative, name in lines}


@needs_go
def test_functions_have_the_weights_of_the_report(tmp_path: Path) -> None:
    found = top(export("pprof"), tmp_path)
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@needs_go
@pytest.mark.parametrize("source", ["folded", "pprof", "perf-script", "speedscope"])
def test_profiles_of_other_tools_have_the_weights_of_the_report(tmp_path: Path, source: str) -> None:
    found = top(export_of(source, "pprof"), tmp_path)
    expected = report().heaviest()
    assert {name: found.get(name) for name in expected} == expected


@needs_go
@pytest.mark.parametrize(
    ("source", "labels"), [("folded", ""), ("speedscope", "thread"), ("perf-script", "thread tid")]
)
def test_only_what_is_known_of_threads_is_a_label(tmp_path: Path, source: str, labels: str) -> None:
    text = pprof(export_of(source, "pprof"), tmp_path, "-tags")
    assert " ".join(sorted(re.findall(r"^ *(\w+): Total", text, re.MULTILINE))) == labels


@needs_go
@pytest.mark.parametrize(("source", "types"), [("folded", "weight"), ("perf-script", "samples task-clock:u")])
def test_sums_of_samples_are_not_counted(tmp_path: Path, source: str, types: str) -> None:
    raw = pprof(export_of(source, "pprof"), tmp_path, "-raw")
    assert " ".join(re.findall(r"(\S+)/\w+", raw.partition("Samples:\n")[2].splitlines()[0])) == types


@needs_go
def test_the_total_is_that_of_the_report(tmp_path: Path) -> None:
    found = top(export("pprof"), tmp_path)
    assert sum(own for own, _all in found.values()) == report().total > 0


@needs_go
def test_inlined_functions_share_the_address_of_their_caller(tmp_path: Path) -> None:
    raw = pprof(write(inlined_profile(), "pprof"), tmp_path, "-raw")
    inner, outer, main = raw.partition("Locations\n")[2].splitlines()[:3]
    assert inner.split() == ["1:", "0x2010", "M=1", "inner", "/src/inner.h:3", "s=0()"]
    assert outer.split() == ["outer", "/src/app.c:20", "s=0()"]
    assert main.split() == ["2:", "0x3010", "M=1", "main", "/src/app.c:10", "s=0()"]


@needs_go
def test_threads_are_labels(tmp_path: Path) -> None:
    profile = make_profile([S("main@app", comm="one", pid=1, tid=2), S("main@app", comm="two", pid=1, tid=3, period=4)])
    assert top(write(profile, "pprof"), tmp_path, "-tagfocus=thread=two") == {"main": (4, 4)}


@needs_go
def test_each_event_is_a_value_type(tmp_path: Path) -> None:
    samples = [S("a@app", period=5), S("b@app", event=1, period=7), S("b@app", event=1, period=7)]
    data = write(make_profile(samples, ("cycles", "page-faults")), "pprof")
    found = [top(data, tmp_path, f"-sample_index={name}") for name in ("samples", "cycles", "page-faults")]
    assert found == [{"a": (1, 1), "b": (2, 2)}, {"a": (5, 5)}, {"b": (14, 14)}]


@needs_go
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_one_function(tmp_path: Path, name: str) -> None:
    found = top(write(hostile_profile(name), "pprof"), tmp_path)
    assert found == {"main": (0, 7), "other": (0, 7), printable(name): (7, 7)}


def test_a_sample_without_a_stack_keeps_its_weight() -> None:
    with_it = gzip.decompress(write(make_profile([S(""), S("main@app", period=3)]), "pprof"))
    # A sample (field 2) whose first field is its values: one sample with weight 1.
    assert b"\x12\x02\x01\x01" in with_it


def test_equal_recordings_give_equal_bytes() -> None:
    assert run("export", "--format", "pprof", "-o", "-", *RECORDING).stdout == export("pprof")


def test_the_lost_times_are_named() -> None:
    assert "when each sample was taken" in losses(make_profile([S("main@app")]), "pprof")
