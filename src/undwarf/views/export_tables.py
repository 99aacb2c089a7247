"""What export formats share: the samples of the exported events with their weights, their threads, and locations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from undwarf.column import zeros
from undwarf.profile import labels
from undwarf.profile.grouping import Pairs, look_up, sums, widen, without_none
from undwarf.profile.model import NONE, Column, Profile
from undwarf.views.event_units import SAMPLES, measures_of, rows_of_events, unit_of_event
from undwarf.views.kernels.stack_tree import collapse
from undwarf.views.kernels.weights import ones_of_events
from undwarf.views.sample_selection import signed

if TYPE_CHECKING:
    from undwarf.views.export_calls import CallCosts
    from undwarf.views.folded_stacks import FoldedStacks


class ExportEvent(NamedTuple):
    """An event with samples: its index in the profile, the unit of its weights (``ns``, ``cycles``, ``samples`` ...),
    the number of its samples and the sum of their weights."""

    number: int
    name: str
    unit: str
    samples: int
    total: int


class ExportThread(NamedTuple):
    """A thread under one of its names, ``[unknown]`` if that is not known; ``pid`` and ``tid`` are -1 outside of the
    recorder's namespace, and if a profile of another tool does not have them."""

    pid: int
    tid: int
    name: str

    @property
    def known(self) -> dict[str, str | int]:
        """``name``, ``pid`` and ``tid``, as far as they are known."""
        known: dict[str, str | int] = {} if self.name == labels.UNKNOWN else {"name": self.name}
        return known | {key: value for key, value in (("pid", self.pid), ("tid", self.tid)) if value >= 0}


class ExportFunction(NamedTuple):
    """A function as reports count it: its name and the index of its image (NONE: unknown). A function that is inlined
    in several places of a file is one."""

    name: str
    image: int


class FunctionTree(NamedTuple):
    """Stacks merged by function (I): ``node_of`` gives the new node of each of the profile's nodes, ``parent`` and
    ``function`` describe new nodes, parents first."""

    node_of: Column
    parent: Column
    function: Column


@dataclass(frozen=True)
class ExportTables:
    """The exported samples: ``profile`` has no others.

    ``main`` are the events of the first measure, by index: their weights can be added. ``weights`` (Q) are periods, or
    1 each for an event whose periods are all 0, as in reports. ``thread`` (I) has an index of ``threads`` for each
    sample, ``function`` (I) one of ``functions`` for each frame. ``location`` (I) has an entry per frame: the index of
    the location that it begins, or NONE. A location is an address with all functions inlined there: its first frame,
    innermost, and those that follow without a location of their own.
    """

    profile: Profile
    events: list[ExportEvent]
    main: tuple[int, ...]
    weights: Column
    threads: list[ExportThread]
    thread: Column
    functions: list[ExportFunction]
    function: Column
    location: Column

    @cached_property
    def by_function(self) -> FunctionTree:
        """The stacks by function."""
        profile = self.profile
        return FunctionTree(*collapse(profile.stacks.parent, profile.stacks.frame, self.function))

    @cached_property
    def folded(self) -> "FoldedStacks":
        """Folded stacks with their weights."""
        from undwarf.views.folded_stacks import fold

        origin = self.profile.origin
        counted = self.events and self.events[0].unit == SAMPLES and (origin is None or not origin.sums)
        weight: Literal["samples", "period"] = "samples" if counted else "period"
        return fold(self.profile, weight, root="comm" if origin is None or "comm" in origin.fields else "none")

    @cached_property
    def process_names(self) -> dict[int, str]:
        """By process id: the last name of its main thread, or else of one of its threads; none without an id."""
        names = {thread.pid: thread.name for thread in self.threads}
        names |= {thread.pid: thread.name for thread in self.threads if thread.pid == thread.tid}
        return {pid: name if pid >= 0 else labels.UNKNOWN for pid, name in names.items()}

    def call_costs(self, place: Column, function: Column) -> "CallCosts":
        """The costs of places and calls; see :func:`undwarf.views.export_calls.call_costs`."""
        from undwarf.views.export_calls import call_costs

        return call_costs(self, place, function)

    def rows(self, event: ExportEvent) -> Column:
        """The samples of an event, by number (I)."""
        return rows_of_events(self.profile, [event.number])


def export_tables(profile: Profile, events: Sequence[int] | None = None) -> ExportTables:
    """The samples of some events, by index, or of all."""
    if events is not None and len(profile.events) > 1:
        profile = profile.derived(samples=profile.samples.columns.rows(rows_of_events(profile, events)))
    columns = profile.samples.columns
    event_of = widen(columns.event)
    counts = sums(event_of, None, len(profile.events))
    totals = sums(event_of, columns.period, len(profile.events))
    unweighed = zeros("B", len(profile.events))
    used = []
    for number, event in enumerate(profile.events):
        if counts[number]:
            unweighed[number] = not totals[number]
            unit = (event.unit or unit_of_event(event.name)) if totals[number] else SAMPLES
            total = totals[number] or counts[number]
            used.append(ExportEvent(number, event.name, unit, counts[number], total))
    weights = ones_of_events(columns.period, columns.event, unweighed) if any(unweighed) else columns.period
    threads, thread = _threads(profile)
    measures = measures_of(profile)
    main = measures[0].events if measures else ()
    functions, function = _functions(profile)
    location = _locations(profile.frames.inline_depth)
    return ExportTables(profile, used, main, weights, threads, thread, functions, function, location)


def _threads(profile: Profile) -> tuple[list[ExportThread], Column]:
    """(threads in order of first appearance, the thread of each sample (I))."""
    columns = profile.samples.columns
    names = [*profile.comms, labels.UNKNOWN]
    by_pid, by_tid = Pairs(), Pairs()
    process = by_pid.column(without_none(columns.comm, len(profile.comms)), widen(columns.pid))
    thread = by_tid.column(process, widen(columns.tid))
    comms, pids = by_pid.high(), by_pid.low()
    threads = [
        ExportThread(signed(pids[pair]), signed(tid), names[comms[pair]])
        for pair, tid in zip(by_tid.high(), by_tid.low(), strict=True)
    ]
    return threads, memoryview(thread)


def _functions(profile: Profile) -> tuple[list[ExportFunction], Column]:
    """(functions by name and image, the function of each frame (I))."""
    numbers: dict[ExportFunction, int] = {}
    table = zeros("I", len(profile.functions))
    for number, entry in enumerate(zip(profile.functions.name, profile.functions.image, strict=True)):
        table[number] = numbers.setdefault(ExportFunction(*entry), len(numbers))
    return list(numbers), look_up(profile.frames.function, table)


def _locations(depths: Column) -> Column:
    """The location that each frame begins: frames of an address are adjacent, innermost first, with falling depth."""
    location = zeros("I", len(depths))
    count = above = 0
    for frame, depth in enumerate(depths):
        if above:
            location[frame] = NONE
        else:
            location[frame] = count
            count += 1
        above = depth
    return location
