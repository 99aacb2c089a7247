"""Off-CPU time: which switches become waits, and how long they are."""

import struct
from types import SimpleNamespace
from typing import Any

from undwarf.live.record.off_cpu import Blocked

SWITCH, EXIT = 10, 4
OUT = 1 << 13


def column(code: str, values: list[int]) -> memoryview:
    return memoryview(struct.pack(f"={len(values)}{code}", *values)).cast("B").cast(code)


def run(
    blocked: Blocked, samples: list[tuple[int, int]], side: list[tuple[int, int, int, int]], event: int = 1
) -> None:
    """``samples``: (time, tid); ``side``: (kind, misc, time, tid)."""
    times = [time for time, _tid in samples]
    tids = [tid for _time, tid in samples]
    many = len(samples)
    found: Any = SimpleNamespace(
        time=column("Q", times),
        ip=column("Q", [0xABC] * many),
        event=column("H", [1] * many),
        misc=column("H", [1] * many),
        pid=column("i", tids),
        tid=column("i", tids),
        cpu=column("i", [0] * many),
    )
    sideband: Any = SimpleNamespace(
        kind=column("B", [one[0] for one in side]),
        misc=column("H", [one[1] for one in side]),
        time=column("Q", [one[2] for one in side]),
        tid=column("i", [one[3] for one in side]),
    )
    order = column("I", sorted(range(many), key=lambda number: times[number]))
    blocked.run(
        found,
        order,
        sideband,
        event,
        column("I", list(range(100, 100 + many))),
        column("B", [1] * many),
        column("I", [5] * many),
    )


def waits(blocked: Blocked) -> list[tuple[int, int, int, int]]:
    """(time, period, tid, stack) of what came of it."""
    columns = blocked.take()
    return list(zip(columns["time"], columns["period"], columns["tid"], columns["stack"], strict=True))


def test_a_wait_lasts_from_the_sample_to_the_return():
    blocked = Blocked()
    run(blocked, [(100, 7)], [(SWITCH, OUT, 101, 7), (SWITCH, 0, 350, 7)])
    assert waits(blocked) == [(350, 250, 7, 100)]


def test_a_wait_may_end_in_a_later_round():
    blocked = Blocked()
    run(blocked, [(100, 7)], [])
    assert (waits(blocked), blocked.waiting) == ([], 1)
    run(blocked, [], [(SWITCH, 0, 900, 7)])
    assert (waits(blocked), blocked.waiting) == ([(900, 800, 7, 100)], 0)


def test_another_thread_that_returns_changes_nothing():
    blocked = Blocked()
    run(blocked, [(100, 7)], [(SWITCH, 0, 200, 8)])
    assert waits(blocked) == []


def test_the_wait_of_a_thread_that_ends_does_not_count():
    blocked = Blocked()
    run(blocked, [(100, 7)], [(EXIT, 0, 200, 7), (SWITCH, 0, 300, 7)])
    assert waits(blocked) == []


def test_a_lost_return_does_not_join_two_waits():
    blocked = Blocked()
    run(blocked, [(100, 7), (500, 7)], [(SWITCH, 0, 510, 7)])
    assert waits(blocked) == [(510, 10, 7, 101)]


def test_short_waits_are_left_out_and_counted():
    blocked = Blocked(50)
    run(blocked, [(100, 7), (200, 8)], [(SWITCH, 0, 149, 7), (SWITCH, 0, 250, 8)])
    assert waits(blocked) == [(250, 50, 8, 101)]
    assert blocked.short == 1


def test_samples_of_other_events_are_no_waits():
    blocked = Blocked()
    run(blocked, [(100, 7)], [(SWITCH, 0, 200, 7)], event=0)
    assert waits(blocked) == []
    assert list(blocked.without(column("H", [0, 1, 0]), 1)) == [1, 0, 1]


def test_open_waits_end_with_the_recording():
    blocked = Blocked()
    run(blocked, [(100, 7)], [])
    blocked.finish(1000)
    assert waits(blocked) == [(1000, 900, 7, 100)]


def test_many_threads_that_come_and_go():
    blocked = Blocked()
    for start in range(0, 20_000, 2_000):
        tids = list(range(start + 1, start + 2_001))
        run(blocked, [(10 * tid, tid) for tid in tids], [(SWITCH, 0, 10 * tids[-1] + tid, tid) for tid in tids])
        found = waits(blocked)
        assert sorted(one[2] for one in found) == tids
        assert all(period == 10 * tids[-1] + tid - 10 * tid for _time, period, tid, _stack in found)
    assert blocked.waiting == 0
