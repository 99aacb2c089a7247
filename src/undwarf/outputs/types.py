"""Types and members by weight, one type drawn, and hot instructions with what they touch: for people."""

from collections.abc import Callable
from typing import TextIO

from undwarf.errors import UsageError
from undwarf.lazy_dataclasses import dataclass
from undwarf.outputs.escape import printable
from undwarf.outputs.paint import Paint, cells, fit, pad
from undwarf.outputs.types_findings import (
    SHARING_TITLES,
    SPREAD_TITLE,
    clash_advice,
    clash_parties,
    clash_place,
    inferred_text,
    spread_advice,
    spread_functions,
    unread_text,
    untyped_advice,
    untyped_text,
)
from undwarf.types.access import Access
from undwarf.views.datatypes import Counts, DataTypes, FieldRow, TypeRow
from undwarf.views.layout import layout, spread
from undwarf.views.sharing import LINE, Clashes

__all__ = [
    "TypesOptions",
    "find_type",
    "known_type",
    "plain_name",
    "write",
    "write_code",
    "write_sharing",
    "write_type",
]

_MOST_FIELDS = 24
_MOST_FINDINGS = 10
_MOST_TOUCHED = 50
_MOST_INSTRUCTION = 32


@dataclass(frozen=True, slots=True)
class TypesOptions:
    """What is shown: rows from ``percent_limit`` percent of the whole on, ``rows`` types at most (0: all)."""

    percent_limit: float = 0.5
    rows: int = 0
    colour: bool = False
    path: str = ""
    skid: bool = False
    precise: bool = False
    """Samples stop at the access itself: nothing is to be gained by looking before it."""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:6.2f}%"


