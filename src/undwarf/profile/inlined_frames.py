"""Inlined functions as frames of their own."""

from collections.abc import Sequence
from typing import Protocol

from undwarf.column import zeros
from undwarf.ordering import take
from undwarf.profile.inline_expansion import expand_frames, expand_stacks
from undwarf.profile.model import FrameColumns, FunctionTable, StackColumns


class Inlined(Protocol):
    """The chains of functions of all frames, as :class:`undwarf.symbols.inlines.Inlines` has them."""

    @property
    def columns(self) -> dict[str, memoryview]: ...
    @property
    def names(self) -> Sequence[str]: ...


def expanded(
    frames: FrameColumns, functions: FunctionTable, stacks: StackColumns, inlines: Inlined, inline: bool
) -> tuple[FrameColumns, FunctionTable, StackColumns, memoryview, memoryview]:
    """Frames with source lines, and with inlined functions as frames of their own; functions; stacks; the new node of
    each node; the old frame of each frame."""
    known = len(functions)
    made, added = expand_frames(inlines.columns, frames.function, functions.unnamed, known, inline)
    more = len(added)
    images, starts = zeros("I", known + more), zeros("Q", known + more)
    images[:known], starts[:known] = functions.image, functions.address
    for i, (base, _name) in enumerate(added, known):
        images[i], starts[i] = functions.image[base], functions.address[base]
    names = functions.name + [inlines.names[name] for _base, name in added]
    source = made["source"]
    parent, frame, innermost = expand_stacks(stacks.parent, stacks.frame, made["first"])
    return (
        FrameColumns(
            take(frames.image, source),
            take(frames.address, source),
            take(frames.provenance, source),
            made["function"],
            take(frames.runtime, source) if frames.runtime is not None else None,
            made["depth"],
            made["file"],
            made["line"],
            take(frames.is_return, source) if frames.is_return is not None else None,
        ),
        FunctionTable(names, images, starts, memoryview(bytes(functions.unnamed) + bytes(more))),
        StackColumns(parent, frame),
        innermost,
        source,
    )
