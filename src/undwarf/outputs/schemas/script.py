"""What ``undwarf script --json`` prints: a line for each sample."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import DSO, FILE, INLINED, IP, LINE, SYM, Address, Count

_FIELD = "; null if it was not recorded, or is not among the fields of -F."


class ScriptFrame(TypedDict):
    """A frame of a sample's stack; null where -F leaves the field out."""

    ip: Annotated[Address | None, IP]
    sym: Annotated[str | None, SYM]
    symoff_bytes: Annotated[
        Count | None, "Offset of the address in the function, in bytes; null if its start is unknown."
    ]
    dso: Annotated[str | None, DSO]
    file: Annotated[str | None, FILE + " Asked for with -F +srcline."]
    line: Annotated[Count | None, LINE + " Asked for with -F +srcline."]
    inlined: Annotated[bool, INLINED]
    inferred: Annotated[bool, "Whether it was inferred, from other samples of the thread or from code."]


class Script(TypedDict):
    """One sample."""

    schema: Annotated[Literal["undwarf/script"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    comm: Annotated[str | None, "Name of the thread" + _FIELD]
    pid: Annotated[int | None, "Process id" + _FIELD]
    tid: Annotated[int | None, "Thread id" + _FIELD]
    cpu: Annotated[Count | None, "Number of the CPU" + _FIELD]
    time_ns: Annotated[Count | None, "Time in ns of the recording's clock" + _FIELD]
    event: Annotated[str | None, "Name of the event, as perf writes it; null if -F leaves it out."]
    period: Annotated[Count | None, "Period of the sample, in the unit of the event" + _FIELD]
    unit: Annotated[str | None, 'Unit of the period: "ns", or what the event counts ("cycles"); null if unknown.']
    addr: Annotated[Address | None, "Data address, or what the event has in its place" + _FIELD]
    phys_addr: Annotated[Address | None, "Physical data address" + _FIELD]
    data_src: Annotated[str | None, "Data source, in perf's words" + _FIELD]
    weight_cycles: Annotated[Count | None, "Latency of the access in cycles" + _FIELD]
    trace: Annotated[str | None, "Fields of the tracepoint as text" + _FIELD]
    stop: Annotated[
        str | None,
        'Why the user stack ends where it does: "root", "truncated", "no_rule", ...; null without a user stack.',
    ]
    frames: Annotated[list[ScriptFrame] | None, "Frames, innermost first; null if -F has no field of frames."]
