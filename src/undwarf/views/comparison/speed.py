"""Tells a change of everything alike from changes of single functions, where one recording a side is all there is.

A machine that ran 2 % slower makes every function 2 % slower, and nothing within a recording shows that. But if one
function alone is slower, the others are as fast as before.
"""

import math
from collections.abc import Sequence

from undwarf.views.comparison.variance import Estimate, adjusted

_HALF = 0.5
"""The others moved alike if they moved at least half as far as the whole: the middle between not at all and alike."""
_MOST = 1.25
"""The largest factor, or one by it the smallest, that the speed of one machine explains."""


def common_factor(rows: Sequence[Estimate], weights: Sequence[float], level: float = 0.05) -> float | None:
    """The factor by which all of these disjoint parts of the whole changed, None if there is no sign of one.

    As long as a row differs significantly, the one that stands out most is looked at. If the others moved with it, that
    is the factor, and rows are compared without it from then on; if not, the row is taken out.
    """
    left = [row for row in rows if row.before > 0 and row.after > 0]
    parts = [part for row, part in zip(rows, weights, strict=True) if row.before > 0 and row.after > 0]
    factor: float | None = None
    while len(left) > 1:
        if factor is not None:
            factor = _ratio(left)
        apart = [without(row, factor) if factor is not None else row for row in left]
        if min(adjusted([(row.p, part) for row, part in zip(apart, parts, strict=True)])) >= level:
            break
        most = max(range(len(left)), key=lambda number: _distance(apart[number]))
        if factor is None:
            moved, others = _ratio(left) - 1, _ratio(left[:most] + left[most + 1 :]) - 1
            if others * moved > _HALF * moved * moved and 1 / _MOST <= 1 + moved <= _MOST:
                factor = 1 + moved
                continue
        del left[most], parts[most]
    return factor


def _ratio(rows: Sequence[Estimate]) -> float:
    return math.fsum(row.after for row in rows) / math.fsum(row.before for row in rows)


def _distance(row: Estimate) -> float:
    variance = row.variance_before + row.variance_after
    return abs(row.after - row.before) / math.sqrt(variance) if variance else 0.0


def without(row: Estimate, factor: float) -> Estimate:
    """The row as it would be without the factor."""
    return row._replace(after=row.after / factor, variance_after=row.variance_after / factor**2)
