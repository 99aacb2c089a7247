"""Rows of unwind rules that several analyses of the same code have."""

from undwarf.tables.code.stack_state import RuleWords

__all__ = ["agreed"]


def agreed(found: "list[list[tuple[int, RuleWords | None]]]") -> "list[tuple[int, RuleWords | None]]":
    """One list of rows of several: what all say that say anything."""
    made = found[0]
    for other in found[1:]:
        merged: list[tuple[int, RuleWords | None]] = []
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
