"""What ``undwarf report --json`` prints, and the parts of it that ``undwarf top --json`` shares."""

from typing import Annotated, Literal, NotRequired, TypedDict

from undwarf.outputs.schemas.vocabulary import (
    COMM,
    DSO,
    EVENT,
    LOST,
    RECORDING,
    SELF,
    SYM,
    TOTAL,
    UNIT,
    WEIGHTED_BY,
    Count,
    Weighting,
    Wholeness,
)

_LATENCY = " in cycles, as the CPU reports it; null if not recorded."
_ONE, _SUM = "of each sample of the row" + _LATENCY, "of all samples of the row together" + _LATENCY
_WORDS = ", in perf's words; null if not recorded."


class Row(TypedDict):
    """A row of a table: its sort keys, those in "sort" and no others, and its weights."""

    comm: NotRequired[Annotated[str | None, COMM]]
    pid: NotRequired[Annotated[int | None, "Process id; null if unknown."]]
    tid: NotRequired[Annotated[int | None, "Thread id; null if unknown."]]
    cpu: NotRequired[Annotated[int | None, "Number of the CPU; null if not recorded."]]
    event: NotRequired[Annotated[str, "Name of the event, as perf writes it."]]
    dso: NotRequired[Annotated[str | None, DSO]]
    sym: NotRequired[Annotated[str | None, SYM]]
    srcline: NotRequired[
        Annotated[str | None, 'Source file without its directory, and line ("words.c:12"); null if unknown.']
    ]
    srcfile: NotRequired[Annotated[str | None, "Path of the source file; null if unknown."]]
    type: NotRequired[Annotated[str | None, "Type that is accessed, or why there is none (in parentheses)."]]
    typeoff: NotRequired[
        Annotated[str | None, 'Type, offset in bytes and member that are accessed ("struct node +8 (next)").']
    ]
    typecln: NotRequired[Annotated[str | None, "Type, and number of its cache line that is accessed."]]
    mem: NotRequired[Annotated[str | None, "Level of the memory that had the data" + _WORDS]]
    snoop: NotRequired[Annotated[str | None, "Result of the snoop of other caches" + _WORDS]]
    tlb: NotRequired[Annotated[str | None, "Result of the TLB's lookup" + _WORDS]]
    locked: NotRequired[Annotated[str | None, "Whether the access was locked" + _WORDS]]
    blocked: NotRequired[Annotated[str | None, "What blocked the access" + _WORDS]]
    data_page_size: NotRequired[Annotated[str | None, 'Size of the page of the data ("4K"); null if not recorded.']]
    code_page_size: NotRequired[Annotated[str | None, 'Size of the page of the code ("4K"); null if not recorded.']]
    phys_daddr: NotRequired[Annotated[str | None, "Physical address of the data; null if not recorded."]]
    local_weight: NotRequired[Annotated[int | None, "Latency of the access, " + _ONE]]
    weight: NotRequired[Annotated[int | None, "Latency of the access, " + _SUM]]
    local_ins_lat: NotRequired[Annotated[int | None, "Latency of the instruction, " + _ONE]]
    ins_lat: NotRequired[Annotated[int | None, "Latency of the instruction, " + _SUM]]
    local_retire_lat: NotRequired[Annotated[int | None, "Latency until the instruction retired, " + _ONE]]
    retire_lat: NotRequired[Annotated[int | None, "Latency until the instruction retired, " + _SUM]]
    symbol_daddr: NotRequired[Annotated[str | None, "Variable at the data address, or the address."]]
    dso_daddr: NotRequired[Annotated[str | None, "File that is mapped at the data address; null if unknown."]]
    dcacheline: NotRequired[Annotated[str | None, "Cache line of the data address."]]
    self: Annotated[Count, SELF]
    total: Annotated[Count, TOTAL]
    samples: Annotated[
        Count | None, "Samples taken in the row itself; null for a profile of another tool without single samples."
    ]


class Node(TypedDict):
    """A node of a call tree. It stands after its parent, and after its siblings that weigh more."""

    id: Annotated[Count, "Number of the node: its place in the list."]
    parent: Annotated[Count | None, 'The "id" of its caller (with "graph": "callee", its callee); null for a root.']
    sym: Annotated[str | None, SYM]
    dso: Annotated[str | None, DSO]
    kernel: Annotated[bool, "Whether it is code of the kernel."]
    self: Annotated[Count, SELF]
    total: Annotated[
        Count,
        'Weight of the node with its callees (with "graph": "callee", that passes through this caller), in the unit of'
        " the event.",
    ]


class Event(TypedDict):
    """The tables of one event, or of several whose weights can be added."""

    event: Annotated[str | None, EVENT + " Null without samples, and if events are rows."]
    unit: Annotated[str | None, UNIT]
    weight: Annotated[Count, "Weight of all samples of the event, which shares are of."]
    samples: Annotated[Count | None, "Samples of the event; null for a profile of another tool without single samples."]
    rows: Annotated[list[Row], 'Rows of at least "row_limit_percent", the heaviest first.']
    tree: Annotated[
        list[Node] | None, 'The call tree, flat; nodes of at least "tree_limit_percent". Null with "graph": "none".'
    ]


class Report(TypedDict):
    """Hot functions, and the call tree."""

    schema: Annotated[Literal["undwarf/report"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recording: Annotated[str, RECORDING]
    format: Annotated[str, '"perf.data", or the format of another tool in words.']
    sort: Annotated[list[str], "The sort keys, which rows have."]
    graph: Annotated[
        Literal["none", "caller", "callee"],
        '"caller": roots are the outermost functions. "callee": roots are the functions in which samples were taken.',
    ]
    weighted_by: Annotated[Weighting, WEIGHTED_BY]
    row_limit_percent: Annotated[float, "Rows below this share of the event's weight are left out, in percent."]
    tree_limit_percent: Annotated[float, "Nodes below this share of the event's weight are left out, in percent."]
    samples: Annotated[Count | None, "Samples; null for a profile of another tool without single samples."]
    lost: Annotated[Count | None, LOST]
    wholeness: Annotated[Wholeness, "How many stacks are whole."]
    groups: Annotated[list[list[str]], "Names of events that were recorded as a group, by group."]
    events: Annotated[list[Event], "One for each event with samples."]
