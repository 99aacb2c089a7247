"""pprof's profiles: made from tuples, and by Go's runtime/pprof, whose own tool prints the same numbers."""

import gzip
import random
import re
import shutil
import subprocess
from pathlib import Path

import fuzz_pprof
import mutate
import pytest
from tests.support.pprof_builder import Pprof, message, number, packed
from tests.support.profile_files import damage, opened, stacks

import undwarf
from undwarf.errors import UnreadableInput
from undwarf.limits import Limits
from undwarf.profile.filters import Filters
from undwarf.views.flat_profile import flat_profile

CPU = [("samples", "count"), ("cpu", "milliseconds")]
SAMPLES = [(["inner:3,outer:9", "main:4"], [2, 20]), (["main:5"], [1, 10])]


def test_each_sample_type_is_an_event_with_its_unit() -> None:
    profile = opened(Pprof(CPU, SAMPLES).build()).profile()
    assert [(event.name, event.unit) for event in profile.events] == [("cpu", "ns"), ("samples", "count")]
    assert stacks(profile, "samples") == {"main outer inner": 2, "main": 1}
    assert stacks(profile, "cpu") == {"main outer inner": 20_000_000, "main": 10_000_000}


def test_the_default_sample_type_comes_first() -> None:
    opened_file = opened(Pprof(CPU, SAMPLES, default="samples").build())
    assert [event.name for event in opened_file.events] == ["samples", "cpu"]


def test_a_location_with_several_lines_is_inlined_functions() -> None:
    frames = opened(Pprof(CPU, SAMPLES).build()).profile().samples[0].stack
    assert [(one.name, one.inline_depth, one.file, one.line) for one in frames] == [
        ("inner", 1, "app.c", 3),
        ("outer", 0, "app.c", 9),
        ("main", 0, "app.c", 4),
    ]
    assert {(one.dso, one.runtime) for one in frames} == {("/bin/app", 0x1000), ("/bin/app", 0x2000)}


def test_numbers_that_are_not_packed_are_read_as_well() -> None:
    whole = [stacks(opened(Pprof(CPU, SAMPLES, packed=one).build()).profile()) for one in (True, False)]
    assert whole[0] == whole[1] != {}


def test_gzip_is_unpacked_also_in_several_parts() -> None:
    data = Pprof(CPU, SAMPLES).build()
    parts = gzip.compress(data[:50]) + gzip.compress(data[50:])
    assert stacks(opened(parts).profile()) == stacks(opened(data).profile())


def test_labels_of_perf_data_converter_are_threads_and_times() -> None:
    labels: list[dict[str, int | str]] = [
        {"pid": 7, "tid": 8, "thread_comm": "worker", "comm": "app", "timestamp_ns": 5, "other": 1},
        {"tid": 9, "comm": "app"},
    ]
    found = opened(Pprof([("cpu", "ns")], [(["f"], [1]), (["g"], [2])], labels=labels).build())
    assert [(one.pid, one.tid, one.comm, one.time) for one in found.profile().samples] == [
        (7, 8, "worker", 5),
        (-1, 9, "app", 0),
    ]
    assert {"pid", "tid", "comm", "time"} < found.origin.fields
    assert stacks(found.profile(filters=Filters(comms=("app",)))) == {"g": 2}


def test_without_labels_threads_are_unknown() -> None:
    found = opened(Pprof(CPU, SAMPLES).build())
    assert found.origin.fields.isdisjoint({"pid", "tid", "comm", "time"})


def test_a_location_without_a_function_is_unknown_code_of_its_file() -> None:
    frame = opened(Pprof(CPU, [([""], [1, 1])]).build()).profile().samples[0].stack[0]
    assert (frame.name, frame.dso, frame.runtime) == ("[unknown]", "/bin/app", 0x1000)


@pytest.mark.parametrize("cut", [1, 12, 61])
def test_a_profile_that_is_cut_short_is_an_error_that_says_where(cut: int) -> None:
    with pytest.raises(UnreadableInput, match="cut short or damaged"):
        opened(Pprof(CPU, SAMPLES).build()[:-cut], "pprof")


def test_compressed_data_that_ends_early_is_an_error() -> None:
    with pytest.raises(UnreadableInput, match="ends early"):
        opened(gzip.compress(Pprof(CPU, SAMPLES).build())[:-12])


def test_compressed_data_with_a_wrong_checksum_is_an_error() -> None:
    data = bytearray(gzip.compress(Pprof(CPU, SAMPLES).build()))
    data[-5] ^= 1
    with pytest.raises(UnreadableInput, match="gzip data is damaged"):
        opened(bytes(data))


def test_a_decompression_bomb_is_refused() -> None:
    bomb = gzip.compress(bytes(4 << 20))
    with pytest.raises(UnreadableInput, match="more than 1 MiB"):
        opened(bomb, limits=Limits(profile_ratio=100, profile_unpacked_bytes=1 << 20))


