"""The samples that a view counts, of one event or of all, with the weight of each."""

import warnings
from collections.abc import Sequence
from typing import Literal

from undwarf.errors import UsageError
from undwarf.ordering import take
from undwarf.profile.grouping import sums, widen
from undwarf.profile.model import Profile
from undwarf.views.data.access_labels import NEEDED, latency_of
from undwarf.views.event_units import measures_of, rows_of_events
from undwarf.views.kernels.weights import at_least_one, ones, total

Weight = Literal["period", "samples", "latency"]
Events = int | Sequence[int] | None
"""Whose samples count: those of an event, of several that can be added, or of all."""


class Selection:
    """The samples of ``event`` (a number, or several; None: all). ``weight`` by period falls back to samples if all are
    0; by latency a sample without one counts 1, as in perf's reports of memory. Warns where periods of different units
    are added.

    ``weights`` (Q) and ``stacks`` (I) have one entry a selected sample, ``total`` is the sum of the weights.
    """

    def __init__(self, profile: Profile, event: Events = None, weight: Weight = "period") -> None:
        self._profile = profile
        samples = profile.samples.columns
        self._rows: memoryview | None = None
        if event is not None and len(profile.events) > 1:
            self._rows = rows_of_events(profile, [event] if isinstance(event, int) else event)
        elif weight == "period" and len(profile.events) > 1 and len(found := measures_of(profile)) > 1:
            added = ", ".join(f"{one.name} ({one.unit})" for one in found)
            warnings.warn(f"the sum of different units means nothing: {added}; choose an event", stacklevel=3)
        self.stacks = self.column("stack")
        if weight == "period":
            self.weights = self.chosen(samples.period)
        elif weight == "latency":
            if samples.weight is None:
                raise UsageError("cannot weigh by latency", "the recording has no weights", NEEDED["weight"][1])
            self.weights = at_least_one(self.chosen(latency_of(profile, 0)))
        else:
            self.weights = ones(len(self.stacks))
        self.total = total(self.weights)
        if not self.total and len(self.stacks):
            self.weights = ones(len(self.stacks))
            self.total = len(self.stacks)

    def __len__(self) -> int:
        return len(self.stacks)

    def column(self, name: str) -> memoryview:
        """A column of the selected samples, as typecode I."""
        column: memoryview = widen(getattr(self._profile.samples.columns, name))
        return self.chosen(column)

    def chosen(self, column: memoryview) -> memoryview:
        """Of a column of all samples those that are selected."""
        return take(column, self._rows) if self._rows is not None else column


def samples_by_event(profile: Profile) -> list[int]:
    """How many samples each event has, by its number."""
    counts: memoryview = sums(widen(profile.samples.columns.event), None, len(profile.events))
    return counts.tolist()


def sections(profile: Profile, keys: Sequence[str]) -> list[tuple[Events, str]]:
    """(event's number, or several, or None for all; name) of what is reported apart: weights of two events cannot be
    added, but for those that measure parts of one thing, where the event makes the row."""
    if "event" in keys:
        found = measures_of(profile)
        if len(found) <= 1:
            return [(None, "all events")]
        return [(one.events, one.name) for one in found]
    counts = samples_by_event(profile)
    used = [(number, event.name) for number, event in enumerate(profile.events) if counts[number]]
    return [*used] or [(None, "no event")]
