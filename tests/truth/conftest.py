"""Build a workload, record it with perf, unwind the recording: stacks whose whole chain the source says.

Everything here is skipped, with the reason, where perf, a compiler or the kernel's leave to record is missing.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import undwarf

SOURCES = Path(__file__).resolve().parent.parent / "workloads"
MILLISECONDS = 150
BUFFERS = ["-m", "32M"] if os.geteuid() == 0 else []
"""perf must not lose records where it gets no CPU for a while; others than root may not have so much memory locked."""


@dataclass(frozen=True)
class Stack:
    """One sample's user part, root first: function names without versions and parameters, the dso of each."""

    names: tuple[str, ...]
    dsos: tuple[str, ...]
    stop: undwarf.StopReason
    event: str
    pid: int
    tid: int
    depth: int

    def of(self, *dsos: Path) -> list[str]:
        """The names of the frames in these files, without the C library's start code (of a static program)."""
        wanted = {str(dso) for dso in dsos}
        pairs = zip(self.names, self.dsos, strict=True)
        return [name for name, dso in pairs if dso in wanted and not name.startswith("__libc_start")]


def bare(name: str) -> str:
    """A function's name without version, parameters or Rust's hash."""
    return name.split("@")[0].split("(")[0].split("::h0")[0]


def stacks_of(path: Path) -> list[Stack]:
    with undwarf.open(path) as recording:
        result = []
        for sample in recording.profile().samples:
            user = [frame for frame in reversed(sample.stack) if not frame.dso.startswith("[kernel")]
            names, dsos = tuple(bare(frame.name) for frame in user), tuple(frame.dso for frame in user)
            stop = undwarf.StopReason(sample.stop)
            result.append(Stack(names, dsos, stop, sample.event, sample.pid, sample.tid, len(sample.stack)))
        return result


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]


@pytest.fixture(scope="session")
def perf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A perf that may record stacks here."""
    program = shutil.which("perf")
    if not program:
        pytest.skip("perf is not installed")
    target = tmp_path_factory.mktemp("perf") / "probe.data"
    command = [program, "record", "-q", "-e", "task-clock:u", "--call-graph", "dwarf", "-o", str(target), "true"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not target.exists():
        pytest.skip(f"perf record is not possible here: {_complaint(done)}")
    return program


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Path]:
    """``build("gcc", "chain.c", "-O2")`` compiles into the test's directory and gives the program."""

    def compile_(compiler: str, source: str, *options: str, output: str = "program") -> Path:
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        program = tmp_path / output
        sources = [str(SOURCES / name) for name in source.split()]
        done = subprocess.run(
            [compiler, *sources, *options, "-o", str(program)], capture_output=True, text=True, cwd=tmp_path
        )
        if done.returncode:
            pytest.skip(f"{compiler} {' '.join(options)} cannot build {source}: {_complaint(done)}")
        return program

    return compile_


@pytest.fixture
def record(perf: str, tmp_path: Path) -> Callable[..., Path]:
    """``record([program, ...], "-F", "999")`` gives the recording of that program; 2 kHz, 8 KB of stack."""

    def run(
        command: Sequence[str | Path],
        *options: str,
        graph: str = "dwarf",
        event: str = "task-clock:u",
        piped: bool = False,
    ) -> Path:
        target = tmp_path / "perf.data"
        line = [perf, "record", "-q", "-F", "1999", "-e", event, "--call-graph", graph, *BUFFERS, *options]
        line += ["-o", "-" if piped else str(target), "--", *map(str, command)]
        environment = dict(os.environ, LC_ALL="C")
        if piped:
            with open(target, "wb") as sink:
                done = subprocess.run(line, stdout=sink, stderr=subprocess.PIPE, text=True, env=environment)
        else:
            done = subprocess.run(line, capture_output=True, text=True, env=environment)
        if not target.exists() or target.stat().st_size < 256:
            pytest.skip(f"perf record {' '.join(options)} is not possible here: {_complaint(done)}")
        return target

    return run


@pytest.fixture
def stacks(record: Callable[..., Path]) -> Callable[..., list[Stack]]:
    """As ``record``, but gives the stacks; the program runs for a moment, then come ``arguments``."""

    def run(program: Path, *options: str, arguments: Sequence[str] = (), **more: object) -> list[Stack]:
        return stacks_of(record([program, str(MILLISECONDS), *arguments], *options, **more))

    return run
