"""What ``undwarf info --json`` and ``undwarf info --missing --json`` print."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import (
    BUILD_ID,
    DSO,
    LOST,
    RECORDING,
    SYM,
    Address,
    BuildId,
    Count,
    Counts,
    Wholeness,
)


class Machine(TypedDict):
    """The recorded machine and the recorder, from the recording's header; null where the header has nothing."""

    hostname: Annotated[str | None, "Name of the machine."]
    osrelease: Annotated[str | None, "Version of its kernel."]
    arch: Annotated[str | None, "Its architecture, as uname has it."]
    cpudesc: Annotated[str | None, "Name of its processor."]
    cpus_online: Annotated[Count | None, "Number of CPUs that were online."]
    cpus_available: Annotated[Count | None, "Number of CPUs."]
    perf_version: Annotated[str | None, "Version of the recorder."]
    cmdline: Annotated[list[str] | None, "Command line of the recorder, word by word."]


class InfoEvent(TypedDict):
    """An event that was recorded."""

    event: Annotated[str, "Name of the event, as perf writes it."]
    samples: Annotated[Count, "Its samples that pass the filters."]
    frequency_hz: Annotated[Count | None, "Requested samples per second; null for a fixed period."]
    period: Annotated[
        Count | None,
        "Requested events per sample, in the unit of the event; null for a fixed frequency, and for an event that is"
        " only read with another's samples.",
    ]
    stack_dump_bytes: Annotated[
        Count | None, "Size of the stack that each sample has a copy of, in bytes; null for none."
    ]


class Note(TypedDict):
    """Something that was recorded and is not read, or cannot be relied on."""

    kind: Annotated[
        Literal["trace", "aux_output", "late"],
        '"trace": a trace in the AUX area. "aux_output": samples in a trace. "late": registers later than the address.',
    ]
    event: Annotated[str | None, "Name of the event; null if it is not known which."]
    text: Annotated[str, "What it is, in words."]
    advice: Annotated[str, "What to record instead."]
    size_bytes: Annotated[Count | None, "Size of the trace in bytes, of all events together; null without a trace."]


class Deferred(TypedDict):
    """What became of user call chains that the kernel deferred."""

    merged: Annotated[Count, "Samples that got theirs."]
    superseded: Annotated[Count, "Samples without: the thread's next chain came first."]
    exited: Annotated[Count, "Samples without: their thread ended."]
    open: Annotated[Count, "Samples without: the recording ended."]
    duplicate: Annotated[Count, "Chains that came twice."]
    unclaimed: Annotated[Count, "Chains that belong to no sample."]


class Precise(TypedDict):
    """Precise samples, whose registers may be later than their address."""

    samples: Annotated[Count, "Precise samples that were unwound."]
    fitting: Annotated[Count, "Samples whose registers were those of the sampled instruction."]
    corrected: Annotated[Count, "Samples whose registers were brought back to it."]
    returned: Annotated[Count, "Corrected samples with a caller that was inferred after a return."]
    followed: Annotated[Count, "Corrected samples that returned to callers which the recorded branches show."]
    unproven: Annotated[Count, "Samples where nothing proves a caller."]


class Process(TypedDict):
    """A process with samples."""

    pid: Annotated[int | None, "Process id; null if unknown."]
    comm: Annotated[str | None, "Name of its main thread; null if it was never recorded."]
    samples: Annotated[Count, "Number of samples."]


class BadImage(TypedDict):
    """A file whose code could not be unwound or named."""

    dso: Annotated[str | None, DSO]
    build_id: Annotated[BuildId | None, BUILD_ID]
    kind: Annotated[str, 'What it is: "file", "kernel", "module", "vdso", "anon", "jit", ...']
    problem: Annotated[str, "Why."]
    samples: Annotated[Count, "Samples with a frame in it."]


class Defect(TypedDict):
    """Damage of one kind that was worked around."""

    kind: Annotated[str, "What was damaged, in words."]
    subject: Annotated[str | None, "The file, section or kind of record; null if it is the recording."]
    count: Annotated[Count, "How often."]
    detail: Annotated[str | None, "Details of the first one; null if there are none."]


