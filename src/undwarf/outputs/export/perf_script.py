"""Every sample as text in the format of `perf script`, for tools that read that."""

from typing import TYPE_CHECKING, BinaryIO

from undwarf.outputs import script

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the samples in the order of time, with the default fields of their events."""
    profile = tables.profile
    # The fields of tracepoints are formatted from the recording, which is not here.
    fields = [script.fields_of_event(event, None)[0] - {"trace", "bpf-output"} for event in origin.attributes]
    chains = [script.has_chain(event) for event in origin.attributes]
    unknown = len(profile.events) - len(fields)
    fields += [script.DEFAULT] * unknown
    chains += [True] * unknown
    script.write(profile, sink, script.ScriptOptions(fields, chains, dumped=not profile.stitched))
    lost = ["source lines"]
    kinds = [event.type for event in origin.attributes] + [-1] * unknown
    traced = sum(event.samples for event in tables.events if kinds[event.number] == script.TRACEPOINT)
    if traced:
        lost.append(f"the fields of {traced:,} samples of tracepoints (undwarf script has them)")
    return lost
