"""The weights of one event of one recording, by row and by block of time, per unit of work."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.ordering import sort_order, take
from undwarf.profile.grouping import look_up, sums
from undwarf.views.comparison.model import Normalization, Recorded
from undwarf.views.event_units import rows_of_events
from undwarf.views.kernels.block_sums import blocks_of, borders_of, own_sums, passing_sums
from undwarf.views.kernels.weights import ones
from undwarf.views.sample_selection import Events, Selection, Weight, events_named

MOST_BLOCKS = 128
LEAST_BLOCKS = 8
_SAMPLES_OF_BLOCK = 8
"""The least mean number of samples of a block."""


class Groups(NamedTuple):
    """What rows count: the row (I) of each of the profile's samples, or with a tree that of each node.

    With ``parent``, ``of`` is the row of each node of a tree, of which ``node_of`` is the node of each stack; weights
    are then with callees.
    """

    of: memoryview
    parent: memoryview | None = None
    node_of: memoryview | None = None


class Measured:
    """The weights of one event of one recording."""

    def __init__(self, recorded: Recorded, events: Events, weight: Weight, normalization: Normalization) -> None:
        self._selection = Selection(recorded.profile, events, weight)
        self._weights = self._selection.weights
        self.total = self._selection.total
        self.samples = self._selection.samples
        profile = recorded.profile
        times = profile.samples.columns.time
        self._first, self.span = _span(times)
        self._times = self._selection.chosen(times)
        self._blocks = 0
        self._block: memoryview = zeros("I", 0)
        self._borders: memoryview = zeros("Q", 0)
        self._by_clock = normalization.unit == "time"
        self._work_events: Events = None
        if normalization.unit == "event":
            self._work_events = events_named(profile, normalization.event)
        self._recorded = recorded
        self.work = self._work(normalization)

    def _work(self, normalization: Normalization) -> float:
        if normalization.unit == "samples":
            return float(self.total or 1)
        if normalization.unit == "time":
            return max(self.span, 1) / 1e9
        if normalization.unit == "number":
            return self._recorded.work
        if normalization.unit == "event":
            _times, weights = self._work_samples()
            return float(sum(weights) or 1)
        return 1.0

    def _work_samples(self) -> tuple[memoryview, memoryview]:
        columns = self._recorded.profile.samples.columns
        events = self._work_events
        rows = rows_of_events(self._recorded.profile, [events] if isinstance(events, int) else list(events or ()))
        weights = take(columns.period, rows)
        return take(columns.time, rows), weights if any(weights) else ones(len(rows))

    @property
    def timed(self) -> bool:
        """Whether there are times."""
        return self.span > 0

    def cut(self, blocks: int) -> None:
        """Cut the recording into so many blocks of the same weight: what a program has done says better where it is
        than the clock, which goes on while other programs run. To compare rates, blocks have the same length."""
        self._blocks = blocks
        if self._by_clock:
            self._borders = zeros("Q", blocks - 1)
            for number in range(1, blocks):
                self._borders[number - 1] = self._first + self.span * number // blocks
        else:
            order = sort_order(self._times)
            self._borders = borders_of(self._times, self._weights, order, blocks)
        self._block = blocks_of(self._times, self._borders)

    def weights(self, groups: Groups, count: int) -> tuple[list[int], list[int]]:
        """(weight, samples taken in it) of each of ``count`` rows."""
        if groups.parent is None:
            of_sample = self._selection.chosen(groups.of)
            return sums(of_sample, self._weights, count).tolist(), sums(
                of_sample, self._selection.counts, count
            ).tolist()
        nodes = self._nodes(groups)
        one = zeros("I", len(self._selection))
        counts = self._selection.counts if self._selection.counts is not None else ones(len(self._selection))
        passing = [
            passing_sums(one, nodes, weights, groups.parent, groups.of, 1, count).tolist()
            for weights in (self._weights, counts)
        ]
        return passing[0], passing[1]

    def _nodes(self, groups: Groups) -> memoryview:
        assert groups.node_of is not None
        result: memoryview = look_up(self._selection.stacks, groups.node_of)
        return result

    def by_block(self, groups: Groups, count: int) -> list[list[int]]:
        """The weight of each row in each block."""
        if groups.parent is None:
            matrix = own_sums(self._block, self._selection.chosen(groups.of), self._weights, self._blocks, count)
        else:
            nodes = self._nodes(groups)
            matrix = passing_sums(self._block, nodes, self._weights, groups.parent, groups.of, self._blocks, count)
        values = matrix.tolist()
        return [values[number::count] for number in range(count)] if count else []

    def total_by_block(self) -> list[int]:
        """The weight of all samples in each block."""
        one = zeros("I", len(self._selection))
        result: list[int] = own_sums(self._block, one, self._weights, self._blocks, 1).tolist()
        return result

    def work_by_block(self, normalization: Normalization) -> list[float] | None:
        """The units of work in each block; None where that is not counted as samples are, or does not vary."""
        if normalization.unit == "samples":
            return [float(value) for value in self.total_by_block()]
        if normalization.unit != "event":
            return None
        times, weights = self._work_samples()
        block = blocks_of(times, self._borders)
        return [float(value) for value in own_sums(block, zeros("I", len(times)), weights, self._blocks, 1)]


def _span(times: memoryview) -> tuple[int, int]:
    """(first time, time to the last)."""
    if not len(times):
        return 0, 0
    first, last = min(times), max(times)
    return first, last - first


def residuals(blocks: Sequence[int], value: float, work: float, work_blocks: Sequence[float] | None) -> list[float]:
    """What each block adds to a quantity per unit of work: of a ratio of two sums, as far as it changes the ratio."""
    if work_blocks is None:
        return [weight / work for weight in blocks]
    return [(weight - value * done) / work for weight, done in zip(blocks, work_blocks, strict=True)]


def number_of_blocks(recordings: Sequence[Measured]) -> int:
    """How many blocks these recordings can be cut into; 0 if they have no times or too few samples."""
    if not all(one.timed for one in recordings):
        return 0
    count = min(MOST_BLOCKS, min(one.samples for one in recordings) // _SAMPLES_OF_BLOCK)
    return count if count >= LEAST_BLOCKS else 0
