"""The units of events' periods, and which events can be added up.

The sum of cycles and page faults means nothing; that of CPU time and waiting time is elapsed time.
"""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.profile.grouping import rows_among, sums, widen
from undwarf.profile.model import Profile

RUNNING = frozenset({"cpu-clock", "task-clock"})
"""Software clocks: a sample's period is the nanoseconds that a thread ran (kernel/events/core.c)."""
WAITING = frozenset({"offcpu-time"})
"""The event of perf record --off-cpu: a sample's period is the nanoseconds that a thread waited."""
_TIMES = RUNNING | WAITING | {f"sched:sched_stat_{what}" for what in ("wait", "sleep", "iowait", "blocked", "runtime")}
"""Events whose periods are nanoseconds; those of sched by their ``__perf_count`` (include/trace/events/sched.h)."""
_STEADY = RUNNING | {"cycles", "ref-cycles", "bus-cycles", "instructions"}
"""Events that never pause: at a fixed frequency, all samples have about the same period."""
_SYNONYMS = {
    "cpu-cycles": "cycles",
    "faults": "page-faults",
    "branch-instructions": "branches",
    "cs": "context-switches",
}
SAMPLES = "samples"
_MODIFIERS = frozenset("ukhIGHpPSDWeb")


class Kind(NamedTuple):
    """An event's name in parts, as perf writes it: ``cpu_core/cycles/u`` has ``pmu`` and ``modifiers``."""

    base: str
    pmu: str
    modifiers: str


def kind_of_event(name: str) -> Kind:
    """The parts of an event's name; aliases of perf become one name."""
    parts = name.split("/")
    if len(parts) == 3 and parts[0] and (parts[2].isalnum() or not parts[2]):
        pmu, base, modifiers = parts
    else:
        pmu = ""
        base, _colon, modifiers = name.rpartition(":")
        if not base or not modifiers or not _MODIFIERS.issuperset(modifiers):
            # Of a tracepoint, the colon separates system and name.
            base, modifiers = name, ""
    return Kind(_SYNONYMS.get(base, base), pmu, modifiers)


def unit_of_event(name: str) -> str:
    """The unit of an event's periods: ``ns``, or the event itself (cycles, page-faults, ...)."""
    base = kind_of_event(name).base
    return "ns" if base in _TIMES else base


def _apart(one: Kind, other: Kind) -> bool:
    """Whether nothing is counted by both events, so that their sum has everything once."""
    if one.base != other.base:
        return len({one.base, other.base} & RUNNING) == 1 and len({one.base, other.base} & WAITING) == 1
    if one.pmu and other.pmu and one.pmu != other.pmu:
        # The core types of a hybrid CPU.
        return True
    levels = [set(kind.modifiers) & set("ukh") for kind in (one, other)]
    return all(levels) and not levels[0] & levels[1]


def rows_of_events(profile: Profile, events: Sequence[int]) -> memoryview:
    """The samples of some events, by number."""
    flags = zeros("B", 1 << 16)
    for event in events:
        flags[event] = 1
    rows: memoryview = rows_among(profile.samples.columns.event, flags)
    return rows


class Measure(NamedTuple):
    """Events whose weights may be added, by number; their ``unit`` and a ``name`` for people."""

    name: str
    unit: str
    events: tuple[int, ...]


def measures(names: Sequence[str], used: Sequence[int], units: Sequence[str] = ()) -> list[Measure]:
    """The events ``used`` (indices of ``names``), in their order, with those together that can be added. ``units``:
    those that are stated, empty texts for events whose name says it."""
    stated = dict(enumerate(units))
    unit = {event: stated.get(event) or unit_of_event(names[event]) for event in used}
    groups: list[list[int]] = []
    for event in used:
        kind = kind_of_event(names[event])
        for events in groups:
            if unit[events[0]] == unit[event] and all(_apart(kind, kind_of_event(names[other])) for other in events):
                events.append(event)
                break
        else:
            groups.append([event])
    return [Measure(" + ".join(names[event] for event in events), unit[events[0]], tuple(events)) for events in groups]


def measures_of(profile: Profile) -> list[Measure]:
    """The measures of a profile's samples. Of an event whose periods are all 0, samples are counted."""
    columns = profile.samples.columns
    names = [event.name for event in profile.events]
    event_of = widen(columns.event)
    counts = sums(event_of, None, len(names))
    weights = sums(event_of, columns.period, len(names))
    used = [event for event in range(len(names)) if counts[event]]
    units = [event.unit for event in profile.events]
    weighed = measures(names, [event for event in used if weights[event]], units)
    return weighed + [Measure(names[event], SAMPLES, (event,)) for event in used if not weights[event]]


def samples_differ(profile: Profile, events: Sequence[int]) -> bool:
    """Whether the number of samples measures nothing: they are of several events, they are sums, or their periods
    differ, as those of waits and page faults do and those of clocks, cycles and instructions do not."""
    if len(events) != 1:
        return len(events) > 1
    if profile.origin is not None and profile.origin.sums:
        return True
    if kind_of_event(profile.events[events[0]].name).base in _STEADY:
        return False
    columns = profile.samples.columns
    if len(profile.events) > 1:
        columns = columns.rows(rows_of_events(profile, events))
    if columns.count is not None:
        pairs = zip(columns.period, columns.count, strict=True)
        return len({period / count for period, count in pairs}) > 1
    return len(columns) > 0 and min(columns.period) != max(columns.period)
