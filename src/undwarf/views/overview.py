"""What a recording holds, as plain values: header, events, processes, losses, wholeness, files that are missing."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from undwarf.diagnostics import Defect
from undwarf.perfdata import EventAttr, PerfData, Records
from undwarf.profile.model import NONE, Profile
from undwarf.views.grouping import Pairs, sums, widen
from undwarf.views.selection import samples_by_event
from undwarf.views.wholeness import missing, wholeness

HEADER = ("hostname", "osrelease", "version", "arch", "nrcpus", "cpudesc", "cmdline")


class Recording(Protocol):
    """What is asked of an opened recording."""

    @property
    def path(self) -> str: ...
    @property
    def data(self) -> PerfData: ...
    @property
    def events(self) -> list[EventAttr]: ...
    @property
    def records(self) -> Records: ...
    @property
    def stack_dump(self) -> int: ...


def overview(recording: Recording, profile: Profile) -> dict[str, Any]:
    """Everything `undwarf info` shows, fit for JSON."""
    records = recording.records
    whole = wholeness(profile, recording.stack_dump)
    times = profile.samples.columns.time
    known = [time for time in (min(times, default=0), max(times, default=0)) if time]
    header = recording.data.features
    return {
        "file": recording.path,
        "form": recording.data.form,
        "byte_order": recording.data.byte_order,
        "header": {name: getattr(header, name, None) for name in HEADER},
        "first_sample_s": known[0] / 1e9 if known else None,
        "last_sample_s": known[-1] / 1e9 if known else None,
        "duration_s": (known[-1] - known[0]) / 1e9 if known else 0.0,
        "samples": len(profile.samples),
        "events": [
            _event(event, count) for event, count in zip(recording.events, samples_by_event(profile), strict=True)
        ],
        "records": dict(records.counts),
        "lost": records.lost,
        "deferred_not_merged": profile.deferred,
        "deferred": dict(profile.later),
        "processes": _processes(profile),
        "wholeness": {**asdict(whole), "share": whole.share},
        "missing": [asdict(one) for one in missing(profile)],
        "defects": _defects(list(recording.data.defects)),
    }


def _event(event: EventAttr, samples: int) -> dict[str, Any]:
    rate = "frequency" if event.freq else "period"
    return {"name": event.name, "samples": samples, rate: event.sample_period, "stack_dump": event.sample_stack_user}


def _processes(profile: Profile) -> list[dict[str, Any]]:
    """Processes by falling number of samples, each with the name that most of its samples have."""
    samples = profile.samples.columns
    pairs = Pairs()
    counts = sums(pairs.column(widen(samples.pid), samples.comm), None, len(pairs))
    total: dict[int, int] = {}
    name: dict[int, tuple[int, int]] = {}
    for bits, comm, count in zip(pairs.high(), pairs.low(), counts, strict=True):
        pid = bits - (1 << 32) if bits >> 31 else bits
        total[pid] = total.get(pid, 0) + count
        if count > name.get(pid, (0, NONE))[0]:
            name[pid] = (count, comm)
    return [
        {"pid": pid, "comm": profile.comms[name[pid][1]] if name[pid][1] != NONE else None, "samples": count}
        for pid, count in sorted(total.items(), key=lambda one: (-one[1], one[0]))
    ]


def _defects(defects: Sequence[Defect]) -> list[dict[str, Any]]:
    return [asdict(defect) for defect in sorted(defects, key=lambda one: -one.count)]
