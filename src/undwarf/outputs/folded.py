"""Folded stacks: one line ``comm;outer;...;inner WEIGHT`` for each distinct stack, for flame-graph tools."""

from typing import TYPE_CHECKING, BinaryIO

from undwarf.outputs.kernels.folded_text import FoldedText
from undwarf.outputs.terminal.escape import pack

if TYPE_CHECKING:
    from undwarf.views.folded_stacks import FoldedStacks


def write(stacks: "FoldedStacks", sink: BinaryIO) -> None:
    """Write the lines; characters that are not printable are escaped."""
    name_bytes, name_offsets = pack(stacks.names)
    root_bytes, root_offsets = pack(stacks.roots)
    text = FoldedText(
        stacks.parent,
        stacks.name,
        name_bytes,
        name_offsets,
        root_bytes,
        root_offsets,
        stacks.line_root,
        stacks.line_node,
        stacks.line_weight,
    )
    while used := text.fill():
        sink.write(text.buffer()[:used])