def write_head(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """The shares: what has a type, what could have one, what has none by nature."""
    paint = Paint(options.colour)
    total = found.total or 1
    sink.write(paint.bold(f"{printable(options.path)}: {printable(name)}"))
    sink.write(paint.dim(f"  {found.samples:,} samples\n"))
    outside = sum(found.outside.values())
    memory = found.total - outside - sum(found.unread.values())
    sink.write(f"{_share(memory, total)} of the weight is at instructions that touch the program's data:\n")
    note = ""
    if found.inferred:
        high, low = _share(found.consumed, total).strip(), _share(found.inferred - found.consumed, total).strip()
        note = f", of which {_share(found.inferred, total).strip()} inferred"
        note += f" ({high} with high confidence, {low} with low)"
    sink.write(f"{_share(found.typed, total)}   typed{note}\n")
    for reason, weight in sorted(found.unknown.items(), key=lambda one: -one[1]):
        sink.write(f"{_share(weight, total)}   {paint.warn(printable(untyped_text(found, reason)))}\n")
    for reason, weight in sorted(found.outside.items(), key=lambda one: -one[1]):
        sink.write(paint.dim(f"{_share(weight, total)} {reason}\n"))
    for reason, weight in sorted(found.unread.items(), key=lambda one: -one[1]):
        sink.write(f"{_share(weight, total)} {paint.warn(printable(unread_text(found, reason)))}\n")
    if found.outside.get("no memory access", 0) > 0.25 * total and not (options.skid or options.precise):
        sink.write(paint.dim("  → events that are not precise stop behind the access: see --skid\n"))
    for advice in untyped_advice(found):
        sink.write(paint.dim(f"  → {advice}\n"))


def write(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """Types by weight, their members below them."""
    paint = Paint(options.colour)
    write_head(found, name, sink, options)
    total = found.total or 1
    least = options.percent_limit * total / 100
    shown = [row for row in found.types if row.counts.weight >= least]
    if options.rows:
        del shown[options.rows :]
    if not shown:
        return
    columns = _Columns(found)
    sink.write("\n" + paint.bold(f"{columns.head()} Type, member") + "\n")
    for row in shown:
        size = f"  {row.size:,} byte{'s' if row.size != 1 else ''}" if row.size else ""
        sink.write(columns.numbers(row.counts, total, paint) + " " + paint.bold(printable(row.name)))
        sink.write(paint.dim(size) + _inferred(row.counts, paint) + "\n")
        members = sorted(row.fields.values(), key=lambda one: (-one.counts.weight, one.offset))
        visible = [one for one in members if one.counts.weight >= least / 4][:_MOST_FIELDS]
        for one in visible:
            sink.write(columns.numbers(one.counts, total, paint) + "   " + _member(one))
            sink.write(_inferred(one.counts, paint) + "\n")
        if len(visible) < len(members):
            sink.write(paint.dim(f"{'':{columns.width}}   and {len(members) - len(visible)} more\n"))
    hidden = len(found.types) - len(shown)
    if hidden > 0:
        sink.write(paint.dim(f"and {hidden:,} more type{'s' * (hidden > 1)} (--percent-limit 0 --rows 0 shows them)\n"))
    _write_spread(found, sink, paint)


class _Columns:
    """The columns of numbers before a type or member: those that the recording has."""

    def __init__(self, found: DataTypes, *, weighed: bool = True) -> None:
        self._weighed = weighed
        self._latency = weighed and found.has_latency
        self._sources = weighed and found.has_sources
        self.width = (23 if weighed else 0) + 9 * self._latency + 8 * self._sources

    def head(self) -> str:
        text = f"{'Weight':>7} {'Loads':>7} {'Stores':>7}" if self._weighed else ""
        text += f" {'Latency':>8}" if self._latency else ""
        return text + (f" {'Missed':>7}" if self._sources else "")

    def numbers(self, counts: Counts, total: int, paint: Paint) -> str:
        """Shares of ``total``; the mean latency; of the accesses whose place is known those that the nearest cache
        did not have."""
        share = counts.weight / total
        text = paint.share(share, _share(counts.weight, total))
        text += f" {_share(counts.loads, total)} {_share(counts.stores, total)}"
        if self._latency:
            text += f" {counts.mean_latency:8.1f}" if counts.timed else f" {'':8}"
        if self._sources:
            memory = counts.memory
            text += f" {_share(memory.missed, memory.known)}" if memory.known else f" {'':7}"
        return text


def _levels(counts: Counts) -> str:
    """Where the data was found, most weight first; how much came from other cpus or missed the TLB, on which pages."""
    memory = counts.memory
    parts = [
        f"{printable(name)} {100 * weight / memory.known:.0f}%"
        for name, weight in sorted(memory.levels.items(), key=lambda one: (-one[1], one[0]))[:4]
    ]
    if len(memory.levels) > 4:
        parts.append("...")
    if memory.others:
        parts.append(f"from another cpu's cache {100 * memory.others / memory.known:.0f}%")
    if memory.tlb_missed:
        parts.append(f"TLB missed {100 * memory.tlb_missed / memory.known:.0f}%")
    if memory.pages:
        parts.append(f"pages {', '.join(sorted(memory.pages, key=lambda name: -memory.pages[name])[:3])}")
    return ", ".join(parts)


def _inferred(counts: Counts, paint: Paint) -> str:
    text = inferred_text(counts)
    return paint.dim(f"  {text}") if text else ""


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
            sink.write(f"{_share(one.weight, clashes.total)} {printable(one.type)}  {paint.dim(clash_place(one))}\n")
            for text in clash_parties(one):
                sink.write(f"{'':8} {text}\n")
            for text in clash_advice(one):
                sink.write(paint.dim(f"{'':8} → {text}\n"))
        if len(some) > _MOST_FINDINGS:
            sink.write(paint.dim(f"and {len(some) - _MOST_FINDINGS} more (--json has them)\n"))


def _write_spread(found: DataTypes, sink: TextIO, paint: Paint, only: str | None = None) -> None:
    """Members that lie too far apart, of all types or of one."""
    far = [two for two in spread(found) if only in (None, two.type)]
    if far:
        sink.write("\n" + paint.bold(SPREAD_TITLE) + "\n")
    for two in far[:_MOST_FINDINGS]:
        lines = ", ".join(str(line) for line in two.lines)
        sink.write(f"{_share(two.weight, found.total)} {printable(two.type)}  {paint.dim(f'lines {lines}')}\n")
        for name, offset, share in two.members:
            sink.write(f"{'':8} {100 * share:3.0f}% +{offset:<5} {printable(name)}\n")
        sink.write(paint.dim(f"{'':8} {spread_functions(two)}\n"))
        sink.write(paint.dim(f"{'':8} → {spread_advice(two)}\n"))


def find_type(found: DataTypes, name: str, called: Callable[[], frozenset[str]] = frozenset) -> TypeRow:
    """The hottest type of a name, given whole, without ``struct``, as a typedef or in part. ``called``: the names of
    the types that it is a typedef of. Raises UsageError if no sample touches it."""
    row = known_type(found, name, called)
    if row is not None:
        return row
    have = ", ".join(row.name for row in found.types[:5])
    raise UsageError(f"no sample touches a type named {name!r}", f"there is {have}" if have else "", "undwarf types")


def known_type(found: DataTypes, name: str, called: Callable[[], frozenset[str]] = frozenset) -> TypeRow | None:
    """As :func:`find_type`, None if no sample touches it."""
    wanted = plain_name(name)
    for row in found.types:
        if row.name == name or plain_name(row.name) == wanted:
            return row
    aliased = called()
    if aliased:
        return next((row for row in found.types if row.name in aliased), None)
    return next((row for row in found.types if wanted in row.name), None)


def plain_name(name: str) -> str:
    """A type's name without the keyword before it."""
    for keyword in ("struct ", "class ", "union ", "enum "):
        name = name.removeprefix(keyword)
    return name.strip()


def write_type(found: DataTypes, row: TypeRow, sink: TextIO, options: TypesOptions) -> None:
    """One type drawn: members with offsets and sizes, holes, cache lines, and each member's numbers where there are
    samples."""
    paint = Paint(options.colour)
    total = found.total or 1
    of_type = row.counts.weight or 1
    weighed = found.samples > 0
    sink.write(paint.bold(printable(row.name)))
    lines = -(-row.size // LINE)
    sink.write(f"  {row.size:,} bytes, {lines:,} cache line{'s' if lines != 1 else ''}")
    if weighed:
        sink.write(f", {_share(row.counts.weight, total).strip()} of the weight")
    columns = _Columns(found, weighed=weighed)
    head = columns.head() + (" " if weighed else "")
    sink.write("\n" + paint.bold(f"{head}{'Offset':>7} {'Size':>6}  Member") + "\n")
    before = -1
    drawn = layout(row)
    widths = columns.width + 1 if weighed else 0
    for one in drawn:
        line = one.offset // LINE
        if line != before and row.size > LINE:
            weight = sum(each.counts.weight for each in row.fields.values() if each.offset // LINE == line)
            share = f"{_share(weight, of_type).strip()} " if weighed else ""
            rule = f"── cache line {line}, {share}" if weighed else f"── cache line {line} "
            sink.write(paint.dim(f"{'':{max(widths - 1, 0)}} {rule:─<48}") + "\n")
        before = line
        indent = "  " * one.depth
        if one.kind == "hole":
            sink.write(paint.warn(f"{'':{widths}}{one.offset:7} {one.size:6}  {indent}(hole)") + "\n")
            continue
        counts = one.counts
        numbers = " " * widths
        if counts is not None:
            numbers = columns.numbers(counts, of_type, paint) + " "
        name = f"{printable(one.name)}{one.bits}"
        sink.write(f"{numbers}{one.offset:7} {one.size:6}  {indent}{name or '(nameless)'}")
        sink.write(paint.dim(f"  {printable(one.type)}") + (_inferred(counts, paint) if counts else "") + "\n")
        if counts is not None and counts.memory.known:
            sink.write(paint.dim(f"{'':{widths}}{'':16}{indent}  {_levels(counts)}") + "\n")
    rest = sum(one.counts.weight for one in row.fields.values() if not one.field)
    if weighed and (not drawn or rest):
        sink.write(f"{_share(rest, of_type)} {'':17}of the whole, or of what has no name\n")
    _write_spread(found, sink, paint, row.name)


def _touched(access: Access) -> str:
    """What an instruction touches, or why that is not known."""
    if access.type is None:
        kept = f": {printable(access.candidates[0])}" if access.how == "spill" and access.candidates else ""
        return f"   {access.reason}{kept}"
    place = f" +{access.offset}" if access.offset else ""
    return f"{access.access:2} {access.type}{place}" + (f" ({access.field})" if access.field else "")


def write_code(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """Instructions by weight, each with what it touches or why that is not known."""
    paint = Paint(options.colour)
    write_head(found, name, sink, options)
    total = found.total or 1
    least = options.percent_limit * total / 100
    shown = [row for row in found.instructions if row.counts.weight >= least]
    if options.rows:
        del shown[options.rows :]
    touched = [fit(printable(_touched(row.access)), _MOST_TOUCHED) for row in shown]
    texts = [printable(row.access.insn) for row in shown]
    room = max((cells(what) for what in touched), default=0)
    # A few long ones are not worth a wide column for all.
    insn_room = min(max(map(cells, texts), default=0), _MOST_INSTRUCTION)
    sink.write("\n" + paint.bold(f"{'Weight':>7} {'Address':>14}  {'Touches':{room}}  Instruction, function") + "\n")
    for row, what, insn in zip(shown, touched, texts, strict=True):
        access = row.access
        text = pad(what, room)
        sink.write(
            f"{paint.share(row.counts.weight / total, _share(row.counts.weight, total))} {access.address:#14x}  "
        )
        sink.write((text if access.type is not None else paint.dim(text)) + f"  {pad(insn, insn_room)}  ")
        sink.write(paint.name(printable(row.function), kernel=False) + _inferred(row.counts, paint) + "\n")
    hidden = len(found.instructions) - len(shown)
    if hidden > 0:
        sink.write(paint.dim(f"and {hidden:,} more (--percent-limit 0 shows them)\n"))