def test_a_file_above_the_limit_is_refused() -> None:
    with pytest.raises(UnreadableInput, match="more than 0 MiB"):
        opened(Pprof(CPU, SAMPLES).build(), limits=Limits(profile_bytes=100))


def test_more_sample_types_than_the_limit_are_refused() -> None:
    types = [(f"t{number}", "count") for number in range(9)]
    with pytest.raises(UnreadableInput, match="more than 8 events"):
        opened(Pprof(types, []).build(), limits=Limits(profile_events=8))


def strange(*parts: bytes) -> bytes:
    """A profile of one sample type."""
    return message(1, number(1, 1)) + b"".join(parts) + message(6, b"") + message(6, b"cpu")


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([message(2, packed(1, [7]) + packed(2, [5]))], "location that is not in the profile"),
        ([message(2, packed(2, [-5]))], "weight below 0, left out"),
        ([message(2, packed(2, [5, 5]))], "sample with another number of values than there are sample types"),
        ([message(2, b"\x0a\x7f")], "damaged sample"),
        ([message(2, packed(2, [1])), message(5, number(1, 1) + number(2, 99))], "string that is not in the table"),
        ([message(4, number(1, 1) + message(4, number(1, 8)))], "function that is not in the profile"),
        ([message(4, b"\x08" + b"\xff" * 11)], "damaged location"),
        ([message(2, packed(2, [1]) + message(3, b"\x12\x7f")), message(6, b""), message(6, b"pid")], "damaged label"),
    ],
)
def test_damage_is_counted(parts: list[bytes], kind: str) -> None:
    assert damage(strange(*parts), "pprof") == {kind: 1}


def test_locations_are_found_by_any_id() -> None:
    far = 1 << 63
    parts = [message(2, packed(1, [far, 3, far]) + packed(2, [5]))]
    for number_, name in ((far, 1), (3, 2)):
        parts.append(message(4, number(1, number_) + message(4, number(1, name))))
    parts += [message(5, number(1, 1) + number(2, 1)), message(5, number(1, 2) + number(2, 2)), message(6, b"")]
    data = strange(*parts).replace(message(6, b"") + message(6, b""), message(6, b""), 1) + message(6, b"other")
    assert stacks(opened(data, "pprof").profile()) == {"cpu other cpu": 5}


GO = """package main
import ("os"; "runtime/pprof")
var sink []byte
//go:noinline
func leaf(n int) int { s := 0; for i := 0; i < n; i++ { s += i ^ n }; return s }
//go:noinline
func work(d int) int { if d == 0 { sink = make([]byte, 1<<20); return leaf(90000000) }; return work(d-1) + 1 }
func main() {
  f, _ := os.Create(os.Args[1]); pprof.StartCPUProfile(f); for i := 0; i < 5; i++ { work(i) }
  pprof.StopCPUProfile(); f.Close()
  h, _ := os.Create(os.Args[2]); pprof.WriteHeapProfile(h); h.Close()
}
"""


@pytest.fixture(scope="module")
def go_profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``cpu`` and ``heap``, of a Go program."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go")
    folder = tmp_path_factory.mktemp("go")
    (folder / "w.go").write_text(GO)
    subprocess.run([go, "build", "-o", "w", "w.go"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["./w", "cpu", "heap"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(("name", "event"), [("cpu", "cpu"), ("heap", "inuse_space"), ("heap", "alloc_objects")])
def test_weights_are_those_that_gos_tool_prints(go_profiles: Path, name: str, event: str) -> None:
    unit = {"cpu": "ns", "inuse_space": "B", "alloc_objects": "count"}[event]
    command = ["go", "tool", "pprof", f"-unit={unit}", f"-sample_index={event}", "-nodefraction=0", "-nodecount=999"]
    done = subprocess.run([*command, "-top", name], cwd=go_profiles, check=True, capture_output=True, text=True)
    pattern = re.compile(r"^ *([\d.]+)(?:ns|B)? +\S+ +\S+ +([\d.]+)(?:ns|B)? +\S+  (\S+)(?: \(inline\))?$", re.M)
    theirs = {line[3]: (int(line[1]), int(line[2])) for line in pattern.finditer(done.stdout)}
    with undwarf.open(go_profiles / name) as found:
        profile = found.profile()
        assert not list(found.defects)
    number_of = [one.name for one in profile.events].index(event)
    rows = flat_profile(profile, ("sym",), event=number_of).rows
    assert len(theirs) > 3
    assert {row.key[0]: (row.self_weight, row.children_weight) for row in rows} == theirs


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(5)
    start = fuzz_pprof.seeds()
    for _ in range(300):
        fuzz_pprof.one_input(mutate.mutated(chance.choice(start), chance))
