"""Rows as Python pairs of address and rule number, for sources that have few of them."""

from array import array
from collections.abc import Callable, Collection, Iterable

from undwarf.tables.rule_format import NO_RULE

Pair = tuple[int, int]
RowsOf = Callable[[int], Collection[Pair]]


def cut(rows: Iterable[Pair], start: int, end: int) -> list[Pair]:
    """Ascending rows cut to a range: the first pair is at ``start``; before all rows is NO_RULE."""
    found = [(start, NO_RULE)]
    for at, rule in rows:
        if at >= end:
            break
        if at <= start:
            found = [(start, rule)]
        else:
            found.append((at, rule))
    return found


def columns(rows: Collection[Pair]) -> tuple[memoryview, memoryview]:
    """Rows as columns of addresses (Q) and of rule numbers (I)."""
    return memoryview(array("Q", [at for at, _ in rows])), memoryview(array("I", [rule for _, rule in rows]))


def range_columns(ranges: Collection[Pair]) -> tuple[memoryview, memoryview]:
    """(start, end) pairs as columns of starts (Q) and of ends (Q)."""
    return memoryview(array("Q", [start for start, _ in ranges])), memoryview(array("Q", [end for _, end in ranges]))


class PairRows:
    """The rows of a source's ranges, each computed once. They are stored as columns, since printing a table needs all
    of them."""

    def __init__(self, ranges: int) -> None:
        self._addresses, self._rules = array("Q"), array("I")
        self._known: list[slice | None] = [None] * ranges

    @property
    def total(self) -> int:
        """Rows of all ranges so far."""
        return len(self._addresses)

    def of(self, piece: int, rows_of: RowsOf) -> list[Pair]:
        """The rows of a range; ``rows_of(piece)`` computes them."""
        known = self._known[piece]
        if known is None:
            rows = rows_of(piece)
            known = self._known[piece] = slice(len(self._addresses), len(self._addresses) + len(rows))
            self._addresses.extend(at for at, _ in rows)
            self._rules.extend(rule for _, rule in rows)
        return list(zip(self._addresses[known], self._rules[known], strict=True))

    def compute_all(self, rows_of: RowsOf) -> int:
        """Compute the rows of all ranges; the number of rows."""
        for piece, known in enumerate(self._known):
            if known is None:
                self.of(piece, rows_of)
        return self.total


class PairSource:
    """A source (:class:`undwarf.tables.sources.Source`) of sorted, disjoint ``ranges``, whose rows are computed one
    range at a time: ``rows_of(start, end)`` gives them ascending from the start. ``on_demand``: :meth:`compile_all`
    computes none."""

    indexed = False

    def __init__(
        self,
        ranges: list[Pair],
        rows_of: Callable[[int, int], Collection[Pair]],
        *,
        apart: bool = False,
        on_demand: bool = False,
    ) -> None:
        self.starts, self.ends = range_columns(ranges)
        self.apart = apart
        self._on_demand = on_demand
        self._rows_of = rows_of
        self._rows = PairRows(len(ranges))

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of a range's rows from ``start`` to ``end``."""
        return columns(cut(self._rows.of(piece, self._rows_of_piece), start, end))

    def compile_all(self) -> int:
        """Compute all rows, unless ``on_demand``; the number of rows."""
        return self._rows.total if self._on_demand else self._rows.compute_all(self._rows_of_piece)

    def _rows_of_piece(self, piece: int) -> Collection[Pair]:
        return self._rows_of(self.starts[piece], self.ends[piece])
