"""The weight of samples over time."""

from typing import NamedTuple

from undwarf.profile.model import Profile
from undwarf.views.sample_selection import Events, Selection, Weight


class Activity(NamedTuple):
    """Weights in equal parts of the time from ``first`` to ``last`` (ns of the recording's clock, both inclusive)."""

    first: int
    last: int
    weights: list[int]

    def part(self, time: int) -> int:
        """The part that a time is in; the first or last one for times outside."""
        count = len(self.weights)
        return max(0, min(count - 1, (time - self.first) * count // (self.last - self.first + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The first and last time of parts, from ``start`` to ``end``, both inclusive."""
        count, length = len(self.weights), self.last - self.first + 1
        first = self.first + -(-start * length // count)
        return first, self.first + -(-(end + 1) * length // count) - 1


def time_range(profile: Profile) -> tuple[int, int]:
    """The times of the first and the last sample; (0, 0) without samples."""
    times = profile.samples.columns.time
    return (min(times), max(times)) if len(times) else (0, 0)


def activity(
    profile: Profile, parts: int, first: int, last: int, event: Events = None, weight: Weight = "period"
) -> Activity:
    """The weights of an event (None: all) in so many parts of a time."""
    selection = Selection(profile, event, weight)
    weights = [0] * parts
    length = last - first + 1
    for time, amount in zip(selection.chosen(profile.samples.columns.time), selection.weights, strict=True):
        if first <= time <= last:
            weights[(time - first) * parts // length] += amount
    return Activity(first, last, weights)
