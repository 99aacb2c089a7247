"""Ring buffers in memory: which records are read, in order and complete, and when."""

import struct

import pytest

from undwarf.live.sampling.ring import Relay, Ring, Weights

PAGE = 4096
SIZE = 4096


class Kernel:
    """Writes records into a mapping as the kernel does."""

    def __init__(self, at: int = 0) -> None:
        self.memory = bytearray(PAGE + SIZE)
        self.head = at
        struct.pack_into("=4Q", self.memory, 1024, at, at, PAGE, SIZE)

    def put(self, kind: int, body: bytes) -> bytes:
        whole = struct.pack("=IHH", kind, 0, 8 + len(body)) + body
        for byte in whole:
            self.memory[PAGE + self.head % SIZE] = byte
            self.head += 1
        struct.pack_into("=Q", self.memory, 1024, self.head)
        return whole

    def sample(self, time: int, filling: int = 0) -> bytes:
        """A sample whose time comes after ip and thread."""
        return self.put(9, struct.pack("=QIIQ", 0, 1, 1, time) + bytes(range(8)) * filling)

    def comm(self, time: int) -> bytes:
        """A record with its time 16 bytes before the end."""
        return self.put(3, struct.pack("=II8sIIQQ", 1, 1, b"name", 1, 1, time, 0))

    @property
    def tail(self) -> int:
        return struct.unpack_from("=Q", self.memory, 1032)[0]


def ring(kernel: Kernel) -> Ring:
    return Ring(kernel.memory, 24, 16)


def test_records_are_complete_and_in_order():
    kernel = Kernel()
    written = kernel.comm(1) + kernel.sample(2, 5) + kernel.comm(3)
    assert b"".join(ring(kernel).take(10)) == written


def test_a_record_across_the_end_is_joined():
    kernel = Kernel(at=SIZE - 64)
    written = [kernel.comm(1), kernel.sample(2, 9), kernel.comm(3)]
    views = ring(kernel).take(10)
    assert [bytes(view) for view in views] == written


def test_a_record_that_ends_with_the_buffer_is_not_copied():
    kernel = Kernel(at=SIZE - 48)
    written = [kernel.comm(1), kernel.sample(2)]
    assert [bytes(view) for view in ring(kernel).take(10)] == written


def test_records_later_than_the_moment_wait():
    kernel = Kernel()
    buffer = ring(kernel)
    early, late = kernel.sample(5), kernel.sample(15)
    assert b"".join(buffer.take(10)) == early
    assert b"".join(buffer.take(20)) == late


def test_records_moved_into_a_larger_buffer_are_read_from_it():
    kernel = Kernel(at=SIZE - 64)
    large = bytearray(PAGE + 4 * SIZE)
    relay, buffer = Relay(kernel.memory, large), Ring(large, 24, 16)
    written = b""
    for moment in range(25):
        written += kernel.sample(moment, 60) + kernel.comm(moment)
        relay.move()
        assert kernel.tail == kernel.head
    relay.stop()
    read = b"".join(bytes(view) for view in buffer.take(100))
    assert read == written


def test_records_stay_in_the_small_buffer_if_the_large_one_is_full():
    kernel = Kernel()
    large = bytearray(PAGE + SIZE)
    relay, buffer = Relay(kernel.memory, large), Ring(large, 24, 16)
    first = kernel.sample(1, 300)
    relay.move()
    second = kernel.sample(2, 250)
    relay.move()
    assert b"".join(buffer.take(10)) == first
    assert kernel.tail == len(first)
    buffer.done()
    relay.move()
    assert b"".join(bytes(view) for view in buffer.take(10)) == second


def test_space_is_released_only_by_done():
    kernel = Kernel()
    buffer = ring(kernel)
    kernel.comm(1)
    buffer.take(10)
    assert kernel.tail == 0
    buffer.done()
    assert kernel.tail == kernel.head


def test_an_impossible_size_breaks_the_ring_only():
    kernel = Kernel()
    buffer = ring(kernel)
    good = kernel.comm(1)
    kernel.head += 16
    struct.pack_into("=Q", kernel.memory, 1024, kernel.head)
    assert b"".join(buffer.take(10)) == good
    assert buffer.broken
    buffer.done()
    assert kernel.tail == kernel.head


def test_a_position_beyond_the_buffer_breaks_the_ring():
    kernel = Kernel()
    struct.pack_into("=Q", kernel.memory, 1024, 3 * SIZE)
    buffer = ring(kernel)
    assert buffer.take(10) == []
    assert buffer.broken


def test_samples_are_counted():
    kernel = Kernel()
    buffer = ring(kernel)
    for time in range(3):
        kernel.sample(time)
    kernel.comm(4)
    buffer.take(10)
    assert buffer.samples == 3


def test_memory_that_is_no_ring_is_refused():
    memory = bytearray(PAGE)
    struct.pack_into("=4Q", memory, 1024, 0, 0, PAGE, SIZE)
    with pytest.raises(ValueError, match="not a ring buffer"):
        Ring(memory, 24, 16)


def column(code: str, *values: int) -> memoryview:
    return memoryview(struct.pack(f"={len(values)}{code}", *values)).cast("B").cast(code)


def test_weights_add_up_by_stack_name_and_event():
    weights = Weights()
    for _ in range(2000):
        weights.add(
            column("I", 7, 7, 7, 8),
            column("I", 1, 1, 2, 1),
            column("H", 0, 0, 0, 0),
            column("Q", 10, 5, 1, 1),
            column("B", 1, 1, 1, 2),
            column("B", 1, 1, 1, 0),
        )
    columns = weights.columns()
    assert list(columns["node"]) == [7, 7]
    assert list(columns["weight"]) == [30000, 2000]
    assert list(columns["count"]) == [4000, 2000]


def test_many_different_weights_are_kept_apart():
    weights = Weights()
    count = 5000
    nodes = memoryview(struct.pack(f"={count}I", *range(count))).cast("B").cast("I")
    for _ in range(2):
        weights.add(
            nodes,
            memoryview(bytes(4 * count)).cast("I"),
            memoryview(bytes(2 * count)).cast("H"),
            memoryview(b"\1\0\0\0\0\0\0\0" * count).cast("Q"),
            memoryview(bytes(count)),
            memoryview(b"\1" * count),
        )
    assert weights.used == count
    assert set(weights.columns()["weight"]) == {2}
