"""The memory accesses of single instructions (type, member, evidence), as text or JSON."""

import json
from collections.abc import Iterable
from typing import TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.types.resolver import Access

__all__ = ["write", "write_json"]


def write_json(accesses: Iterable[Access], sink: TextIO) -> None:
    """A list with one object an operand."""
    rows = ",\n".join(json.dumps(access.as_dict()) for access in accesses)
    sink.write(f"[{rows}]\n")


def write(accesses: Iterable[Access], sink: TextIO) -> None:
    """A line an operand: address, access, type and member or the reason why not, instruction."""
    for access in accesses:
        what = access.reason
        if access.type is not None:
            what = f"{access.type} +{access.offset}" + (f" ({access.field})" if access.field else "")
        if access.candidates:
            what += f" [{', '.join(access.candidates)}]"
        sink.write(f"{access.address:#10x} {access.access:>2} {printable(what):<48} {access.how:<9} {access.insn}\n")
