"""Compares callers under return probes, in a real program, with what the kernel says when each call returns.

Usage: python bench/probe_returns.py [--out FOLDER] [--functions A,B] [--again]

Records this Python at work, with `cpu-clock` and a return probe on one function of the interpreter at a time. The
probe's own samples, one for each return, have the true caller: a sample in the function belongs to the next return of
its thread. That holds for functions that do not call themselves. Needs root, and an interpreter with symbols. Stacks
with the function are

  right     the caller is the true one, and the stack is whole, or ends for another reason than the probe
  gap       the caller is not known; the stack says so
  false     another caller
"""

from __future__ import annotations

import argparse
import bisect
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from undwarf.api import open_recording
from undwarf.unwind.stop_reason import StopReason

WORK = """
import ast, json, re, time
source = open(ast.__file__).read()
end = time.time() + 4
while time.time() < end:
    tree = ast.parse(source); text = ast.dump(tree)
    data = json.loads(json.dumps({str(i): [i, float(i), text[i:i + 9]] for i in range(3000)}))
    sorted(data, key=lambda key: data[key][2]); re.findall(r"[a-z]+ *=", text); compile(tree, "x", "exec")
"""
FUNCTIONS = (
    "PyObject_Malloc", "_PyType_Lookup", "PyType_IsSubtype", "_Py_dict_lookup", "PyDict_SetItem", "insertdict",
    "gc_collect_main",
)  # fmt: skip
VERDICTS = ("right", "gap", "false")
Caller = tuple[int, int, str]
"""A thread, a time, and the name of a function."""


def interpreter() -> Path:
    """The file with the interpreter's functions: its library, or the program."""
    mapped = re.findall(r"(/\S*libpython\S*)", Path("/proc/self/maps").read_text())
    return Path(mapped[0] if mapped else os.path.realpath(sys.executable))


def record(target: Path, function: str) -> bool:
    """Record the work with a probe at a function's returns; False where it cannot be set."""
    group = f"returns{os.getpid()}"
    probe = ["perf", "probe", "-q", "-x", str(interpreter()), "-a", f"{group}:p={function}%return"]
    try:
        if subprocess.run(probe, check=False, stdout=subprocess.DEVNULL).returncode:
            return False
        event = f"{group}:p__return/call-graph=dwarf,stack-size=8/"
        command = ["perf", "record", "-q", "-m", "8M", "--call-graph", "dwarf,32768", "-e", "cpu-clock/freq=1999/"]
        subprocess.run([*command, "-e", event, "-o", str(target), sys.executable, "-c", WORK], check=True)
    finally:
        subprocess.run(["perf", "probe", "-q", "-d", f"{group}:*"], check=False, stderr=subprocess.DEVNULL)
    return True


def of_undwarf(path: Path, function: str, true: list[Caller]) -> Iterator[tuple[int, int, str]]:
    """(thread, time, caller of the function or empty) of samples in it; fills the true callers of its returns."""
    with open_recording(path, format="perf.data") as recording:
        for sample in recording.profile(inline=False).samples:
            frames = [one for one in sample.stack if not one.dso.startswith("[kernel")]
            names = [one.name for one in frames]
            if "return" in sample.event:
                true.append((sample.tid, sample.time, next(one.name for one in frames if one.dso != "[uprobes]")))
            elif function in names:
                outer = frames[names.index(function) + 1 :]
                known = outer and outer[0].dso != "[uprobes]" and (sample.stop != StopReason.PROBED_RETURN)
                yield sample.tid, sample.time, outer[0].name if known else ""


def compare(path: Path, function: str) -> None:
    """Print how many samples in a function have its true caller."""
    true: list[Caller] = []
    found = list(of_undwarf(path, function, true))
    returns: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for thread, time, name in true:
        returns[thread].append((time, name))
    counts: Counter[str] = Counter()
    for thread, time, caller in found:
        at = bisect.bisect_right(returns[thread], (time, "\U0010ffff"))
        if at < len(returns[thread]):
            counts["gap" if not caller else "right" if caller == returns[thread][at][1] else "false"] += 1
    total = sum(counts.values())
    shares = " ".join(f"{100 * counts[one] / max(total, 1):6.2f} % {one}" for one in VERDICTS)
    print(f"{function:20} {len(true):8} returns {total:6} samples {shares}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("probe-returns"), help="where recordings go, and stay")
    parser.add_argument("--functions", default=",".join(FUNCTIONS), help="functions of the interpreter")
    parser.add_argument("--again", action="store_true", help="compare what was recorded before")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for function in arguments.functions.split(","):
        path = arguments.out / f"{function}.data"
        if arguments.again or record(path, function):
            compare(path, function)
        else:
            print(f"{function:20} no probe could be set there")


if __name__ == "__main__":
    main()
