"""The text of perf script: perf's own, of real recordings, and every selection of fields that it is known with."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import fuzz_perf_script
import mutate
import pytest
from tests.support.profile_files import damage, opened, stacks
from tests.support.recording import compiled

import undwarf
from undwarf.imports.profile_file import OpenedProfile
from undwarf.profile.filters import Filters
from undwarf.profile.model import Profile
from undwarf.views.flat_profile import flat_profile

FRAMES = """\tffffffff81000010 do_syscall_64+0x71 ([kernel.kallsyms])
\t          401126 f(int)+0x4 (/tmp/a b (deleted))
\t          401136 main+0x16 (/tmp/a b (deleted))
\t              bf [unknown] ([unknown])

"""
TEXT = "a b 12/13 [001] 5.000001:    250000 cycles:u: \n" + FRAMES


def test_the_fields_of_a_sample() -> None:
    sample = opened(TEXT).profile().samples[0]
    assert (sample.comm, sample.pid, sample.tid, sample.cpu) == ("a b", 12, 13, 1)
    assert (sample.time, sample.event, sample.period) == (5_000_001_000, "cycles:u", 250_000)


def test_the_frames_of_a_sample() -> None:
    stack = opened(TEXT).profile().samples[0].stack
    assert [(frame.name, frame.dso) for frame in stack] == [
        ("do_syscall_64", "[kernel.kallsyms]"),
        ("f(int)", "/tmp/a b (deleted)"),
        ("main", "/tmp/a b (deleted)"),
        ("[unknown]", "[unknown]"),
    ]


def test_kernel_code_is_known_as_such() -> None:
    rows = flat_profile(opened(TEXT).profile(), ("sym",)).rows
    assert [row.key[0] for row in rows if row.kernel] == ["do_syscall_64"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "perl 27633  4328.153275:    2004008 cpu-clock: ",
            ("perl", -1, 27633, -1, 4328153275000, "cpu-clock", 2004008),
        ),
        ("my prog 2 7 5.5: cycles: ", ("my prog 2", -1, 7, -1, 5500000000, "cycles", 1)),
        ("a 7/8 cycles:P: ", ("a", 7, 8, -1, 0, "cycles:P", 1)),
        ("a 8 [003] 5.000000001: ", ("a", -1, 8, 3, 5000000001, "samples", 1)),
        ("a    2004008 cycles: ", ("a", -1, -1, -1, 0, "cycles", 2004008)),
        ("a", ("a", -1, -1, -1, 0, "samples", 1)),
        ("a b  12 34 [001]", ("a b  12", -1, 34, 1, 0, "samples", 1)),
        ("27633  4328.153275: ", (":27633", -1, 27633, -1, 4328153275000, "samples", 1)),
        ("a ", ("a", -1, -1, -1, 0, "samples", 1)),
        ("swapper     0 [002]  1.1:  9 cycles: ", ("swapper", -1, 0, 2, 1100000000, "cycles", 9)),
        (
            "a 7/8 [001] 5.5: sched:sched_switch: prev_comm=a prev_pid=7",
            ("a", 7, 8, 1, 5500000000, "sched:sched_switch", 1),
        ),
        ("", (":-1", -1, -1, -1, 0, "samples", 1)),
    ],
)
def test_any_selection_of_fields(header: str, expected: tuple[object, ...]) -> None:
    one = opened(header + "\n" + FRAMES).profile().samples[0]
    assert (one.comm, one.pid, one.tid, one.cpu, one.time, one.event, one.period) == expected
    assert len(one.stack) == 4


def test_samples_without_call_chains_have_their_frame_in_the_same_line() -> None:
    text = "             dd    12 [000] 5.1:    3 cycles:     7f4bfdd70010 read+0x10 (/lib/libc.so.6)\n" * 2
    profile = opened(text).profile()
    assert (stacks(profile), profile.samples[1].comm) == ({"read": 6}, "dd")


def test_words_of_a_tracepoint_are_no_frame() -> None:
    text = "a 7/8 [001] 5.5: probe:add: add 5 (item)\na 7/8 [001] 5.6: probe:add: bad\n"
    assert stacks(opened(text).profile()) == {"": 2}


def test_long_lines_take_no_longer_than_they_are() -> None:
    text = TEXT + ("a" + " " * 4000 + "b 1" + " 2" * 500 + "\n\n") * 300
    assert damage(text) == {"line that describes no sample": 300}


def test_side_band_records_are_no_samples() -> None:
    text = "dd 12 [000] 5.1: PERF_RECORD_COMM exec: dd:12/12\n\n" + TEXT
    assert (len(opened(text).profile().samples), damage(text)) == (1, {})


def test_source_lines_and_inlined_functions() -> None:
    frames = "\t401126 twice (inlined)\n\t401126 f+0x4 (/tmp/a)\n  a.c:7\n\t401136 main+0x16 (/tmp/a)\n  a.c:12\n\n"
    stack = opened("a 1 5.5: 1 cycles: \n" + frames).profile().samples[0].stack
    assert [(one.name, one.dso, one.inline_depth, one.line) for one in stack] == [
        ("twice", "/tmp/a", 1, 0),
        ("f", "/tmp/a", 0, 7),
        ("main", "/tmp/a", 0, 12),
    ]


def test_functions_inlined_into_each_other() -> None:
    frames = "\t401126 a (inlined)\n\t401126 b (inlined)\n\t401126 c+0x4 (/tmp/a)\n\t401136 b (/tmp/b)\n\n"
    stack = opened("a 1 5.5: 1 cycles: \n" + frames).profile().samples[0].stack
    assert [(one.name, one.dso, one.inline_depth) for one in stack] == [
        ("a", "/tmp/a", 2),
        ("b", "/tmp/a", 1),
        ("c", "/tmp/a", 0),
        ("b", "/tmp/b", 0),
    ]


def test_lines_that_are_no_frames_are_counted() -> None:
    text = TEXT.replace("\t          401136", "\tnot a frame\n  nor this\n\t          401136")
    assert damage(text) == {"line that is no frame": 2}
    assert len(opened(text).profile().samples[0].stack) == 4


def test_lines_that_describe_no_sample_are_counted() -> None:
    text = TEXT + "neither time nor event\n\n" + TEXT
    assert damage(text) == {"line that describes no sample": 1}
    assert [one.tid for one in opened(text).profile().samples] == [13, 13]


def test_samples_are_filtered_by_what_the_text_has() -> None:
    text = TEXT + TEXT.replace("12/13", "22/23").replace("5.000001", "7.0")
    found = opened(text)
    assert [one.pid for one in found.profile(filters=Filters(pids=(22,))).samples] == [22]
    assert [one.pid for one in found.profile(filters=Filters(start=6_000_000_000)).samples] == [22]


def test_samples_in_the_order_of_time() -> None:
    text = TEXT.replace("5.000001", "7.0") + TEXT
    assert [one.time for one in opened(text).profile(by_time=True).samples] == [5_000_001_000, 7_000_000_000]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a program with frame pointers, by perf."""
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("no perf")
    folder = tmp_path_factory.mktemp("perf")
    source = """
    int sink;
    __attribute__((noinline)) int spin(int n) { for (int i = 0; i < n; i++) sink += i ^ n; return sink; }
    __attribute__((noinline)) int hot(int n) { return spin(3 * n) + 1; }
    __attribute__((noinline)) int cold(int n) { return spin(n) + 2; }
    int main(void) { for (int i = 0; i < 25; i++) sink += hot(4000000) + cold(4000000); return 0; }
    """
    program = compiled(folder, source, "-O0")
    command = [perf, "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "fp", "-o", "perf.data", program]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("perf cannot record here")
    return folder / "perf.data"


def script(recorded: Path, *options: str) -> OpenedProfile[Profile]:
    """What perf script prints of a recording, opened."""
    done = subprocess.run(["perf", "script", *options, "-i", str(recorded)], capture_output=True, check=True)
    return opened(done.stdout)


@pytest.mark.records
def test_functions_have_the_weights_of_perfs_own_report(recorded: Path) -> None:
    command = ["perf", "report", "-i", str(recorded), "--stdio", "--no-children", "-g", "none", "-F", "period,sym"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    theirs = {name: int(weight) for weight, name in re.findall(r"^ *(\d+) +\[\.\] (\S+)", done.stdout, re.M)}
    found = script(recorded)
    ours = {row.key[0]: row.self_weight for row in flat_profile(found.profile(), ("sym",), children=False).rows}
    assert not list(found.defects)
    assert theirs["spin"] > 0
    assert {name: ours.get(name) for name in theirs if not name.startswith("0x")} == {
        name: weight for name, weight in theirs.items() if not name.startswith("0x")
    }


@pytest.mark.records
def test_stacks_are_those_of_the_recording_itself(recorded: Path) -> None:
    with undwarf.open(recorded) as recording:
        whole = stacks(recording.profile(inline=False))  # type: ignore[arg-type,call-arg]
    found = stacks(script(recorded, "--no-inline").profile())
    chosen = [name for name in found if name.endswith(("main hot spin", "main cold spin"))]
    assert len(chosen) >= 2
    assert sum(found.values()) == sum(whole.values())
    for part in ("main hot spin", "main cold spin"):
        assert sum(n for name, n in found.items() if name.endswith(part)) == sum(
            n for name, n in whole.items() if name.endswith(part)
        )


@pytest.mark.records
def test_samples_that_perf_prints_in_one_line(recorded: Path) -> None:
    with undwarf.open(recorded) as recording:
        leaves = [one.stack[0].name for one in recording.profile(inline=False).samples]  # type: ignore[call-arg]
    one_line = script(recorded, "-G", "-F", "comm,tid,time,period,event,ip,sym,dso").profile().samples
    assert [one.stack[0].name for one in one_line if "spin" in one.stack[0].name] == [
        name for name in leaves if "spin" in name
    ]
    assert [len(one.stack) for one in one_line] == [1] * len(leaves)


@pytest.mark.records
@pytest.mark.parametrize(
    "fields", ["comm,ip,sym", "ip,sym", "comm,tid,time,event,ip,sym,dso", "comm,pid,tid,period,event,ip,sym,symoff,dso"]
)
def test_other_fields_give_the_same_stacks(recorded: Path, fields: str) -> None:
    whole, some = script(recorded).profile(), script(recorded, "-F", fields).profile()
    count = [[" ".join(frame.name for frame in one.stack) for one in profile.samples] for profile in (whole, some)]
    assert count[0] == count[1] != []


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(5)
    start = fuzz_perf_script.seeds()
    for _ in range(150):
        fuzz_perf_script.one_input(mutate.mutated(chance.choice(start), chance))
