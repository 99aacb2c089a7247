"""What documents share: kinds of values, and the parts that mean the same everywhere (docs/reference/json.md)."""

from typing import Annotated, Literal, NamedTuple, TypedDict


class Rule(NamedTuple):
    """A keyword of JSON Schema that limits values."""

    keyword: str
    value: str | int


Count = Annotated[int, Rule("minimum", 0)]
Address = Annotated[str, Rule("pattern", "^0x[0-9a-f]+$")]
"""A hexadecimal number as a string: JavaScript and jq round integers beyond 2^53."""
BUILD_ID = "Its build-id; null if unknown."
BuildId = Annotated[str, Rule("pattern", "^[0-9a-f]+$")]
Share = Annotated[float, Rule("minimum", 0), Rule("maximum", 1)]
Counts = dict[str, Count]
Weighting = Literal["period", "samples", "latency"]
WEIGHTED_BY = 'What weights are: periods, numbers of samples (in the unit "samples"), or latencies (in "cycles").'

RECORDING = 'Path of the recording, or of the profile of another tool, as given; "-" is standard input.'
BINARY = "Path of the ELF file, as given."
EVENT = 'Name of the event, as perf writes it; events whose weights are added are joined by " + ".'
UNIT = (
    'Unit of all weights of this event: "ns", "samples", or what the event counts ("cycles", "page-faults", ...);'
    " null if a profile of another tool does not say it."
)
DSO = (
    'File of the code: its path as mapped, or a name in brackets ("[kernel.kallsyms]", "[xfs]", "[vdso]"); null if'
    " unknown."
)
SYM = "Name of the function, demangled; FILE+0xSTART for a function without a symbol; null if nothing is known of it."
COMM = "Name of the thread; null if it was never recorded."
SELF = "Weight of the samples taken in the function itself, in the unit of the event."
TOTAL = "Weight of the samples taken in the function or in what it calls, in the unit of the event."
IP = "Address in the process, as debuggers and perf show it."
FILE = "Path of the source file, as debugging information has it; null if unknown."
LINE = "Line in the source file; null if unknown."
INLINED = "Whether the function is inlined into the next frame's."
LOST = "Samples and other records that were lost while recording; null for a profile of another tool."
OUTPUT = 'Path of the file or directory that was written, as given; "-" is standard output.'
OUTPUT_BYTES = "Size of what was written, in bytes; null if it is not known (a pipe)."


class Gap(TypedDict):
    """Samples whose stacks end early for one reason in one file."""

    reason: Annotated[str, 'The stop reason, in short: "truncated", "no_rule", ...']
    description: Annotated[str, "The stop reason in words."]
    dso: Annotated[str | None, DSO]
    build_id: Annotated[BuildId | None, "Build-id of that file; null if unknown."]
    samples: Annotated[Count, "Number of samples."]
    advice: Annotated[str | None, "What would help; null if nothing would."]


class Wholeness(TypedDict):
    """How many stacks are whole, and why the others are not."""

    samples: Annotated[Count, "Number of samples, or of stacks with a weight in a profile of another tool."]
    unwound: Annotated[Count, "Samples with a user part to unwind."]
    whole: Annotated[Count, "Samples whose stack reaches its root."]
    share: Annotated[Share | None, "whole / unwound, 0 to 1; null if nothing was unwound."]
    inferred: Annotated[Count, "Samples whose stack reaches its root with inferred callers; not among the whole ones."]
    without_user: Annotated[Count, "Samples without a user part: kernel threads, the idle task."]
    as_recorded: Annotated[Count, "Samples with a call chain of the kernel, which does not say if it is whole."]
    without_chain: Annotated[Count, "Samples of events that were recorded without call chains."]
    unstated: Annotated[Count, "Stacks of a profile of another tool, which does not say if they are whole."]
    copied_code: Annotated[Count, "Samples with frames in code that a program copied to anonymous memory."]
    reasons: Annotated[Counts, "Number of samples by stop reason."]
    gaps: Annotated[list[Gap], "Where and why stacks end early, most samples first."]
