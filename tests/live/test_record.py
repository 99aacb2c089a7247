"""undwarf record, of programs that run here: facts that hold however busy the machine is."""

import errno
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import undwarf
from undwarf.cli.main import run
from undwarf.images.finder import Finder
from undwarf.live import perf_event as pe
from undwarf.live.record import run as record
from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.live.sampling.sampler import EARLY_ROUND_S, MIN_ROUND_SAMPLES, Sampler
from undwarf.live.sampling.settings import Settings
from undwarf.live.sampling.stack_continuation import breakpoints_work
from undwarf.perfdata import SampleField
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
int loops = 2000;
__attribute__((noinline)) void leaf(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void deep(int n) {
    char pad[1000];
    memset(pad, n, sizeof pad);
    if (n) deep(n - 1); else for (int i = 0; i < loops; i++) leaf();
    sink += pad[n & 255];
}
int main(int count, char **arguments) {
    if (count > 2) loops = atoi(arguments[2]);
    if (!strcmp(arguments[1], "forever")) { puts("ready"); fflush(stdout); for (;;) leaf(); }
    if (!strcmp(arguments[1], "sleep")) { for (int i = 0; i < 5; i++) { leaf(); usleep(20000); } return 3; }
    deep(atoi(arguments[1]));
    return 0;
}
"""


@pytest.fixture(scope="module", autouse=True)
def allowed() -> None:
    try:
        os.close(pe.open_event(pe.parse_event("cpu-clock"), os.getpid(), -1))
    except OSError as error:
        pytest.skip(f"perf_event_open is not allowed here: {error}")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("program")
    (folder / "prog.c").write_text(PROGRAM)
    subprocess.run(
        [compiler, "-O1", "-fomit-frame-pointer", "-o", folder / "prog", folder / "prog.c"], check=True, cwd=folder
    )
    return str(folder / "prog")


@pytest.fixture(scope="module")
def recorded(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty calls deep, for some hundreds of milliseconds of CPU."""
    path = tmp_path_factory.mktemp("recorded") / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "-o", str(path), "--", program, "20"]) == 0
    return path


def names(sample: "undwarf.Sample") -> list[str]:
    return [frame.name for frame in sample.stack]


def test_chains_go_from_the_sampled_function_to_the_program_s_start(recorded: Path):
    with undwarf.open(recorded) as recording:
        profile = recording.profile(inline=False)
        inside = [sample for sample in profile.samples if "leaf" in names(sample)]
        assert inside
        for sample in inside:
            called = names(sample)
            assert called[called.index("leaf") + 1 :][:22] == ["deep"] * 21 + ["main"]
            assert called[-1] == "_start"
            assert sample.stop == StopReason.ROOT


def test_nothing_but_the_recording_is_left(recorded: Path):
    assert [path.name for path in recorded.parent.iterdir()] == ["perf.data"]


def test_the_recording_is_far_smaller_than_one_with_dumps(recorded: Path):
    with undwarf.open(recorded) as recording:
        samples = len(recording.records.samples)
    # What would have been 8 KiB a sample; the mappings and the machine's description do not grow with them.
    assert recorded.stat().st_size < 8192 + samples * 8192 / 50


@pytest.mark.parametrize("mode", ["cfi", "sframe,fp", "fp", "dump"])
def test_other_ways_to_unwind_make_recordings_too(program: str, tmp_path: Path, mode: str):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--unwind", mode, "-o", str(path), "--", program, "3"]) == 0
    with undwarf.open(path) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


