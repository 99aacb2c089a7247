"""The numbers of a report: for each event, or group of events, a flat profile and a call tree."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from undwarf.profile.model import Profile
from undwarf.views.call_tree import CallTree, call_tree, callers
from undwarf.views.data.access_labels import SampleLabels
from undwarf.views.flat_profile import FlatProfile, flat_profile
from undwarf.views.sample_selection import Events, Weight, sections
from undwarf.views.unwind_quality import UnwindQuality, unwind_quality

__all__ = ["EventReport", "Graph", "Report", "compute_report", "in_groups"]

Graph = Literal["none", "caller", "callee"]
"""Call trees: none, from the outermost callers down, or the callers of hot functions."""


class EventReport(NamedTuple):
    """What is reported of one event, or of several whose weights can be added; ``tree`` is None without a graph."""

    name: str
    event: Events
    flat: FlatProfile
    tree: CallTree | None


class Report(NamedTuple):
    """All of a report.

    ``groups`` has the events in the order in which they are shown, those of a group that was recorded together in one
    list; ``group_names`` has the names of all events of these groups, also of those without samples.
    """

    quality: UnwindQuality
    events: list[EventReport]
    groups: list[list[EventReport]]
    group_names: list[list[str]]


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

    ``labels`` has the keys of memory accesses and data types; without ``children`` weights are own weights; trees have
    no nodes below ``min_share`` (0 to 1); ``groups`` are indices of events that were recorded together; ``dump`` is the
    largest stack dump that was asked for, in bytes, for advice.
    """
    events = []
    for event, name in sections(profile, keys):
        flat = flat_profile(profile, keys, weight, event=event, children=children, labels=labels)
        tree = None
        if graph != "none":
            build = call_tree if graph == "caller" else callers
            tree = build(profile, weight=weight, event=event, min_share=min_share)
        events.append(EventReport(name, event, flat, tree))
    names = [[profile.events[event].name for event in group] for group in groups]
    return Report(unwind_quality(profile, dump), events, in_groups(events, groups), names)


def in_groups(events: Sequence[EventReport], groups: Sequence[Sequence[int]]) -> list[list[EventReport]]:
    """Events that belong together, each list at the position of its first event."""
    made: list[list[EventReport]] = []
    of_group: dict[int, list[EventReport]] = {}
    for one in events:
        event = one.event
        group = next((k for k, members in enumerate(groups) if isinstance(event, int) and event in members), None)
        if group is None:
            made.append([one])
        elif group in of_group:
            of_group[group].append(one)
        else:
            made.append(of_group.setdefault(group, [one]))
    return made
