"""Folded stacks: a line ``comm;outer;...;inner WEIGHT`` for each distinct stack, for flame-graph tools; or as JSON."""

from typing import TYPE_CHECKING, BinaryIO

from undwarf.outputs.json_lines import line_of, pack_quoted, packed
from undwarf.outputs.json_values import known
from undwarf.outputs.kernels.folded_text import FoldedText
from undwarf.outputs.terminal.escape import pack

if TYPE_CHECKING:
    from undwarf.views.folded_stacks import FoldedRoot, FoldedStacks

    Packed = tuple[bytes, memoryview[int]]
    """Texts in one buffer, and their offsets."""

_TEXT = (b";", b" ", b"\n")
_JSON = (b",", b'],"weight":', b"}\n")
"""What is between names, before the weight, and at the end of a line."""


def write(stacks: "FoldedStacks", sink: BinaryIO) -> None:
    """Write the lines; a ``;`` in a name becomes ``:``, as in other tools, and characters that are not printable are
    escaped."""
    names = pack([name.replace(";", ":") for name in stacks.names])
    roots = pack([root.text.replace(";", ":") for root in stacks.roots])
    _write(stacks, names, roots, _TEXT, sink)


def write_json(stacks: "FoldedStacks", sink: BinaryIO, event: str | None, unit: str) -> None:
    """Write a line of JSON for each stack. ``event`` is None if those of several are counted; ``unit`` is that of the
    weights, empty if it is not known."""
    roots = packed([_start(root, event, unit) for root in stacks.roots])
    _write(stacks, pack_quoted(stacks.names), roots, _JSON, sink)


def _start(root: "FoldedRoot", event: str | None, unit: str) -> bytes:
    """What the lines of a root start with."""
    line = line_of(
        {
            "schema": "undwarf/fold",
            "version": 1,
            "event": event,
            "unit": known(unit),
            "comm": root.comm,
            "pid": root.pid,
            "tid": root.tid,
            "stack": [],
        }
    )
    return line.removesuffix(b"]}\n")


def _write(
    stacks: "FoldedStacks", names: "Packed", roots: "Packed", layout: tuple[bytes, bytes, bytes], sink: BinaryIO
) -> None:
    text = FoldedText(
        stacks.parent,
        stacks.name,
        *names,
        *roots,
        stacks.line_root,
        stacks.line_node,
        stacks.line_weight,
        layout,
        leading=layout is _TEXT,
    )
    while used := text.fill():
        sink.write(text.buffer()[:used])
