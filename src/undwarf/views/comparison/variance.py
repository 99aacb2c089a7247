"""How far sums and means vary by chance: by blocks of time within a recording, and between recordings.

docs/explanation/comparison.md says what is assumed, and why.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from undwarf.views.comparison.distributions import digamma, inverse_trigamma, quantile, trigamma, two_sided

LEAST_FREEDOM = 2.0
_MOST_CORRELATION = 0.9
_LEAST_ROWS = 5
"""Rows from which the spread of variances is estimated."""
_MOST_PRIOR = 1e4


class Variance(NamedTuple):
    """A variance, with the degrees of freedom it is known with."""

    value: float
    freedom: float


def of_sum(blocks: Sequence[float]) -> Variance:
    """The variance of the sum of blocks that follow each other in time.

    Neighbouring blocks of a program that works in phases are alike, so that the sum varies more than that of
    independent ones. Their correlation is that of an autoregression of first order, estimated from the blocks with the
    bias taken out that the estimated mean causes (Marriott and Pope, 1954); it lengthens the blocks that count as
    independent, and leaves fewer degrees of freedom.
    """
    count = len(blocks)
    mean = math.fsum(blocks) / count
    apart = [value - mean for value in blocks]
    square = math.fsum(value * value for value in apart)
    if not square:
        return Variance(0.0, count - 1)
    correlation = math.fsum(map(float.__mul__, apart[1:], apart[:-1])) / square
    correlation = min(_MOST_CORRELATION, max(0.0, correlation + (1 + 3 * correlation) / count))
    length = (1 + correlation) / (1 - correlation)
    return Variance(square * count / (count - 1) * length, max(LEAST_FREEDOM, count / length - 1))


class Sides(NamedTuple):
    """What was measured of one row: a value for each recording of both sides, in one unit.

    ``within``: the variance of the difference of one recording from each side, by blocks of time; None if there are
    no times. ``least``: the square of what one sample weighs; no recording is known better, though several may agree.
    """

    before: Sequence[float]
    after: Sequence[float]
    within: Variance | None
    least: float = 0.0

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side."""
        return math.fsum(self.before) / len(self.before), math.fsum(self.after) / len(self.after)

    @property
    def freedom(self) -> int:
        """The degrees of freedom between recordings of one side."""
        return len(self.before) + len(self.after) - 2


