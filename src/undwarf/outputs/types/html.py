"""Types as a page without scripts: each type with its cache lines as rows of bytes, warmer where more weight is."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.types.advice import (
    SHARING_TITLES,
    SPREAD_TITLE,
    clash_advice,
    clash_parties,
    clash_place,
    inferred_text,
    spread_advice,
    spread_functions,
    typed_text,
    unread_text,
    untyped_advice,
    untyped_text,
)
from undwarf.outputs.types.columns import reached_note

if TYPE_CHECKING:
    from undwarf.views.data.false_sharing import Clashes
    from undwarf.views.data.layout import DrawnType, LayoutLine, Spread
    from undwarf.views.data.types import Counts, DataTypes, TypeRow

MOST_TYPES = 50
_MOST_LINES = 64
_STYLE = """
:root{color-scheme:light dark;--ink:#1d1f21;--page:#fbfbfa;--line:#d9dadb;--dim:#5c6166;--warn:#8a4b00;--link:#0a5fb4}
@media (prefers-color-scheme:dark){
:root{--ink:#e8e8e6;--page:#17191b;--line:#3a3e42;--dim:#a2a8ad;--warn:#f0b35a;--link:#7ab8f5}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page)}
body{margin:1.2em auto;max-width:72em;padding:0 1em}
h1{font-size:18px;margin:0 0 .8em;overflow-wrap:anywhere}
h2{font:600 15px ui-monospace,monospace;margin:2.2em 0 .2em;overflow-wrap:anywhere}
h3{font-size:14px;margin:1.4em 0 .4em}
p{margin:.2em 0}
a{color:var(--link);text-decoration:none}
a:hover,a:focus{text-decoration:underline}
.bytes{display:grid;grid-template-columns:4em repeat(var(--bytes),minmax(0,1fr));gap:1px;margin:2px 0}
.bytes{font:10px ui-monospace,monospace}
.bytes b{font-weight:400;color:var(--dim);text-align:right;padding:3px 6px 0 0}
.bytes span{min-height:1.9em;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;padding:2px}
.bytes span{border:1px solid var(--line);border-radius:2px}
.bytes .hole{background:repeating-linear-gradient(45deg,transparent 0 4px,var(--line) 4px 5px);border-style:dashed}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:.5em 0;font-variant-numeric:tabular-nums}
td,th{padding:1px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--dim)}
td.name,th.name{text-align:left}
td.name{font-family:ui-monospace,monospace}
.finding{margin:.6em 0;padding-left:.8em;border-left:3px solid var(--line)}
pre{font:12px/1.45 ui-monospace,monospace;margin:.2em 0;overflow-x:auto}
.part{padding-left:2.5em}
.dim{color:var(--dim)}
.warn{color:var(--warn)}
"""


class PageEvent(NamedTuple):
    """One event of a page: ``types`` are drawn, ``hidden`` more are counted only. ``late``: the event may stop after
    the access."""

    name: str
    data: "DataTypes"
    types: "Sequence[DrawnType]"
    hidden: int
    spreads: "Sequence[Spread]"
    late: bool


def write(events: Sequence[PageEvent], clashes: "Clashes", path: str, wanted: str | None, sink: TextIO) -> None:
    """The page for all events, at least one, or for the one type ``wanted``."""
    line_size = events[0].data.line_size
    title = escape(printable(path))
    sink.write(f"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>Data types: {title}</title>")
    sink.write('<meta name=viewport content="width=device-width,initial-scale=1">')
    sink.write(f"<style>:root{{--bytes:{line_size}}}{_STYLE}</style>\n<h1>Data types in {title}</h1>\n")
    _sharing(clashes, wanted, sink)
    for number, event in enumerate(events):
        sink.write(f"<h3>{escape(printable(event.name))}</h3>\n")
        _shares(event.data, event.late, sink)
        anchors = [f"t{number}-{place}" for place in range(len(event.types))]
        if len(anchors) > 1:
            _overview([drawn.row for drawn in event.types], anchors, event.data, sink)
        _spreads(event, wanted, sink)
        if anchors:
            sink.write(
                f"<p class=dim>Each row below is a cache line of {line_size} bytes, warmer where more of the type's "
            )
            sink.write("weight is; hatched bytes are holes. Shares of members are of their type's weight.</p>\n")
        for anchor, drawn in zip(anchors, event.types, strict=True):
            _type(drawn, anchor, event.data, sink)
        if event.hidden:
            sink.write(f"<p class=dim>and {event.hidden} more types</p>\n")
    sink.write("</html>\n")


def _shares(data: "DataTypes", late: bool, sink: TextIO) -> None:
    """The typed share; the untyped shares by reason; instructions that access no data of the program."""
    total = data.total or 1
    other_weight = sum(data.outside.values()) + sum(data.unread.values())

    def row(weight: int, label: str, style: str = "") -> None:
        attribute = f' class="name {style}"' if style else " class=name"
        sink.write(f"<tr><td>{100 * weight / total:.2f}%<td{attribute}>{escape(printable(label))}\n")

    sink.write(f"<p class=dim>{data.samples:,} samples</p>\n<div class=wide><table>\n")
    row(data.total - other_weight, "at instructions that touch the program's data, of which")
    row(data.typed, typed_text(data), "part")
    for reason, weight in sorted(data.unknown.items(), key=lambda item: -item[1]):
        row(weight, untyped_text(data, reason), "part warn")
    for reason, weight in sorted(data.outside.items(), key=lambda item: -item[1]):
        row(weight, reason, "dim")
    for reason, weight in sorted(data.unread.items(), key=lambda item: -item[1]):
        row(weight, unread_text(data, reason), "warn")
    sink.write("</table></div>\n")
    for advice in untyped_advice(data, late=late):
        sink.write(f"<p class=dim>→ {escape(advice)}\n")


def _overview(rows: "list[TypeRow]", anchors: list[str], data: "DataTypes", sink: TextIO) -> None:
    """A line for each type, with a link to it."""
    total = data.total or 1
    inferred = "<th>Inferred" if data.inferred else ""
    sink.write(f"<div class=wide><table><tr><th>Weight{inferred}<th>Samples<th>Bytes<th class=name>Type\n")
    for anchor, row in zip(anchors, rows, strict=True):
        share = row.counts.weight / total
        sink.write(f'<tr><td style="{_heat(share)}">{100 * share:.2f}%')
        sink.write(f"<td>{100 * row.counts.inferred / total:.2f}%" if data.inferred else "")
        sink.write(f"<td>{row.counts.samples:,}<td>{row.size:,}")
        sink.write(f'<td class=name><a href="#{anchor}">{escape(printable(row.name))}</a>\n')
    sink.write("</table></div>\n")


def _heat(share: float) -> str:
    """A colour for a share of a type's weight."""
    strength = min(1.0, share) ** 0.5
    return f"background:rgba(214,60,30,{0.08 + 0.8 * strength:.2f})" if share > 0 else ""


def _type(drawn: "DrawnType", anchor: str, data: "DataTypes", sink: TextIO) -> None:
    row = drawn.row
    total, weight = data.total or 1, row.counts.weight or 1
    samples = f"{row.counts.samples:,} sample{'' if row.counts.samples == 1 else 's'}"
    sink.write(f"<h2 id={anchor}>{escape(printable(row.name))}</h2>\n<p class=dim>{row.size:,} bytes, ")
    inferred = inferred_text(row.counts, spelled=True)
    sink.write(f"{100 * row.counts.weight / total:.2f}% of the weight, {samples}")
    sink.write(f"; {inferred}</p>\n" if inferred else "</p>\n")
    if row.size and drawn.lines:
        _bytes(row, _leaves(drawn.lines), weight, data.line_size, sink)
    members = [(line, line.counts) for line in drawn.lines if line.counts is not None]
    if not members:
        # The numbers of a type without members are those in its heading.
        return
    sink.write("<div class=wide><table><tr><th>Weight<th>Loads<th>Stores")
    sink.write(("<th>Latency" if data.has_latency else "") + ("<th>Missed" if data.has_sources else ""))
    sink.write("<th>Offset<th>Size<th class=name>Member<th class=name>Type<th class=name>\n")
    for line, counts in sorted(members, key=lambda member: -member[1].weight):
        share = counts.weight / weight
        name = line.path + line.bits + (f" or {', '.join(line.others[:3])}" if line.others else "")
        sink.write(
            f'<tr><td style="{_heat(share)}">{100 * share:.2f}%<td>{100 * counts.loads / weight:.2f}%'
            f"<td>{100 * counts.stores / weight:.2f}%{_recorded(counts, data)}<td>{line.offset}<td>{line.size}"
            f"<td class=name>{escape(printable(name))}<td class=name>{escape(printable(line.type))}"
            f'<td class="name dim">{inferred_text(counts)}{reached_note(line)}\n'
        )
    rest = sum(field.counts.weight for field in row.fields.values() if not field.field)
    if rest:
        empty = "<td>" * (4 + data.has_latency + data.has_sources)
        sink.write(f"<tr><td>{100 * rest / weight:.2f}%{empty}<td class=name>(no member)<td><td>\n")
    sink.write("</table></div>\n")


def _recorded(counts: "Counts", data: "DataTypes") -> str:
    """Cells of what hardware recorded: the mean latency; the miss rate of the nearest cache, with the levels as its
    tooltip."""
    text = ""
    if data.has_latency:
        text += f"<td>{counts.mean_latency:.1f}" if counts.timed else "<td>"
    if data.has_sources:
        memory = counts.memory
        levels = ", ".join(
            f"{name} {100 * weight / memory.known:.0f}%"
            for name, weight in sorted(memory.levels.items(), key=lambda item: (-item[1], item[0]))
        )
        missed = f"{100 * memory.missed / memory.known:.2f}%" if memory.known else ""
        text += f'<td title="{escape(levels, quote=True)}">{missed}'
    return text


def _finding(share: float, name: str, note: str, lines: list[str], advice: list[str], sink: TextIO) -> None:
    sink.write(f"<div class=finding><p><b>{100 * share:.2f}% {escape(printable(name))}</b> ")
    sink.write(f"<span class=dim>{escape(note)}</span></p>\n<pre>")
    sink.write("\n".join(escape(line) for line in lines) + "</pre>\n")
    for text in advice:
        sink.write(f"<p class=dim>→ {escape(text)}</p>\n")
    sink.write("</div>\n")


def _sharing(clashes: "Clashes", wanted: str | None, sink: TextIO) -> None:
    """False and true sharing between CPUs, of all events together."""
    for false, title in SHARING_TITLES.items():
        shown = [clash for clash in clashes.found if clash.false == false and (wanted is None or clash.type == wanted)]
        if shown:
            sink.write(f"<h3>{title}</h3>\n")
        for clash in shown[:MOST_TYPES]:
            share = clash.weight / (clashes.total or 1)
            _finding(share, clash.type, clash_place(clash), clash_parties(clash), clash_advice(clash), sink)


def _spreads(event: PageEvent, wanted: str | None, sink: TextIO) -> None:
    """Members that are too far apart."""
    shown = [spread for spread in event.spreads if wanted is None or spread.type == wanted]
    if shown:
        sink.write(f"<h3>{SPREAD_TITLE}</h3>\n")
    for spread in shown[:MOST_TYPES]:
        members = [f"{100 * share:3.0f}% +{offset:<5} {printable(name)}" for name, offset, share in spread.members]
        note = f"lines {', '.join(str(line) for line in spread.lines)}"
        lines = [*members, spread_functions(spread)]
        _finding(spread.weight / (event.data.total or 1), spread.type, note, lines, [spread_advice(spread)], sink)


def _leaves(lines: "Sequence[LayoutLine]") -> "list[LayoutLine]":
    """The lines without members of their own, by offset; arrays as one."""
    following = [*lines[1:], None]
    return [
        line
        for line, below in zip(lines, following, strict=True)
        if not line.within_array and (below is None or below.depth <= line.depth or below.within_array)
    ]


def _bytes(row: "TypeRow", leaves: "list[LayoutLine]", weight: int, line_size: int, sink: TextIO) -> None:
    """A row for each cache line; of union members, a later one has only the bytes after the earlier ones."""
    cache_lines = -(-row.size // line_size)
    at = 0
    cells: list[tuple[int, int, LayoutLine]] = []
    for line in leaves:
        start, end = max(line.offset, at), min(line.offset + max(line.size, 1), row.size)
        if start >= end:
            continue
        at = end
        while start < end and start // line_size < _MOST_LINES:
            stop = min(end, (start // line_size + 1) * line_size)
            cells.append((start, stop, line))
            start = stop
    for start, stop, line in cells:
        if start % line_size == 0:
            sink.write(
                f'{"</div>" if start else ""}<div class=bytes title="cache line {start // line_size}"><b>+{start}</b>'
            )
        elif start == cells[0][0]:
            sink.write(f"<div class=bytes><b>+{start - start % line_size}</b>")
        share = line.weight / weight
        name = escape(printable(line.path or "hole"), quote=True)
        attribute = " class=hole" if line.kind == "hole" else ""
        text = escape(printable(line.name)) if line.kind != "hole" else ""
        sink.write(
            f'<span{attribute} style="grid-column:{start % line_size + 2}/{(stop - 1) % line_size + 3};{_heat(share)}"'
            f' title="{name} +{line.offset}, {line.size} bytes, {100 * share:.1f}%">{text}</span>'
        )
    if cells:
        sink.write("</div>\n")
    if cache_lines > _MOST_LINES:
        sink.write(f"<p class=dim>and {cache_lines - _MOST_LINES:,} more cache lines</p>\n")
