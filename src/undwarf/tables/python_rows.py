"""Rows as Python pairs of address and rule index, for sources that have few of them."""

from array import array
from collections.abc import Collection, Iterable

from undwarf.column import zeros
from undwarf.tables.rule_format import NO_RULE

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


class PairRows:
    """Rows of the ranges of a source, each put once; ``total`` is how many there are. They are kept as columns, since
    whoever prints a table goes through all."""

    def __init__(self, ranges: int) -> None:
        self._addresses, self._numbers = array("Q"), array("I")
        self._first, self._count = zeros("I", ranges), zeros("I", ranges)

    @property
    def total(self) -> int:
        """Rows of all ranges."""
        return len(self._addresses)

    def get(self, piece: int) -> list[Pair] | None:
        """The rows of a range; None where none were put."""
        first, count = self._first[piece], self._count[piece]
        here = slice(first, first + count)
        return list(zip(self._addresses[here], self._numbers[here], strict=True)) if count else None

    def put(self, piece: int, rows: Collection[Pair]) -> None:
        """Keep the rows of a range; where there are none it counts as not put."""
        self._first[piece], self._count[piece] = len(self._addresses), len(rows)
        self._addresses.extend(at for at, _ in rows)
        self._numbers.extend(number for _, number in rows)
