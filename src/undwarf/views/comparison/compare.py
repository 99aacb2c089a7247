"""Compares two sides of recordings: the tables, and what is significant in them."""

import math
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from undwarf.column import absent, zeros
from undwarf.errors import UsageError
from undwarf.profile.grouping import look_up, widen
from undwarf.unwind.stop_reason import WHOLE, StopReason
from undwarf.views.comparison import inlining, tables
from undwarf.views.comparison.matching import match
from undwarf.views.comparison.model import (
    LEAST_SHARE,
    LEVEL,
    By,
    Change,
    Comparison,
    EventComparison,
    FunctionNumbers,
    FunctionPair,
    Normalization,
    Recorded,
    Row,
    Table,
)
from undwarf.views.comparison.quantities import Groups, Measured, number_of_blocks, residuals
from undwarf.views.comparison.side_functions import SideFunctions, renumbered
from undwarf.views.comparison.speed import relative_to_whole
from undwarf.views.comparison.tables import Both, Counted, Thing
from undwarf.views.comparison.variance import Estimate, Sides, Variance, adjusted, estimates, of_sum
from undwarf.views.event_units import kind_of_event
from undwarf.views.report import unit_of_weights
from undwarf.views.sample_selection import Events, Weight, sections

_WEIGHT_OF_TOTAL, _WEIGHT_OF_QUALITY = 0.25, 0.05
"""How much of the family's level the total and the share of whole stacks get, where a table's rows together get 1."""
_MOST_TESTS = 2_000
"""Rows of a table that are tested one by one, the heaviest ones."""
OTHERS = "[others]"
_NO_USER_PART = (StopReason.NONE, StopReason.NO_DUMP, StopReason.UNSTATED)


class _Question(NamedTuple):
    """A row that is tested, before the correction for all of them."""

    weight: float
    estimate: Estimate
    relative: Estimate | None = None
    """Without the factor by which everything changed, if that may be the machine's speed."""
    event: int = -1


class _Event(NamedTuple):
    """An event of both sides: the events of each recording, those of before first."""

    name: str
    name_after: str
    unit: str
    events: list[Events]


def compare(
    before: Sequence[Recorded],
    after: Sequence[Recorded],
    by: Sequence[By] = ("function",),
    normalization: Normalization = Normalization(),  # noqa: B008 - a named tuple
    *,
    weight: Weight = "period",
    children: bool = False,
    least: float = LEAST_SHARE,
    named: Collection[tuple[By, str]] = (),
) -> Comparison:
    """Compare recordings.

    Rows of at least the share ``least`` (0 to 1) of all weight are tested, and those that ``named`` has, as (table,
    name, in which * and ? are wildcards). ``children``: functions have their weight with callees.
    Raises UsageError if the sides have no event in common.
    """
    events = _common_events(before, after)
    sides = SideFunctions(), SideFunctions()
    for at, (side, recordings) in enumerate(zip(sides, (before, after), strict=True)):
        for number, recorded in enumerate(recordings):
            first = events[0].events[at * len(before) + number]
            side.add(recorded.profile, first, weight, 1 / len(recordings))
    matching = match(*sides)
    functions = FunctionNumbers(
        [
            FunctionPair(
                sides[0].keys[old].name if old is not None else None,
                sides[1].keys[new].name if new is not None else None,
                sides[0].keys[old].image if old is not None else None,
                sides[1].keys[new].image if new is not None else None,
                how,
            )
            for old, new, how in matching.pairs
        ],
        [renumbered(column, matching.of_before) for column in sides[0].of_functions],
        [renumbered(column, matching.of_after) for column in sides[1].of_functions],
    )
    compared: list[EventComparison] = []
    family = _Family()
    for event in events:
        measured = [
            Measured(recorded, chosen, weight, normalization)
            for recorded, chosen in zip((*before, *after), event.events, strict=True)
        ]
        values = [one.total / one.work for one in measured]
        totals = inlining.totals_of(values[: len(before)]), inlining.totals_of(values[len(before) :])
        both = Both(before, after, functions, inlining.function_rows(*sides, matching, totals))
        unit = "samples" if weight == "samples" else event.unit
        named_unit = event._replace(unit=unit)
        of_event = _OfEvent(both, named_unit, measured, normalization, weight, least, named, family, len(compared))
        compared.append(of_event.compared(by, children))
    whole = _whole(before, after, family)
    files = [(was, now) for was, now in sorted(matching.images.items()) if was != now]
    return family.decided(Comparison(before, after, normalization, whole, compared, functions, files, 0))


