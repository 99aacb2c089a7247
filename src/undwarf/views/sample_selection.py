"""The samples that a view counts, of some events or of all, with the weight of each."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

from undwarf.errors import UsageError
from undwarf.ordering import take
from undwarf.profile.grouping import Pairs, look_up, sums, widen
from undwarf.profile.model import Profile
from undwarf.views.data.access_labels import NEEDED, latency_of
from undwarf.views.event_units import kind_of_event, measures_of, rows_of_events
from undwarf.views.kernels.stack_tree import collapse, inclusive
from undwarf.views.kernels.weights import at_least_one, ones, times, total

Weight = Literal["period", "samples", "latency"]
Events = int | Sequence[int] | None
"""The events whose samples count: one, several that can be added, or all."""
EventName = int | str
"""An event by its number, or by its name with or without modifiers (``cycles`` for ``cycles:u``)."""


def events_named(profile: Profile, event: EventName | None) -> Events:
    """The events with this name or number; None for all. Raises UsageError if there is none."""
    if event is None:
        return None
    names = [one.name for one in profile.events]
    if isinstance(event, int):
        found = [event] if 0 <= event < len(names) else []
    else:
        found = [number for number, name in enumerate(names) if name == event]
        found = found or [number for number, name in enumerate(names) if kind_of_event(name).base == event]
    if not found:
        raise UsageError(f"the recording has no event {event!r}", "", f"its events are {', '.join(names) or 'none'}")
    return found[0] if len(found) == 1 else found


class Selection:
    """The samples of ``event`` (None: all). If all periods are 0, samples are counted instead; a sample without a
    latency has latency 1, as in perf's memory reports. Warns if periods of different units are added.

    ``weights`` (Q) and ``stacks`` (I) have one entry a selected sample, ``total`` is the sum of the weights. ``counts``
    (Q): of entries that are sums, the number of samples; None: each is one.
    """

    def __init__(self, profile: Profile, event: Events = None, weight: Weight = "period") -> None:
        self._profile = profile
        samples = profile.samples.columns
        if weight != "period":
            refuse_sums(profile)
        self._rows: memoryview | None = None
        if event is not None and len(profile.events) > 1:
            self._rows = rows_of_events(profile, [event] if isinstance(event, int) else event)
        elif weight == "period" and len(profile.events) > 1 and len(measures := measures_of(profile)) > 1:
            added = ", ".join(f"{measure.name} ({measure.unit})" for measure in measures)
            warnings.warn(f"the sum of different units means nothing: {added}; choose an event", stacklevel=3)
        self.stacks = self.column("stack")
        self.counts = self.chosen(samples.count) if samples.count is not None else None
        if weight == "period":
            self.weights = self.chosen(samples.period)
        elif weight == "latency":
            if samples.weight is None:
                raise UsageError("cannot weigh by latency", "the recording has no weights", NEEDED["weight"][1])
            self.weights = self.of_samples(at_least_one(self.chosen(latency_of(profile, 0))))
        else:
            self.weights = self._each_once()
        self.total = total(self.weights)
        if not self.total and len(self.stacks):
            self.weights = self._each_once()
            self.total = self.samples

    def __len__(self) -> int:
        return len(self.stacks)

    @property
    def samples(self) -> int:
        """The number of samples."""
        found: int = total(self.counts) if self.counts is not None else len(self.stacks)
        return found

    def of_samples(self, column: memoryview) -> memoryview:
        """The sums over the samples of each entry, of a column (Q) with the value that each of these has."""
        found: memoryview = times(column, self.counts) if self.counts is not None else column
        return found

    def _each_once(self) -> memoryview:
        weights: memoryview = self.counts if self.counts is not None else ones(len(self.stacks))
        return weights

    def column(self, name: str) -> memoryview:
        """A column of the selected samples, as typecode I."""
        column: memoryview = widen(getattr(self._profile.samples.columns, name))
        return self.chosen(column)

    def chosen(self, column: memoryview) -> memoryview:
        """The entries of the selected samples, of a column of all samples."""
        return take(column, self._rows) if self._rows is not None else column


def refuse_sums(profile: Profile) -> None:
    """Raise UsageError if a profile has no single samples, which could be counted."""
    if profile.origin is not None and profile.origin.sums:
        why = f"{profile.origin.format} has sums of weights, and no single samples"
        raise UsageError("samples cannot be counted", why, "leave out the option, which counts them")


def samples_by_event(profile: Profile) -> list[int]:
    """The number of samples of each event."""
    columns = profile.samples.columns
    counts: memoryview = sums(widen(columns.event), columns.count, len(profile.events))
    return counts.tolist()


def sections(profile: Profile, keys: Sequence[str]) -> list[tuple[Events, str]]:
    """(event or events, name) of each part of a report: weights of different events are not added, except for those
    with a common measure if the event is a sort key."""
    if "event" in keys:
        measures = measures_of(profile)
        if len(measures) <= 1:
            return [(None, "all events")]
        return [(measure.events, measure.name) for measure in measures]
    counts = samples_by_event(profile)
    used = [(number, event.name) for number, event in enumerate(profile.events) if counts[number]]
    return [*used] or [(None, "no event")]


def samples_passing(profile: Profile, of_frame: Any, count: int) -> dict[int, int]:
    """How many samples have each of ``count`` things on their stack; ``of_frame`` (I) has the thing of each frame, and
    ``count`` for none."""
    node_of, parent, thing = collapse(profile.stacks.parent, profile.stacks.frame, of_frame)
    pairs = Pairs()
    node = look_up(profile.samples.columns.stack, node_of)
    path = pairs.column(look_up(node, thing), node)
    samples = sums(path, profile.samples.columns.count, len(pairs))
    one_group = widen(memoryview(bytes(len(pairs))))
    _group, things, passing = inclusive(one_group, pairs.low(), samples, parent, thing, count + 1)
    return {number: passed for number, passed in zip(things, passing, strict=True) if number < count}


def signed(bits: int) -> int:
    """The id of a process or thread from its 32 bits; -1 for none."""
    return bits - (1 << 32) if bits >> 31 else bits
