"""What ``undwarf report --source FUNCTION --json`` prints."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import (
    DSO,
    EVENT,
    RECORDING,
    SELF,
    TOTAL,
    UNIT,
    WEIGHTED_BY,
    Address,
    Count,
    Weighting,
)


class Instruction(TypedDict):
    """An instruction of a source line."""

    address: Annotated[Address, "Its address in the ELF file."]
    text: Annotated[str, "Its text."]
    sym: Annotated[str | None, "Name of the function that is inlined there; null if none is."]
    self: Annotated[Count, "Weight of the samples taken at it, in the unit of the event."]
    total: Annotated[Count, "Weight of the samples taken at it, or in what it calls, in the unit of the event."]


class Line(TypedDict):
    """A source line."""

    line: Annotated[Count | None, "Its number; null for code without a line."]
    text: Annotated[str | None, "Its text; null if the source cannot be read."]
    self: Annotated[Count, "Weight of the samples taken in it, in the unit of the event."]
    total: Annotated[Count, "Weight of the samples taken in it, or in what it calls, in the unit of the event."]
    instructions: Annotated[list[Instruction], "Its instructions with --asm; else none."]


class Listing(TypedDict):
    """The lines of a function in one source file."""

    sym: Annotated[str, "Name of the function."]
    dso: Annotated[str | None, DSO]
    file: Annotated[str | None, "Path of the source file; null if unknown."]
    problem: Annotated[str | None, "Why the source is missing, or may be another one; null if all is well."]
    self: Annotated[Count, SELF]
    total: Annotated[Count, TOTAL]
    lines: Annotated[list[Line], "The lines in order."]


class SourceEvent(TypedDict):
    """The listings of one event."""

    event: Annotated[str | None, EVENT + " Null without samples."]
    unit: Annotated[str | None, UNIT]
    weight: Annotated[
        Count | None,
        "Weight of all samples of the event, which shares are of; null if the function has none of them.",
    ]
    listings: Annotated[list[Listing], "One for each binary and source file that has the function, the heaviest first."]


class ReportSource(TypedDict):
    """The source of a function with the weight of each line."""

    schema: Annotated[Literal["undwarf/report-source"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    weighted_by: Annotated[Weighting, WEIGHTED_BY]
    events: Annotated[list[SourceEvent], "One for each event with samples."]
