"""Memory beyond a dump is given only if a watched return address was not written since it was read."""

import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from undwarf.errors import UndwarfError
from undwarf.live.sampling import stack_continuation
from undwarf.live.sampling.stack_continuation import MAX_WATCHED, DeepStacks

VALUE = 0x401234


class Stack:
    """A piece of this process's memory that stands for a stack, with a return address every 1,024 bytes."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(64 << 10)
        self.low = (ctypes.addressof(self.memory) + 15) & ~15
        self.high = self.low + (16 << 10)
        self.slots = list(range(self.low + 1000, self.high, 1024))
        self.values = [VALUE + i for i in range(len(self.slots))]
        for slot, value in zip(self.slots, self.values, strict=True):
            self.put(slot, value)

    def put(self, slot: int, value: int) -> None:
        ctypes.memmove(slot, struct.pack("<Q", value), 8)


class Watched:
    """Watches that are files: their count, and for how long the thread ran."""

    def __init__(self) -> None:
        self.files: dict[int, int] = {}

    def open(self, _tid: int, slot: int) -> int:
        descriptor = os.memfd_create("watch")
        self.files[slot] = descriptor
        self.report(slot, 0, 100)
        return os.dup(descriptor)

    def report(self, slot: int, count: int, ran: int) -> None:
        os.pwrite(self.files[slot], struct.pack("=3Q", count, ran, ran), 0)
        os.lseek(self.files[slot], 0, os.SEEK_SET)

    def report_all(self, count: int, ran: int) -> None:
        for slot in self.files:
            self.report(slot, count, ran)

    def close(self) -> None:
        for descriptor in self.files.values():
            os.close(descriptor)


class Clock:
    now = 1_000_000_000

    def __call__(self) -> int:
        self.now += 1000
        return self.now


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.close()


@pytest.fixture
def deep(watched: Watched) -> Iterator[DeepStacks]:
    made = DeepStacks(Clock(), watched.open, infer=False)
    yield made
    made.close()


@pytest.fixture
def inferring(watched: Watched) -> Iterator[DeepStacks]:
    made = DeepStacks(Clock(), watched.open)
    yield made
    made.close()


class Dumps:
    """Dumps of other samples of the thread, before and after the sample."""

    def __init__(self, before: list[tuple[int, memoryview]], after: list[tuple[int, memoryview]]) -> None:
        self.before, self.after = before, after

    def near(self, _sample: int, _most: int) -> Iterator[Iterator[tuple[int, memoryview]]]:
        yield iter(self.before)
        yield iter(self.after)


def ask(
    deep: DeepStacks, stack: Stack, moment: int, tid: int = 77, dumps: Dumps | None = None
) -> tuple[int, bytes | memoryview] | None:
    given: Any = dumps
    deep.next_round(SimpleNamespace(pid=[os.getpid()], tid=[tid], time=[moment]), given)
    return deep.beyond(0, stack.slots, stack.values, stack.low, stack.high, stack.high + 512)


def word(found: tuple[int, bytes | memoryview] | None, address: int) -> int:
    assert found is not None
    return int.from_bytes(found[1][address - found[0] : address - found[0] + 8], "little")


def begin(deep: DeepStacks, stack: Stack) -> int:
    """Have a first sample tried; the time after which others are proven."""
    assert ask(deep, stack, 5) is not None
    assert deep.trial
    deep.tried(True)
    now: Any = deep._now
    return int(now())


def test_a_first_sample_is_a_trial(deep: DeepStacks):
    stack = Stack()
    begin(deep, stack)


def test_a_later_sample_gets_the_memory_that_was_read(deep: DeepStacks, watched: Watched):
    stack = Stack()
    stack.put(stack.high + 64, 0xABCDEF)
    moment = begin(deep, stack)
    watched.report_all(0, 200)
    # A change after it was read does not matter: the call below is still the same one.
    stack.put(stack.high + 64, 0)
    found = ask(deep, stack, moment)
    assert found is not None
    assert not deep.trial
    start, block = found
    assert start <= stack.high
    assert struct.unpack_from("<Q", block, stack.high + 64 - start) == (0xABCDEF,)


def test_a_written_slot_proves_nothing(deep: DeepStacks, watched: Watched):
    stack = Stack()
    moment = begin(deep, stack)
    watched.report_all(1, 200)
    assert ask(deep, stack, moment) is None or deep.trial


def test_a_sample_from_before_it_was_read_gets_nothing(deep: DeepStacks, watched: Watched):
    stack = Stack()
    begin(deep, stack)
    watched.report_all(0, 200)
    assert ask(deep, stack, 6) is None


def test_another_return_address_in_the_slot_gets_nothing(deep: DeepStacks, watched: Watched):
    stack = Stack()
    moment = begin(deep, stack)
    watched.report_all(0, 200)
    watched.report(stack.high + 512, 1, 200)
    stack.values = [value + 64 for value in stack.values]
    assert ask(deep, stack, moment) is None


def test_another_thread_of_the_same_number_gets_nothing(deep: DeepStacks, watched: Watched):
    stack = Stack()
    moment = begin(deep, stack)
    # The thread was sampled, but the watched one did not run.
    watched.report_all(0, 100)
    assert ask(deep, stack, moment) is None or deep.trial


def test_a_stack_that_another_thread_uses_is_not_watched(deep: DeepStacks, watched: Watched):
    stack = Stack()
    moment = begin(deep, stack)
    watched.report_all(0, 200)
    assert ask(deep, stack, moment, tid=78) is None


def test_without_a_root_nothing_is_proven(deep: DeepStacks, watched: Watched):
    stack = Stack()
    assert ask(deep, stack, 5) is not None
    deep.tried(False)
    watched.report_all(0, 200)
    assert ask(deep, stack, deep._now()) is None


def test_memory_is_read_as_far_as_a_trial_requests(deep: DeepStacks):
    stack = Stack()
    found = ask(deep, stack, 5)
    assert found is not None
    start, block = found
    assert deep.more(start - 8, stack.slots, stack.values) is None
    more = deep.more(start + len(block) + 8, stack.slots, stack.values)
    assert more is None or len(more) >= len(block) + 16


def scheduled(deep: DeepStacks, stack: Stack, moment: int, tid: int = 77) -> bytes | None:
    deep.next_round(SimpleNamespace(pid=[os.getpid()], tid=[tid], time=[moment]))
    return deep.scheduler(0, stack.low)


def begin_scheduler(deep: DeepStacks, stack: Stack) -> int:
    """Have a first sample in Haskell code tried; the time after which others are proven."""
    assert scheduled(deep, stack, 5) is not None
    assert deep.trial
    deep.tried_scheduler(True, stack.slots[-1], stack.values[-1])
    now: Any = deep._now
    return int(now())


def test_a_scheduler_that_was_not_returned_from_has_its_callers(deep: DeepStacks, watched: Watched):
    stack = Stack()
    later = begin_scheduler(deep, stack)
    watched.report_all(0, 200)
    found = scheduled(deep, stack, later)
    assert found is not None and not deep.trial
    at = stack.slots[-1] - stack.low
    assert int.from_bytes(found[at : at + 8], "little") == stack.values[-1]


def test_a_scheduler_that_was_returned_from_is_tried_again(deep: DeepStacks, watched: Watched):
    stack = Stack()
    later = begin_scheduler(deep, stack)
    watched.report_all(1, 200)
    deep._pauses.clear()
    assert scheduled(deep, stack, later) is not None
    assert deep.trial


def test_callers_of_a_scheduler_are_not_those_of_earlier_samples(deep: DeepStacks, watched: Watched):
    stack = Stack()
    begin_scheduler(deep, stack)
    watched.report_all(0, 200)
    assert scheduled(deep, stack, 6) is None


def test_the_number_of_watched_schedulers_is_limited(deep: DeepStacks, watched: Watched):
    stack = Stack()
    for tid in range(1, MAX_WATCHED + 2):
        assert scheduled(deep, stack, 5, tid) is not None
        deep.tried_scheduler(True, stack.slots[-1], stack.values[-1])
    assert len(deep._schedulers) == MAX_WATCHED


def test_a_frame_that_stays_while_it_makes_calls_is_proven(deep: DeepStacks, watched: Watched):
    stack = Stack()
    stack.put(stack.high + 512, 0xABCDEF)
    moment = begin(deep, stack)
    watched.report_all(1, 200)
    watched.report(stack.high + 512, 0, 200)
    # It calls other functions, which write all slots below.
    stack.values = [value + 64 for value in stack.values]
    found = ask(deep, stack, moment)
    assert word(found, stack.high + 512) == 0xABCDEF
    assert not deep.trial


def test_memory_with_the_same_return_addresses_is_inferred_from(inferring: DeepStacks):
    stack = Stack()
    stack.put(stack.high + 64, 0xABCDEF)
    begin(inferring, stack)
    # Older than what was read, so that nothing is proven.
    assert word(ask(inferring, stack, 6), stack.high + 64) == 0xABCDEF
    assert inferring.trial
    assert inferring.alike


def test_memory_read_in_an_earlier_round_is_inferred_from(inferring: DeepStacks):
    stack = Stack()
    stack.put(stack.high + 64, 0xABCDEF)
    begin(inferring, stack)
    assert ask(inferring, stack, 6) is not None
    for slot in stack.slots:
        stack.put(slot, 1)
    assert word(ask(inferring, stack, 6), stack.high + 64) == 0xABCDEF
    assert inferring.alike


@pytest.mark.parametrize("number", range(1, stack_continuation.MATCHING_RETURNS + 1))
def test_nothing_is_inferred_where_a_return_address_differs(inferring: DeepStacks, number: int):
    stack = Stack()
    begin(inferring, stack)
    stack.put(stack.slots[-number], 1)
    assert ask(inferring, stack, 6) is None
    assert not inferring.trial


@pytest.mark.parametrize("before", [True, False])
def test_another_dump_of_the_round_that_agrees_is_taken(inferring: DeepStacks, before: bool):
    stack = Stack()
    stack.put(stack.high + 64, 0xABCDEF)
    other = (stack.low, memoryview(ctypes.string_at(stack.low, 32 << 10)))
    begin(inferring, stack)
    for slot in stack.slots:
        stack.put(slot, 1)
    found = ask(inferring, stack, 6, dumps=Dumps([other], []) if before else Dumps([], [other]))
    assert word(found, stack.high + 64) == 0xABCDEF
    assert inferring.alike


def test_a_dump_in_between_with_another_call_ends_the_search(inferring: DeepStacks):
    stack = Stack()
    agrees = (stack.low, memoryview(ctypes.string_at(stack.low, 32 << 10)))
    begin(inferring, stack)
    for slot in stack.slots:
        stack.put(slot, 1)
    differs = (stack.low, memoryview(ctypes.string_at(stack.low, 16 << 10)))
    assert ask(inferring, stack, 6, dumps=Dumps([differs, agrees], [])) is None


def test_dumps_are_joined_where_they_agree(inferring: DeepStacks):
    stack = Stack()
    begin(inferring, stack)
    end = stack.high + (4 << 10)
    slots = [*stack.slots, *range(stack.high + 1000, end, 1024)]
    for i, slot in enumerate(slots):
        stack.put(slot, VALUE + i)
    stack.put(end + 64, 0xABCDEF)
    further = (stack.low, memoryview(ctypes.string_at(stack.low, 32 << 10)))
    shorter = (stack.low, further[1][: end - stack.low])
    for slot in slots:
        stack.put(slot, 1)
    found = ask(inferring, stack, 6, dumps=Dumps([shorter, further], []))
    assert found is not None
    joined = inferring.more(end + 64, slots, [VALUE + i for i in range(len(slots))])
    assert joined is not None
    assert word((found[0], joined), end + 64) == 0xABCDEF


def test_the_number_of_kept_reads_is_limited(inferring: DeepStacks):
    stack = Stack()
    begin(inferring, stack)
    for _ in range(2 * stack_continuation.READS_PER_THREAD):
        assert ask(inferring, stack, 6) is not None
    assert len(inferring._kept[77]) == stack_continuation.READS_PER_THREAD


def test_the_size_of_kept_reads_is_limited(inferring: DeepStacks):
    stack = Stack()
    begin(inferring, stack)
    assert ask(inferring, stack, 6) is not None
    inferring._most_bytes = 1000
    inferring.next_round(SimpleNamespace(pid=[], tid=[], time=[]))
    assert not inferring._kept


def test_the_kernel_reports_a_write():
    stack = Stack()
    try:
        descriptor = stack_continuation.watch(threading.get_native_id(), stack.slots[3])
    except (OSError, UndwarfError) as error:
        pytest.skip(f"no breakpoints here: {error}")
    one = stack_continuation.Watch(descriptor, stack.slots[3], stack.values[3])
    try:
        sum(range(10_000))
        assert one.look(10, 20)
        stack.put(stack.slots[3], 1)
        assert not one.look(30, 40)
        assert not one.look(50, 60)
    finally:
        one.close()
