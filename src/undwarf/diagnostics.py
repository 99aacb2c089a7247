"""Defects: bad data that was met, counted and worked around, as values that reports show."""

from collections.abc import Iterator

from undwarf.lazy_dataclasses import dataclass


@dataclass(slots=True)
class Defect:
    """One kind of damage in one subject (a file, a section, a record type), and how often it was met."""

    kind: str
    subject: str
    count: int
    detail: str

    def __str__(self) -> str:
        where = f" in {self.subject}" if self.subject else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        more = f": {self.detail}" if self.detail else ""
        return f"{self.kind}{where}{more}{times}"


class Defects:
    """Counts defects by (kind, subject). The number of distinct entries is bounded; the rest is summed."""

    def __init__(self, limit: int = 1000) -> None:
        self._found: dict[tuple[str, str], Defect] = {}
        self._limit = limit

    def add(self, kind: str, subject: str = "", count: int = 1, detail: str = "") -> None:
        """Count one more defect; the first detail given for a (kind, subject) is the one that is kept."""
        if len(self._found) >= self._limit and (kind, subject) not in self._found:
            kind, subject, detail = "further defects", "", ""
        found = self._found.get((kind, subject))
        if found is None:
            self._found[kind, subject] = Defect(kind, subject, count, detail)
        else:
            found.count += count

    def __iter__(self) -> Iterator[Defect]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def total(self) -> int:
        """How many defects were counted in all."""
        return sum(defect.count for defect in self._found.values())
