"""Explains why no sample passes the filters: the filter that matches nothing, and the names it could have meant."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from undwarf.perfdata import Records
from undwarf.profile.filters import Filters, near
from undwarf.profile.model import NONE

OFFERED = 8
"""What is offered at most in place of what a filter names."""


def _list(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - OFFERED:,} more" if len(texts) > OFFERED else ""
    return ", ".join(texts[:OFFERED]) + more


def _instead(what: str, option: str, there: Sequence[str]) -> tuple[str, str]:
    return f"{what}; there are: {_list(there)}", f"{option} with one of these" if there else ""


def _by_count(values: Iterable[int]) -> list[int]:
    return [value for value, _count in sorted(Counter(values).items(), key=lambda one: (-one[1], one[0]))]


def seconds(time: int) -> str:
    """A time of the recording's clock in ns, as --time takes it."""
    return f"{time // 10**9}.{time % 10**9:09}"


def span_of(records: Records) -> tuple[int, int]:
    """The times of the first and the last sample that have one, in ns; zeros where none has."""
    times = records.samples.time
    last = max(times, default=0)
    first = min(times, default=0)
    return first or min((time for time in times if time), default=0), last


def nothing_passes(filters: Filters, records: Records, comms: Sequence[str], comm_of: memoryview) -> tuple[str, str]:
    """(why, what to try) for filters that no sample passes. ``comms`` are names of threads, ``comm_of`` the number of
    each sample's."""
    samples = records.samples
    names: dict[int, str] = {}
    for pid, comm in zip(samples.pid, comm_of, strict=True):
        if comm != NONE:
            names.setdefault(pid, comms[comm])

    def absent(wanted: Collection[int], column: Iterable[int]) -> list[int]:
        """What there is, by falling number of samples, if nothing of it is wanted."""
        there = _by_count(column)
        return there if wanted and not set(wanted) & set(there) else []

    if there := absent(filters.pids, samples.pid):
        texts = [f"{pid} {names.get(pid, '')}".strip() for pid in there]
        return _instead(f"no process {_list(list(map(str, filters.pids)))}", "--pid", texts)
    if there := absent(filters.tids, samples.tid):
        return _instead(f"no thread {_list(list(map(str, filters.tids)))}", "--tid", list(map(str, there)))
    if there := absent(filters.cpus, samples.cpu):
        return _instead(f"no CPU {_list(list(map(str, filters.cpus)))}", "--cpu", list(map(str, sorted(there))))
    if filters.comms:
        known = [comms[comm] for comm in _by_count(comm_of) if comm != NONE]
        if not any(comm == name or fnmatchcase(comm, name) for comm in known for name in filters.comms):
            return _instead(f"no thread named {_list(list(filters.comms))}", "--comm", near(filters.comms, known))
    spans = list(filters.spans) or [(filters.start or 0, filters.end if filters.end is not None else 1 << 64)]
    first, last = span_of(records)
    if all(end < first or start > last for start, end in spans):
        why = f"the samples are from {seconds(first)} to {seconds(last)} s"
        return why, f"--time also takes 10%-20%, or seconds from the start: 0,{(last - first) / 2e9:.3f}"
    return "each of the filters finds some, but no sample passes all of them", "leave one of them out"
