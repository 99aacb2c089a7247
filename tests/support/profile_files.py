"""Profiles of other tools: one of each format, opening them from bytes, their stacks as text."""

import io
import json
from collections import Counter

from tests.support.pprof_builder import Pprof

from undwarf.api import InputFormat, Profile, open_recording
from undwarf.imports.profile_file import OpenedProfile
from undwarf.imports.speedscope import SCHEMA
from undwarf.limits import DEFAULT, Limits

FOLDED = b"app;main;work 12\napp;main 3\n"
PPROF = Pprof(
    [("samples", "count"), ("cpu", "nanoseconds")], [(["work", "main"], [2, 20]), (["main"], [1, 10])]
).build()
SCRIPT = b"app 7/8 [001] 5.5: 10 cycles: \n\t401126 work+0x1 (/bin/app)\n\t401136 main+0x1 (/bin/app)\n\n"
SPEEDSCOPE = json.dumps({
    "$schema": SCHEMA,
    "shared": {"frames": [{"name": "main"}, {"name": "work"}]},
    "profiles": [{"type": "sampled", "name": "t", "unit": "none", "samples": [[0, 1]], "weights": [5]}],
}).encode()  # fmt: skip  # as it is nested
FILES = {"folded": FOLDED, "pprof": PPROF, "perf-script": SCRIPT, "speedscope": SPEEDSCOPE}


def opened(data: "bytes | str", format: InputFormat = "auto", limits: Limits = DEFAULT) -> OpenedProfile[Profile]:
    """A profile of another tool."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    found = open_recording(io.BytesIO(raw), format=format, limits=limits)
    assert isinstance(found, OpenedProfile)
    return found


def stacks(profile: Profile, event: str | None = None) -> dict[str, int]:
    """The weight of each stack, its functions root first with blanks between them."""
    found: Counter[str] = Counter()
    for sample in profile.samples:
        if event is None or sample.event == event:
            found[" ".join(frame.name for frame in reversed(sample.stack))] += sample.period
    return dict(found)


def damage(data: "bytes | str", format: InputFormat = "auto") -> dict[str, int]:
    """The defects of a file, by kind."""
    return {defect.kind: defect.count for defect in opened(data, format).defects}
