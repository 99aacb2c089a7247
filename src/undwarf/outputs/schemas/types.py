"""What ``undwarf types`` prints with ``--json``."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import (
    BINARY,
    DSO,
    EVENT,
    RECORDING,
    SYM,
    UNIT,
    WEIGHTED_BY,
    Address,
    Count,
    Share,
    Weighting,
)
from undwarf.outputs.schemas.vocabulary import Counts as Weights

_TYPE = 'Name of the type ("struct node").'
_FIELD = 'Path of the member ("left.next"); null for the whole type, or what is no member.'
_OFFSET = "Offset in the type, in bytes."


class Memory(TypedDict):
    """Data sources of samples, as weights in the unit of the event."""

    level_known: Annotated[Count, "Weight of samples whose level of memory is known."]
    missed: Annotated[Count, "Of these, the weight of those that missed the nearest cache."]
    tlb_missed: Annotated[Count, "Of these, the weight of those that missed the TLB."]
    from_other_cpu: Annotated[Count, "Of these, the weight of those whose data came from another CPU's cache."]
    levels: Annotated[Weights, "Of these, weights by level, in perf's words."]
    pages: Annotated[Weights, 'Weights by size of the data\'s page ("4K"), of samples where it is known.']


class TypeCounts(TypedDict):
    """Sums over samples; weights are in the unit of the event."""

    weight: Annotated[Count, "Weight of the samples."]
    samples: Annotated[Count, "Number of samples."]
    loads: Annotated[Count, "Weight of samples that load."]
    stores: Annotated[Count, "Weight of samples that store."]
    latency_cycles: Annotated[Count | None, "Sum of latencies, in cycles; null if the event has none."]
    timed_samples: Annotated[Count | None, "Number of samples with a latency; null if the event has none."]
    inferred: Annotated[Count, "Weight of samples that --skid attributed to an earlier instruction."]
    inferred_with_high_confidence: Annotated[Count, "Of these, the weight of those that use the loaded value."]
    memory: Annotated[Memory | None, "Data sources and pages; null if neither was recorded."]


class Field(TypeCounts):
    """A member of a type, where accesses start."""

    offset_bytes: Annotated[int, _OFFSET]
    field: Annotated[str | None, _FIELD]
    size_bytes: Annotated[Count | None, "Its size in bytes; null if unknown."]
    candidates: Annotated[list[str], "Members that the accesses may be to as well."]
    readers: Annotated[list[int], "CPUs that loaded it."]
    writers: Annotated[list[int], "CPUs that stored to it."]


class Type(TypeCounts):
    """A type that samples access."""

    type: Annotated[str, _TYPE]
    size_bytes: Annotated[Count | None, "Its size in bytes; null if unknown."]
    fields: Annotated[list[Field], "Its members that samples access, the heaviest first."]


class SpreadMember(TypedDict):
    """A hot member."""

    field: Annotated[str, "Its name."]
    offset_bytes: Annotated[int, _OFFSET]
    share: Annotated[Share, "Its share of the type's weight, 0 to 1."]


class SpreadOut(TypedDict):
    """Members that are used together and are on more cache lines than they need."""

    type: Annotated[str, _TYPE]
    weight: Annotated[Count, "Weight of the type, in the unit of the event."]
    lines: Annotated[list[int], "Numbers of the type's cache lines that they are on."]
    taken: Annotated[Count, "Number of cache lines that they take at best."]
    needed: Annotated[Count, "Number of cache lines that would do."]
    members: Annotated[list[SpreadMember], "The members."]
    functions: Annotated[dict[str, Share], "These members' share of the type's weight by function, 0 to 1."]


class Access(TypedDict):
    """What an operand of an instruction accesses."""

    address: Annotated[Address, "Address of the instruction, in the ELF file; in the kernel, at run time."]
    instruction: Annotated[str | None, "Text of the instruction; null if it could not be read."]
    access: Annotated[Literal["r", "w", "rw"] | None, "Whether it loads (r) or stores (w); null for no memory access."]
    type: Annotated[str | None, "Name of the type; null if unknown."]
    offset_bytes: Annotated[int | None, "Offset of the accessed byte in the type, in bytes; null without a type."]
    field: Annotated[str | None, _FIELD]
    size_bytes: Annotated[Count | None, "Size of the access in bytes; null if it is in registers."]
    how: Annotated[
        str | None,
        'What the type is known by ("variable", "tracking", "global", ...), or why the access needs none ("stack",'
        ' "spill", "none", ...; "unread": no code); null if the type was not found.',
    ]
    candidates: Annotated[list[str], "Members that the access may be to as well; of a spill, the type of the pointer."]
    reason: Annotated[str | None, "Why there is no type; null with one."]


class TypedInstruction(Access, TypeCounts):
    """An instruction that samples are at, with what it accesses."""

    sym: Annotated[str | None, SYM]
    dso: Annotated[str | None, DSO]


class TypesEvent(TypedDict):
    """The types of one event; weights are in its unit."""

    event: Annotated[str | None, EVENT + " Null without samples."]
    unit: Annotated[str | None, UNIT]
    samples: Annotated[Count, "Number of samples."]
    weight: Annotated[Count, "Weight of all samples, which shares are of."]
    typed: Annotated[Count, "Weight of samples whose type is known."]
    inferred: Annotated[Count, "Of these, the weight of those that --skid attributed to an earlier instruction."]
    inferred_with_high_confidence: Annotated[Count, "Of these, the weight of those that use the loaded value."]
    untyped: Annotated[Weights, "Weight of accesses of unknown type by reason."]
    unread: Annotated[Weights, "Weight of samples whose code could not be read, by reason."]
    untyped_files: Annotated[dict[str, Weights], "Weight by reason that holds for a whole file, and by file."]
    no_data: Annotated[Weights, "Weight of instructions that access no data of the program, by what they do."]
    types: Annotated[list[Type], "The types, the heaviest first."]
    spread: Annotated[list[SpreadOut], "Members that are used together but far apart."]
    instructions: Annotated[list[TypedInstruction] | None, "Instructions by weight; null without --code."]


class Party(TypedDict):
    """A member on a shared cache line."""

    type: Annotated[str, _TYPE]
    field: Annotated[str | None, _FIELD]
    offset_bytes: Annotated[int, _OFFSET]
    threads: Annotated[list[int], "Ids of threads that accessed it."]
    cpus: Annotated[list[int], "CPUs that accessed it."]


class Clash(TypedDict):
    """Members on one cache line that some threads write while others use the line."""

    kind: Annotated[Literal["false sharing", "same bytes"], "Whether they use different bytes, or the same ones."]
    evidence: Annotated[Literal["addresses", "type"], "Real cache lines, or a line of a type if objects are the same."]
    weight: Annotated[Count, "Weight of the samples."]
    samples: Annotated[Count, "Number of samples."]
    type: Annotated[str, "Type of the first written member."]
    lines: Annotated[Count | None, "Number of cache lines; null if the evidence is the type."]
    address: Annotated[Address | None, "Address of one of the lines; null if the evidence is the type."]
    several_objects: Annotated[bool | None, "Whether objects differ; null if the evidence is the type."]
    line: Annotated[int | None, "Number of the type's cache line; null if the evidence is addresses."]
    cpus_known: Annotated[bool, "Whether the threads were on different CPUs; else that was not recorded."]
    inferred: Annotated[bool, "Whether some samples were attributed to an earlier instruction."]
    written: Annotated[list[Party], "The written members."]
    used: Annotated[list[Party], "The other members."]


class SharedLines(TypedDict):
    """Cache lines that move between CPUs."""

    weighted_by: Annotated[Weighting, WEIGHTED_BY]
    weight: Annotated[Count, "Weight of all samples, which shares are of."]
    found: Annotated[list[Clash], "What was found, the heaviest first."]


class Types(TypedDict):
    """Which types and members samples access."""

    schema: Annotated[Literal["undwarf/types"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    weighted_by: Annotated[Weighting, WEIGHTED_BY]
    events: Annotated[list[TypesEvent], "One for each event with samples."]
    sharing: Annotated[SharedLines | None, "Cache lines that move between CPUs; null for a store, which cannot tell."]


class LayoutLine(TypedDict):
    """A member of a type, or a hole."""

    kind: Annotated[Literal["member", "hole"], "What it is."]
    depth: Annotated[Count, "0 for members of the type itself, 1 for their members, ..."]
    offset_bytes: Annotated[int, _OFFSET]
    size_bytes: Annotated[Count, "Its size in bytes."]
    name: Annotated[str | None, 'Its name, with the width of a bit field ("flags:3"); null for none.']
    type: Annotated[str | None, "Its type as declared; null for a hole."]
    path: Annotated[str | None, "Its path in the type; null for none."]
    counts: Annotated[TypeCounts | None, "Sums of samples that access it; null if none do."]
    reached: Annotated[Count, "Weight of accesses that begin before it and reach it."]


class Layout(TypedDict):
    """A type with its members in order."""

    event: Annotated[str | None, "Name of the event that counts are of; null without a recording."]
    unit: Annotated[str | None, UNIT]
    type: Annotated[str, _TYPE]
    size_bytes: Annotated[Count | None, "Its size in bytes; null if unknown."]
    counts: Annotated[TypeCounts, "Sums of samples that access it."]
    layout: Annotated[list[LayoutLine], "Members and holes by offset; members of members follow these."]


class TypesLayout(TypedDict):
    """The layout of a type."""

    schema: Annotated[Literal["undwarf/types-layout"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str | None, RECORDING + " Null without samples."]
    binary: Annotated[str | None, "Path of the ELF or BTF file, as given; null with samples."]
    weighted_by: Annotated[Weighting | None, WEIGHTED_BY + " Null without samples."]
    layouts: Annotated[list[Layout], "One for each event and each type of that name."]
    sharing: Annotated[SharedLines | None, "Cache lines that move between CPUs; null without samples."]


class TypesAt(TypedDict):
    """What the instructions at some addresses of a binary access."""

    schema: Annotated[Literal["undwarf/types-at"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    binary: Annotated[str, BINARY]
    accesses: Annotated[list[Access], "One for each operand."]
