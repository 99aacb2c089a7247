"""Rows of unwind rules that several analyses of the same code have."""

from undwarf.tables.code.stack_state import RuleWords

__all__ = ["agreed", "completed"]

Rows = list[tuple[int, RuleWords | None]]


def agreed(found: list[Rows]) -> Rows:
    """One list of rows of several: what all say that say anything."""
    made = found[0]
    for other in found[1:]:
        merged: Rows = []
        i = j = 0
        while i < len(made) or j < len(other):
            at = min(made[i][0] if i < len(made) else 1 << 64, other[j][0] if j < len(other) else 1 << 64)
            i += i < len(made) and made[i][0] == at
            j += j < len(other) and other[j][0] == at
            one, two = made[i - 1][1], other[j - 1][1]
            rule = one if two is None or one == two else two if one is None else None
            if not merged or merged[-1][1] != rule:
                merged.append((at, rule))
        made = merged
    return made


def completed(made: Rows, reached: list[tuple[int, int]], others: list[Rows], end: int) -> Rows:
    """Rows of an analysis, and those of others where it says nothing and did not come: ``reached`` are the ranges where
    it did, ascending."""
    if not others:
        return made
    theirs = agreed(others)
    found: Rows = []
    for number, (start, rule) in enumerate(made):
        behind = made[number + 1][0] if number + 1 < len(made) else end
        if rule is not None or any(low < behind and start < high for low, high in reached):
            found.append((start, rule))
            continue
        inside = [one for one in theirs if start < one[0] < behind]
        before = [one for one in theirs if one[0] <= start]
        found += [(start, before[-1][1] if before else None), *inside]
    return found
