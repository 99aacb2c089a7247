"""The times of a page: in the finest unit that 32 bits hold for all of the recording."""

from typing import NamedTuple

from undwarf.column import zeros
from undwarf.profile.model import Column, Profile
from undwarf.views.kernels.page_columns import in_units

FINEST = 1000
"""ns. Samples are seldom closer, and a finer unit takes three times the bytes."""
_LAST = 0xFFFFFFF0


class RowTimes(NamedTuple):
    """``column`` (I) has the time of each sample in ``unit`` ns from ``start`` on; the rest is None without times."""

    column: memoryview
    unit: int | None
    start: int | None
    end: int | None

    def of(self, time: int) -> int:
        """A time in ns, in the unit of the column, within the recording."""
        if self.unit is None or self.start is None or self.end is None:
            return 0
        return (min(max(time, self.start), self.end) - self.start) // self.unit


def start_of(times: Column) -> int:
    """The first time of samples; those without one have 0, and the others are in order. 0 if there is none."""
    return min(times, default=0) or next((time for time in times if time), 0)


def row_times(profile: Profile, first: int = 0, last: int = 0) -> RowTimes:
    """The times of the samples; ``first`` and ``last`` (ns, 0 for none) may be outside of them."""
    times = profile.samples.columns.time
    count = len(times)
    if not count or (profile.origin is not None and "time" not in profile.origin.fields) or not max(times):
        return RowTimes(zeros("I", count), None, None, None)
    start = min(time for time in (first, start_of(times), last) if time)
    end = max(max(times), last)
    unit = FINEST
    while (end - start) // unit > _LAST:
        unit *= 10
    return RowTimes(in_units(times, start, unit), unit, start, end)
