"""What the commands of ``undwarf tables`` print with ``--json``."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import BINARY, BUILD_ID, OUTPUT, Address, BuildId, Count, Counts

_END = "End of the range, which is not in it, in the ELF file."


class TableRow(TypedDict):
    """A rule and the range of addresses where it holds."""

    address: Annotated[Address, "Start of the range, in the ELF file."]
    end_address: Annotated[Address, _END]
    cfa: Annotated[str, 'The call frame address: "rsp+8", or "expr" for a DWARF expression.']
    ra: Annotated[str, 'The return address: "cfa-8", a register, "undefined" at a root.']
    registers: Annotated[
        dict[str, str],
        'Registers of the caller: "same", "undefined", where they are saved ("cfa-16"), the register that has the'
        ' value, "val(cfa-8)" for a value that is an address in the frame, "expr". Callee-saved ones are always there.',
    ]
    signal: Annotated[bool, "Whether it is the frame of a signal handler's return."]
    source: Annotated[str, "The source of the rule."]


class TablesDump(TypedDict):
    """Rules by address."""

    schema: Annotated[Literal["undwarf/tables-dump"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    binary: Annotated[str, BINARY]
    rows: Annotated[list[TableRow], "The rules, by address."]


class InFile(TypedDict):
    """A format of unwind information in the file."""

    name: Annotated[str, "Its section or sections."]
    size_bytes: Annotated[Count, "Its size in bytes."]
    entries: Annotated[Count | None, "Number of its entries; null if they have different sizes."]


class Written(TypedDict):
    """A format that was written from the table."""

    name: Annotated[str, "Its name."]
    size_bytes: Annotated[Count, "Its size in bytes."]
    rows_left_out: Annotated[Count | None, "Rows that it cannot express; null if that is not known."]


class TablesSizes(TypedDict):
    """Counts of a table, and its size in each format."""

    schema: Annotated[Literal["undwarf/tables-sizes"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    binary: Annotated[str, BINARY]
    functions: Annotated[Count, "Functions of the table."]
    rows: Annotated[Count, "Rows of the table."]
    rules: Annotated[Count, "Distinct rules of the table."]
    in_file: Annotated[list[InFile], "Formats in the file."]
    written: Annotated[list[Written], "Formats that were written."]


class Pair(TypedDict):
    """Two rules that differ."""

    kind: Annotated[str, 'What differs: "cfa", "ra", a register, or "missing".']
    source: Annotated[str, "The rule of the first source."]
    against: Annotated[str, "The rule of the second source."]
    instructions: Annotated[Count, "Instructions with this difference."]


class CodeLine(TypedDict):
    """An instruction."""

    address: Annotated[Address, "Its address in the ELF file."]
    text: Annotated[str, "Its text."]


class Disagreement(TypedDict):
    """A range of instructions where the sources differ."""

    address: Annotated[Address, "Start of the range, in the ELF file."]
    end_address: Annotated[Address, _END]
    sym: Annotated[str | None, "Name of the function; null if unknown."]
    kind: Annotated[str, 'What differs: "cfa", "ra", a register, or "missing".']
    source: Annotated[str, "The rule of the first source."]
    against: Annotated[str, "The rule of the second source."]
    instructions: Annotated[Count, "Instructions of the range."]
    code: Annotated[list[CodeLine], "The first of them."]


class TablesVerify(TypedDict):
    """A comparison of two sources, in instructions."""

    schema: Annotated[Literal["undwarf/tables-verify"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    binary: Annotated[str, BINARY]
    source: Annotated[str, "The first source."]
    against: Annotated[str, "The second source."]
    instructions: Annotated[Count, "Instructions that at least one of them describes."]
    agreed: Annotated[Count, "Instructions on which both agree."]
    only_source: Annotated[Count, "Instructions that only the first describes."]
    only_against: Annotated[Count, "Instructions that only the second describes."]
    expressions: Annotated[Count, "Instructions described by a DWARF expression, which were not compared."]
    kinds: Annotated[Counts, "Instructions by what differs."]
    pairs: Annotated[list[Pair], "Instructions by the rules that differ, most frequent first."]
    places: Annotated[Count, "Number of disagreements."]
    disagreements: Annotated[list[Disagreement], "The disagreements: CFA and return address first, by address."]


class CachedTable(TypedDict):
    """A cached unwind table."""

    entry: Annotated[str, "Name of its file in the directory."]
    binary: Annotated[str | None, "Path of the ELF file that it is of; null if the entry is damaged."]
    build_id: Annotated[BuildId | None, BUILD_ID]
    rows: Annotated[Count, "Number of rows."]
    rules: Annotated[Count, "Number of rules."]
    size_bytes: Annotated[Count, "Size in bytes."]
    used_s: Annotated[float, "When it was last used, in seconds since 1970."]


class CachedTypes(TypedDict):
    """The cache of types of instructions."""

    directory: Annotated[str, "Path of the directory."]
    limit_bytes: Annotated[Count, "Largest size in bytes."]
    size_bytes: Annotated[Count, "Size in bytes."]
    entries: Annotated[Count, "Number of files in it."]


class TablesCache(TypedDict):
    """The cache of unwind tables and of types of instructions."""

    schema: Annotated[Literal["undwarf/tables-cache"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    directory: Annotated[str, "Path of the directory with unwind tables."]
    limit_bytes: Annotated[Count, "Largest size in bytes."]
    size_bytes: Annotated[Count, "Size in bytes."]
    tables: Annotated[list[CachedTable], "The unwind tables."]
    types: Annotated[CachedTypes, "The types of instructions."]


class TablesConvert(TypedDict):
    """A table that was written in another format."""

    schema: Annotated[Literal["undwarf/tables-convert"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    binary: Annotated[str, BINARY]
    to: Annotated[str, "The format."]
    output: Annotated[str | None, OUTPUT + " Null without -o."]
    into: Annotated[str | None, "Path of the copy of the ELF file with the new sections; null without --into."]
    functions: Annotated[Count, "Functions that were written."]
    rows: Annotated[Count, "Rows that were written."]
    size_bytes: Annotated[Count, "Size of the new sections in bytes."]
    left_out: Annotated[Counts, "Rows that the format cannot express, by reason."]
