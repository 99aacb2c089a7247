"""What is sampled, from when, and until when: commands, processes, CPUs."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.recording import names, record, record_samples

from undwarf.api import open_recording
from undwarf.cli.main import run
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.dump_size import DumpSize
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Settings

pytestmark = pytest.mark.usefixtures("perf_events")


@pytest.mark.parametrize("options", [[], ["-F", "4000", "--buffer", "4M"]], ids=["fixed-dumps", "changing-dumps"])
def test_there_are_no_samples_before_the_delay_is_over(program: str, tmp_path: Path, monkeypatch, options: list[str]):
    # Full dumps at once, where they may change.
    monkeypatch.setattr("undwarf.live.sampling.sampler.DumpSize", lambda small: DumpSize(small, _wait=0.0))
    path = tmp_path / "perf.data"
    assert record(path, "-q", "-D", "60000", *options, "--", program, "3") == 0
    with open_recording(path) as recording:
        assert len(recording.records.samples) == 0
        assert len(recording.records.sideband) > 0


def test_a_cpu_that_is_not_online_is_an_error(tmp_path: Path, capsys):
    assert run(["record", "-e", "cpu-clock", "-C", "0,65000", "-o", str(tmp_path / "x"), "--duration", "1"]) == 1
    assert "cannot sample CPU 65000" in capsys.readouterr().err


def test_a_command_that_still_runs_when_sampling_ends_is_terminated(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    command = ["record", "-q", "-e", "cpu-clock", "--duration", "0.3", "-o", str(path), "--", program, "forever"]
    assert run(command) == 128 + signal.SIGTERM
    with open_recording(path) as recording:
        assert b"prog" in recording.records.names


def test_a_running_process_is_sampled_with_the_mappings_it_had(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            record_samples(path, Settings(pids=[process.pid], events=["cpu-clock"]), 20)
        finally:
            process.kill()
    with open_recording(path) as recording:
        found = recording.profile().samples
        assert {sample.comm for sample in found} <= {"prog"}
        assert any(names(sample)[-1] == "_start" and "leaf" in names(sample) for sample in found)


def test_a_command_beside_a_process_determines_the_duration(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            # Ends when the process has had the CPU for some more hundredths of a second.
            ticks = f"$(cut -d' ' -f14 /proc/{process.pid}/stat)"
            wait = f"end=$(({ticks} + 10)); until [ {ticks} -ge $end ]; do sleep 0.05; done; exit 5"
            assert record(path, "-q", "-p", str(process.pid), "--", "sh", "-c", wait) == 5
        finally:
            process.kill()
    with open_recording(path) as recording:
        found = recording.profile().samples
        assert {(sample.pid, sample.comm) for sample in found} == {(process.pid, "prog")}


def test_sampling_ends_with_the_last_of_several_processes(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    processes = [subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) for _ in range(2)]
    sampler = Sampler(Settings(pids=[process.pid for process in processes], events=["cpu-clock"], seconds=60))
    try:
        with path.open("wb") as sink:
            recorder = Recorder(sampler, lambda: sink, "0")
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
def test_options_that_exclude_each_other_are_a_usage_error(arguments: list[str], tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_missing_program_is_a_usage_error(tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    assert run(["record", "-e", "cpu-clock", "-o", str(path), "--", "/no/such/program"]) == 2
    assert "cannot run /no/such/program" in capsys.readouterr().err


def test_a_process_that_has_ended_is_a_clean_error(tmp_path: Path, capsys):
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert run(["record", "-e", "cpu-clock", "-o", str(tmp_path / "perf.data"), "-p", str(process.pid)]) == 1
    assert "no such process" in capsys.readouterr().err
