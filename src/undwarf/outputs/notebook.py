"""The summary of a profile as a piece of HTML without scripts, for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.notebook import Summary

WIDTH, HEIGHT, CHARACTER = 960, 18, 6.5
"""Pixels of the graph's width, of a row, and of a character."""
_COLOURS = ("#f6c887", "#f2b86a", "#f7d59b", "#eeb45f")


def html(summary: "Summary") -> str:
    """A flame graph, outermost functions at the top, and a table of the functions with the most weight of their own."""
    others = f", and {summary.hidden_events} more events" if summary.hidden_events else ""
    title = f"{summary.samples:,} samples of {_text(summary.event)}{others}"
    total = max(1, summary.total)
    rows = [
        f"<tr><td>{row.self_weight / total:.1%}</td><td>{row.children_weight / total:.1%}</td>"
        f"<td style='text-align:left'>{_text(row.key[0])}</td><td style='text-align:left'>{_text(row.key[1])}</td></tr>"
        for row in summary.rows
    ]
    head = "<tr><th>self</th><th>with callees</th><th>function</th><th>file</th></tr>"
    return f"<div><p>{title}</p>{_graph(summary)}<table>{head}{''.join(rows)}</table></div>"


def _graph(summary: "Summary") -> str:
    depth = max((box.depth + 1 for box in summary.boxes), default=0)
    boxes = []
    for number, box in enumerate(summary.boxes):
        x, width = box.left * WIDTH, box.width * WIDTH
        letters = int((width - 4) / CHARACTER)
        label = box.name if len(box.name) <= letters else box.name[: max(0, letters - 1)] + "…" if letters > 3 else ""
        share = f"{box.weight / max(1, summary.total):.1%}"
        boxes.append(
            f"<g><title>{_text(box.name)} ({_text(box.dso)}) {share}</title>"
            f"<rect x='{x:.1f}' y='{box.depth * HEIGHT}' width='{width:.1f}' height='{HEIGHT - 1}'"
            f" fill='{_COLOURS[number % len(_COLOURS)]}'/>"
            f"<text x='{x + 2:.1f}' y='{box.depth * HEIGHT + 12}' fill='#222'>{_text(label)}</text></g>"
        )
    size = f"viewBox='0 0 {WIDTH} {depth * HEIGHT}' style='width:100%;max-width:{WIDTH}px'"
    return f"<svg {size} font-family='monospace' font-size='11' role='img'>{''.join(boxes)}</svg>"


def _text(text: str) -> str:
    return escape(printable(text))
