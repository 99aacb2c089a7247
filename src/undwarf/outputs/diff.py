"""A comparison as text: what changed first, what is noise in grey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs import diff_texts
from undwarf.outputs.report import percent, samples_text
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import Distinct, shorten, shorten_type
from undwarf.outputs.terminal.style import Paint, cells, fit, hidden_text

if TYPE_CHECKING:
    from undwarf.views.comparison.conditions import Verdict
    from undwarf.views.comparison.model import Comparison, EventComparison, Recorded, Row, Table

_LEAST_NAME = 20
"""Columns that names have at least."""
_WIDE = 100
"""Columns of a terminal from which on shares are shown."""


class DiffOptions(NamedTuple):
    """At most ``rows`` of a table are shown (0: all), of those that are at least ``percent_limit`` of the weight; lines
    have ``width`` columns (None: nothing is cut)."""

    rows: int = 0
    percent_limit: float = 1.0
    colour: bool = False
    width: int | None = None


def write(comparison: "Comparison", verdicts: "Sequence[Verdict]", sink: TextIO, options: DiffOptions) -> None:
    """Write the comparison."""
    paint = Paint(options.colour)
    for side, recordings in (("before", comparison.before), ("after", comparison.after)):
        sink.write(paint.bold(f"{side:>6}: {_recordings(recordings)}") + _lost(recordings, paint) + "\n")
    if comparison.whole is not None:
        sink.write(_quality(comparison.whole, paint) + "\n")
    if files := diff_texts.files_text(comparison):
        sink.write(paint.dim(printable(files)) + "\n")
    for event in comparison.events:
        _write_event(event, comparison, sink, options, paint)
    sink.write("\n")
    write_summary(comparison, verdicts, sink, colour=options.colour)


def write_summary(
    comparison: "Comparison", verdicts: "Sequence[Verdict]", sink: TextIO, *, colour: bool = False
) -> None:
    """Write whether anything was found, and what became of the conditions."""
    paint = Paint(colour)
    summary = diff_texts.summary_text(comparison)
    sink.write((paint.bold(summary) if comparison.significant else summary) + "\n")
    for verdict in verdicts:
        style = {"holds": paint.bad, "undecided": paint.warn}.get(verdict.state, paint.good)
        sink.write(style(printable(diff_texts.verdict_text(verdict))) + "\n")


def _recordings(recordings: "Sequence[Recorded]") -> str:
    names = [printable(one.path) for one in recordings]
    text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{text}: {samples_text(sum(one.profile.samples.columns.total for one in recordings))}"


def _lost(recordings: "Sequence[Recorded]", paint: Paint) -> str:
    lost = sum(one.lost for one in recordings)
    return paint.warn(f", {lost:,} lost") if lost else ""


def _quality(row: "Row", paint: Paint) -> str:
    shares = [percent(share) for share in (row.weight.before, row.weight.after)]
    if not row.significant:
        return paint.dim(f"user stacks that are whole: {shares[0]} before, {shares[1]} after")
    text = f"user stacks that are whole: {shares[0]} before, {shares[1]} after, more than chance explains"
    return (paint.warn if row.weight.after < row.weight.before else paint.good)(text)


def _write_event(
    event: "EventComparison", comparison: "Comparison", sink: TextIO, options: DiffOptions, paint: Paint
) -> None:
    name = event.name if event.name == event.name_after else f"{event.name} and {event.name_after}"
    what = f"  {diff_texts.per_text(comparison)}{diff_texts.unit_text(event)}"
    sink.write(f"\n{paint.bold(printable(name))}{paint.dim(printable(what))}\n")
    if event.alike is not None:
        sink.write(paint.warn(diff_texts.alike_text(event.alike)) + "\n")
    of_share = comparison.normalization.unit == "samples"
    single = len(comparison.before) == len(comparison.after) == 1
    for number, table in enumerate(event.tables):
        _write_table(event, table, sink, options, paint, of_share=of_share, total=not number, single=single)


def _write_table(
    event: "EventComparison",
    table: "Table",
    sink: TextIO,
    options: DiffOptions,
    paint: Paint,
    *,
    of_share: bool,
    total: bool,
    single: bool,
) -> None:
    shown = list(table.rows)
    if options.rows and len(shown) > options.rows:
        del shown[options.rows :]
    last = [table.others] if table.others is not None and len(shown) == len(table.rows) else []
    rows = [*([event.total] if total else []), *shown, *last]
    heads = ["Before", "After", "Difference", "95 % interval", "p", "Share"]
    texts = [_texts(row, event.unit, of_share) for row in rows]
    if options.width is not None and options.width < _WIDE:
        heads.pop()
    sizes = [max([cells(head), *(cells(one[at]) for one in texts)]) for at, head in enumerate(heads)]
    indent = sum(sizes) + 2 * len(sizes)
    room = max(_LEAST_NAME, options.width - indent) if options.width is not None else None
    names = [*(["total"] if total else []), *_names(table, shown, room)]
    names += [diff_texts.others_text(table)] * len(last)
    sink.write(("" if total else "\n") + paint.bold(f"{_line(heads, sizes)}  {diff_texts.TITLES[table.by]}") + "\n")
    for row, name, text in zip(rows, names, texts, strict=True):
        line = _line(text[: len(heads)], sizes)
        if row.significant:
            style = paint.bad if row.weight.after > row.weight.before else paint.good
            name = paint.name(name, kernel=row.kernel)
            sink.write(f"{line.replace(text[2], style(text[2]), 1)}  {name}\n")
        else:
            sink.write((f"{line}  {name}" if row is event.total else paint.dim(f"{line}  {name}")) + "\n")
        notes = "; ".join(printable(note.text) for note in row.notes)
        if row is event.total and single and not of_share:
            notes = "not tested: one run a side"
        if notes:
            sink.write(f"{'':{indent}}{paint.dim('↳ ' + (fit(notes, room - 2) if room is not None else notes))}\n")
    if hidden := hidden_text(len(table.rows), len(shown), options.rows, options.percent_limit):
        sink.write(paint.dim(hidden) + "\n")


def _line(texts: Sequence[str], sizes: Sequence[int]) -> str:
    return "  ".join(" " * (size - cells(text)) + text for text, size in zip(texts, sizes, strict=True))


def _texts(row: "Row", unit: str, of_share: bool) -> list[str]:
    change = row.weight
    return [
        diff_texts.quantity(change.before, unit, of_share=of_share),
        diff_texts.quantity(change.after, unit, of_share=of_share),
        diff_texts.change_text(row, of_share=of_share),
        diff_texts.interval_text(change, of_share=of_share),
        diff_texts.p_text(row),
        diff_texts.share_text(row) if row.name != "total" else "",
    ]


def _names(table: "Table", rows: "Sequence[Row]", room: int | None) -> list[str]:
    """The names as they are printed, in ``room`` columns, with the file where a function's name needs it."""
    seen: dict[str, int] = {}
    for row in table.rows:
        seen[row.name] = seen.get(row.name, 0) + 1
    distinct = Distinct(shorten_type if table.by in ("type", "field") else shorten)
    names = []
    for row in rows:
        if table.by == "path":
            names.append(_path(row, room, distinct))
            continue
        name = printable(row.name)
        more = ""
        if table.by == "line" or (table.by == "function" and seen[row.name] > 1):
            more = f"  {printable(row.image)}"
        if room is None:
            names.append(name + more)
            continue
        least = max(min(room, 20), room - cells(more))
        short = fit(name, least) if table.by in ("line", "image") else distinct(name, least)
        names.append(short + fit(more, max(0, room - cells(short))))
    return names


def _path(row: "Row", room: int | None, distinct: Distinct) -> str:
    """A call path by its last functions, as many as there is room for."""
    if room is None:
        return " > ".join(printable(name) for name in row.path)
    text = distinct(printable(row.path[-1]), room)
    for name in reversed(row.path[:-1]):
        longer = f"{shorten(printable(name), 24)} > {text}"
        if cells(longer) > room - 2:
            return f"… > {text}" if cells(text) <= room - 4 else text
        text = longer
    return text
