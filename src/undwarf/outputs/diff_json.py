"""A comparison as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import known

if TYPE_CHECKING:
    from undwarf.outputs.schemas.diff import Change, Condition, Diff, DiffRow, Side, Table
    from undwarf.views.comparison import model
    from undwarf.views.comparison.conditions import Verdict


def write(comparison: "model.Comparison", verdicts: "Sequence[Verdict]", sink: TextIO, percent_limit: float) -> None:
    """Write one JSON object."""
    document: Diff = {
        "schema": "undwarf/diff",
        "version": 1,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "normalized_by": comparison.normalization.unit,
        "normalizing_event": comparison.normalization.event or None,
        "row_limit_percent": percent_limit,
        "tests": comparison.tests,
        "any_significant": comparison.significant,
        "whole": _row(comparison.whole) if comparison.whole is not None else None,
        "files": [{"before": before, "after": after} for before, after in comparison.files],
        "events": [
            {
                "event": event.name,
                "event_after": event.name_after,
                "unit": known(event.unit),
                "total": _row(event.total),
                "alike": event.alike,
                "tables": [_table(table) for table in event.tables],
            }
            for event in comparison.events
        ],
        "conditions": [_condition(verdict) for verdict in verdicts],
    }
    dump(document, sink)


def _side(recordings: "Sequence[model.Recorded]") -> "Side":
    return {
        "recordings": [
            {"recording": one.path, "samples": one.profile.samples.columns.total, "lost": one.lost}
            for one in recordings
        ]
    }


def _table(table: "model.Table") -> "Table":
    return {
        "by": table.by,
        "rows": [_row(row) for row in table.rows],
        "others": _row(table.others) if table.others is not None else None,
        "others_count": table.below,
    }


def _row(row: "model.Row") -> "DiffRow":
    return {
        "name": row.name,
        "name_before": known(row.name_before),
        "dso": known(row.image),
        "path": list(row.path) or None,
        "kernel": row.kernel,
        "weight": _change(row.weight),
        "share": _change(row.share),
        "samples_before": row.samples[0],
        "samples_after": row.samples[1],
        "p_corrected": row.adjusted,
        "significant": row.significant,
        "notes": [{"kind": note.kind, "text": note.text} for note in row.notes],
    }


def _change(change: "model.Change") -> "Change":
    low, high = change.difference if change.difference is not None else (None, None)
    ratio_low, ratio_high = change.ratio if change.ratio is not None else (None, None)
    return {
        "before": change.before,
        "after": change.after,
        "difference": change.after - change.before,
        "difference_low": low,
        "difference_high": high,
        "ratio": change.after / change.before if change.before else None,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "p": change.p,
    }


def _condition(verdict: "Verdict") -> "Condition":
    return {
        "condition": verdict.condition.text,
        "state": verdict.state,
        "why": known(verdict.why),
        "rows": [row.name for _event, row in verdict.rows],
    }
