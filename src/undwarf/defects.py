"""Defects: damaged input that was skipped or worked around, counted, and shown in reports."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from undwarf.errors import UndwarfError

CUT_SHORT = "file cut short while it was read"
OWN_DEFECT = "defect of undwarf"
"""Kinds of defects."""


@dataclass(slots=True)
class Defect:
    """One kind of damage in one subject (a file, a section, a record type), and how often it occurred."""

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
        """Count a defect; of a (kind, subject) the first detail is kept."""
        if len(self._found) >= self._limit and (kind, subject) not in self._found:
            kind, subject, detail = "further defects", "", ""
        found = self._found.get((kind, subject))
        if found is None:
            self._found[kind, subject] = Defect(kind, subject, count, detail)
        else:
            found.count += count

    def contained(self, subject: str) -> "Contained":
        """A context in which an unexpected exception ends the reading of ``subject``, not the run."""
        return Contained(self, subject)

    def __iter__(self) -> Iterator[Defect]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<undwarf.Defects: {len(self)} kinds, {self.total():,} in all>"

    def total(self) -> int:
        """The number of all defects."""
        return sum(defect.count for defect in self._found.values())


class Contained:
    """A context manager that catches exceptions in reading one file and counts them as defects of undwarf.

    UndwarfError, MemoryError and interrupts are not caught; if ``UNDWARF_TRACEBACK`` is set, as for tests and fuzzers,
    only OSError is. ``failed``: whether there was an exception.
    """

    __slots__ = ("_defects", "_subject", "failed")

    def __init__(self, defects: Defects, subject: str) -> None:
        self._defects = defects
        self._subject = subject
        self.failed = False

    def __enter__(self) -> "Contained":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(value, Exception) or isinstance(value, UndwarfError | MemoryError):
            return False
        if isinstance(value, OSError):
            self._defects.add("file cannot be read", self._subject, detail=str(value))
        elif os.environ.get("UNDWARF_TRACEBACK"):
            return False
        else:
            hint = "set UNDWARF_TRACEBACK=1, run again, and report it"
            self._defects.add(OWN_DEFECT, self._subject, detail=f"{type(value).__name__}: {value}; {hint}")
        self.failed = True
        return True
