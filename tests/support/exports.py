"""What exports are compared with: the shipped recording, its report, and profiles with awkward contents."""

import io
import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.profiles import S, column, make_profile

from undwarf.outputs.export.formats import writer
from undwarf.outputs.export.origin import Origin
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.model import NONE, Profile, StackColumns
from undwarf.views.export_tables import export_tables

FOLDER = Path(__file__).parent.parent.parent / "examples" / "recording"
RECORDING = [str(FOLDER / "words.data"), "--symfs", str(FOLDER)]
"""The shipped recording of a static C++ program, with inlined functions and source lines."""
HOSTILE = {
    "control": "a\x1b[31mb\x00c\x7f",
    "newline": "first\nsecond\r\nthird",
    "quotes": "operator\"\"_s '\\n' `x`",
    "html": "</script><script>alert(1)</script>",
    "separators": "f<[u8; 4]>(int, char) = {0}: #1\tend ;",
    "not UTF-8": "caf\udce9",
    "bidirectional": "\u202egnp.exe",
    "long": "x" * 200_000,
    "callgrind": "fn=(1) main",
}
"""Names of functions that must not become anything but a name."""


class Weights(NamedTuple):
    """A report: the sum of all weights, and by function (self, with callees)."""

    total: int
    functions: dict[str, tuple[int, int]]

    def heaviest(self, count: int = 10) -> dict[str, tuple[int, int]]:
        """The functions with the largest self weights, and those with the largest weights with callees."""
        by_self = sorted(self.functions, key=lambda name: (-self.functions[name][0], name))[:count]
        by_all = sorted(self.functions, key=lambda name: (-self.functions[name][1], name))[:count]
        return {name: self.functions[name] for name in (*by_self, *by_all)}


def run(*arguments: object) -> "subprocess.CompletedProcess[bytes]":
    """`undwarf` with these arguments."""
    command = [sys.executable, "-m", "undwarf", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=True, timeout=120)


@cache
def report() -> Weights:
    """The report of the shipped recording."""
    (event,) = json.loads(run("report", "--json", "-s", "sym", *RECORDING).stdout)["events"]
    rows = {printable(row["sym"]): (row["self"], row["total"]) for row in event["rows"]}
    return Weights(event["weight"], rows)


@cache
def export(form: str) -> bytes:
    """The shipped recording in a format."""
    return run("export", "--format", form, "-o", "-", *RECORDING).stdout


_AS = {
    "folded": ["fold", "--weight", "period", "--root", "none"],
    "pprof": ["export", "--format", "pprof", "-o", "-"],
    "perf-script": ["export", "--format", "perf-script", "-o", "-"],
    "speedscope": ["export", "--format", "speedscope", "-o", "-"],
}


@cache
def export_of(source: str, form: str) -> bytes:
    """The shipped recording as a profile of another tool, and that in a format."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(run(*_AS[source], *RECORDING).stdout)
        file.flush()
        return run("export", "--input-format", source, "--format", form, "-o", "-", file.name).stdout


def write(profile: Profile, form: str, origin: Origin = Origin("perf.data")) -> bytes:  # noqa: B008 - it is immutable
    """A profile in a format."""
    sink = io.BytesIO()
    writer(form)(export_tables(profile), sink, origin)
    return sink.getvalue()


def losses(profile: Profile, form: str) -> str:
    """What a format says that it does not hold."""
    return "\n".join(writer(form)(export_tables(profile), io.BytesIO(), Origin("perf.data")))


def hostile_profile(name: str, event: str = "cycles") -> Profile:
    """A profile whose innermost function, thread and source file have this name."""
    profile = make_profile([S("main@app other@libc work@app", comm=name, period=7)], (event,))
    profile.functions.name[2] = name
    return profile


def inlined_profile() -> Profile:
    """`main` calls `outer`, into which `inner` is inlined at /src/inner.h:3; its lines are /src/app.c:10 and 20."""
    profile = make_profile([S("inner@app"), S("outer@app"), S("main@app")])
    frames = profile.frames
    frames.inline_depth[0] = 1
    frames.address[0] = frames.address[1]
    frames.file, frames.line = column("I", [1, 0, 0]), column("I", [3, 20, 10])
    profile.files[:] = ["/src/app.c", "/src/inner.h"]
    stacks = StackColumns(column("I", [NONE, 0, 1]), column("I", [2, 1, 0]))
    samples = profile.samples.columns
    samples.stack, samples.period = column("I", [2, 2, 2]), column("Q", [7, 7, 7])
    return profile.derived(stacks=stacks)


def added(stacks: "list[tuple[list[str], Any]]") -> dict[str, tuple[Any, Any]]:
    """By function (self, with callees) of stacks, innermost first, with their weights."""
    found: dict[str, tuple[Any, Any]] = {}
    for stack, weight in stacks:
        for name in set(stack):
            own, all_of_it = found.get(name, (0, 0))
            found[name] = (own + (weight if name == stack[0] else 0), all_of_it + weight)
    return found
