"""Lists worked through from both ends by two processes."""

import os
import signal
import threading
from collections.abc import Callable

import pytest

from undwarf import fork_pool as module
from undwarf.fork_pool import forked_map, may_fork

COUNT = 1000


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two CPUs, and no thread but this one: others may be of tests that ran before."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    others, count = threading.active_count() - 1, threading.active_count
    monkeypatch.setattr(threading, "active_count", lambda: count() - others)


def waits(work: Callable[[int], object]) -> Callable[[int], object]:
    """Neither of the two processes goes on before the other one has taken a piece: so both have a part in it."""
    first, (begun, begins), (other_begun, other_begins) = os.getpid(), os.pipe(), os.pipe()
    waited: list[bytes] = []

    def do(k: int) -> object:
        if not waited and os.getpid() != first:
            os.write(begins, b"x")
            waited.append(os.read(other_begun, 1))
        elif not waited and k < 8:
            os.write(other_begins, b"x")
            waited.append(os.read(begun, 1))
        return work(k)

    return do


def test_answers_are_in_order_whoever_made_them() -> None:
    found = forked_map(COUNT, waits(lambda k: (k, os.getpid())))
    assert [one[0] for one in found] == list(range(COUNT))
    pids = [one[1] for one in found]
    assert len(set(pids)) == 2
    assert pids[0] == os.getpid() != pids[-1]


@pytest.mark.parametrize("count", [1000, 10_000])
def test_a_piece_in_the_middle_is_done_before_there_are_two(count: int) -> None:
    done: list[int] = []
    before: list[int] = []

    def ready() -> bool:
        before.extend(done)
        return False

    forked_map(count, lambda k: done.append(k), ready=ready)
    assert 8 <= len(before) <= count / 100
    assert before == list(range(before[0], before[-1] + 1))
    assert abs(before[0] - count / 2) < count / 100
    assert sorted(done) == list(range(count))


def test_what_the_second_one_notes_comes_back() -> None:
    counted: list[int] = []
    taken: list[object] = []

    def work(k: int) -> int:
        counted.append(k)
        return k

    before: list[int] = []

    def ready() -> bool:
        before.append(len(counted))
        return True

    forked_map(COUNT, waits(work), ready=ready, notes=lambda: len(counted) - before[0], take=taken.append)
    assert [len(counted) + int(str(one)) for one in taken] == [COUNT]


def test_the_first_one_has_something_else_to_do_meanwhile() -> None:
    done: list[int] = []
    meanwhile: list[list[int]] = []
    forked_map(COUNT, waits(done.append), meanwhile=lambda: meanwhile.append(list(done)))
    ((*before,),) = meanwhile
    assert 8 <= len(before) < len(done), "it is asked once, behind the piece in the middle and before the others"
    forked_map(COUNT, lambda k: k, alone=True, meanwhile=lambda: meanwhile.append([]))
    assert len(meanwhile) == 1, "alone there is nothing to wait for"


def test_where_the_second_one_dies_the_first_does_all() -> None:
    first = os.getpid()

    def dies(k: int) -> int:
        if os.getpid() != first and k < 990:
            os.kill(os.getpid(), signal.SIGKILL)
        return k

    assert forked_map(COUNT, waits(dies)) == list(range(COUNT))

    def fails(k: int) -> int:
        if os.getpid() != first:
            raise MemoryError
        return k

    assert forked_map(COUNT, waits(fails)) == list(range(COUNT))


def test_an_error_is_the_first_ones_and_nobody_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: children.append(fork()) or children[-1])

    def fails(k: int) -> int:
        if k == 900:
            raise ValueError(k)
        return k

    with pytest.raises(ValueError, match="900"):
        forked_map(COUNT, waits(fails))
    first = os.getpid()

    def stopped(k: int) -> int:
        if os.getpid() == first and k == 4:
            raise KeyboardInterrupt
        return k

    with pytest.raises(KeyboardInterrupt):
        forked_map(COUNT, waits(stopped))
    assert len(children) == 2
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_one_process_does_it_where_it_is_little_or_may_not_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.getpid()
    assert forked_map(0, lambda _k: me) == []
    assert set(forked_map(50, lambda _k: os.getpid())) == {me}
    assert set(forked_map(COUNT, lambda _k: os.getpid(), ready=lambda: False)) == {me}
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    try:
        assert not may_fork()
        assert set(forked_map(COUNT, lambda _k: os.getpid())) == {me}
    finally:
        event.set()
        thread.join()
    assert may_fork()
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _pid: {0})
    assert not may_fork()


def test_where_it_is_said_that_one_does_it_that_begins_at_the_begin() -> None:
    done: list[int] = []

    def never() -> bool:
        raise AssertionError

    forked_map(COUNT, lambda k: done.append(k), alone=True, ready=never)
    assert done == list(range(COUNT))
