"""Hot instructions with the type and member that each accesses, as text."""

from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten_type
from undwarf.outputs.terminal.style import Paint, cells, fit, hidden_text, pad
from undwarf.outputs.types.columns import TypesOptions, inferred_note, share_text
from undwarf.outputs.types.text import write_head
from undwarf.types.access import Access

if TYPE_CHECKING:
    from undwarf.views.data.types import DataTypes

_MOST_ACCESS = 50
_LEAST_TYPE = 16
_MOST_INSTRUCTION = 32
"""A few long instructions are not worth a wide column for all."""


def _access_text(access: Access, width: int) -> str:
    """What an instruction accesses, or why that is unknown, in at most ``width`` columns: a long type is cut before the
    member."""
    if access.type is None:
        spilled = f": {printable(access.candidates[0])}" if access.how == "spill" and access.candidates else ""
        return fit(f"   {printable(access.reason)}{spilled}", width)
    member = (f" +{access.offset}" if access.offset else "") + (f" ({printable(access.field)})" if access.field else "")
    name = shorten_type(printable(access.type), max(_LEAST_TYPE, width - 3 - cells(member)))
    return fit(f"{access.access:2} {name}{member}", width)


def write_code(data: "DataTypes", event: str, sink: TextIO, options: TypesOptions) -> None:
    """Instructions by weight, each with what it accesses or why that is unknown."""
    paint = Paint(options.colour)
    write_head(data, event, sink, options)
    total = data.total or 1
    shown = options.shown(data.instructions, total)
    address_width = max([len("Address"), *(len(f"{row.access.address:#x}") for row in shown)])
    most_access, most_instruction = _widths(options.width, address_width)
    accesses = [_access_text(row.access, most_access) for row in shown]
    instructions = [printable(row.access.insn) for row in shown]
    access_width = max(map(cells, accesses), default=0)
    insn_width = min(max(map(cells, instructions), default=0), most_instruction)
    titles = f"{pad('Touches', access_width)}  {pad('Instruction', insn_width)}  Function, file"
    sink.write("\n" + paint.bold(f"{'Weight':>7} {'Address':>{address_width}}  {titles}") + "\n")
    for row, access_text, insn in zip(shown, accesses, instructions, strict=True):
        access = row.access
        share = paint.share(row.counts.weight / total, share_text(row.counts.weight, total))
        address, text = f"{access.address:#{address_width}x}  ", pad(access_text, access_width)
        insn = f"  {pad(insn if options.width is None else fit(insn, insn_width), insn_width)}  "
        file, note = f"  {_file(row.image)}", inferred_note(row.counts)
        function = options.fitted(printable(row.function), " " * 8, address, text, insn, file, note)
        sink.write(f"{share} {address}{text if access.type is not None else paint.dim(text)}{insn}")
        sink.write(paint.name(function, kernel=False) + paint.dim(file + note) + "\n")
    if hidden := hidden_text(len(data.instructions), len(shown), options.rows, options.percent_limit):
        sink.write(paint.dim(hidden) + "\n")


def _widths(width: int | None, address: int) -> tuple[int, int]:
    """The most columns for accesses and for instructions; a narrow terminal needs some for functions too."""
    if width is None:
        return _MOST_ACCESS, _MOST_INSTRUCTION
    rest = width - 8 - address
    return min(_MOST_ACCESS, max(16, rest // 2)), min(_MOST_INSTRUCTION, max(12, rest // 5))


def _file(path: str) -> str:
    """The name of an image's file."""
    name = printable(path)
    return name if name.startswith(("[", "//")) else name.rpartition("/")[2]
