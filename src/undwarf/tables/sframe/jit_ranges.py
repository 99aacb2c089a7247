"""Unwind information registered at run time: address ranges of JIT code, each with an SFrame section in memory.

Just-in-time compilers and loaders of plugins register such sections with the kernel (the prctl proposed for Linux),
because no ELF file has them. All addresses are those of the running process.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.errors import UsageError
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.from_sframe import source_of_section
from undwarf.tables.model import Rule, UnwindTable
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import Source


@dataclass(frozen=True, slots=True)
class _Range:
    start: int
    end: int
    section: memoryview
    address: int


class _Within:
    """The functions of a source in one range, cut to it."""

    indexed = False

    def __init__(self, source: Source, low: int, high: int) -> None:
        self._source = source
        self._first = bisect_right(source.ends, low)
        last = max(bisect_left(source.starts, high), self._first)
        self.starts: memoryview = zeros("Q", last - self._first)
        self.ends: memoryview = zeros("Q", last - self._first)
        self.starts[:] = source.starts[self._first : last]
        self.ends[:] = source.ends[self._first : last]
        if last > self._first:
            self.starts[0] = max(self.starts[0], low)
            self.ends[last - self._first - 1] = min(self.ends[last - self._first - 1], high)

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """As the source's, whose function has another number."""
        return self._source.rows(self._first + piece, start, end)

    def compile_all(self) -> int:
        """Compute all rows of the source; the number of rows."""
        return self._source.compile_all()


class TextRanges:
    """The ranges of one process. Iterating gives (start, end) of each, ascending.

    ``machine`` and ``byte_order`` are those of the process. Damage in sections is counted in ``defects``.
    """

    def __init__(
        self,
        machine: int = 62,
        byte_order: str = "little",
        *,
        rules: RuleSet | None = None,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        self.machine = machine
        self.byte_order = byte_order
        self.rules = rules if rules is not None else RuleSet(limits)
        self.defects = defects if defects is not None else Defects()
        self._limits = limits
        self._ranges: list[_Range] = []
        self._table: UnwindTable | None = None

    def add(self, start: int, end: int, section: "bytes | memoryview", address: int) -> None:
        """Register the code from ``start`` to ``end``, whose section was at ``address``.

        Raises UsageError for an empty range, and for one that overlaps another: code that moves away is removed first.
        """
        if not 0 <= start < end <= 1 << 64:
            raise UsageError(f"{start:#x} to {end:#x} is not a range of code", "", "give the first address and the end")
        at = bisect_right(self._ranges, start, key=lambda one: one.end)
        if at < len(self._ranges) and self._ranges[at].start < end:
            other = self._ranges[at]
            raise UsageError(
                f"{start:#x} to {end:#x} overlaps {other.start:#x} to {other.end:#x}", "", "remove that range first"
            )
        self._ranges.insert(at, _Range(start, end, memoryview(section), address))
        self._table = None

    def remove(self, start: int) -> None:
        """Take out the range that starts at ``start``. Raises UsageError where there is none."""
        at = bisect_left(self._ranges, start, key=lambda one: one.start)
        if at == len(self._ranges) or self._ranges[at].start != start:
            raise UsageError(f"no range starts at {start:#x}", "", "remove a range by its first address")
        del self._ranges[at]
        self._table = None

    @property
    def table(self) -> UnwindTable:
        """The table of all ranges as they are now."""
        if self._table is None:
            self._table = self.table_with(self.rules)
        return self._table

    def table_with(self, rules: RuleSet) -> UnwindTable:
        """The same with rules in another set."""
        table = UnwindTable(rules, [partial(self._source, one, rules) for one in self._ranges], self.machine)
        table.complete()
        return table

    def rule_at(self, address: int) -> Rule | None:
        """The rule at an address of the process, None where there is none."""
        return self.table.rule_at(address)

    def _source(self, one: _Range, rules: RuleSet) -> Source | None:
        source = source_of_section(
            one.section,
            one.address,
            machine=self.machine,
            byte_order=self.byte_order,
            rules=rules,
            code=[(one.start, one.end)],
            subject=f"section at {one.address:#x}",
            limits=self._limits,
            defects=self.defects,
        )
        return _Within(source, one.start, one.end) if source is not None else None

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(one.start, one.end) for one in self._ranges])
