"""Every sample as text in the format of `perf script`, for tools that read that.

The format is that of perf 7 (tools/perf/builtin-script.c: print_sample_start, process_event; util/evsel_fprintf.c).
"""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.images import Image
from undwarf.outputs.kernels.script_text import ScriptText
from undwarf.outputs.script_fields import PLACES, SILENT, SampleFields
from undwarf.perfdata import SampleField
from undwarf.perfdata.data_source import page_size
from undwarf.perfdata.data_source import text as data_source
from undwarf.profile.filters import near
from undwarf.profile.labels import UNKNOWN, dso, is_kernel, is_made_at_run_time, short_dso
from undwarf.profile.model import NONE, Profile
from undwarf.unwind.stop import DESCRIPTIONS
from undwarf.unwind.stop_reason import StopReason

FIELDS = {
    "comm": 1,
    "tid": 2,
    "pid": 4,
    "time": 8,
    "cpu": 16,
    "period": 32,
    "event": 64,
    "addr": 128,
    "ip": 256,
    "sym": 512,
    "symoff": 1024,
    "dso": 2048,
    "srcline": 4096,
    "data_src": 8192,
    "weight": 16384,
    "ins_lat": 32768,
    "retire_lat": 1 << 20,
    "phys_addr": 1 << 21,
    "data_page_size": 1 << 22,
    "code_page_size": 1 << 23,
}
"""perf's names of the fields."""

CHAIN = 1 << 16
NANOSECONDS = 1 << 17
WHY = 1 << 18
DUMPED = 1 << 19
DSO_OFFSET = 1 << 24
PLACE = 25
"""The first of the bits that say where a sample has fields of undwarf.outputs.script_fields."""
SKIPPED = 1 << 31

