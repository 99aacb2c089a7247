"""What commands that write files print with ``--json``: ``export``, ``flamegraph``, ``shrink`` and ``view``."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import EVENT, OUTPUT, OUTPUT_BYTES, RECORDING, UNIT, Count, Wholeness


class ExportEvent(TypedDict):
    """An event and whether the file has it."""

    event: Annotated[str, EVENT]
    unit: Annotated[str | None, UNIT]
    samples: Annotated[Count | None, "Number of samples; null for a profile of another tool without single samples."]
    written: Annotated[bool, "False if the format holds one unit, and this is another one."]


class Export(TypedDict):
    """What was written for another viewer, and what its format cannot hold."""

    schema: Annotated[Literal["undwarf/export"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    format: Annotated[str, 'The format: "pprof", "firefox", ...']
    table: Annotated[str | None, "The table that was written; null for all, and for formats without tables."]
    output: Annotated[str, OUTPUT]
    size_bytes: Annotated[Count | None, OUTPUT_BYTES]
    events: Annotated[list[ExportEvent], "Events, or groups of those whose weights can be added."]
    not_held: Annotated[list[str], "What the format cannot hold, in words."]


class Graph(TypedDict):
    """One of the flame graphs of the page."""

    event: Annotated[str, EVENT]
    unit: Annotated[str | None, UNIT]


class Flamegraph(TypedDict):
    """The page that was written. ``report --json -g caller,0`` prints the tree itself."""

    schema: Annotated[Literal["undwarf/flamegraph"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    output: Annotated[str, OUTPUT]
    size_bytes: Annotated[Count | None, OUTPUT_BYTES]
    graphs: Annotated[list[Graph], "The flame graphs, the default first."]
    wholeness: Annotated[Wholeness, "How many stacks are whole."]


class Shrink(TypedDict):
    """The recording that was written."""

    schema: Annotated[Literal["undwarf/shrink"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    recording_bytes: Annotated[Count | None, "Size of that recording in bytes; null for standard input."]
    output: Annotated[str, OUTPUT]
    size_bytes: Annotated[Count | None, OUTPUT_BYTES]
    chains_cut: Annotated[Count, "Stacks that were cut to 8,000 addresses, the maximum of a record."]
    samples_left_out: Annotated[Count, "Damaged samples that were left out."]


class View(TypedDict):
    """The page that was written. ``report --json`` prints the same numbers."""

    schema: Annotated[Literal["undwarf/view"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    output: Annotated[str, OUTPUT]
    size_bytes: Annotated[Count | None, OUTPUT_BYTES]
    parts: Annotated[list[str], 'What is in the page: "profile", "code", "types".']
    measures: Annotated[list[Graph], "The events that can be shown, or groups of those whose weights can be added."]
    notes: Annotated[list[str], "What was left out to keep the page small."]
    wholeness: Annotated[Wholeness, "How many stacks are whole."]
