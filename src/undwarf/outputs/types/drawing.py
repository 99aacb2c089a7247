"""The layout of one type as text: members with offsets and sizes, holes, cache lines; and types looked up by name."""

from collections.abc import Callable
from typing import TextIO

from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten
from undwarf.outputs.terminal.style import Paint
from undwarf.outputs.types.advice import inferred_text
from undwarf.outputs.types.columns import Columns, TypesOptions, inferred_note, levels, reached_note, share_text
from undwarf.outputs.types.text import write_spread
from undwarf.views.data.layout import LayoutLine, layout
from undwarf.views.data.types import DataTypes, TypeRow

__all__ = ["find_types", "known_types", "plain_name", "write_types"]

_LOOKED_AT, _MOST_NAMED, _NAME_ROOM = 2000, 5, 60


def find_types(found: DataTypes, name: str, called: Callable[[], frozenset[str]] = frozenset) -> list[TypeRow]:
    """The hottest type of a name, given whole, without ``struct``, as a typedef or in part; and those that look
    otherwise and have the same name, by weight. ``called``: the names of the types that it is a typedef of. Raises
    UsageError if no sample touches it."""
    rows = known_types(found, name, called)
    if rows:
        return rows
    raise UsageError(
        f"no sample touches a type named {name!r}",
        _touched_types(found, name),
        "undwarf types lists what is touched; --binary ELF --type NAME draws what is not",
    )


def _touched_types(found: DataTypes, name: str) -> str:
    """What a name may have been meant for: the types most like it, else the hottest."""
    from difflib import get_close_matches

    by_end = {_end(row.name): row.name for row in reversed(found.types[:_LOOKED_AT])}
    like = get_close_matches(_end(name), by_end, _MOST_NAMED)
    names = [by_end[one] for one in like] or [row.name for row in found.types[:_MOST_NAMED]]
    if not names:
        return "nothing that samples touch has a known type"
    return f"there is {', '.join(shorten(one, _NAME_ROOM) for one in names)}"


def _end(name: str) -> str:
    """A name as it may be mistyped: without keyword, namespaces, what a template is made for, and capitals."""
    return plain_name(name).partition("<")[0].rpartition("::")[2][:_NAME_ROOM].lower()


def known_types(found: DataTypes, name: str, called: Callable[[], frozenset[str]] = frozenset) -> list[TypeRow]:
    """As :func:`find_types`, none if no sample touches it."""
    known = _whole_name(found, name, called)
    return [row for row in found.types if row.name == known]


def _whole_name(found: DataTypes, name: str, called: Callable[[], frozenset[str]]) -> str | None:
    wanted = plain_name(name)
    for row in found.types:
        if row.name == name or plain_name(row.name) == wanted:
            return row.name
    aliased = called()
    if aliased:
        return next((row.name for row in found.types if row.name in aliased), None)
    return next((row.name for row in found.types if wanted in row.name), None)


def plain_name(name: str) -> str:
    """A type's name without the keyword before it."""
    for keyword in ("struct ", "class ", "union ", "enum "):
        name = name.removeprefix(keyword)
    return name.strip()


def write_types(found: DataTypes, rows: list[TypeRow], sink: TextIO, options: TypesOptions) -> None:
    """The types of a name drawn: members with offsets and sizes, holes, cache lines, and each member's numbers where
    there are samples."""
    paint = Paint(options.colour)
    for row in rows:
        _write_type(found, row, sink, options, paint)
    write_spread(found, sink, paint, rows[0].name)


def _write_type(found: DataTypes, row: TypeRow, sink: TextIO, options: TypesOptions, paint: Paint) -> None:
    weighed = found.samples > 0
    columns = Columns(found, weighed=weighed)
    _write_title(found, row, sink, options)
    head = columns.head() + (" " if weighed else "")
    sink.write(paint.bold(f"{head}{'Offset':>7} {'Size':>6}  Member") + "\n")
    before = -1
    drawn = layout(row)
    of_type = row.counts.weight or 1
    blank = columns.width + 1 if weighed else 0
    size = found.line_size
    for one in drawn:
        line = one.offset // size
        if line != before and row.size > size:
            weight = _of_line(row, line, size)
            share = f", {share_text(weight, of_type).strip()}" if weighed else ""
            rule = f"── cache line {line}{share} "
            sink.write(paint.dim(f"{'':{max(blank - 1, 0)}} {rule:─<48}") + "\n")
        before = line
        indent = "  " * one.depth
        if one.kind == "hole":
            sink.write(paint.warn(f"{'':{blank}}{one.offset:7} {one.size:6}  {indent}(hole)") + "\n")
            continue
        counts = one.counts
        numbers = columns.numbers(counts, of_type, paint) + " " if counts is not None else " " * blank
        text = f"{one.offset:7} {one.size:6}  {indent}{_member(one)}"
        note = (inferred_note(counts) if counts is not None else "") + reached_note(one)
        of = options.fitted(_type(one), " " * blank, text, "  ", note)
        sink.write(f"{numbers}{text}{paint.dim(f'  {of}{note}')}\n")
        if counts is not None and counts.memory.known:
            sink.write(paint.dim(f"{'':{blank}}{'':16}{indent}  {levels(counts)}") + "\n")
    rest = sum(one.counts.weight for one in row.fields.values() if not one.field)
    if weighed and (not drawn or rest):
        sink.write(f"{share_text(rest, of_type)} {'':{columns.width - 7}}of the whole, or of what has no name\n")


def _of_line(row: TypeRow, line: int, line_size: int) -> int:
    """The weight of the accesses that touch a cache line."""
    return sum(
        counts.weight
        for each in row.fields.values()
        for size, counts in each.by_size.items()
        if each.offset // line_size <= line <= (each.offset + max(size, 1) - 1) // line_size
    )


def _write_title(found: DataTypes, row: TypeRow, sink: TextIO, options: TypesOptions) -> None:
    paint = Paint(options.colour)
    lines = -(-row.size // found.line_size)
    sink.write(paint.bold(printable(row.name)))
    sink.write(f"  {row.size:,} bytes, {lines:,} cache line{'s' if lines != 1 else ''}")
    if found.samples:
        sink.write(f", {share_text(row.counts.weight, found.total or 1).strip()} of the weight")
        inferred = inferred_text(row.counts, spelled=True)
        sink.write(paint.dim((f", {inferred}" if inferred else "") + "; shares below are of that"))
    sink.write("\n")


def _member(one: LayoutLine) -> str:
    """A member's name, and those of others that may be meant as well."""
    others = [printable(path.rpartition(".")[2]) for path in one.others[:3]]
    also = f"  or {', '.join(others)}" if others else ""
    return f"{printable(one.name)}{one.bits}{also}" or "(nameless)"


def _type(one: LayoutLine) -> str:
    """A member's type; of an array with the numbers of its elements."""
    name = printable(one.type)
    if not any(one.bounds):
        return name
    # A type that only has a name may be an array of arrays as well: of that, the elements are counted.
    known = one.bounds if name.endswith("[]" * len(one.bounds)) else one.bounds[:1]
    return name.removesuffix("[]" * len(known)) + "".join(f"[{count or ''}]" for count in known)