class Estimate(NamedTuple):
    """The means of both sides, the variance of each mean, and the degrees of freedom of both variances."""

    before: float
    after: float
    variance_before: float
    variance_after: float
    freedom: float

    @property
    def p(self) -> float:
        """The probability of a difference as large as this one, or larger, if there is none."""
        variance = self.variance_before + self.variance_after
        if not variance:
            return 1.0 if self.before == self.after else 0.0
        return two_sided((self.after - self.before) / math.sqrt(variance), self.freedom)

    def difference(self, confidence: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the difference."""
        half = quantile(1 - confidence, self.freedom) * math.sqrt(self.variance_before + self.variance_after)
        return self.after - self.before - half, self.after - self.before + half

    def ratio(self, confidence: float = 0.95) -> tuple[float, float | None] | None:
        """The confidence interval of ``after / before``, without an upper end where ``before`` may be 0; None without
        any end (Fieller, 1954). It contains 1 exactly if that of the difference contains 0."""
        if not self.variance_before + self.variance_after:
            return (self.after / self.before,) * 2 if self.before else None
        t = quantile(1 - confidence, self.freedom)
        a = self.before**2 - t * t * self.variance_before
        b = self.before * self.after
        c = self.after**2 - t * t * self.variance_after
        if a <= 0:
            return None
        root = math.sqrt(max(0.0, b * b - a * c))
        return max(0.0, (b - root) / a), (b + root) / a


def estimates(rows: Sequence[Sides], shares: Sequence[float]) -> list[Estimate | None]:
    """The means and variances of rows that are measured in the same recordings; ``shares`` are their parts of the
    whole. None where nothing says how far a row varies.

    With one recording a side the variance is that within recordings. With several, each recording is a value, and the
    variance that blocks of time predict is a second opinion: it weighs more the better it fits all rows (empirical
    Bayes: Smyth, 2004), as far as its own degrees of freedom go.
    """
    between = rows[0].freedom if rows else 0
    if not between:
        return [_of_pair(row) for row in rows]
    common = _common(rows, shares)
    predicted = [_predicted(row, common) for row in rows]
    ratios: list[tuple[float, int]] = []
    for row, (before, after, _freedom) in zip(rows, predicted, strict=True):
        ratio, freedom = 0.0, 0
        for values, variance in ((row.before, before), (row.after, after)):
            if variance and len(values) > 1:
                ratio += _squares(values) / variance
                freedom += len(values) - 1
        ratios.append((ratio / freedom if freedom else 0.0, freedom))
    scale, prior = _spread(ratios)
    result: list[Estimate | None] = []
    for row, (before, after, known), (ratio, own) in zip(rows, predicted, ratios, strict=True):
        if not own and not row.least:
            same = len({*row.before, *row.after}) == 1
            result.append(Estimate(*row.means, 0.0, 0.0, row.freedom) if same else None)
            continue
        own = own or row.freedom
        weight = min(prior, max(0.0, known - own))
        factor = (weight * scale + own * ratio) / (weight + own)
        result.append(
            Estimate(
                *row.means,
                max(factor * before, row.least if row.means[0] else 0.0) / len(row.before),
                max(factor * after, row.least if row.means[1] else 0.0) / len(row.after),
                own + weight,
            )
        )
    return result


def _of_pair(row: Sides) -> Estimate | None:
    before, after = row.means
    if row.within is None:
        return None
    value = max(row.within.value, 2 * row.least) if before != after else row.within.value
    if not value and before != after:
        return None
    whole = before + after
    part = before / whole if whole else 0.5
    return Estimate(before, after, value * part, value * (1 - part), row.within.freedom)


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _parts(row: Sides) -> tuple[float, float]:
    """The variance within one recording of each side: counts vary in proportion to what is counted."""
    before, after = row.means
    if row.within is None or not before + after:
        return 0.0, 0.0
    return row.within.value * before / (before + after), row.within.value * after / (before + after)


def _common(rows: Sequence[Sides], shares: Sequence[float]) -> float:
    """The relative variance between recordings that blocks of time do not explain, of all rows together."""
    above = weight = 0.0
    for row, share in zip(rows, shares, strict=True):
        for values, within in zip((row.before, row.after), _parts(row), strict=True):
            mean = math.fsum(values) / len(values)
            if mean > 0 and len(values) > 1:
                freedom = len(values) - 1
                above += share * freedom * (_squares(values) / freedom - within) / mean**2
                weight += share * freedom
    return max(0.0, above / weight) if weight else 0.0


def _predicted(row: Sides, common: float) -> tuple[float, float, float]:
    """The variance of one recording of each side, and its degrees of freedom: those of both sources (Satterthwaite)."""
    known = spread = 0.0
    result = []
    within = row.within.freedom if row.within is not None else LEAST_FREEDOM
    for part, mean in zip(_parts(row), row.means, strict=True):
        between = common * mean * mean
        result.append(part + between)
        known += part + between
        spread += part * part / within + between * between / row.freedom
    return result[0], result[1], known * known / spread if spread else LEAST_FREEDOM


def _spread(ratios: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """(scale, degrees of freedom) of the predicted variances, by how measured ones differ from them."""
    used = [(ratio, freedom) for ratio, freedom in ratios if ratio > 0]
    if len(used) < _LEAST_ROWS:
        return 1.0, 0.0
    logs = [math.log(ratio) - digamma(freedom / 2) + math.log(freedom / 2) for ratio, freedom in used]
    mean = math.fsum(logs) / len(logs)
    excess = _squares(logs) / (len(logs) - 1) - math.fsum(trigamma(freedom / 2) for _r, freedom in used) / len(used)
    if excess <= 0:
        return math.exp(mean), _MOST_PRIOR
    prior = min(_MOST_PRIOR, 2 * inverse_trigamma(excess))
    return math.exp(mean + digamma(prior / 2) - math.log(prior / 2)), prior


def adjusted(tests: Sequence[tuple[float, float]]) -> list[float]:
    """The p-values of (p-value, weight) for a family of tests, so that 5 % of families without any difference have one
    below 0.05 (Holm's method with weights: Benjamini and Hochberg, 1997)."""
    order = sorted(range(len(tests)), key=lambda number: tests[number][0] / tests[number][1])
    left = math.fsum(weight for _p, weight in tests)
    result = [1.0] * len(tests)
    reached = 0.0
    for number in order:
        p, weight = tests[number]
        reached = min(1.0, max(reached, p * max(left, weight) / weight))
        result[number] = reached
        left -= weight
    return result