class Tally(TypedDict):
    """Numbers by verdict."""

    proven: Annotated[Count, "The call before the return address is one of the callee."]
    consistent: Annotated[Count, "Possible: an indirect call, an import or a jump may lead to the callee."]
    contradicted: Annotated[Count, "The call is of another function, or there is none."]
    unchecked: Annotated[Count, "Code that was not read: the kernel, code made at run time, missing files."]


class Contradiction(TypedDict):
    """A caller and a callee that the code contradicts."""

    calls: Annotated[Count, "Number of calls in sampled stacks."]
    caller_sym: Annotated[str | None, SYM]
    caller_dso: Annotated[str | None, DSO]
    caller_address: Annotated[Address, "Return address less one, in the file."]
    callee_sym: Annotated[str | None, SYM]
    callee_dso: Annotated[str | None, DSO]
    callee_address: Annotated[Address, "Address in the file; a return address is less one."]
    provenance: Annotated[str, "How the caller was found."]
    reason: Annotated[str, "What contradicts it, in words."]


class Calls(TypedDict):
    """All callers in stacks, checked against the code."""

    pairs: Annotated[Tally, "Distinct pairs of caller and callee by verdict."]
    calls: Annotated[Tally, "Calls in sampled stacks by verdict."]
    by_dso: Annotated[dict[str, Tally], 'Calls by the file of the caller; "[unknown]" for code of no file.']
    by_provenance: Annotated[dict[str, Tally], "Calls by how the caller was found."]
    reasons: Annotated[Counts, "Calls by what the verdict rests on, in words."]
    contradictions: Annotated[list[Contradiction], "Contradicted pairs, those of most calls first."]


class Info(TypedDict):
    """The contents of a recording, and the quality of its stacks."""

    schema: Annotated[Literal["undwarf/info"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    form: Annotated[str, 'How it is stored: "file", "pipe", "directory".']
    byte_order: Annotated[Literal["little", "big"], "Byte order of the recording."]
    machine: Annotated[Machine, "The recorded machine and the recorder."]
    start_ns: Annotated[Count | None, "Time of the first sample, in ns of the recording's clock; null without times."]
    end_ns: Annotated[Count | None, "Time of the last sample, in ns of the recording's clock; null without times."]
    duration_ns: Annotated[Count | None, "From the first sample to the last, in ns; null without times."]
    samples: Annotated[Count, "Samples that pass the filters."]
    lost: Annotated[Count, LOST]
    events: Annotated[list[InfoEvent], "The recorded events."]
    notes: Annotated[list[Note], "What is not read, or cannot be relied on."]
    records: Annotated[Counts, "Number of records by type."]
    deferred_not_merged: Annotated[Count, "Samples whose deferred user chain never came."]
    deferred: Annotated[Deferred | None, "Deferred user chains; null if there are none."]
    precise: Annotated[Precise | None, "Precise samples; null if there are none."]
    processes: Annotated[list[Process], "Processes with samples, most samples first."]
    wholeness: Annotated[Wholeness, "How many stacks are whole."]
    bad_images: Annotated[list[BadImage], "Files whose code could not be unwound or named, most samples first."]
    defects: Annotated[list[Defect], "Damage that was worked around, most frequent first."]
    calls: Annotated[Calls | None, "Callers checked against the code; null without --verify."]


class MissingFile(TypedDict):
    """A file that was not found."""

    kind: Annotated[str, 'What it is: "binary", "debug file", "kernel symbols", ...']
    dso: Annotated[str | None, "The file that lacks it, or its own name: a path or a name in brackets."]
    build_id: Annotated[BuildId | None, BUILD_ID]
    problem: Annotated[str, "Why it could not be used."]
    samples: Annotated[Count, "Samples with its code in their stack."]
    unnamed: Annotated[Count, "Samples with a frame there that has no name."]
    ended: Annotated[Count, "Samples whose stack ends there too early."]
    commands: Annotated[list[str], "Commands that fetch it, best first."]


class Missing(TypedDict):
    """Files that names, lines or callers are missing without."""

    schema: Annotated[Literal["undwarf/info-missing"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    samples: Annotated[Count, "Samples that pass the filters."]
    missing: Annotated[list[MissingFile], "The files, those that affect most samples first."]
