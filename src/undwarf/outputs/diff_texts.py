"""The numbers of a comparison in words, which the terminal and Markdown share."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from undwarf.views.comparison.conditions import Verdict
    from undwarf.views.comparison.model import Change, Comparison, EventComparison, Row, Table

TITLES = {
    "function": "Function",
    "path": "Call path",
    "line": "Source line",
    "image": "File",
    "type": "Data type",
    "field": "Member",
    "thread": "Thread",
}
MORE, LESS = "▲", "▼"
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def quantity(value: float, unit: str, *, of_share: bool = False) -> str:
    """A weight with three digits and a prefix, times in s, ms or µs; shares in percent."""
    if of_share:
        return f"{100 * value:.2f} %"
    if not value:
        return "0"
    scale, name = next((one for one in (_TIMES if unit == "ns" else _PREFIXES) if abs(value) >= one[0]), (1.0, ""))
    if unit == "ns" and not name:
        name = "ns"
    return f"{_digits(value / scale)}{' ' * bool(name)}{name}"


def _digits(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def change_text(row: "Row", *, of_share: bool) -> str:
    """The difference in percent of what was before; of shares, in points. Marked if it is significant."""
    weight = row.weight
    mark = f"{MORE if weight.after > weight.before else LESS} " if row.significant else ""
    if not weight.before and weight.after:
        return f"{mark}new"
    if weight.before and not weight.after:
        return f"{mark}gone"
    if of_share:
        return f"{mark}{100 * (weight.after - weight.before):+.2f} pp"
    if not weight.before:
        return ""
    return mark + _percent(100 * (weight.after / weight.before - 1))


def _percent(value: float) -> str:
    return f"{value:+.1f} %" if abs(value) < 999.5 else f"{value / 100 + 1:,.1f} times"


def interval_text(change: "Change", *, of_share: bool) -> str:
    """The 95 % confidence interval of that difference; empty if there is none."""
    if of_share:
        if change.difference is None:
            return ""
        return f"{100 * change.difference[0]:+.2f} … {100 * change.difference[1]:+.2f}"
    if change.ratio is None or not change.after:
        return ""
    if change.ratio[1] is None:
        return f"{100 * (change.ratio[0] - 1):+.0f} …"
    low, high = 100 * (change.ratio[0] - 1), 100 * (change.ratio[1] - 1)
    digits = 1 if max(abs(low), abs(high)) < 99.95 else 0
    return f"{low:+.{digits}f} … {high:+.{digits}f}"


def p_text(row: "Row") -> str:
    """The corrected p-value; empty if the row is not tested."""
    if row.adjusted is None:
        return ""
    return (
        "<0.0001" if row.adjusted < 0.0001 else f"{row.adjusted:.4f}" if row.adjusted < 0.1 else f"{row.adjusted:.2f}"
    )


def share_text(row: "Row") -> str:
    """The share of both sides."""
    return f"{100 * row.share.before:.1f} → {100 * row.share.after:.1f} %"


def per_text(comparison: "Comparison") -> str:
    """The unit of work."""
    normalization = comparison.normalization
    return {
        "run": "per recording",
        "samples": "as shares of all weight",
        "time": "per second",
        "event": f"per {normalization.event}",
        "number": "per unit of work",
    }[normalization.unit]


def unit_text(event: "EventComparison") -> str:
    """The unit of weights, where it is not the event itself or a time, whose texts have it."""
    return "" if event.unit in ("ns", "", event.name.partition(":")[0]) else f", in {event.unit}"


def alike_text(factor: float) -> str:
    """What a factor by which everything changed means."""
    return (
        f"everything changed alike, by {100 * (factor - 1):+.1f} %: one recording a side cannot tell whether that is"
        " the code or the machine's speed; record several"
    )


def files_text(comparison: "Comparison") -> str:
    """The files that have another name or version; empty if there are none."""
    texts = [f"{before} → {after}" for before, after in comparison.files]
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return f"taken as the same file: {', '.join(texts[:5])}{more}" if texts else ""


def summary_text(comparison: "Comparison") -> str:
    """Whether anything was found."""
    if not comparison.tests:
        return "Nothing was tested: too few samples, or no times. Record for longer, or several times a side."
    tests = f"{comparison.tests} row{'s' * (comparison.tests != 1)} tested"
    if comparison.significant:
        return f"{MORE} and {LESS}: larger differences than chance explains ({tests}, 5 % for all of them together)."
    return f"No difference is larger than chance explains ({tests})."


def others_text(table: "Table") -> str:
    """The name of the row of lighter rows."""
    what = {"path": "call path", "image": "file", "type": "type", "field": "member", "line": "line"}.get(
        table.by, table.by
    )
    return f"{table.below:,} other {what}{'s' * (table.below != 1)}"


def verdict_text(verdict: "Verdict") -> str:
    """A condition and whether it holds."""
    text = f"{verdict.condition.text}: {verdict.state}"
    if verdict.rows:
        names = [row.name for _event, row in verdict.rows]
        text += f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
    return text + (f": {verdict.why}" if verdict.why else "")
