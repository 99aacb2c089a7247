"""The memory accesses of instructions (type, member, evidence), as text."""

from collections.abc import Iterable
from typing import TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.types.resolver import Access


def write(accesses: Iterable[Access], sink: TextIO) -> None:
    """Write a line for each operand: address, access, type and member (or why they are unknown), instruction."""
    for access in accesses:
        text = access.reason
        if access.type is not None:
            text = f"{access.type} +{access.offset}" + (f" ({access.field})" if access.field else "")
        if access.candidates:
            text += f" [{', '.join(access.candidates)}]"
        sink.write(f"{access.address:#10x} {access.access:>2} {printable(text):<48} {access.how:<9} {access.insn}\n")
