"""Every sample as text, in the shape of `perf script`, so that what reads perf's reads ours."""

from dataclasses import dataclass
from typing import BinaryIO

from undwarf.errors import UsageError
from undwarf.outputs.script_text import ScriptText
from undwarf.profile.model import Profile

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
}
"""perf's names of the fields."""

DEFAULT = ("comm", "tid", "time", "period", "event", "ip", "sym", "symoff", "dso")
BATCH = 2000


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """``fields`` as perf names them; ``max_stack`` frames a sample at most."""

    fields: frozenset[str] = frozenset(DEFAULT)
    max_stack: int = 4096


def choose_fields(text: str | None, with_cpu: bool) -> frozenset[str]:
    """The fields of a list like perf's: names, or changes to the default as ``+addr`` and ``-period``."""
    default = set(DEFAULT) | ({"cpu"} if with_cpu else set())
    if not text:
        return frozenset(default)
    # perf allows a type of event before a colon; ours all print alike.
    parts = [part.strip() for part in text.rpartition(":")[2].split(",") if part.strip()]
    changes = all(part[0] in "+-" for part in parts)
    chosen = default if changes else set()
    for part in parts:
        name = part.lstrip("+-")
        if name not in FIELDS:
            raise UsageError(f"unknown field {name!r}", "", f"fields are {', '.join(FIELDS)}")
        if part.startswith("-"):
            chosen.discard(name)
        else:
            chosen.add(name)
    return frozenset(chosen)


def write(profile: Profile, sink: BinaryIO, options: ScriptOptions) -> None:
    """Write all samples in the profile's order; its frames must have their runtime addresses."""
    fields = sum(FIELDS[name] for name in options.fields)
    text = ScriptText(
        profile,
        fields,
        profile.comms,
        [event.name for event in profile.events],
        profile.functions.name,
        [*(image.path for image in profile.images), "[unknown]"],
        options.max_stack,
    )
    count = len(profile.samples)
    for first in range(0, count, BATCH):
        sink.write(text.fill(first, min(first + BATCH, count)))
