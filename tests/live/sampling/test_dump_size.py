"""Full and small stack dumps: when they change, and that samples of both are those of one event."""

from pathlib import Path

import pytest
from tests.support.recording import names, record_samples

import undwarf
from undwarf.live.sampling import sampler as sampler_module
from undwarf.live.sampling.dump_size import FIRST_WAIT_S, GROW_FILL, SHRINK_FILL, DumpSize
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Settings
from undwarf.unwind.stop_reason import StopReason

FULL = 60_000
"""Bytes between the sizes of samples with small and with full dumps."""


def test_dumps_are_small_only_from_when_a_buffer_is_nearly_full() -> None:
    size = DumpSize(False)
    assert not size.update(SHRINK_FILL - 0.01, 10.0)
    assert (size.update(SHRINK_FILL, 11.0), size.small) == (True, True)


def test_full_dumps_return_after_a_wait_that_doubles() -> None:
    size, now = DumpSize(False), 10.0
    for wait in (FIRST_WAIT_S, 2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S):
        assert size.update(1.0, now)
        now += 5.0
        assert not size.update(GROW_FILL + 0.01, now)
        assert not size.update(0.3, now + 0.9 * wait)
        now += 1.1 * wait
        assert (size.update(0.3, now), size.small) == (True, False)
    assert size.seconds == pytest.approx(3 * 5.0 + 7 * 1.1 * FIRST_WAIT_S)


def test_small_dumps_at_the_start_count_until_the_end() -> None:
    size = DumpSize(True)
    assert not size.update(0.1, 100.0)
    assert not size.update(1.0, 102.0)
    size.finish(103.0)
    assert size.seconds == pytest.approx(3.0)


class InTurns:
    """Changes the size of dumps in each round, or as soon as a sample of the present size was seen."""

    seconds = 0.0

    def __init__(self, small: bool) -> None:
        self.small = small
        self.seen: list[bool] | None = None

    def update(self, _fill: float, _now: float) -> bool:
        if self.seen is not None and (not self.seen or self.seen[-1] != self.small):
            return False
        self.small = not self.small
        return True

    def finish(self, _now: float) -> None:
        pass


@pytest.fixture
def settings(program: str) -> Settings:
    """Of a recording whose buffers are too small for full dumps at the start."""
    return Settings(command=[program, "forever"], events=["cpu-clock"], frequency=4000, buffer=4 << 20, seconds=60)


def test_samples_have_dumps_of_the_size_that_was_chosen(settings: Settings, monkeypatch) -> None:
    size = InTurns(True)
    seen = size.seen = []
    monkeypatch.setattr(sampler_module, "DumpSize", lambda _small: size)
    sampler = Sampler(settings)
    changes: list[bool] = []

    def take(views: list[memoryview]) -> None:
        for view in views:
            at = 0
            while at < len(view):
                length = int.from_bytes(view[at + 6 : at + 8], "little")
                if view[at] == 9:
                    seen.append(length < FULL)
                at += length
        changes.extend(seen[-1:] if changes[-1:] != seen[-1:] else [])
        sampler.stopped = len(changes) >= 4

    try:
        sampler.run(lambda _records: None, take)
    finally:
        sampler.close()
    assert changes[:4] == [True, False, True, False]


def test_samples_with_full_and_small_dumps_are_of_one_event(settings: Settings, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sampler_module, "DumpSize", InTurns)
    path = tmp_path / "perf.data"
    record_samples(path, settings, 200)
    with undwarf.open(path) as recording:
        assert [event.name for event in recording.events] == ["cpu-clock"]
        inside = [sample for sample in recording.profile().samples if "leaf" in names(sample)]
    assert len(inside) > 20
    assert {sample.stop for sample in inside} == {StopReason.ROOT}


def test_groups_keep_the_size_of_their_dumps(settings: Settings) -> None:
    settings.events = ["{cpu-clock,task-clock}"]
    sampler = Sampler(settings)
    try:
        assert sampler.open.small_dump == 0
        assert sampler.summary.dump == 8184
    finally:
        sampler.close()
