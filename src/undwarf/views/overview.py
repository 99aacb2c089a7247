"""A summary of a recording as plain values: header, events, processes, losses, unwind quality, missing files."""

from typing import Any, Protocol

from undwarf.perfdata import EventAttr, PerfData, Records
from undwarf.perfdata.features import Features
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.grouping import Pairs, sums, widen
from undwarf.profile.model import NONE, Profile
from undwarf.views.sample_selection import samples_by_event, signed
from undwarf.views.unread_samples import notes
from undwarf.views.unwind_quality import missing, unwind_quality

HEADER = ("hostname", "osrelease", "version", "arch", "nrcpus", "cpudesc", "cmdline")


class Recording(Protocol):
    """The parts of an opened recording that are summarized."""

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
    @property
    def header(self) -> Features: ...


def overview(recording: Recording, profile: Profile) -> dict[str, Any]:
    """What `undwarf info` shows, by name; times in ns of the recording's clock, None without any."""
    records = recording.records
    quality = unwind_quality(profile, recording.stack_dump)
    times = profile.samples.columns.time
    ends = [time for time in (min(times, default=0), max(times, default=0)) if time]
    header = recording.header
    return {
        "file": recording.path,
        "form": recording.data.form,
        "byte_order": recording.data.byte_order,
        "header": {name: getattr(header, name, None) for name in HEADER},
        "first_sample": ends[0] if ends else None,
        "last_sample": ends[-1] if ends else None,
        "samples": len(profile.samples),
        "events": [
            _event(event, count) for event, count in zip(recording.events, samples_by_event(profile), strict=True)
        ],
        "notes": notes(recording),
        "records": dict(records.counts),
        "lost": records.lost,
        "deferred_not_merged": profile.deferred,
        "deferred": dict(profile.later),
        "precise": dict(profile.precise),
        "processes": _processes(profile, _process_names(recording)),
        "wholeness": quality,
        "missing": missing(profile),
        "defects": sorted(recording.data.defects, key=lambda defect: -defect.count),
    }


def _event(event: EventAttr, samples: int) -> dict[str, Any]:
    rate = "frequency" if event.freq else "period"
    return {"name": event.name, "samples": samples, rate: event.sample_period, "stack_dump": event.sample_stack_user}


def _process_names(recording: Recording) -> dict[int, str]:
    """By process id, the last recorded name of its main thread."""
    records = recording.records
    side = records.sideband
    rows = zip(side.kind, side.pid, side.tid, side.name, strict=True)
    return {
        pid: records.names[name].decode("utf-8", "replace")
        for kind, pid, tid, name in rows
        if kind == SidebandKind.COMM and pid == tid
    }


def _processes(profile: Profile, recorded: dict[int, str]) -> list[dict[str, Any]]:
    """Processes by falling number of samples, each with the name of most samples of its main thread, else its recorded
    name, else the name of most of its samples."""
    samples = profile.samples.columns
    pairs = Pairs()
    counts = sums(pairs.column(widen(samples.pid), samples.comm), None, len(pairs))
    total: dict[int, int] = {}
    common: dict[int, tuple[int, int]] = {}
    for bits, comm, count in zip(pairs.high(), pairs.low(), counts, strict=True):
        pid = signed(bits)
        total[pid] = total.get(pid, 0) + count
        if count > common.get(pid, (0, NONE))[0]:
            common[pid] = (count, comm)
    pairs = Pairs()
    counts = sums(pairs.column(widen(samples.tid), samples.comm), None, len(pairs))
    of_main: dict[int, tuple[int, int]] = {}
    for bits, comm, count in zip(pairs.high(), pairs.low(), counts, strict=True):
        if comm != NONE and count > of_main.get(signed(bits), (0, NONE))[0]:
            of_main[signed(bits)] = (count, comm)

    def name_of(pid: int) -> str | None:
        if pid in of_main:
            return profile.comms[of_main[pid][1]]
        comm = common[pid][1]
        return recorded.get(pid, profile.comms[comm] if comm != NONE else None)

    return [
        {"pid": pid, "comm": name_of(pid), "samples": count}
        for pid, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
    ]