@pytest.mark.skipif(not breakpoints_work(), reason="no breakpoints that fire")
def test_stacks_deeper_than_their_dump_are_followed_in_the_process(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    command = ["record", "-e", "cpu-clock", "--stack-size", "4096", "-o", str(path), "--", program, "40", "6000"]
    assert run(command) == 0
    assert "read to their root from the running process" in capsys.readouterr().err
    with undwarf.open(path) as recording:
        whole = [sample for sample in recording.profile().samples if names(sample).count("deep") == 41]
        # While the leaf runs, nothing of what lies above it changes.
        assert any(sample.stop == StopReason.ROOT and names(sample)[-1] == "_start" for sample in whole)


TURNS = """
#include <stdlib.h>
volatile unsigned long sink;
int which;
__attribute__((noinline)) void leaf_a(void) { for (int i = 0; i < 3000; i++) sink += i; }
__attribute__((noinline)) void leaf_b(void) { for (int i = 0; i < 3000; i++) sink += i; sink++; }
__attribute__((noinline)) int down(int n) {
    volatile char pad[200];
    pad[0] = 1;
    if (n) return down(n - 1) + pad[0];
    if (which) leaf_b(); else leaf_a();
    return pad[0];
}
__attribute__((noinline)) int from_a(int n) { volatile char pad[64]; pad[0] = 1; return down(n) + pad[0]; }
__attribute__((noinline)) int from_b(int n) { volatile char pad[64]; pad[0] = 1; return down(n) + 2 * pad[0]; }
int main(void) {
    for (int i = 0; i < 20000; i++) { which = 0; from_a(60); which = 1; from_b(60); }
    return 0;
}
"""


def test_no_stack_is_followed_to_callers_of_another_moment(tmp_path: Path):
    source, program, path = tmp_path / "turns.c", tmp_path / "turns", tmp_path / "perf.data"
    source.write_text(TURNS)
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    subprocess.run([compiler, "-O1", "-g", "-fno-optimize-sibling-calls", "-o", program, source], check=True)
    command = ["record", "-q", "-e", "cpu-clock", "--stack-size", "4096", "-o", str(path), "--", str(program)]
    assert run(command) == 0
    with undwarf.open(path) as recording:
        stacks = [set(names(sample)) for sample in recording.profile().samples]
    # The two calls take turns, so that the same return addresses stand at the same places below either.
    assert not any({"leaf_a", "from_b"} <= stack or {"leaf_b", "from_a"} <= stack for stack in stacks)
    assert any({"leaf_a", "down"} <= stack for stack in stacks)


STAYS = """
volatile unsigned long sink;
__attribute__((noinline)) void leaf(void) { for (int i = 0; i < 3000; i++) sink += i; }
#define CALLS(name, next) \\
    __attribute__((noinline)) int name(int n) { volatile char pad[1200]; pad[0] = 1; next; return pad[0] + n; }
CALLS(eight, leaf())
CALLS(seven, eight(n))
CALLS(six, seven(n))
CALLS(five, six(n))
CALLS(four, five(n))
CALLS(three, four(n))
CALLS(two, three(n))
CALLS(one, two(n))
int main(void) { for (int i = 0; i < 60000; i++) one(i); return 0; }
"""


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Nine functions deep for some hundreds of milliseconds of CPU, and never for long at a time."""
    folder = tmp_path_factory.mktemp("stays")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    (folder / "stays.c").write_text(STAYS)
    command = [compiler, "-O1", "-g", "-fno-optimize-sibling-calls", "-o", folder / "stays", folder / "stays.c"]
    subprocess.run(command, check=True)
    return str(folder / "stays")


def test_inferred_callers_are_marked_in_the_recording(stays: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    assert run(["record", "-e", "cpu-clock", "--stack-size", "8192", "-o", str(path), "--", stays]) == 0
    assert "callers inferred" in capsys.readouterr().err
    with undwarf.open(path) as recording:
        found = recording.profile()
        inferred = [sample for sample in found.samples if sample.stop == StopReason.INFERRED_ROOT]
        marked = [
            [frame.name for frame in sample.stack if frame.provenance == Provenance.OTHER_DUMP] for sample in inferred
        ]
    assert inferred
    assert all(functions[-1] == "_start" and "main" in functions for functions in marked)
    assert not any("leaf" in functions for functions in marked)


def test_nothing_is_inferred_with_no_other_dumps(stays: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    command = ["record", "-q", "-e", "cpu-clock", "--stack-size", "8192", "--no-other-dumps", "-o", str(path)]
    assert run([*command, "--", stays]) == 0
    with undwarf.open(path) as recording:
        stops = [sample.stop for sample in recording.profile().samples]
    assert StopReason.TRUNCATED in stops
    assert StopReason.INFERRED_ROOT not in stops


def test_small_buffers_are_emptied_into_large_ones(program: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pe, "may_lock", lambda: False)
    monkeypatch.setattr(pe, "locked_bytes", lambda _cpus: 516 << 10)
    path = tmp_path / "perf.data"
    settings = Settings(command=[program, "5"], events=["cpu-clock"])
    sampler = Sampler(settings)
    try:
        assert sampler.open.ring_bytes == 512 << 10
        assert len(sampler.open.relays) == len(pe.online_cpus())
        with path.open("wb") as sink:
            record.Recorder(sampler, lambda: sink, "test").run()
    finally:
        sampler.close()
    assert sampler.summary.dump > 32 << 10
    with undwarf.open(path) as recording:
        assert any({"leaf", "_start"} <= set(names(sample)) for sample in recording.profile().samples)


def test_the_file_is_opened_when_there_is_something_to_write(tmp_path: Path, monkeypatch):
    """Who kills us before has no file, who kills us then has one that can be read."""
    real = record.system.describe_machine

    def slow(*arguments):
        assert not path.exists()
        return real(*arguments)

    monkeypatch.setattr(record.system, "describe_machine", slow)
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "-o", str(path), "--", "true"]) == 0
    assert path.exists()


@pytest.mark.parametrize(("rate", "samples"), [(99, MIN_ROUND_SAMPLES), (9999, 9999 * EARLY_ROUND_S)])
def test_a_few_samples_do_not_wake_us(rate: int, samples: float):
    """Each round costs something, so at low rates only their time ends them."""
    sampler = Sampler(Settings(tids=[os.getpid()], events=["cpu-clock"], frequency=rate, dump=8192))
    try:
        assert sampler.watermark // 8192 >= samples
        assert sampler.watermark <= (samples + 1) * (8192 + 512)
    finally:
        sampler.close()


def test_samples_wait_for_the_delay(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    arguments = ["record", "-q", "-e", "cpu-clock", "-D", "60000", "-o", str(path), "--", program, "3"]
    assert run(arguments) == 0
    with undwarf.open(path) as recording:
        assert len(recording.records.samples) == 0
        assert len(recording.records.sideband) > 0


def test_a_cpu_that_does_not_run_is_an_error(tmp_path: Path, capsys):
    assert run(["record", "-e", "cpu-clock", "-C", "0,65000", "-o", str(tmp_path / "x"), "--duration", "1"]) == 1
    assert "cannot sample CPU 65000" in capsys.readouterr().err


def test_waits_come_as_an_event_of_their_own(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--off-cpu", "-o", str(path), "--", program, "sleep"]) == 3
    with undwarf.open(path) as recording:
        assert [event.name for event in recording.events] == ["cpu-clock", "offcpu-time"]
        waits = [sample for sample in recording.profile().samples if sample.event == "offcpu-time"]
        slept = [sample for sample in waits if "usleep" in names(sample) and "main" in names(sample)]
        # A sleep may be more than one wait, where something else came first.
        assert sum(sample.period for sample in slept) > 5 * 18_000_000


def test_a_command_that_still_runs_when_sampling_ends_is_ended_too(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    command = ["record", "-q", "-e", "cpu-clock", "--duration", "0.3", "-o", str(path), "--", program, "forever"]
    assert run(command) == 128 + signal.SIGTERM
    with undwarf.open(path) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_a_running_process_is_sampled_with_the_mappings_it_had(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            command = ["record", "-q", "-e", "cpu-clock", "--duration", "1", "-o", str(path), "-p", str(process.pid)]
            assert run(command) == 0
        finally:
            process.kill()
    with undwarf.open(path) as recording:
        found = recording.profile().samples
        assert {sample.comm for sample in found} <= {"prog"}
        assert any(names(sample)[-1] == "_start" and "leaf" in names(sample) for sample in found)


def test_a_command_beside_a_process_says_how_long(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            command = ["record", "-q", "-e", "cpu-clock", "-o", str(path), "-p", str(process.pid), "--"]
            assert run([*command, "sh", "-c", "sleep 0.5; exit 5"]) == 5
        finally:
            process.kill()
    with undwarf.open(path) as recording:
        found = recording.profile().samples
        assert {(sample.pid, sample.comm) for sample in found} == {(process.pid, "prog")}


def test_it_ends_when_the_last_of_several_processes_does(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    processes = [subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) for _ in range(2)]
    sampler = Sampler(Settings(pids=[process.pid for process in processes], events=["cpu-clock"], seconds=60))
    try:
        with path.open("wb") as sink:
            recorder = record.Recorder(sampler, lambda: sink, "0")
            ticks = 0

            def tick() -> None:
                nonlocal ticks
                ticks += 1
                if ticks in (5, 10):
                    processes[ticks // 5 - 1].kill()

            sampler.tick = tick
            began = time.monotonic()
            recorder.run()
        assert ticks >= 10
        assert time.monotonic() - began < 50
    finally:
        sampler.close()
        for process in processes:
            process.kill()
            process.communicate()


def test_a_recording_in_a_pipe_ends_well(program: str):
    arguments = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "-o", "-", "--"]
    arguments += ["sh", "-c", f"echo said; exec {program} 20"]
    done = subprocess.run(arguments, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"defect" not in done.stderr
    # Not in the midst of the records.
    assert b"said" in done.stderr
    with undwarf.open(io.BytesIO(done.stdout)) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_a_reader_of_a_pipe_may_leave(program: str):
    arguments = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "-o", "-", "--", program, "forever"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.read(10)
        recorder.stdout.close()
        assert recorder.stderr is not None
        assert b"error" not in recorder.stderr.read()
        assert recorder.wait() == 0


def test_where_there_are_no_hardware_counters_cycles_are_the_clock(program: str, tmp_path: Path, monkeypatch, capsys):
    """Also when they were asked for by name, as with perf."""
    real = pe.open_event

    def without(event, *arguments, **more):
        if event.type == 0:
            raise OSError(errno.ENOENT, "no such event")
        return real(event, *arguments, **more)

    monkeypatch.setattr(pe, "open_event", without)
    path = str(tmp_path / "perf.data")
    assert run(["record", "-e", "cpu-cycles:u,page-faults", "-o", path, "--", program, "20"]) == 0
    with undwarf.open(path) as recording:
        assert [event.name for event in recording.events if "dummy" not in event.name] == ["cpu-clock:u", "page-faults"]
    assert "the event is cpu-clock" in capsys.readouterr().err
    assert run(["record", "-e", "instructions", "-o", path, "--", program, "20"]) == 1
    assert "cannot sample instructions" in capsys.readouterr().err


def test_a_recorder_that_is_killed_leaves_what_it_had(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    arguments = [sys.executable, "-m", "undwarf", "record", "-q", "-e", "cpu-clock", "-o", str(path)]
    with subprocess.Popen([*arguments, "--", program, "forever"], stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        try:
            deadline = time.monotonic() + 60
            for _ in range(2):
                before = path.stat().st_size
                while path.stat().st_size <= before + 64 and time.monotonic() < deadline:
                    time.sleep(0.1)
        finally:
            children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
            recorder.send_signal(signal.SIGKILL)
            for child in children:
                os.kill(int(child), signal.SIGKILL)
    assert [one.name for one in tmp_path.iterdir()] == ["perf.data"]
    with undwarf.open(path) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_perf_shows_the_same_stacks(recorded: Path):
    perf = shutil.which("perf")
    if not perf:
        pytest.skip("perf is not installed")
    shown = subprocess.run(
        [perf, "script", "-F", "comm,tid,time,event,ip,sym", "--no-inline", "-i", str(recorded)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = subprocess.run(
        [sys.executable, "-m", "undwarf", "script", "-F", "comm,tid,time,event,ip,sym", "--no-inline", str(recorded)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    def without_addresses(text: str) -> list[list[str]]:
        # Some versions of perf print addresses of the file, others those of the process.
        return [line.split()[1:] if line.startswith("\t") else line.split() for line in text.splitlines()]

    assert sum(line.startswith("\t") for line in ours.splitlines()) > 2
    assert without_addresses(ours) == without_addresses(shown)


@pytest.mark.parametrize(
    "arguments",
    [
        ["record"],
        ["record", "-p", "1", "-a"],
        ["record", "-p", "x"],
        ["record", "-F", "10", "-c", "10", "--", "true"],
        ["record", "-e", "bicycles", "--", "true"],
        ["record", "--stack-size", "100000", "--", "true"],
        ["record", "--off-cpu", "--unwind", "dump", "--", "true"],
        ["record", "--unwind", "magic", "--", "true"],
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments: list[str], tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    assert run(["record", "-e", "cpu-clock", "-o", str(path), "--", "/no/such/program"]) == 2
    assert "cannot run /no/such/program" in capsys.readouterr().err


@pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd"])
def test_an_earlier_recording_survives_a_program_that_cannot_run(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    assert run(["record", "-e", "cpu-clock", "-o", str(path), "--", program]) == 2
    assert f"cannot run {program}" in capsys.readouterr().err
    assert path.read_bytes() == b"an hour of samples"


def test_a_process_that_is_gone_is_a_clean_error(tmp_path: Path, capsys):
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert run(["record", "-e", "cpu-clock", "-o", str(tmp_path / "perf.data"), "-p", str(process.pid)]) == 1
    assert "no such process" in capsys.readouterr().err


def test_what_is_walked_live_is_what_is_walked_later(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    command = ["record", "-q", "-e", "cpu-clock", "--unwind", "dump", "--stack-size", "16384", "--no-zstd"]
    assert run([*command, "-o", str(path), "--", program, "5"]) == 0
    with undwarf.open(path) as recording:
        profile = recording.profile(runtime=True, inline=False)
        later = [[frame.runtime for frame in sample.stack] for sample in profile.samples]
        stops = list(profile.samples.stop)
        unwinder = LiveUnwinder(recording.events, Finder(), recording.header, live=False)
        with recording.data.window(0, recording.data.stream_size) as view:
            # In two rounds, of which the second rests on what the first one learnt.
            half = next(p for p in recording.records.samples.position if p > len(view) // 2)
            live, reasons = [], []
            for part in (view[:half], view[half:]):
                done = unwinder.unwind([part])
                live += chains(unwinder, done.stack)
                reasons += list(done.stop)
                done.spans.clear()
                part.release()
        unwinder.close()
    assert live == later
    assert reasons == stops
    assert len(later) > 1
    assert max(map(len, later)) > 2


def chains(unwinder: LiveUnwinder, nodes: memoryview) -> list[list[int]]:
    stacks = unwinder.stacks
    found = []
    for node in nodes:
        chain = []
        while node != 0xFFFFFFFF:
            chain.append(stacks["runtime"][stacks["frame"][node]])
            node = stacks["parent"][node]
        found.append(chain)
    return found


def test_after_a_loss_running_processes_are_described_again(program: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(record, "DESCRIBE_INTERVAL_S", 0.0)
    described = []

    def again(self: Sampler, known: set[int]) -> Iterator[bytes]:
        described.append(known)
        return describe(self, known)

    describe = Sampler.describe_again
    monkeypatch.setattr(Sampler, "describe_again", again)
    path = tmp_path / "perf.data"
    with path.open("wb") as sink:
        sampler = Sampler(Settings(command=[program, "5"], events=["cpu-clock"]))
        recorder = record.Recorder(sampler, lambda: sink, "test")
        # As if the kernel had lost something before.
        recorder._lost = -1
        recorder.run()
        sampler.close()
    assert described
    assert all(sampler.workload.pid in known for known in described)
    with undwarf.open(path) as recording:
        assert all("main" in names(sample) for sample in recording.profile().samples if "leaf" in names(sample))


def test_no_larger_dump_is_advised_where_the_process_was_read(recorded: Path, capsys):
    assert run(["info", str(recorded)]) == 0
    assert "perf record --call-graph" not in capsys.readouterr().out


def test_top_shows_hot_functions(program: str, capsys):
    # More rows than functions: which of those of equal weight a shorter table has is not said.
    assert run(["top", "-e", "cpu-clock", "--interval", "0.2", "--rows", "100", "--", program, "5"]) == 0
    shown = capsys.readouterr().out
    assert "Children    Self" in shown
    assert " main" in shown
    assert " leaf" in shown
    assert "cpu-clock in" in shown


def test_top_ends_after_its_last_picture(program: str, capsys):
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            command = ["top", "-e", "cpu-clock", "--interval", "0.2", "--iterations", "1", "--sort", "sym"]
            assert run([*command, "-p", str(process.pid)]) == 0
        finally:
            process.kill()
    assert "Symbol" in capsys.readouterr().out


def test_chains_are_deferred_where_the_kernel_can(program: str, tmp_path: Path, monkeypatch):
    asked = []

    def refuse(event, *arguments, **options):
        asked.append(event.flags)
        if event.flags & pe.DEFER_CALLCHAIN:
            raise OSError(errno.EINVAL, "as kernels before 6.19 do")
        return opened(event, *arguments, **options)

    opened = pe.open_event
    monkeypatch.setattr(pe, "open_event", refuse)
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--unwind", "fp", "-o", str(path), "--", program, "3"]) == 0
    assert asked[0] & pe.DEFER_CALLCHAIN
    with undwarf.open(path) as recording:
        assert not any(event.defer_callchain for event in recording.events)
        assert len(recording.records.samples)


def recorded_to(path: Path, *arguments: str) -> int:
    return run(["record", "-e", "cpu-clock", "-o", str(path), *arguments])


def test_an_earlier_recording_is_kept_beside_the_new_one(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    for before in (b"an hour of samples", b"another"):
        path.write_bytes(before)
        assert recorded_to(path, "--", program, "3") == 0
        assert (tmp_path / "perf.data.old").read_bytes() == before
        assert path.read_bytes().startswith(b"PERFILE2")
    assert f"the previous recording is now {path}.old" in capsys.readouterr().err


def test_an_earlier_recording_keeps_its_name_where_a_script_cannot_run(tmp_path: Path):
    path, script = tmp_path / "perf.data", tmp_path / "script"
    path.write_bytes(b"an hour of samples")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert recorded_to(path, "--", str(script)) == 2
    assert path.read_bytes() == b"an hour of samples"


def test_a_recording_that_cannot_be_kept_is_not_overwritten(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    (tmp_path / "perf.data.old").mkdir()
    assert recorded_to(path, "--", program, "3") == 1
    assert "cannot keep" in capsys.readouterr().err
    assert path.read_bytes() == b"an hour of samples"


def test_an_empty_file_is_not_kept(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    path.touch()
    assert recorded_to(path, "--", program, "3") == 0
    assert [one.name for one in tmp_path.iterdir()] == ["perf.data"]


def test_a_link_stays_and_its_file_is_kept_beside_itself(program: str, tmp_path: Path):
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "real", tmp_path / "perf.data"
    real.write_bytes(b"an hour of samples")
    link.symlink_to(real)
    assert recorded_to(link, "--", program, "3") == 0
    assert link.is_symlink()
    assert real.read_bytes().startswith(b"PERFILE2")
    assert (tmp_path / "disk" / "real.old").read_bytes() == b"an hour of samples"


def test_quiet_leaves_notes_out(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    assert run(["record", "-q", "-e", "cpu-clock", "--stack-size", "4096", "-o", str(path), "--", program, "40"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("group", ["{cpu-clock,task-clock}", "{cpu-clock,task-clock}:S", "{cpu-clock,task-clock}:u"])
def test_all_events_of_a_group_have_whole_stacks(program: str, tmp_path: Path, group: str):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", group, "-o", str(path), "--", program, "20"]) == 0
    with undwarf.open(path) as recording:
        samples = list(recording.profile(inline=False).samples)
        inside = {event.name: 0 for event in recording.events if not event.name.startswith("dummy")}
        for sample in samples:
            if "leaf" in names(sample):
                inside[sample.event] += sample.stop == StopReason.ROOT and names(sample)[-1] == "_start"
        assert len(inside) == 2
        assert all(count > 10 for count in inside.values())
        # The dynamic linker, and what the kernel does before there is a program, are a few samples.
        assert sum(inside.values()) > 0.8 * len(samples)


def test_of_a_group_with_s_only_the_first_event_is_sampled(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "{cpu-clock,page-faults}:S", "-o", str(path), "--", program, "3"]) == 0
    with undwarf.open(path) as recording:
        clock, faults = recording.events[:2]
        assert (clock.freq, clock.read_format & 0xF) == (True, pe.FORMAT_GROUP | pe.FORMAT_ID)
        assert (faults.freq, faults.sample_period, faults.sample_type) == (False, 0, clock.sample_type)
        assert recording.data.features.groups == [("{anon_group}", 0, 2)]


def test_first_rounds_come_soon(program: str, tmp_path: Path, monkeypatch):
    waits = []

    class Poller:
        def __init__(self, real) -> None:
            self.real = real

        def poll(self, wait: float) -> list[tuple[int, int]]:
            waits.append(wait)
            return self.real.poll(wait)

        def __getattr__(self, name: str):
            return getattr(self.real, name)

    sampler = Sampler(Settings(command=[program, "3"], events=["cpu-clock"], frequency=99))
    with open(tmp_path / "perf.data", "wb", buffering=0) as sink:
        recorder = record.Recorder(sampler, lambda: sink, "0")
        sampler.open.poller = Poller(sampler.open.poller)
        recorder.run()
    sampler.close()
    assert waits
    assert waits[0] <= 10


def test_a_machine_without_branch_stacks_is_a_clean_error(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(pe, "has_branches", lambda: False)
    assert run(["record", "-b", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 1
    assert "this CPU does not record branches" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_events_that_the_kernel_counts_have_no_branch_stacks(tmp_path: Path, capsys):
    assert run(["record", "-b", "-e", "cpu-clock", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 2
    assert "no branch stacks with cpu-clock" in capsys.readouterr().err


def test_branches_are_asked_for_where_there_are_some(tmp_path: Path, monkeypatch):
    asked = []

    def refuse(event, *_arguments, **_options):
        asked.append(event)
        raise OSError(errno.ENOENT, "no such event")

    monkeypatch.setattr(pe, "has_branches", lambda: True)
    monkeypatch.setattr(pe, "open_event", refuse)
    assert run(["record", "-j", "any_call,u", "-e", "cycles", "-o", str(tmp_path / "perf.data"), "--", "true"]) == 1
    assert asked[0].branch_sample_type == pe.branch_filter("any_call,u")
    assert asked[0].sample_type & SampleField.BRANCH_STACK


def test_a_recording_ends_at_its_largest_size(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            options = ["-z0", "-F", "5000", "--max-size", "60K", "--duration", "20", "-p", str(process.pid)]
            began = time.monotonic()
            assert recorded_to(path, *options) == 0
        finally:
            process.kill()
    assert time.monotonic() - began < 15
    assert "ended at --max-size, 61,440 bytes" in capsys.readouterr().err
    assert 61_440 <= path.stat().st_size < 600_000


def switched(tmp_path: Path) -> list[Path]:
    return sorted(path for path in tmp_path.iterdir() if re.fullmatch(r"perf\.data\.\d{16}", path.name))


@pytest.mark.parametrize("mode", ["live", "fp"])
def test_each_of_several_files_can_be_read_by_itself(program: str, tmp_path: Path, mode: str):
    command = ["--unwind", mode, "-z0", "-F", "5000", "--switch-output=20K", "--", program, "3", "8000"]
    assert recorded_to(tmp_path / "perf.data", *command) == 0
    found = switched(tmp_path)
    assert len(found) > 2
    assert len(list(tmp_path.iterdir())) == len(found)
    for path in found:
        with undwarf.open(path) as recording:
            samples = list(recording.profile().samples)
            assert {sample.comm for sample in samples} <= {"prog", "undwarf-exec"}
            unnamed = sum(not any(name in ("leaf", "deep", "main") for name in names(sample)) for sample in samples)
            # Only a walk knows the mappings of a process that has ended since.
            assert unnamed <= 0.2 * len(samples) + 2 or mode == "fp"
    with undwarf.open(found[1]) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_only_the_last_of_several_files_are_kept(program: str, tmp_path: Path):
    command = ["-q", "-z0", "-F", "5000", "--switch-output=20K", "--switch-max-files", "2", "--", program, "3", "8000"]
    assert recorded_to(tmp_path / "perf.data", *command) == 0
    assert len(switched(tmp_path)) == 2


def test_a_signal_begins_another_file(program: str, tmp_path: Path):
    command = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "--switch-output", "-o"]
    with subprocess.Popen([*command, tmp_path / "perf.data", "--", program, "forever"], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 20
            while not switched(tmp_path) and time.monotonic() < deadline:
                one.send_signal(signal.SIGUSR2)
                time.sleep(0.3)
        finally:
            one.send_signal(signal.SIGINT)
            one.wait()
    assert len(switched(tmp_path)) >= 2


def test_a_name_with_the_time_may_be_had_without_switching(program: str, tmp_path: Path):
    assert recorded_to(tmp_path / "perf.data", "--timestamp-filename", "--", program, "3") == 0
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in switched(tmp_path)]
    assert len(switched(tmp_path)) == 1


def test_verbose_shows_how_events_were_opened(program: str, tmp_path: Path, capsys):
    assert recorded_to(tmp_path / "perf.data", "-v", "--dry-run", "--", program, "3") == 0
    shown = capsys.readouterr().err
    assert "event cpu-clock: 999 Hz; type 1, config 0x0" in shown
    assert "CALLCHAIN" in shown
    assert list(tmp_path.iterdir()) == []


def test_samples_may_have_addresses_costs_and_page_sizes(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    fields = ["-d", "-W", "--phys-data", "--data-page-size", "--code-page-size"]
    assert run(["record", "-q", "-e", "page-faults", *fields, "--off-cpu", "-o", str(path), "--", program, "3"]) == 0
    with undwarf.open(path) as recording:
        wanted = SampleField.ADDR | SampleField.DATA_SRC | SampleField.WEIGHT | SampleField.PHYS_ADDR
        wanted |= SampleField.DATA_PAGE_SIZE | SampleField.CODE_PAGE_SIZE
        assert recording.events[0].sample_type & wanted == wanted
        assert any(recording.records.samples.addr)
        assert 4096 in recording.records.samples.code_page_size


def test_a_rate_that_is_not_allowed_is_an_error_where_that_is_asked_for(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(pe, "largest_rate", lambda: 500)
    assert recorded_to(tmp_path / "perf.data", "--strict-freq", "-F", "501", "--", "true") == 1
    assert "cannot sample at 501 Hz" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "left_out"), [("--all-user", pe.EXCLUDE_KERNEL), ("--all-kernel", pe.EXCLUDE_USER)])
def test_one_side_of_the_kernel_is_recorded_alone(option: str, left_out: int, program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert recorded_to(path, "-q", option, "--", program, "3") == 0
    with undwarf.open(path) as recording:
        assert recording.events[0].flags & (pe.EXCLUDE_KERNEL | pe.EXCLUDE_USER) == left_out
