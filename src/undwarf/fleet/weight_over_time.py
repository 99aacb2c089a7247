"""How much weight a store has when: bars for a histogram, in all or for the most frequent values of a label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from undwarf.errors import NothingUsable, UnreadableInput, UsageError
from undwarf.fleet.columns import column_of
from undwarf.fleet.database import Database
from undwarf.fleet.label_counts import NAMES
from undwarf.fleet.span import NAME, Span

MOST_BARS = 240
MOST_SERIES = 8
"""Values of a label that have bars of their own, at most."""
_MOST_ENTRIES = 100_000
"""Of a histogram: 240 bars of 8 values have as many with 46 events."""
_SECOND = 1_000_000
_STEPS = (
    *(factor * 10**power for power in range(6) for factor in (1, 2, 5)),
    *(one * _SECOND for one in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(one * 3600 * _SECOND for one in (1, 2, 3, 6, 12, 24, 48, 24 * 7, 24 * 14, 24 * 28)),
)
"""Lengths of a bar in us."""
_YEAR_9999 = 253_370_764_800_000_000
_CODES: dict[str, Any] = {"bar": "i", "series": "i", "weight": "q", "samples": "q"}
_BARS = """
WITH bars AS MATERIALIZED (
    SELECT (epoch_us(time) - {start}) // {step} AS bar, event, {series} AS value, sum(period) AS weight,
           count(*) AS samples
    FROM {rows} WHERE time >= make_timestamp({start}) AND time < make_timestamp({end}) AND {conditions} GROUP BY ALL),
heaviest AS (
    SELECT value, (row_number() OVER (ORDER BY sum(samples) DESC, value) - 1)::INTEGER AS series FROM bars
    WHERE value IS NOT NULL GROUP BY value ORDER BY series LIMIT {most})
SELECT bar::INTEGER AS bar, coalesce(event, '') AS event, coalesce(series, -1)::INTEGER AS series,
       if(series IS NULL, NULL, any_value(value)) AS value, sum(weight)::BIGINT AS weight,
       sum(samples)::BIGINT AS samples
FROM bars LEFT JOIN heaviest USING (value) GROUP BY bar, event, series ORDER BY bar, event, series
"""


class Times(NamedTuple):
    """A range of time: ``start`` and ``end`` (exclusive) in us since 1970, UTC."""

    start: int
    end: int


@dataclass(slots=True)
class Bars:
    """``step``: the length of a bar in us, of ``count`` bars from ``start`` on. ``series``: the values of the label by
    number, most samples first. Of each entry ``bar`` (i), ``event`` (its number in ``events``), ``series`` (-1: other
    values, or none), ``weight`` (q) in the event's own unit, ``samples`` (q)."""

    start: int
    step: int
    count: int
    series: list[str]
    events: list[str]
    bar: memoryview
    event: list[int]
    of_series: memoryview
    weight: memoryview
    samples: memoryview


def extent(database: Database) -> Times:
    """From the first to the last sample. Raises NothingUsable without samples."""
    row = database.arrow(
        "SELECT epoch_us(min(time)) AS first, epoch_us(max(time)) AS last FROM samples "
        f"WHERE time BETWEEN TIMESTAMP '1970-01-01' AND make_timestamp({_YEAR_9999})"
    ).to_pylist()[0]
    if row["first"] is None:
        raise NothingUsable(f"no sample of {database.store.address} is in the span")
    return Times(row["first"], row["last"] + 1)


def bar_length(times: Times) -> int:
    """The shortest length of a bar that gives at most MOST_BARS of them."""
    least = -(-(times.end - times.start) // (MOST_BARS - 1))
    return next((one for one in _STEPS if one >= least), least)


def weight_over_time(database: Database, span: Span, times: Times, label: str = "") -> Bars:
    """The bars of a range of time, of samples with the span's labels, its own time apart. ``label``: its most frequent
    values are series; by default there is one."""
    step = bar_length(times)
    start = times.start // step * step
    count = -(-(times.end - start) // step)
    rows, series = "samples", "NULL::VARCHAR"
    if label in NAMES:
        series = f"{label}::VARCHAR"
    elif label:
        if not NAME.fullmatch(label):
            raise UsageError(f"{label[:80]!r} is no name of a label")
        rows = f"samples LEFT JOIN (SELECT id, labels['{label}'] AS value FROM recordings) ON id = recording"
        series = "value"
    query = _BARS.format(
        start=start,
        end=start + count * step,
        step=step,
        series=series,
        rows=rows,
        conditions=" AND ".join(Span(labels=span.labels).conditions()) or "true",
        most=MOST_SERIES,
    )
    found = database.arrow(query)
    if found.num_rows > _MOST_ENTRIES:
        why = f"its samples have so many events that a histogram has more than {_MOST_ENTRIES:,} bars"
        raise UnreadableInput(f"cannot show when {database.store.address} has weight", why, "choose an event")
    event, events = _numbered(found["event"].to_pylist())
    columns = {name: column_of(found[name], code) for name, code in _CODES.items()}
    names = dict(zip(columns["series"], found["value"].to_pylist(), strict=True))
    return Bars(
        start, step, count, [names[one] for one in sorted(names) if one >= 0], events, columns["bar"], event,
        columns["series"], columns["weight"], columns["samples"],
    )  # fmt: skip  # a row


def _numbered(texts: Sequence[Any]) -> tuple[list[int], list[str]]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(text, len(numbers)) for text in texts], list(numbers)
