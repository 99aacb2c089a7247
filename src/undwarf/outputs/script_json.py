"""Every sample as a line of JSON."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.outputs import script_modes as modes
from undwarf.outputs.json_lines import quoted
from undwarf.outputs.json_values import known
from undwarf.outputs.kernels.script_json import ScriptJson
from undwarf.outputs.script import FIELDS, FRAMES
from undwarf.outputs.script_fields import SampleFields
from undwarf.perfdata.data_source import text as data_source
from undwarf.profile.labels import dso
from undwarf.profile.model import Profile
from undwarf.unwind.stop_reason import StopReason

DEFAULT = FRAMES | {
    "comm", "pid", "tid", "cpu", "time", "event", "period", "addr", "phys_addr", "data_src", "weight", "trace"
}  # fmt: skip  # a table
"""The fields that samples show by default, if they were recorded."""
_HELD = DEFAULT | {"srcline"}

_NULL = b"null"
_NO_SOURCE = "|OP N/A|LVL N/A|SNP N/A|TLB N/A"
"""How the text of a data source starts if nothing was recorded."""


class ScriptJsonOptions(NamedTuple):
    """By event: the ``fields`` that its samples show, and the ``units`` of periods, empty where not known.

    ``max_stack``: the most frames of a sample. ``more`` formats the fields of tracepoints. ``accesses``: details of
    memory accesses, as :func:`undwarf.views.data.access_labels.access_values` gives them.
    """

    fields: Sequence[frozenset[str]]
    units: Sequence[str]
    max_stack: int = 1 << 30
    more: SampleFields | None = None
    accesses: "Mapping[str, tuple[memoryview, list[int]]] | None" = None


def check_fields(requested: frozenset[str]) -> None:
    """Raise UsageError for fields that the lines do not have."""
    if lacking := requested - _HELD:
        raise UsageError(
            f"--json has no field {min(lacking)}", "", f"its fields are {', '.join(sorted(_HELD))}; or leave out --json"
        )


def write(profile: Profile, sink: BinaryIO, options: ScriptJsonOptions) -> None:
    """Write all samples in the profile's order; its frames must have their runtime addresses."""
    mode_of = zeros("I", len(profile.events))
    for number, fields in enumerate(options.fields):
        mode_of[number] = sum(FIELDS.get(name, 0) for name in fields) | (0 if fields else modes.SKIPPED)
    events = []
    for event, unit in zip(profile.events, options.units, strict=True):
        end = f',"unit":{_text(unit)}'
        # Without and with the field.
        events += [f',"event":null{end}'.encode(), f',"event":{quoted(event.name)}{end}'.encode()]
    reasons = [_NULL] * (max(StopReason) + 1)
    for reason in StopReason:
        if reason is not StopReason.NONE:
            reasons[reason] = quoted(reason.name.lower()).encode()
    sources, values = (options.accesses or {}).get("data_src", (None, []))
    texts = (
        [quoted(comm).encode() for comm in profile.comms],
        events,
        [_text(name).encode() for name in profile.functions.name],
        [*(_text(dso(image)).encode() for image in profile.images), _NULL],
        reasons,
        [quoted(file).encode() for file in profile.files],
        [_source(value) for value in values],
    )
    latencies, _ = (options.accesses or {}).get("weight", (None, []))
    trace = None
    if options.more is not None:
        shown = options.more

        def trace(sample: int) -> bytes:
            text = shown.text(modes.AFTER_EVENT, sample).strip()
            return quoted(text.decode("utf-8", "surrogateescape")).encode() if text else _NULL

    text = ScriptJson(profile, mode_of, texts, options.max_stack, (sources, latencies), trace)
    while len(piece := text.fill()):
        sink.write(piece)


def _source(value: int) -> bytes:
    text = data_source(value)
    return _NULL if text.startswith(_NO_SOURCE) else quoted(text).encode()


def _text(name: str) -> str:
    return "null" if known(name) is None else quoted(name)
