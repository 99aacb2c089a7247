"""What ``undwarf top --json`` prints: a line for each update."""

from typing import Annotated, Literal, NotRequired, TypedDict

from undwarf.outputs.schemas.vocabulary import COMM, DSO, SELF, SYM, TOTAL, UNIT, Count, Share


class TopRow(TypedDict):
    """A row of a table: its sort keys, those in "sort" and no others, and its weights."""

    comm: NotRequired[Annotated[str | None, COMM]]
    event: NotRequired[Annotated[str, "Name of the event, as perf writes it."]]
    dso: NotRequired[Annotated[str | None, DSO]]
    sym: NotRequired[Annotated[str | None, SYM]]
    self: Annotated[Count, SELF]
    total: Annotated[Count, TOTAL]


class TopEvent(TypedDict):
    """The table of one event."""

    event: Annotated[str, "Name of the event, as perf writes it."]
    unit: Annotated[str | None, UNIT]
    weight: Annotated[Count, "Weight of the samples of the event, without idle CPUs unless --idle is given."]
    samples: Annotated[Count, "Samples of the event, idle CPUs included."]
    idle_share: Annotated[Share, "Share of idle CPUs in the weight with them, 0 to 1."]
    rows: Annotated[list[TopRow], "The rows, the heaviest first."]


class Top(TypedDict):
    """What was sampled since the line before."""

    schema: Annotated[Literal["undwarf/top"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    time_s: Annotated[float, "When the line was written, in seconds since 1970."]
    duration_ns: Annotated[Count, "For how long was sampled, in ns."]
    sort: Annotated[list[str], "The sort keys, which rows have."]
    samples: Annotated[Count, "Samples of all events, idle CPUs included."]
    lost: Annotated[Count, "Samples and other records that were lost since the start."]
    events: Annotated[list[TopEvent], "One for each event with samples."]
