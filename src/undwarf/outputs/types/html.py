"""Types as a page: every type drawn with its cache lines as rows of bytes, warmer where more weight is. No scripts."""

from html import escape
from typing import TextIO

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
from undwarf.views.data.false_sharing import Clashes
from undwarf.views.data.layout import LayoutLine, layout, spread
from undwarf.views.data.types import Counts, DataTypes, TypeRow

__all__ = ["write"]

_MOST_TYPES = 50
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


def write(
    found: list[tuple[str, DataTypes]],
    clashes: Clashes,
    path: str,
    wanted: str | None,
    late: set[str],
    sink: TextIO,
) -> None:
    """The page for all events, of which there is one at least, or for one type of them. Samples of ``late`` events may
    be about what is before.
    """
    line_size = found[0][1].line_size
    title = escape(printable(path))
    sink.write(f"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>Data types: {title}</title>")
    sink.write('<meta name=viewport content="width=device-width,initial-scale=1">')
    sink.write(f"<style>:root{{--bytes:{line_size}}}{_STYLE}</style>\n<h1>Data types in {title}</h1>\n")
    _sharing(clashes, wanted, sink)
    for number, (event, data) in enumerate(found):
        sink.write(f"<h3>{escape(printable(event))}</h3>\n")
        _shares(data, event in late, sink)
        rows = [row for row in data.types if wanted is None or row.name == wanted]
        names = [f"t{number}-{place}" for place in range(min(len(rows), _MOST_TYPES))]
        if len(names) > 1:
            _overview(rows, names, data, sink)
        _findings(data, wanted, sink)
        if names:
            sink.write(
                f"<p class=dim>Each row below is a cache line of {line_size} bytes, warmer where more of the type's "
            )
            sink.write("weight is; hatched bytes are holes. Shares of members are of their type's weight.</p>\n")
        for name, row in zip(names, rows, strict=False):
            _type(row, name, data, sink)
        if len(rows) > _MOST_TYPES:
            sink.write(f"<p class=dim>and {len(rows) - _MOST_TYPES} more types</p>\n")
    sink.write("</html>\n")


def _shares(data: DataTypes, late: bool, sink: TextIO) -> None:
    """What of the weight is typed; what is not, by reason; what touches no data of the program."""
    total = data.total or 1
    others = sum(data.outside.values()) + sum(data.unread.values())

    def row(weight: int, what: str, kind: str = "") -> None:
        mark = f' class="name {kind}"' if kind else " class=name"
        sink.write(f"<tr><td>{100 * weight / total:.2f}%<td{mark}>{escape(printable(what))}\n")

    sink.write(f"<p class=dim>{data.samples:,} samples</p>\n<div class=wide><table>\n")
    row(data.total - others, "at instructions that touch the program's data, of which")
    row(data.typed, typed_text(data), "part")
    for reason, weight in sorted(data.unknown.items(), key=lambda one: -one[1]):
        row(weight, untyped_text(data, reason), "part warn")
    for reason, weight in sorted(data.outside.items(), key=lambda one: -one[1]):
        row(weight, reason, "dim")
    for reason, weight in sorted(data.unread.items(), key=lambda one: -one[1]):
        row(weight, unread_text(data, reason), "warn")
    sink.write("</table></div>\n")
    for advice in untyped_advice(data, late=late):
        sink.write(f"<p class=dim>→ {escape(advice)}\n")


def _overview(rows: list[TypeRow], names: list[str], data: DataTypes, sink: TextIO) -> None:
    """A line for each type, with a link to it."""
    total = data.total or 1
    inferred = "<th>Inferred" if data.inferred else ""
    sink.write(f"<div class=wide><table><tr><th>Weight{inferred}<th>Samples<th>Bytes<th class=name>Type\n")
    for name, row in zip(names, rows, strict=False):
        share = row.counts.weight / total
        sink.write(f'<tr><td style="{_heat(share)}">{100 * share:.2f}%')
        sink.write(f"<td>{100 * row.counts.inferred / total:.2f}%" if data.inferred else "")
        sink.write(f"<td>{row.counts.samples:,}<td>{row.size:,}")
        sink.write(f'<td class=name><a href="#{name}">{escape(printable(row.name))}</a>\n')
    sink.write("</table></div>\n")


def _heat(share: float) -> str:
    """A colour for a share of a type's weight."""
    strength = min(1.0, share) ** 0.5
    return f"background:rgba(214,60,30,{0.08 + 0.8 * strength:.2f})" if share > 0 else ""


