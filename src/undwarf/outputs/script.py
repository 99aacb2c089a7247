"""Every sample as text in the format of `perf script`, for tools that read that.

The format is that of perf 7 (tools/perf/builtin-script.c: print_sample_start, process_event; util/evsel_fprintf.c).
"""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.images import Image
from undwarf.outputs import script_modes as modes
from undwarf.outputs.kernels.script_text import ScriptText
from undwarf.outputs.script_fields import PLACES, SILENT, SampleFields
from undwarf.perfdata import SampleField
from undwarf.perfdata.data_source import page_size
from undwarf.perfdata.data_source import text as data_source
from undwarf.profile.filters import near
from undwarf.profile.labels import UNKNOWN, dso, is_kernel, is_made_at_run_time, short_dso
from undwarf.profile.model import NONE, Profile
from undwarf.unwind.stop_reason import DESCRIPTIONS, StopReason

FIELDS = {
    "comm": modes.COMM, "tid": modes.TID, "pid": modes.PID, "time": modes.TIME, "cpu": modes.CPU,
    "period": modes.PERIOD, "event": modes.EVENT, "addr": modes.ADDR, "ip": modes.IP, "sym": modes.SYM,
    "symoff": modes.SYMOFF, "dso": modes.DSO, "srcline": modes.SRCLINE, "data_src": modes.DATA_SRC,
    "weight": modes.WEIGHT, "ins_lat": modes.INS_LAT, "retire_lat": modes.RETIRE_LAT, "phys_addr": modes.PHYS_ADDR,
    "data_page_size": modes.DATA_PAGE_SIZE, "code_page_size": modes.CODE_PAGE_SIZE,
}  # fmt: skip
"""perf's names of the fields that the kernel formats."""
NAMES = (*FIELDS, *(name for name in PLACES if name not in FIELDS), "dsoff", *SILENT)
"""All fields that can be requested."""
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
_SOURCE_WIDTH = 99
"""Characters of a data source that perf prints (tools/perf/builtin-script.c: data_src__fprintf)."""


class Event(Protocol):
    """The attributes of an event that fields depend on."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> int: ...
    @property
    def sample_type(self) -> int: ...


class ScriptOptions(NamedTuple):
    """By event: the ``fields`` that its samples show, and whether it has call ``chains``.

    ``dumped``: chains are unwound from stack dumps, so that the text says where a dump ends. ``max_stack``: the most
    frames of a sample. ``nanoseconds``: times have nine decimal places. ``why``: a stack that is not whole is followed
    by the reason.
    """

    fields: Sequence[frozenset[str]]
    chains: Sequence[bool]
    dumped: bool = True
    max_stack: int = 1 << 30
    nanoseconds: bool = False
    why: bool = False
    more: SampleFields | None = None
    """Formats the fields that the kernel does not."""
    offsets: "memoryview[int] | None" = None
    """The offset of each frame in its file (Q), for ``dsoff``."""
    accesses: "Mapping[str, tuple[memoryview, list[int]]] | None" = None
    """Details of memory accesses, as :func:`undwarf.views.data.access_labels.access_values` gives them."""


def needs_more(fields: frozenset[str]) -> bool:
    """Whether some of an event's fields are formatted by undwarf.outputs.script_fields."""
    return bool(fields & PLACES.keys() - {"addr"}) or ("addr" in fields and bool(fields & {"sym", "dso"}))


def file_offsets(profile: Profile, images: Sequence[Image]) -> "memoryview[int]":
    """The offset of each frame in its file (Q); all ones in the kernel, where perf prints none."""
    frames = profile.frames
    offsets = zeros("Q", len(frames))
    for number, address in enumerate(frames.address):
        image = frames.image[number]
        in_file = image != NONE and not is_kernel(profile.images[image])
        offsets[number] = images[image].offset_of_address(address) if in_file else (1 << 64) - 1
    return offsets


