"""What ``undwarf record --json`` prints."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import Count


class RecordedFile(TypedDict):
    """A recording that was written."""

    recording: Annotated[str, "Its path."]
    samples: Annotated[Count, "Its samples."]
    size_bytes: Annotated[Count | None, "Its size in bytes; null if it is no regular file."]


class Record(TypedDict):
    """What was recorded."""

    schema: Annotated[Literal["undwarf/record"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    files: Annotated[list[RecordedFile], "The recordings: several with --switch-output, which are all kept by default."]
    previous: Annotated[str | None, "Path that the previous recording was renamed to; null if there was none."]
    samples: Annotated[Count, "Samples."]
    waits: Annotated[Count | None, "Waits (samples of offcpu-time); null without --off-cpu."]
    lost: Annotated[Count, "Samples and other records that were lost: the ring buffers overflowed."]
    throttled: Annotated[Count, "How often the kernel throttled sampling."]
    dropped: Annotated[Count, "Samples that could not be decoded and were left out."]
    chains_cut: Annotated[Count, "Stacks that were cut to 8,000 addresses, the maximum of a record."]
    completed: Annotated[Count, "Stacks deeper than their dump that were read to their root, proven unchanged."]
    inferred: Annotated[Count, "Stacks deeper than their dump with inferred outer callers."]
    unproven: Annotated[Count, "Stacks that end with their dump."]
    waits_not_counted: Annotated[Count, "Waits that were not counted: the memory for stacks was reused."]
    broken_buffers: Annotated[Count, "Ring buffers that were corrupt."]
    buffer_bytes: Annotated[Count, "Size of the ring buffer of a CPU in bytes."]
    stack_dump_bytes: Annotated[Count | None, "Largest stack dump in bytes; null without."]
    reached_max_size: Annotated[bool, "Whether it ended at --max-size."]
    notes: Annotated[list[str], "Notes in words."]
    exit_code: Annotated[int, "Exit code of the command that was run, and of undwarf."]
