"""The agent as it runs: recordings that stand alone, signals, kills, a full disk, new programs, a clock that is set."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from tests.agent.conftest import Hands

import undwarf
from undwarf.agent import minutes as minutes_module
from undwarf.agent.clock import Clock
from undwarf.agent.contents import Contents
from undwarf.agent.metrics import Metrics
from undwarf.agent.minutes import Minutes, Sink
from undwarf.agent.settings import AgentSettings
from undwarf.agent.spool import LEAST_BYTES, Spool, whole_bytes
from undwarf.api import open_recording
from undwarf.live import perf_event as pe
from undwarf.live.perf_event import BUILD_ID
from undwarf.live.sampling.sampler import Sampler
from undwarf.unwind.provenance import Provenance

pytestmark = pytest.mark.usefixtures("perf_events")


class Running:
    """A process of ``undwarf agent`` with recordings of a second, and what it wrote."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder
        self.config = folder / "agent.toml"
        self.configure(more)
        self.start()

    def configure(self, more: str = "", frequency: int = 199) -> None:
        self.config.write_text(
            f'store = "{self.folder}/store"\n[spool]\nfolder = "{self.folder}/spool"\n'
            f'[sampling]\nseconds = 1\nfrequency = {frequency}\nevent = "cpu-clock"\n{more}'
        )

    def start(self) -> None:
        with (self.folder / "log").open("a") as log:
            command = [sys.executable, "-m", "undwarf", "agent", "--config", str(self.config)]
            self.process = subprocess.Popen(command, stderr=log)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def wait_for(self, count: int) -> list[Path]:
        """The recordings, when there are so many in the store."""
        end = time.monotonic() + 60
        while len(found := self.stored()) < count:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.1)
        return found

    def stored(self) -> list[Path]:
        found = [path for path in (self.folder / "store").rglob("*.json") if path.name[0] != "."]
        return sorted(path.with_suffix(".data") for path in found)

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(30) == 0, self.log


@pytest.fixture
def port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
        return number


@pytest.fixture
def running(tmp_path: Path, port: int) -> Iterator[Running]:
    agent = Running(tmp_path, f'[metrics]\nlisten = "127.0.0.1:{port}"\n[labels]\nservice = "shop"\n')
    yield agent
    agent.process.kill()
    agent.process.wait()


