"""Conditions of a gate, as in ``function:compare > +5%``, and whether a comparison fulfils them."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

from undwarf.errors import UsageError
from undwarf.views.comparison.compare import fits
from undwarf.views.comparison.model import By, Comparison, Row

Subject = Literal["total", "whole"]
State = Literal["holds", "does not hold", "undecided"]
_GRAMMAR = re.compile(r"\s*(.+?)\s*([<>])\s*([+-]?\d{1,9}(?:\.\d{1,9})?)\s*(%|pp)\s*$", re.DOTALL)
_HINT = "as in 'total > +2%', 'function:NAME > +5%', 'image:libz* > +1pp' or 'whole < -2pp'"


class Condition(NamedTuple):
    """``SUBJECT > NUMBER%``: a change in percent of what was before, or with ``pp`` in points of the share.

    ``by`` is the table, None for the total and the share of whole stacks; ``name`` a row's name, in which * and ? are
    wildcards.
    """

    text: str
    by: By | None
    name: str
    more: bool
    threshold: float
    points: bool


class Verdict(NamedTuple):
    """Whether a condition holds; ``rows``: (event, row) for which it does; ``why`` it is undecided."""

    condition: Condition
    state: State
    rows: list[tuple[str, Row]]
    why: str = ""


def parse(text: str) -> Condition:
    """The condition. Raises UsageError."""
    found = _GRAMMAR.match(text)
    if found is None:
        raise UsageError(f"{text!r} is no condition", "", _HINT)
    subject, operator, number, unit = found.groups()
    kind, colon, name = subject.partition(":")
    kind = kind.strip()
    name = name.strip()
    by: By | None = None
    if not colon and kind in get_args(Subject):
        name = kind
    elif colon and name and kind in get_args(By):
        by = next(one for one in get_args(By) if one == kind)
    else:
        near = get_close_matches(kind, [*get_args(By), *get_args(Subject)], 1)
        kinds = ", ".join([*get_args(Subject), *(f"{one}:NAME" for one in get_args(By))])
        meant = f"{near[0]!r} is near; " if near and near[0] != kind else ""
        raise UsageError(f"{text!r} has no subject that is known", f"{meant}subjects are {kinds}", _HINT)
    if name == "total" and by is None and unit == "pp":
        raise UsageError(f"{text!r} can never hold", "the total has all of the share", "'total > +2%'")
    return Condition(text, by, name, operator == ">", float(number), unit == "pp")


def evaluate(conditions: Sequence[Condition], comparison: Comparison) -> list[Verdict]:
    """Whether each condition holds: its row is significant, and all of the interval is beyond the threshold."""
    return [_evaluate(condition, comparison) for condition in conditions]


def _evaluate(condition: Condition, comparison: Comparison) -> Verdict:
    rows = _rows(condition, comparison)
    if not rows:
        return Verdict(condition, "undecided", [], "no sample has it")
    held = [(event, row) for event, row in rows if row.significant and _beyond(condition, row)]
    if held:
        return Verdict(condition, "holds", held)
    if all(row.test is None for _event, row in rows):
        single = len(comparison.before) == len(comparison.after) == 1
        why = "one recording a side does not say how far it varies" if condition.name == "total" and single else ""
        return Verdict(condition, "undecided", [], why or "too few samples to say how far it varies")
    return Verdict(condition, "does not hold", [])


def _rows(condition: Condition, comparison: Comparison) -> list[tuple[str, Row]]:
    if condition.by is None:
        if condition.name == "whole":
            return [("", comparison.whole)] if comparison.whole is not None else []
        return [(event.name, event.total) for event in comparison.events]
    return [
        (event.name, row)
        for event in comparison.events
        for table in event.tables
        if table.by == condition.by
        for row in table.rows
        if fits(row, condition.name)
    ]


def _beyond(condition: Condition, row: Row) -> bool:
    if condition.points:
        interval: tuple[float, float | None] | None = row.share.difference
        scale, base = 100.0, 0.0
    else:
        interval, scale, base = row.weight.ratio, 100.0, 1.0
    if interval is None:
        # Nothing before: any increase is beyond all percentages.
        return condition.more and not condition.points and row.weight.before == 0
    low, high = interval
    if condition.more:
        return scale * (low - base) > condition.threshold
    return high is not None and scale * (high - base) < condition.threshold
