"""`make demo`: record something real, show where its time went, write a flame graph.

Where perf or the kernel does not allow recording, the recording in examples/recording is shown instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIPPED = HERE / "recording" / "words.data"
OUTPUT = Path("build/demo")

PYTHON_WORK = """
import ast, collections, json
source = open(collections.__file__).read()
for _ in range(40):
    tree = ast.parse(source)
    compile(tree, "x", "exec")
    json.loads(json.dumps([ast.dump(tree)] * 4))
"""


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def workload(directory: Path) -> tuple[str, list[str]]:
    """What to record: a compiler at work and the program it builds; without one, Python."""
    compiler = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), "")
    if not compiler:
        return "Python that parses and compiles Python", [sys.executable, "-c", PYTHON_WORK]
    program = directory / "words"
    options = "-O2 -g -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables"
    build = f"{compiler} {options} '{HERE / 'words.c'}' -o '{program}'"
    command = f"for i in 1 2 3; do {build}; done && '{program}' 400"
    return f"{compiler} that builds examples/words.c, and the program", ["sh", "-c", command]


def record(directory: Path) -> Path | None:
    """A fresh recording, or None with the reason said."""
    perf = shutil.which("perf")
    if not perf:
        say("perf is not installed (Debian: linux-perf, Fedora: perf), so here is a recording made before.")
        return None
    what, command = workload(directory)
    target = OUTPUT / "perf.data"
    target.unlink(missing_ok=True)
    line = [perf, "record", "-q", "-F", "997", "--call-graph", "dwarf", "-o", str(target), "--", *command]
    say(f"Recording {what}:\n  perf record -F 997 --call-graph dwarf -o {target} -- ...")
    done = subprocess.run(line, capture_output=True, text=True)
    if not target.exists() or target.stat().st_size < 20_000:
        reason = (done.stderr.strip().splitlines() or ["it wrote no samples"])[-1]
        say(f"perf cannot record here ({reason}), so here is a recording made before.")
        say("What the kernel allows is set in /proc/sys/kernel/perf_event_paranoid; `undwarf doctor` explains it.")
        return None
    return target


def undwarf(*arguments: str) -> bool:
    """Run one of undwarf's commands as a reader would type it."""
    say(f"\n$ undwarf {' '.join(arguments)}")
    # The demo goes on by itself: nobody should have to leave a pager.
    environment = {**os.environ, "UNDWARF_PAGER": ""}
    return subprocess.run([sys.executable, "-m", "undwarf", *arguments], env=environment).returncode == 0


def main() -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="undwarf-demo-") as directory:
        recording = record(Path(directory))
        more: list[str] = []
        if recording is None:
            # The recorded machine had the program at /demo/words; --symfs says where such paths begin here.
            recording, more = SHIPPED, ["--symfs", str(SHIPPED.parent)]
        page = OUTPUT / "flamegraph.html"
        good = undwarf("report", str(recording), "--percent-limit", "2", *more)
        good = undwarf("flamegraph", str(recording), "-o", str(page), *more) and good
    if not good:
        return 1
    say(
        f"""
What to look at
  - The report's first lines: what share of the stacks is whole. A profile that does not say so is not to be trusted.
  - Children is the weight of a function with all it calls, Self its own. The tree shows who called whom.
  - The flame graph is one file that needs no network: click a box to zoom, type / to search. It is in
    {page.resolve()}
Go on with your own: perf record --call-graph dwarf -- YOUR PROGRAM, then undwarf report perf.data"""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
