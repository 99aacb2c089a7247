"""Stacks larger than their dump, continued from another dump of the same thread.

A function that calls others for a while has them on the stack of one sample and not of the next, and its own callers
stay where they are. So what lies outside of a sample's dump is taken from the newest earlier sample of its thread in
which the outermost frame of the dump is at the same stack address with the same return address, where no sample in
between had anything else there. That is evidence, not proof: a program may return and call again through others. How
often that happens is measured with the same recording: each dump is compared with what its inner half alone would have
been continued with. A thread where that fails more often than rarely is left as it is; so are stacks that do not come
to a root, and callers whose address no call stands before.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from undwarf.lazy_dataclasses import dataclass
from undwarf.limits import Limits
from undwarf.perfdata import PerfData, Records
from undwarf.unwind.stop import StopReason
from undwarf.unwind.walk import Walker

if TYPE_CHECKING:
    from undwarf.unwind.unwinder import Walked

NONE = 0xFFFFFFFF
TRUSTED = 20
"""Comparisons that hold for each one that does not, from which on a thread is continued. Compilers have 100 and more,
programs that call at random at most 5."""
FEWEST = 4
"""Comparisons that must hold for a thread to be continued at all."""

_CUT = (StopReason.TRUNCATED, StopReason.ABSENT_PAGE)
"""Reasons of stacks that go on outside of their dump."""

Span = tuple[int, int, int, int]
"""Position, bytes, first sample and end sample of a window."""


class ThreadStack:
    """The frames of a thread as its newest samples show them, from the outermost on.

    Addresses are negated stack pointers and thereby ascend. ``gaps`` are the places of frames whose caller is not the
    one before: where a dump ended.
    """

    __slots__ = ("addresses", "continued", "frames", "gaps", "held", "nodes", "places", "wrong")

    def __init__(self) -> None:
        self.places: list[int] = []
        self.addresses: list[int] = []
        self.frames: list[int] = []
        self.gaps: list[int] = []
        self.nodes: list[int] = []
        """Of the outermost frames those that are nodes already."""
        self.continued: list[tuple[int, int]] = []
        """Samples, and their stacks if the thread is trusted."""
        self.held = self.wrong = 0

    @property
    def trusted(self) -> bool:
        """Whether what was inferred is right often enough."""
        return self.held >= max(FEWEST, TRUSTED * self.wrong)

    def compare(self, pointers: Sequence[int], addresses: Sequence[int]) -> None:
        """Compare the outer half of a dump with what the inner half would be continued with."""
        last = len(pointers) - 1
        inner = bisect_left(pointers, (pointers[0] + pointers[last]) // 2)
        count = last - inner
        at = bisect_left(self.places, -pointers[inner])
        if inner < 1 or count < 1 or at >= len(self.places) or self.places[at] != -pointers[inner]:
            return
        if self.addresses[at] != addresses[inner] or any(at - count < gap <= at for gap in self.gaps):
            return
        low = max(at - count, 0)
        equal = (
            low == at - count
            and self.addresses[low:at] == list(addresses[:inner:-1])
            and self.places[low:at] == [-pointer for pointer in pointers[:inner:-1]]
        )
        self.held += equal
        self.wrong += not equal

    def see(self, pointers: Sequence[int], addresses: Sequence[int], frames: Sequence[int], whole: bool) -> bool:
        """Take the frames of a newer dump, from the innermost on; whether the stack is known to its root now."""
        kept = 0
        outermost = len(pointers) - 1
        if not whole:
            kept = bisect_left(self.places, -pointers[-1])
            if (
                kept < len(self.places)
                and self.places[kept] == -pointers[-1]
                and self.addresses[kept] == addresses[-1]
                and outermost > 0
            ):
                kept += 1
                outermost -= 1
        del self.places[kept:], self.addresses[kept:], self.frames[kept:], self.nodes[kept:]
        while self.gaps and self.gaps[-1] >= kept:
            self.gaps.pop()
        if not whole and outermost == len(pointers) - 1:
            self.gaps.append(kept)
        self.places += [-pointer for pointer in pointers[outermost::-1]]
        self.addresses += addresses[outermost::-1]
        self.frames += frames[outermost::-1]
        return not self.gaps

    def forget(self) -> None:
        """Know no frame."""
        for column in (self.places, self.addresses, self.frames, self.gaps, self.nodes):
            column.clear()

    def caller(self, walker: Walker, pointer: int) -> int:
        """The node of the caller of the frame at a stack pointer; NONE where there is none that holds."""
        end = bisect_left(self.places, -pointer)
        nodes = self.nodes
        for i in range(len(nodes), end):
            parent = nodes[i - 1] if i else NONE
            nodes.append(walker.inferred(parent, self.frames[i]) if parent != NONE or not i else NONE)
        return nodes[end - 1] if end else NONE


@dataclass(slots=True)
class Dumps:
    """The windows of a recording, those used last mapped."""

    data: PerfData
    spans: list[Span]
    firsts: list[int]
    opened: "OrderedDict[int, tuple[ExitStack, memoryview]]"

    def window(self, sample: int, most: int) -> tuple[memoryview, int]:
        """The window that holds a sample's record, and its position; ``most`` stay mapped."""
        number = bisect_left(self.firsts, sample + 1) - 1
        position, length, _first, _end = self.spans[number]
        found = self.opened.get(number)
        if found is None:
            if len(self.opened) >= most:
                self.opened.popitem(last=False)[1][0].close()
            stack = ExitStack()
            found = self.opened[number] = stack, stack.enter_context(self.data.window(position, length))
        return found[1], position

    def close(self) -> None:
        """Map nothing."""
        while self.opened:
            self.opened.popitem()[1][0].close()


