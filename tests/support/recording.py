"""Programs to record, and `undwarf record` run on them."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

import undwarf
from undwarf.cli.main import run
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Settings


def compiled(folder: Path, source: str, *options: str) -> str:
    """The path of a C program."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    (folder / "prog.c").write_text(source)
    subprocess.run([compiler, "-O1", *options, "-o", "prog", "prog.c"], check=True, cwd=folder)
    return str(folder / "prog")


def record(path: Path, *arguments: str) -> int:
    """Record cpu-clock; the exit code."""
    return run(["record", "-e", "cpu-clock", "-o", str(path), *arguments])


def names(sample: "undwarf.Sample") -> list[str]:
    """The functions of a stack, innermost first."""
    return [frame.name for frame in sample.stack]


def record_samples(path: Path, settings: Settings, count: int) -> None:
    """Record until there are so many samples, or for 60 seconds."""
    sampler = Sampler(settings)
    end = time.monotonic() + 60

    def tick() -> None:
        sampler.stopped = sampler.stopped or recorder.samples >= count or time.monotonic() > end

    try:
        with path.open("w+b") as sink:
            recorder = Recorder(sampler, lambda: sink, "test")
            sampler.tick = tick
            recorder.run()
    finally:
        sampler.close()
