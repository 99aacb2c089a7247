"""Types as a page: every type drawn with its cache lines as rows of bytes, warmer where more weight is. No scripts."""

from html import escape
from typing import TextIO

from undwarf.outputs.escape import printable
from undwarf.views.datatypes import DataTypes, TypeRow
from undwarf.views.layout import LINE, LayoutLine, layout

__all__ = ["write"]

_MOST_TYPES = 50
_MOST_LINES = 64
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--page:#fff;--line:#ccc;--dim:#777}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--page:#181818;--line:#444;--dim:#999}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page)}
body{margin:2em auto;max-width:70em;padding:0 1em}
h2{font:600 16px ui-monospace,monospace;margin:2em 0 .3em}
.bytes{display:grid;grid-template-columns:repeat(64,1fr);gap:1px;margin:2px 0;font:10px ui-monospace,monospace}
.bytes span{min-height:1.9em;overflow:hidden;white-space:nowrap;padding:2px}
.bytes span{border:1px solid var(--line);border-radius:2px}
.bytes .hole{background:repeating-linear-gradient(45deg,transparent 0 4px,var(--line) 4px 5px);border-style:dashed}
table{border-collapse:collapse;margin:.5em 0;font-variant-numeric:tabular-nums}
td,th{padding:1px 10px;text-align:right;border-bottom:1px solid var(--line)}
td:last-child,th:last-child,td.name,th.name{text-align:left;font-family:ui-monospace,monospace}
.dim{color:var(--dim)}
"""


def write(found: list[tuple[str, DataTypes]], path: str, wanted: TypeRow | None, sink: TextIO) -> None:
    """The page for all events, or for one type of them."""
    title = escape(printable(path))
    sink.write(f"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>Data types: {title}</title>")
    sink.write('<meta name=viewport content="width=device-width,initial-scale=1">')
    sink.write(f"<style>{_STYLE}</style>\n<h1>Data types in {title}</h1>\n")
    for event, data in found:
        total = data.total or 1
        share = 100 * data.typed / total
        sink.write(f"<p><b>{escape(printable(event))}</b>: {data.samples:,} samples, {share:.1f} % of the weight typed")
        if data.inferred:
            sink.write(f" ({100 * data.inferred / total:.1f} % inferred)")
        sink.write("</p>\n")
        rows = [row for row in data.types if wanted is None or row.name == wanted.name]
        for row in rows[:_MOST_TYPES]:
            _type(row, data, sink)
        if len(rows) > _MOST_TYPES:
            sink.write(f"<p class=dim>and {len(rows) - _MOST_TYPES} more types</p>\n")
    sink.write("</html>\n")


def _heat(share: float) -> str:
    """A colour for a share of a type's weight."""
    strength = min(1.0, share) ** 0.5
    return f"background:rgba(214,60,30,{0.08 + 0.8 * strength:.2f})" if share > 0 else ""


def _type(row: TypeRow, data: DataTypes, sink: TextIO) -> None:
    total, whole = data.total or 1, row.counts.weight or 1
    sink.write(f"<h2>{escape(printable(row.name))}</h2>\n<p>{row.size:,} bytes, ")
    sink.write(f"{100 * row.counts.weight / total:.2f} % of the weight, {row.counts.samples:,} samples</p>\n")
    drawn = layout(row)
    leaves = _leaves(drawn)
    if row.size and drawn:
        _bytes(row, leaves, whole, sink)
    sink.write("<table><tr><th>Weight<th>Loads<th>Stores<th>Offset<th>Size<th class=name>Member<th class=name>Type\n")
    shown = [one for one in drawn if one.counts is not None]
    for one in sorted(shown, key=lambda each: -(each.counts.weight if each.counts else 0)):
        counts = one.counts
        if counts is None:
            continue
        share = counts.weight / whole
        sink.write(
            f'<tr><td style="{_heat(share)}">{100 * share:.2f} %<td>{100 * counts.loads / whole:.2f} %'
            f"<td>{100 * counts.stores / whole:.2f} %<td>{one.offset}<td>{one.size}"
            f"<td class=name>{escape(printable(one.path + one.bits))}<td class=name>{escape(printable(one.type))}\n"
        )
    rest = sum(one.counts.weight for one in row.fields.values() if not one.field)
    if rest:
        sink.write(f"<tr><td>{100 * rest / whole:.2f} %<td><td><td><td><td class=name>(no member)<td>\n")
    sink.write("</table>\n")


def _leaves(drawn: list[LayoutLine]) -> list[LayoutLine]:
    """The lines that nothing is opened below, in order of offset."""
    return [
        one
        for k, one in enumerate(drawn)
        if one.kind == "hole" or k + 1 == len(drawn) or drawn[k + 1].depth <= one.depth
    ]


def _bytes(row: TypeRow, leaves: list[LayoutLine], whole: int, sink: TextIO) -> None:
    """Rows of 64 bytes, one a cache line; members of a union after each other take only what is left."""
    lines = -(-row.size // LINE)
    at = 0
    cells: list[tuple[int, int, LayoutLine]] = []
    for one in leaves:
        begin, end = max(one.offset, at), min(one.offset + max(one.size, 1), row.size)
        if begin >= end:
            continue
        at = end
        while begin < end:
            stop = min(end, (begin // LINE + 1) * LINE)
            if begin // LINE < _MOST_LINES:
                cells.append((begin, stop, one))
            else:
                break
            begin = stop
    for begin, stop, one in cells:
        if begin % LINE == 0:
            sink.write(f'{"</div>" if begin else ""}<div class=bytes title="cache line {begin // LINE}">')
        elif begin == cells[0][0]:
            sink.write("<div class=bytes>")
        share = one.counts.weight / whole if one.counts is not None else 0.0
        name = escape(printable(one.path or "hole"), quote=True)
        kind = " class=hole" if one.kind == "hole" else ""
        text = escape(printable(one.name)) if one.kind != "hole" else ""
        sink.write(
            f'<span{kind} style="grid-column:{begin % LINE + 1}/{(stop - 1) % LINE + 2};{_heat(share)}"'
            f' title="{name} +{one.offset}, {one.size} bytes, {100 * share:.1f} %">{text}</span>'
        )
    if cells:
        sink.write("</div>\n")
    if lines > _MOST_LINES:
        sink.write(f"<p class=dim>and {lines - _MOST_LINES:,} more cache lines</p>\n")
