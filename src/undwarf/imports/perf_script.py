"""Text of ``perf script``, with the default fields or those of ``-F``, and of ``undwarf script``.

A sample begins with a line that describes it: name of the thread, ids, CPU, time, period and event, each only if it was
chosen, in this order. Its frames are the lines after it, or are missing, or the only one is in the same line. Addresses
are not kept: some versions print those of the file, others those of the process. Source:
``perf_sample__fprintf_start`` and ``process_event`` in ``tools/perf/builtin-script.c``.
"""

import re
from array import array
from typing import NamedTuple

from undwarf.imports.kernels.script_blocks import ScriptBlocks
from undwarf.imports.profile_builder import LARGEST, Built, ProfileBuilder, text_of
from undwarf.profile.grouping import look_up
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import NONE, Origin

# Counts are bounded where names and numbers are as well: what follows is tried at each place where a name may end.
_ID = r"-?\d{1,10}"
_WHOSE = (
    rf" {{0,16}}(?P<comm>.{{0,64}}?)(?:(?:^| {{1,16}})(?:(?P<pid>{_ID})/(?P<tid>{_ID})|(?P<id>{_ID})))?"
    r"(?: {1,16}\[(?P<cpu>\d{1,9})\])?"
)
_EVENT = r"(?:(?P<period>\d{1,19}) +)?(?P<event>\S{1,512}):(?: (?P<rest>.*))?$"
_BEFORE_TIME = re.compile(_WHOSE + " {0,16}$")
_TIME = re.compile(r"(?:^| )(\d{1,10})\.(\d{1,9}):(?= |$)")
_AFTER_TIME = re.compile(" *" + _EVENT)
_WITHOUT_TIME = re.compile(_WHOSE + " {1,16}" + _EVENT)
_PERIOD_WIDTH = 10
"""Columns of a period; ids have 5."""
_FRAME = re.compile(r"(?=[ 0-9a-f]{16}) *[0-9a-f]{1,16}(?: |$)")
"""A frame in a sample's first line; its address fills 16 columns."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_SOURCE = re.compile(r"  (.+):(\d{1,10})(?: \(.*\))?$")
_INLINED = "(inlined)"
_LONGEST = 4096
"""Characters of a sample's first line that are looked at."""
_SIDE_BAND = " PERF_RECORD_"


class Header(NamedTuple):
    """What a sample's first line says. A single id is that of the thread, as by default."""

    comm: str
    pid: int
    tid: int
    cpu: int
    time: int | None
    period: int | None
    event: str
    rest: str


def header(line: str) -> Header | None:
    """The fields of a sample's first line; None if they are not in perf's order."""
    time = _TIME.search(line)
    after: re.Match[str] | None
    if time is not None:
        whose, after = _BEFORE_TIME.match(line[: time.start()]), _AFTER_TIME.match(line, time.end())
    else:
        whose = after = _WITHOUT_TIME.match(line)
        if whose is None:
            whose = _BEFORE_TIME.match(line)
    if whose is None:
        return None
    pid, tid = _id(whose["pid"]), _id(whose["tid"] or whose["id"])
    period = after["period"] if after is not None else None
    if whose is after and whose["id"] and period is None and whose.end("id") - whose.end("comm") > _PERIOD_WIDTH:
        tid, period = -1, whose["id"]
    return Header(
        whose["comm"],
        pid,
        tid,
        _id(whose["cpu"]),
        int(time[1]) * 10**9 + int(time[2].ljust(9, "0")) if time is not None else None,
        min(int(period), LARGEST) if period else None,
        after["event"] if after is not None else "",
        (after["rest"] or "") if after is not None else line[time.end() :] if time is not None else "",
    )


def _id(text: str | None) -> int:
    return max(-1, min(int(text), (1 << 31) - 1)) if text else -1


def is_whole_header(line: str) -> bool:
    """Whether a line begins a sample with a time and an event, as lines of nothing else do."""
    found = header(line)
    return found is not None and found.time is not None and bool(found.event)


def read(data: bytes, builder: ProfileBuilder, kind: type[Built]) -> Built:
    """The profile in a text."""
    blocks = ScriptBlocks()
    if not blocks.read(data, builder.limits.profile_nodes):
        raise builder.too_large()
    builder.damage("line that is no frame", blocks.bad, f"line {blocks.first_bad} is the first")
    builder.damage("frame cut", blocks.cut)
    fields = _samples(data, blocks, builder)
    frames = _frames(blocks, builder, fields)
    builder.tree(blocks.column("parent"), look_up(blocks.column("frame"), memoryview(array("I", frames))))
    return builder.profile(Origin("text of perf script", frozenset(fields)), kind)


def _samples(data: bytes, blocks: ScriptBlocks, builder: ProfileBuilder) -> set[str]:
    """Add the samples; the fields that they have."""
    fields: set[str] = set()
    bad = 0
    columns = zip(blocks.column("header"), blocks.column("length"), blocks.column("node"), strict=True)
    for start, length, node in columns:
        line = text_of(data[start : start + min(length, _LONGEST)]).rstrip("\r")
        found = header(line)
        if found is None:
            bad += 1
            continue
        if node == NONE:
            if _SIDE_BAND in line:
                continue
            if _FRAME.match(found.rest):
                node = blocks.leaf(found.rest.strip().encode("utf-8", "replace"))
            elif not found.event:
                # Nothing says that it is a sample.
                bad += 1
                continue
        builder.sample(
            node,
            found.period if found.period is not None else 1,
            builder.event(found.event or "samples"),
            comm=builder.comm(found.comm),
            time=found.time or 0,
            pid=found.pid,
            tid=found.tid,
            cpu=found.cpu,
        )
        for field, known in (
            ("comm", found.comm),
            ("pid", found.pid >= 0),
            ("tid", found.tid >= 0),
            ("cpu", found.cpu >= 0),
            ("time", found.time is not None),
        ):
            if known:
                fields.add(field)
    builder.damage("line that describes no sample", bad)
    return fields


def _frames(blocks: ScriptBlocks, builder: ProfileBuilder, fields: set[str]) -> list[int]:
    """The frame of each of the blocks' frames; ``fields`` gets what they have."""
    texts = [Text(*_parts(line), *_source(rest)) for line, _, rest in map(_lines, blocks.texts())]
    images: list[int] = []
    depths: list[int] = []
    frames = []
    for number, outer in zip(blocks.column("text"), blocks.column("outer"), strict=True):
        text = texts[number]
        image, depth = NONE, 0
        if outer != NONE:
            image, depth = images[outer], depths[outer] + 1
        elif text.file and text.file not in (_INLINED, UNKNOWN):
            image = builder.image(_OFFSET.sub("", text.file), _image_kind(text.file))
        images.append(image)
        depths.append(depth)
        if text.file and text.file != _INLINED:
            fields.add("dso")
        if text.line:
            fields.add("line")
        function = builder.function("" if text.name == UNKNOWN else text.name, image)
        frames.append(builder.frame(function, file=text.source, line=text.line, depth=depth))
    return frames


class Text(NamedTuple):
    """What the lines of a frame say; ``file`` is ``(inlined)`` for an inlined function."""

    name: str
    file: str
    source: str
    line: int


def _lines(text: bytes) -> tuple[str, str, str]:
    return text_of(text).replace("\r", "").partition("\n")


def _source(text: str) -> tuple[str, int]:
    """(file, line) of a source line; empty and 0 if it is not known."""
    found = _SOURCE.match(text)
    return (found[1], int(found[2])) if found is not None and found[1] != "??" else ("", 0)


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
