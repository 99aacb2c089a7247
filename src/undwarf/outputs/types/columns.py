"""The columns of shares and counts before types, members and instructions in the terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten
from undwarf.outputs.terminal.style import Paint, cells
from undwarf.outputs.types.advice import inferred_text

if TYPE_CHECKING:
    from undwarf.views.data.layout import LayoutLine
    from undwarf.views.data.types import Counts, DataTypes, InstructionRow, TypeRow

Row = TypeVar("Row", "TypeRow", "InstructionRow")

_LEAST_NAME = 16
"""Columns that the name of a type or function keeps on a narrow terminal."""


class TypesOptions(NamedTuple):
    """What is shown: rows with at least ``percent_limit`` percent of the weight, at most ``rows`` (0: all). ``width``
    in columns; None: names are not cut."""

    percent_limit: float = 0.5
    rows: int = 0
    colour: bool = False
    path: str = ""
    skid: bool = False
    precise: bool = False
    """Samples stop at the access itself, so that --skid finds nothing more."""
    width: int | None = None
    stored: bool = False
    """Of a store, whose files are looked at with another command."""

    def least(self, total: int) -> float:
        """The lowest weight that is shown."""
        return self.percent_limit * total / 100

    def shown(self, rows: Iterable[Row], total: int) -> list[Row]:
        """The rows that are shown."""
        least = self.least(total)
        return [row for row in rows if row.counts.weight >= least][: self.rows or None]

    def fitted(self, name: str, *others: str) -> str:
        """A name, cut so that it fits on a line with ``others``."""
        if self.width is None:
            return name
        return shorten(name, max(_LEAST_NAME, self.width - sum(map(cells, others))))


def share_text(part: int, whole: int) -> str:
    """A share in its column."""
    return f"{100 * part / whole if whole else 0:6.2f}%"


def inferred_note(counts: "Counts") -> str:
    """The end of a row that was inferred in part."""
    text = inferred_text(counts)
    return f"  {text}" if text else ""


class Columns:
    """The columns of numbers before a type or member, as far as the recording has them."""

    def __init__(self, data: "DataTypes", *, weighed: bool = True) -> None:
        self._weighed = weighed
        self._latency = weighed and data.has_latency
        self._sources = weighed and data.has_sources
        self.width = (23 if weighed else 0) + 9 * self._latency + 8 * self._sources

    def head(self) -> str:
        """Their titles."""
        text = f"{'Weight':>7} {'Loads':>7} {'Stores':>7}" if self._weighed else ""
        text += f" {'Latency':>8}" if self._latency else ""
        return text + (f" {'Missed':>7}" if self._sources else "")

    def numbers(self, counts: "Counts", total: int, paint: Paint) -> str:
        """Shares of ``total``; the mean latency; the miss rate of the nearest cache."""
        share = counts.weight / total
        text = paint.share(share, share_text(counts.weight, total))
        text += f" {share_text(counts.loads, total)} {share_text(counts.stores, total)}"
        if self._latency:
            text += f" {counts.mean_latency:8.1f}" if counts.timed else f" {'':8}"
        if self._sources:
            memory = counts.memory
            text += f" {share_text(memory.missed, memory.known)}" if memory.known else f" {'':7}"
        return text


def reached_note(line: "LayoutLine") -> str:
    """The share of a member's weight that is of accesses which start before it."""
    if not line.reached or line.counts is None:
        return ""
    share = line.reached / line.counts.weight
    return "  with what is before" if share > 0.995 else f"  {100 * share:.0f}% with what is before"


def levels(counts: "Counts") -> str:
    """The cache levels by weight; the shares from other CPUs' caches and of TLB misses; the page sizes."""
    memory = counts.memory
    parts = [
        f"{printable(name)} {100 * weight / memory.known:.0f}%"
        for name, weight in sorted(memory.levels.items(), key=lambda level: (-level[1], level[0]))[:4]
    ]
    if len(memory.levels) > 4:
        parts.append("...")
    if memory.others:
        parts.append(f"from another cpu's cache {100 * memory.others / memory.known:.0f}%")
    if memory.tlb_missed:
        parts.append(f"TLB missed {100 * memory.tlb_missed / memory.known:.0f}%")
    if memory.pages:
        parts.append(f"pages {', '.join(sorted(memory.pages, key=lambda name: -memory.pages[name])[:3])}")
    return ", ".join(parts)