@pytest.fixture
def busy(program: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def stacks_of(path: Path, comm: str) -> list[list[str]]:
    with undwarf.open(path) as recording:
        return [
            [frame.name for frame in sample.stack]
            for sample in recording.profile().samples
            if sample.comm == comm and any("leaf" in frame.name for frame in sample.stack)
        ]


def about(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.with_suffix(".json").read_text())
    return found


def test_each_recording_stands_alone(running: Running, port: int, busy: subprocess.Popen[bytes]) -> None:
    # The program was there before the second recording began.
    path = running.wait_for(3)[2]
    found = stacks_of(path, "prog")
    assert found
    assert all("main" in stack for stack in found)
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    assert "undwarf_minutes_shipped_total" in text
    running.end()
    assert len(running.stored()) >= 3
    description = about(path)
    assert description["labels"] == {"host": os.uname().nodename, "service": "shop"}
    assert str(busy.pid) in description["processes"]  # type: ignore[operator]
    with undwarf.open(path) as recording:
        profile = recording.profile()
        assert len(profile.samples) == description["samples"]
        assert all(image.build_id for image in profile.images if image.path.endswith(("/prog", "/libc.so.6")))
    with open_recording(path, format="perf.data") as opened:
        # The agent reads them itself: if the kernel is asked, it spoils the recordings of others.
        assert not any(event.flags & BUILD_ID for event in opened.events)
    assert not list((running.folder / "spool").glob("*.data"))
    assert not list((running.folder / "spool").glob("*.part"))


@pytest.mark.usefixtures("busy")
def test_no_sample_is_lost_between_two_recordings(running: Running) -> None:
    times: list[int] = []
    within: list[int] = []
    between: list[int] = []
    running.wait_for(4)
    running.end()
    for path in running.stored():
        with undwarf.open(path) as recording:
            found = sorted(sample.time for sample in recording.profile().samples)
            between += [found[0] - times[-1]] if times else []
            within += [after - before for before, after in pairwise(found)]
            times += found
    assert len(times) > 100
    assert min(between) > 0
    # Something runs on one CPU at least all the time; the machine itself may be halted for a moment.
    assert max(between) <= max(20_000_000, *within)


def test_a_recording_has_nothing_of_processes_without_samples(running: Running, busy: subprocess.Popen[bytes]) -> None:
    with subprocess.Popen(["sleep", "1000"]) as idle:
        try:
            running.wait_for(3)
            running.end()
        finally:
            idle.kill()
    with undwarf.open(running.stored()[2]) as recording:
        assert busy.pid in recording.processes
        assert idle.pid not in recording.processes


def test_a_hangup_reads_the_configuration_again(running: Running) -> None:
    running.wait_for(1)
    running.configure('[labels]\nservice = "cart"\n', frequency=99)
    running.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 60
    while "99 Hz" not in running.log:
        assert time.monotonic() < end, running.log
        time.sleep(0.1)
    paths = running.wait_for(len(running.stored()) + 2)
    assert about(paths[-1])["labels"]["service"] == "cart"  # type: ignore[index]
    with undwarf.open(paths[-1]) as recording:
        assert recording.events[0].frequency == 99


def test_a_wrong_configuration_changes_nothing(running: Running) -> None:
    running.wait_for(1)
    running.config.write_text("store = ")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for(len(running.stored()) + 2)
    assert "the configuration was not read again" in running.log


def test_a_kill_loses_no_finished_recording(running: Running, busy: subprocess.Popen[bytes]) -> None:
    running.wait_for(2)
    text = running.config.read_text()
    running.config.write_text(text.replace("seconds = 1\n", "seconds = 50\n"))
    running.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 60
    while "50 s a file" not in running.log:
        assert time.monotonic() < end, running.log
        time.sleep(0.1)
    (part,) = (running.folder / "spool").glob("2*.part")
    with part.open("rb") as file:
        while whole_bytes(file) < 2 * LEAST_BYTES:
            assert time.monotonic() < end
            time.sleep(0.1)
    before = running.stored()
    running.process.kill()
    running.process.wait()
    running.config.write_text(text)
    running.start()
    running.wait_for(len(before) + 2)
    running.end()
    assert set(before) <= set(running.stored())
    assert "whose agent was killed" in running.log
    for path in running.stored():
        with undwarf.open(path) as recording:
            assert not [defect for defect in recording.defects if "build-id" not in str(defect)]
            assert len(recording.profile().samples) >= 0


def test_a_program_that_was_built_anew_is_found(running: Running, program: str, tmp_path: Path) -> None:
    running.wait_for(1)
    copy = tmp_path / "anew"
    for number in range(2):
        shutil.copy("/bin/sleep" if number else program, tmp_path / "draft")
        (tmp_path / "draft").rename(copy)
        if not number:
            subprocess.run([copy, "3", "4000"], check=True)
    shutil.copy(program, tmp_path / "draft")
    (tmp_path / "draft").rename(copy)
    subprocess.run([copy, "3", "4000"], check=True)
    running.wait_for(len(running.stored()) + 2)
    running.end()
    found = [stack for path in running.stored() for stack in stacks_of(path, "anew")]
    assert len(found) > 10
    assert all("main" in stack for stack in found)


def test_an_address_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        agent = Running(tmp_path, f'[metrics]\nlisten = "127.0.0.1:{port}"\n')
        assert agent.process.wait(30) == 1
    assert f"cannot serve metrics at 127.0.0.1:{port}" in agent.log
    assert "Traceback" not in agent.log


def test_check_says_what_it_found(tmp_path: Path) -> None:
    config = tmp_path / "agent.toml"
    config.write_text(f'store = "{tmp_path}/store"\n[spool]\nfolder = "{tmp_path}/spool"\n')
    command = [sys.executable, "-m", "undwarf", "agent", "--config", str(config), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "at 19 Hz" in done.stdout
    assert f"ships to {tmp_path}/store" in done.stdout
    assert not list((tmp_path / "store").iterdir())


def test_check_fails_without_a_place_to_spool(tmp_path: Path) -> None:
    config, file = tmp_path / "agent.toml", tmp_path / "file"
    file.touch()
    config.write_text(f'store = "{tmp_path}/store"\n[spool]\nfolder = "{file}/spool"\n')
    command = [sys.executable, "-m", "undwarf", "agent", "--config", str(config), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot write to the spool" in done.stderr


def record_minutes(spool: Spool, clock: Clock, seconds: float, tick, **more) -> Metrics:
    """Record through the parts of an agent until ``tick`` stops it."""
    settings = AgentSettings("", spool.folder, frequency=199, event="cpu-clock", seconds=seconds, **more)
    sampler = Sampler(settings.recording(cgroups=False))
    metrics = Metrics()
    try:
        contents = Contents(sampler.encoder(), settings.pods, spool.folder)
        minutes = Minutes(
            sampler, spool, contents, metrics, clock, "test",
            seconds=seconds, labels=dict, say=print, finished=lambda: None,
        )  # fmt: skip  # as many as there are
        sampler.tick = lambda: tick(sampler, metrics)
        minutes.run()
    finally:
        sampler.close()
    return metrics


def test_a_clock_that_is_set_back_loses_nothing(spool: Spool, hands: Hands, busy: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 60
    enough = 0

    def tick(sampler: Sampler, metrics: Metrics) -> None:
        nonlocal enough
        hands.steady = time.monotonic()
        if metrics.written and not enough:
            hands.wall, enough = 1_000_000_000.0, metrics.written + 3  # 2001
        sampler.stopped = 0 < enough <= metrics.written or time.monotonic() > ends

    hands.steady = time.monotonic()
    metrics = record_minutes(spool, hands.clock, 0.8, tick)
    names = sorted((path.stem for path in spool.folder.glob("*.json")), key=lambda name: name[-8:])
    assert metrics.written == len(names) >= 4
    assert metrics.dropped == 0
    assert names[0].startswith("2025")
    assert names[-1].startswith("20010909T014640Z")
    starts = [spool.describe(name) for name in names]
    assert all(one["start"] <= one["end"] for one in starts)
    assert sum(one["samples"] for one in starts) == metrics.samples > 100


def test_a_full_disk_cuts_a_recording_after_a_whole_record(spool: Spool) -> None:
    class Full:
        """A file of a disk with 5,000 free bytes."""

        def __init__(self, path: Path) -> None:
            self.file = path.open("w+b", buffering=0)
            self.free = 5000

        def write(self, data: memoryview) -> int:
            done = self.file.write(data[: self.free]) or 0
            self.free -= done
            if not done:
                raise OSError(28, "No space left on device")
            return done

        def __getattr__(self, name: str):
            return getattr(self.file, name)

    full = Full(spool.folder / "20251128T205200Z-00000000.part")
    sink = Sink(full)  # type: ignore[arg-type]
    for number in range(6):
        assert sink.write(b"x" * 1000) == 1000
        if number == 3:
            sink.flush()
    full.free = 5000
    sink.write(b"y" * 1000)
    assert sink.failure is not None
    assert sink.left_out == 3000
    full.file.seek(0)
    assert full.file.read() == b"x" * 4000
    full.file.close()


def test_a_lower_frequency_takes_fewer_samples(spool: Spool, busy: subprocess.Popen[bytes]) -> None:
    began, changed = 0.0, False

    def tick(sampler: Sampler, metrics: Metrics) -> None:
        nonlocal began, changed
        began = began or time.monotonic()
        if time.monotonic() - began > 1.5 and not changed:
            changed = True
            sampler.open.change_frequency(3)
        sampler.stopped = time.monotonic() - began > 3.5

    record_minutes(spool, Clock(), 60, tick)
    (path,) = spool.folder.glob("*.data")
    with undwarf.open(path) as recording:
        samples = [one for one in recording.profile().samples if one.pid == busy.pid]
    periods = {one.period for one in samples}
    assert periods == {10**9 // 199, 10**9 // 24}
    slow = [one.time for one in samples if one.period == 10**9 // 24]
    # On the whole: on a busy machine a sample may come late, and the next one on time.
    assert slow[-1] - slow[0] > 20e6 * (len(slow) - 1)


def test_a_recording_ends_early_when_memory_is_short(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_BYTES", "CALM_BYTES", "SHORT_BYTES"):
        monkeypatch.setattr(minutes_module, name, 0)
    monkeypatch.setattr(minutes_module, "RENEWAL_S", 0.1)
    monkeypatch.setattr(minutes_module, "EARLIEST_S", 0.3)
    metrics = record_minutes(spool, Clock(), 60, lambda sampler, now: setattr(sampler, "stopped", now.written >= 4))
    assert metrics.renewals >= 3
    spans = [json.loads(path.read_text()) for path in sorted(spool.folder.glob("2*.json"))]
    assert len(spans) >= 4
    # One begins where the one before ended.
    times = [[datetime.fromisoformat(one[key]).timestamp() for key in ("start", "end")] for one in spans]
    assert [end for _start, end in times[:-1]] == pytest.approx([start for start, _end in times[1:]], abs=0.2)


def test_no_code_is_searched_for_callers_below_return_probes() -> None:
    sampler = Sampler(AgentSettings("", Path(), event="cpu-clock").recording(cgroups=False))
    try:
        assert not sampler.unwinder().sources.has_call_sites
    finally:
        sampler.close()


def test_names_of_sampled_kernel_functions_are_those_of_kallsyms(spool: Spool) -> None:
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            Path("/proc/kallsyms").read_bytes()

    thread = threading.Thread(target=read)
    thread.start()
    began = time.monotonic()

    def tick(sampler: Sampler, _metrics: Metrics) -> None:
        sampler.stopped = time.monotonic() - began > 2

    try:
        record_minutes(spool, Clock(), 60, tick)
    finally:
        stop.set()
        thread.join()
    (path,) = spool.folder.glob("*.data")
    lines = spool.describe(path.stem)["kallsyms"].splitlines()
    if not pe.may_see_kernel() or not lines:
        pytest.skip("the kernel hides its addresses")
    known = {line.split()[2] for line in lines}
    (spool.folder / "kallsyms").write_text("\n".join(lines) + "\n")
    with undwarf.open(path) as recording:
        own = {
            frame.name
            for one in recording.profile().samples
            for frame in one.stack
            if frame.provenance is Provenance.KERNEL_CHAIN
        }
    with undwarf.open(path, kallsyms=spool.folder / "kallsyms") as recording:
        shipped = {
            frame.name
            for one in recording.profile().samples
            for frame in one.stack
            if frame.provenance is Provenance.KERNEL_CHAIN
        }
    assert own == shipped
    assert len(own & known) > 3
