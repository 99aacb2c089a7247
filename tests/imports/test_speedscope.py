"""speedscope's files, made by hand and by py-spy."""

import copy
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fuzz_speedscope
import mutate
import pytest
from tests.support.profile_files import damage, opened, stacks

import undwarf
from undwarf.errors import UnreadableInput
from undwarf.imports.speedscope import SCHEMA
from undwarf.limits import Limits

SAMPLED: dict[str, Any] = {
    "type": "sampled",
    "name": "main",
    "unit": "milliseconds",
    "startValue": 1,
    "endValue": 7,
    "samples": [[0, 1], [0], [0, 1]],
    "weights": [1.5, 2, 0.25],
}
EVENTED: dict[str, Any] = {
    "type": "evented",
    "name": "worker",
    "unit": "bytes",
    "startValue": 0,
    "endValue": 14,
    "events": [
        {"type": "O", "frame": 0, "at": 0},
        {"type": "O", "frame": 1, "at": 3},
        {"type": "C", "frame": 1, "at": 7},
        {"type": "C", "frame": 0, "at": 14},
    ],
}


def file(*profiles: dict[str, Any], frames: object = None) -> bytes:
    """A file of these profiles."""
    shared = {"frames": [{"name": "a", "file": "a.py", "line": 3}, {"name": "b"}] if frames is None else frames}
    return json.dumps({"$schema": SCHEMA, "shared": shared, "profiles": profiles}).encode()


def changed(profile: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A profile with other parts."""
    return {**copy.deepcopy(profile), **parts}


def test_samples_with_their_weights_in_ns() -> None:
    assert stacks(opened(file(SAMPLED)).profile()) == {"a b": 1_750_000, "a": 2_000_000}


def test_a_sample_begins_where_the_one_before_ends() -> None:
    assert [one.time for one in opened(file(SAMPLED)).profile().samples] == [1_000_000, 2_500_000, 4_500_000]


def test_the_time_between_events_is_that_of_the_open_functions() -> None:
    assert stacks(opened(file(EVENTED)).profile()) == {"a": 10, "a b": 4}


def test_each_profile_is_a_thread_and_each_unit_an_event() -> None:
    found = opened(file(SAMPLED, EVENTED, changed(SAMPLED, name="second")))
    assert [(event.name, event.unit) for event in found.events] == [("time", "ns"), ("bytes", "bytes")]
    assert found.profile().comms == ["main", "worker", "second"]


def test_source_lines_are_kept() -> None:
    frame = opened(file(SAMPLED)).profile().samples[1].stack[0]
    assert (frame.name, frame.file, frame.line) == ("a", "a.py", 3)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (changed(SAMPLED, samples=[[0, 9], [0], [0]]), "damaged sample"),
        (changed(SAMPLED, samples=[[0, -1], [0], [0]]), "damaged sample"),
        (changed(SAMPLED, samples=[["x"], [0], [0]]), "damaged sample"),
        (changed(SAMPLED, weights=[1, "2", 3]), "damaged sample"),
        (changed(SAMPLED, weights=[1, 1e300, 3]), "damaged sample"),
        (changed(SAMPLED, weights=[1, -2, 3]), "weight below 0, left out"),
        (changed(SAMPLED, weights=[1, 2]), "profile with another number of weights than samples"),
        (changed(SAMPLED, unit="parsecs"), "unit that is not known"),
        (changed(SAMPLED, unit=["seconds"]), "unit that is not known"),
        (changed(SAMPLED, unit="none", weights=[0.5, 1, 2]), "weight with a fraction, rounded"),
        (changed(SAMPLED, type="other"), "profile that is neither sampled nor evented"),
        (changed(EVENTED, events=EVENTED["events"][:3]), "function that is never closed"),
        (
            changed(EVENTED, events=[*EVENTED["events"], {"type": "C", "frame": 0, "at": 20}]),
            "event that does not fit the ones before",
        ),
        (
            changed(EVENTED, events=[*EVENTED["events"], {"type": "O", "frame": 0, "at": 2}]),
            "event that does not fit the ones before",
        ),
    ],
)
def test_damage_is_counted(part: dict[str, Any], kind: str) -> None:
    assert damage(file(part, SAMPLED)).get(kind) == 1
    assert stacks(opened(file(part, SAMPLED)).profile())["a"] >= 2_000_000


def test_functions_that_are_never_closed_end_with_the_profile() -> None:
    assert stacks(opened(file(changed(EVENTED, events=EVENTED["events"][:3]))).profile()) == {"a": 10, "a b": 4}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (file(SAMPLED)[:-9], "it is no JSON"),
        (file(SAMPLED).replace(b"0.25", b"NaN"), "NaN is no number of JSON"),
        (b'{"profiles": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"traceEvents": []}', "no list of profiles"),
        (file(SAMPLED, frames=7), "no shared frames"),
        (b'{"profiles": [], "weights": ' + b"9" * 5000 + b"}", "it is no JSON"),
    ],
)
def test_what_is_no_file_of_speedscope_is_an_error(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableInput, match=why):
        opened(data)


def test_a_file_above_the_limit_is_refused() -> None:
    with pytest.raises(UnreadableInput, match="more than 1 MiB"):
        opened(file(SAMPLED) + b" " * (1 << 20), limits=Limits(profile_json_bytes=1 << 20))


PROGRAM = """
import threading, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(2000))
def hot(): spin(0.6)
def cold(): spin(0.2)
thread = threading.Thread(target=cold, name="second")
thread.start(); hot(); thread.join()
"""


def py_spy(folder: Path, format: str) -> Path:
    """A profile that py-spy makes of a program."""
    command = shutil.which("py-spy", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if command is None:
        pytest.skip("no py-spy")
    (folder / "p.py").write_text(PROGRAM)
    options = ["record", "-f", format, "-r", "250", "-o", "out", "--", sys.executable, "p.py"]
    done = subprocess.run([command, *options], cwd=folder, capture_output=True, check=False, timeout=60)
    if done.returncode or not (folder / "out").exists():
        pytest.skip(f"py-spy cannot sample here: {done.stderr[-200:]!r}")
    return folder / "out"


def test_a_file_of_py_spy(tmp_path: Path) -> None:
    path = py_spy(tmp_path, "speedscope")
    with undwarf.open(path) as found:
        assert not list(found.defects)
        profile = found.profile()
    theirs = sum(sum(one["weights"]) for one in json.loads(path.read_bytes())["profiles"])
    assert profile.call_tree().total == pytest.approx(theirs * 1e9, rel=1e-6)
    weights = stacks(profile)
    assert sum(n for name, n in weights.items() if "hot spin" in name) > sum(
        n for name, n in weights.items() if "cold spin" in name
    )


def test_folded_stacks_of_py_spy(tmp_path: Path) -> None:
    path = py_spy(tmp_path, "raw")
    theirs = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in path.read_text().splitlines()}
    with undwarf.open(path) as found:
        profile = found.profile()
        assert not list(found.defects)
    ours = {";".join(frame.name for frame in reversed(one.stack)): one.period for one in profile.samples}
    assert ours == theirs != {}


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(5)
    start = fuzz_speedscope.seeds()
    for _ in range(500):
        fuzz_speedscope.one_input(mutate.mutated(chance.choice(start), chance))
