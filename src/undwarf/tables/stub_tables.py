"""What tables of linkage stubs have in common, whatever the machine: sections, each with a few rows."""

from abc import ABC, abstractmethod

from undwarf.buffers import zeros

NO_RULE = 0xFFFFFFFF


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
        found: list[tuple[int, int]] = [(start, NO_RULE)]
        for at, rule in self._all(piece):
            if at <= start:
                found = [(start, rule)]
            elif at < end:
                found.append((at, rule))
        addresses, numbers = zeros("Q", len(found)), zeros("I", len(found))
        for i, (at, rule) in enumerate(found):
            addresses[i], numbers[i] = at, rule
        return addresses, numbers

    def compile_all(self) -> int:
        """How many rows there are."""
        return sum(len(self._all(piece)) for piece in range(len(self.starts)))
