"""The numbers of a report: for each event, or group of events, a flat profile and a call tree."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from undwarf.profile.model import Origin, Profile
from undwarf.views.call_tree import KEYS, CallTree, call_tree, callers
from undwarf.views.data.access_labels import SampleLabels
from undwarf.views.event_units import SAMPLES, measures_of
from undwarf.views.flat_profile import FRAME_KEYS, FlatProfile, Row, entity_tree, flat_profile
from undwarf.views.sample_selection import Events, Weight, sections
from undwarf.views.unwind_quality import UnwindQuality, unwind_quality

Graph = Literal["none", "caller", "callee"]
"""Call trees: none, from the outermost callers down, or the callers of hot functions."""


class EventReport(NamedTuple):
    """The report of one event, or of several whose weights can be added; ``tree`` is None without a graph, ``unit`` is
    that of weights, empty if it is not known."""

    name: str
    event: Events
    flat: FlatProfile
    tree: CallTree | None
    unit: str = ""


class GroupRow(NamedTuple):
    """A row of a group of events: the row of each event, None for an event that has none."""

    key: tuple[str, ...]
    kernel: bool
    of_event: list[Row | None]


class EventGroup(NamedTuple):
    """Events that are shown side by side in one table; its rows by falling weight in the first event, then the next."""

    events: list[EventReport]
    rows: list[GroupRow]


class Report(NamedTuple):
    """A report: its events, and the same events in the groups in which they were recorded, in the order shown.

    ``group_names`` has the names of all events of recorded groups, also of those without samples.
    """

    quality: UnwindQuality
    events: list[EventReport]
    groups: list[EventGroup]
    group_names: list[list[str]]
    origin: Origin | None = None
    """What a profile of another tool was read from."""


def compute_report(
    profile: Profile,
    keys: tuple[str, ...],
    weight: Weight = "period",
    *,
    labels: SampleLabels | None = None,
    children: bool = True,
    graph: Graph = "caller",
    min_share: float = 0.05,
    groups: Sequence[Sequence[int]] = (),
    dump: int = 8192,
) -> Report:
    """The report for these sort keys.

    ``labels`` has the keys of memory accesses and data types; without ``children`` weights are self weights, and rows
    without any are left out of groups; trees have no nodes below ``min_share`` (0 to 1); ``groups`` are indices of
    events that were recorded together; ``dump`` is the largest stack dump that was requested, in bytes, for advice.
    """
    events = []
    merged = entity_tree(profile, keys if set(keys).intersection(FRAME_KEYS) else KEYS)
    # Tables by function and file have the same entities as trees.
    merged_tree = merged if set(merged.keys) == set(KEYS) or graph == "none" else entity_tree(profile, KEYS)
    for event, name in sections(profile, keys):
        flat = flat_profile(profile, keys, weight, event=event, children=children, labels=labels, tree=merged)
        tree = None
        if graph != "none":
            build = call_tree if graph == "caller" else callers
            tree = build(profile, weight=weight, event=event, min_share=min_share, tree=merged_tree)
        events.append(EventReport(name, event, flat, tree, unit_of_weights(profile, event)))
    names = [[profile.events[event].name for event in group] for group in groups]
    return Report(unwind_quality(profile, dump), events, _in_groups(events, groups, children), names, profile.origin)


def unit_of_weights(profile: Profile, event: Events) -> str:
    """The unit of the periods of events; empty if it is not known."""
    numbers = [event] if isinstance(event, int) else list(event or ())
    for measure in measures_of(profile):
        if not numbers or numbers[0] in measure.events:
            # The name of an event in a profile of another tool need not be perf's.
            guessed = profile.origin is not None and not profile.events[measure.events[0]].unit
            return "" if guessed and measure.unit != SAMPLES else measure.unit
    return ""


def _in_groups(events: Sequence[EventReport], groups: Sequence[Sequence[int]], children: bool) -> list[EventGroup]:
    """The groups of events, each at the position of its first event; events without a group are one of their own."""
    lists: list[list[EventReport]] = []
    of_group: dict[int, list[EventReport]] = {}
    for report in events:
        event = report.event
        group = next((k for k, members in enumerate(groups) if isinstance(event, int) and event in members), None)
        if group is None:
            lists.append([report])
        elif group in of_group:
            of_group[group].append(report)
        else:
            lists.append(of_group.setdefault(group, [report]))
    return [EventGroup(members, _side_by_side([one.flat for one in members], children)) for members in lists]


def _side_by_side(flats: Sequence[FlatProfile], children: bool) -> list[GroupRow]:
    """The rows of flat profiles with the same keys, joined by key."""
    if len(flats) == 1 and children:
        return [GroupRow(row.key, row.kernel, [row]) for row in flats[0].rows]
    of_key: dict[tuple[tuple[str, ...], bool], list[Row | None]] = {}
    for number, flat in enumerate(flats):
        for row in flat.rows:
            if children or row.self_weight:
                of_key.setdefault((row.key, row.kernel), [None] * len(flats))[number] = row
    rows = [GroupRow(key, kernel, of_event) for (key, kernel), of_event in of_key.items()]

    def order(row: GroupRow) -> tuple[list[int], list[int], tuple[str, ...], bool]:
        total = [-one.children_weight if one is not None and children else 0 for one in row.of_event]
        return total, [-one.self_weight if one is not None else 0 for one in row.of_event], row.key, row.kernel

    rows.sort(key=order)
    return rows
