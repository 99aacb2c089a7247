"""The part of a page that all its views need: stacks, frames, functions, and the samples as rows in order of time."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from undwarf.profile.grouping import look_up, widen
from undwarf.profile.model import Column, Profile
from undwarf.views.event_units import SAMPLES, Measure, measures_of
from undwarf.views.kernels.page_columns import narrowed
from undwarf.views.kernels.weights import ones_of_events
from undwarf.views.page.gaps import gaps_of
from undwarf.views.page.names import CUT, Images, frames_of, threads_of
from undwarf.views.page.part import Part
from undwarf.views.page.row_times import row_times
from undwarf.views.page.rows import combined, merged, parts_of
from undwarf.views.page.side_band import Recording, marks_of, runs_of
from undwarf.views.page.stack_nodes import stack_nodes
from undwarf.views.report import unit_of_weights
from undwarf.views.unwind_quality import UnwindQuality, unwind_quality

VERSION = 1


class Bounds(NamedTuple):
    """The most ``rows`` and stack ``nodes`` of a page. Compressed, a row has 3 to 4 bytes and a node 1 to 2."""

    rows: int = 400_000
    nodes: int = 800_000


@dataclass(slots=True)
class PageProfile:
    """The part, and what its numbers are in the ``profile``.

    ``functions`` has the profile's functions of each function of the page, ``files`` the number of each source file by
    its name, ``samples`` (I) a sample of each row, ``rows`` (I) the row
    of each sample. ``quality``: how many stacks are whole.
    """

    part: Part
    profile: Profile
    functions: list[list[int]]
    files: dict[str, int]
    samples: memoryview
    rows: memoryview
    measures: list[Measure]
    quality: UnwindQuality


def page_measures(profile: Profile) -> list[Measure]:
    """The events that can be drawn together, and each of these alone; the default first."""
    found: list[Measure] = []
    for measure in measures_of(profile):
        found.append(measure)
        if len(measure.events) > 1:
            found += [Measure(profile.events[event].name, measure.unit, (event,)) for event in measure.events]
    return found


def profile_part(
    profile: Profile,
    title: str,
    recording: dict[str, str | None],
    *,
    served: bool = False,
    dump: int = 8192,
    bounds: Bounds | None = None,
    source: Recording | None = None,
    apart: memoryview | None = None,
) -> PageProfile:
    """The part of a profile whose samples are in order of time, if they have times.

    ``recording``: what the page says of it. ``dump``: the largest recorded stack dump, in bytes, for advice.
    ``source``: the recording, of which lost records and context switches are shown. ``apart`` (I): samples for which it
    differs are not in one row.
    """
    bounds = bounds or Bounds()
    samples = profile.samples.columns
    measures = page_measures(profile)
    weights = _weights(profile, measures)
    nodes = stack_nodes(profile, weights, measures, bounds.nodes)
    images = Images(profile)
    frames = frames_of(profile, nodes.frame, images)
    threads = threads_of(profile)
    times = row_times(profile)
    runs = runs_of(source, threads, times) if source is not None else None
    quality = unwind_quality(profile, dump)
    gap, gaps = gaps_of(profile, quality, images)
    event = widen(samples.event)
    node = look_up(samples.stack, nodes.node_of)
    groups = (apart,) if apart is not None else ()
    key, steps = combined((threads.column, widen(samples.cpu), event, gap, node, *groups))
    rows = merged(key, times.column, weights, bounds.rows, samples.count)
    thread, cpu, event, gap, node = parts_of(rows.key, steps)[:5]
    unit = times.unit or 0
    values: dict[str, Any] = {
        "version": VERSION,
        "title": title,
        "recording": recording,
        "served": served,
        "time_unit_ns": times.unit,
        "time_start_ns": times.start,
        "time_end_ns": times.end,
        "merged_time_ns": rows.span * unit,
        "events": [
            {"name": one.name, "unit": unit_of_weights(profile, number) or None}
            for number, one in enumerate(profile.events)
        ],
        "measures": [
            {"name": one.name, "unit": unit_of_weights(profile, one.events) or None, "events": list(one.events)}
            for one in measures
        ],
        "images": images.rows,
        "functions": frames.functions,
        "files": frames.files,
        "processes": threads.processes,
        "threads": threads.threads,
        "gaps": gaps,
        "marks": marks_of(source.records, times) if source is not None else [],
        "switches": {"spans": len(runs.columns["run_start"])} if runs is not None else None,
        "origin": _origin(profile),
        "notes": [],
    }
    notes: list[str] = values["notes"]
    if rows.span and unit:
        notes.append(
            f"{samples.total:,} samples are {len(rows.key):,} rows: equal ones within {rows.span * unit / 1e6:,.6g} ms "
            "are one"
        )
    elif len(rows.key) < len(samples):
        notes.append(f"{samples.total:,} samples are {len(rows.key):,} rows: equal ones are one")
    if nodes.cut:
        notes.append(
            f"{nodes.cut:,} stack nodes with less than {100 * nodes.least:.3g} % of the weight each are not shown one "
            f"by one, but as {CUT}"
        )
    if runs is not None and runs.left_out:
        notes.append(f"{runs.left_out:,} of the shortest spans in which threads ran are left out")
    columns = {
        "node_parent": nodes.parent,
        "node_frame": look_up(nodes.frame, frames.number),
        **frames.columns,
        "row_time": rows.time,
        "row_thread": thread,
        "row_cpu": narrowed(cpu, "H"),
        "row_event": _smallest(event, len(profile.events)),
        "row_node": node,
        "row_gap": narrowed(gap, "H"),
        "row_count": rows.counts,
        "row_weight": rows.weight,
        **(runs.columns if runs is not None else {}),
    }
    return PageProfile(
        Part("profile", values, columns),
        profile,
        frames.functions_of,
        {name: number for number, name in enumerate(frames.files)},
        rows.sample,
        rows.row,
        measures,
        quality,
    )


def _weights(profile: Profile, measures: Sequence[Measure]) -> Column:
    """The periods of the samples; 1 for those of events that have none, whose samples are counted."""
    columns = profile.samples.columns
    counted = bytearray(max(len(profile.events), 1))
    for measure in measures:
        for event in measure.events:
            counted[event] = measure.unit == SAMPLES
    if not any(counted):
        return columns.period
    if columns.count is not None:
        entries = zip(columns.period, columns.count, columns.event, strict=True)
        return memoryview(array("Q", (count if counted[event] else period for period, count, event in entries)))
    weights: Column = ones_of_events(columns.period, columns.event, memoryview(counted))
    return weights


def _smallest(column: memoryview, count: int) -> memoryview:
    """The column with the narrowest type that holds ``count`` numbers."""
    return narrowed(column, "B") if count <= 255 else narrowed(column, "H")


def _origin(profile: Profile) -> dict[str, Any] | None:
    """What a profile of another tool is."""
    origin = profile.origin
    return {"format": origin.format, "sums": origin.sums} if origin is not None else None
