"""The functions of one section of an ELF file as a source of rules: their ranges, and a table of their rows."""

from undwarf.defects import Defects
from undwarf.tables.row_table import RowTable


class SectionSource:
    """``starts`` and ``ends`` (Q) are sorted, disjoint ranges of ELF virtual addresses; ``entry`` (I) has each one's
    function in ``table``, None if ranges are functions. Damaged functions are counted as ``damage`` of ``subject``.

    ``indexed`` marks a source made of a search table: its ranges extend to the next function, with a hole at the end of
    their rows, and the full source, which comes next, replaces it.
    """

    def __init__(
        self,
        starts: memoryview,
        ends: memoryview,
        entry: memoryview | None,
        table: RowTable,
        *,
        damage: str,
        subject: str,
        defects: Defects,
        indexed: bool = False,
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.indexed = indexed
        self.damaged = 0
        """Damaged functions among those whose rows were computed."""
        self._entry = entry
        self._table = table
        self._damage = damage
        self._subject = subject
        self._defects = defects

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one range's rows from ``start`` to ``end``, computed at the first call."""
        function = piece if self._entry is None else self._entry[piece]
        found: tuple[memoryview, memoryview] = self._table.rows(function, start, end)
        if self._table.damaged != self.damaged:
            self._count_damage()
        return found

    def compile_all(self) -> int:
        """Compute the rows of all functions; the number of rows."""
        total = int(self._table.compile_all())
        self._count_damage()
        return total

    def flatten(self) -> tuple[memoryview, memoryview]:
        """All rows as columns (:mod:`undwarf.tables.flat_rows`), for a table without other sources."""
        found: tuple[memoryview, memoryview] = self._table.flatten(self.starts, self.ends, self._entry)
        self._count_damage()
        return found

    def _count_damage(self) -> None:
        damaged = int(self._table.damaged)
        if damaged != self.damaged:
            self._defects.add(self._damage, self._subject, damaged - self.damaged)
            self.damaged = damaged
