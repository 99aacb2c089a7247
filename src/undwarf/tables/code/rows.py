"""Merges the rows of several analyses of the same code."""

from undwarf.tables.code.stack_state import RuleWords

__all__ = ["agreed", "completed"]

Rows = list[tuple[int, RuleWords | None]]


def agreed(found: list[Rows]) -> Rows:
    """Rows with the rules on which all analyses agree that have one."""
    rows = found[0]
    for other in found[1:]:
        merged: Rows = []
        i = j = 0
        while i < len(rows) or j < len(other):
            at = min(rows[i][0] if i < len(rows) else 1 << 64, other[j][0] if j < len(other) else 1 << 64)
            i += i < len(rows) and rows[i][0] == at
            j += j < len(other) and other[j][0] == at
            one, two = rows[i - 1][1], other[j - 1][1]
            rule = one if two is None or one == two else two if one is None else None
            if not merged or merged[-1][1] != rule:
                merged.append((at, rule))
        rows = merged
    return rows


def completed(rows: Rows, reached: list[tuple[int, int]], others: list[Rows], end: int) -> Rows:
    """Rows of an analysis, and those of others where it has no rule and did not get: ``reached`` are the ranges,
    ascending, that it reached."""
    if not others:
        return rows
    theirs = agreed(others)
    found: Rows = []
    for number, (start, rule) in enumerate(rows):
        row_end = rows[number + 1][0] if number + 1 < len(rows) else end
        if rule is not None or any(low < row_end and start < high for low, high in reached):
            found.append((start, rule))
            continue
        inside = [one for one in theirs if start < one[0] < row_end]
        before = [one for one in theirs if one[0] <= start]
        found += [(start, before[-1][1] if before else None), *inside]
    return found
