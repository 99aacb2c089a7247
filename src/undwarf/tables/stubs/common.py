"""Tables of procedure linkage stubs on any machine: sections, each with a few rows."""

from abc import ABC, abstractmethod

from undwarf.column import zeros
from undwarf.tables.python_rows import columns, cut


class StubTables(ABC):
    """The tables of one file: ``starts`` and ``ends`` ('Q') are those of the sections, in order, none in another."""

    indexed = False
    apart = True

    def __init__(self, places: list[tuple[int, int]]) -> None:
        self.starts: memoryview = zeros("Q", len(places))
        self.ends: memoryview = zeros("Q", len(places))
        for i, (start, end) in enumerate(places):
            self.starts[i], self.ends[i] = start, end

    @abstractmethod
    def _all(self, piece: int) -> list[tuple[int, int]]:
        """(address, rule number) of a section's rows, the first at its start."""

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses 'Q', rule numbers 'I') of a section's rows from ``start`` to ``end``."""
        return columns(cut(self._all(piece), start, end))

    def compile_all(self) -> int:
        """How many rows there are."""
        return sum(len(self._all(piece)) for piece in range(len(self.starts)))