NAMES = (*FIELDS, *(name for name in PLACES if name not in FIELDS), "dsoff", *SILENT)
"""All fields that may be asked for."""
DEFAULT = frozenset({"comm", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff", "dso"})
FRAMES = frozenset({"ip", "sym", "symoff", "dso"})
TYPES = {"hw": 0, "sw": 1, "trace": 2, "raw": 4, "break": 5, "synth": -1}
"""perf's names of the types of events, for ``-F type:fields``."""
TRACEPOINT = 2
SOFTWARE = 1

_NEEDS = {
    "tid": SampleField.TID,
    "pid": SampleField.TID,
    "time": SampleField.TIME,
    "tod": SampleField.TIME,
    "cpu": SampleField.CPU,
    "addr": SampleField.ADDR,
    "data_src": SampleField.DATA_SRC,
    "weight": SampleField.WEIGHT | SampleField.WEIGHT_STRUCT,
    "ins_lat": SampleField.WEIGHT_STRUCT,
    "retire_lat": SampleField.WEIGHT_STRUCT,
    "phys_addr": SampleField.PHYS_ADDR,
    "data_page_size": SampleField.DATA_PAGE_SIZE,
    "code_page_size": SampleField.CODE_PAGE_SIZE,
    "trace": SampleField.RAW,
    "bpf-output": SampleField.RAW,
    "iregs": SampleField.REGS_INTR,
    "uregs": SampleField.REGS_USER,
    "cgroup": SampleField.CGROUP,
    "brstack": SampleField.BRANCH_STACK,
    "brstacksym": SampleField.BRANCH_STACK,
    "brstackoff": SampleField.BRANCH_STACK,
    "brstackinsn": SampleField.BRANCH_STACK,
    "brstackdisasm": SampleField.BRANCH_STACK,
}
_SOURCE_ROOM = 99
"""Characters that perf has room for in a data source (tools/perf/builtin-script.c: data_src__fprintf)."""


class Event(Protocol):
    """What must be known of an event."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> int: ...
    @property
    def sample_type(self) -> int: ...


class ScriptOptions(NamedTuple):
    """``fields``: for each event, what its samples show. ``chains``: for each event, whether it has call chains.
    ``dumped``: those come from pieces of stack in the samples, so that the text says where they are cut off.

    ``max_stack``: frames a sample at most. ``nanoseconds``: nine digits after the point of a time. ``why``: after a
    stack that is not whole a line that says why.
    """

    fields: Sequence[frozenset[str]]
    chains: Sequence[bool]
    dumped: bool = True
    max_stack: int = 1 << 30
    nanoseconds: bool = False
    why: bool = False
    more: SampleFields | None = None
    """Writes the fields that the compiled module does not."""
    offsets: "memoryview[int] | None" = None
    """Where in its file each frame is (Q), for ``dsoff``."""
    accesses: "Mapping[str, tuple[memoryview, list[int]]] | None" = None
    """Recorded details of memory accesses, as :func:`undwarf.views.data.access_labels.access_values` gives them."""


def needs_more(fields: frozenset[str]) -> bool:
    """Whether some of an event's fields are written by undwarf.outputs.script_fields."""
    return bool(fields & PLACES.keys() - {"addr"}) or ("addr" in fields and bool(fields & {"sym", "dso"}))


def file_offsets(profile: Profile, images: Sequence[Image]) -> "memoryview[int]":
    """Where in its file each frame is (Q); all ones where perf shows none, which is in the kernel."""
    frames = profile.frames
    found = zeros("Q", len(frames))
    for number, address in enumerate(frames.address):
        image = frames.image[number]
        inside = image != NONE and not is_kernel(profile.images[image])
        found[number] = images[image].offset_of_address(address) if inside else (1 << 64) - 1
    return found


class FieldRequest(NamedTuple):
    """One ``-F``: for events of which type (None: of all), the fields, or what is added and taken away."""

    type: int | None
    named: frozenset[str] | None
    added: frozenset[str]
    removed: frozenset[str]


def parse_fields(text: str) -> FieldRequest:
    """What perf's ``-F`` argument asks for: ``[TYPE:]NAME,...`` or ``[TYPE:]+NAME,-NAME...``.

    Raises UsageError for a field or type that is not known, or for a mixture of names and changes.
    """
    head, colon, names = text.rpartition(":")
    if colon and head.strip() not in TYPES:
        raise UsageError(f"unknown type of event {head.strip()!r}", "", f"types are {', '.join(TYPES)}")
    parts = [part.strip() for part in names.split(",") if part.strip()]
    named = {part for part in parts if part[0] not in "+-"}
    added = {part[1:] for part in parts if part[0] == "+"}
    removed = {part[1:] for part in parts if part[0] == "-"}
    for name in sorted(named | added | removed):
        if name not in NAMES:
            raise UsageError(f"unknown field {name!r}", "", f"fields are {', '.join(near([name], list(NAMES)))}")
    if named and (added or removed):
        raise UsageError("-F takes either a list of fields or changes", "", "for example -F +addr,-period")
    # An empty list after a type is nothing; without one it is no request at all.
    listed = frozenset(named) if named or (colon and not parts) else None
    return FieldRequest(TYPES[head.strip()] if colon else None, listed, frozenset(added), frozenset(removed))


def default_fields(event: Event) -> frozenset[str]:
    """What samples of an event show where nobody asks for anything else."""
    if event.type == TRACEPOINT:
        # Their period has no meaning, and their name is the address at which they are taken.
        shown = DEFAULT - {"period"} | {"trace"}
        return shown if has_chain(event) else shown - FRAMES
    if event.type == SOFTWARE and event.sample_type & SampleField.RAW:
        return DEFAULT | {"bpf-output"}
    return DEFAULT


def fields_of_event(event: Event, requests: "str | Sequence[str] | None") -> tuple[frozenset[str], frozenset[str]]:
    """(what the event's samples show, what was asked for by name but was not recorded). Later requests count."""
    shown = default_fields(event)
    asked: frozenset[str] = frozenset()
    for text in (requests,) if isinstance(requests, str) else requests or ():
        request = parse_fields(text)
        if request.type is not None and request.type != event.type:
            continue
        if request.named is not None:
            shown, asked = request.named, request.named
        shown = (shown | request.added) - request.removed
        asked = (asked | request.added) - request.removed
    absent = {name for name, bit in _NEEDS.items() if not event.sample_type & bit}
    if event.type != TRACEPOINT:
        # As perf: of other events there is none to be had.
        shown, asked = shown - {"trace"}, asked - {"trace"}
    return shown - absent, frozenset(absent & asked)


def has_chain(event: Event) -> bool:
    """Whether samples of this event have more than an instruction pointer."""
    return bool(event.sample_type & (SampleField.CALLCHAIN | SampleField.STACK_USER))


def write(profile: Profile, sink: BinaryIO, options: ScriptOptions) -> None:
    """Write all samples in the profile's order; its frames must have their runtime addresses."""
    modes = zeros("I", len(profile.events))
    for number, (fields, chain) in enumerate(zip(options.fields, options.chains, strict=True)):
        modes[number] = (
            sum(FIELDS.get(name, 0) for name in fields)
            | (CHAIN if chain and "ip" in fields else 0)
            | (DUMPED if options.dumped else 0)
            | (NANOSECONDS if options.nanoseconds else 0)
            | (WHY if options.why else 0)
            | (DSO_OFFSET if "dsoff" in fields else 0)
            | (SKIPPED if not fields else 0)
        )
        if options.more is not None:
            modes[number] |= sum(1 << (PLACE + place) for place in options.more.places(number))
    events = [event.name for event in profile.events]
    reasons = ["" for _number in range(max(StopReason) + 1)]
    for reason, description in DESCRIPTIONS.items():
        reasons[reason] = description
    names = (
        profile.comms,
        events,
        profile.functions.name,
        [*map(dso, profile.images), UNKNOWN],
        [*map(short_dso, profile.images), UNKNOWN],
        reasons,
        [file.rpartition("/")[2] or file for file in profile.files],
    )
    width = max(map(len, events), default=0)
    made = zeros("B", len(profile.images))
    for number, image in enumerate(profile.images):
        made[number] = is_made_at_run_time(image)
    accesses = {
        name: (column, [_source(value) if name == "data_src" else page_size(value) for value in values])
        for name, (column, values) in (options.accesses or {}).items()
    }
    text = ScriptText(profile, modes, names, made, width, options.max_stack, accesses, options.more, options.offsets)
    while len(piece := text.fill()):
        sink.write(piece)


def _source(value: int) -> str:
    return f"{value:16x} {data_source(value)[:_SOURCE_ROOM]}"[:_SOURCE_ROOM]
