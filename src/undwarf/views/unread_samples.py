"""What a recording has that is not read or cannot be relied on, event by event, and what to record instead."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from undwarf.perfdata import EventAttr, Records
from undwarf.perfdata.features import Features
from undwarf.perfdata.register_lateness import unmarked_is_late
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.unwind.arch import X86_64, machine_of

__all__ = ["Note", "notes"]

_TRACES = {
    "arm_spe": "Arm's SPE",
    "intel_pt": "Intel PT",
    "intel_bts": "Intel BTS",
    "cs_etm": "CoreSight",
    "hisi_ptt": "HiSilicon PTT",
}
"""PMUs that write to the AUX area, by the start of their name in sysfs."""
_SAMPLING_TRACES = ("arm_spe",)
"""Those whose trace is of samples; the others write all branches."""
_TRACE_RECORDS = ("AUXTRACE", "AUX")


class Note(NamedTuple):
    """``kind``: "trace" (an event writes to the AUX area, which is not read), "aux_output" (its samples are in another
    event's trace), or "late" (registers later than the address, and no mark). ``event`` is empty if it is not known
    which one it is. ``bytes``: of the trace, of all events."""

    kind: str
    event: str
    text: str
    advice: str
    bytes: int = 0


class Recording(Protocol):
    """The parts of an opened recording that are looked at."""

    @property
    def events(self) -> list[EventAttr]: ...
    @property
    def records(self) -> Records: ...
    @property
    def header(self) -> Features: ...


def notes(recording: Recording) -> list[Note]:
    """The notes on a recording's events, in their order.

    Sources: tools/perf/Documentation/perf-arm-spe.txt and perf-intel-pt.txt (PEBS via Intel PT).
    """
    events, header = recording.events, recording.header
    traced = _traced(recording.records)
    has_trace = any(kind in recording.records.counts for kind in _TRACE_RECORDS)
    found = []
    for event in events:
        pmu = _pmu(event, header)
        name = next((title for start, title in _TRACES.items() if pmu.startswith(start)), "")
        if name and has_trace:
            found.append(_of_trace(event, name, traced, samples=pmu.startswith(_SAMPLING_TRACES)))
        elif event.aux_output:
            found.append(
                Note(
                    "aux_output",
                    event.name,
                    "its samples (PEBS via PT) are in the trace of the group's leader, which is not read",
                    "record without aux-output; or perf inject --itrace=oe makes records of them",
                    traced,
                )
            )
        elif (
            event.sample_regs_user
            and machine_of(header.arch) is X86_64
            and unmarked_is_late(event, header.cpuid, header.osrelease)
        ):
            found.append(
                Note(
                    "late",
                    event.name,
                    "registers and stack may be later than the address, and no mark says so: callers may be false",
                    f"record {_without_precision(event.name)}, or with :pp or :P: those are marked, and corrected",
                )
            )
    if has_trace and not any(note.kind != "late" for note in found):
        text, advice = "a trace in the AUX area, which is not read", "perf report or perf script with --itrace reads it"
        found.append(Note("trace", "", text, advice, traced))
    return found


def _of_trace(event: EventAttr, name: str, traced: int, *, samples: bool) -> Note:
    """The note on an event of a PMU that traces."""
    if samples:
        return Note(
            "trace",
            event.name,
            f"{name} writes its samples to the AUX area, which is not read; they have no stack",
            "perf inject --itrace makes records of them; for stacks: perf record -e cycles --call-graph dwarf",
            traced,
        )
    return Note(
        "trace",
        event.name,
        f"{name} writes branches to the AUX area, which is not read",
        "perf inject --itrace=i100usg makes samples of them",
        traced,
    )


def _traced(records: Records) -> int:
    """Bytes that AUX records announce."""
    side: Sequence[int] = records.sideband.kind
    sizes = records.sideband.second
    return sum(sizes[row] for row, kind in enumerate(side) if kind == SidebandKind.AUX)


def _pmu(event: EventAttr, header: Features) -> str:
    """The name of an event's PMU."""
    return header.pmu_mappings.get(event.type) or event.name.partition("/")[0]


def _without_precision(name: str) -> str:
    """An event's name without the modifier p."""
    base, colon, modifiers = name.rpartition(":")
    if not colon or "/" in modifiers:
        return name
    kept = modifiers.replace("p", "").replace("P", "")
    return f"{base}:{kept}" if kept else base
