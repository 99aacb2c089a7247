"""Types and members by weight as text, with what their layouts and false sharing cost."""

from typing import TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint, hidden_text
from undwarf.outputs.types.advice import (
    SHARING_TITLES,
    SPREAD_TITLE,
    clash_advice,
    clash_parties,
    clash_place,
    spread_advice,
    spread_functions,
    typed_text,
    unread_text,
    untyped_advice,
    untyped_text,
)
from undwarf.outputs.types.columns import Columns, TypesOptions, inferred_note, share_text
from undwarf.views.data.false_sharing import Clashes
from undwarf.views.data.layout import spread
from undwarf.views.data.types import DataTypes, FieldRow

__all__ = ["write", "write_head", "write_sharing", "write_spread"]

_MOST_FIELDS = 24
_MOST_FINDINGS = 10


def write_head(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """The shares: what has a type, what could have one, what has none by nature."""
    paint = Paint(options.colour)
    total = found.total or 1
    sink.write(paint.bold(f"{printable(options.path)}: {printable(name)}"))
    sink.write(paint.dim(f"  {found.samples:,} samples\n"))
    outside = sum(found.outside.values())
    memory = found.total - outside - sum(found.unread.values())
    sink.write(f"{share_text(memory, total)} of the weight is at instructions that touch the program's data:\n")
    sink.write(f"{share_text(found.typed, total)}   {typed_text(found)}\n")
    for reason, weight in sorted(found.unknown.items(), key=lambda one: -one[1]):
        sink.write(f"{share_text(weight, total)}   {paint.warn(printable(untyped_text(found, reason)))}\n")
    for reason, weight in sorted(found.outside.items(), key=lambda one: -one[1]):
        sink.write(paint.dim(f"{share_text(weight, total)} {reason}\n"))
    for reason, weight in sorted(found.unread.items(), key=lambda one: -one[1]):
        sink.write(f"{share_text(weight, total)} {paint.warn(printable(unread_text(found, reason)))}\n")
    for advice in untyped_advice(found, late=not (options.skid or options.precise)):
        sink.write(paint.dim(f"  → {advice}\n"))


def write(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """Types by weight, their members below them."""
    paint = Paint(options.colour)
    write_head(found, name, sink, options)
    total = found.total or 1
    shown = options.shown(found.types, total)
    if not shown:
        return
    columns = Columns(found)
    sink.write("\n" + paint.bold(f"{columns.head()} Type, member") + "\n")
    for row in shown:
        size = f"  {row.size:,} byte{'s' if row.size != 1 else ''}" if row.size else ""
        numbers, note = columns.numbers(row.counts, total, paint), inferred_note(row.counts)
        name = options.fitted(printable(row.name), " " * columns.width, " ", size, note)
        sink.write(f"{numbers} {paint.bold(name)}{paint.dim(size + note)}\n")
        members = sorted(row.fields.values(), key=lambda one: (-one.counts.weight, one.offset))
        visible = [one for one in members if one.counts.weight >= options.least(total) / 4][:_MOST_FIELDS]
        for one in visible:
            sink.write(f"{columns.numbers(one.counts, total, paint)}   {_member(one)}")
            sink.write(paint.dim(inferred_note(one.counts)) + "\n")
        hidden = len(members) - len(visible)
        if hidden:
            text = f"and {hidden} more member{'s' * (hidden > 1)}"
            sink.write(paint.dim(f"{'':{columns.width}}   {text}\n"))
    hidden = len(found.types) - len(shown)
    if hidden > 0:
        cut = bool(options.rows) and len(shown) == options.rows
        what = f"more type{'s' * (hidden > 1)}"
        sink.write(paint.dim(hidden_text(hidden, options.percent_limit, cut=cut, what=what)) + "\n")
    write_spread(found, sink, paint)


def _member(one: FieldRow) -> str:
    name = printable(one.field) or ("(whole)" if not one.offset else "(padding, or a member not known)")
    others = [printable(other) for other in one.candidates if other != one.field]
    also = f"  or {', '.join(others[:3])}" if others else ""
    return f"+{one.offset:<5} {name}{also}"


def write_sharing(clashes: Clashes, sink: TextIO, options: TypesOptions, only: set[str] | None = None) -> None:
    """What cpus take from each other, of all types or of some."""
    paint = Paint(options.colour)
    for false, title in SHARING_TITLES.items():
        some = [one for one in clashes.found if one.false == false and (only is None or one.type in only)]
        if some:
            note = f"  share of {clashes.total:,} samples of all events" if clashes.weight == "samples" else ""
            sink.write("\n" + paint.bold(title) + paint.dim(note) + "\n")
        for one in some[:_MOST_FINDINGS]:
            sink.write(
                f"{share_text(one.weight, clashes.total)} {printable(one.type)}  {paint.dim(clash_place(one))}\n"
            )
            for text in clash_parties(one):
                sink.write(f"{'':8} {text}\n")
            for text in clash_advice(one):
                sink.write(paint.dim(f"{'':8} → {text}\n"))
        if len(some) > _MOST_FINDINGS:
            sink.write(paint.dim(f"and {len(some) - _MOST_FINDINGS} more (--json has them)\n"))


def write_spread(found: DataTypes, sink: TextIO, paint: Paint, only: str | None = None) -> None:
    """Members that lie too far apart, of all types or of one."""
    far = [two for two in spread(found) if only in (None, two.type)]
    if far:
        sink.write("\n" + paint.bold(SPREAD_TITLE) + "\n")
    for two in far[:_MOST_FINDINGS]:
        lines = ", ".join(str(line) for line in two.lines)
        sink.write(f"{share_text(two.weight, found.total)} {printable(two.type)}  {paint.dim(f'lines {lines}')}\n")
        for name, offset, share in two.members:
            sink.write(f"{'':8} {100 * share:3.0f}% +{offset:<5} {printable(name)}\n")
        sink.write(paint.dim(f"{'':8} {spread_functions(two)}\n"))
        sink.write(paint.dim(f"{'':8} → {spread_advice(two)}\n"))
