"""Folded stacks: lines ``outer;...;inner WEIGHT``, as stackcollapse-*.pl, ``undwarf fold`` and many profilers write.

The number may be one of samples, ns or bytes: the text does not say. Nor does it say which part of a line is the name
of a thread, if any; every part is a function here.
"""

from array import array

from undwarf.column import zeros
from undwarf.imports.kernels.folded_lines import FoldedLines
from undwarf.imports.profile_builder import Built, ProfileBuilder, text_of
from undwarf.profile.grouping import look_up
from undwarf.profile.model import Origin

EVENT = "weight"
"""The name of what is added up."""


def read(data: bytes, builder: ProfileBuilder, kind: type[Built]) -> Built:
    """The profile in a text."""
    lines = FoldedLines()
    if not lines.read(data, builder.limits.profile_nodes):
        raise builder.too_large()
    builder.damage("line that is no folded stack", lines.bad, f"line {lines.first_bad} is the first")
    builder.damage("weight with a fraction, rounded", lines.fractions)
    builder.damage("name cut", lines.cut)
    # Names that differ only in bytes that are no text may be one function.
    of_name = memoryview(array("I", [builder.frame(builder.function(text_of(name))) for name in lines.names()]))
    builder.event(EVENT)
    builder.tree(lines.column("parent"), look_up(lines.column("name"), of_name))
    stack = lines.column("stack")
    return builder.profile_of(
        stack, lines.column("weight"), zeros("H", len(stack)), Origin("folded stacks", sums=True), kind
    )
