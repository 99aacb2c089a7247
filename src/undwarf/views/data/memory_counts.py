"""Sums over the data sources of samples: cache levels, TLB misses, page sizes."""

from undwarf.perfdata.data_source import from_other_cpu, level, missed, page_size, tlb_missed

__all__ = ["MemoryCounts"]


class MemoryCounts:
    """Weights by data source: ``known`` of the samples whose level is known, of these ``missed`` (the nearest cache),
    ``tlb_missed``, ``others`` (from another CPU's cache) and ``levels``; ``pages`` by the size of the data's page."""

    __slots__ = ("known", "levels", "missed", "others", "pages", "tlb_missed")

    known: int
    missed: int
    tlb_missed: int
    others: int
    levels: dict[str, int]
    pages: dict[str, int]

    def __init__(self) -> None:
        self.known = self.missed = self.tlb_missed = self.others = 0
        self.levels: dict[str, int] = {}
        self.pages: dict[str, int] = {}

    def add_source(self, source: int, weight: int) -> None:
        """Add samples of one data source."""
        where = level(source)
        if where == "N/A":
            return
        self.known += weight
        self.levels[where] = self.levels.get(where, 0) + weight
        self.missed += weight if missed(source) else 0
        self.tlb_missed += weight if tlb_missed(source) else 0
        self.others += weight if from_other_cpu(source) else 0

    def add_page(self, size: int, weight: int) -> None:
        """Add samples whose data is on pages of this size (bytes; 0: unknown)."""
        if size:
            name = page_size(size)
            self.pages[name] = self.pages.get(name, 0) + weight

    def add(self, other: "MemoryCounts") -> None:
        """Add another one's weights."""
        self.known += other.known
        self.missed += other.missed
        self.tlb_missed += other.tlb_missed
        self.others += other.others
        for mine, theirs in ((self.levels, other.levels), (self.pages, other.pages)):
            for name, weight in theirs.items():
                mine[name] = mine.get(name, 0) + weight
