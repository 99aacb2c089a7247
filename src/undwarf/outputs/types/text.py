"""Types and members by weight as text, with what their layouts and false sharing cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

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

if TYPE_CHECKING:
    from undwarf.views.data.false_sharing import Clashes
    from undwarf.views.data.layout import Spread
    from undwarf.views.data.types import DataTypes, FieldRow

_MOST_FIELDS = 24
_MOST_FINDINGS = 10


def write_head(data: "DataTypes", event: str, sink: TextIO, options: TypesOptions) -> None:
    """The shares of typed and untyped accesses, and of instructions that access no data of the program."""
    paint = Paint(options.colour)
    total = data.total or 1
    sink.write(paint.bold(f"{printable(options.path)}: {printable(event)}"))
    sink.write(paint.dim(f"  {data.samples:,} samples\n"))
    outside = sum(data.outside.values())
    memory = data.total - outside - sum(data.unread.values())
    sink.write(f"{share_text(memory, total)} of the weight is at instructions that touch the program's data:\n")
    sink.write(f"{share_text(data.typed, total)}   {typed_text(data)}\n")
    for reason, weight in sorted(data.unknown.items(), key=lambda item: -item[1]):
        sink.write(f"{share_text(weight, total)}   {paint.warn(printable(untyped_text(data, reason)))}\n")
    for reason, weight in sorted(data.outside.items(), key=lambda item: -item[1]):
        sink.write(paint.dim(f"{share_text(weight, total)} {reason}\n"))
    for reason, weight in sorted(data.unread.items(), key=lambda item: -item[1]):
        sink.write(f"{share_text(weight, total)} {paint.warn(printable(unread_text(data, reason)))}\n")
    for advice in untyped_advice(data, late=not (options.skid or options.precise), stored=options.stored):
        sink.write(paint.dim(f"  → {advice}\n"))


def write(data: "DataTypes", event: str, spreads: "Sequence[Spread]", sink: TextIO, options: TypesOptions) -> None:
    """Types by weight, their members below them."""
    paint = Paint(options.colour)
    write_head(data, event, sink, options)
    total = data.total or 1
    shown = options.shown(data.types, total)
    if not shown:
        return
    columns = Columns(data)
    sink.write("\n" + paint.bold(f"{columns.head()} Type, member") + "\n")
    for row in shown:
        size = f"  {row.size:,} byte{'s' if row.size != 1 else ''}" if row.size else ""
        numbers, note = columns.numbers(row.counts, total, paint), inferred_note(row.counts)
        name = options.fitted(printable(row.name), " " * columns.width, " ", size, note)
        sink.write(f"{numbers} {paint.bold(name)}{paint.dim(size + note)}\n")
        members = sorted(row.fields.values(), key=lambda member: (-member.counts.weight, member.offset))
        visible = [member for member in members if member.counts.weight >= options.least(total) / 4][:_MOST_FIELDS]
        for member in visible:
            sink.write(f"{columns.numbers(member.counts, total, paint)}   {_member(member)}")
            sink.write(paint.dim(inferred_note(member.counts)) + "\n")
        rest = len(members) - len(visible)
        if rest:
            text = f"and {rest} more member{'s' * (rest > 1)}"
            sink.write(paint.dim(f"{'':{columns.width}}   {text}\n"))
    if hidden := hidden_text(len(data.types), len(shown), options.rows, options.percent_limit, "type"):
        sink.write(paint.dim(hidden) + "\n")
    write_spread(spreads, data.total, sink, paint)


def _member(member: "FieldRow") -> str:
    name = printable(member.field) or ("(whole)" if not member.offset else "(padding, or a member not known)")
    others = [printable(other) for other in member.candidates if other != member.field]
    alternatives = f"  or {', '.join(others[:3])}" if others else ""
    return f"+{member.offset:<5} {name}{alternatives}"


def write_sharing(clashes: "Clashes", sink: TextIO, options: TypesOptions, only: set[str] | None = None) -> None:
    """False and true sharing between CPUs, of all types or of some."""
    paint = Paint(options.colour)
    for false, title in SHARING_TITLES.items():
        shown = [clash for clash in clashes.found if clash.false == false and (only is None or clash.type in only)]
        if shown:
            note = f"  share of {clashes.total:,} samples of all events" if clashes.weight == "samples" else ""
            sink.write("\n" + paint.bold(title) + paint.dim(note) + "\n")
        for clash in shown[:_MOST_FINDINGS]:
            share = share_text(clash.weight, clashes.total)
            sink.write(f"{share} {printable(clash.type)}  {paint.dim(clash_place(clash))}\n")
            for text in clash_parties(clash):
                sink.write(f"{'':8} {text}\n")
            for text in clash_advice(clash):
                sink.write(paint.dim(f"{'':8} → {text}\n"))
        if len(shown) > _MOST_FINDINGS:
            sink.write(paint.dim(f"and {len(shown) - _MOST_FINDINGS} more (--json has them)\n"))


def write_spread(spreads: "Sequence[Spread]", total: int, sink: TextIO, paint: Paint, only: str | None = None) -> None:
    """Members that are too far apart, of all types or of one; shares are of ``total``."""
    shown = [spread for spread in spreads if only in (None, spread.type)]
    if shown:
        sink.write("\n" + paint.bold(SPREAD_TITLE) + "\n")
    for spread in shown[:_MOST_FINDINGS]:
        lines = ", ".join(str(line) for line in spread.lines)
        sink.write(f"{share_text(spread.weight, total)} {printable(spread.type)}  {paint.dim(f'lines {lines}')}\n")
        for name, offset, share in spread.members:
            sink.write(f"{'':8} {100 * share:3.0f}% +{offset:<5} {printable(name)}\n")
        sink.write(paint.dim(f"{'':8} {spread_functions(spread)}\n"))
        sink.write(paint.dim(f"{'':8} → {spread_advice(spread)}\n"))
