"""What commands that write files did, as JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import known, wholeness

if TYPE_CHECKING:
    from undwarf.outputs.schemas.record import Record, RecordedFile
    from undwarf.outputs.schemas.written_files import Export, ExportEvent, Flamegraph, Shrink, View
    from undwarf.views.flame_graph import FlameGraph
    from undwarf.views.unwind_quality import UnwindQuality


class WrittenFile(NamedTuple):
    """The ``output`` that was made of a ``recording``, as given."""

    recording: str
    output: str


def size_of(path: str) -> int | None:
    """Bytes of a file, or of the files in a directory; None if it is neither."""
    target = Path(path)
    if target.is_dir():
        return sum(file.stat().st_size for file in target.iterdir() if file.is_file())
    return target.stat().st_size if target.is_file() else None


def write_export(
    written: WrittenFile,
    form: str,
    table: str | None,
    events: "Sequence[ExportEvent]",
    not_held: Sequence[str],
    sink: TextIO,
) -> None:
    """Write what was exported, and what the format cannot hold."""
    document: Export = {
        "schema": "undwarf/export",
        "version": 1,
        "recording": written.recording,
        "format": form,
        "table": table,
        "output": written.output,
        "size_bytes": size_of(written.output),
        "events": list(events),
        "not_held": list(not_held),
    }
    dump(document, sink)


def write_flamegraph(written: WrittenFile, graph: "FlameGraph", units: Sequence[str], sink: TextIO) -> None:
    """Write which page was made. ``units``: of its graphs, empty where they are not known."""
    document: Flamegraph = {
        "schema": "undwarf/flamegraph",
        "version": 1,
        "recording": written.recording,
        "output": written.output,
        "size_bytes": size_of(written.output),
        "graphs": [
            {"event": measure.name, "unit": known(unit)} for measure, unit in zip(graph.graphs, units, strict=True)
        ],
        "wholeness": wholeness(graph.quality),
    }
    dump(document, sink)


def write_view(
    written: WrittenFile, values: "Mapping[str, Any]", quality: "UnwindQuality", parts: Sequence[str], sink: TextIO
) -> None:
    """Write which page was made. ``values``: of its part ``profile``."""
    document: View = {
        "schema": "undwarf/view",
        "version": 1,
        "recording": written.recording,
        "output": written.output,
        "size_bytes": size_of(written.output),
        "parts": list(parts),
        "measures": [{"event": measure["name"], "unit": measure["unit"]} for measure in values["measures"]],
        "notes": list(values["notes"]),
        "wholeness": wholeness(quality),
    }
    dump(document, sink)


def write_shrink(written: WrittenFile, chains_cut: int, samples_left_out: int, sink: TextIO) -> None:
    """Write which recording was made."""
    document: Shrink = {
        "schema": "undwarf/shrink",
        "version": 1,
        "recording": written.recording,
        "recording_bytes": size_of(written.recording) if written.recording != "-" else None,
        "output": written.output,
        "size_bytes": size_of(written.output),
        "chains_cut": chains_cut,
        "samples_left_out": samples_left_out,
    }
    dump(document, sink)


class Counts(NamedTuple):
    """The counts of a recording, with the names and meanings of undwarf.live.sampling.settings.Summary, and of its
    settings ``waits``, whether waits are recorded."""

    samples: int
    waits: int | None
    lost: int
    throttled: int
    dropped: int
    shortened: int
    completed: int
    inferred: int
    unproven: int
    forgotten: int
    broken_rings: int
    ring: int
    dump: int
    full: bool
    notes: Sequence[str]
    status: int


def write_record(files: "Sequence[RecordedFile]", previous: str | None, counts: Counts, sink: TextIO) -> None:
    """Write what was recorded. ``previous``: what the recording that was there before is called now."""
    document: Record = {
        "schema": "undwarf/record",
        "version": 1,
        "files": list(files),
        "previous": previous,
        "samples": counts.samples,
        "waits": counts.waits,
        "lost": counts.lost,
        "throttled": counts.throttled,
        "dropped": counts.dropped,
        "chains_cut": counts.shortened,
        "completed": counts.completed,
        "inferred": counts.inferred,
        "unproven": counts.unproven,
        "waits_not_counted": counts.forgotten,
        "broken_buffers": counts.broken_rings,
        "buffer_bytes": counts.ring,
        "stack_dump_bytes": counts.dump or None,
        "reached_max_size": counts.full,
        "notes": list(counts.notes),
        "exit_code": counts.status,
    }
    dump(document, sink)
