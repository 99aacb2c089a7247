"""The layout of types as text: members with offsets and sizes, holes, cache lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint
from undwarf.outputs.types.advice import inferred_text
from undwarf.outputs.types.columns import Columns, TypesOptions, inferred_note, levels, reached_note, share_text
from undwarf.outputs.types.text import write_spread

if TYPE_CHECKING:
    from undwarf.views.data.layout import DrawnType, LayoutLine, Spread
    from undwarf.views.data.types import DataTypes, TypeRow


def write_types(
    data: "DataTypes",
    types: "Sequence[DrawnType]",
    spreads: "Sequence[Spread]",
    sink: TextIO,
    options: TypesOptions,
) -> None:
    """Types of one name: members with offsets and sizes, holes, cache lines; and each member's numbers if there are
    samples."""
    paint = Paint(options.colour)
    for drawn in types:
        _write_type(data, drawn, sink, options, paint)
    write_spread(spreads, data.total, sink, paint, types[0].row.name)


def _write_type(data: "DataTypes", drawn: "DrawnType", sink: TextIO, options: TypesOptions, paint: Paint) -> None:
    row = drawn.row
    weighed = data.samples > 0
    columns = Columns(data, weighed=weighed)
    _write_title(data, row, sink, paint)
    head = columns.head() + (" " if weighed else "")
    sink.write(paint.bold(f"{head}{'Offset':>7} {'Size':>6}  Member") + "\n")
    weight = row.counts.weight or 1
    blank = columns.width + 1 if weighed else 0
    line_size = data.line_size
    cache_line = -1
    for line in drawn.lines:
        if line.offset // line_size != cache_line:
            cache_line = line.offset // line_size
            if row.size > line_size:
                share = f", {share_text(_of_cache_line(row, cache_line, line_size), weight).strip()}" if weighed else ""
                rule = f"── cache line {cache_line}{share} "
                sink.write(paint.dim(f"{'':{max(blank - 1, 0)}} {rule:─<48}") + "\n")
        indent = "  " * line.depth
        if line.kind == "hole":
            sink.write(paint.warn(f"{'':{blank}}{line.offset:7} {line.size:6}  {indent}(hole)") + "\n")
            continue
        counts = line.counts
        numbers = columns.numbers(counts, weight, paint) + " " if counts is not None else " " * blank
        text = f"{line.offset:7} {line.size:6}  {indent}{_member(line)}"
        note = (inferred_note(counts) if counts is not None else "") + reached_note(line)
        type_name = options.fitted(_type(line), " " * blank, text, "  ", note)
        sink.write(f"{numbers}{text}{paint.dim(f'  {type_name}{note}')}\n")
        if counts is not None and counts.memory.known:
            sink.write(paint.dim(f"{'':{blank}}{'':16}{indent}  {levels(counts)}") + "\n")
    rest = sum(field.counts.weight for field in row.fields.values() if not field.field)
    if weighed and (not drawn.lines or rest):
        sink.write(f"{share_text(rest, weight)} {'':{columns.width - 7}}of the whole, or of what has no name\n")


def _of_cache_line(row: "TypeRow", cache_line: int, line_size: int) -> int:
    """The weight of the accesses to a cache line."""
    return sum(
        counts.weight
        for field in row.fields.values()
        for size, counts in field.by_size.items()
        if field.offset // line_size <= cache_line <= (field.offset + max(size, 1) - 1) // line_size
    )


def _write_title(data: "DataTypes", row: "TypeRow", sink: TextIO, paint: Paint) -> None:
    lines = -(-row.size // data.line_size)
    sink.write(paint.bold(printable(row.name)))
    sink.write(f"  {row.size:,} bytes, {lines:,} cache line{'s' if lines != 1 else ''}")
    if data.samples:
        sink.write(f", {share_text(row.counts.weight, data.total or 1).strip()} of the weight")
        inferred = inferred_text(row.counts, spelled=True)
        sink.write(paint.dim((f", {inferred}" if inferred else "") + "; shares below are of that"))
    sink.write("\n")


def _member(line: "LayoutLine") -> str:
    """A member's name, and those of other members that the accesses may be to."""
    others = [printable(path.rpartition(".")[2]) for path in line.others[:3]]
    alternatives = f"  or {', '.join(others)}" if others else ""
    return f"{printable(line.name)}{line.bits}{alternatives}" or "(nameless)"


def _type(line: "LayoutLine") -> str:
    """A member's type; of an array with the element counts."""
    name = printable(line.type)
    if not any(line.bounds):
        return name
    # A typedef may hide further dimensions: only the outermost is counted then.
    bounds = line.bounds if name.endswith("[]" * len(line.bounds)) else line.bounds[:1]
    return name.removesuffix("[]" * len(bounds)) + "".join(f"[{count or ''}]" for count in bounds)
