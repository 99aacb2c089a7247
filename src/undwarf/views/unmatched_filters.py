"""Explains why no sample passes the filters: which filter matches nothing, and the names that exist."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from undwarf.profile.filters import Filters, near
from undwarf.profile.model import NONE, SampleColumns

if TYPE_CHECKING:
    from undwarf.perfdata.records import Samples

OFFERED = 8
"""The most alternatives that are listed."""


def _list(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - OFFERED:,} more" if len(texts) > OFFERED else ""
    return ", ".join(texts[:OFFERED]) + more


def _alternatives(what: str, option: str, existing: Sequence[str]) -> tuple[str, str]:
    return f"{what}; there are: {_list(existing)}", f"{option} with one of these" if existing else ""


def _by_count(values: Iterable[int]) -> list[int]:
    return [value for value, _count in sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))]


def seconds(time: int) -> str:
    """A time of the recording's clock (ns) in the format of --time."""
    return f"{time // 10**9}.{time % 10**9:09}"


def span_of(times: memoryview) -> tuple[int, int]:
    """The times of the first and the last sample with a time, in ns; zeros if none has one."""
    last = max(times, default=0)
    first = min(times, default=0)
    return first or min((time for time in times if time), default=0), last


def nothing_passes(
    filters: Filters, samples: "Samples | SampleColumns", comms: Sequence[str], comm_of: memoryview
) -> tuple[str, str]:
    """(why, what to try) for filters that no sample passes. ``comms`` are thread names, ``comm_of`` the index of each
    sample's."""
    names: dict[int, str] = {}
    for pid, comm in zip(samples.pid, comm_of, strict=True):
        if comm != NONE:
            names.setdefault(pid, comms[comm])

    def absent(wanted: Collection[int], column: Iterable[int]) -> list[int]:
        """The values in a column by falling number of samples; empty if one of them is wanted."""
        existing = _by_count(column)
        return existing if wanted and not set(wanted) & set(existing) else []

    if existing := absent(filters.pids, samples.pid):
        texts = [f"{pid} {names.get(pid, '')}".strip() for pid in existing]
        return _alternatives(f"no process {_list(list(map(str, filters.pids)))}", "--pid", texts)
    if existing := absent(filters.tids, samples.tid):
        return _alternatives(f"no thread {_list(list(map(str, filters.tids)))}", "--tid", list(map(str, existing)))
    if existing := absent(filters.cpus, samples.cpu):
        return _alternatives(f"no CPU {_list(list(map(str, filters.cpus)))}", "--cpu", list(map(str, sorted(existing))))
    if filters.comms:
        known = [comms[comm] for comm in _by_count(comm_of) if comm != NONE]
        if not any(comm == name or fnmatchcase(comm, name) for comm in known for name in filters.comms):
            return _alternatives(f"no thread named {_list(list(filters.comms))}", "--comm", near(filters.comms, known))
    spans = list(filters.spans) or [(filters.start or 0, filters.end if filters.end is not None else 1 << 64)]
    first, last = span_of(samples.time)
    if all(end < first or start > last for start, end in spans):
        why = f"the samples are from {seconds(first)} to {seconds(last)} s"
        return why, f"--time also takes 10%-20%, or seconds from the start: 0,{(last - first) / 2e9:.3f}"
    return "each of the filters finds some, but no sample passes all of them", "leave one of them out"
