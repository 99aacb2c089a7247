"""Sizes of ring buffers and stack dumps."""

import pytest

from undwarf.live import perf_event as pe
from undwarf.live.sampling.event_buffers import LARGEST_DUMP, sizes


@pytest.mark.parametrize("rate", [1, 99, 999, 20_000])
def test_ring_buffers_hold_many_dumps_within_their_bounds(rate: int):
    size = sizes(rate, 4, 16 << 30, None, None)
    assert size.ring & (size.ring - 1) == 0
    assert size.dump <= LARGEST_DUMP
    assert size.dump % 8 == 0
    assert size.ring >= 16 * size.dump
    at_first = size.small_dump if size.starts_small else size.dump
    assert size.ring >= 0.1 * rate * at_first


@pytest.mark.parametrize(("rate", "dump"), [(1_500, LARGEST_DUMP), (20_000, LARGEST_DUMP), (200_000, 32_760)])
def test_dumps_are_smaller_only_if_a_buffer_holds_too_few(monkeypatch, rate: int, dump: int):
    monkeypatch.setattr(pe, "may_lock", lambda: True)
    assert sizes(rate, 4, 16 << 30, None, None).dump == dump


def test_dumps_of_a_fixed_size_leave_more_time_in_a_buffer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pe, "may_lock", lambda: True)
    size = sizes(20_000, 4, 16 << 30, None, None, changeable=False)
    assert (size.dump, size.small_dump) == (32_760, 0)


def test_without_privileges_the_locked_memory_is_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pe, "may_lock", lambda: False)
    monkeypatch.setattr(pe, "locked_bytes", lambda _cpus: 516 << 10)
    size = sizes(999, 4, 16 << 30, None, None)
    assert size.ring == 512 << 10
    assert size.relay >= 16 << 20
    assert size.dump == LARGEST_DUMP
    assert sizes(20_000, 4, 16 << 30, None, None).small_dump == 0
