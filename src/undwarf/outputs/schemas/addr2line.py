"""What ``undwarf addr2line --json`` prints: a line for each address."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import FILE, INLINED, LINE, Count
from undwarf.outputs.schemas.vocabulary import Address as Hexadecimal


class Position(TypedDict):
    """A function at an address: the innermost inlined one first, the one with code of its own last."""

    sym: Annotated[str | None, "Name of the function, demangled with -C; null if unknown."]
    file: Annotated[str | None, FILE]
    line: Annotated[Count | None, LINE]
    column: Annotated[Count | None, "Column in the line; null if unknown."]
    inlined: Annotated[bool, INLINED]


class Address(TypedDict):
    """One address."""

    schema: Annotated[Literal["undwarf/addr2line"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    address: Annotated[Hexadecimal, "The address, in the ELF file."]
    sym: Annotated[str | None, "Name of its symbol, demangled with -C; null if there is none."]
    frames: Annotated[list[Position], "The functions at the address, innermost first."]