def _common_events(before: Sequence[Recorded], after: Sequence[Recorded]) -> list[_Event]:
    """The events that all recordings have, by name without modifiers."""
    of_recordings: list[dict[str, tuple[Events, str]]] = []
    for recorded in (*before, *after):
        found: dict[str, tuple[Events, str]] = {}
        for event, name in sections(recorded.profile, ()):
            found.setdefault(kind_of_event(name).base, (event, name))
        of_recordings.append(found)
    common = [name for name in of_recordings[0] if all(name in found for found in of_recordings)]
    if not common:
        names = [", ".join(name for _event, name in found.values()) for found in of_recordings]
        raise UsageError(
            "the recordings have no event in common",
            f"before: {names[0]}; after: {names[-1]}",
            "record both sides with the same event (perf record -e)",
        )
    return [
        _Event(
            of_recordings[0][name][1],
            of_recordings[-1][name][1],
            unit_of_weights(before[0].profile, of_recordings[0][name][0]),
            [found[name][0] for found in of_recordings],
        )
        for name in common
    ]


class _Family:
    """All tests of a comparison, which are corrected together; rows have the number of theirs."""

    def __init__(self) -> None:
        self._questions: list[_Question] = []

    def ask(self, question: _Question) -> int:
        """Add a test; its number."""
        self._questions.append(question)
        return len(self._questions) - 1

    def decided(self, comparison: Comparison) -> Comparison:
        """The comparison with what is significant."""
        plain = adjusted([(one.estimate.p, one.weight) for one in self._questions])
        relative = adjusted([((one.relative or one.estimate).p, one.weight) for one in self._questions])
        # A row has to stand out in both ways: what is corrected for a factor is never significant for that alone.
        result = [max(pair) for pair in zip(plain, relative, strict=True)]
        alike = {one.event for one, first, p in zip(self._questions, plain, result, strict=True) if first < LEVEL <= p}

        def row(one: Row | None) -> Row | None:
            if one is None or one.test is None:
                return one
            p = result[one.test]
            return one._replace(adjusted=p, significant=p < LEVEL)

        def table(one: Table) -> Table:
            rows = [found for found in map(row, one.rows) if found is not None]
            rows.sort(key=lambda r: _order(r, comparison))
            return one._replace(rows=rows, others=row(one.others))

        events = []
        for number, event in enumerate(comparison.events):
            total = row(event.total)
            assert total is not None
            weight = total.weight
            factor = weight.after / weight.before if number in alike and weight.before else None
            events.append(event._replace(total=total, tables=[table(one) for one in event.tables], alike=factor))
        return comparison._replace(whole=row(comparison.whole), events=events, tests=len(self._questions))


def _order(row: Row, comparison: Comparison) -> tuple[bool, float, str]:
    change = row.share if comparison.normalization.unit == "samples" else row.weight
    size = abs(change.after - change.before) if row.significant else max(change.before, change.after)
    return not row.significant, -size, row.name


