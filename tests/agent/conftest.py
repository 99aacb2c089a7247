"""Parts of an agent for tests: clocks that can be moved, and a spool in a temporary folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.conftest import perf_events, program

from undwarf.agent.clock import Clock
from undwarf.agent.spool import Spool
from undwarf.live import perf_event as pe
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.writer import PerfWriter

__all__ = ["perf_events", "program"]


class Hands:
    """The hands of both clocks."""

    def __init__(self) -> None:
        self.wall, self.steady, self.jitter = 1_764_363_120.0, 1000.0, 0.0
        self.clock = Clock(lambda: self.wall, lambda: self.steady, lambda: self.jitter)


@pytest.fixture
def hands() -> Hands:
    """2025-11-28T20:52:00Z."""
    return Hands()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """An empty spool: a minute of a busy machine has some MiB."""
    found = Spool(tmp_path / "spool", 64 << 20)
    yield found
    found.close()


def write_recording(spool: Spool, records: int = 100):
    """An unfinished recording in a spool: its open file."""
    event = pe.parse_event("cpu-clock")
    part = spool.begin(f"20251128T205200Z-{spool.number():08}")
    writer = PerfWriter(part, [event], form="pipe")  # type: ignore[arg-type]
    encoder = RecordEncoder(event)
    writer.write(b"".join(encoder.comm(b"program", number, number) for number in range(records)))
    writer.flush()
    return part


def finish_one(spool: Spool, records: int = 100, **labels: str) -> str:
    """A complete recording in a spool: its name."""
    with write_recording(spool, records) as part:
        about = {"version": 1, "start": "2025-11-28T20:52:00.000Z", "labels": {"host": "h", **labels}}
        spool.finish(part, about)
    return Path(part.name).stem
