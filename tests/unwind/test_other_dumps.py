"""Stacks larger than their dump, continued from other dumps of the thread."""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from undwarf.limits import DEFAULT
from undwarf.unwind.other_dumps import FEWEST, NONE, ThreadStack, continue_truncated, near_truncated
from undwarf.unwind.stop import StopReason

R = StopReason
Frames = list[tuple[int, int]]
"""Stack pointer and address, from the innermost on."""


class Chains:
    """In place of a walker: gives the chains it was made with; a frame's number is its address, a node a path."""

    def __init__(self, chains: Sequence[Frames], refused: int = 0) -> None:
        self.chains = chains
        self.refused = refused
        self.nodes: list[tuple[int, ...]] = []
        self.traced = 0

    def trace(self, _window: memoryview, _base: int, number: int) -> tuple[list[int], list[int], list[int]]:
        self.traced = number
        pointers, addresses = zip(*self.chains[number], strict=True)
        return list(pointers), list(addresses), list(addresses)

    def _node(self, path: tuple[int, ...]) -> int:
        self.nodes.append(path)
        return len(self.nodes) - 1

    def inferred(self, parent: int, frame: int) -> int:
        if frame == self.refused:
            return NONE
        return self._node(((*self.nodes[parent],) if parent != NONE else ()) + (frame,))

    def continued(self, node: int) -> int:
        return self._node(self.nodes[node] + tuple(address for _pointer, address in reversed(self.chains[self.traced])))


class Data:
    @contextmanager
    def window(self, _position: int, _length: int):
        yield memoryview(b"")


def continued(
    chains: Sequence[Frames], stops: Sequence[StopReason], limits=DEFAULT, refused: int = 0
) -> dict[int, tuple[int, ...]]:
    """The samples that are continued, each with its addresses from the root on."""
    count = len(chains)
    same = memoryview(bytes(count))
    samples = SimpleNamespace(pid=same, tid=same)
    records = SimpleNamespace(samples=samples, sample_order=range(count))
    walked = SimpleNamespace(stack=[NONE] * count, stop=bytearray(stops), stop_image=[0] * count)
    walker = Chains(chains, refused)
    done = continue_truncated(Data(), records, [(0, 0, 0, count)], walker, memoryview(b"\1" * count), walked, limits)
    found = {i: walker.nodes[walked.stack[i]] for i in range(count) if walked.stop[i] == R.INFERRED_ROOT}
    assert len(found) == done
    return found


def stack(*addresses: int, top: int = 9000) -> Frames:
    """Frames of 100 bytes, given from the root on; the root is at ``top``."""
    return [(top - 100 * place, address) for place, address in enumerate(addresses)][::-1]


STEADY = [stack(1, 2, 3, 4, 5, 6, 7)] * (FEWEST + 1)
"""Whole stacks of which the outer half is what the inner half would be continued with."""
INNER = stack(3, 4, 5, 6, 7, 8, top=8800)
"""One level deeper, without the two outermost frames."""


def test_outer_callers_are_those_of_the_sample_before() -> None:
    found = continued([*STEADY, INNER], [R.ROOT] * len(STEADY) + [R.TRUNCATED])
    assert found == {len(STEADY): (1, 2, 3, 4, 5, 6, 7, 8)}


def test_a_continued_stack_continues_others() -> None:
    deeper = stack(5, 6, 7, 8, 9, 10, top=8600)
    found = continued([*STEADY, INNER, deeper], [R.ROOT] * len(STEADY) + [R.TRUNCATED] * 2)
    assert found[len(STEADY) + 1] == tuple(range(1, 11))


@pytest.mark.parametrize("other", [stack(33, 4, 5, 6, 7, 8, top=8800), stack(3, 4, 5, 6, 7, 8, top=8790)])
def test_another_address_or_place_of_the_last_frame_is_not_continued(other: Frames) -> None:
    assert continued([*STEADY, other], [R.ROOT] * len(STEADY) + [R.TRUNCATED]) == {}


def test_a_sample_in_between_with_something_else_there_ends_it() -> None:
    chains = [*STEADY, stack(1, 2, 33, 4, 5, 6, 7), INNER]
    assert continued(chains, [R.ROOT] * (len(chains) - 1) + [R.TRUNCATED]) == {}


def test_one_frame_alone_is_not_continued() -> None:
    assert continued([*STEADY, [(8400, 7)]], [R.ROOT] * len(STEADY) + [R.TRUNCATED]) == {}


def test_a_caller_behind_no_call_is_not_taken() -> None:
    assert continued([*STEADY, INNER], [R.ROOT] * len(STEADY) + [R.TRUNCATED], refused=2) == {}


def test_a_thread_whose_callers_change_is_left_as_it_is() -> None:
    changing = [stack(1, 2, 3 + 10 * i, 4, 5, 6, 7) for i in range(FEWEST)]
    chains = [*changing, *STEADY, INNER]
    limits = replace(DEFAULT, earlier_dumps=len(chains))
    assert continued(chains, [R.ROOT] * (len(chains) - 1) + [R.TRUNCATED], limits) == {}
    chains = chains[len(changing) :]
    assert continued(chains, [R.ROOT] * (len(chains) - 1) + [R.TRUNCATED], limits)


def test_a_few_samples_prove_nothing() -> None:
    assert continued([STEADY[0], INNER], [R.ROOT, R.TRUNCATED]) == {}


def test_no_stack_gets_longer_than_the_limit_of_frames() -> None:
    chains, stops = [*STEADY, INNER], [R.ROOT] * len(STEADY) + [R.TRUNCATED]
    assert continued(chains, stops, replace(DEFAULT, max_frames=8))
    assert continued(chains, stops, replace(DEFAULT, max_frames=7)) == {}


def test_only_so_many_samples_before_are_looked_at() -> None:
    stops = [R.ROOT] * 9 + [R.TRUNCATED, R.ROOT]
    records = SimpleNamespace(samples=SimpleNamespace(tid=bytes(11)), sample_order=range(11))
    assert near_truncated(records, bytes(stops), b"\1" * 11, 3) == [6, 7, 8, 9]


def test_frames_above_a_dump_are_not_the_callers_of_what_it_ends_with() -> None:
    thread = ThreadStack()
    pointers, addresses = zip(*stack(1, 2, 3), strict=True)
    assert thread.see(pointers, addresses, addresses, True)
    pointers, addresses = zip(*stack(7, 8, 9, top=8750), strict=True)
    assert not thread.see(pointers, addresses, addresses, False)
    # The older ones may still be right for a later dump that ends with one of them.
    pointers, addresses = zip(*stack(2, 5, 6, top=8900), strict=True)
    assert thread.see(pointers, addresses, addresses, False)