def _type(row: TypeRow, name: str, data: DataTypes, sink: TextIO) -> None:
    total, whole = data.total or 1, row.counts.weight or 1
    samples = f"{row.counts.samples:,} sample{'' if row.counts.samples == 1 else 's'}"
    sink.write(f"<h2 id={name}>{escape(printable(row.name))}</h2>\n<p class=dim>{row.size:,} bytes, ")
    inferred = inferred_text(row.counts, spelled=True)
    sink.write(f"{100 * row.counts.weight / total:.2f}% of the weight, {samples}")
    sink.write(f"; {inferred}</p>\n" if inferred else "</p>\n")
    drawn = layout(row)
    leaves = _leaves(drawn)
    if row.size and drawn:
        _bytes(row, leaves, whole, data.line_size, sink)
    shown = [one for one in drawn if one.counts is not None]
    if not shown:
        # A type without members: what there is to say is said.
        return
    sink.write("<div class=wide><table><tr><th>Weight<th>Loads<th>Stores")
    sink.write(("<th>Latency" if data.has_latency else "") + ("<th>Missed" if data.has_sources else ""))
    sink.write("<th>Offset<th>Size<th class=name>Member<th class=name>Type<th class=name>\n")
    for one in sorted(shown, key=lambda each: -(each.counts.weight if each.counts else 0)):
        counts = one.counts
        if counts is None:
            continue
        share = counts.weight / whole
        name = one.path + one.bits + (f" or {', '.join(one.others[:3])}" if one.others else "")
        sink.write(
            f'<tr><td style="{_heat(share)}">{100 * share:.2f}%<td>{100 * counts.loads / whole:.2f}%'
            f"<td>{100 * counts.stores / whole:.2f}%{_recorded(counts, data)}<td>{one.offset}<td>{one.size}"
            f"<td class=name>{escape(printable(name))}<td class=name>{escape(printable(one.type))}"
            f'<td class="name dim">{inferred_text(counts)}{reached_note(one)}\n'
        )
    rest = sum(one.counts.weight for one in row.fields.values() if not one.field)
    if rest:
        empty = "<td>" * (4 + data.has_latency + data.has_sources)
        sink.write(f"<tr><td>{100 * rest / whole:.2f}%{empty}<td class=name>(no member)<td><td>\n")
    sink.write("</table></div>\n")


def _recorded(counts: Counts, data: DataTypes) -> str:
    """Cells of what hardware recorded: the mean latency; the share of what the nearest cache did not have, with the
    levels where one points at it."""
    text = ""
    if data.has_latency:
        text += f"<td>{counts.mean_latency:.1f}" if counts.timed else "<td>"
    if data.has_sources:
        memory = counts.memory
        levels = ", ".join(
            f"{name} {100 * weight / memory.known:.0f}%"
            for name, weight in sorted(memory.levels.items(), key=lambda one: (-one[1], one[0]))
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


def _sharing(clashes: Clashes, wanted: str | None, sink: TextIO) -> None:
    """What cpus take from each other, of all events together."""
    for false, title in SHARING_TITLES.items():
        some = [one for one in clashes.found if one.false == false and (wanted is None or one.type == wanted)]
        if some:
            sink.write(f"<h3>{title}</h3>\n")
        for one in some[:_MOST_TYPES]:
            share = one.weight / (clashes.total or 1)
            _finding(share, one.type, clash_place(one), clash_parties(one), clash_advice(one), sink)


def _findings(data: DataTypes, wanted: str | None, sink: TextIO) -> None:
    """Which members lie too far apart."""
    far = [two for two in spread(data) if wanted is None or two.type == wanted]
    if far:
        sink.write(f"<h3>{SPREAD_TITLE}</h3>\n")
    for two in far[:_MOST_TYPES]:
        members = [f"{100 * share:3.0f}% +{offset:<5} {printable(name)}" for name, offset, share in two.members]
        note = f"lines {', '.join(str(line) for line in two.lines)}"
        lines = [*members, spread_functions(two)]
        _finding(two.weight / (data.total or 1), two.type, note, lines, [spread_advice(two)], sink)


def _leaves(drawn: list[LayoutLine]) -> list[LayoutLine]:
    """The lines that nothing is opened below, in order of offset; arrays as a whole."""
    following = [*drawn[1:], None]
    return [
        one
        for one, below in zip(drawn, following, strict=False)
        if not one.within_array and (below is None or below.depth <= one.depth or below.within_array)
    ]


def _bytes(row: TypeRow, leaves: list[LayoutLine], whole: int, line_size: int, sink: TextIO) -> None:
    """A row for each cache line; members of a union after each other take only what is left."""
    lines = -(-row.size // line_size)
    at = 0
    cells: list[tuple[int, int, LayoutLine]] = []
    for one in leaves:
        begin, end = max(one.offset, at), min(one.offset + max(one.size, 1), row.size)
        if begin >= end:
            continue
        at = end
        while begin < end:
            stop = min(end, (begin // line_size + 1) * line_size)
            if begin // line_size < _MOST_LINES:
                cells.append((begin, stop, one))
            else:
                break
            begin = stop
    for begin, stop, one in cells:
        if begin % line_size == 0:
            sink.write(
                f'{"</div>" if begin else ""}<div class=bytes title="cache line {begin // line_size}"><b>+{begin}</b>'
            )
        elif begin == cells[0][0]:
            sink.write(f"<div class=bytes><b>+{begin - begin % line_size}</b>")
        share = one.weight / whole
        name = escape(printable(one.path or "hole"), quote=True)
        kind = " class=hole" if one.kind == "hole" else ""
        text = escape(printable(one.name)) if one.kind != "hole" else ""
        sink.write(
            f'<span{kind} style="grid-column:{begin % line_size + 2}/{(stop - 1) % line_size + 3};{_heat(share)}"'
            f' title="{name} +{one.offset}, {one.size} bytes, {100 * share:.1f}%">{text}</span>'
        )
    if cells:
        sink.write("</div>\n")
    if lines > _MOST_LINES:
        sink.write(f"<p class=dim>and {lines - _MOST_LINES:,} more cache lines</p>\n")