class _OfEvent:
    """Compares one event."""

    def __init__(
        self,
        both: Both,
        event: _Event,
        measured: list[Measured],
        normalization: Normalization,
        weight: Weight,
        least: float,
        named: Collection[tuple[By, str]],
        family: _Family,
        number: int,
    ) -> None:
        self._number = number
        self._both = both
        self._event = event
        self._measured = measured
        self._weight = weight
        self._least = least
        self._named = named
        self._family = family
        self._first = len(both.before)
        self._single = len(measured) == 2
        blocks = number_of_blocks(measured)
        self._blocks = blocks
        self._totals: list[list[int]] = []
        self._work: list[list[float] | None] = []
        for one in measured if blocks else ():
            one.cut(blocks)
            self._totals.append(one.total_by_block())
            self._work.append(one.work_by_block(normalization))

    def compared(self, by: Sequence[By], children: bool) -> EventComparison:
        """The tables, before their tests are decided."""
        own = tables.functions(self._both, False)
        result = []
        for one in by:
            counted = own if one == "function" and not children else self._counted(one)
            result.append(self._table(counted, nested=counted is not own and one in ("function", "path")))
        event = self._event
        return EventComparison(event.name, event.name_after, event.unit, self._total(), result)

    def _counted(self, by: By) -> Counted:
        both = self._both
        if by == "path":
            return tables.paths(both, self._event.events, self._weight, self._least)
        if by in ("type", "field"):
            return tables.labelled(both, by, "type" if by == "type" else "typeoff")
        return {
            "function": lambda: tables.functions(both, True),
            "line": lambda: tables.lines(both),
            "image": lambda: tables.images(both),
            "thread": lambda: tables.threads(both),
        }[by]()

    def _weights(self, counted: Counted) -> tuple[list[list[int]], list[list[int]]]:
        pairs = [
            one.weights(groups, len(counted.things))
            for one, groups in zip(self._measured, (*counted.before, *counted.after), strict=True)
        ]
        return [weights for weights, _samples in pairs], [samples for _weights, samples in pairs]

    def _shares(self, weights: Sequence[Sequence[int]]) -> list[float]:
        """The mean share of each row on both sides."""
        parts = []
        for side in (slice(0, self._first), slice(self._first, None)):
            measured = self._measured[side]
            parts.append([1 / (2 * len(measured) * (one.total or 1)) for one in measured])
        factors = [factor for side in parts for factor in side]
        return [math.fsum(map(float.__mul__, factors, map(float, row))) for row in zip(*weights, strict=True)]

    def _estimates(
        self, counted: Counted, chosen: Sequence[int], weights: Sequence[Sequence[int]], *, others: bool
    ) -> list[tuple[Estimate | None, Estimate | None]]:
        """(weight per unit of work, share) of the chosen rows, then of all others together if they are asked for."""
        count = len(chosen) + others
        table = absent("I", max(1, len(counted.things)))
        if others:
            table[:] = zeros("I", len(table)) if not chosen else _filled(len(table), len(chosen))
        for at, number in enumerate(chosen):
            table[number] = at
        groups = [tables.chosen(one, table) for one in (*counted.before, *counted.after)]
        blocks = []
        if self._blocks:
            blocks = [one.by_block(of, count) for one, of in zip(self._measured, groups, strict=True)]
        values: list[list[int]] = []
        for row in weights:
            own = [row[number] for number in chosen]
            values.append([*own, max(0, sum(row) - sum(own))] if others else own)
        rows: list[Sides] = []
        shares: list[Sides] = []
        for at in range(count):
            weight_of = [row[at] for row in values]
            rows.append(self._sides(weight_of, [one[at] for one in blocks], share=False))
            shares.append(self._sides(weight_of, [one[at] for one in blocks], share=True))
        parts = [sum(one.means) / 2 for one in shares]
        return list(zip(estimates(rows, parts), estimates(shares, parts), strict=True))

    def _sides(self, weights: Sequence[int], blocks: Sequence[Sequence[int]], *, share: bool) -> Sides:
        per = [float(one.total or 1) if share else one.work for one in self._measured]
        values = [weight / work for weight, work in zip(weights, per, strict=True)]
        parts: list[list[float]] = []
        for number, of_row in enumerate(blocks):
            done = self._totals[number] if share else self._work[number]
            parts.append(residuals(of_row, values[number], per[number], done))
        least = [(one.total / work / max(1, one.samples)) ** 2 for one, work in zip(self._measured, per, strict=True)]
        return sides(values, self._first, parts)._replace(least=math.fsum(least) / len(least))

    def _table(self, counted: Counted, *, nested: bool) -> Table:
        weights, samples = self._weights(counted)
        shares = self._shares(weights)
        names = [name for by, name in self._named if by == counted.by]
        chosen = [
            number
            for number, (share, thing) in enumerate(zip(shares, counted.things, strict=True))
            if share >= self._least or (share and any(fits(thing, name, self._least, share) for name in names))
        ]
        if len(chosen) > _MOST_TESTS:
            chosen = sorted(sorted(chosen, key=lambda number: -shares[number])[:_MOST_TESTS])
        if counted.by == "path":
            chosen = _without_chains(counted.things, chosen, weights)
        left = set(range(len(shares))).difference(chosen)
        below = sum(1 for number in left if shares[number])
        others = bool(below) and not nested
        found = self._estimates(counted, chosen, weights, others=others)
        whole = math.fsum(shares[number] for number in chosen) or 1.0
        rows = []
        for number, pair in zip(chosen, found, strict=False):
            counts = [one[number] for one in samples]
            sums = sum(counts[: self._first]), sum(counts[self._first :])
            values = [one[number] for one in weights]
            rows.append(self._row(counted.things[number], values, sums, pair, shares[number] / whole))
        rest = None
        if others:
            values = [sum(one[number] for number in left) for one in weights]
            counts = [sum(one[number] for number in left) for one in samples]
            sums = sum(counts[: self._first]), sum(counts[self._first :])
            part = math.fsum(shares[number] for number in left)
            rest = self._row(Thing(OTHERS), values, sums, found[-1], part)
        return Table(counted.by, rows, rest, below)

    def _row(
        self,
        thing: Thing,
        weights: Sequence[int],
        samples: tuple[int, int],
        found: tuple[Estimate | None, Estimate | None],
        part: float,
    ) -> Row:
        estimate, of_share = found
        per_work = [weight / one.work for weight, one in zip(weights, self._measured, strict=True)]
        per_total = [weight / (one.total or 1) for weight, one in zip(weights, self._measured, strict=True)]
        question = None
        if estimate is not None and part > 0:
            whole = self._measured[0].total / self._measured[0].work, self._measured[-1].total / self._measured[-1].work
            relative = relative_to_whole(estimate, whole) if self._single else None
            question = self._family.ask(_Question(part, estimate, relative, self._number))
        return Row(
            thing.name,
            thing.image,
            thing.kernel,
            _change(per_work, self._first, estimate),
            _change(per_total, self._first, of_share),
            samples,
            test=question,
            notes=thing.notes,
            name_before=thing.name_before,
            path=thing.path,
            number=thing.number,
        )

    def _total(self) -> Row:
        """The weight of all samples; one recording a side does not say how far that varies."""
        values = [one.total / one.work for one in self._measured]
        counts = [one.samples for one in self._measured]
        estimate = None
        if not self._single:
            # A recording's length is known to a sample.
            ends = [(one.total / one.work / max(1, one.samples)) ** 2 for one in self._measured]
            within = Variance(2 * math.fsum(ends) / len(ends), sum(counts))
            (estimate,) = estimates([Sides(values[: self._first], values[self._first :], within)], [1.0])
        sums = sum(counts[: self._first]), sum(counts[self._first :])
        question = None
        if estimate is not None:
            question = self._family.ask(_Question(_WEIGHT_OF_TOTAL, estimate))
        one = Change(1.0, 1.0)
        return Row("total", "", False, _change(values, self._first, estimate), one, sums, test=question)


