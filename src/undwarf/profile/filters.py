"""Filters that select the samples of a profile."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.profile.model import NONE, EventInfo, SampleColumns

if TYPE_CHECKING:
    from undwarf.perfdata import EventAttr
    from undwarf.perfdata.records import Samples


class Filters(NamedTuple):
    """A sample must pass all of these; an empty collection or None passes every sample.

    ``start`` and ``end`` are ns of the recording's clock, both inclusive; ``spans`` are such pairs, of which one must
    contain the sample. The names may have shell wildcards: ``comms``, ``events``, ``symbols`` and ``dsos`` (function
    and file of the innermost frame), ``callers`` (functions of which one must be on the stack).
    """

    start: int | None = None
    end: int | None = None
    pids: Collection[int] = ()
    tids: Collection[int] = ()
    cpus: Collection[int] = ()
    comms: Collection[str] = ()
    events: Collection[str] = ()
    spans: Collection[tuple[int, int]] = ()
    symbols: Collection[str] = ()
    dsos: Collection[str] = ()
    callers: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(
            self.start is not None
            or self.end is not None
            or self.spans
            or self.pids
            or self.tids
            or self.cpus
            or self.comms
            or self.events
            or self.of_frames
        )

    @property
    def of_frames(self) -> bool:
        """Whether the filters need unwound stacks."""
        return bool(self.symbols or self.dsos or self.callers)


def near(wanted: Collection[str], names: Sequence[str]) -> list[str]:
    """The names, sorted by similarity to the most similar one of ``wanted``."""
    # Imported here: only error messages need it.
    import difflib

    known = list(dict.fromkeys(names))
    lower = {name: name.lower() for name in known}
    texts = [text.strip("*?").lower() for text in wanted]

    def distance(name: str) -> float:
        if any(text and text in lower[name] for text in texts):
            return 0.0
        # People type a function's name without its parameters.
        forms = {lower[name], lower[name].partition("(")[0]}
        return 1 - max(
            (difflib.SequenceMatcher(None, text, form).ratio() for text in texts for form in forms), default=0
        )

    distances = {name: distance(name) for name in known}
    # Names that are not similar keep their order.
    return sorted(known, key=lambda name: min(distances[name], 0.4))


def select(
    filters: Filters | None,
    samples: "Samples | SampleColumns",
    by_time: memoryview | None,
    events: "Sequence[EventAttr] | Sequence[EventInfo]",
    comms: Sequence[str],
    comm_of: memoryview,
) -> tuple[memoryview, memoryview | None]:
    """(1 (B) for each sample to walk, the samples of the profile in order or None: all as recorded). ``by_time``: the
    order of all samples, None as recorded; ``comm_of`` has the number of each sample's name in ``comms``."""
    count = len(samples.time)
    if not filters:
        return memoryview(b"\1" * count), by_time
    chosen = memoryview(bytearray(b"\1" * count))

    def keep(column: memoryview, wanted: Collection[int]) -> None:
        numbers = frozenset(wanted)
        for i, value in enumerate(column):
            if value not in numbers:
                chosen[i] = 0

    if filters.pids:
        keep(samples.pid, filters.pids)
    if filters.tids:
        keep(samples.tid, filters.tids)
    if filters.cpus:
        keep(samples.cpu, filters.cpus)
    if filters.comms:
        wanted = [
            i
            for i, comm in enumerate(comms)
            if any(comm == pattern or fnmatchcase(comm, pattern) for pattern in filters.comms)
        ]
        keep(comm_of, wanted)
    if filters.events:
        names = [event.name for event in events]
        wanted = [i for i, name in enumerate(names) if any(fnmatchcase(name, one) for one in filters.events)]
        if not wanted:
            have = ", ".join(sorted(set(names)))
            hint = f"name one of these, as in --event '{near(filters.events, names)[0]}'" if names else ""
            raise UsageError("no event matches " + ", ".join(filters.events), f"the recording has {have}", hint)
        keep(samples.event, wanted)
    if filters.start is not None or filters.end is not None:
        start = filters.start or 0
        end = filters.end if filters.end is not None else NONE << 32 | NONE
        for i, time in enumerate(samples.time):
            if not start <= time <= end:
                chosen[i] = 0
    if filters.spans:
        for i, time in enumerate(samples.time):
            if not any(start <= time <= end for start, end in filters.spans):
                chosen[i] = 0
    numbers = by_time if by_time is not None else range(count)
    passed = [i for i in numbers if chosen[i]]
    order = zeros("I", len(passed))
    for at, i in enumerate(passed):
        order[at] = i
    return chosen, order
