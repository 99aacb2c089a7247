"""Hot instructions with the type and member that each accesses, as text."""

from typing import TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten_type
from undwarf.outputs.terminal.style import Paint, cells, fit, hidden_text, pad
from undwarf.outputs.types.columns import TypesOptions, inferred_note, share_text
from undwarf.outputs.types.text import write_head
from undwarf.types.access import Access
from undwarf.views.data.types import DataTypes

__all__ = ["write_code"]

_MOST_TOUCHED = 50
_LEAST_TYPE = 16
_MOST_INSTRUCTION = 32
"""A few long ones are not worth a wide column for all."""


def _touched(access: Access, room: int) -> str:
    """What an instruction touches, or why that is not known, in at most ``room`` columns: a long type gives way to the
    member."""
    if access.type is None:
        kept = f": {printable(access.candidates[0])}" if access.how == "spill" and access.candidates else ""
        return fit(f"   {access.reason}{kept}", room)
    place = (f" +{access.offset}" if access.offset else "") + (f" ({printable(access.field)})" if access.field else "")
    name = shorten_type(printable(access.type), max(_LEAST_TYPE, room - 3 - cells(place)))
    return fit(f"{access.access:2} {name}{place}", room)


def write_code(found: DataTypes, name: str, sink: TextIO, options: TypesOptions) -> None:
    """Instructions by weight, each with what it touches or why that is not known."""
    paint = Paint(options.colour)
    write_head(found, name, sink, options)
    total = found.total or 1
    shown = options.shown(found.instructions, total)
    at_room = max([len("Address"), *(len(f"{row.access.address:#x}") for row in shown)])
    most_touched, most_insn = _rooms(options.width, at_room)
    touched = [_touched(row.access, most_touched) for row in shown]
    texts = [printable(row.access.insn) for row in shown]
    room = max((cells(what) for what in touched), default=0)
    insn_room = min(max(map(cells, texts), default=0), most_insn)
    title = (
        f"{'Weight':>7} {'Address':>{at_room}}  {pad('Touches', room)}  {pad('Instruction', insn_room)}  Function, file"
    )
    sink.write("\n" + paint.bold(title) + "\n")
    for row, what, insn in zip(shown, touched, texts, strict=True):
        access = row.access
        share = paint.share(row.counts.weight / total, share_text(row.counts.weight, total))
        text = pad(what, room)
        before = (
            f"{access.address:#{at_room}x}  ",
            text,
            f"  {pad(insn if options.width is None else fit(insn, insn_room), insn_room)}  ",
        )
        name, file, note = printable(row.function), f"  {_file(row.image)}", inferred_note(row.counts)
        function = options.fitted(name, " " * 8, *before, file, note)
        sink.write(f"{share} {before[0]}{text if access.type is not None else paint.dim(text)}{before[2]}")
        sink.write(paint.name(function, kernel=False) + paint.dim(file + note) + "\n")
    hidden = len(found.instructions) - len(shown)
    if hidden > 0:
        cut = bool(options.rows) and len(shown) == options.rows
        sink.write(paint.dim(hidden_text(hidden, options.percent_limit, cut=cut)) + "\n")


def _rooms(width: int | None, address: int) -> tuple[int, int]:
    """Columns at most for what is touched and for the instruction; in a narrow terminal the function needs some too."""
    if width is None:
        return _MOST_TOUCHED, _MOST_INSTRUCTION
    rest = width - 8 - address
    return min(_MOST_TOUCHED, max(16, rest // 2)), min(_MOST_INSTRUCTION, max(12, rest // 5))


def _file(path: str) -> str:
    """The file that an address is of."""
    name = printable(path)
    return name if name.startswith(("[", "//")) else name.rpartition("/")[2]