def _without_chains(things: Sequence[Thing], chosen: Sequence[int], weights: Sequence[Sequence[int]]) -> list[int]:
    """The call paths without those that all go on to the same callee: they are the same samples."""
    values = {things[number].path: [row[number] for row in weights] for number in chosen}
    passed = {path[:-1] for path, weight in values.items() if values.get(path[:-1]) == weight}
    return [number for number in chosen if things[number].path not in passed]


def _filled(count: int, value: int) -> memoryview:
    column = zeros("I", count)
    for at in range(count):
        column[at] = value
    return column


def fits(thing: Thing | Row, name: str, least: float = 0.0, share: float = 1.0) -> bool:
    """Whether a name or pattern means a row, by its name on either side. A pattern means only rows of the least
    share."""
    names = {thing.name, *filter(None, (thing.name_before,))}
    if thing.path:
        names = {" > ".join(thing.path)}
    if name in names:
        return True
    return share >= least and any(fnmatchcase(one, name) for one in names)


def sides(values: Sequence[float], first: int, blocks: Sequence[Sequence[float]]) -> Sides:
    """The values of both sides, with the variance within recordings.

    Recordings of both sides are cut into the same number of blocks, and the variance is that of the differences of
    blocks at the same place: phases that both go through, such as a start, vary nothing.
    """
    within = None
    if blocks:
        before, after = blocks[:first], blocks[first:]
        pairs = max(len(before), len(after))
        found = [
            of_sum([b - a for a, b in zip(before[at % len(before)], after[at % len(after)], strict=True)])
            for at in range(pairs)
        ]
        value = math.fsum(one.value for one in found) / pairs
        within = Variance(value, math.fsum(one.freedom for one in found))
    return Sides(values[:first], values[first:], within)


def _change(values: Sequence[float], first: int, estimate: Estimate | None) -> Change:
    before, after = math.fsum(values[:first]) / first, math.fsum(values[first:]) / (len(values) - first)
    if estimate is None:
        return Change(before, after)
    return Change(before, after, estimate.difference(), estimate.ratio(), estimate.p)


def _whole(before: Sequence[Recorded], after: Sequence[Recorded], family: _Family) -> Row | None:
    """The share of user stacks that are whole."""
    recordings = [*before, *after]
    if any(one.profile.origin is not None for one in recordings):
        return None
    kinds = zeros("I", 256)
    for stop in StopReason:
        kinds[stop] = 0 if stop in WHOLE else 1 if stop not in _NO_USER_PART else 2
    measured = [Measured(one, None, "samples", Normalization()) for one in recordings]
    groups = [Groups(look_up(widen(one.profile.samples.columns.stop), kinds)) for one in recordings]
    counts = [one.weights(of, 3)[0] for one, of in zip(measured, groups, strict=True)]
    unwound = [one[0] + one[1] for one in counts]
    if not all(unwound):
        return None
    shares = [one[0] / count for one, count in zip(counts, unwound, strict=True)]
    blocks: list[list[float]] = []
    if number := number_of_blocks(measured):
        for one, of, share, count in zip(measured, groups, shares, unwound, strict=True):
            one.cut(number)
            whole, broken, _none = one.by_block(of, 3)
            both = [float(a + b) for a, b in zip(whole, broken, strict=True)]
            blocks.append(residuals(whole, share, count, both))
    first = len(before)
    (estimate,) = estimates([sides(shares, first, blocks)], [1.0])
    question = None
    if estimate is not None:
        question = family.ask(_Question(_WEIGHT_OF_QUALITY, estimate))
    change = _change(shares, first, estimate)
    sums = sum(one[0] for one in counts[:first]), sum(one[0] for one in counts[first:])
    return Row("whole stacks", "", False, change, change, sums, test=question)
