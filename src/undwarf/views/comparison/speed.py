"""Tells a change of everything alike from changes of single rows, where one recording a side is all there is.

A machine that ran 2 % slower makes every function 2 % slower, and nothing within a recording shows that. But if one
function alone is slower, the others are as fast as before.
"""

from undwarf.views.comparison.variance import Estimate

_HALF = 0.5
"""The others moved alike if they moved at least half as far as the whole: the middle between not at all and alike."""
_MOST = 1.25
"""The largest factor, or one by it the smallest, that the speed of one machine explains."""


def relative_to_whole(row: Estimate, whole: tuple[float, float]) -> Estimate | None:
    """The row without the factor by which the ``whole`` (before, after) changed, if that may be the machine's speed:
    the rest moved alike, or the row is most of the whole itself, and the rest too little to tell. None if it is not.
    """
    before, after = whole
    if not before or not after:
        return None
    factor = after / before
    rest = before - row.before, after - row.after
    if (row.before / before + row.after / after) / 2 <= _HALF:
        moved = factor - 1
        others = rest[1] / rest[0] - 1 if rest[0] > 0 else 0.0
        if others * moved <= _HALF * moved * moved or not 1 / _MOST <= factor <= _MOST:
            return None
    return row._replace(after=row.after / factor, variance_after=row.variance_after / factor**2)
