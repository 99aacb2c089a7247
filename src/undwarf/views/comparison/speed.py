"""Tells a change of everything alike from changes of single functions, where one recording a side is all there is.

A machine that ran 2 % slower makes every function 2 % slower. Within one recording nothing shows that; but a change of
all functions by one factor, and of one function alone, look different. Which of the two explains more decides.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from undwarf.views.comparison.variance import Estimate, adjusted

MARGIN = 4.0
"""By how much a single function must explain more than a common factor (as a difference of chi squares): with less,
neither can be told from the other."""


class Factor(NamedTuple):
    """A factor by which everything changed alike, as a logarithm, and its variance."""

    log: float
    variance: float


def common_factor(rows: Sequence[Estimate], weights: Sequence[float], level: float = 0.05) -> Factor | None:
    """The factor by which all of these disjoint parts of the whole changed, None if there is no sign of one.

    By steps: the part, or the factor, that explains most is taken, until nothing significant is left; a part is taken
    only if it explains more than the factor by :data:`MARGIN`.
    """
    logs: list[tuple[float, float]] = []
    for row in rows:
        if row.before > 0 and row.after > 0:
            variance = row.variance_before / row.before**2 + row.variance_after / row.after**2
            logs.append((math.log(row.after / row.before), variance))
        else:
            logs.append((0.0, 0.0))
    open_ = {number for number, (_log, variance) in enumerate(logs) if variance > 0}
    factor: Factor | None = None
    while len(open_) > 1:
        if factor is not None:
            factor = _mean(logs, open_)
        left = [_moved(rows[number], factor) if number in open_ else None for number in range(len(rows))]
        tests = [(row.p, weight) for row, weight in zip(left, weights, strict=True) if row is not None]
        if min(adjusted(tests)) >= level:
            break
        base = factor.log if factor is not None else 0.0
        explained, most = max(((logs[number][0] - base) ** 2 / logs[number][1], number) for number in open_)
        if factor is None:
            alike = _mean(logs, open_)
            if explained <= alike.log**2 / alike.variance + MARGIN:
                factor = alike
                continue
        open_.discard(most)
    return factor


def _mean(logs: Sequence[tuple[float, float]], open_: set[int]) -> Factor:
    precision = math.fsum(1 / logs[number][1] for number in open_)
    return Factor(math.fsum(logs[number][0] / logs[number][1] for number in open_) / precision, 1 / precision)


def _moved(row: Estimate, factor: Factor | None) -> Estimate:
    return row if factor is None else without(row, factor)


def without(row: Estimate, factor: Factor) -> Estimate:
    """The row as it would be without the factor."""
    scale = math.exp(-factor.log)
    after = row.after * scale
    return row._replace(
        after=after, variance_after=row.variance_after * scale * scale + factor.variance * after * after
    )
