"""When rounds start, and the buffers that they read."""

import os
from pathlib import Path

import pytest
from tests.support.recording import names

import undwarf
from undwarf.live import perf_event as pe
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.sampler import EARLY_ROUND_S, MIN_ROUND_SAMPLES, Sampler
from undwarf.live.sampling.settings import Settings

pytestmark = pytest.mark.usefixtures("perf_events")


def test_small_buffers_are_drained_into_large_ones(program: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pe, "may_lock", lambda: False)
    monkeypatch.setattr(pe, "locked_bytes", lambda _cpus: 516 << 10)
    path = tmp_path / "perf.data"
    settings = Settings(command=[program, "5"], events=["cpu-clock"])
    sampler = Sampler(settings)
    try:
        assert sampler.open.ring_bytes == 512 << 10
        assert len(sampler.open.relays) == len(pe.online_cpus())
        with path.open("wb") as sink:
            Recorder(sampler, lambda: sink, "test").run()
    finally:
        sampler.close()
    assert sampler.summary.dump > 32 << 10
    with undwarf.open(path) as recording:
        assert any({"leaf", "_start"} <= set(names(sample)) for sample in recording.profile().samples)


@pytest.mark.parametrize(("rate", "samples"), [(99, MIN_ROUND_SAMPLES), (9999, 9999 * EARLY_ROUND_S)])
def test_few_samples_do_not_start_a_round(rate: int, samples: float):
    """Each round costs something, so at low rates only their time ends them."""
    sampler = Sampler(Settings(tids=[os.getpid()], events=["cpu-clock"], frequency=rate, dump=8192))
    try:
        assert sampler.watermark // 8192 >= samples
        assert sampler.watermark <= (samples + 1) * (8192 + 512)
    finally:
        sampler.close()


def test_the_first_round_starts_within_10_ms(program: str, tmp_path: Path, monkeypatch):
    waits = []
    monkeypatch.setattr("undwarf.live.sampling.sampler.FIRST_ROUNDS_S", 60.0)

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
        recorder = Recorder(sampler, lambda: sink, "0")
        sampler.open.poller = Poller(sampler.open.poller)
        recorder.run()
    sampler.close()
    assert waits
    assert max(waits) <= 10
