"""Rows as pairs of address and rule number, of sources that make few of them, in Python."""

from collections.abc import Iterable

from undwarf.buffers import zeros

NO_RULE = 0xFFFFFFFF

Pair = tuple[int, int]


def cut(rows: Iterable[Pair], start: int, end: int) -> list[Pair]:
    """What ascending rows say from ``start`` to ``end``: the first pair is at ``start``; before all rows is NO_RULE."""
    found = [(start, NO_RULE)]
    for at, rule in rows:
        if at >= end:
            break
        if at <= start:
            found = [(start, rule)]
        else:
            found.append((at, rule))
    return found


def columns(pairs: list[Pair]) -> tuple[memoryview, memoryview]:
    """The same as columns of addresses (Q) and of rule numbers (I)."""
    addresses, numbers = zeros("Q", len(pairs)), zeros("I", len(pairs))
    for i, (at, rule) in enumerate(pairs):
        addresses[i], numbers[i] = at, rule
    return addresses, numbers
