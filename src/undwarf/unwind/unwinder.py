"""Walks all samples of a recording: threads take windows of the stream, and their stacks are merged at the end."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata import EventAttr, PerfData, Records, SampleField
from undwarf.spaces.sample_spaces import Spaces
from undwarf.unwind.frame_log import FrameLog
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stacks import move, remap
from undwarf.unwind.stop_reason import StopReason
from undwarf.unwind.walker import Walker

WINDOW = 8 << 20
"""Bytes of the stream that a thread maps at once."""

WARM = 8
"""Samples for each function whose rows had to be loaded, from which on further threads walk too. Loading rows takes the
GIL: threads that start together wait for each other at every function, longer than they walk."""
COLD_SHARE = 4
"""The part of the samples after which they start in any case."""

FEW = 2000
"""Samples up to which one thread walks."""

CUT = frozenset((StopReason.TRUNCATED, StopReason.ABSENT_PAGE))
"""Reasons of stacks that go on outside of their dump."""
PRECISE = ("samples", "fitting", "corrected", "returned", "followed", "unproven")
"""What is counted of precise samples (undwarf.unwind.exact_state.ExactState)."""
NO_RULE = int(StopReason.NO_RULE)
UNPROVEN_STATE = int(StopReason.UNPROVEN_STATE)
HASKELL_STACK = int(StopReason.HASKELL_STACK)

Progress = Callable[[int, int], None]
Memory = Callable[[int, int, int], bytes | None]
"""Memory as it was at a sample, beside its stack dump: from the sample's number, a start and an end address to the
bytes from the start on."""


@dataclass(slots=True, repr=False, eq=False)
class Walked:
    """Stacks of a recording. ``stack``, ``stop`` and ``stop_image`` are by sample, the columns as in Stacks.columns."""

    stack: "memoryview[int]"
    stop: "memoryview[int]"
    stop_image: "memoryview[int]"
    columns: dict[str, memoryview]
    deferred: int
    damaged: int
    later: dict[str, int] = field(default_factory=dict)
    """What became of deferred chains (undwarf.unwind.deferred_chains.match); empty where the recording has none."""
    precise: dict[str, int] = field(default_factory=dict)
    """What was done with precise samples (PRECISE); empty where the recording has none."""


@dataclass(slots=True, repr=False, eq=False)
class LaterChains:
    """User chains that were recorded after their samples: by sample the place in ``addresses`` and the length
    (0xffffffff: none came)."""

    at: "memoryview[int]"
    count: "memoryview[int]"
    addresses: "memoryview[int]"
    counts: dict[str, int]


def later_chains(data: PerfData, records: Records) -> LaterChains | None:
    """The deferred user chains of a recording, each with its samples; None if it has none."""
    side = records.sideband
    if "CALLCHAIN_DEFERRED" not in records.counts and not any(event.defer_callchain for event in data.events):
        return None
    from undwarf.unwind import deferred_chains

    total = len(records.samples.position)
    cookies, waiting = zeros("Q", total), zeros("B", total)
    for position, length, first, end in spans(data, records):
        with data.window(position, length) as view:
            deferred_chains.read_cookies(view, position, first, end, records.samples, cookies, waiting)
    chain_of, counts = deferred_chains.match(records.samples, records.sample_order, cookies, waiting, side)
    entries = sorted(set(chain_of) - {0xFFFFFFFF})
    lengths = side.deferred_chains.length
    addresses = zeros("Q", sum(lengths[entry] for entry in entries))
    place_of: dict[int, int] = {}
    place = 0
    for entry in entries:
        place_of[entry] = place
        length = lengths[entry]
        # Twenty-four bytes of header, cookie and count come before the addresses.
        with data.window(side.position[entry], 24 + 8 * length) as view:
            deferred_chains.read_chain(view, 24, length, addresses, place)
        place += length
    at, count = zeros("Q", total), zeros("I", total)
    for sample, entry in enumerate(chain_of):
        count[sample] = 0xFFFFFFFF
        if entry != 0xFFFFFFFF:
            at[sample], count[sample] = place_of[entry], lengths[entry]
    return LaterChains(at, count, addresses, counts)


def spans(data: PerfData, records: Records) -> Iterator[tuple[int, int, int, int]]:
    """(position, bytes, first sample, end sample) of windows that hold whole records."""
    return windows(data, records.samples.position)


def windows(data: PerfData, positions: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """As :func:`spans`, for samples at ascending positions; others are in windows of their own."""
    count = len(positions)
    first = 0
    while first < count:
        start = positions[first]
        segment_end = data.segment_end(start)
        low, high = first + 1, count
        limit = min(start + WINDOW, segment_end)
        while low < high:
            middle = (low + high) // 2
            if positions[middle] < limit:
                low = middle + 1
            else:
                high = middle
        # The last record may reach past the window's nominal end, by less than 64 KiB.
        yield start, min(limit + 0x10000, segment_end) - start, first, low
        first = low


def default_jobs() -> int:
    """How many threads walk by default."""
    return min(len(os.sched_getaffinity(0)), 8)


class Walking(NamedTuple):
    """Options of the walk."""

    limits: Limits = DEFAULT
    jobs: int | None = None
    """Threads; default: one per CPU, at most 8."""
    runtime: bool = False
    """Frames keep the absolute address they ran at."""
    returns: bool = False
    """Callers have their return address, else what it was looked up by, which is one less."""
    callers: bool = True
    """If not, each dump gives its innermost frame, and no unwind tables are needed."""
    branch_history: bool = False
    """The branches before a sample are frames of its stack, below the callers that were not called by one of them."""
    memory: Memory | None = None
    """Reads memory beside stack dumps."""
    other_dumps: bool = False
    """Stacks that end with their dump are continued from other dumps of their thread
    (:mod:`undwarf.unwind.other_dumps`)."""


def walk_samples(
    data: PerfData,
    records: Records,
    spaces: Spaces,
    sources: ImageTable,
    selected: memoryview,
    walking: Walking,
    progress: Progress | None = None,
) -> Walked:
    """Walk the samples for which ``selected`` is not 0; ``progress`` is called with the samples done and all."""
    later = later_chains(data, records)
    count = len(records.samples.position)
    registers = sources.machine.registers
    words = b"".join(registers.slots(event.sample_regs_user) for event in data.events)
    register_words = memoryview(words or bytes(registers.SLOTS))
    columns = spaces.replay.mappings.columns()
    image_count = max(1, len(spaces.replay.keys()))

    def new_walker() -> Walker:
        rules = RuleCache(sources, columns, image_count, walking.runtime, sources.kernel_image(), walking.returns)
        walker = Walker(rules, register_words, walking.limits, innermost_only=not walking.callers)
        walker.set_samples(records.samples, spaces.space_of, spaces.kernel_of, selected)
        walker.live.read_with(walking.memory)
        walker.exact_state.decides_again = True
        return walker

    walkers = [new_walker() for _ in range(max(1, walking.jobs or default_jobs()) if count >= FEW else 1)]
    if any(event.precise_ip for event in data.events) and walkers[0].corrects_exact:
        from undwarf.unwind.lateness import reach_of  # not at the top: few recordings have such samples

        reach = reach_of(data, list(spans(data, records)), new_walker(), records.samples.misc, selected)
        for walker in walkers:
            walker.exact_state.look_within(reach)
    logs = walking.other_dumps and walking.callers and walking.memory is None and not walking.branch_history
    for walker in walkers:
        if later is not None:
            walker.kernel_chains.set_deferred(later.at, later.count, later.addresses)
        if data.stitched:
            walker.kernel_chains.set_unwound()
        if any(event.sample_type & SampleField.BRANCH_STACK for event in data.events):
            kinds = _branch_kinds(data.events)
            walker.branch_stacks.set_branches(kinds, records.samples.branch_at, walking.branch_history)
        if logs:
            walker.memo.keep_log(FrameLog(walking.limits.logged_frames, count // len(walkers)))
    walk = _Walk(data, records, walkers, progress)
    walk.run()
    first = walkers[0]
    # Afterwards the first walker has the stacks of all.
    walked = walk.result(later.counts if later is not None else {}, walking.limits)
    first.memo.stop_log()
    if walked.precise:
        _decide_states(data, records, first, sources, walked)
    if walking.callers and not walking.branch_history:
        _through_entries(data, records, first, sources, walked, walking.limits)
        if walking.memory is None and walking.other_dumps:
            _continue_haskell(data, records, first, sources, selected, walked, walking.limits)
    return walked


def _through_entries(
    data: PerfData, records: Records, walker: Walker, sources: ImageTable, walked: Walked, limits: Limits
) -> None:
    """Walk the stacks again that end in code compiled at run time, if the others show what enters it."""
    if not sources.frame_pointers or NO_RULE not in bytes(walked.stop):
        return
    jit = {image: sources.is_jit(image) for image in set(walked.stop_image) if image != 0xFFFFFFFF}
    samples = [
        sample
        for sample, (stop, image) in enumerate(zip(walked.stop, walked.stop_image, strict=True))
        if stop == NO_RULE and jit.get(image)
    ]
    if not samples:
        return
    from undwarf.unwind.jit_entries import find_entries, for_each

    all_spans = list(spans(data, records))
    entries = find_entries(data, all_spans, walker, samples, limits.entry_samples)
    if entries:
        walker.ruleless.set_entries(entries)

        def again(window: memoryview, position: int, sample: int) -> None:
            walker.walk(window, position, sample, sample + 1, walked.stack, walked.stop, walked.stop_image)

        for_each(data, all_spans, samples, again)
    walked.columns = walker.rules.stacks.columns()


def _decide_states(data: PerfData, records: Records, walker: Walker, sources: ImageTable, walked: Walked) -> None:
    """Walk the precise samples again whose state is not proven alone: the stacks of the others show which calls are
    frequent."""
    samples = [sample for sample, stop in enumerate(walked.stop) if stop == UNPROVEN_STATE]
    if not samples:
        return
    from undwarf.unwind.call_counts import CallCounts
    from undwarf.unwind.jit_entries import for_each

    walker.exact_state.decide_with(CallCounts(sources.code_evidence, walker.rules.stacks, walked.stack))

    def again(window: memoryview, position: int, sample: int) -> None:
        walker.walk(window, position, sample, sample + 1, walked.stack, walked.stop, walked.stop_image)

    for_each(data, list(spans(data, records)), samples, again)
    walked.columns = walker.rules.stacks.columns()
    for name in PRECISE:
        if name != "samples":
            found = getattr(walker.exact_state, name)
            walked.precise[name] = found if name == "unproven" else walked.precise[name] + found


def _branch_kinds(events: list[EventAttr]) -> "memoryview[int]":
    """By event its `branch_sample_type` (Q)."""
    kinds = zeros("Q", len(events))
    for number, event in enumerate(events):
        kinds[number] = event.branch_sample_type
    return kinds


def _continue_haskell(
    data: PerfData,
    records: Records,
    walker: Walker,
    sources: ImageTable,
    selected: memoryview,
    walked: Walked,
    limits: Limits,
) -> None:
    """Continue the stacks that end in Haskell code."""
    if HASKELL_STACK not in bytes(walked.stop):
        return
    from undwarf.unwind.haskell_callers import continue_haskell

    if continue_haskell(data, records, list(spans(data, records)), walker, sources, selected, walked, limits):
        walked.columns = walker.rules.stacks.columns()


class _Walk:
    """Windows of the stream, which walkers take, one in each thread; the first is that of the calling thread."""

    def __init__(self, data: PerfData, records: Records, walkers: list[Walker], progress: Progress | None) -> None:
        self._data = data
        self._records = records
        self._windows = spans(data, records)
        self._walkers = walkers
        self._progress = progress
        self._count = len(records.samples.position)
        self._done = 0
        self._stack = zeros("I", self._count)
        self._stop = zeros("B", self._count)
        self._stop_image = zeros("I", self._count)
        self._logged = zeros("I", self._count if walkers[0].memo.log is not None else 0)
        self._walked_by: list[list[tuple[int, int]]] = [[] for _ in walkers]
        self._lock = threading.Lock()
        self._failures: list[BaseException] = []
        self._others = [
            threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(1, len(walkers))
        ]
        self._started = False

    def run(self) -> None:
        """Walk all windows; raises the exception of any thread."""
        self._run(0)
        if self._started:
            for thread in self._others:
                thread.join()
        self._others.clear()
        if self._failures:
            raise self._failures[0]

    def _run(self, number: int) -> None:
        """Take windows until there are no more: the work of one thread."""
        walker = self._walkers[number]
        loaded = 0
        try:
            while not self._failures:
                with self._lock:
                    span = next(self._windows, None)
                if span is None:
                    return
                position, length, first, end = span
                with self._data.window(position, length) as view:
                    walker.walk(view, position, first, end, self._stack, self._stop, self._stop_image, self._logged)
                with self._lock:
                    self._walked_by[number].append((first, end))
                    self._done += end - first
                    if self._progress is not None:
                        self._progress(self._done, self._count)
                if number == 0:
                    self._start_others(end - first, walker.rules.functions_loaded - loaded)
                    loaded = walker.rules.functions_loaded
        except BaseException as error:  # noqa: BLE001 - raised in the calling thread
            self._failures.append(error)

    def _start_others(self, samples: int, loaded: int) -> None:
        """Start the other threads once the first one rarely has to load rows."""
        if not self._started and (loaded * WARM <= samples or self._done * COLD_SHARE >= self._count):
            self._started = True
            for thread in self._others:
                thread.start()

    def result(self, later: dict[str, int], limits: Limits) -> Walked:
        """The stacks of all walkers, which are dropped; ``later`` are counts of deferred chains."""
        without_chain = sum(walker.missing_chains for walker in self._walkers)
        damaged = sum(walker.damaged for walker in self._walkers)
        precise = {name: sum(getattr(walker.exact_state, name) for walker in self._walkers) for name in PRECISE}
        first = self._walkers[0]
        stacks, *others = [walker.rules.stacks for walker in self._walkers]
        log, *other_logs = [walker.memo.log for walker in self._walkers]
        # Merging does not need what walkers have loaded of images, which takes as much memory.
        self._walkers.clear()
        for spans_walked in self._walked_by[1:]:
            nodes, frames = stacks.adopt(others.pop(0))
            moved = log.adopt(other_logs.pop(0), frames) if log is not None else 0
            if not len(frames):
                # No sample of this thread was selected.
                continue
            for begin, end in spans_walked:
                remap(self._stack, begin, end, nodes)
                if log is not None:
                    move(self._logged, begin, end, moved)
        if log is not None and not CUT.isdisjoint(bytes(self._stop)):
            from undwarf.unwind.other_dumps import continue_truncated

            continue_truncated(self._records, first.rules, log, self._logged, self._stack, self._stop, limits)
        if not precise["samples"]:
            precise.clear()
        columns = stacks.columns()
        return Walked(self._stack, self._stop, self._stop_image, columns, without_chain, damaged, later, precise)
