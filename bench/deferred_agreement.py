"""Whether perf shows deferred user chains as undwarf does: ``bench/deferred_agreement.py [--perf PERF] [RECORDINGS]``.

Makes recordings of made-up machines (``tests/support/deferred_world.py``), half of them with mappings that change while
samples wait for their chains, and prints each with both. perf has to know such chains (7.0 or later). Samples are
equal, or perf shows one of three things that are not so: the cookie of a chain that never came as an address; no names
and no mappings for a thread that ended before its sample was printed; mappings as they were when the chain came, not
when the sample was taken. Anything else is printed and fails.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.deferred_world import DEFERRED, Expected, World

FIELDS = "comm,tid,time,event,ip,sym,dso"
HEAD = re.compile(r"^(\S+)\s+(\d+)\s+(\d+)\.(\d+):")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \(([^()]*)\)$")
Sample = tuple[str, list[tuple[str, int, str]]]
"""The thread's name; (file, address, symbol) of each frame."""


def samples(command: list[str]) -> dict[tuple[int, int], Sample]:
    """What a command prints, by (time, thread)."""
    found: dict[tuple[int, int], Sample] = {}
    frames: list[tuple[str, int, str]] = []
    text = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    for line in text.splitlines():
        head, frame = HEAD.match(line), FRAME.match(line)
        if head:
            frames = []
            found[int(head[3]) * 10**9 + int(head[4]), int(head[2])] = (head[1], frames)
        elif frame:
            frames.append(("" if frame[3] == "[unknown]" else frame[3], int(frame[1], 16), frame[2]))
    return found


def agreement(ours: Sample, theirs: Sample, expected: Expected) -> str:
    """How the two samples differ."""
    if ours == theirs:
        return "equal"
    name, frames = theirs
    places = [(file, address) for file, address, _symbol in frames]
    mine = [(file, address) for file, address, _symbol in ours[1]]
    nameless = name.startswith(":")
    if not expected.found and places[:-1] == mine and 0 < places[-1][1] < DEFERRED:
        return "perf: the cookie as an address"
    if [address for _file, address in places] == [address for _file, address in mine]:
        if nameless:
            return "perf: the thread is gone"
        if expected.moved:
            return "perf: mappings of later"
    if nameless or expected.moved:
        # Where nothing is mapped at an address any more, one of the two ends there.
        shorter = min(len(places), len(mine))
        if [address for _file, address in places[:shorter]] == [address for _file, address in mine[:shorter]]:
            return "perf: the thread is gone" if nameless else "perf: mappings of later"
    return "different"


def difference(ours: Sample | None, theirs: Sample | None) -> tuple[object, ...]:
    """The two names and lengths, and the first frames that are not the same."""
    mine, other = ours or ("", []), theirs or ("", [])
    pairs = [pair for pair in zip(mine[1], other[1], strict=False) if pair[0] != pair[1]]
    return mine[0], other[0], len(mine[1]), len(other[1]), *pairs[:2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("recordings", nargs="?", type=int, default=40)
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "perf.data"))
        for number in range(options.recordings):
            changing = bool(number & 1)
            world = World(options.seed + number, maps_change=changing, leaders_stay=True)
            Path(path).write_bytes(world.recording("pipe" if number & 2 else "file", bool(number & 4)))
            arguments = ["script", "-F", FIELDS, "--ns", "--no-inline"]
            ours = samples([sys.executable, "-m", "undwarf", *arguments, path])
            theirs = samples([options.perf, *arguments, "--max-stack", "1000", "-i", path])
            for one in world.expected:
                key = (one.time, one.tid)
                if key not in ours or key not in theirs:
                    how = "missing here" if key not in ours else "missing in perf"
                else:
                    how = agreement(ours[key], theirs[key], one)
                counts["mappings change" if changing else "mappings stay", how] += 1
                if how in ("different", "missing here"):
                    print(number, one.time, one.tid, *difference(ours.get(key), theirs.get(key)))
    for (kind, how), count in sorted(counts.items()):
        print(f"{kind:16}{count:8,}  {how}")
    return int(any(how in ("different", "missing here", "missing in perf") for _kind, how in counts))


if __name__ == "__main__":
    sys.exit(main())
