"""Text of ``perf script``, with the default fields or those of ``-F``, and of ``undwarf script``.

A sample begins with a line that describes it: name of the thread, ids, CPU, time, period and event, each only if it was
chosen, in this order. Its frames are the lines after it, or are missing, or the only one is in the same line. Addresses
are not kept: some versions print those of the file, others those of the process. Source:
``perf_sample__fprintf_start`` and ``process_event`` in ``tools/perf/builtin-script.c``.
"""

import re
from array import array
from functools import cache
from itertools import product

from undwarf.imports.kernels.script_blocks import ScriptBlocks
from undwarf.imports.profile_builder import LARGEST, Built, ProfileBuilder, text_of
from undwarf.profile.grouping import look_up
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import NONE, Origin

_IDS = (r" +(?P<pid>-?\d{1,10})/(?P<tid>-?\d{1,10})", r" +(?P<tid>-?\d{1,10})", "")
_CPU = (r" +\[(?P<cpu>\d{1,9})\]", "")
_TIME = (r"(?: +[A-Z.]{1,8})? +(?P<seconds>\d{1,10})\.(?P<fraction>\d{1,9}):(?= |$)", "")
_PERIOD = (r" +(?P<period>\d{1,19})", "")
_EVENT = (r" +(?P<event>\S{1,512}):(?= |$)", "")
_FRAME = re.compile(r" {0,16}[0-9a-f]{1,16}(?= |$)")
"""A frame in a sample's first line; its address fills 16 columns."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_SOURCE = re.compile(r"  (.+):(\d+)(?: \(.*\))?$")
_INLINED = "(inlined)"
_SIDE_BAND = " PERF_RECORD_"


@cache
def layouts() -> list[re.Pattern[str]]:
    """What first lines may look like, those with most fields first."""
    return [
        re.compile(
            rf" *(?P<comm>\S.{{0,63}}?){''.join(fields)}(?P<rest>.*)$" if any(fields) else r"(?P<comm>.{1,64}?) *$"
        )
        for fields in product(_IDS, _CPU, _TIME, _PERIOD, _EVENT)
        # A period is printed with its event alone.
        if not fields[3] or fields[4]
    ]


def is_whole_header(line: str) -> bool:
    """Whether a line begins a sample with a time and an event, as lines of nothing else do."""
    return any(layout.match(line) for layout in layouts() if {"seconds", "event"} <= set(layout.groupindex))


class Headers:
    """Parses first lines of samples, by the layout that fits the one before or else the first that fits."""

    def __init__(self) -> None:
        self._layout = layouts()[0]

    def parse(self, line: str) -> "re.Match[str] | None":
        """The fields of a line; None if no layout fits."""
        found = self._layout.match(line)
        if found is None:
            for layout in layouts():
                found = layout.match(line)
                if found is not None:
                    self._layout = layout
                    break
        return found


def read(data: bytes, builder: ProfileBuilder, kind: type[Built]) -> Built:
    """The profile in a text."""
    blocks = ScriptBlocks()
    if not blocks.read(data, builder.limits.profile_nodes):
        raise builder.too_large()
    builder.damage("line that is no frame", blocks.bad, f"line {blocks.first_bad} is the first")
    builder.damage("frame cut", blocks.cut)
    fields = _samples(data, blocks, builder)
    frames = [_frame(text_of(text), builder, fields) for text in blocks.texts()]
    builder.tree(blocks.column("parent"), look_up(blocks.column("frame"), memoryview(array("I", frames))))
    return builder.profile(Origin("text of perf script", frozenset(fields)), kind)


def _samples(data: bytes, blocks: ScriptBlocks, builder: ProfileBuilder) -> set[str]:
    """Add the samples; the fields that they have."""
    headers = Headers()
    fields: set[str] = set()
    comms: dict[str, int] = {}
    events: dict[str, int] = {}
    bad = 0
    columns = zip(blocks.column("header"), blocks.column("length"), blocks.column("node"), strict=True)
    for start, length, node in columns:
        line = text_of(data[start : start + min(length, 4096)]).rstrip("\r")
        found = headers.parse(line) if line else None
        if line and found is None:
            bad += 1
            continue
        parts = found.groupdict() if found is not None else {}
        rest = parts.get("rest") or ""
        if node == NONE:
            if _SIDE_BAND in line:
                continue
            if frame := _FRAME.match(rest.removeprefix(" ")):
                node = blocks.leaf(rest[frame.start() :].strip().encode("utf-8", "replace"))
            elif "event" not in parts:
                # Nothing says that it is a sample.
                bad += 1
                continue
        comm, event = parts.get("comm", ""), parts.get("event") or ""
        if comm not in comms:
            comms[comm] = builder.comm(comm)
        if event not in events:
            events[event] = builder.event(event or "samples")
        period, seconds = parts.get("period"), parts.get("seconds")
        builder.sample(
            node,
            min(int(period), LARGEST) if period else 1,
            events[event],
            comm=comms[comm],
            time=int(seconds) * 10**9 + int(parts["fraction"].ljust(9, "0")) if seconds else 0,
            pid=_id(parts.get("pid")),
            tid=_id(parts.get("tid")),
            cpu=_id(parts.get("cpu")),
        )
        fields.update(name for name in ("comm", "pid", "tid", "cpu") if parts.get(name))
        if seconds:
            fields.add("time")
    builder.damage("line that describes no sample", bad)
    return fields


def _id(text: str | None) -> int:
    return max(-1, min(int(text), (1 << 31) - 1)) if text else -1


def _frame(text: str, builder: ProfileBuilder, fields: set[str]) -> int:
    """The frame of a text: ``ADDRESS NAME+0xOFFSET (FILE)``, with its source line and what it is inlined into below."""
    lines = text.split("\n")
    source = _SOURCE.match(lines[1]) if len(lines) > 1 else None
    frames = [line.strip() for line in lines if not line.startswith("  ")] or [""]
    name, file = _parts(frames[0])
    depth = 0
    if file == _INLINED:
        depth = max(1, len(frames) - 1)
        file = _parts(frames[-1])[1]
    image = NONE
    if file and file != _INLINED:
        fields.add("dso")
        if file != UNKNOWN:
            image = builder.image(_OFFSET.sub("", file), _image_kind(file))
    if source is not None:
        fields.add("line")
    return builder.frame(
        builder.function("" if name == UNKNOWN else name, image),
        file=source[1] if source is not None and source[1] != "??" else "",
        line=int(source[2][:10]) if source is not None else 0,
        depth=depth,
    )


def _parts(line: str) -> tuple[str, str]:
    """(name, file) of a frame's line; ``(inlined)`` stands for the file of an inlined function."""
    _address, _blank, rest = line.partition(" ")
    if rest.endswith(_INLINED):
        return _OFFSET.sub("", rest.removesuffix(_INLINED).strip()), _INLINED
    if not rest.endswith(")"):
        return _OFFSET.sub("", rest), ""
    depth = 0
    for at in range(len(rest) - 1, -1, -1):
        depth += (rest[at] == ")") - (rest[at] == "(")
        if not depth:
            # What is in brackets right behind a name is its parameters.
            if at and rest[at - 1] != " ":
                break
            return _OFFSET.sub("", rest[:at].strip()), rest[at + 1 : -1]
    return _OFFSET.sub("", rest), ""


def _image_kind(file: str) -> str:
    """The kind of image that perf's name of a file stands for, as of ImageKind."""
    if file.startswith(("[kernel", "[guest.kernel")):
        return "kernel"
    if file.startswith("[vdso"):
        return "vdso"
    if file.startswith(("//anon", "[heap", "[stack", "/dev/zero", "/SYSV")):
        return "anon"
    if file.startswith("/tmp/perf-") and file.endswith(".map"):
        return "jit"
    if file.startswith("bpf_prog"):
        return "bpf"
    if file.startswith("["):
        return "module"
    return "file"
