"""Which samples a profile takes."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from undwarf.buffers import zeros
from undwarf.errors import UsageError
from undwarf.lazy_dataclasses import dataclass
from undwarf.perfdata import EventAttr, Records
from undwarf.profile.model import NONE


@dataclass(frozen=True, slots=True)
class Filters:
    """Only samples that pass all of these; an empty collection or None lets everything pass.

    ``start`` and ``end`` are nanoseconds of the recording's clock, both inclusive; ``comms`` and ``events`` are
    names, which may hold shell wildcards.
    """

    start: int | None = None
    end: int | None = None
    pids: Collection[int] = ()
    tids: Collection[int] = ()
    cpus: Collection[int] = ()
    comms: Collection[str] = ()
    events: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(
            self.start is not None
            or self.end is not None
            or self.pids
            or self.tids
            or self.cpus
            or self.comms
            or self.events
        )


def select(
    filters: Filters | None,
    records: Records,
    events: Sequence[EventAttr],
    comms: Sequence[str],
    comm_of: memoryview,
    by_time: bool,
) -> tuple[memoryview, memoryview | None]:
    """(1 for each sample that is walked, the order of samples in the profile or None for as recorded)."""
    samples = records.samples
    count = len(samples.position)
    if not filters:
        return memoryview(b"\1" * count), records.sample_order if by_time else None
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
        wanted = [i for i, comm in enumerate(comms) if any(fnmatchcase(comm, pattern) for pattern in filters.comms)]
        keep(comm_of, wanted)
    if filters.events:
        names = [event.name for event in events]
        wanted = [i for i, name in enumerate(names) if any(fnmatchcase(name, one) for one in filters.events)]
        if not wanted:
            have = ", ".join(sorted(set(names)))
            raise UsageError("no event matches", f"the recording has {have}", "name one of these, e.g. --event cycles")
        keep(samples.event, wanted)
    if filters.start is not None or filters.end is not None:
        start = filters.start or 0
        end = filters.end if filters.end is not None else NONE << 32 | NONE
        for i, time in enumerate(samples.time):
            if not start <= time <= end:
                chosen[i] = 0
    numbers = records.sample_order if by_time else range(count)
    passed = [i for i in numbers if chosen[i]]
    order = zeros("I", len(passed))
    for at, i in enumerate(passed):
        order[at] = i
    return chosen, order