class FieldRequest(NamedTuple):
    """One ``-F``: for events of one ``type`` (None: all), a list of fields, or fields added to and removed from the
    default."""

    type: int | None
    named: frozenset[str] | None
    added: frozenset[str]
    removed: frozenset[str]


def parse_fields(text: str) -> FieldRequest:
    """Parse an argument of perf's ``-F``: ``[TYPE:]NAME,...`` or ``[TYPE:]+NAME,-NAME...``.

    Raises UsageError for an unknown field or type, or for a mixture of names and changes.
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
    # "TYPE:" requests no fields; an empty argument requests nothing.
    listed = frozenset(named) if named or (colon and not parts) else None
    return FieldRequest(TYPES[head.strip()] if colon else None, listed, frozenset(added), frozenset(removed))


def default_fields(event: Event) -> frozenset[str]:
    """The fields that samples of an event show by default."""
    if event.type == TRACEPOINT:
        # Their period has no meaning, and the address is that of the tracepoint.
        shown = DEFAULT - {"period"} | {"trace"}
        return shown if has_chain(event) else shown - FRAMES
    if event.type == SOFTWARE and event.sample_type & SampleField.RAW:
        return DEFAULT | {"bpf-output"}
    return DEFAULT


def fields_of_event(
    event: Event, requests: "str | Sequence[str] | None", default: frozenset[str] | None = None
) -> tuple[frozenset[str], frozenset[str]]:
    """(fields that the event's samples show, fields that were requested but not recorded). Later requests win;
    ``default``: other fields than perf's without any."""
    shown = default_fields(event) if default is None else default
    requested: frozenset[str] = frozenset()
    for text in (requests,) if isinstance(requests, str) else requests or ():
        request = parse_fields(text)
        if request.type is not None and request.type != event.type:
            continue
        if request.named is not None:
            shown, requested = request.named, request.named
        shown = (shown | request.added) - request.removed
        requested = (requested | request.added) - request.removed
    absent = {name for name, bit in _NEEDS.items() if not event.sample_type & bit}
    if event.type != TRACEPOINT:
        # As in perf, which does not report this as missing.
        shown, requested = shown - {"trace"}, requested - {"trace"}
    return shown - absent, frozenset(absent & requested)


def has_chain(event: Event) -> bool:
    """Whether samples of this event have more than an instruction pointer."""
    return bool(event.sample_type & (SampleField.CALLCHAIN | SampleField.STACK_USER))


def write(profile: Profile, sink: BinaryIO, options: ScriptOptions) -> None:
    """Write all samples in the profile's order; its frames must have their runtime addresses."""
    mode_of = zeros("I", len(profile.events))
    for number, (fields, chain) in enumerate(zip(options.fields, options.chains, strict=True)):
        mode_of[number] = (
            sum(FIELDS.get(name, 0) for name in fields)
            | (modes.CHAIN if chain and "ip" in fields else 0)
            | (modes.DUMPED if options.dumped else 0)
            | (modes.NANOSECONDS if options.nanoseconds else 0)
            | (modes.WHY if options.why else 0)
            | (modes.DSO_OFFSET if "dsoff" in fields else 0)
            | (modes.SKIPPED if not fields else 0)
        )
        if options.more is not None:
            mode_of[number] |= sum(1 << (modes.PLACE + place) for place in options.more.places(number))
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
    generated = memoryview(bytes(map(is_made_at_run_time, profile.images)))
    accesses = {
        name: (column, [_source(value) if name == "data_src" else page_size(value) for value in values])
        for name, (column, values) in (options.accesses or {}).items()
    }
    text = ScriptText(
        profile, mode_of, names, generated, width, options.max_stack, accesses, options.more, options.offsets
    )
    while len(piece := text.fill()):
        sink.write(piece)


def _source(value: int) -> str:
    return f"{value:16x} {data_source(value)[:_SOURCE_WIDTH]}"[:_SOURCE_WIDTH]
