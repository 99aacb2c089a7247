"""The labels of the samples in a span, with their values, to choose from."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.fleet.database import Database
from undwarf.fleet.span import COLUMNS, NAME, Span

NAMES = ("service", *COLUMNS)
"""Labels that are columns of samples."""
MOST_VALUES = 200
"""Values of a label that are listed: whoever wants another one types it."""
MOST_LABELS = 32
_LONGEST = 1000
"""Characters of a value that is listed: those of labels that were given have at most 255."""
_COUNTS = """
WITH counts AS (
    SELECT CASE {kinds} END AS name, {value}::VARCHAR AS value, count(*) AS samples
    FROM samples WHERE {conditions} GROUP BY GROUPING SETS ({sets})),
"""
_OTHERS = """
WITH counts AS (
    SELECT one.key AS name, one.value AS value, sum(samples)::BIGINT AS samples
    FROM (SELECT recording, count(*) AS samples FROM samples WHERE {conditions} GROUP BY recording)
    JOIN (SELECT id, unnest(map_entries(labels)) AS one FROM recordings) ON id = recording
    GROUP BY ALL),
"""
_RANKED = """
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY name ORDER BY samples DESC, value) AS place,
           count(*) OVER (PARTITION BY name) AS distinct_values
    FROM counts WHERE length(value) BETWEEN 1 AND {longest})
SELECT name, value, samples, distinct_values FROM ranked WHERE place <= {most}
UNION ALL SELECT name, NULL, samples, 0 FROM counts WHERE value IS NULL
ORDER BY name, samples DESC, value
"""


class LabelValues(NamedTuple):
    """A label: its values with the number of samples of each, most first; ``more``: how many values are not listed;
    ``unset``: samples without it."""

    name: str
    values: list[tuple[str, int]]
    more: int
    unset: int


def label_counts(database: Database, span: Span, most: int = MOST_VALUES) -> list[LabelValues]:
    """The labels of a span's samples. The values of a label that the span is restricted by are those that there are
    without that restriction: one can choose another one."""
    chosen = {name for name, _values in span.labels}
    found: dict[str, LabelValues] = {}
    usual = [name for name in NAMES if name not in chosen]
    for names in (usual, *([name] for name in NAMES if name in chosen)):
        if names:
            for one in _counted(database, _columns(names, _without(span, names)), most):
                found[one.name] = one
    others: dict[str, LabelValues] = {}
    for without in ((), *((name,) for name in sorted(chosen.difference(NAMES)))):
        conditions = " AND ".join(_without(span, without)) or "true"
        for one in _counted(database, _OTHERS.format(conditions=conditions), most):
            # Columns have what a recording's labels say of them, and of some samples more.
            if one.name not in NAMES and (one.name in without) == bool(without):
                others[one.name] = one
    kept = sorted(others.values(), key=lambda one: (one.name not in chosen, -sum(n for _value, n in one.values)))
    return [found[name] for name in NAMES if name in found and found[name].values] + sorted(kept[:MOST_LABELS])


def _columns(names: Sequence[str], conditions: list[str]) -> str:
    return _COUNTS.format(
        kinds=" ".join(f"WHEN GROUPING({name}) = 0 THEN '{name}'" for name in names),
        value=f"coalesce({', '.join(names)})" if len(names) > 1 else names[0],
        sets=", ".join(f"({name})" for name in names),
        conditions=" AND ".join(conditions) or "true",
    )


def _without(span: Span, names: Sequence[str]) -> list[str]:
    """The conditions of a span but for those on these labels."""
    kept = tuple(one for one in span.labels if one[0] not in names)
    return span._replace(labels=kept).conditions(days=True)


def _counted(database: Database, counts: str, most: int) -> list[LabelValues]:
    rows: dict[str, LabelValues] = {}
    for row in database.arrow(counts + _RANKED.format(most=most, longest=_LONGEST)).to_pylist():
        if not NAME.fullmatch(row["name"]):
            # Of a store that something else wrote: no span could name it.
            continue
        one = rows.setdefault(row["name"], LabelValues(row["name"], [], 0, 0))
        if row["value"] is None:
            rows[row["name"]] = one._replace(unset=row["samples"])
            continue
        one.values.append((row["value"], row["samples"]))
        rows[row["name"]] = one._replace(more=row["distinct_values"] - len(one.values))
    return list(rows.values())
