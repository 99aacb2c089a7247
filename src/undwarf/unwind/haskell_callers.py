"""Stacks that end below Haskell code, continued with the scheduler that other samples of their thread show.

The scheduler calls `StgRun` for each piece of Haskell code it runs, and the garbage collector in between, from one
frame that stays where it is. Between it and Haskell code lie 16,384 bytes of stack that mostly were never touched,
which the kernel does not copy into samples. Where the stack pointer of the caller of `StgRun` has to be is known
exactly (:mod:`undwarf.tables.haskell_stacks`). So where another sample of the thread has a frame there, of a function
that calls `StgRun` in one place, that frame is the caller, and its callers are those of the sample, unless yet other
samples have others there.
"""

from bisect import bisect_left
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.perfdata import PerfData, Records
from undwarf.tables.haskell_stacks import CALL, CALL_LENGTH, calls_stg_run, is_haskell
from undwarf.tables.model import UnwindTable
from undwarf.unwind.image_table import Places
from undwarf.unwind.stop import WHOLE
from undwarf.unwind.stop_reason import StopReason
from undwarf.unwind.walker import Walker

if TYPE_CHECKING:
    from undwarf.unwind.unwinder import Walked

NONE = 0xFFFFFFFF
_MOST_CODE = 1 << 16

Span = tuple[int, int, int, int]
"""Position, bytes, first sample and end sample of a window."""


class Schedulers:
    """Which functions call `StgRun`, and where."""

    def __init__(self, sources: Places) -> None:
        self._sources = sources
        self._tables: dict[int, UnwindTable | None] = {}
        self._calls: dict[tuple[int, int], int | None] = {}

    def call_in(self, image: int, address: int) -> int | None:
        """The last byte of the only call of `StgRun` in the function at an image's address; None without."""
        if image == NONE:
            return None
        with self._sources.contained(image):
            elf = self._sources.image(image).elf
            if elf is None:
                return None
            if image not in self._tables:
                self._tables[image] = UnwindTable.from_elf(elf, "eh-frame", quick=True) if is_haskell(elf) else None
            table = self._tables[image]
            function = table.functions.at(address) if table is not None else None
            if table is None or function is None:
                return None
            start, end = table.starts[function], table.ends[function]
            if (image, start) not in self._calls:
                self._calls[image, start] = _only_call(elf, start, end)
            return self._calls[image, start]
        return None


def _only_call(elf: ElfFile, start: int, end: int) -> int | None:
    """The last byte of the only call of `StgRun` from ``start`` to ``end``; None where there is none, or more."""
    code = bytes(elf.read(start, min(end - start, _MOST_CODE)) or b"")
    found = []
    at = code.find(CALL)
    while at >= 0:
        if calls_stg_run(elf, start + at + CALL_LENGTH):
            found.append(start + at + CALL_LENGTH - 1)
        at = code.find(CALL, at + 1)
    return found[0] if len(found) == 1 else None


class Thread:
    """One thread: by the scheduler's stack pointer its frames there, from that of `StgRun`'s caller outwards, and the
    stack pointer of the scheduler that these end below in turn, 0 at the root: Haskell code calls C that calls it. No
    frames where samples differ: functions of C that take turns may have called the scheduler there."""

    def __init__(self) -> None:
        self._frames: dict[int, tuple[list[int], int]] = {}
        self._nodes: dict[int, int] = {}

    def see(self, walker: Walker, schedulers: Schedulers, pointers: list[int], frames: list[int]) -> None:
        """Take the frames of the stack that was walked last, from the innermost on."""
        end, above = len(frames), walker.missing_scheduler
        for i in range(len(frames) - 1, 0, -1):
            image, address = walker.rules.stacks.location(frames[i])
            call = schedulers.call_in(image, address)
            if call is None:
                continue
            found = [walker.rules.stacks.inferred_at(frames[i], call), *frames[i + 1 : end]], above
            if self._frames.setdefault(pointers[i], found) != found:
                self._frames[pointers[i]] = [], 0
            if address == call:
                # What it has called is Haskell code.
                end, above = i, pointers[i]

    def caller(self, walker: Walker, pointer: int) -> int:
        """The node of the frame of `StgRun`'s caller at a stack pointer; NONE where none was seen there."""
        wanted: list[int] = []
        while pointer in self._frames and pointer not in self._nodes and len(wanted) < len(self._frames):
            wanted.append(pointer)
            pointer = self._frames[pointer][1]
        for here in reversed(wanted):
            frames, above = self._frames[here]
            node = self._nodes.get(above, NONE)
            is_root = above == 0
            for frame in reversed(frames):
                node = walker.rules.inferred_node(node, frame) if node != NONE or is_root else NONE
                is_root = False
            self._nodes[here] = node
        return self._nodes.get(wanted[0] if wanted else pointer, NONE)


@dataclass(slots=True, repr=False, eq=False)
class Windows:
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


def _some(found: list[int], most: int) -> list[int]:
    """Of many samples those all over the time: a thread that has just begun is not in the scheduler yet."""
    return found[:: -(-len(found) // most) or 1]


def continue_haskell(
    data: PerfData,
    records: Records,
    spans: list[Span],
    walker: Walker,
    sources: Places,
    selected: memoryview,
    walked: "Walked",
    limits: Limits,
) -> int:
    """Continue stacks that end with StopReason.HASKELL_STACK; returns how many were. Those have
    StopReason.INFERRED_ROOT, and frames of Provenance.OTHER_DUMP above those of their own dump."""
    stop = walked.stop
    samples = records.samples
    keys = {sample: (samples.pid[sample], samples.tid[sample]) for sample in records.sample_order if selected[sample]}
    ended = [sample for sample in keys if stop[sample] == StopReason.HASKELL_STACK]
    threads = {keys[sample]: Thread() for sample in ended}
    # By thread whole stacks, and those of C that Haskell code called.
    whole: dict[tuple[int, int], list[int]] = {thread: [] for thread in threads}
    nested: dict[tuple[int, int], list[int]] = {thread: [] for thread in threads}
    for sample, thread in keys.items():
        if thread in threads and stop[sample] in WHOLE:
            whole[thread].append(sample)
        elif thread in threads and stop[sample] == StopReason.HASKELL_STACK:
            nested[thread].append(sample)
    most = limits.scheduler_samples
    looked = [sample for found in (*whole.values(), *nested.values()) for sample in _some(found, most)]
    schedulers = Schedulers(sources)
    windows = Windows(data, spans, [span[2] for span in spans], OrderedDict())
    count = 0
    try:
        for sample in sorted(looked):
            traced = walker.trace(*windows.window(sample, limits.mapped_windows), sample)
            if traced is not None:
                threads[keys[sample]].see(walker, schedulers, traced[0], traced[2])
        for sample in ended:
            if walker.trace(*windows.window(sample, limits.mapped_windows), sample) is None:
                continue
            node = threads[keys[sample]].caller(walker, walker.missing_scheduler)
            if node != NONE:
                walked.stack[sample] = walker.continued(node)
                stop[sample] = StopReason.INFERRED_ROOT
                count += 1
    finally:
        windows.close()
    return count