def near_truncated(records: Records, stop: memoryview, selected: memoryview, reach: int) -> list[int]:
    """The samples, in time order, that end with their dump, and up to ``reach`` of their threads before each."""
    tids = records.samples.tid
    before: dict[int, list[int]] = {}
    found = bytearray(len(stop))
    order = records.sample_order
    for sample in order:
        if not selected[sample]:
            continue
        earlier = before.get(tids[sample])
        if earlier is None:
            earlier = before[tids[sample]] = []
        if stop[sample] in _CUT:
            found[sample] = 1
            for one in earlier:
                found[one] = 1
            earlier.clear()
        elif stop[sample] == StopReason.ROOT:
            earlier.append(sample)
            if len(earlier) > reach:
                del earlier[0]
    return [sample for sample in order if found[sample]]


def continue_truncated(
    data: PerfData,
    records: Records,
    spans: list[Span],
    walker: Walker,
    selected: memoryview,
    walked: "Walked",
    limits: Limits,
) -> int:
    """Continue stacks that end with their dump; returns how many were. Those have StopReason.INFERRED_ROOT, and frames
    of Provenance.OTHER_DUMP above the last one of their own dump."""
    stop = walked.stop
    threads: dict[tuple[int, int], ThreadStack] = {}
    dumps = Dumps(data, spans, [span[2] for span in spans], OrderedDict())
    pids, tids = records.samples.pid, records.samples.tid
    try:
        for sample in near_truncated(records, stop, selected, limits.earlier_dumps):
            window, position = dumps.window(sample, limits.mapped_windows)
            traced = walker.trace(window, position, sample)
            if traced is None:
                continue
            pointers, addresses, frames = traced
            thread = threads.get((pids[sample], tids[sample]))
            if thread is None:
                thread = threads[pids[sample], tids[sample]] = ThreadStack()
            thread.compare(pointers, addresses)
            whole = stop[sample] not in _CUT
            known = thread.see(pointers, addresses, frames, whole)
            if len(thread.places) > limits.max_frames:
                thread.forget()
            elif known and not whole:
                node = thread.caller(walker, pointers[-1])
                if node != NONE:
                    thread.continued.append((sample, walker.continued(node)))
    finally:
        dumps.close()
    count = 0
    for thread in threads.values():
        if not thread.trusted:
            continue
        for sample, node in thread.continued:
            walked.stack[sample] = node
            stop[sample] = StopReason.INFERRED_ROOT
            count += 1
    return count
