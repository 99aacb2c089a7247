"""A comparison as Markdown, for a comment on a pull request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs import diff_texts
from undwarf.outputs.report import percent, samples_text
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.comparison.conditions import Verdict
    from undwarf.views.comparison.model import Comparison, EventComparison, Recorded, Row, Table

_SPECIAL = "\\`*_{}[]()<>#+!|~@&:$"
_MOST_ROWS = 40
"""Rows of noise that are written: comments have a limit of 65,536 characters."""
_MOST_NAME = 160


def write(comparison: "Comparison", verdicts: "Sequence[Verdict]", sink: TextIO) -> None:
    """Write the comparison."""
    sink.write(f"**{text(diff_texts.summary_text(comparison))}**\n\n")
    for verdict in verdicts:
        mark = {"holds": "❌", "undecided": "⚠️"}.get(verdict.state, "✅")
        sink.write(f"- {mark} {text(diff_texts.verdict_text(verdict))}\n")
    if verdicts:
        sink.write("\n")
    for event in comparison.events:
        _write_event(event, comparison, sink)
    for side, recordings in (("before", comparison.before), ("after", comparison.after)):
        sink.write(f"{side}: {_recordings(recordings)}  \n")
    if files := diff_texts.files_text(comparison):
        sink.write(f"{text(files)}  \n")
    if (whole := comparison.whole) is not None:
        more = ", more than chance explains" if whole.significant else ""
        shares = f"{percent(whole.weight.before)} before, {percent(whole.weight.after)} after{more}"
        sink.write(f"user stacks that are whole: {shares}\n")


def _recordings(recordings: "Sequence[Recorded]") -> str:
    count = sum(one.profile.samples.columns.total for one in recordings)
    lost = sum(one.lost for one in recordings)
    names = ", ".join(text(one.path) for one in recordings[:5])
    more = f" and {len(recordings) - 5} more" if len(recordings) > 5 else ""
    return f"{names}{more}: {samples_text(count)}{f', {lost:,} lost' if lost else ''}"


def _write_event(event: "EventComparison", comparison: "Comparison", sink: TextIO) -> None:
    what = f"{diff_texts.per_text(comparison)}{diff_texts.unit_text(event)}"
    sink.write(f"{text(event.name)} {text(what)}\n\n")
    if event.alike is not None:
        sink.write(f"⚠️ {text(diff_texts.alike_text(event.alike))}\n\n")
    of_share = comparison.normalization.unit == "samples"
    for number, table in enumerate(event.tables):
        first = [event.total] if not number else []
        marked = [row for row in table.rows if row.significant]
        noise = [row for row in table.rows if not row.significant]
        _write_table([*first, *marked], table, event.unit, of_share, sink)
        sink.write("\n")
        if noise or table.others is not None:
            shown = noise[:_MOST_ROWS]
            count = len(noise) + (table.others is not None)
            sink.write(f"<details><summary>{count} rows that chance explains</summary>\n\n")
            _write_table([*shown, *([table.others] if table.others else [])], table, event.unit, of_share, sink)
            if len(noise) > len(shown):
                sink.write(f"\nand {len(noise) - len(shown)} more\n")
            sink.write("\n</details>\n\n")


def _write_table(rows: "Sequence[Row]", table: "Table", unit: str, of_share: bool, sink: TextIO) -> None:
    if not rows:
        return
    sink.write(f"| {diff_texts.TITLES[table.by]} | Before | After | Difference | 95 % interval | p | Share |\n")
    sink.write("|---|--:|--:|--:|--:|--:|--:|\n")
    for row in rows:
        change = row.weight
        name = diff_texts.others_text(table) if row is table.others else _name(row)
        cells = [
            text(name, most=_MOST_NAME) if row.name != "total" else "**total**",
            diff_texts.quantity(change.before, unit, of_share=of_share),
            diff_texts.quantity(change.after, unit, of_share=of_share),
            diff_texts.change_text(row, of_share=of_share),
            diff_texts.interval_text(change, of_share=of_share),
            text(diff_texts.p_text(row)),
            diff_texts.share_text(row) if row.name != "total" else "",
        ]
        if row.significant:
            cells[3] = f"**{cells[3]}**"
        if row.notes:
            cells[0] += "<br>" + text("; ".join(note.text for note in row.notes), most=2 * _MOST_NAME)
        sink.write(f"| {' | '.join(cells)} |\n")


def _name(row: "Row") -> str:
    return " > ".join(row.path[-4:]) if row.path else row.name


def text(value: str, *, most: int = 1000) -> str:
    """A text that Markdown shows as it is: names from recordings may have any character."""
    shown = printable(value)
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return "".join(f"&#{ord(char)};" if char in _SPECIAL else char for char in shown)
