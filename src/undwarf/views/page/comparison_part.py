"""The parts of a page that compares two sides: the profile of both, and what the comparison says."""

from dataclasses import dataclass
from typing import Any

from undwarf.column import zeros
from undwarf.ordering import take
from undwarf.profile.grouping import look_up
from undwarf.profile.model import NONE
from undwarf.views.comparison.combined import Combined
from undwarf.views.comparison.model import LEVEL, Change, Comparison, Recorded, Row, Table
from undwarf.views.kernels.page_columns import narrowed
from undwarf.views.page.part import Part
from undwarf.views.page.profile_part import Bounds, PageProfile, profile_part
from undwarf.views.sample_selection import Weight

VERSION = 1


@dataclass(slots=True)
class ComparedPage:
    """The page's profile of both sides; ``numbers`` (I): the function of the page by the comparison's number, none if
    it has no node; ``recording`` (I): of each row, those of before first."""

    page: PageProfile
    numbers: memoryview
    recording: memoryview


def compared_page(
    comparison: Comparison,
    combined: Combined,
    title: str,
    recording: dict[str, str | None],
    *,
    dump: int = 8192,
    bounds: Bounds | None = None,
) -> ComparedPage:
    """The profile of both sides with the columns ``row_side`` and, with several recordings on a side,
    ``row_recording``; its measures are the events of the comparison."""
    page = profile_part(combined.profile, title, recording, dump=dump, bounds=bounds, apart=combined.recording)
    values, columns = page.part.values, page.part.columns
    values["measures"] = [
        {"name": event.name, "unit": event.unit or None, "events": [number]}
        for number, event in enumerate(comparison.events)
    ]
    of_row = take(combined.recording, page.samples)
    sides = zeros("I", len(comparison.before) + len(comparison.after))
    for at in range(len(comparison.before), len(sides)):
        sides[at] = 1
    columns["row_side"] = narrowed(look_up(of_row, sides), "B")
    if len(sides) > 2:
        columns["row_recording"] = narrowed(of_row, "H")
    # A node that was cut has no function of the comparison.
    numbers = zeros("I", max(1, len(comparison.functions.pairs)))
    for at in range(len(numbers)):
        numbers[at] = NONE
    for number, of in enumerate(page.functions):
        for one in of:
            numbers[one] = number
    return ComparedPage(page, numbers, of_row)


def comparison_part(comparison: Comparison, combined: Combined, compared: ComparedPage, weight: Weight) -> Part:
    """What was compared, the units of work, and the rows of all tables with the functions of the page."""
    rows = _Rows(compared.numbers)
    normalization = comparison.normalization
    values: dict[str, Any] = {
        "version": VERSION,
        "before": [_side(one) for one in comparison.before],
        "after": [_side(one) for one in comparison.after],
        "normalized_by": normalization.unit,
        "normalizing_event": normalization.event or None,
        "weight": weight,
        "level": LEVEL,
        "tests": comparison.tests,
        "any_significant": comparison.significant,
        "whole": rows.row(comparison.whole) if comparison.whole is not None else None,
        "files": [{"before": before, "after": after} for before, after in comparison.files],
        "events": [
            {
                "event": event.name,
                "event_after": event.name_after,
                "unit": event.unit or None,
                "alike": event.alike,
                "work": work,
                "total": rows.row(event.total),
                "tables": [rows.table(table) for table in event.tables],
            }
            for event, work in zip(comparison.events, combined.work, strict=True)
        ],
        "renamed": _renamed(comparison, compared),
    }
    return Part("comparison", values, {})


def _side(recorded: Recorded) -> dict[str, Any]:
    return {"recording": recorded.path, "samples": recorded.profile.samples.columns.total, "lost": recorded.lost}


def _renamed(comparison: Comparison, compared: ComparedPage) -> list[list[Any]]:
    """[function of the page, name before] where a function had another name before."""
    return [
        [compared.numbers[number], pair.before]
        for number, pair in enumerate(comparison.functions.pairs)
        if pair.before is not None
        and pair.after is not None
        and pair.before != pair.after
        and compared.numbers[number] != NONE
    ]


class _Rows:
    """Rows as the page has them."""

    def __init__(self, numbers: memoryview) -> None:
        self._numbers = numbers

    def table(self, table: Table) -> dict[str, Any]:
        """A table."""
        return {
            "by": table.by,
            "rows": [self.row(row) for row in table.rows],
            "others": self.row(table.others) if table.others is not None else None,
            "others_count": table.below,
        }

    def row(self, row: Row) -> dict[str, Any]:
        """A row; of a call path with the functions from the root on, in place of names."""
        found: dict[str, Any] = {
            "name": row.name,
            "name_before": row.name_before or None,
            "image": row.image or None,
            "kernel": row.kernel,
            "function": self._function(row.number),
            "weight": _change(row.weight),
            "share": _change(row.share),
            "samples": list(row.samples),
            "p_corrected": row.adjusted,
            "significant": row.significant,
            "notes": [[note.kind, note.text] for note in row.notes],
        }
        if row.numbers:
            found["path"] = [self._function(number) for number in row.numbers]
        return found

    def _function(self, number: int) -> int | None:
        return self._numbers[number] if number >= 0 and self._numbers[number] != NONE else None


def _change(change: Change) -> list[float | None]:
    """[before, after, difference's lower and upper end, ratio's lower and upper end, p]."""
    low, high = change.difference if change.difference is not None else (None, None)
    ratio_low, ratio_high = change.ratio if change.ratio is not None else (None, None)
    return [change.before, change.after, low, high, ratio_low, ratio_high, change.p]
