"""`undwarf record` of programs that run here: facts that hold however busy the machine is."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.recording import names, record

from undwarf.api import open_recording
from undwarf.cli.main import run
from undwarf.live.record import run as recorder_module
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Settings
from undwarf.unwind.stop_reason import StopReason

pytestmark = pytest.mark.usefixtures("perf_events")


@pytest.fixture(scope="module")
def recorded(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty calls deep, for some hundreds of milliseconds of CPU."""
    path = tmp_path_factory.mktemp("recorded") / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "-o", str(path), "--", program, "20"]) == 0
    return path


def test_chains_go_from_the_sampled_function_to_the_entry_point(recorded: Path):
    with open_recording(recorded) as recording:
        profile = recording.profile(inline=False)
        inside = [sample for sample in profile.samples if "leaf" in names(sample)]
        assert inside
        for sample in inside:
            called = names(sample)
            assert called[called.index("leaf") + 1 :][:22] == ["deep"] * 21 + ["main"]
            assert called[-1] == "_start"
            assert sample.stop == StopReason.ROOT


def test_only_the_recording_is_left(recorded: Path):
    assert [path.name for path in recorded.parent.iterdir()] == ["perf.data"]


def test_the_recording_is_far_smaller_than_one_with_dumps(recorded: Path):
    with open_recording(recorded) as recording:
        samples = len(recording.records.samples)
    # What would have been 8 KiB a sample; the mappings and the machine's description do not grow with them.
    assert recorded.stat().st_size < 8192 + samples * 8192 / 50


@pytest.mark.parametrize("mode", ["cfi", "sframe,fp", "fp", "dump"])
def test_other_unwind_modes_record_too(program: str, tmp_path: Path, mode: str):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--unwind", mode, "-o", str(path), "--", program, "3"]) == 0
    with open_recording(path) as recording:
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


def test_no_larger_dump_is_advised_where_the_process_was_read(recorded: Path, capsys):
    assert run(["info", str(recorded)]) == 0
    assert "perf record --call-graph" not in capsys.readouterr().out


def test_waits_are_samples_of_another_event(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "--off-cpu", "-o", str(path), "--", program, "sleep"]) == 3
    with open_recording(path) as recording:
        assert [event.name for event in recording.events] == ["cpu-clock", "offcpu-time"]
        waits = [sample for sample in recording.profile().samples if sample.event == "offcpu-time"]
        slept = [sample for sample in waits if "usleep" in names(sample) and "main" in names(sample)]
        # A sleep may be more than one wait, where something else came first.
        assert sum(sample.period for sample in slept) > 5 * 18_000_000


def test_a_recording_to_a_pipe_is_complete(program: str):
    arguments = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "-o", "-", "--"]
    arguments += ["sh", "-c", f"echo output; exec {program} 20"]
    done = subprocess.run(arguments, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"defect" not in done.stderr
    # Not among the records.
    assert b"output" in done.stderr
    with open_recording(io.BytesIO(done.stdout)) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_recording_ends_without_error_when_the_pipe_is_closed(program: str):
    arguments = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "-o", "-", "--", program, "forever"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.read(10)
        recorder.stdout.close()
        assert recorder.stderr is not None
        assert b"error" not in recorder.stderr.read()
        assert recorder.wait() == 0


def test_a_killed_recorder_leaves_a_readable_recording(program: str, tmp_path: Path):
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
    with open_recording(path) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_the_file_is_opened_when_there_is_something_to_write(tmp_path: Path, monkeypatch):
    """Who kills us before has no file, who kills us then has one that can be read."""
    real = recorder_module.system.describe_machine

    def slow(*arguments):
        assert not path.exists()
        return real(*arguments)

    monkeypatch.setattr(recorder_module.system, "describe_machine", slow)
    path = tmp_path / "perf.data"
    assert run(["record", "-q", "-e", "cpu-clock", "-o", str(path), "--", "true"]) == 0
    assert path.exists()


def test_after_a_loss_running_processes_are_described_again(program: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(recorder_module, "DESCRIBE_INTERVAL_S", 0.0)
    described = []

    def again(self: Sampler, known: set[int]) -> Iterator[bytes]:
        described.append(known)
        return describe(self, known)

    describe = Sampler.describe_again
    monkeypatch.setattr(Sampler, "describe_again", again)
    path = tmp_path / "perf.data"
    with path.open("wb") as sink:
        sampler = Sampler(Settings(command=[program, "5"], events=["cpu-clock"]))
        recorder = recorder_module.Recorder(sampler, lambda: sink, "test")
        # As if the kernel had lost something before.
        recorder._lost = -1
        recorder.run()
        sampler.close()
    assert described
    assert all(sampler.workload.pid in known for known in described)
    with open_recording(path) as recording:
        assert all("main" in names(sample) for sample in recording.profile().samples if "leaf" in names(sample))


def test_a_recording_ends_at_its_largest_size(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            options = ["-z0", "-F", "5000", "--max-size", "60K", "--duration", "100", "-p", str(process.pid)]
            assert record(path, *options) == 0
        finally:
            process.kill()
    assert "ended at --max-size, 61,440 bytes" in capsys.readouterr().err
    assert path.stat().st_size >= 61_440


def test_quiet_leaves_notes_out(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    assert run(["record", "-q", "-e", "cpu-clock", "--stack-size", "4096", "-o", str(path), "--", program, "40"]) == 0
    assert capsys.readouterr().err == ""


def test_verbose_shows_how_events_were_opened(program: str, tmp_path: Path, capsys):
    assert record(tmp_path / "perf.data", "-v", "--dry-run", "--", program, "3") == 0
    shown = capsys.readouterr().err
    assert "event cpu-clock: 999 Hz; type 1, config 0x0" in shown
    assert "CALLCHAIN" in shown
    assert list(tmp_path.iterdir()) == []
